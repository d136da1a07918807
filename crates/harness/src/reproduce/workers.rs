//! `cargo xtask reproduce workers`: what merging costs and what it does to accuracy, on one machine: 64 simulated workers, stragglers, one
//! that sends garbage, and the time and bytes of one merge.

use serde::Serialize;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;
use tractable::data::{self, Images};
use tractable::{
    Activation, Device, Matrix, Network, Shape, metrics,
    network::{Increment, NetworkBuilder, Observation, Output},
    recipes, rng,
};
use tractable_cli::interrupt;
use tractable_cli::progress::ProgressDisplay;
use tractable_cli::report::{Exit, Outcome, Report, table};
use tractable_cli::results::Clock;

const AFTER_HELP: &str = "\
Example:
  cargo xtask reproduce workers -o docs/results

A network learns generated digits in one epoch: alone, and as 64 workers, each with its own rows, that merge after every
N batches or share every batch. Stragglers send nothing in a round. One worker has wrong labels or sends random numbers; it is left out if
it is far more surprising than the median worker. Then: bytes and time of one merge, and of one batch, for networks of several sizes.";

/// Measure what merging costs, and what it does to accuracy
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Training images; the test has a quarter as many
    #[arg(long, value_name = "N", default_value_t = 32_768)]
    images: usize,
    /// Simulated workers
    #[arg(long, value_name = "N", default_value_t = 64)]
    workers: usize,
    /// Weights of the largest network that is merged, in millions
    #[arg(long, value_name = "M", default_value_t = 10.0)]
    million: f64,
    /// Seeds; 0: no simulation, only the cost of a merge
    #[arg(long, value_name = "N", default_value_t = 3)]
    seeds: u64,
    /// Device whose cost is measured: cpu:1, cuda
    #[arg(long, value_name = "NAME", default_value = "cpu:1", value_parser = |name: &str| name.parse::<Device>())]
    device: Device,
    /// Folder for workers.json or, with a GPU, workers-cuda.json
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// Rows of a worker's batch.
const BATCH: usize = 16;
/// A worker this many times as surprising as the median is left out.
const TOO_SURPRISING: f64 = 10.0;

/// What goes wrong.
#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    None,
    /// In every round, a random share of the workers sends nothing.
    Stragglers(f64),
    /// One worker has random labels.
    WrongLabels,
    /// One worker sends random numbers.
    Garbage,
}

impl Trouble {
    fn name(self) -> String {
        match self {
            Trouble::None => "none".into(),
            Trouble::Stragglers(share) => format!("{:.0} % send nothing in a round", 100.0 * share),
            Trouble::WrongLabels => "one learns random labels".into(),
            Trouble::Garbage => "one sends random numbers".into(),
        }
    }
}

#[derive(Serialize)]
struct Line {
    workers: usize,
    /// Batches of a worker between two merges; 0: every batch is shared, as by `--sync batch`.
    every: usize,
    trouble: String,
    /// Whether surprising workers are left out.
    checked: bool,
    /// Test error of every seed.
    errors: Vec<f64>,
    /// Share of the faulty worker's increments that were left out, and of the others'.
    rejected: Option<[f64; 2]>,
}

/// Cost of one network.
#[derive(Serialize)]
struct Cost {
    network: &'static str,
    weights: usize,
    /// Bytes of an increment.
    bytes: usize,
    /// Making an increment: the mark, the difference and its bytes.
    since_seconds: f64,
    /// Reading one and merging it.
    merge_seconds: f64,
    /// Reading and writing this many bytes once, at the speed of memory.
    floor_seconds: f64,
    /// Learning one batch, on one thread.
    batch: usize,
    batch_seconds: f64,
    /// The same as a shared batch: its sums are written as bytes and read again, as if they had been sent.
    shared_seconds: f64,
}

#[derive(Serialize)]
struct All<'a> {
    rows: &'a [Line],
    costs: &'a [Cost],
    device: String,
    /// Bytes per second that one thread reads and writes.
    memory_bytes_per_second: f64,
}

pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    if args.images < 64 * BATCH || args.workers < 2 {
        return Err(Exit::Error("at least 1024 images and 2 workers are needed".into()));
    }
    let (clock, report) = (Clock::start(), Report::new(args.json));
    let lines = if args.seeds > 0 { simulate(args)? } else { Vec::new() };
    let (memory, costs) = costs(args)?;
    for line in lines.iter().filter(|_| args.json) {
        report.say("workers", line, String::new)?;
    }
    for cost in costs.iter().filter(|_| args.json) {
        report.say("merge", cost, String::new)?;
    }
    if !args.json {
        report.say("", &(), || {
            format!("{}\n{}", table(&said(&lines), &[2]), table(&said_costs(&costs), &[0]))
        })?;
    }
    if let Some(dir) = &args.out {
        let Args { images, workers, million, seeds, device, .. } = args;
        let of = format!("--images {images} --workers {workers} --million {million} --seeds {seeds}");
        let (name, on) = if device.is_gpu() { ("workers-cuda", " --device cuda") } else { ("workers", "") };
        let all =
            All { rows: &lines, costs: &costs, device: device.to_string(), memory_bytes_per_second: memory };
        clock.write(dir, name, &format!("cargo xtask reproduce workers {of}{on}"), all)?;
    }
    Ok(())
}

fn simulate(args: &Args) -> Outcome<Vec<Line>> {
    let n = args.workers;
    let plans = [
        (1, 1, Trouble::None, false),
        (8, 4, Trouble::None, true),
        (n, 0, Trouble::None, false),
        (n, 1, Trouble::None, true),
        (n, 4, Trouble::None, true),
        (n, usize::MAX, Trouble::None, true),
        (n, 4, Trouble::Stragglers(0.25), true),
        (n, 4, Trouble::WrongLabels, false),
        (n, 4, Trouble::WrongLabels, true),
        (n, 4, Trouble::Garbage, false),
        (n, 4, Trouble::Garbage, true),
    ];
    let mut progress = ProgressDisplay::new(Some(plans.len() as u64 * args.seeds));
    let mut lines = Vec::new();
    for (at, (workers, every, trouble, checked)) in plans.into_iter().enumerate() {
        let batches = args.images / BATCH / workers;
        let every = every.min(batches);
        let mut line =
            Line { workers, every, trouble: trouble.name(), checked, errors: Vec::new(), rejected: None };
        let mut rejected = [[0.0; 2]; 2];
        for seed in 0..args.seeds {
            let done = at as u64 * args.seeds + seed;
            progress.at(done, || format!("{workers} workers, merging every {every}: seed {seed}"));
            line.errors.push(one(args, workers, every, trouble, checked, seed, &mut rejected)?);
            if interrupt::requested() {
                return Err(Exit::Interrupted(format!("after {done} simulations")));
            }
        }
        let share = |[of, all]: [f64; 2]| of / all;
        line.rejected = (checked && rejected[0][1] > 0.0).then(|| rejected.map(share));
        lines.push(line);
    }
    progress.done("simulated");
    Ok(lines)
}

fn network(images: &Images, seed: u64) -> Outcome<Network> {
    let widths = [images.shape().len(), 64, 64, 10];
    let device = Device::cpu(1);
    let net = Network::mlp(widths, Activation::Relu).classes(10).noise_std([1.0]).seed(seed).device(device);
    Ok(net.build()?)
}

/// The test error after one epoch; counts increments that were left out, of the faulty worker and of others.
fn one(
    args: &Args,
    workers: usize,
    every: usize,
    trouble: Trouble,
    checked: bool,
    seed: u64,
    rejected: &mut [[f64; 2]; 2],
) -> Outcome<f64> {
    let (train, test) = (data::digits(args.images, 2 * seed)?, data::digits(args.images / 4, 2 * seed + 1)?);
    let mut net = network(&train, seed)?;
    let mut draw = rng::stream(seed, "workers", 0);
    // A shared batch is learned like a batch of one worker.
    let (workers, every, size) = if every == 0 { (1, 1, workers * BATCH) } else { (workers, every, BATCH) };
    let batches = args.images / size / workers;
    let mut labels = train.labels();
    if trouble == Trouble::WrongLabels {
        labels.iter_mut().step_by(workers).for_each(|l| *l = rng::uniform(0.0, 10.0, &mut draw) as usize);
    }
    for from in (0..batches).step_by(every) {
        let mark = net.mark()?;
        let mut increments: Vec<Increment> = Vec::new();
        for worker in 0..workers {
            let late =
                matches!(trouble, Trouble::Stragglers(share) if rng::uniform(0.0, 1.0, &mut draw) < share);
            if late {
                continue;
            }
            let mut copy = if workers == 1 { None } else { Some(net.try_clone()?) };
            for batch in from..batches.min(from + every) {
                let rows: Vec<usize> = (0..size).map(|i| (batch * size + i) * workers + worker).collect();
                let some = train.select(&rows)?;
                let seen: Vec<usize> = rows.iter().map(|&r| labels[r]).collect();
                copy.as_mut().unwrap_or(&mut net).learn(&some.matrix(0..size)?, &seen)?;
            }
            let Some(copy) = copy else { continue };
            let increment = copy.since(&mark)?;
            increments.push(match trouble == Trouble::Garbage && worker == 0 {
                false => increment,
                true => garbage(&increment, net.parameters(), &mut draw)?,
            });
        }
        if workers == 1 {
            continue;
        }
        let wrong = matches!(trouble, Trouble::WrongLabels | Trouble::Garbage);
        if checked {
            let surprise =
                increments.iter().map(|i| mark.surprise(i)).collect::<tractable::Result<Vec<f64>>>()?;
            let mut sorted = surprise.clone();
            sorted.sort_by(f64::total_cmp);
            let most = TOO_SURPRISING * sorted[sorted.len() / 2];
            let mut at = 0;
            increments.retain(|_| {
                let out = surprise[at] > most;
                let who = usize::from(!(wrong && at == 0));
                rejected[who][1] += 1.0;
                rejected[who][0] += f64::from(out);
                at += 1;
                !out
            });
        }
        let share = mark.share(&increments)?;
        net.merge_share(&mark, &increments, share)?;
    }
    let p = net.predict_classes(&test.matrix(0..test.len())?)?;
    Ok(metrics::error_rate(p.data(), &test.labels())?)
}

/// The same increment, with its shifts replaced by large random numbers.
fn garbage(increment: &Increment, parameters: usize, draw: &mut rng::ChaCha8Rng) -> Outcome<Increment> {
    let mut bytes = increment.to_bytes();
    let body = bytes.len() - 8 * parameters;
    for number in bytes[body..].chunks_exact_mut(8) {
        let precision = f32::from_le_bytes(number[..4].try_into().expect("four bytes"));
        let shift = 100.0 * rng::standard_normal(draw) as f32 * precision.abs().max(1.0);
        number[4..].copy_from_slice(&shift.to_le_bytes());
    }
    Ok(Increment::from_bytes(&bytes)?)
}

/// Bytes per second that one thread reads and writes, and the cost of merging networks.
fn costs(args: &Args) -> Outcome<(f64, Vec<Cost>)> {
    let from = vec![1u64; 16 << 20];
    let mut to = vec![0u64; from.len()];
    let memory = 2.0 * 8.0 * from.len() as f64 / best(5, || to.copy_from_slice(black_box(&from)));
    black_box(&to);
    // Two hidden layers of the same width: about this many weights.
    let width = (args.million * 1e6).sqrt() as usize;
    let large = Network::mlp([width, width, 1], Activation::Relu).noise_std([1.0]);
    let small = Network::mlp([10, 64, 64, 1], Activation::Relu).noise_std([1.0]);
    let sizes: [(&str, NetworkBuilder, usize); 3] =
        [("10-64-64-1", small, 128), ("MNIST CNN", recipes::mnist(), 128), ("large", large, 128)];
    let mut costs = Vec::new();
    for (network, net, batch) in sizes {
        let mut net = net.device(&args.device).build()?;
        let input: Shape = net.input();
        let x = Matrix::new((0..batch * input.len()).map(|i| (i % 7) as f64 / 7.0).collect(), input.len())?;
        let y: Vec<usize> = (0..batch).map(|i| i % 10).collect();
        let values = Matrix::column(vec![0.1; batch])?;
        let classes = matches!(net.output(), Output::Classes { .. });
        let observation = if classes { Observation::from(&y) } else { Observation::from(&values) };
        let learn = |net: &mut Network| net.learn(&x, observation).map(drop);
        let mark = net.mark()?;
        learn(&mut net)?;
        let mut copy = net.try_clone()?;
        let mut failed = Ok(());
        let batch_seconds = best(3, || failed = learn(&mut copy));
        failed?;
        let mut failed = Ok(());
        let shared_seconds = best(3, || failed = shared(&mut copy, &x, observation));
        failed?;
        let (mut bytes, mut failed) = (Vec::new(), Ok(()));
        let since_seconds = best(3, || {
            let made = net.mark().and(net.since(&mark)).map(|i| bytes = i.to_bytes());
            failed = made.map(drop);
        });
        failed?;
        let mut failed = Ok(());
        let merge_seconds = best(3, || {
            failed = Increment::from_bytes(&bytes).and_then(|i| net.merge(&mark, &[i])).map(drop);
        });
        failed?;
        let (weights, bytes) = (net.parameters(), bytes.len());
        let floor_seconds = 2.0 * bytes as f64 / memory;
        costs.push(Cost {
            network,
            weights,
            bytes,
            since_seconds,
            merge_seconds,
            floor_seconds,
            batch,
            batch_seconds,
            shared_seconds,
        });
    }
    Ok((memory, costs))
}

/// Learns a batch as one of several workers does, without waiting for others.
fn shared(net: &mut Network, x: &Matrix, observation: Observation<'_>) -> tractable::Result<()> {
    let (mut mine, mut all) = (net.sums(), net.sums());
    net.accumulate(x, observation, &mut mine)?;
    net.add_sums(&mut all, &net.sums_to_bytes(&mine)?)?;
    net.apply(&all).map(drop)
}

/// Seconds of the fastest of several runs.
fn best(times: usize, mut work: impl FnMut()) -> f64 {
    let one = |_| {
        let began = Instant::now();
        work();
        began.elapsed().as_secs_f64()
    };
    (0..times).map(one).fold(f64::INFINITY, f64::min)
}

fn said(lines: &[Line]) -> Vec<Vec<String>> {
    let mut rows = vec![
        ["workers", "merge every", "trouble", "checked", "test error", "left out"].map(String::from).to_vec(),
    ];
    for l in lines {
        let mean = l.errors.iter().sum::<f64>() / l.errors.len() as f64;
        rows.push(vec![
            l.workers.to_string(),
            l.every.to_string(),
            l.trouble.clone(),
            if l.checked { "yes" } else { "no" }.into(),
            format!("{:.2} %", 100.0 * mean),
            l.rejected
                .map_or(String::new(), |r| format!("{:.0} %, others {:.1} %", 100.0 * r[0], 100.0 * r[1])),
        ]);
    }
    rows
}

fn said_costs(costs: &[Cost]) -> Vec<Vec<String>> {
    let mut rows = vec![
        ["network", "weights", "bytes", "increment", "merge", "memory alone", "batch", "shared"]
            .map(String::from)
            .to_vec(),
    ];
    rows.extend(costs.iter().map(|c| {
        let ms = |s: f64| format!("{:.2} ms", 1e3 * s);
        vec![
            c.network.into(),
            c.weights.to_string(),
            c.bytes.to_string(),
            ms(c.since_seconds),
            ms(c.merge_seconds),
            ms(c.floor_seconds),
            ms(c.batch_seconds),
            ms(c.shared_seconds),
        ]
    }));
    rows
}
