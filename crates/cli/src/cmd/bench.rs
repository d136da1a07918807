//! `tractable bench`: times `learn`, `derivative`, `predict` and `condition` on this machine, compared with its peak
//! arithmetic.

mod gpu;

use crate::report::{Exit, Outcome, Report, table};
use crate::results::Clock;
use crate::settings::{DeviceName, flops_of_learning};
use serde::Serialize;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tractable::{
    Activation, Device, Gaussian, Layer, Matrix, Network, Wanted,
    condition::Wrt,
    network::{NetworkBuilder, Output},
    recipes,
};

const AFTER_HELP: &str = "\
Example:
  tractable bench --json > bench.jsonl
  tractable bench --device cuda-fast

Every line is one learn (forward, back, update of all weights), one derivative (of the output with respect
to the inputs, including the forward pass), one forward pass or one predict with uncertain inputs (forward,
plus covariances between units), or one condition (by points): the best and the median of several blocks,
and the share of the processor's measured peak that its arithmetic reached.
Do not use the machine for anything else meanwhile.";

/// Time the library's verbs on the paper's networks
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Seconds per line
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    seconds: f64,
    /// Folder for bench.json
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Where to compute; a GPU is timed on training epochs, with the images stored on it
    #[arg(long, value_enum, default_value_t)]
    device: DeviceName,
    /// On a GPU: only networks and batches whose name contains this, such as `MNIST, 1024`
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// One line of the table.
///
/// Line `bench` of `bench`.
#[derive(Serialize)]
struct Line {
    /// What is done.
    verb: &'static str,
    /// Its name.
    network: &'static str,
    /// Rows per call.
    batch: usize,
    /// How many.
    threads: usize,
    /// Microseconds per call, in the best block of calls.
    best_us: f64,
    /// The same in the median block.
    median_us: f64,
    /// In the best block.
    samples_per_second: f64,
    /// Time of the arithmetic at the measured peak; null if not known in advance.
    floor_us: Option<f64>,
    /// That time over the best.
    share_of_peak: Option<f64>,
}

#[derive(Serialize)]
struct All<'a> {
    peak: Machine,
    rows: &'a [Line],
}

/// Line `machine` of `bench`.
#[derive(Serialize)]
struct Machine {
    /// Measured with multiply-adds in registers.
    peak_gflops_a_core: f64,
    /// Instruction set.
    vectors: String,
    /// How many.
    cores: usize,
    /// GPUs that CUDA can use.
    gpus: Vec<String>,
}

pub fn run(args: &Args) -> Outcome {
    let clock = Clock::start();
    let report = Report::new(args.json);
    if !(args.seconds > 0.0 && args.seconds.is_finite()) {
        return Err(Exit::Error(format!("--seconds: {} is not a positive number", args.seconds)));
    }
    let budget = Duration::from_secs_f64(args.seconds.clamp(0.01, 600.0));
    if args.device.is_gpu() {
        return gpu::run(args, clock, &report, budget);
    }
    let machine = Machine {
        peak_gflops_a_core: peak(),
        vectors: format!("{:?}", pulp::Arch::new()).split('(').next().unwrap_or_default().to_string(),
        cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
        gpus: Device::gpus(),
    };
    report.say("machine", &machine, || {
        let Machine { peak_gflops_a_core, vectors, cores, gpus } = &machine;
        let gpus = if gpus.is_empty() { "no GPU".into() } else { gpus.join(", ") };
        format!("{cores} cores, vectors {vectors}, {peak_gflops_a_core:.0} GF/s per core; {gpus}")
    })?;
    let mlp = |widths: &[usize]| Network::mlp(widths.iter().copied(), Activation::Relu);
    let two = machine.cores.min(2);
    let (name, net) = ("23-128-128-128-1", recipes::value(23).device(Device::cpu(1)).build()?);
    let differentiated = differentiate(name, net, 16, machine.peak_gflops_a_core, budget)?;
    let uncertain = predict(name, mlp(&[23, 128, 128, 128, 1]), 16, machine.peak_gflops_a_core, budget)?;
    let bent = |inputs: usize| Network::mlp([inputs, 50, 50, 1], Activation::MixtureRelu);
    let conditioned = [condition("1-50-50-1", bent(1), budget), condition("8-50-50-1", bent(8), budget)];
    let work: [(&'static str, NetworkBuilder, usize, usize); 8] = [
        ("1-64-64-1", mlp(&[1, 64, 64, 1]), 1, 1),
        ("23-128-128-128-1", mlp(&[23, 128, 128, 128, 1]), 16, 1),
        ("784-128-128-11", mlp(&[784, 128, 128, 11]), 16, 1),
        ("784-128-128-11", mlp(&[784, 128, 128, 11]), 512, 1),
        ("MNIST", recipes::mnist(), 16, two),
        ("MNIST", recipes::mnist(), 128, two),
        ("CIFAR-10", recipes::cifar10(), 16, two),
        ("CIFAR-10", recipes::cifar10(), 128, two),
    ];
    let mut rows = vec![
        ["verb", "network", "batch", "threads", "best us", "median us", "samples/s", "floor us", "of peak"]
            .map(String::from)
            .to_vec(),
    ];
    let learned = work.into_iter().map(|(name, builder, batch, threads)| {
        learn(name, builder, batch, threads, machine.peak_gflops_a_core, budget)
    });
    let mut lines = Vec::new();
    for line in learned.chain([differentiated].into_iter().chain(uncertain).map(Ok)).chain(conditioned) {
        let line = line?;
        if args.json {
            report.say("bench", &line, String::new)?;
        }
        rows.push(vec![
            line.verb.into(),
            line.network.into(),
            line.batch.to_string(),
            line.threads.to_string(),
            format!("{:.1}", line.best_us),
            format!("{:.1}", line.median_us),
            format!("{:.0}", line.samples_per_second),
            line.floor_us.map_or("-".into(), |us| format!("{us:.1}")),
            line.share_of_peak.map_or("-".into(), |share| format!("{:.0} %", 100.0 * share)),
        ]);
        lines.push(line);
    }
    if !args.json {
        report.say("table", &(), || table(&rows, &[0, 1]).trim_end().to_string())?;
    }
    let command = format!("tractable bench --seconds {}", args.seconds);
    args.out
        .as_ref()
        .map_or(Ok(()), |dir| clock.write(dir, "bench", &command, All { peak: machine, rows: &lines }))
}

fn learn(
    network: &'static str,
    builder: NetworkBuilder,
    batch: usize,
    threads: usize,
    peak: f64,
    budget: Duration,
) -> tractable::Result<Line> {
    let mut net = builder.device(Device::cpu(threads)).build()?;
    let number = |i: usize| ((i * 7919 + 13) % 1009) as f64 / 504.5 - 1.0;
    let x = Matrix::new((0..batch * net.input().len()).map(number).collect(), net.input().len())?;
    let y = Matrix::new((0..batch * net.output().units()).map(number).collect(), net.output().units())?;
    let labels: Vec<usize> = (0..batch).map(|i| i % 10).collect();
    let learn = |net: &mut Network| match net.output() {
        Output::Classes { .. } => net.learn(&x, &labels),
        _ => net.learn(&x, &y),
    };
    let flops = flops_of_learning(&net)?;
    let times = measure(budget, || learn(&mut net).map(|_| ()))?;
    Ok(Line::new("learn", network, batch, threads, times, Some(flops / (peak * 1e3))))
}

/// A forward pass with uncertain inputs and independent units, and `predict`, which then propagates the output's
/// rows down.
fn predict(
    network: &'static str,
    builder: NetworkBuilder,
    batch: usize,
    peak: f64,
    budget: Duration,
) -> tractable::Result<[Line; 2]> {
    let net = builder.device(Device::cpu(1)).build()?;
    let width = net.input().len();
    let x = Gaussian::new(vec![0.3; batch * width], vec![0.01; batch * width], width)?;
    // Asks for the output without conditioning on it.
    let (nothing, open) = (Matrix::column(vec![0.0; batch])?, vec![false; batch]);
    let last = net.layer_names().last().expect("there are layers");
    let forward = || net.search(&x, Wanted::from(&nothing).only(&open).layer(last)).map(drop);
    let weights = net.parameters() as f64;
    let floor = |products: f64| Some(2.0 * products * weights / (peak * 1e3));
    Ok([
        Line::new("forward, uncertain", network, batch, 1, measure(budget, forward)?, floor(3.0)),
        Line::new(
            "predict, uncertain",
            network,
            batch,
            1,
            measure(budget, || net.predict(&x).map(drop))?,
            floor(4.0),
        ),
    ])
}

/// Conditions all inputs of a barely trained network on one output.
fn condition(network: &'static str, builder: NetworkBuilder, budget: Duration) -> tractable::Result<Line> {
    let mut net = builder.noise_std([0.1]).seed(1).device(Device::cpu(1)).build()?;
    let width = net.input().len();
    let number = |i: usize| ((i * 7919 + 13) % 1009) as f64 / 252.25 - 2.0;
    let x = Matrix::new((0..200 * width).map(number).collect(), width)?;
    let y = x.data().chunks_exact(width).map(|x| x.iter().sum::<f64>().sin()).collect();
    let y = Matrix::column(y)?;
    for _ in 0..20 {
        net.learn(&x, &y)?;
    }
    let prior = Gaussian::new(vec![0.1; width], vec![0.25; width], width)?;
    let wish = Matrix::column(vec![0.5])?;
    let times = measure(budget, || net.condition(&prior, Wanted::from(&wish).noise_var(0.01)).map(drop))?;
    Ok(Line::new("condition", network, 1, 1, times, None))
}

/// The derivative of the output with respect to all inputs.
fn differentiate(
    network: &'static str,
    net: Network,
    batch: usize,
    peak: f64,
    budget: Duration,
) -> tractable::Result<Line> {
    let width = net.input().len();
    let number = |i: usize| ((i * 7919 + 13) % 1009) as f64 / 504.5 - 1.0;
    let x = Gaussian::new((0..batch * width).map(number).collect(), vec![0.01; batch * width], width)?;
    let times = measure(budget, || net.derivative(&x, Wrt::input()).map(|_| ()))?;
    Ok(Line::new("derivative", network, batch, 1, times, Some(differentiating(&net)? / (peak * 1e3))))
}

impl Line {
    /// `[best, median]` microseconds per call; the arithmetic of one sample takes `floor_us` on one core.
    fn new(
        verb: &'static str,
        network: &'static str,
        batch: usize,
        threads: usize,
        [best_us, median_us]: [f64; 2],
        floor_us: Option<f64>,
    ) -> Self {
        let floor_us = floor_us.map(|us| us * batch as f64 / threads as f64);
        let samples_per_second = batch as f64 * 1e6 / best_us;
        let share_of_peak = floor_us.map(|us| us / best_us);
        Line {
            verb,
            network,
            batch,
            threads,
            best_us,
            median_us,
            samples_per_second,
            floor_us,
            share_of_peak,
        }
    }
}

/// Best and median microseconds of a call.
fn measure(budget: Duration, mut call: impl FnMut() -> tractable::Result<()>) -> tractable::Result<[f64; 2]> {
    // Blocks long enough for the clock, short enough that some are undisturbed by other jobs.
    let start = Instant::now();
    call()?;
    call()?;
    let once = start.elapsed() / 2;
    let block = (Duration::from_millis(5).as_nanos() / once.as_nanos().max(1)).max(1) as usize;
    let mut blocks = Vec::new();
    let start = Instant::now();
    while start.elapsed() < budget || blocks.len() < 5 {
        let begin = Instant::now();
        for _ in 0..block {
            call()?;
        }
        blocks.push(begin.elapsed().as_secs_f64() * 1e6 / block as f64);
    }
    blocks.sort_by(f64::total_cmp);
    Ok([blocks[0], blocks[blocks.len() / 2]])
}

/// Floating-point operations of one sample's derivative: for every weight three multiply-adds forward and five sums
/// (the first layer, below a curved one, has eleven).
fn differentiating(net: &Network) -> tractable::Result<f64> {
    let mut shape = net.input();
    let mut flops = 0.0;
    for layer in net.layers() {
        if let Layer::Linear { outputs } = layer {
            flops += (shape.len() * outputs) as f64 * if flops == 0.0 { 28.0 } else { 16.0 };
        }
        shape = layer.output(shape)?;
    }
    Ok(flops)
}

/// Peak of one core in GF/s: multiply-adds on registers, nothing else.
fn peak() -> f64 {
    (0..5).map(|_| pulp::Arch::new().dispatch(Peak(20_000))).fold(0.0, f64::max)
}

struct Peak(usize);

impl pulp::WithSimd for Peak {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> f64 {
        // Enough independent sums to hide the latency, few enough for the registers.
        const SUMS: usize = 12;
        let (a, b) = (simd.splat_f32s(black_box(0.999)), simd.splat_f32s(black_box(1e-3)));
        let mut sums = [simd.splat_f32s(1.0); SUMS];
        let start = Instant::now();
        for _ in 0..self.0 {
            for sum in &mut sums {
                *sum = simd.mul_add_e_f32s(*sum, a, b);
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        black_box(sums.map(|s| simd.reduce_sum_f32s(s)));
        (self.0 * SUMS * S::F32_LANES * 2) as f64 / seconds / 1e9
    }
}
