//! `cargo xtask reproduce regret`: the optimiser on four test functions beside what others reached with as many
//! evaluations, and how the cost of a point grows with their number.

use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;
use tractable::optimize::Optimizer;
use tractable_cli::interrupt;
use tractable_cli::jobs::side_by_side;
use tractable_cli::objective::{Direction, Objective, test_function};
use tractable_cli::progress::ProgressDisplay;
use tractable_cli::report::{Exit, Outcome, Report, table};
use tractable_cli::results::Clock;

const AFTER_HELP: &str = "\
Example:
  cargo xtask reproduce regret --seeds 10 -o docs/results

Regret is the best value found minus the known minimum: median, best and worst over the seeds.
The numbers of other optimisers were measured elsewhere with the same budgets; `ackley5` is shifted,
and we do not know their shift.";

/// Compare optimisers
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Number of seeds
    #[arg(long, value_name = "N", default_value_t = 10)]
    seeds: u64,
    /// First seed; the others follow it
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Evaluations of the long run that shows the cost; 0 leaves it out
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    long: usize,
    /// Folder for regret.json
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Exit 1 unless the median is better than TPE's and pycma's on every function
    #[arg(long)]
    check: bool,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// A function, how often it may be called, and the median regret of others.
struct Contest {
    name: &'static str,
    evaluations: usize,
    egobox: f64,
    tpe: f64,
    pycma: f64,
}

const CONTESTS: [Contest; 4] = [
    Contest { name: "branin", evaluations: 50, egobox: 5e-7, tpe: 0.067, pycma: 0.40 },
    Contest { name: "hartmann6", evaluations: 100, egobox: 3e-5, tpe: 0.116, pycma: 0.62 },
    Contest { name: "ackley5", evaluations: 100, egobox: 2.7, tpe: 6.4, pycma: 15.7 },
    Contest { name: "rosenbrock4", evaluations: 100, egobox: 0.42, tpe: 24.0, pycma: 214.0 },
];

#[derive(Serialize)]
struct Line {
    function: &'static str,
    evaluations: usize,
    median: f64,
    best: f64,
    worst: f64,
    egobox: f64,
    tpe: f64,
    pycma: f64,
    /// Of one core, an evaluation.
    ms: f64,
}

/// Cost of asking around one number of evaluations.
#[derive(Serialize)]
struct Cost {
    evaluations: usize,
    ms: f64,
    regret: f64,
}

#[derive(Serialize)]
struct All<'a> {
    rows: &'a [Line],
    costs: &'a [Cost],
}

pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    if args.seeds == 0 {
        return Err(Exit::Error("--seeds: must be at least 1".into()));
    }
    let clock = Clock::start();
    let report = Report::new(args.json);
    let lines = contests(args)?;
    if args.json {
        lines.iter().try_for_each(|line| report.say("function", line, String::new))?;
    }
    let costs = if args.long > 0 { long(args)? } else { Vec::new() };
    if args.json {
        costs.iter().try_for_each(|cost| report.say("cost", cost, String::new))?;
    } else {
        let mut text = table(&regrets(&lines), &[0]);
        if !costs.is_empty() {
            text += &format!("\n{}", table(&growth(&costs), &[]));
        }
        report.say("", &(), || text)?;
    }
    if let Some(dir) = &args.out {
        let (seeds, seed, long) = (args.seeds, args.seed, args.long);
        let command = format!("cargo xtask reproduce regret --seeds {seeds} --seed {seed} --long {long}");
        clock.write(dir, "regret", &command, All { rows: &lines, costs: &costs })?;
    }
    let behind: Vec<&str> =
        lines.iter().filter(|l| !(l.median < l.tpe && l.median < l.pycma)).map(|l| l.function).collect();
    match args.check && !behind.is_empty() {
        true => Err(Exit::CheckFailed(format!("not better than TPE and pycma on {}", behind.join(", ")))),
        false => Ok(()),
    }
}

/// Regret and milliseconds an evaluation of one search.
fn one(name: &str, evaluations: usize, seed: u64) -> tractable::Result<(f64, f64)> {
    let function = test_function(name).expect("a function of ours");
    let objective = Objective::named(function);
    let minimum = function.known(Direction::Minimize).expect("a known minimum").value;
    let began = Instant::now();
    let mut search = Optimizer::minimize(function.bounds.iter().copied())?.seed(seed);
    while search.history().len() < evaluations && !interrupt::requested() {
        let x = search.ask()?;
        search.tell(&x, objective.value(&x))?;
    }
    let best = search.best().and_then(|t| t.y).unwrap_or(f64::NAN);
    Ok((best - minimum, began.elapsed().as_secs_f64() * 1e3 / evaluations as f64))
}

fn contests(args: &Args) -> Outcome<Vec<Line>> {
    let seeds = (0..args.seeds).map(|s| args.seed.wrapping_add(s));
    let jobs: Vec<(usize, u64)> =
        (0..CONTESTS.len()).flat_map(|c| seeds.clone().map(move |s| (c, s))).collect();
    let results =
        side_by_side(&jobs, "searches", |&(c, seed)| one(CONTESTS[c].name, CONTESTS[c].evaluations, seed))?;
    let of = results.chunks_exact(args.seeds as usize);
    Ok(CONTESTS.iter().zip(of).map(|(c, of)| line(c, of.to_vec())).collect())
}

fn line(c: &Contest, mut of: Vec<(f64, f64)>) -> Line {
    of.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n = of.len();
    Line {
        function: c.name,
        evaluations: c.evaluations,
        median: (of[(n - 1) / 2].0 + of[n / 2].0) / 2.0,
        best: of[0].0,
        worst: of[n - 1].0,
        egobox: c.egobox,
        tpe: c.tpe,
        pycma: c.pycma,
        ms: of.iter().map(|o| o.1).sum::<f64>() / n as f64,
    }
}

/// One long search: what a point costs after ever more of them.
fn long(args: &Args) -> Outcome<Vec<Cost>> {
    let function = test_function("hartmann6").expect("a function of ours");
    let (objective, minimum) = (Objective::named(function), function.minimum.map_or(0.0, |k| k.value));
    let mut search = Optimizer::minimize(function.bounds.iter().copied())?.seed(args.seed);
    let mut progress = ProgressDisplay::new(Some(args.long as u64));
    let (mut costs, mut mark, mut since) = (Vec::new(), 100.min(args.long), (0, Instant::now()));
    while search.history().len() < args.long {
        if interrupt::requested() {
            return Err(Exit::Interrupted(format!(
                "after {} evaluations of the long run",
                search.history().len()
            )));
        }
        let x = search.ask()?;
        search.tell(&x, objective.value(&x))?;
        let n = search.history().len();
        let regret = search.best().and_then(|t| t.y).unwrap_or(f64::NAN) - minimum;
        progress.at(n as u64, || format!("long run: {n} evaluations, regret {regret:.1e}"));
        if n == mark {
            let ms = since.1.elapsed().as_secs_f64() * 1e3 / (n - since.0) as f64;
            costs.push(Cost { evaluations: n, ms, regret });
            since = (n, Instant::now());
            mark = if mark * 10 <= args.long { next_mark(mark) } else { next_mark(mark).min(args.long) };
        }
    }
    progress.done("long run done");
    Ok(costs)
}

/// 100, 300, 1000, 3000, ...
fn next_mark(mark: usize) -> usize {
    if mark.to_string().starts_with('3') { mark / 3 * 10 } else { mark * 3 }
}

/// The columns, in a terminal and in documents.
pub(super) const HEAD: [&str; 9] =
    ["function", "evaluations", "ours (median)", "best", "worst", "egobox", "Optuna TPE", "pycma", "ms each"];

fn regrets(lines: &[Line]) -> Vec<Vec<String>> {
    let mut rows = vec![HEAD.map(String::from).to_vec()];
    rows.extend(lines.iter().map(|l| {
        let number = |v: f64| if v.abs() < 0.01 { format!("{v:.0e}") } else { format!("{v:.3}") };
        vec![
            l.function.to_string(),
            l.evaluations.to_string(),
            number(l.median),
            number(l.best),
            number(l.worst),
            number(l.egobox),
            number(l.tpe),
            number(l.pycma),
            format!("{:.1}", l.ms),
        ]
    }));
    rows
}

fn growth(costs: &[Cost]) -> Vec<Vec<String>> {
    let mut rows = vec![["evaluations", "ms each, since the row above", "regret"].map(String::from).to_vec()];
    rows.extend(
        costs
            .iter()
            .map(|c| vec![c.evaluations.to_string(), format!("{:.1}", c.ms), format!("{:.0e}", c.regret)]),
    );
    rows
}
