//! `cargo xtask reproduce toys`: the default model where the answer is known, in a gap and outside the data, beside a Gaussian
//! process; and how long a fit takes.

mod gp;

use gp::Gp;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;
use tractable::data::Dataset;
use tractable::ensemble::Settings;
use tractable::{Ensemble, Matrix, Result, rng};
use tractable_cli::interrupt;
use tractable_cli::jobs::side_by_side;
use tractable_cli::report::{Exit, Outcome, Report, table};
use tractable_cli::results::Clock;

const AFTER_HELP: &str = "\
Example:
  cargo xtask reproduce toys -o docs/results

Two clusters: 60 rows of sin(2x) + 0.3x with noise 0.1, x from -2 to -1 and from 1 to 2. Cubic: 20 rows of x^3 with noise 3, x from -4
to 4. Both are evaluated in the data, in the gap and at 1.5 times their range. `off` is the distance of the mean from the curve, in
its own standard deviations. The Gaussian process has a squared-exponential kernel and hyperparameters by maximum evidence.";

/// Threads of the fits that are timed.
const THREADS: usize = 2;

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Number of data sets of each kind
    #[arg(long, value_name = "N", default_value_t = 10)]
    seeds: u64,
    /// Seed of the first
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Rows of the timed fits, on two threads; 0 for none
    #[arg(long, value_name = "ROWS", value_delimiter = ',', default_values_t = [500, 10_000])]
    times: Vec<usize>,
    /// Folder for toys.json
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// A curve, where it was seen and with what noise, and where it is asked for.
struct Toy {
    name: &'static str,
    curve: fn(f64) -> f64,
    rows: usize,
    seen: &'static [[f64; 2]],
    noise: f64,
    at: &'static [(f64, &'static str)],
}

const TOYS: [Toy; 2] = [
    Toy {
        name: "two clusters",
        curve: |x| (2.0 * x).sin() + 0.3 * x,
        rows: 60,
        seen: &[[-2.0, -1.0], [1.0, 2.0]],
        noise: 0.1,
        at: &[(1.5, "data"), (0.0, "gap"), (-3.0, "outside"), (3.0, "outside")],
    },
    Toy {
        name: "cubic",
        curve: |x| x * x * x,
        rows: 20,
        seen: &[[-4.0, 4.0]],
        noise: 3.0,
        at: &[(0.0, "data"), (-6.0, "outside"), (6.0, "outside")],
    },
];

/// Standard deviation of an observation, and how many of them the mean is off.
#[derive(Clone, Copy)]
struct Answer {
    std: f64,
    off: f64,
}

/// Over the seeds.
#[derive(Serialize)]
struct Over {
    std: f64,
    off: f64,
    off_worst: f64,
}

#[derive(Serialize)]
struct Row {
    toy: &'static str,
    x: f64,
    place: &'static str,
    seeds: u64,
    ours: Over,
    gaussian_process: Over,
    /// Standard deviation over that of the Gaussian process: geometric mean.
    ratio: f64,
}

#[derive(Serialize)]
struct Time {
    rows: usize,
    inputs: usize,
    threads: usize,
    seconds: f64,
    /// Of all threads together; null where the system does not say.
    core_seconds: Option<f64>,
}

#[derive(Serialize)]
struct All<'a> {
    rows: &'a [Row],
    times: &'a [Time],
}

pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    if args.seeds == 0 {
        return Err(Exit::Error("--seeds: must be at least 1".into()));
    }
    let clock = Clock::start();
    let jobs: Vec<(&Toy, u64)> =
        TOYS.iter().flat_map(|toy| (0..args.seeds).map(move |s| (toy, args.seed.wrapping_add(s)))).collect();
    let said = side_by_side(&jobs, "toys", |&(toy, seed)| ask(toy, seed))?;
    let mut rows = Vec::new();
    for (toy, said) in TOYS.iter().zip(said.chunks(args.seeds as usize)) {
        for (i, &(x, place)) in toy.at.iter().enumerate() {
            let of = |who: usize| said.iter().map(|s| s[i][who]).collect::<Vec<_>>();
            let ratio =
                said.iter().map(|s| (s[i][0].std / s[i][1].std).ln()).sum::<f64>() / said.len() as f64;
            let [ours, gaussian_process] = [over(&of(0)), over(&of(1))];
            let (toy, seeds, ratio) = (toy.name, args.seeds, ratio.exp());
            rows.push(Row { toy, x, place, seeds, ours, gaussian_process, ratio });
        }
    }
    let mut times = Vec::new();
    for &rows in args.times.iter().filter(|&&rows| rows > 0) {
        times.push(time(rows, args.seed)?);
    }
    let report = Report::new(args.json);
    if args.json {
        rows.iter().try_for_each(|row| report.say("toy", row, String::new))?;
        times.iter().try_for_each(|time| report.say("fit", time, String::new))?;
    } else {
        report.say("", &(), || text(&rows, &times))?;
    }
    let command = format!("cargo xtask reproduce toys --seeds {} --seed {}", args.seeds, args.seed);
    let all = All { rows: &rows, times: &times };
    args.out.as_ref().map_or(Ok(()), |out| clock.write(out, "toys", &command, all))
}

/// The model and the Gaussian process, at every place.
fn ask(toy: &Toy, seed: u64) -> Result<Vec<[Answer; 2]>> {
    let mut random = rng::stream(seed, toy.name, 0);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for row in 0..toy.rows {
        let [low, high] = toy.seen[row % toy.seen.len()];
        x.push(rng::uniform(low, high, &mut random));
        y.push((toy.curve)(x[row]) + toy.noise * rng::standard_normal(&mut random));
    }
    let gp = Gp::fit(&x, &y);
    let model = fit(&Dataset::new(Matrix::column(x)?, Matrix::column(y)?)?, seed, 1)?;
    let out = model.predict(&Matrix::column(toy.at.iter().map(|at| at.0).collect())?)?;
    let std = out.total_std();
    let said = |(i, &(x, _)): (usize, &(f64, _))| {
        let of = |mean: f64, std: f64| Answer { std, off: (mean - (toy.curve)(x)).abs() / std };
        let (gp_mean, gp_std) = gp.predict(x);
        [of(out.mean()[i], std[i]), of(gp_mean, gp_std)]
    };
    Ok(toy.at.iter().enumerate().map(said).collect())
}

fn fit(data: &Dataset, seed: u64, threads: usize) -> Result<Ensemble> {
    let settings = Settings::default().seed(seed).threads(threads);
    let fitted = Ensemble::fit_with(data, &settings, |_| std::ops::ControlFlow::Continue(()))?;
    Ok(fitted.expect("nobody interrupts it"))
}

fn over(said: &[Answer]) -> Over {
    let n = said.len() as f64;
    Over {
        std: said.iter().map(|s| s.std).sum::<f64>() / n,
        off: said.iter().map(|s| s.off).sum::<f64>() / n,
        off_worst: said.iter().map(|s| s.off).fold(0.0, f64::max),
    }
}

/// A fit to rows of eight inputs.
fn time(rows: usize, seed: u64) -> Result<Time> {
    let inputs = 8;
    let mut random = rng::stream(seed, "toys time", 0);
    let x: Vec<f64> = (0..rows * inputs).map(|_| rng::standard_normal(&mut random)).collect();
    let curve = |x: &[f64]| x[0] + (2.0 * x[1]).sin() + x[2] * x[3] + 0.5 * x[4].abs();
    let y = x.chunks_exact(inputs).map(|x| curve(x) + 0.3 * rng::standard_normal(&mut random)).collect();
    let data = Dataset::new(Matrix::new(x, inputs)?, Matrix::column(y)?)?;
    let (began, core) = (Instant::now(), core_seconds());
    fit(&data, seed, THREADS)?;
    let core_seconds = core.zip(core_seconds()).map(|(before, after)| after - before);
    Ok(Time { rows, inputs, threads: THREADS, seconds: began.elapsed().as_secs_f64(), core_seconds })
}

/// What this process has used, as Linux says it, in hundredths of a second.
fn core_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields = stat.rsplit_once(") ")?.1.split(' ');
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|f| f.parse().ok()).collect();
    (ticks.len() == 2).then(|| (ticks[0] + ticks[1]) / 100.0)
}

fn text(rows: &[Row], times: &[Time]) -> String {
    let head = ["", "x", "", "std", "GP std", "ratio", "off", "worst", "GP off", "worst"];
    let mut lines = vec![head.map(String::from).to_vec()];
    for row in rows {
        let (a, b) = (&row.ours, &row.gaussian_process);
        let numbers =
            [a.std, b.std, row.ratio, a.off, a.off_worst, b.off, b.off_worst].map(|v| format!("{v:.2}"));
        lines.push([vec![row.toy.into(), row.x.to_string(), row.place.into()], numbers.to_vec()].concat());
    }
    let mut fits = vec![["rows", "inputs", "threads", "s", "core s"].map(String::from).to_vec()];
    for t in times {
        let core = t.core_seconds.map_or("-".into(), |s| format!("{s:.1}"));
        let counts = [t.rows, t.inputs, t.threads].map(|n| n.to_string());
        fits.push([counts.to_vec(), vec![format!("{:.1}", t.seconds), core]].concat());
    }
    let toys = table(&lines, &[0, 2]);
    if times.is_empty() { toys } else { format!("{toys}\n{}", table(&fits, &[])) }
}
