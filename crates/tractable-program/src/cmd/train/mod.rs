//! `tractable train`: fits a model to a CSV file, the usual one (`ensemble`) or a network of the user's own (`network`), or
//! a network to images (`images`), and keeps the run in a folder.

mod ensemble;
mod images;
mod network;

use crate::image_sets::ImageSet;
use crate::report::{Exit, Outcome, Report, count, json_line};
use crate::run::{AnyConfig, DataFile, RunFolder};
use crate::scores::{self, Judged, RowsAre, Surest};
use crate::settings::{ImageFlags, TrainFlags};
use crate::{escape, files, interrupt, out};
use clap::{Args as _, FromArgMatches};
use serde::Serialize;
use std::path::{Path, PathBuf};
use tractable::Ensemble;
use tractable::data::{Dataset, Target};
use tractable::ensemble::LeftOut;

const AFTER_HELP: &str = "\
Examples:
  tractable train housing.csv --target price -o run/ --test 0.1
  tractable train iris.csv --target species --classes
  tractable train housing.csv --target price --hidden 100,100 --epochs 40
  tractable train mnist --epochs 5 -o run/          (or fashion-mnist, cifar10, digits)
  tractable train --resume -o run/

Ten networks learn from a CSV file, each leaves out a fifth of the rows, and intervals and probabilities are made to hold on those.
RUN gets model.safetensors, metrics.jsonl and config.json. Ctrl-C stops at once; --resume starts again, to the same model.
Flags of a network make one with these settings; then Ctrl-C saves whole epochs and --resume goes on from there. Image sets are
mnist, fashion-mnist, cifar10 (get them with `tractable data fetch`) and digits, which needs no files; they take the flags
under Images and those of a network.";

/// Fit a model to a CSV file or to images
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, allow_negative_numbers = true)]
pub struct Args {
    /// A header row and numbers; a target may be empty (not observed) or a class. Or an image set
    #[arg(value_name = "FILE.csv|SET", required_unless_present = "resume")]
    file: Option<PathBuf>,
    /// Folder of the run [default: the file's name with "-run"]
    #[arg(short, long, value_name = "RUN")]
    out: Option<PathBuf>,
    #[command(flatten)]
    flags: TrainFlags,
    /// Replace a run that is there, once there is something to replace it with
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Go on with the run in the folder, or start it again, with its settings
    #[arg(long)]
    resume: bool,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    images: ImageFlags,
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
    crate::run::settle(&out);
    // Before anything of the run is read: another process may be about to change it.
    let _held = if args.resume { Some(RunFolder::hold(&out)?) } else { None };
    let set = args.file.as_deref().map_or(Ok(None), ImageSet::from_argument)?;
    out::check_folder(&out, "train")?;
    if !args.resume {
        if !args.force {
            RunFolder::check_free(&out)?;
        }
        return match set {
            Some(set) => images::run(args, &out, set, None),
            None => table(args, &out),
        };
    }
    match (RunFolder::config(&out)?, set) {
        (AnyConfig::Ensemble(old), None) => ensemble::run(args, &out, Some(&old)),
        (AnyConfig::Network(old), None) => network::run(args, &out, Some(&old)),
        (AnyConfig::Ensemble(_) | AnyConfig::Network(_), Some(set)) => {
            Err(Exit::Error(format!("--resume: this is a CSV run; it cannot resume on {}", set.name())))
        }
        (AnyConfig::Images(old), _) if args.file.is_some() && set != Some(old.images.set) => {
            let set = old.images.set.name();
            Err(Exit::Error(format!("--resume: the run is on {set}; leave the name out")))
        }
        (AnyConfig::Images(old), _) => images::run(args, &out, old.images.set, Some(&old)),
    }
}

/// The usual model, or one network where flags describe it.
fn table(args: &Args, out: &Path) -> Outcome {
    let own = args.flags.own_network().join(", ");
    if own.is_empty() {
        return ensemble::run(args, out, None);
    }
    if args.flags.single() {
        let why = "makes one network with settings of its own";
        return Err(Exit::Error(format!("--single: {why}; leave out {own}, or --single")));
    }
    network::run(args, out, None)
}

/// The file to learn from: the one that was given, or the run's.
fn data_file<'a>(args: &'a Args, run: Option<&'a DataFile>) -> Outcome<&'a Path> {
    if let Some(flag) = args.images.given().keys().next() {
        return Err(Exit::Error(format!("--{flag}: is for image sets, not for CSV files; leave it out")));
    }
    let file = args.file.as_deref().or(run.map(|data| &*data.path)).expect("clap asks for it");
    files::check_table(file)?;
    Ok(file)
}

/// What a run learns from, in words.
fn describe(train: &Dataset, test: Option<&Dataset>) -> String {
    let missing = match train.target() {
        Target::Values { observed: Some(seen), .. } => seen.iter().filter(|s| !**s).count(),
        _ => 0,
    };
    let missing = if missing > 0 { format!(", {missing} of their values missing") } else { String::new() };
    let test = test.map_or(String::new(), |t| format!(" and {} to test", t.rows()));
    let few = |names: &[String]| match names.len() {
        0..=12 => names.join(", "),
        n => format!("{} and {} more", names[..10].join(", "), n - 10),
    };
    let (inputs, targets) = (few(train.input_names()), few(train.output_names()));
    let plural = |names: &[String], one: &str| format!("{one}{}", if names.len() == 1 { "" } else { "s" });
    let (input, target) = (plural(train.input_names(), "input"), plural(train.output_names(), "target"));
    format!("{}{test}; {input} {inputs}; {target} {targets}{missing}", count(train.rows() as u64, "row"))
}

/// Scores of rows that were kept apart, said and kept.
fn say_test(folder: &RunFolder, report: Report, model: &Ensemble, test: &Dataset) -> Outcome {
    let mut judged = Judged::default();
    judged.predict(model, test.x(), test.target())?;
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
const MOST_JUDGED: usize = 50_000;

/// What the usual model says of rows that it left out.
fn judge_left_out(model: &Ensemble, train: &Dataset) -> Outcome<Judged> {
    let mut judged = Judged::default();
    if train.rows() > MOST_JUDGED {
        return Ok(judged);
    }
    let out = model.rows_left_out(train)?;
    match train.target() {
        // Ten networks leave out every row between them, a single one some.
        target @ Target::Values { .. } if out.len() == train.rows() => {
            judged.add_values(&model.left_out(train)?, target, 0);
        }
        Target::Labels { labels, .. } if out.len() == train.rows() => {
            judged.add_classes(model.left_out_classes(train)?.data(), labels);
        }
        _ => {
            let out = train.select(&out)?;
            judged.predict(model, out.x(), out.target())?;
        }
    }
    Ok(judged)
}

/// A line about one target.
#[derive(Serialize)]
struct LeftOutLine<'a> {
    target: &'a str,
    #[serde(flatten)]
    score: &'a LeftOut,
    #[serde(skip_serializing_if = "Option::is_none")]
    surest: Option<Surest>,
}

fn out_folder(args: &Args) -> Outcome<PathBuf> {
    if let Some(out) = &args.out {
        return Ok(out.clone());
    }
    let stem = args.file.as_deref().and_then(Path::file_stem);
    let stem = stem.ok_or_else(|| Exit::Error("--resume: say which run with -o RUN".into()))?;
    Ok(PathBuf::from(format!("{}-run", stem.to_string_lossy())))
}
