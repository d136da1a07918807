//! `cargo xtask reproduce all`: every result of this folder, one command after another, and the tables they make.

use super::{What, tables};
use clap::Parser;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tractable_cli::console::note;
use tractable_cli::report::{Exit, Outcome, Report, file_error};
use tractable_cli::results::{Clock, Rows, machine};
use tractable_cli::{files, interrupt};

const AFTER_HELP: &str = "\
Examples:
  cargo xtask reproduce all --quick
  cargo xtask reproduce all --uci data/uci --data data/ --runs runs/
  cargo xtask reproduce tables --write README.md           (the tables into the documentation)

Each part is a separate command, printed before it runs: table-2, regret, numerics, toys, uci, missing, uci's
gaps, images with table-1, table-3. A part without data is skipped with a note. --quick runs everything
except the training on images in about a minute, with fewer seeds, splits, steps and images: a
check that it works, not a result.";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Run a short version of everything in about a minute
    #[arg(long)]
    quick: bool,
    /// Folder for the JSON files and tables.md [default: docs/results, with --quick quick-results]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Folder of the UCI sets
    #[arg(long, value_name = "DIR", default_value = "data/uci")]
    uci: PathBuf,
    /// Folder of the image sets, from `tractable data fetch --to DIR`
    #[arg(long, value_name = "DIR", default_value = "data")]
    data: PathBuf,
    /// Folder of trained networks and agents; existing ones are used
    #[arg(long, value_name = "DIR", default_value = "runs")]
    runs: PathBuf,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// `cargo xtask reproduce` as it is typed.
#[derive(Parser)]
#[command(name = "cargo xtask reproduce")]
struct Typed {
    #[command(subcommand)]
    what: What,
}

/// A part's name, and the words of its command or why it is left out.
type PlannedCommand = (&'static str, Result<Vec<String>, String>);

#[derive(Serialize)]
struct Done<'a> {
    part: &'a str,
    /// What was run; null where it was skipped.
    command: Option<String>,
    seconds: Option<f64>,
    machine: &'a str,
    skipped: Option<&'a str>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    let usual = if args.quick { "quick-results" } else { "docs/results" };
    let out = args.out.clone().unwrap_or_else(|| usual.into());
    std::fs::create_dir_all(&out).map_err(file_error(&out, "make this folder"))?;
    let report = Report::new(args.json).ignoring_closed_pipe();
    let machine = machine();
    for (part, command) in parts(args, &out) {
        let mut done = Done { part, command: None, seconds: None, machine: &machine, skipped: None };
        let words = match &command {
            Ok(words) => words.clone(),
            Err(why) => {
                done.skipped = Some(why);
                report.say("part", &done, || format!("{part}: skipped: {why}\n"))?;
                continue;
            }
        };
        let command = format!("cargo xtask reproduce {}", words.join(" "));
        note(&command);
        let clock = Clock::start();
        let more = args.json.then(|| "--json".to_string());
        let typed = Typed::try_parse_from(["reproduce".into()].into_iter().chain(words).chain(more));
        super::run_one(&typed.map_err(|e| Exit::Error(e.to_string()))?.what)?;
        if interrupt::requested() {
            let why = format!("in {part}; finished parts are in {}", out.display());
            return Err(Exit::Interrupted(why));
        }
        if part == "table-3" {
            keep_table_3(&clock, &table_3(args), &out, &command)?;
        }
        let seconds = clock.seconds();
        (done.command, done.seconds) = (Some(command), Some(seconds));
        report.say("part", &done, || format!("{part}: {seconds:.0} s on {machine}\n"))?;
    }
    files::write(&out.join("tables.md"), tables::all(&out)?.as_bytes())?;
    note(&format!("written to {}", out.display()));
    Ok(())
}

fn parts(args: &Args, out: &Path) -> Vec<PlannedCommand> {
    let words = |line: &str, paths: &[(&str, &Path)]| {
        let mut words: Vec<String> = line.split(' ').map(String::from).collect();
        words.extend(paths.iter().flat_map(|(flag, path)| [flag.to_string(), path.display().to_string()]));
        words
    };
    let quick = |short: &'static str, whole: &'static str| if args.quick { short } else { whole };
    let run = |set: &str| args.runs.join(set);
    let trained = |set: &str| run(set).join("model.safetensors").exists();
    let has = |set: &str| args.data.join(set).is_dir();
    let mut parts = vec![
        ("table-2", Ok(words(quick("table-2 --seeds 2", "table-2 --seeds 5"), &[("-o", out)]))),
        ("regret", Ok(words(quick("regret --seeds 2 --long 0", "regret --seeds 10"), &[("-o", out)]))),
        ("numerics", Ok(words(quick("numerics --draws 100 --networks 1", "numerics"), &[("-o", out)]))),
    ];
    parts.push(("toys", Ok(words(quick("toys --seeds 1 --times 0", "toys"), &[("-o", out)]))));
    let no_uci = || format!("no folder {}; give the folder of the sets with --uci DIR", args.uci.display());
    let mut uci = |part, line| {
        let words = words(line, &[("--data", &args.uci), ("-o", out)]);
        parts.push((part, args.uci.is_dir().then_some(words).ok_or_else(no_uci)));
    };
    uci("uci", quick("uci --sets boston,energy,yacht --splits 1", "uci"));
    uci("missing", quick("missing --sets yacht --splits 1 --shares 0.3", "missing"));
    uci("gaps", quick("uci --gaps --sets yacht --splits 1", "uci --gaps"));
    let sets: Vec<&str> = ["mnist", "cifar10"].into_iter().filter(|s| has(s)).collect();
    if !args.quick {
        let paths: [(&str, &Path); 3] = [("--data", &args.data), ("-o", &args.runs), ("--record", out)];
        let images = words(&format!("images --sets {}", sets.join(",")), &paths);
        let none = || {
            let how = "get them with `tractable data fetch SET --to DIR`";
            format!("no mnist or cifar10 in {}; {how}", args.data.display())
        };
        parts.push(("images", (!sets.is_empty()).then_some(images).ok_or_else(none)));
    }
    let attacked: Vec<&str> = sets.into_iter().filter(|set| trained(set) || !args.quick).collect();
    let mut attack = words(quick("table-1 --images 20 --no-budgets", "table-1"), &[("--data", &args.data)]);
    attack.extend(attacked.iter().flat_map(|set| [format!("--{set}"), run(set).display().to_string()]));
    attack.extend(["--out".into(), out.join("table-1.json").display().to_string()]);
    let untrained = || {
        let how = "`cargo xtask reproduce images` trains them";
        format!("no trained network in {}; {how}", args.runs.display())
    };
    parts.push(("table-1", (!attacked.is_empty()).then_some(attack).ok_or_else(untrained)));
    let mut third = words(quick("table-3 --steps 2e4 --seeds 2", "table-3"), &[("-o", &table_3(args))]);
    if table_3(args).exists() {
        third.push("--resume".into());
    }
    parts.push(("table-3", Ok(third)));
    parts
}

/// Where the agents of the third table are kept.
fn table_3(args: &Args) -> PathBuf {
    args.runs.join(if args.quick { "table-3-quick" } else { "table-3" })
}

/// The rows among the agents, put among the results.
fn keep_table_3(clock: &Clock, agents: &Path, out: &Path, command: &str) -> Outcome {
    let path = agents.join("table-3.json");
    let text = std::fs::read_to_string(&path).map_err(file_error(&path, "read it"))?;
    #[derive(Deserialize)]
    struct Table {
        rows: Vec<serde_json::Value>,
    }
    let table: Table =
        serde_json::from_str(&text).map_err(|e| Exit::Error(format!("{}: {e}", path.display())))?;
    clock.write(out, "table-3", command, Rows { rows: &table.rows })
}
