//! `cargo xtask reproduce uci`: the UCI regression benchmark, with the settings of the method's authors and with none.

mod default;
mod paper;
mod sets;

use serde_json::{Map, Value};
use sets::Loaded;
use std::path::{Path, PathBuf};
use tractable_cli::progress::ProgressDisplay;
use tractable_cli::report::{Exit, Outcome, Report, file_error};
use tractable_cli::results::{Clock, Rows};
use tractable_cli::{files, interrupt, jobs};

const AFTER_HELP: &str = "\
Examples:
  cargo xtask reproduce uci --data uci/ --check
  cargo xtask reproduce uci --data uci/ --gaps --sets yacht,energy

DIR holds NAME.csv (target in the last column) and NAME_splits.json for boston, concrete, energy,
kin8nm, naval, power, protein, wine_red and yacht. First the settings of the method's authors, with one
noise per set: `expected` is an independent implementation of the same method, to the digits
shown. `off by` is the difference in standard errors over the splits; --check allows two of them
plus half of the last digit shown. Then the default model, `Ensemble`, with the same settings for every
set. --gaps tests it in gaps: one split per input, whose middle third is the test part.

With --out, results of the default model are saved as they come, next to those of other sets;
--resume runs only the missing splits.";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Folder of the data
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Use only these sets
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    sets: Vec<String>,
    /// Use only the first N splits
    #[arg(long, value_name = "N")]
    splits: Option<usize>,
    /// Run only one of the two models
    #[arg(long, value_name = "MODEL")]
    only: Option<Model>,
    /// Gap splits instead of the usual ones, for the default model
    #[arg(long, conflicts_with_all = ["check", "only"])]
    gaps: bool,
    /// Seed of the first split; the others follow it
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Folder for uci.json
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Skip splits of the default model that uci.json already has with the same seed
    #[arg(long, requires = "out")]
    resume: bool,
    /// Exit 1 if a set with the authors' settings is off by more than two standard errors plus half of the last known digit
    #[arg(long)]
    check: bool,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq)]
enum Model {
    Paper,
    Default,
}

pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    if args.splits == Some(0) || (args.check && args.splits == Some(1)) {
        return Err(Exit::Error("--splits: must be at least 1, or 2 with --check".into()));
    }
    if args.check && args.only == Some(Model::Default) {
        return Err(Exit::Error("--check: needs the authors' settings, which --only excludes".into()));
    }
    let sets =
        sets::chosen(&args.sets)?.into_iter().map(|b| sets::load(b, args)).collect::<Outcome<Vec<_>>>()?;
    let report = Report::new(args.json);
    let mut paper = Vec::new();
    if !args.gaps && args.only != Some(Model::Default) {
        let clock = Clock::start();
        paper = paper::rows(args, &sets, report)?;
        if let Some(dir) = &args.out {
            let results = clock.results("cargo xtask reproduce uci --data DIR", Rows { rows: &paper });
            keep(dir, None, results)?;
        }
    }
    if args.only != Some(Model::Paper) {
        default::run(args, &sets, report)?;
    }
    if args.check { paper::check(&paper) } else { Ok(()) }
}

/// Splits of sets, each on one thread; `done` hears of them as they end.
fn each_split<T: Send>(
    sets: &[Loaded],
    mut splits: Vec<(usize, usize)>,
    work: impl Fn(&Loaded, usize) -> tractable::Result<T> + Sync,
    mut done: impl FnMut(usize, usize, T) -> Outcome,
) -> Outcome {
    // The longest first, so that none is left alone at the end.
    splits.sort_by_key(|&(i, k)| std::cmp::Reverse(sets[i].work(k)));
    let total = splits.iter().map(|&(i, k)| sets[i].work(k)).sum();
    let mut progress = ProgressDisplay::new(Some(total));
    let (mut finished, mut sum) = (0, 0);
    jobs::each(
        &splits,
        |&(i, k)| work(&sets[i], k),
        |job, result| {
            let (i, k) = splits[job];
            done(i, k, result?)?;
            (finished, sum) = (finished + 1, sum + sets[i].work(k));
            progress.at(sum, || {
                format!("{finished} of {} splits, last {}", splits.len(), sets[i].benchmark.name)
            });
            Ok(())
        },
    )?;
    if interrupt::requested() {
        return Err(Exit::Interrupted(format!("after {finished} of {} splits", splits.len())));
    }
    progress.done(&format!("{finished} splits"));
    Ok(())
}

/// What uci.json holds; nothing if there is none.
fn kept(dir: &Path) -> Outcome<Map<String, Value>> {
    let path = dir.join("uci.json");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(e) => return Err(file_error(&path, "read it")(e)),
    };
    serde_json::from_str(&text).map_err(|e| Exit::Error(format!("{}: {e}", path.display())))
}

/// Puts results into uci.json, at its top or under a name; the rest stays.
fn keep(dir: &Path, under: Option<&str>, results: Value) -> Outcome {
    std::fs::create_dir_all(dir).map_err(file_error(dir, "make this folder"))?;
    let mut file = kept(dir)?;
    match (under, results) {
        (Some(name), results) => drop(file.insert(name.into(), results)),
        (None, Value::Object(results)) => file.extend(results),
        (None, _) => unreachable!("results have fields"),
    }
    files::write_json(&dir.join("uci.json"), &file)
}
