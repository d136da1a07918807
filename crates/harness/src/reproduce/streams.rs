//! `cargo xtask reproduce streams`: networks on streams that change, each row predicted before it is learned.

mod ways;
mod worlds;

use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tractable::metrics::normal_quantile;
use tractable_cli::jobs::side_by_side;
use tractable_cli::report::{Outcome, Report, table};
use tractable_cli::results::{Clock, Rows};
use tractable_cli::{files, interrupt};
use ways::{Follower, WARM, WAYS, Way};
use worlds::{Stream, WORLDS, World};

const AFTER_HELP: &str = "\
Examples:
  cargo xtask reproduce streams -o docs/results
  cargo xtask reproduce streams --export streams/          (the same rows, for other programs)

Five streams that change and one that does not, a 64-64 network, and ways to forget: in proportion to surprise, never, a
fixed share every 100 rows, by counting rows, or by restarting when ADWIN finds a change. The regret is the mean squared
distance from the noise-free truth, or the share of true classes missed; `after`: in the 2000 rows after a change.
Coverage is the share inside 90 % intervals: of all rows, after a change, and of the worst 500 rows. For classes, confidence
minus the share that is right. Seeds from 100 on were used to choose settings; seeds from 0 on test them.";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Number of seeds
    #[arg(long, value_name = "N", default_value_t = 10)]
    seeds: u64,
    /// First seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Rows of a stream
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1000..=10_000_000))]
    rows: u64,
    /// Write the streams as CSV files into this folder, and do nothing else
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    export: Option<PathBuf>,
    /// Folder for streams.json
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// Rows that count as after a change, and the length of the window whose worst coverage is reported.
const AFTER: usize = 2000;
const WORST: usize = 500;

/// One method on one stream; a mean over the seeds.
#[derive(Clone, Serialize)]
struct Row {
    stream: World,
    way: Way,
    seeds: u64,
    regret: f64,
    regret_after: Option<f64>,
    /// Share inside the 90 % interval; for classes, confidence minus the share that is right.
    coverage: f64,
    coverage_after: Option<f64>,
    coverage_worst: f64,
    forgot: f64,
    us_a_row: f64,
}

pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    let clock = Clock::start();
    let (rows, seeds) = (args.rows as usize, args.seed..args.seed + args.seeds);
    if let Some(dir) = &args.export {
        return seeds.into_iter().try_for_each(|seed| {
            WORLDS.iter().try_for_each(|w| export(dir, w.name(), seed, &w.stream(seed, rows)))
        });
    }
    let mut jobs = Vec::new();
    for world in WORLDS {
        jobs.extend(WAYS.iter().flat_map(|way| seeds.clone().map(move |seed| (world, *way, seed))));
    }
    let done = side_by_side(&jobs, "streams", |&(world, way, seed)| one(world, way, seed, rows))?;
    let rows: Vec<Row> = done.chunks(args.seeds.max(1) as usize).map(mean).collect();
    let report = Report::new(args.json);
    match args.json {
        true => rows.iter().try_for_each(|row| report.say("stream", row, String::new))?,
        false => report.say("", &(), || text(&rows))?,
    }
    let command = format!("cargo xtask reproduce streams --seeds {}", args.seeds);
    args.out.as_ref().map_or(Ok(()), |out| clock.write(out, "streams", &command, Rows { rows: &rows }))
}

fn one(world: World, way: Way, seed: u64, rows: usize) -> tractable::Result<Row> {
    let stream = world.stream(seed, rows);
    let wide = normal_quantile(0.95);
    // Errors for ADWIN are from 0 to 1: those of numbers are divided by their range in the first rows.
    let start = &stream.y[..WARM];
    let range = start.iter().fold(0.0f64, |r, y| r.max((y - start[0]).abs())).max(1e-9);
    let mut follower = Follower::new(world, way, &stream, seed)?;
    let (mut regret, mut held) = (Vec::new(), Vec::new());
    let began = Instant::now();
    for t in WARM..rows {
        let (x, y, truth) = (follower.x(t)?, stream.y[t], stream.truth[t]);
        let off = if world.has_classes() {
            let p = follower.net().predict_classes(x)?.row(0)[1];
            let said = f64::from(p > 0.5);
            regret.push(f64::from(said != truth));
            held.push(p.max(1.0 - p) - f64::from(said == y));
            f64::from(said != y)
        } else {
            let out = follower.net().predict(x)?;
            regret.push((out.mean()[0] - truth).powi(2));
            let error = (out.mean()[0] - y).abs();
            held.push(f64::from(error <= wide * out.total_std()[0]));
            (error / range).min(1.0)
        };
        follower.follow(t, off)?;
    }
    let us_a_row = began.elapsed().as_secs_f64() * 1e6 / (rows - WARM) as f64;
    let average = |v: &mut dyn Iterator<Item = f64>| {
        let (sum, n) = v.fold((0.0, 0), |(sum, n), v| (sum + v, n + 1));
        (n > 0).then(|| sum / f64::from(n))
    };
    let after = |v: &[f64]| {
        let near = |t: &usize| stream.changes.iter().any(|c| (*c..c + AFTER).contains(&(t + WARM)));
        average(&mut (0..v.len()).filter(near).map(|t| v[t]))
    };
    let windows = held.chunks_exact(WORST.min(held.len())).filter_map(|w| average(&mut w.iter().copied()));
    let worst = |a: f64, b: f64| if world.has_classes() { a.max(b) } else { a.min(b) };
    Ok(Row {
        stream: world,
        way,
        seeds: 1,
        regret: average(&mut regret.iter().copied()).unwrap_or(f64::NAN),
        regret_after: after(&regret),
        coverage: average(&mut held.iter().copied()).unwrap_or(f64::NAN),
        coverage_after: after(&held),
        coverage_worst: windows.reduce(worst).unwrap_or(f64::NAN),
        forgot: follower.forgot as f64,
        us_a_row,
    })
}

/// Over the seeds.
fn mean(rows: &[Row]) -> Row {
    let n = rows.len() as f64;
    let of = |f: fn(&Row) -> f64| rows.iter().map(f).sum::<f64>() / n;
    let some = |f: fn(&Row) -> Option<f64>| rows.iter().map(f).sum::<Option<f64>>().map(|sum| sum / n);
    Row {
        seeds: rows.len() as u64,
        regret: of(|r| r.regret),
        regret_after: some(|r| r.regret_after),
        coverage: of(|r| r.coverage),
        coverage_after: some(|r| r.coverage_after),
        coverage_worst: of(|r| r.coverage_worst),
        forgot: of(|r| r.forgot),
        us_a_row: of(|r| r.us_a_row),
        ..rows[0].clone()
    }
}

fn export(dir: &Path, name: &str, seed: u64, stream: &Stream) -> Outcome {
    let mut text: String = (0..stream.width).map(|i| format!("x{i},")).collect::<String>() + "y,truth\n";
    for (t, x) in stream.x.chunks_exact(stream.width).enumerate() {
        x.iter().for_each(|v| write!(text, "{v},").expect("a string takes everything"));
        writeln!(text, "{},{}", stream.y[t], stream.truth[t]).expect("a string takes everything");
    }
    std::fs::create_dir_all(dir).map_err(tractable_cli::report::file_error(dir, "make this folder"))?;
    files::write(&dir.join(format!("{name}-{seed}.csv")), text.as_bytes())
}

fn text(rows: &[Row]) -> String {
    let head = ["stream", "way", "regret", "after", "coverage", "after", "worst", "forgot", "us/row"];
    let some = |v: Option<f64>, digits: usize| v.map_or("-".into(), |v| format!("{v:.digits$}"));
    let line = |r: &Row| {
        vec![
            r.stream.name().to_string(),
            serde_json::to_value(r.way).map_or(String::new(), |w| w.as_str().unwrap_or("").into()),
            some(Some(r.regret), 4),
            some(r.regret_after, 4),
            some(Some(r.coverage), 3),
            some(r.coverage_after, 3),
            some(Some(r.coverage_worst), 3),
            some(Some(r.forgot), 1),
            some(Some(r.us_a_row), 1),
        ]
    };
    let head = head.map(String::from).to_vec();
    table(&std::iter::once(head).chain(rows.iter().map(line)).collect::<Vec<_>>(), &[0, 1])
}
