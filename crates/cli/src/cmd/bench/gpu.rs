//! Whole training steps on a GPU: epochs of images that are stored on it as bytes.

use super::Args;
use crate::console::note;
use crate::report::{Outcome, Report, table};
use crate::results::Clock;
use crate::settings::DeviceName;
use serde::Serialize;
use std::time::Duration;
use tractable::data::{Images, PixelScaling};
use tractable::{Activation, Device, Fit, Lesson, Network, NetworkBuilder, Shape, Teacher, recipes};

/// The device.
#[derive(Serialize)]
struct On<'a> {
    device: &'a str,
}

/// One network and batch size.
#[derive(Serialize)]
struct Line {
    network: &'static str,
    batch: usize,
    /// The best epoch and the median one.
    images_per_second: f64,
    median: f64,
    /// Microseconds per batch in the best epoch.
    step_us: f64,
    epochs: usize,
}

/// Agents that learn at the same time.
#[derive(Serialize)]
struct Agents {
    agents: usize,
    /// Of each agent, in one call.
    mini_batches: usize,
    /// Until all agents have learned one, in the best call.
    us_per_mini_batch: f64,
}

#[derive(Serialize)]
struct All<'a> {
    device: &'a str,
    rows: &'a [Line],
    agents: &'a [Agents],
}

/// Numbers of agents, and mini-batches of a rollout.
const AGENTS: [usize; 3] = [1, 7, 16];
const MINI_BATCHES: usize = 64;

pub(super) fn run(args: &Args, clock: Clock, report: &Report, budget: Duration) -> Outcome {
    let device = match args.device {
        DeviceName::Auto => DeviceName::Cuda.with(0)?,
        named => named.with(0)?,
    };
    let name = device.to_string();
    report.say("device", &On { device: &name }, || name.clone())?;
    let mlp = |widths: [usize; 4]| Network::mlp(widths, Activation::Relu).classes(10);
    let (grey, colour) = (images(Shape::image(1, 28, 28), 65_536)?, images(Shape::image(3, 32, 32), 65_536)?);
    let work: Vec<(&'static str, NetworkBuilder, &Images, usize)> = vec![
        ("MNIST", recipes::mnist(), &grey, 128),
        ("MNIST", recipes::mnist(), &grey, 1024),
        ("CIFAR-10", recipes::cifar10(), &colour, 128),
        ("CIFAR-10", recipes::cifar10(), &colour, 1024),
        ("784-128-128-11", mlp([784, 128, 128, 11]), &grey, 512),
        ("784-128-128-11", mlp([784, 128, 128, 11]), &grey, 4096),
        ("784-4096-4096-11", mlp([784, 4096, 4096, 11]), &grey, 1024),
    ];
    let mut lines = Vec::new();
    let mut rows =
        vec![["network", "batch", "images/s", "median", "us/step", "epochs"].map(String::from).to_vec()];
    for (network, builder, images, batch) in work {
        if args.only.as_ref().is_some_and(|only| !format!("{network}, {batch}").contains(only)) {
            continue;
        }
        let mut net = builder.device(&device).build()?;
        let line = train(network, &mut net, images, batch, budget)?;
        if args.json {
            report.say("bench", &line, String::new)?;
        }
        rows.push(vec![
            network.into(),
            batch.to_string(),
            format!("{:.0}", line.images_per_second),
            format!("{:.0}", line.median),
            format!("{:.1}", line.step_us),
            line.epochs.to_string(),
        ]);
        lines.push(line);
    }
    if !args.json && rows.len() > 1 {
        report.say("table", &(), || table(&rows, &[0]).trim_end().to_string())?;
    }
    let agents = agents(args, &device, budget, report)?;
    let fast = if args.device == DeviceName::CudaFast { "-fast" } else { "" };
    let command = format!("tractable bench --device cuda{fast} --seconds {}", args.seconds);
    let all = All { device: &name, rows: &lines, agents: &agents };
    args.out.as_ref().map_or(Ok(()), |dir| clock.write(dir, "cuda", &command, all))
}

/// Agents of HalfCheetah that learn rollouts at the same time, each on its own thread.
fn agents(args: &Args, device: &Device, budget: Duration, report: &Report) -> Outcome<Vec<Agents>> {
    let mut found = Vec::new();
    for agents in AGENTS {
        if args.only.as_ref().is_some_and(|only| !format!("agents, {agents}").contains(only)) {
            continue;
        }
        let seconds = match learn(device, agents, budget) {
            Ok(seconds) => seconds,
            // Not every GPU has the shared memory.
            Err(e @ tractable::Error::Device { .. }) => {
                note(&format!("agents: {e}"));
                break;
            }
            Err(e) => return Err(e.into()),
        };
        let line = Agents {
            agents,
            mini_batches: MINI_BATCHES,
            us_per_mini_batch: 1e6 * seconds / MINI_BATCHES as f64,
        };
        report.say("bench", &line, || {
            format!(
                "agents at once: {agents}; {:.1} us per mini-batch of all of them",
                line.us_per_mini_batch
            )
        })?;
        found.push(line);
    }
    Ok(found)
}

/// The shortest time in which this many agents learned a rollout each, copies of their networks included.
fn learn(device: &Device, agents: usize, budget: Duration) -> tractable::Result<f64> {
    let (states, actions, rows) = (17, 6, 16 * MINI_BATCHES);
    let numbers = |n: usize| (0..n).map(|i| (i as f64 * 0.37).sin()).collect::<Vec<f64>>();
    let (x, a, y, noise) = (numbers(rows * states), numbers(rows * actions), numbers(rows), vec![0.1; rows]);
    let order: Vec<usize> = (0..rows).collect();
    let lesson = Lesson {
        states: &x,
        actions: &a,
        returns: &y,
        noise_var: &noise,
        policy_noise_var: 1.0,
        order: &order,
        batch: 16,
        rounds: 1,
        clip: true,
    };
    let meet = std::sync::Barrier::new(agents);
    let one = |seed: usize| -> tractable::Result<f64> {
        let made = || {
            let value = recipes::value(states + actions).seed(seed as u64).device(Device::cpu(1)).build()?;
            let policy = Network::mlp([states, 128, 128, actions], Activation::Relu).seed(seed as u64);
            let policy = policy.device(Device::cpu(1)).build()?;
            Ok((Teacher::new(device, &value, &policy)?, value, policy))
        };
        let made: tractable::Result<_> = made();
        let (began, mut best) = (std::time::Instant::now(), f64::INFINITY);
        // All have as many rounds, so that nobody waits for one that is done.
        let rounds = (budget.as_secs_f64() / 0.02).clamp(3.0, 50.0) as usize;
        let (mut taught, mut made) = (Ok(()), made);
        for _ in 0..rounds {
            meet.wait();
            let start = began.elapsed();
            if let (Ok((teacher, value, policy)), Ok(())) = (&mut made, &taught) {
                taught = teacher.teach(value, policy, &lesson).map(drop);
            }
            meet.wait();
            best = best.min((began.elapsed() - start).as_secs_f64());
        }
        made.and(taught).map(|()| best)
    };
    std::thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> = (0..agents).map(|seed| scope.spawn(move || one(seed))).collect();
        threads
            .into_iter()
            .map(|t| t.join().expect("it does not panic"))
            .try_fold(0.0, |most: f64, s| Ok(most.max(s?)))
    })
}

/// Trains for the given time, and at least three epochs.
fn train(
    network: &'static str,
    net: &mut Network,
    images: &Images,
    batch: usize,
    budget: Duration,
) -> tractable::Result<Line> {
    let (began, mut seconds) = (std::time::Instant::now(), Vec::new());
    net.fit_with(images, &Fit::new().epochs(10_000).batch(batch).noise_std(1.0), |progress| {
        if let tractable::Progress::Epoch(_, epoch) = progress {
            seconds.push(epoch.seconds);
            if seconds.len() > 3 && began.elapsed() > budget {
                return std::ops::ControlFlow::Break(());
            }
        }
        std::ops::ControlFlow::Continue(())
    })?;
    seconds.sort_by(f64::total_cmp);
    let n = images.len() as f64;
    let (best, median) = (seconds[0], seconds[seconds.len() / 2]);
    Ok(Line {
        network,
        batch,
        images_per_second: n / best,
        median: n / median,
        step_us: 1e6 * best * batch as f64 / n,
        epochs: seconds.len(),
    })
}

/// Images of arbitrary bytes.
fn images(shape: Shape, n: usize) -> tractable::Result<Images> {
    let mut state = 1u32;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let pixels = (0..n * shape.len()).map(|_| byte()).collect();
    let labels = (0..n).map(|i| (i * 7 % 10) as u16).collect();
    let names = (0..10).map(|c| c.to_string()).collect();
    Ok(Images::new(shape, pixels, labels, names)?.scaling(PixelScaling::Center))
}
