//! `tractable reproduce all`: every result of this folder, one command after another, and the tables they make.

use super::{What, tables};
use clap::Parser;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tractable_program::console::note;
use tractable_program::report::{Exit, Outcome, Report, file_error};
use tractable_program::results::{Clock, Rows, machine};
use tractable_program::{files, interrupt};

const AFTER_HELP: &str = "\
Examples:
  tractable reproduce all --quick
  tractable reproduce all --uci data/uci --data data/ --runs runs/
  tractable reproduce tables --write README.md           (the tables into the documentation)

Each part is a command of its own, printed before it runs: table-2, regret, numerics, uci, images with
table-1, table-3. A part whose data are not there is skipped, and says so. --quick looks at all of
them but the training of images in about a minute, with fewer seeds, splits, steps and images: a
check that it works, not a result.";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// A look at everything in about a minute
    #[arg(long)]
    quick: bool,
    /// Folder for the JSON files and tables.md [default: docs/results, with --quick quick-results]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Folder of the UCI sets
    #[arg(long, value_name = "DIR", default_value = "data/uci")]
    uci: PathBuf,
    /// Folder of the image sets, as `tractable data fetch --to DIR` fills it
    #[arg(long, value_name = "DIR", default_value = "data")]
    data: PathBuf,
    /// Folder of the trained networks and agents, those that are there included
    #[arg(long, value_name = "DIR", default_value = "runs")]
    runs: PathBuf,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// `tractable reproduce` as it is typed.
#[derive(Parser)]
#[command(name = "tractable reproduce")]
struct Typed {
    #[command(subcommand)]
    what: What,
}

/// One part: the words of its command, or why it is left out.
struct PlannedCommand {
    name: &'static str,
    command: Result<Vec<String>, String>,
}

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
    for part in parts(args, &out) {
        let words = match part.command {
            Ok(words) => words,
            Err(why) => {
                let done = Done {
                    part: part.name,
                    command: None,
                    seconds: None,
                    machine: &machine,
                    skipped: Some(&why),
                };
                report.say("part", &done, || format!("{}: skipped: {why}\n", part.name))?;
                continue;
            }
        };
        let command = format!("tractable reproduce {}", words.join(" "));
        note(&command);
        let clock = Clock::start();
        let more = args.json.then(|| "--json".to_string());
        let typed = Typed::try_parse_from(["reproduce".into()].into_iter().chain(words).chain(more));
        super::run_one(&typed.map_err(|e| Exit::Error(e.to_string()))?.what)?;
        if interrupt::requested() {
            return Err(Exit::Interrupted(format!(
                "in {}; what was done before is in {}",
                part.name,
                out.display()
            )));
        }
        if part.name == "table-3" {
            keep_table_3(&clock, &table_3(args), &out, &command)?;
        }
        let seconds = clock.seconds();
        let done = Done {
            part: part.name,
            command: Some(command),
            seconds: Some(seconds),
            machine: &machine,
            skipped: None,
        };
        report.say("part", &done, || format!("{}: {seconds:.0} s on {machine}\n", part.name))?;
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
        PlannedCommand {
            name: "table-2",
            command: Ok(words(quick("table-2 --seeds 2", "table-2 --seeds 5"), &[("-o", out)])),
        },
        PlannedCommand {
            name: "regret",
            command: Ok(words(quick("regret --seeds 2 --long 0", "regret --seeds 10"), &[("-o", out)])),
        },
        PlannedCommand {
            name: "numerics",
            command: Ok(words(quick("numerics --draws 500", "numerics"), &[("-o", out)])),
        },
        PlannedCommand {
            name: "uci",
            command: match args.uci.is_dir() {
                true => Ok(words(
                    quick("uci --sets boston,energy,yacht --splits 3", "uci"),
                    &[("--data", &args.uci), ("-o", out)],
                )),
                false => {
                    Err(format!("no folder {}; say where the sets are with --uci DIR", args.uci.display()))
                }
            },
        },
    ];
    let sets: Vec<&str> = ["mnist", "cifar10"].into_iter().filter(|s| has(s)).collect();
    if !args.quick {
        parts.push(PlannedCommand {
            name: "images",
            command: match sets.is_empty() {
                false => Ok(words(
                    &format!("images --sets {}", sets.join(",")),
                    &[("--data", &args.data), ("-o", &args.runs), ("--record", out)],
                )),
                true => Err(format!(
                    "no mnist or cifar10 in {}; get them with `tractable data fetch SET --to DIR`",
                    args.data.display()
                )),
            },
        });
    }
    let will_be = |set: &&str| has(set) && (trained(set) || !args.quick);
    let attacked: Vec<&str> = ["mnist", "cifar10"].into_iter().filter(will_be).collect();
    parts.push(PlannedCommand {
        name: "table-1",
        command: match attacked.is_empty() {
            false => {
                let mut all =
                    words(quick("table-1 --images 20 --no-budgets", "table-1"), &[("--data", &args.data)]);
                for set in attacked {
                    all.extend([format!("--{set}"), run(set).display().to_string()]);
                }
                all.extend(["--out".into(), out.join("table-1.json").display().to_string()]);
                Ok(all)
            }
            true => Err(format!(
                "no trained network in {}; `tractable reproduce images` trains them",
                args.runs.display()
            )),
        },
    });
    let mut third = words(quick("table-3 --steps 2e4 --seeds 2", "table-3"), &[("-o", &table_3(args))]);
    if table_3(args).exists() {
        third.push("--resume".into());
    }
    parts.push(PlannedCommand { name: "table-3", command: Ok(third) });
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
