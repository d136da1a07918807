//! Long runs: a stream that never ends. `TRACTABLE_UPDATES=10000000 cargo test --release --test suite long -- --ignored
//! --nocapture` takes the ten million of the record; every run of the tests takes a short one.

use crate::cases::{Draw, Model};
use std::time::Instant;
use tractable::{Activation, Device, Matrix, Network};

/// What became of a network after so many single-sample updates.
#[derive(Debug)]
struct Outcome {
    updates: u64,
    repaired: u64,
    capped: u64,
    /// Lowest and highest variance of a parameter.
    lowest: f64,
    highest: f64,
    /// Root of the mean squared error over the last tenth, and of a guess that never learns.
    error: f64,
    idle: f64,
    /// Memory of the process, kilobytes, after a tenth and at the end.
    memory: (u64, u64),
    seconds: f64,
}

fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    line.and_then(|l| l.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}

/// Learns y = sin(3 x + phase) + noise, one sample at a time, while the phase turns once every `turn` samples; every
/// hundred samples a share is forgotten.
fn stream(updates: u64, turn: f64, activation: Activation, share: f64) -> Outcome {
    let net = Network::mlp([1, 32, 1], activation).noise_std([0.1]).seed(1);
    let mut net = net.device(Device::cpu(1)).build().unwrap();
    let mut draw = Draw::new(5);
    let (mut repaired, mut capped, mut squares, mut idle) = (0, 0, 0.0, 0.0);
    let (mut early, last) = (0, updates - updates / 10);
    let began = Instant::now();
    for t in 0..updates {
        let x = draw.uniform(-1.0, 1.0);
        let y = (3.0 * x + t as f64 / turn * std::f64::consts::TAU).sin() + 0.1 * draw.normal();
        let (x, y) = (Matrix::new(vec![x], 1).unwrap(), Matrix::new(vec![y], 1).unwrap());
        if t >= last {
            squares += (net.predict(&x).unwrap().mean()[0] - y.data()[0]).powi(2);
            idle += y.data()[0].powi(2);
        }
        let info = net.learn(&x, &y).unwrap_or_else(|e| panic!("update {t}: {e}"));
        repaired += info.repaired;
        capped += info.capped;
        if t % 100 == 99 && share > 0.0 {
            net.forget(share).unwrap();
        }
        if t == updates / 10 {
            early = memory();
        }
    }
    let (memory, seconds) = ((early, memory()), began.elapsed().as_secs_f64());
    let file = Model::of(&net);
    let of = |end: &str| {
        file.tensors.keys().filter(|n| n.ends_with(end)).flat_map(|n| file.get(n)).collect::<Vec<f64>>()
    };
    let (means, vars) = (of(".mean"), of(".var"));
    assert!(means.iter().all(|m| m.is_finite()), "a mean is not finite");
    let root = |sum: f64| (sum / (updates - last) as f64).sqrt();
    Outcome {
        updates,
        repaired,
        capped,
        lowest: vars.iter().copied().fold(f64::INFINITY, f64::min),
        highest: vars.iter().copied().fold(0.0, f64::max),
        error: root(squares),
        idle: root(idle),
        memory,
        seconds,
    }
}

fn sound(o: &Outcome) {
    println!(
        "{} updates in {:.0} s: {} repaired, {} capped; variances {:.1e} to {:.1e}; error {:.3} (idle {:.3}); memory {:?} kB",
        o.updates, o.seconds, o.repaired, o.capped, o.lowest, o.highest, o.error, o.idle, o.memory
    );
    assert_eq!(o.repaired, 0, "variances were repaired: {o:?}");
    assert!(o.lowest > 0.0 && o.highest.is_finite(), "{o:?}");
    let (early, late) = o.memory;
    assert!(late <= early + 4096, "memory grew: {o:?}");
}

/// Without forgetting it stops listening; with it, it follows what changes.
#[test]
fn a_drifting_stream_breaks_nothing() {
    let [deaf, follows] = [0.0, 1e-3].map(|share| stream(20_000, 10_000.0, Activation::MixtureRelu, share));
    [&deaf, &follows].into_iter().for_each(sound);
    assert!(follows.error < 0.5 * deaf.error, "{} is not much less than {}", follows.error, deaf.error);
}

/// Linearised ReLU is the exception: units that have died have no slope to learn by and stay dead.
#[test]
#[ignore = "long; the number of updates is TRACTABLE_UPDATES"]
fn a_long_drifting_stream_breaks_nothing() {
    let updates = std::env::var("TRACTABLE_UPDATES").map_or(1_000_000, |n| n.parse().unwrap());
    for activation in [Activation::MixtureRelu, Activation::Tanh, Activation::Relu] {
        for share in [0.0, 1e-3] {
            println!("{activation:?}, forgetting {share} every hundred samples:");
            let outcome = stream(updates, 100_000.0, activation, share);
            sound(&outcome);
            if activation != Activation::Relu && share > 0.0 {
                assert!(outcome.error < 0.2, "it does not follow: {outcome:?}");
            }
        }
    }
}
