//! `cargo xtask reproduce ordinary`: the default model on ordinary tables, small and noisy as people keep them, beside other methods.

mod standing;

use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use standing::{Collection, Peers};
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tractable::data::{As, Dataset, Table, Target};
use tractable::ensemble::Settings;
use tractable::{Ensemble, metrics, rng};
use tractable_cli::files;
use tractable_cli::interrupt;
use tractable_cli::jobs::side_by_side;
use tractable_cli::report::{Exit, Outcome, Report, file_error};
use tractable_cli::results::Clock;

const AFTER_HELP: &str = "\
Examples:
  cargo xtask reproduce ordinary --data tables/ tables15/ --export splits.jsonl
  cargo xtask reproduce ordinary --data tables/ tables15/ --peers docs/results/table-peers.jsonl -o docs/results
  cargo xtask reproduce ordinary --again docs/results/ordinary.json --peers tables/peers.jsonl docs/results/table-peers.jsonl

A table is NAME.csv.gz with a column `split` (train or test) and a column `target`. Columns of numbers have a decimal point; all others
are categories. The first split is the file's, the others are random fifths. A file of peers has the figures of other methods, one line
for each table, split and method; a folder's own, peers.jsonl, is read too. Each folder is ranked by itself, by the splits for which the
figures of all methods are known. NLL and CRPS are in standard deviations of the training targets.";

/// The default model beside other methods on ordinary tables
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Folders with NAME.csv.gz
    #[arg(long, value_name = "DIR", num_args = 1.., required_unless_present = "again")]
    data: Vec<PathBuf>,
    /// Figures of other methods
    #[arg(long, value_name = "FILE", num_args = 1..)]
    peers: Vec<PathBuf>,
    /// Tables [default: all of the folders]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    sets: Vec<String>,
    /// Number of splits of each
    #[arg(long, value_name = "N", default_value_t = 5)]
    splits: u64,
    /// One candidate on one fold
    #[arg(long)]
    single: bool,
    /// Write the test rows of every split here, and fit nothing
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// Rank what is in this file anew, with more peers perhaps, and fit nothing
    #[arg(long, value_name = "ordinary.json", conflicts_with_all = ["data", "sets", "splits", "single", "export", "out"])]
    again: Option<PathBuf>,
    /// Folder for ordinary.json, or with --single for ordinary-single.json
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// How well the test rows of a table are predicted, of numbers or of classes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(untagged)]
enum Scores {
    Numbers {
        r2: f64,
        crps: f64,
        nll: f64,
        /// Share of the test rows inside their 90 % interval.
        #[serde(rename = "cov")]
        coverage_90: f64,
    },
    Classes {
        #[serde(rename = "err")]
        error: f64,
        logloss: f64,
        ece: f64,
    },
}

#[derive(Serialize, Deserialize)]
struct Row {
    folder: String,
    table: String,
    split: u64,
    rows: usize,
    tested: usize,
    seconds: f64,
    #[serde(flatten)]
    scores: Scores,
    candidates: Vec<(String, f64)>,
}

/// A table and one of its splits.
struct Job {
    folder: PathBuf,
    table: String,
    split: u64,
}

#[derive(Serialize)]
struct Exported {
    table: String,
    split: u64,
    /// Rows of the file, counted from 0.
    test: Vec<usize>,
}

#[derive(Serialize)]
struct All<'a> {
    rows: &'a [Row],
    collections: &'a [Collection],
}

pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    let clock = Clock::start();
    let jobs = jobs(args)?;
    if let Some(path) = &args.export {
        return export(&jobs, path);
    }
    let own = args.data.iter().map(|folder| folder.join("peers.jsonl")).filter(|path| path.exists());
    let peers = Peers::read(own.chain(args.peers.iter().cloned()))?;
    if let Some(path) = &args.again {
        return again(path, &peers, args.json);
    }
    let rows = side_by_side(&jobs, "splits", |job| Ok(judge(job, args.single)))?;
    let rows = rows.into_iter().collect::<Outcome<Vec<Row>>>()?;
    let collections = standing::collections(&rows, &peers);
    say(&rows, &collections, args.json)?;
    let (name, option) = if args.single { ("ordinary-single", " --single") } else { ("ordinary", "") };
    let command = format!("cargo xtask reproduce ordinary --data DIR... --peers FILE{option}");
    let all = All { rows: &rows, collections: &collections };
    args.out.as_ref().map_or(Ok(()), |out| clock.write(out, name, &command, all))
}

fn say(rows: &[Row], collections: &[Collection], json: bool) -> Outcome {
    let report = Report::new(json);
    rows.iter().try_for_each(|row| report.say("split", row, || line(row)))?;
    collections.iter().try_for_each(|one| report.say("collection", one, || one.text()))
}

fn export(jobs: &[Job], path: &Path) -> Outcome {
    let test = |job: &Job| -> Outcome<String> {
        let test = Cells::read(job)?.test;
        let test = (0..test.len()).filter(|&row| test[row]).collect();
        let line = Exported { table: job.table.clone(), split: job.split, test };
        Ok(serde_json::to_string(&line).expect("plain structures") + "\n")
    };
    let text = jobs.iter().map(test).collect::<Outcome<String>>()?;
    files::write(path, text.as_bytes())
}

/// The times and the machine of the file stay those of its fits.
fn again(path: &Path, peers: &Peers, json: bool) -> Outcome {
    let text = std::fs::read_to_string(path).map_err(file_error(path, "read this file"))?;
    let bad = |e| Exit::Error(format!("{}: {e}", path.display()));
    let mut file: Value = serde_json::from_str(&text).map_err(bad)?;
    let rows = Vec::<Row>::deserialize(&file["rows"]).map_err(bad)?;
    let collections = standing::collections(&rows, peers);
    say(&rows, &collections, json)?;
    file["collections"] = serde_json::to_value(&collections).expect("plain structures");
    files::write_json(path, &file)
}

/// The first split of all tables, then the second: what is known when there is no more time is known of all. Where a folder has more
/// tables than another, its last ones come last.
fn jobs(args: &Args) -> Outcome<Vec<Job>> {
    let mut tables: Vec<(usize, &PathBuf, String)> = Vec::new();
    for folder in &args.data {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(file_error(folder, "read this folder"))? {
            let name = entry.map_err(file_error(folder, "read this folder"))?.file_name();
            names.extend(name.to_string_lossy().strip_suffix(".csv.gz").map(String::from));
        }
        names.retain(|name| args.sets.is_empty() || args.sets.contains(name));
        names.sort();
        tables.extend(names.into_iter().enumerate().map(|(k, name)| (k, folder, name)));
    }
    let known = |name: &&String| !tables.iter().any(|(.., table)| table == *name);
    if let Some(name) = args.sets.iter().find(known) {
        return Err(Exit::Error(format!("--sets: there is no {name}.csv.gz in the folders of --data")));
    }
    if let Some((.., name)) =
        tables.iter().find(|(.., name)| tables.iter().filter(|t| t.2 == *name).count() > 1)
    {
        return Err(Exit::Error(format!("--data: two folders have a table `{name}`")));
    }
    tables.sort_by_key(|&(k, ..)| k);
    let of_split = |split| {
        let job = move |(_, folder, table): &(usize, &PathBuf, String)| Job {
            folder: (*folder).clone(),
            table: table.clone(),
            split,
        };
        tables.iter().map(job)
    };
    Ok((0..args.splits).flat_map(of_split).collect())
}

/// A file as text, and which of its rows are for testing.
struct Cells {
    path: PathBuf,
    head: Vec<String>,
    rows: Vec<csv::StringRecord>,
    /// The column that says it of the first split.
    place: usize,
    test: Vec<bool>,
}

impl Cells {
    fn read(job: &Job) -> Outcome<Self> {
        let path = job.folder.join(format!("{}.csv.gz", job.table));
        let file = std::fs::File::open(&path).map_err(file_error(&path, "open this file"))?;
        let mut text = String::new();
        GzDecoder::new(file).read_to_string(&mut text).map_err(file_error(&path, "read this file"))?;
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let bad = |e: csv::Error| Exit::Error(format!("{}: {e}", path.display()));
        let head: Vec<String> = reader.headers().map_err(bad)?.iter().map(String::from).collect();
        let rows = reader.records().collect::<Result<Vec<_>, _>>().map_err(bad)?;
        let place = head.iter().position(|h| h == "split");
        let place = place.ok_or_else(|| Exit::Error(format!("{}: no column `split`", path.display())))?;
        let mut test: Vec<bool> = rows.iter().map(|row| &row[place] == "test").collect();
        if job.split > 0 {
            let mut order: Vec<usize> = (0..rows.len()).collect();
            rng::shuffle(&mut order, &mut rng::stream(job.split, "ordinary", 0));
            test.fill(false);
            order[..(rows.len() + 2) / 5].iter().for_each(|&row| test[row] = true);
        }
        Ok(Cells { path, head, rows, place, test })
    }

    /// The rows to learn from and those to predict.
    fn parts(&self) -> Outcome<[Dataset; 2]> {
        let column = |k: usize, wanted: bool| -> Vec<String> {
            let rows = self.rows.iter().zip(&self.test).filter(|(_, test)| **test == wanted);
            rows.map(|(row, _)| row[k].to_string()).collect()
        };
        let used: Vec<usize> = (0..self.head.len()).filter(|&k| k != self.place).collect();
        let table = |wanted: bool| -> tractable::Result<Table> {
            let columns = used.iter().map(|&k| (self.head[k].clone(), column(k, wanted)));
            Table::of_columns(columns.collect::<Vec<_>>())
        };
        let mut read = table(false)?;
        let mut classes = None;
        for &k in &used {
            let cells = column(k, false);
            let full: Vec<&String> = cells.iter().filter(|cell| !cell.is_empty()).collect();
            let number = full.iter().any(|cell| cell.contains('.'))
                && full.iter().all(|cell| cell.parse::<f64>().is_ok());
            match &self.head[k][..] {
                "target" => classes = Some(!number),
                name => read = read.treat(name, if number { As::Number } else { As::Category })?,
            }
        }
        let classes =
            classes.ok_or_else(|| Exit::Error(format!("{}: no column `target`", self.path.display())))?;
        let train = if classes { read.classes("target")? } else { read.target("target")? };
        let names: &[String] = match train.target() {
            Target::Labels { names, .. } => names,
            Target::Values { .. } => &[],
        };
        let preparation = train.preparation().expect("a table decides it");
        let test = table(true)?.as_trained(preparation, train.output_names(), names)?;
        Ok([train, test])
    }
}

fn judge(job: &Job, single: bool) -> Outcome<Row> {
    let [train, test] = Cells::read(job)?.parts()?;
    let settings = Settings::default().threads(1).single(single);
    let began = Instant::now();
    let go_on = |_| if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let Some(model) = Ensemble::fit_with(&train, &settings, go_on)? else {
        return Err(Exit::Error("interrupted".into()));
    };
    let seconds = began.elapsed().as_secs_f64();
    let candidates = model.candidates().map(|(name, weight)| (name.to_string(), weight)).collect();
    Ok(Row {
        folder: name_of(&job.folder),
        table: job.table.clone(),
        split: job.split,
        rows: train.rows() + test.rows(),
        tested: test.rows(),
        seconds,
        scores: scores(&model, &train, &test)?,
        candidates,
    })
}

fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned()
}

/// The same measures as in the files of the peers.
fn scores(model: &Ensemble, train: &Dataset, test: &Dataset) -> Outcome<Scores> {
    match test.target() {
        Target::Labels { labels, .. } => {
            let p = model.predict_classes(test.input())?;
            let floored: Vec<f64> = p.data().iter().map(|p| p.max(1e-6)).collect();
            Ok(Scores::Classes {
                error: metrics::error_rate(p.data(), labels)?,
                logloss: metrics::class_nll(&floored, labels)?,
                ece: metrics::ece(p.data(), labels, 10)?.ece,
            })
        }
        Target::Values { y, .. } => {
            let (out, y) = (model.predict(test.input())?, y.data());
            let spread = |v: &[f64]| {
                let mean = v.iter().sum::<f64>() / v.len() as f64;
                (v.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / v.len() as f64).sqrt()
            };
            let std = spread(train.y().expect("numbers").data());
            let mean = |f: &dyn Fn(usize) -> f64| (0..y.len()).map(f).sum::<f64>() / y.len() as f64;
            let inside = |i: usize| {
                let [below, above] = out.below_and_above(i, y[i]);
                f64::from(u8::from(below.min(above) >= 0.05))
            };
            Ok(Scores::Numbers {
                r2: 1.0 - metrics::rmse(y, out.mean())?.powi(2) / spread(y).powi(2),
                crps: mean(&|i| out.crps(i, y[i])) / std,
                nll: -mean(&|i| out.ln_density(i, y[i])) - std.ln(),
                coverage_90: mean(&inside),
            })
        }
    }
}

fn line(row: &Row) -> String {
    let scores = match row.scores {
        Scores::Numbers { r2, crps, nll, coverage_90 } => {
            format!("R2 {r2:.3} CRPS {crps:.3} NLL {nll:.3} covers {coverage_90:.3}")
        }
        Scores::Classes { error, logloss, ece } => {
            format!("error {error:.3} log-loss {logloss:.3} ECE {ece:.3}")
        }
    };
    let candidates: Vec<String> = row.candidates.iter().map(|(name, w)| format!("{name} {w:.2}")).collect();
    format!("{} {}: {scores} in {:.1} s; {}", row.table, row.split, row.seconds, candidates.join(", "))
}
