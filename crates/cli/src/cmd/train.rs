//! `tractable train`: fits a model to a CSV file, the default one (`ensemble`) or a single network (`network`), or
//! a network to images (`images`), and writes a run folder.

mod columns;
mod ensemble;
mod images;
mod network;
mod source;

use crate::console::note;
use crate::image_sets::ImageSet;
use crate::report::{Exit, Outcome, Report, count, json_line};
use crate::run::{AnyConfig, DataFiles, RunFolder, TableConfig};
use crate::scores::{self, Judged, RowsAre, Surest};
use crate::settings::{Kind, RunSettings, TrainFlags};
use crate::{escape, interrupt, out, team};
use clap::{Args as _, FromArgMatches};
use serde::Serialize;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use tractable::data::{Dataset, Table, Target};
use tractable::ensemble::LeftOut;
use tractable::{Ensemble, train::Sync};

const AFTER_HELP: &str = "\
Examples:
  tractable train housing.csv --target price -o run/ --test 0.1
  zcat log.csv.gz | tractable train - --target delay --as route=category --id flight -o run/
  tractable train housing.csv --target price --hidden 100,100 --epochs 40
  tractable train mnist --epochs 5 -o run/          (or fashion-mnist, cifar10, digits)
  tractable train --resume -o run/

Every column gets a type, which is printed: numbers, yes or no, categories, dates. Missing cells become uncertain inputs.
A CSV file gets a line, Gaussian processes and networks, calibrated and weighed on rows they left out; after Ctrl-C --resume starts
again. Network flags train one network; then Ctrl-C saves finished epochs and --resume continues. RUN gets model.safetensors,
metrics.jsonl, config.json. Image sets: mnist, fashion-mnist, cifar10 (`tractable data fetch`), digits (no files).";

/// Fit a model to a CSV file or to images
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, allow_negative_numbers = true)]
pub struct Args {
    /// Tables with a header row, all with the same columns; - is stdin. Or an image set
    #[arg(value_name = "FILE.csv|SET", required_unless_present = "resume")]
    files: Vec<PathBuf>,
    /// Run folder [default: the file's name with "-run"]
    #[arg(short, long, value_name = "RUN")]
    out: Option<PathBuf>,
    #[command(flatten)]
    flags: TrainFlags,
    /// Replace an existing run, once the new one has a model
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Continue the run in the folder, or restart it, with its settings
    #[arg(long)]
    resume: bool,
    /// With mpirun: share every batch, or merge after every N batches of each process [default: batch]
    #[arg(long, value_name = "batch|N", value_parser = sync)]
    sync: Option<Sync>,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

fn sync(text: &str) -> Result<Sync, String> {
    match text {
        "batch" => Ok(Sync::Batch),
        n => match n.parse() {
            Ok(n) if n > 0 => Ok(Sync::Every(n)),
            _ => Err("is not `batch` or a number of batches".into()),
        },
    }
}

/// Runs `tractable train` with these words after it.
pub fn run_typed(words: impl IntoIterator<Item = std::ffi::OsString>) -> Outcome {
    let command = Args::augment_args(clap::Command::new("tractable train").no_binary_name(true));
    let typed = command.try_get_matches_from(words).and_then(|m| Args::from_arg_matches(&m));
    let done = run(&typed.map_err(|e| Exit::Error(e.to_string()))?);
    // Whoever called goes on, and looks for signals itself.
    interrupt::listen()?;
    done
}

pub fn run(args: &Args) -> Outcome {
    interrupt::leave_at_once("nothing was written")?;
    let out = out_folder(args)?;
    if team::workers().is_some() && args.files.iter().any(|file| file == Path::new("-")) {
        return Err(Exit::Error("-: several processes cannot share standard input; use a file".into()));
    }
    let _held = team::first_then_all(|| {
        crate::run::settle(&out);
        // Lock the folder before reading from it: another process may be about to change it.
        let held = if args.resume { RunFolder::hold(&out)? } else { None };
        out::check_folder(&out, "train")?;
        if !args.resume && !args.force {
            RunFolder::check_free(&out)?;
        }
        Ok(held)
    })?;
    let set = match &args.files[..] {
        [one] => ImageSet::from_argument(one)?,
        _ => None,
    };
    if !args.resume {
        return match set {
            Some(set) => images::run(args, &out, set, None),
            None => table(args, &out),
        };
    }
    match (RunFolder::config(&out)?, set) {
        (AnyConfig::Table(old), None) if old.settings.kind == Kind::Ensemble => {
            ensemble::run(args, &out, Some(&old))
        }
        (AnyConfig::Table(old), None) => network::run(args, &out, Some(&old)),
        (AnyConfig::Table(_), Some(set)) => {
            Err(Exit::Error(format!("--resume: this is a CSV run; it cannot resume on {}", set.name())))
        }
        (AnyConfig::Images(old), _) if !args.files.is_empty() && set != Some(old.images.set) => {
            let set = old.images.set.name();
            Err(Exit::Error(format!("--resume: the run is on {set}; leave the name out")))
        }
        (AnyConfig::Images(old), _) => images::run(args, &out, old.images.set, Some(&old)),
    }
}

/// The default model, or one network if flags describe it.
fn table(args: &Args, out: &Path) -> Outcome {
    match args.flags.own_network().is_empty() {
        true => ensemble::run(args, out, None),
        false => network::run(args, out, None),
    }
}

/// The rows to learn from, those that were given or the run's, once the flags suit the kind of run.
fn data_files(args: &Args, kind: Kind, run: Option<&TableConfig>) -> Outcome<DataFiles> {
    args.flags.check_for(kind, run.is_some())?;
    match (&args.files[..], run) {
        ([], Some(run)) => run.data.open(),
        (files, _) => DataFiles::open(files),
    }
}

/// The table and the settings of a new run: a target that has words has classes.
fn new_table(args: &Args, kind: Kind, files: &DataFiles) -> Outcome<(Table, RunSettings)> {
    let said = &args.flags.values;
    said.check_target()?;
    let table = said.table(files.paths())?;
    let classes = said.has_classes(&table)?;
    note_classes(classes, &said.target);
    Ok((table, args.flags.settings(kind, classes)?))
}

fn note_classes(found: bool, target: &[String]) {
    if found {
        note(&format!("target `{}` has text values, so it is treated as classes", target[0]));
    }
}

/// What a run learns from, in words.
fn describe(rows: usize, train: &Dataset, test: Option<&Dataset>) -> String {
    let missing = match train.target() {
        Target::Values { observed: Some(seen), .. } => seen.iter().filter(|s| !**s).count(),
        _ => 0,
    };
    let share = 100.0 * train.missing();
    let gaps = if share > 0.0 { format!(", {share:.1} % of them missing") } else { String::new() };
    let missing = if missing > 0 { format!(", {missing} of their values missing") } else { String::new() };
    let test = test.map_or(String::new(), |t| format!(" and {} to test", t.rows()));
    let few = |names: &[String]| match names.len() {
        0..=12 => names.join(", "),
        n => format!("{} and {} more", names[..10].join(", "), n - 10),
    };
    let (inputs, targets) = (few(train.input_names()), few(train.output_names()));
    let plural = |names: &[String], one: &str| format!("{one}{}", if names.len() == 1 { "" } else { "s" });
    let (input, target) = (plural(train.input_names(), "input"), plural(train.output_names(), "target"));
    format!("{}{test}; {input} {inputs}{gaps}; {target} {targets}{missing}", count(rows as u64, "row"))
}

/// Scores of rows that were kept apart, said and kept.
fn say_test(folder: &RunFolder, report: Report, model: &Ensemble, test: &Dataset) -> Outcome {
    let mut judged = Judged::default();
    judged.predict(model, test.input(), test.target())?;
    for score in judged.scores(test.output_names(), RowsAre::New)? {
        folder.append(&json_line("test", &score))?;
        score.say(report, "test", false)?;
    }
    Ok(())
}

/// How good the model was on rows that were left out, said and kept; `judged` is what it said of them.
fn say_left_out(folder: &RunFolder, report: Report, model: &Ensemble, judged: &Judged) -> Outcome {
    for (i, (target, score)) in model.output_names().iter().zip(model.scores()).enumerate() {
        let line = LeftOutLine { target, score, surest: judged.surest(i) };
        folder.append(&json_line("left_out", &line))?;
        report.say("left_out", &line, || {
            format!("left out, {}: {}", escape::name(target), scores::left_out(score))
        })?;
    }
    Ok(())
}

/// Rows beyond which it would take too long to ask about all of them again.
const MOST_JUDGED: usize = 5000;

/// Predictions of the default model for the rows it left out.
fn judge_left_out(model: &Ensemble, train: &Dataset) -> Outcome<Judged> {
    let mut judged = Judged::of_errors();
    if train.rows() > MOST_JUDGED {
        return Ok(judged);
    }
    judged.predict_left_out(model, train)?;
    Ok(judged)
}

/// A line about one target.
///
/// Line `left_out` of `train`.
#[derive(Serialize)]
struct LeftOutLine<'a> {
    /// Name of the column.
    target: &'a str,
    #[serde(flatten)]
    score: &'a LeftOut,
    /// Error among the rows the model is most certain of: `share` of the rows, and their `error`; from up to 5,000 rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    surest: Option<Surest>,
}

fn out_folder(args: &Args) -> Outcome<PathBuf> {
    if let Some(out) = &args.out {
        return Ok(out.clone());
    }
    let stem = match args.files.first() {
        Some(file) if file == Path::new("-") => Some(OsStr::new("stdin")),
        // Twice, for `rows.csv.gz`.
        file => file.and_then(|f| f.file_stem()).and_then(|stem| Path::new(stem).file_stem()),
    };
    let stem = stem.ok_or_else(|| Exit::Error("--resume: name the run with -o RUN".into()))?;
    Ok(PathBuf::from(format!("{}-run", stem.to_string_lossy())))
}
