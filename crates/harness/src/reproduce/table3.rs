//! `cargo xtask reproduce table-3`: continuous actions on two tasks, beside what the paper printed.
//!
//! Two million steps, five consecutive seeds, the mean return of the last 100 training episodes with the sampling policy
//! and the task's own rewards. One row for what `tractable rl` does on the task, one that follows the authors' code, and PPO.

use serde::Serialize;
use std::path::PathBuf;
use tractable::rl::Settings;
use tractable_cli::report::{Exit, Outcome, PROGRAM, Report, table};
use tractable_cli::rl::{AgentConfig, Plan, Returns, Seed, Task, World, draw_curves, steps, train};
use tractable_cli::{files, interrupt};

const AFTER_HELP: &str = "\
Example:
  cargo xtask reproduce table-3 --seeds 5 -o table-3/

With -o, DIR gets table-3.json, both learning curves, and the folder of every run, which
`tractable rl play` plays. The same command with --resume continues where it stopped.";

/// The paper's third table
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Steps of every seed
    #[arg(long, value_name = "N", default_value = "2e6", value_parser = steps)]
    steps: u64,
    /// Number of seeds
    #[arg(long, value_name = "N", default_value_t = 5)]
    seeds: u64,
    /// First seed; the others follow it
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Folder for numbers, curves and agents
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue the runs in -o DIR
    #[arg(long, requires = "out")]
    resume: bool,
    /// Exit 1 unless our rows reach their goals
    #[arg(long)]
    check: bool,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// A task, what is to be reached on it, and what others scored.
struct TaskGoal {
    task: Task,
    /// The paper's agent: what its table prints. No seed is to be below `lowest`, and their mean not below `mean`.
    paper: f64,
    mean: f64,
    lowest: f64,
    others: [Other; 3],
}

/// Somebody else's agent on the same task.
#[derive(Clone, Copy, Serialize)]
struct Other {
    agent: &'static str,
    steps: &'static str,
    returns: &'static [f64],
}

const fn ppo(paper: &'static [f64], again: &'static [f64], tuned: &'static [f64]) -> [Other; 3] {
    [
        Other { agent: "PPO, as the paper prints it", steps: "2e6", returns: paper },
        Other { agent: "PPO, the paper's settings, measured", steps: "1e6", returns: again },
        Other { agent: "PPO, tuned", steps: "1e6", returns: tuned },
    ]
}

const GOALS: [TaskGoal; 2] = [
    TaskGoal {
        task: Task::HalfCheetah,
        paper: 1934.0,
        mean: 2500.0,
        lowest: 1934.0,
        others: ppo(&[1649.0], &[1605.0, 1960.0, 1851.0], &[5800.0]),
    },
    TaskGoal {
        task: Task::InvertedPendulum,
        paper: 983.0,
        mean: 990.0,
        lowest: 950.0,
        others: ppo(&[887.0], &[800.0, 1000.0, 1000.0], &[1000.0]),
    },
];

const OURS: &str = "tractable";
const AUTHORS: &str = "as the authors' code";

/// Everything, for a file.
#[derive(Serialize)]
struct ResultFile<'a> {
    program: &'static str,
    command: String,
    steps: u64,
    first_seed: u64,
    rows: &'a [Line],
}

/// One row over all seeds.
#[derive(Serialize)]
struct Line {
    task: &'static str,
    agent: &'static str,
    mean: Option<f64>,
    std: Option<f64>,
    lowest: Option<f64>,
    /// What the paper prints for its agent.
    paper: f64,
    /// What our row is to reach: a mean, and a lowest seed.
    goal: Option<(f64, f64)>,
    falls_short: bool,
    seeds: Vec<Seed>,
    others: [Other; 3],
    settings: Settings,
}

pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    if args.seeds == 0 {
        return Err(Exit::Error("--seeds: must be at least 1".into()));
    }
    let report = Report::new(args.json);
    let mut lines = Vec::new();
    for goal in GOALS {
        let world = World::embedded(goal.task);
        let first = lines.len();
        for (agent, settings) in [(OURS, goal.task.settings()), (AUTHORS, Settings::as_published())] {
            let folder = format!("{}-{}", world.name(), agent.replace(' ', "-").replace('\'', ""));
            let plan = Plan {
                world: world.clone(),
                settings: settings.clone(),
                steps: args.steps,
                first: args.seed,
                seeds: args.seeds,
                out: args.out.as_ref().map(|o| o.join(folder)),
                resume: args.resume,
            };
            if let Some(out) = &plan.out {
                AgentConfig::of(&plan).write(out)?;
            }
            let seeds = train(&plan)?;
            if interrupt::requested() {
                return Err(Exit::Interrupted("continue with --resume".into()));
            }
            let line = line(world.name(), agent, &goal, settings, seeds);
            report.say("row", &line, String::new)?;
            lines.push(line);
        }
        if let Some(out) = &args.out {
            let groups: Vec<(&str, &[Seed])> =
                lines[first..].iter().map(|l| (l.agent, &l.seeds[..])).collect();
            draw_curves(world.name(), &groups, &out.join(format!("table-3-{}", world.name())))?;
        }
    }
    if !args.json {
        report.say("", &(), || text(&lines))?;
    }
    if let Some(out) = &args.out {
        let all = ResultFile {
            program: PROGRAM,
            command: format!(
                "cargo xtask reproduce table-3 --steps {} --seeds {} --seed {}",
                args.steps, args.seeds, args.seed
            ),
            steps: args.steps,
            first_seed: args.seed,
            rows: &lines,
        };
        files::write_json(&out.join("table-3.json"), &all)?;
    }
    if let Some((seed, why)) =
        lines.iter().flat_map(|l| &l.seeds).find_map(|s| s.error.as_ref().map(|e| (s.seed, e)))
    {
        return Err(Exit::Error(format!("seed {seed}: {why}")));
    }
    match lines.iter().find(|l| args.check && l.falls_short) {
        None => Ok(()),
        Some(l) => Err(Exit::CheckFailed(format!("{}: falls short of its goal", l.task))),
    }
}

fn line(
    task: &'static str,
    agent: &'static str,
    goal: &TaskGoal,
    settings: Settings,
    seeds: Vec<Seed>,
) -> Line {
    let Returns { mean, std, lowest, .. } = Returns::over(&seeds);
    let ours = (agent == OURS).then_some((goal.mean, goal.lowest));
    let reached = |got: Option<f64>, least: f64| got.is_some_and(|v| v >= least);
    let falls_short = ours.is_some_and(|(m, l)| !reached(mean, m) || !reached(lowest, l));
    let (paper, others) = (goal.paper, goal.others);
    Line { task, agent, mean, std, lowest, paper, goal: ours, falls_short, seeds, others, settings }
}

fn text(lines: &[Line]) -> String {
    let head = ["task", "agent", "steps", "mean", "std", "lowest", "paper", "every seed", ""];
    let mut rows = vec![head.map(String::from).to_vec()];
    let number = |v: Option<f64>| v.map_or("-".into(), |v| format!("{v:.0}"));
    for (i, l) in lines.iter().enumerate() {
        let each: Vec<String> = l.seeds.iter().map(|s| number(s.average)).collect();
        let steps = l.seeds.iter().map(|s| s.steps).min().unwrap_or(0);
        let mark = match (l.goal, l.falls_short) {
            (Some((mean, lowest)), true) => format!("falls short of {mean:.0}, lowest {lowest:.0}"),
            (Some(_), false) => "reached".into(),
            (None, _) => String::new(),
        };
        rows.push(vec![
            l.task.into(),
            l.agent.into(),
            format!("{:.1e}", steps as f64),
            number(l.mean),
            number(l.std),
            number(l.lowest),
            number(Some(l.paper)),
            each.join(" "),
            mark,
        ]);
        if lines.get(i + 1).is_some_and(|next| next.task == l.task) {
            continue;
        }
        for other in l.others {
            let mean = other.returns.iter().sum::<f64>() / other.returns.len() as f64;
            let each: Vec<String> = other.returns.iter().map(|v| number(Some(*v))).collect();
            let (mean, each) = (number(Some(mean)), each.join(" "));
            let gap = String::new;
            rows.push(vec![
                l.task.into(),
                other.agent.into(),
                other.steps.into(),
                mean,
                gap(),
                gap(),
                gap(),
                each,
                gap(),
            ]);
        }
    }
    table(&rows, &[0, 1, 7, 8])
}
