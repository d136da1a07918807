//! `cargo xtask reproduce numerics`: what the method approximates, measured against draws of the same weights and inputs.
//!
//! Four questions: what a linearised ReLU loses against the exact one; how far the spread that `predict` gives is from that of
//! drawn networks and inputs; how far the posterior that `condition` gives is from the one that is drawn; and how far this build
//! is from recorded reference vectors.

mod condition;
mod drawn;
mod predict;

use crate::verify::{self, Checked};
use condition::{Answers, Judged, Off, PRIOR_STDS};
use drawn::Kind;
use predict::{STDS, Spread};
use serde::Serialize;
use std::path::{Path, PathBuf};
use tractable::moments::{mixture_relu, relu};
use tractable::{Activation, Device, condition::Found};
use tractable_cli::console::note;
use tractable_cli::jobs::side_by_side;
use tractable_cli::report::{Exit, Outcome, Report, table};
use tractable_cli::results::Clock;
use tractable_cli::{console, interrupt};

const AFTER_HELP: &str = "\
Example:
  cargo xtask reproduce numerics -o docs/results

Networks with 50 units per layer, trained on 300 rows of a smooth function of 1 to 16 inputs, are compared with
networks and inputs sampled from the same Gaussians, with real activation functions: standard deviations at 32
inputs of every network; posteriors, for three standard deviations of the inputs, by importance sampling of
pairs of input and network.";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Maximum number of networks sampled from every network
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    draws: usize,
    /// Number of networks of every shape
    #[arg(long, value_name = "N", default_value_t = 6)]
    networks: u64,
    /// Seed of the first network of every shape; 1000 and above were used to choose the rules of `condition`, lower ones test them
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Folder of golden/ and physics/, to recompute [default: the repository's, if run inside it]
    #[arg(long, value_name = "DIR")]
    reference: Option<PathBuf>,
    /// Folder for numerics.json
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// The first is what the goals are about.
const ACTIVATIONS: [Activation; 3] = [Activation::MixtureRelu, Activation::Tanh, Activation::Relu];
const INPUTS: [usize; 5] = [1, 2, 4, 8, 16];
/// Mean and standard deviation are right within this.
const RIGHT: f64 = 0.1;

/// max(0, z) of z ~ N(at, 1).
#[derive(Serialize)]
struct Relu {
    at: f64,
    exact_mean: f64,
    linear_mean: f64,
    exact_std: f64,
    linear_std: f64,
}

/// 10 %, the median and 90 % of some numbers; nothing where there are none.
#[derive(Serialize, Clone, Copy)]
struct Quantiles {
    low: Option<f64>,
    median: Option<f64>,
    high: Option<f64>,
}

impl Quantiles {
    fn of(mut numbers: Vec<f64>) -> Self {
        numbers.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let last = numbers.len().checked_sub(1)?;
            Some(numbers[(share * last as f64).round() as usize])
        };
        Quantiles { low: at(0.1), median: at(0.5), high: at(0.9) }
    }
}

/// Answers of one kind.
#[derive(Serialize)]
struct Way {
    activation: &'static str,
    way: &'static str,
    cases: usize,
    /// Cases whose truth is not known well enough.
    left_out: usize,
    /// Of the mean, in true standard deviations; of the input that is worst.
    error: Quantiles,
    /// Standard deviation over the true one, of the input that is worst.
    std_ratio: Quantiles,
    /// Share with mean and standard deviation of every input right within 10 %.
    right: Option<f64>,
}

/// Some of the cases of `condition`.
#[derive(Serialize)]
struct Part {
    of: String,
    cases: usize,
    right: Option<f64>,
}

#[derive(Serialize)]
struct Goal {
    what: &'static str,
    goal: String,
    measured: Option<f64>,
    met: bool,
}

#[derive(Serialize)]
struct Precision {
    what: &'static str,
    files: usize,
    worst: f64,
}

#[derive(Serialize)]
struct All {
    goals: Vec<Goal>,
    relu: Vec<Relu>,
    spread: Vec<Spread>,
    conditioned: Vec<Way>,
    parts: Vec<Part>,
    precision: Vec<Precision>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    if args.draws < 100 {
        return Err(Exit::Error("--draws: must be at least 100".into()));
    }
    if args.networks == 0 {
        return Err(Exit::Error("--networks: must be at least 1".into()));
    }
    let clock = Clock::start();
    let spread = spreads(args)?;
    let cases = cases(args)?;
    let own = Path::new("crates/harness/tests/data");
    let precision = match &args.reference {
        Some(folder) => precision(folder)?,
        None if own.is_dir() => precision(own)?,
        None => {
            note("not inside the repository: reference vectors are skipped");
            Vec::new()
        }
    };
    let conditioned = ways(&cases);
    let goals = goals(&spread, &conditioned);
    let relu = [-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0].map(one_relu).into();
    let all = All { goals, relu, spread, conditioned, parts: parts(&cases), precision };
    let report = Report::new(args.json);
    if args.json {
        all.relu.iter().try_for_each(|r| report.say("relu", r, String::new))?;
        all.spread.iter().try_for_each(|r| report.say("spread", r, String::new))?;
        all.conditioned.iter().try_for_each(|r| report.say("conditioned", r, String::new))?;
        all.parts.iter().try_for_each(|r| report.say("cases", r, String::new))?;
        all.precision.iter().try_for_each(|r| report.say("precision", r, String::new))?;
        all.goals.iter().try_for_each(|r| report.say("goal", r, String::new))?;
    } else {
        report.say("", &(), || text(&all))?;
    }
    let Args { draws, networks, seed, .. } = args;
    let command =
        format!("cargo xtask reproduce numerics --draws {draws} --networks {networks} --seed {seed}");
    args.out.as_ref().map_or(Ok(()), |out| clock.write(out, "numerics", &command, &all))
}

fn name(activation: Activation) -> &'static str {
    match activation {
        Activation::MixtureRelu => "ReLU, exact moments",
        Activation::Relu => "ReLU, linearised",
        _ => "tanh, linearised",
    }
}

/// What `predict` says of networks with few, some and many inputs.
fn spreads(args: &Args) -> Outcome<Vec<Spread>> {
    let mut kinds = Vec::new();
    for activation in ACTIVATIONS {
        for hidden in 1..=3 {
            let kind = |inputs| Kind { activation, hidden, inputs, outputs: 1, seed: args.seed };
            kinds.extend([1, 4, 16].map(kind));
        }
    }
    let ratios = side_by_side(&kinds, "spreads", |kind| predict::measured(kind, args.draws / 2))?;
    let lines = kinds.chunks_exact(3).zip(ratios.chunks_exact(3));
    let lines = lines.map(|(kinds, of)| predict::lines(kinds[0].activation, kinds[0].hidden, of));
    Ok(lines.flatten().collect())
}

/// All cases of `condition`; of the activations that no goal is about, one network of every shape.
fn cases(args: &Args) -> Outcome<Vec<Judged>> {
    let mut kinds = Vec::new();
    for activation in ACTIVATIONS {
        let networks = if activation == ACTIVATIONS[0] { args.networks } else { 1 };
        for number in 0..networks {
            let (seed, outputs) = (args.seed + number, 1 + number as usize % 2);
            for hidden in 1..=3 {
                kinds.extend(INPUTS.map(|inputs| Kind { activation, hidden, inputs, outputs, seed }));
            }
        }
    }
    let cases = side_by_side(&kinds, "networks conditioned", |kind| condition::judged(kind, args.draws))?;
    Ok(cases.into_iter().flatten().collect())
}

/// The share of answers that are right.
fn right(off: &[Off]) -> Option<f64> {
    let right = |o: &&Off| o.mean <= RIGHT && (o.ratio - 1.0).abs() <= RIGHT;
    (!off.is_empty()).then(|| off.iter().filter(right).count() as f64 / off.len() as f64)
}

fn ways(cases: &[Judged]) -> Vec<Way> {
    let mut ways = Vec::new();
    for activation in ACTIVATIONS {
        let own: Vec<&Judged> = cases.iter().filter(|c| c.kind.activation == activation).collect();
        for way in ["search, once", "search, 100 rounds", "condition"] {
            if activation != ACTIVATIONS[0] && way != "condition" {
                continue;
            }
            let of = |a: &Answers| match way {
                "condition" => a.condition,
                "search, once" => a.once,
                _ => a.rounds,
            };
            let off: Vec<Off> = own.iter().filter_map(|c| c.off.as_ref()).map(of).collect();
            ways.push(Way {
                activation: name(activation),
                way,
                cases: off.len(),
                left_out: own.len() - off.len(),
                error: Quantiles::of(off.iter().map(|o| o.mean).collect()),
                std_ratio: Quantiles::of(off.iter().map(|o| o.ratio).collect()),
                right: right(&off),
            });
        }
    }
    ways
}

/// Shares of `condition` by what is known of a case before and after.
fn parts(cases: &[Judged]) -> Vec<Part> {
    let part = |of: String, is: &dyn Fn(&Judged, &Answers) -> bool| {
        let own = cases.iter().filter(|c| c.kind.activation == ACTIVATIONS[0]);
        let own = own.filter_map(|c| c.off.as_ref().filter(|a| is(c, a)).map(|a| a.condition));
        let off: Vec<Off> = own.collect();
        Part { of, cases: off.len(), right: right(&off) }
    };
    let between = |low: f64, high: f64| move |_: &Judged, a: &Answers| matches!(a.found, Found::Points { effective, .. } if (low..high).contains(&effective));
    let mut parts = vec![
        part("256 points count, or more".into(), &between(256.0, f64::INFINITY)),
        part("64 to 256 points count".into(), &between(64.0, 256.0)),
        part("fewer than 64 points count".into(), &between(0.0, 64.0)),
        part("linearised".into(), &|_, a| matches!(a.found, Found::Linearised { .. })),
    ];
    parts.extend(PRIOR_STDS.map(|std| part(format!("std before {std}"), &|c, _| c.prior_std == std)));
    parts.extend(INPUTS.map(|n| part(format!("inputs: {n}"), &|c, _| c.kind.inputs == n)));
    parts.extend([1, 2].map(|n| part(format!("outputs: {n}"), &|c, _| c.kind.outputs == n)));
    parts.extend([1, 2, 3].map(|n| part(format!("hidden layers: {n}"), &|c, _| c.kind.hidden == n)));
    parts
}

fn goals(spread: &[Spread], ways: &[Way]) -> Vec<Goal> {
    let known = |s: &&Spread| s.activation == name(ACTIVATIONS[0]) && s.input_std > 0.0 && s.input_std <= 0.1;
    let worst = spread.iter().filter(known).filter_map(|s| s.rows.median).map(|m| (m - 1.0).abs());
    let worst = worst.fold(0.0, f64::max);
    let right = ways.iter().find(|w| w.way == "condition").and_then(|w| w.right);
    vec![
        Goal {
            what: "predict: median of std / sampled std off by, inputs uncertain by up to 0.1",
            goal: "at most 0.03".into(),
            measured: Some(worst),
            met: worst <= 0.03,
        },
        Goal {
            what: "condition: share with mean and std right within 10 %, up to 16 inputs",
            goal: "at least 0.9".into(),
            measured: right,
            met: right.is_some_and(|r| r >= 0.9),
        },
    ]
}

fn one_relu(at: f64) -> Relu {
    let (exact, linear) = (mixture_relu::moments(at, 1.0), relu::moments(at, 1.0));
    Relu {
        at,
        exact_mean: exact.mean,
        linear_mean: linear.mean,
        exact_std: exact.var.sqrt(),
        linear_std: linear.var.sqrt(),
    }
}

fn precision(folder: &Path) -> Outcome<Vec<Precision>> {
    let row = |what, files: Vec<Checked>| {
        let checked = files.iter().filter(|f| f.status == verify::Status::Checked);
        // NaN is the worst.
        let worst =
            checked.clone().map(|f| f.worst).fold(0.0, |a, b| if b > a || b.is_nan() { b } else { a });
        Precision { what, files: checked.count(), worst }
    };
    let golden = folder.join("golden");
    Ok(vec![
        row(
            "reference vectors, fast device (f32), relative",
            verify::golden(&golden, Device::cpu(console::threads()))?,
        ),
        row(
            "reference vectors, reference device (f64), relative",
            verify::golden(&golden, Device::reference())?,
        ),
        row("steps and trajectories of MuJoCo, absolute", verify::physics(&folder.join("physics"))?),
    ])
}

/// A head, and rows below it.
fn grid(head: &[&str], rows: Vec<Vec<String>>, left: &[usize]) -> String {
    let head = vec![head.iter().map(|n| n.to_string()).collect::<Vec<_>>()];
    table(&[head, rows].concat(), left)
}

fn text(all: &All) -> String {
    let some = |v: Option<f64>, digits: usize| v.map_or("-".into(), |v| format!("{v:.digits$}"));
    let range = |q: &Quantiles| format!("{} to {}", some(q.low, 2), some(q.high, 2));
    let percent = |v: Option<f64>| v.map_or("-".into(), |v| format!("{:.0} %", 100.0 * v));
    let relu = all.relu.iter().map(|r| {
        [r.at, r.exact_mean, r.linear_mean, r.exact_std, r.linear_std].map(|v| format!("{v:.3}")).to_vec()
    });
    let spread = all.spread.chunks_exact(STDS.len()).flat_map(|of| {
        ["independent units", "rows"].map(|way| {
            let of_way = |s: &Spread| if way == "rows" { s.rows } else { s.independent };
            let first = [of[0].activation.into(), of[0].hidden_layers.to_string(), way.into()];
            let cells = of.iter().map(of_way).map(|q| format!("{}, {}", some(q.median, 2), range(&q)));
            first.into_iter().chain(cells).collect()
        })
    });
    let conditioned = all.conditioned.iter().map(|w| {
        let error = format!("{} / {}", some(w.error.median, 3), some(w.error.high, 3));
        let counts = [w.cases, w.left_out].map(|n| n.to_string());
        let words = [w.activation.into(), w.way.into()];
        [words.to_vec(), vec![error, range(&w.std_ratio), percent(w.right)], counts.to_vec()].concat()
    });
    let parts = all.parts.iter().map(|p| vec![p.of.clone(), p.cases.to_string(), percent(p.right)]);
    let precision =
        all.precision.iter().map(|p| vec![p.what.into(), p.files.to_string(), format!("{:.1e}", p.worst)]);
    let goals = all.goals.iter().map(|g| {
        let met = if g.met { "met" } else { "missed" };
        vec![g.what.into(), g.goal.clone(), some(g.measured, 3), met.into()]
    });
    let stds: Vec<String> = STDS.iter().map(|s| format!("input std {s}")).collect();
    let head: Vec<&str> = ["activation", "hidden", "std / sampled"]
        .into_iter()
        .chain(stds.iter().map(String::as_str))
        .collect();
    let ways = ["activation", "way", "error, median / 90 %", "std ratio", "right", "cases", "left out"];
    [
        grid(&["mean of z", "exact mean", "linearised", "exact std", "linearised"], relu.collect(), &[]),
        grid(&head, spread.collect(), &[0, 2]),
        grid(&ways, conditioned.collect(), &[0, 1]),
        grid(&["condition, where", "cases", "right"], parts.collect(), &[0]),
        grid(&["computed again", "files", "worst error"], precision.collect(), &[0]),
        grid(&["", "goal", "measured", ""], goals.collect(), &[0]),
    ]
    .join("\n")
}
