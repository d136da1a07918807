//! Whole training steps on a GPU: epochs of images that are stored on it as bytes.

use super::Args;
use crate::report::{Outcome, Report, table};
use crate::results::Clock;
use crate::settings::DeviceName;
use serde::Serialize;
use std::time::Duration;
use tractable::data::{Images, PixelScaling};
use tractable::{Activation, Fit, Network, Shape, network::NetworkBuilder, recipes};

/// The device.
///
/// Line `device` (GPU) of `bench`.
#[derive(Serialize)]
struct On<'a> {
    /// Name of the GPU; with `--device cuda` or `cuda-fast`.
    device: &'a str,
}

/// One network and batch size.
///
/// Line `bench` (GPU) of `bench`.
#[derive(Serialize)]
struct Line {
    /// Its name.
    network: &'static str,
    /// Rows per update.
    batch: usize,
    /// In the best epoch.
    images_per_second: f64,
    /// In the median epoch.
    median: f64,
    /// Microseconds per batch in the best epoch.
    step_us: f64,
    /// How many.
    epochs: usize,
}

#[derive(Serialize)]
struct All<'a> {
    device: &'a str,
    rows: &'a [Line],
}

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
    let fast = if args.device == DeviceName::CudaFast { "-fast" } else { "" };
    let command = format!("tractable bench --device cuda{fast} --seconds {}", args.seconds);
    let all = All { device: &name, rows: &lines };
    args.out.as_ref().map_or(Ok(()), |dir| clock.write(dir, "cuda", &command, all))
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
        if let tractable::train::Progress::Epoch(_, epoch) = progress {
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
