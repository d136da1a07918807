//! `tractable reproduce table-3`: continuous actions on two tasks, beside what the paper printed.
//!
//! Two million steps, five consecutive seeds, the mean return of the last 100 training episodes with the sampling policy
//! and the task's own rewards. One row for this program's defaults, one that follows the authors' code.

use crate::cmd::rl::seeds::{Plan, Seed, train};
use crate::cmd::rl::task::{Task, World};
use crate::cmd::rl::train::{curve, steps};
use crate::report::{Outcome, Report, Stop, file_error, table};
use crate::{files, interrupt};
use serde::Serialize;
use std::path::PathBuf;
use tractable::rl::Settings;

const AFTER_HELP: &str = "\
Example:
  tractable reproduce table-3 --seeds 5 -o table-3/

With -o, DIR gets table-3.json, both learning curves, and the folder of every run, which
`tractable rl play` plays. The same command with --resume goes on where it was stopped.";

/// The paper's third table
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Steps of every seed
    #[arg(long, value_name = "N", default_value = "2e6", value_parser = steps)]
    steps: u64,
    /// How many seeds
    #[arg(long, value_name = "N", default_value_t = 5)]
    seeds: u64,
    /// The first seed; each further one is the next
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Folder for numbers, curves and agents
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with what is in -o DIR
    #[arg(long, requires = "out")]
    resume: bool,
    /// Exit 1 unless every mean reaches the paper's
    #[arg(long)]
    check: bool,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
    /// No progress
    #[arg(short, long)]
    quiet: bool,
}

/// A task with what the paper's table has for it: its own agent and PPO.
const TASKS: [(Task, f64, f64); 2] =
    [(Task::HalfCheetah, 1934.0, 1649.0), (Task::InvertedPendulum, 983.0, 887.0)];

/// One row over all seeds.
#[derive(Serialize)]
struct Line {
    task: &'static str,
    agent: &'static str,
    mean: Option<f64>,
    std: Option<f64>,
    lowest: Option<f64>,
    /// What the paper prints for its agent and for PPO.
    paper: f64,
    paper_ppo: f64,
    seeds: Vec<Seed>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    if args.seeds == 0 {
        return Err(Stop::Error("--seeds: one is the least".into()));
    }
    let report = Report::new(args.json);
    let mut lines = Vec::new();
    for (task, paper, paper_ppo) in TASKS {
        let world = World::embedded(task);
        let first = lines.len();
        for (agent, settings) in
            [("defaults", Settings::default()), ("as the authors' code", Settings::as_published())]
        {
            let out = args
                .out
                .as_ref()
                .map(|o| o.join(format!("{}-{}", world.name(), agent.replace([' ', '\''], "-"))));
            if let Some(out) = &out {
                std::fs::create_dir_all(out).map_err(file_error(out, "make this folder"))?;
            }
            let plan = Plan {
                world: world.clone(),
                settings,
                steps: args.steps,
                first: args.seed,
                seeds: args.seeds,
                out,
                resume: args.resume,
                quiet: args.quiet,
            };
            let seeds = train(&plan)?;
            if interrupt::asked() {
                return Err(Stop::Interrupted("go on with --resume".into()));
            }
            let line = line(world.name(), agent, paper, paper_ppo, seeds);
            report.say("row", &line, String::new)?;
            lines.push(line);
        }
        if let Some(out) = &args.out {
            let groups: Vec<(&str, &[Seed])> =
                lines[first..].iter().map(|l| (l.agent, &l.seeds[..])).collect();
            curve(world.name(), &groups, &out.join(world.name()))?;
        }
    }
    if !args.json {
        report.say("", &(), || text(&lines))?;
    }
    if let Some(out) = &args.out {
        let json = serde_json::to_string_pretty(&lines).expect("plain numbers") + "\n";
        files::write(&out.join("table-3.json"), json.as_bytes())?;
    }
    if let Some((seed, why)) =
        lines.iter().flat_map(|l| &l.seeds).find_map(|s| s.error.as_ref().map(|e| (s.seed, e)))
    {
        return Err(Stop::Error(format!("seed {seed}: {why}")));
    }
    let short = lines.iter().find(|l| l.agent == "defaults" && l.mean.is_none_or(|m| m < l.paper));
    match short.filter(|_| args.check) {
        None => Ok(()),
        Some(l) => Err(Stop::NotHeld(format!("{}: the mean is below the paper's {}", l.task, l.paper))),
    }
}

fn line(task: &'static str, agent: &'static str, paper: f64, paper_ppo: f64, seeds: Vec<Seed>) -> Line {
    let all: Vec<f64> = seeds.iter().filter_map(|s| s.average).collect();
    let n = all.len() as f64;
    let mean = (!all.is_empty()).then(|| all.iter().sum::<f64>() / n);
    let std = mean.map(|m| (all.iter().map(|a| (a - m).powi(2)).sum::<f64>() / n).sqrt());
    let lowest = all.iter().copied().reduce(f64::min);
    Line { task, agent, mean, std, lowest, paper, paper_ppo, seeds }
}

fn text(lines: &[Line]) -> String {
    let head = ["task", "agent", "mean", "std", "lowest", "paper", "paper's PPO", "every seed"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let number = |v: Option<f64>| v.map_or("-".into(), |v| format!("{v:.0}"));
    for l in lines {
        let each: Vec<String> = l.seeds.iter().map(|s| number(s.average)).collect();
        rows.push(vec![
            l.task.into(),
            l.agent.into(),
            number(l.mean),
            number(l.std),
            number(l.lowest),
            number(Some(l.paper)),
            number(Some(l.paper_ppo)),
            each.join(" "),
        ]);
    }
    table(&rows, &[0, 1, 7])
}
