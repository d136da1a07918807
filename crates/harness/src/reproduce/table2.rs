//! `cargo xtask reproduce table-2`: the paper's toy, where inference finds the optima of a function that the network is
//! still learning.
//!
//! 100 points of y = x^3 - 3x + N(0, 0.1^2) on [-2, 2]; a 1-64-64-1 network, tanh then ReLU, noise 0.1; 100 shuffled
//! epochs, one observation at a time; before each of them the input moves by one step. Its first variance is 0.01^2.

use serde::Serialize;
use std::path::PathBuf;
use tractable::optimize::{Bounds, Follow, Path, follow};
use tractable::{
    Activation, Device, Gaussian, Layer, Matrix, Network, Shape, Wanted, condition::Extremum,
    network::UpdateRule, rng,
};
use tractable_cli::interrupt;
use tractable_cli::jobs::side_by_side;
use tractable_cli::plot::{OptimumFigure, Places, four_panels};
use tractable_cli::report::{Exit, Outcome, Report, table};
use tractable_cli::results::{Clock, Rows};

const AFTER_HELP: &str = "\
Example:
  cargo xtask reproduce table-2 --seeds 5 -o table-2/

Six rows as in the paper, without a guard; then the start at 1.9, which the paper reports as lost,
without and with the guard (inside [-2, 2], no step longer than a twentieth of it). A result is
right if it is within 0.1 of the row's optimum. With -o, DIR gets table-2.json and the figure of
the first seed.";

/// The paper's second table
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Number of seeds
    #[arg(long, value_name = "N", default_value_t = 5)]
    seeds: u64,
    /// First seed; the others follow it
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Folder for the numbers and the figure
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Exit 1 unless every seed of the six rows is right
    #[arg(long)]
    check: bool,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

const EPOCHS: usize = 100;
const POINTS: usize = 100;
const NOISE: f64 = 0.1;
const START_VAR: f64 = 1e-4;
const RIGHT: f64 = 0.1;

fn truth(x: f64) -> f64 {
    x.powi(3) - 3.0 * x
}

/// A row of the paper's table.
#[derive(Clone, Copy)]
struct Row {
    start: f64,
    alpha: Option<i8>,
    /// What the paper prints.
    paper: Option<f64>,
    /// Where the optimum is that belongs to the row.
    optimum: Option<f64>,
    guard: bool,
}

impl Row {
    fn wanted(&self) -> Extremum<'static> {
        match self.alpha {
            None => Wanted::stationary(),
            Some(a) if a > 0 => Wanted::maximum(),
            Some(_) => Wanted::minimum(),
        }
    }
}

#[rustfmt::skip]
const ROWS: [Row; 12] = {
    const fn row(start: f64, alpha: Option<i8>, paper: Option<f64>, optimum: Option<f64>, guard: bool) -> Row {
        Row { start, alpha, paper, optimum, guard }
    }
    [
        row(0.25,  None,     Some(0.965),  Some(1.0),  false),
        row(-0.25, None,     Some(-0.992), Some(-1.0), false),
        row(0.25,  Some(1),  Some(-0.993), Some(-1.0), false),
        row(-0.25, Some(1),  Some(-0.992), Some(-1.0), false),
        row(0.25,  Some(-1), Some(0.965),  Some(1.0),  false),
        row(-0.25, Some(-1), Some(0.965),  Some(1.0),  false),
        row(1.9,   None,     None,         None,       false),
        row(1.9,   Some(1),  None,         None,       false),
        row(1.9,   Some(-1), None,         None,       false),
        row(1.9,   None,     None,         None,       true),
        row(1.9,   Some(1),  None,         None,       true),
        row(1.9,   Some(-1), None,         None,       true),
    ]
};
/// Rows that the paper's table has.
const PAPERS: usize = 6;

/// One row over all seeds.
#[derive(Serialize)]
struct Line {
    start: f64,
    alpha: Option<i8>,
    guard: bool,
    paper: Option<f64>,
    optimum: Option<f64>,
    mean: f64,
    std: f64,
    /// Of every seed: the place, null where it is not finite any more.
    places: Vec<Option<f64>>,
    /// Seeds that ended within 0.1 of the optimum.
    right: Option<usize>,
    /// Seeds that left [-2, 2].
    outside: usize,
}

/// What the figure shows: the network and the data of one seed, and the paths of its rows.
struct Seed {
    net: Network,
    x: Vec<f64>,
    y: Vec<f64>,
    paths: Vec<Path>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    if args.seeds == 0 {
        return Err(Exit::Error("--seeds: must be at least 1".into()));
    }
    let clock = Clock::start();
    let numbers: Vec<u64> = (0..args.seeds).map(|i| args.seed.wrapping_add(i)).collect();
    let seeds = side_by_side(&numbers, "seeds", |&seed| one_seed(seed))?;
    let lines: Vec<Line> = (0..ROWS.len()).map(|row| line(row, &seeds)).collect();
    let report = Report::new(args.json);
    if args.json {
        lines.iter().try_for_each(|line| report.say("row", line, String::new))?;
    } else {
        let seconds = clock.seconds();
        report.say("", &(), || format!("{}\n{} seeds, {seconds:.1} s in all", text(&lines), seeds.len()))?;
    }
    if let Some(dir) = &args.out {
        let command = format!("cargo xtask reproduce table-2 --seeds {} --seed {}", args.seeds, args.seed);
        clock.write(dir, "table-2", &command, Rows { rows: &lines })?;
        let Seed { net, x, y, paths } = &seeds[0];
        let path = &paths[2];
        let title = format!("x³ − 3x: the maximum from {} on, seed {}", ROWS[2].start, args.seed);
        let mean: Vec<f64> = path.steps.iter().map(|g| g.mean()[0]).collect();
        let std: Vec<f64> = path.steps.iter().map(|g| g.std()[0]).collect();
        let figure = four_panels(&OptimumFigure {
            title: &title,
            x_label: "x",
            y_label: "y",
            net,
            output: 0,
            range: (-2.0, 2.0),
            truth: Some(&truth),
            data: (x, y),
            places: Places::Path { mean: &mean, std: &std },
            known: ROWS[2].optimum,
        })?;
        figure.save(&dir.join("table-2"))?;
    }
    let wrong = lines[..PAPERS].iter().filter(|l| l.right != Some(seeds.len())).count();
    match args.check && wrong > 0 {
        true => Err(Exit::CheckFailed(format!("{wrong} of {PAPERS} rows are not right for every seed"))),
        false => Ok(()),
    }
}

/// Learns the function once without and once with the guard, with all the starts that go with it.
fn one_seed(seed: u64) -> tractable::Result<Seed> {
    let mut random = rng::stream(seed, "table-2", 0);
    let x: Vec<f64> = (0..POINTS).map(|i| 4.0 * i as f64 / (POINTS - 1) as f64 - 2.0).collect();
    let y: Vec<f64> = x.iter().map(|&x| truth(x) + NOISE * rng::standard_normal(&mut random)).collect();
    let fresh = || {
        Network::builder(Shape::flat(1))
            .layer(Layer::linear(64))
            .layer(Activation::Tanh)
            .layer(Layer::linear(64))
            .layer(Activation::Relu)
            .layer(Layer::linear(1))
            .noise_std([NOISE])
            .update_rule(UpdateRule::Plain)
            .seed(seed)
            .device(Device::cpu(1))
            .build()
    };
    let (inputs, outputs) = (Matrix::column(x.clone())?, Matrix::column(y.clone())?);
    let mut paths: Vec<Option<Path>> = vec![None; ROWS.len()];
    let mut trained = None;
    for guard in [false, true] {
        let rows: Vec<usize> = (0..ROWS.len()).filter(|&i| ROWS[i].guard == guard).collect();
        let starts = rows.iter().map(|&i| Gaussian::new(vec![ROWS[i].start], vec![START_VAR], 1));
        let starts = starts.collect::<tractable::Result<Vec<_>>>()?;
        let starts: Vec<_> = starts.iter().zip(&rows).map(|(start, &i)| (start, ROWS[i].wanted())).collect();
        let guard = if guard { Some(Bounds::new([(-2.0, 2.0)])?) } else { None };
        let mut net = fresh()?;
        let settings = Follow { epochs: EPOCHS, guard, seed };
        for (&row, path) in rows.iter().zip(follow(&mut net, &inputs, &outputs, &starts, &settings)?) {
            paths[row] = Some(path);
        }
        trained = Some(net);
    }
    Ok(Seed { net: trained.expect("both were learned"), x, y, paths: paths.into_iter().flatten().collect() })
}

fn line(row: usize, seeds: &[Seed]) -> Line {
    let Row { start, alpha, paper, optimum, guard } = ROWS[row];
    let place = |s: &Seed| {
        let path = &s.paths[row];
        let last = path.steps.last().map(|g| g.mean()[0]);
        last.filter(|_| !path.lost)
    };
    let places: Vec<Option<f64>> = seeds.iter().map(place).collect();
    let known: Vec<f64> = places.iter().flatten().copied().collect();
    let n = known.len() as f64;
    let mean = known.iter().sum::<f64>() / n;
    // One seed has no spread.
    let std = (known.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0)).sqrt();
    let right = optimum.map(|o| places.iter().flatten().filter(|&p| (p - o).abs() <= RIGHT).count());
    let outside = places.iter().filter(|p| p.is_none_or(|p| p.abs() > 2.0)).count();
    Line { start, alpha, guard, paper, optimum, mean, std, places, right, outside }
}

fn text(lines: &[Line]) -> String {
    let head = ["start", "alpha", "guard", "paper", "ours", "lowest", "highest", "right", "outside"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for l in lines {
        let known: Vec<f64> = l.places.iter().flatten().copied().collect();
        let of = |f: fn(f64, f64) -> f64| match known.iter().copied().reduce(f) {
            Some(v) => format!("{v:.3}"),
            None => "lost".into(),
        };
        rows.push(vec![
            format!("{}", l.start),
            l.alpha.map_or("none".into(), |a| format!("{a:+}")),
            if l.guard { "yes" } else { "no" }.into(),
            l.paper.map_or("-".into(), |p| format!("{p:.3}")),
            if known.is_empty() { "lost".into() } else { format!("{:.3} ± {:.3}", l.mean, l.std) },
            of(f64::min),
            of(f64::max),
            l.right.map_or("-".into(), |r| format!("{r} of {}", l.places.len())),
            format!("{} of {}", l.outside, l.places.len()),
        ]);
    }
    table(&rows, &[])
}
