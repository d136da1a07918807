//! `cargo xtask reproduce ordinary`: the default model on ordinary tables, small and noisy as people keep them, beside other methods.

use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tractable::data::{As, Dataset, Table, Target};
use tractable::ensemble::Settings;
use tractable::{Ensemble, metrics, rng};
use tractable_cli::interrupt;
use tractable_cli::jobs::side_by_side;
use tractable_cli::report::{Exit, Outcome, Report, file_error, table};
use tractable_cli::results::Clock;

const AFTER_HELP: &str = "\
Example:
  cargo xtask reproduce ordinary --data tables/ -o docs/results

A table is NAME.csv.gz with a column `split` (train or test) and a column `target`. Columns of numbers have a decimal point; all others
are categories. The first split is the file's, the others are random fifths. DIR/peers.jsonl has the figures of other methods on the
file's split: one line per table and method. NLL and CRPS are in standard deviations of the training targets.";

/// The default model beside other methods on ordinary tables
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Folder with NAME.csv.gz and peers.jsonl
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Tables [default: all of the folder]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    sets: Vec<String>,
    /// Number of splits of each
    #[arg(long, value_name = "N", default_value_t = 5)]
    splits: u64,
    /// One candidate on one fold
    #[arg(long)]
    single: bool,
    /// Folder for ordinary.json
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// How well a table is predicted.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Scores {
    /// Of classes the share that is right.
    r2: f64,
    nll: f64,
    /// Of classes the expected calibration error.
    crps: f64,
    /// Share of the test rows inside their 90 % interval.
    #[serde(rename = "cov")]
    coverage_90: f64,
}

#[derive(Serialize)]
struct Row {
    table: String,
    split: u64,
    rows: usize,
    seconds: f64,
    #[serde(flatten)]
    scores: Scores,
    candidates: Vec<(String, f64)>,
}

#[derive(Deserialize)]
struct Peer {
    table: String,
    model: String,
    kind: String,
    #[serde(flatten)]
    scores: Option<Scores>,
    #[serde(rename = "err")]
    error: Option<f64>,
    logloss: Option<f64>,
    ece: Option<f64>,
}

/// Methods with their mean ranks, the best first; of numbers and of classes.
type Ranks = BTreeMap<String, Vec<(String, [f64; 3])>>;

#[derive(Serialize)]
struct All<'a> {
    rows: &'a [Row],
    /// Mean ranks on the file's split: by R2, CRPS and NLL; of classes by error, calibration error and log-loss.
    ranks: &'a Ranks,
}

pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    let clock = Clock::start();
    let mut names = args.sets.clone();
    if names.is_empty() {
        for entry in std::fs::read_dir(&args.data).map_err(file_error(&args.data, "read this folder"))? {
            let name = entry.map_err(file_error(&args.data, "read this folder"))?.file_name();
            names.extend(name.to_string_lossy().strip_suffix(".csv.gz").map(String::from));
        }
        names.sort();
    }
    let jobs: Vec<(&str, u64)> =
        names.iter().flat_map(|name| (0..args.splits).map(move |split| (&name[..], split))).collect();
    let rows = side_by_side(&jobs, "tables", |&(name, split)| one(args, name, split))?;
    let rows = rows.into_iter().collect::<Outcome<Vec<Row>>>()?;
    let ranks = ranks(&args.data.join("peers.jsonl"), &rows)?;
    let report = Report::new(args.json);
    rows.iter().try_for_each(|row| report.say("split", row, || line(row)))?;
    report.say("", &(), || text(&names, &rows, &ranks))?;
    let command = "cargo xtask reproduce ordinary --data DIR";
    let all = All { rows: &rows, ranks: &ranks };
    args.out.as_ref().map_or(Ok(()), |out| clock.write(out, "ordinary", command, all))
}

/// The rows to learn from and those to predict.
fn load(path: &Path, split: u64) -> Outcome<[Dataset; 2]> {
    let file = std::fs::File::open(path).map_err(file_error(path, "open this file"))?;
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).map_err(file_error(path, "read this file"))?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let bad = |e: csv::Error| Exit::Error(format!("{}: {e}", path.display()));
    let head: Vec<String> = reader.headers().map_err(bad)?.iter().map(String::from).collect();
    let rows = reader.records().collect::<Result<Vec<_>, _>>().map_err(bad)?;
    let column = |k: usize| rows.iter().map(|r| r[k].to_string()).collect::<Vec<String>>();
    let place = head.iter().position(|h| h == "split");
    let place = place.ok_or_else(|| Exit::Error(format!("{}: no column `split`", path.display())))?;
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let mut test: Vec<bool> = column(place).iter().map(|s| s == "test").collect();
    if split > 0 {
        rng::shuffle(&mut order, &mut rng::stream(split, "ordinary", 0));
        test.fill(false);
        order[..(rows.len() + 2) / 5].iter().for_each(|&row| test[row] = true);
    }
    let part = |wanted: bool| -> Vec<Vec<String>> {
        let of = |k: usize| -> Vec<String> {
            let cells = column(k).into_iter().zip(&test);
            cells.filter(|(_, test)| **test == wanted).map(|(cell, _)| cell).collect()
        };
        (0..head.len()).map(of).collect()
    };
    let used: Vec<usize> = (0..head.len()).filter(|&k| k != place).collect();
    let table = |cells: Vec<Vec<String>>| -> tractable::Result<Table> {
        let columns = used.iter().map(|&k| (head[k].clone(), cells[k].clone()));
        Table::of_columns(columns.collect::<Vec<_>>())
    };
    let learned = part(false);
    let mut read = table(learned.clone())?;
    let mut classes = false;
    for &k in &used {
        let number = |cell: &&String| cell.contains('.') && cell.parse::<f64>().is_ok();
        let is = |c: &Vec<String>| {
            let full: Vec<&String> = c.iter().filter(|c| !c.is_empty()).collect();
            full.iter().any(number) && full.iter().all(|c| c.parse::<f64>().is_ok())
        };
        match (&head[k][..], is(&learned[k])) {
            ("target", number) => classes = !number,
            (name, number) => read = read.treat(name, if number { As::Number } else { As::Category })?,
        }
    }
    let train = if classes { read.classes("target")? } else { read.target("target")? };
    let names: &[String] = match train.target() {
        Target::Labels { names, .. } => names,
        Target::Values { .. } => &[],
    };
    let preparation = train.preparation().expect("a table decides it");
    let test = table(part(true))?.as_trained(preparation, train.output_names(), names)?;
    Ok([train, test])
}

fn one(args: &Args, name: &str, split: u64) -> tractable::Result<Outcome<Row>> {
    Ok(judge(args, name, split))
}

fn judge(args: &Args, name: &str, split: u64) -> Outcome<Row> {
    let [train, test] = load(&args.data.join(format!("{name}.csv.gz")), split)?;
    let settings = Settings::default().threads(1).single(args.single);
    let began = Instant::now();
    let go_on = |_| if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let Some(model) = Ensemble::fit_with(&train, &settings, go_on)? else {
        return Err(Exit::Error("interrupted".into()));
    };
    let seconds = began.elapsed().as_secs_f64();
    let scores = match test.target() {
        Target::Labels { labels, .. } => {
            let p = model.predict_classes(test.input())?;
            Scores {
                r2: 1.0 - metrics::error_rate(p.data(), labels)?,
                nll: metrics::class_nll(p.data(), labels)?,
                crps: metrics::ece(p.data(), labels, 15)?.ece,
                coverage_90: f64::NAN,
            }
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
            Scores {
                r2: 1.0 - metrics::rmse(y, out.mean())?.powi(2) / spread(y).powi(2),
                nll: -mean(&|i| out.ln_density(i, y[i])) - std.ln(),
                crps: mean(&|i| out.crps(i, y[i])) / std,
                coverage_90: mean(&inside),
            }
        }
    };
    let candidates = model.candidates().map(|(name, weight)| (name.to_string(), weight)).collect();
    Ok(Row { table: name.into(), split, rows: train.rows() + test.rows(), seconds, scores, candidates })
}

/// Mean ranks among the peers on the file's split, of numbers and of classes.
fn ranks(path: &Path, rows: &[Row]) -> Outcome<Ranks> {
    let text = std::fs::read_to_string(path).map_err(file_error(path, "read this file"))?;
    let mut kinds: BTreeMap<String, BTreeMap<String, Vec<[f64; 3]>>> = BTreeMap::new();
    let peers = text.lines().map(serde_json::from_str::<Peer>).collect::<Result<Vec<_>, _>>();
    let peers = peers.map_err(|e| Exit::Error(format!("{}: {e}", path.display())))?;
    for row in rows.iter().filter(|row| row.split == 0) {
        let own = peers.iter().filter(|p| p.table == row.table && !OURS.contains(&&p.model[..]));
        let mut kind = String::new();
        // Smaller is better.
        let losses = |s: &Scores| [-s.r2, s.crps, s.nll];
        let mut all: Vec<(&str, [f64; 3])> = vec![("tractable", losses(&row.scores))];
        for peer in own {
            kind.clone_from(&peer.kind);
            let of_classes = || Some([peer.error? - 1.0, peer.ece?, peer.logloss?]);
            all.extend(peer.scores.as_ref().map(losses).or_else(of_classes).map(|s| (&peer.model[..], s)));
        }
        for (model, loss) in &all {
            let rank = |k: usize| 1.0 + all.iter().filter(|(_, other)| other[k] < loss[k]).count() as f64;
            let of_model = kinds.entry(kind.clone()).or_default().entry((*model).into()).or_default();
            of_model.push([0, 1, 2].map(rank));
        }
    }
    let mean = |ranks: Vec<[f64; 3]>| {
        [0, 1, 2].map(|k| ranks.iter().map(|r| r[k]).sum::<f64>() / ranks.len() as f64)
    };
    let sorted = |models: BTreeMap<String, Vec<[f64; 3]>>| {
        let mut all: Vec<_> = models.into_iter().map(|(model, ranks)| (model, mean(ranks))).collect();
        all.sort_by(|a, b| a.1.iter().sum::<f64>().total_cmp(&b.1.iter().sum()));
        all
    };
    Ok(kinds.into_iter().map(|(kind, models)| (kind, sorted(models))).collect())
}

/// What the file of the peers has of this product.
const OURS: [&str; 2] = ["tractable", "tr_single"];

fn line(row: &Row) -> String {
    let s = &row.scores;
    let candidates: Vec<String> = row.candidates.iter().map(|(name, w)| format!("{name} {w:.2}")).collect();
    format!(
        "{} {}: R2 {:.3} NLL {:.3} CRPS {:.3} covers {:.3} in {:.1} s; {}",
        row.table,
        row.split,
        s.r2,
        s.nll,
        s.crps,
        s.coverage_90,
        row.seconds,
        candidates.join(", ")
    )
}

fn text(names: &[String], rows: &[Row], ranks: &Ranks) -> String {
    let head = ["mean of the splits", "rows", "R2 or right", "NLL", "CRPS or ECE", "90 % covers", "s a fit"];
    let mut lines = vec![head.map(String::from).to_vec()];
    for name in names {
        let own: Vec<&Row> = rows.iter().filter(|r| r.table == *name).collect();
        let mean = |f: fn(&Row) -> f64| own.iter().map(|r| f(r)).sum::<f64>() / own.len() as f64;
        let numbers = [mean(|r| r.scores.r2), mean(|r| r.scores.nll), mean(|r| r.scores.crps)];
        let mut line = vec![name.clone(), own.first().map_or(0, |r| r.rows).to_string()];
        line.extend(numbers.iter().map(|v| format!("{v:.3}")));
        line.push(format!("{:.1} %", 100.0 * mean(|r| r.scores.coverage_90)));
        line.push(format!("{:.1}", mean(|r| r.seconds)));
        lines.push(line);
    }
    let mut all = table(&lines, &[0]);
    for (kind, models) in ranks {
        let head = [&format!("mean rank, {kind}")[..], "by R2 or error", "by CRPS or ECE", "by NLL"];
        let mut lines = vec![head.map(String::from).to_vec()];
        for (model, ranks) in models {
            let ranks = ranks.iter().map(|r| format!("{r:.1}"));
            lines.push(std::iter::once(model.clone()).chain(ranks).collect());
        }
        all += &format!("\n{}", table(&lines, &[0]));
    }
    all
}
