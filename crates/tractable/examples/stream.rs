//! A stream that drifts and jumps, learned one sample at a time. Expect: `end, capped` in 0..0.3, `end, counted 1000` in 0..0.2.
//!
//! `cargo run --release --example stream -- 10000000` runs ten million samples. All errors are against the noise-free truth.

use std::time::Instant;
use tractable::{Activation, Matrix, Network, Noise, Result, network::UpdateRule, rng};

const INPUTS: usize = 5;
/// Samples between two jumps, per turn of the phase, and per average of the error.
const JUMP: u64 = 200_000;
const TURN: f64 = 1_000_000.0;
const WINDOW: u64 = 1000;
/// When the error is measured, in samples after a jump.
const AFTER: [u64; 3] = [1000, 10_000, 100_000];

/// The function of the stream between two jumps.
struct World([[f64; INPUTS]; 2]);

impl World {
    fn new(seed: u64, number: u64) -> Self {
        let mut random = rng::stream(seed, "world", number);
        World([[(); INPUTS]; 2].map(|row| row.map(|()| rng::standard_normal(&mut random))))
    }

    fn truth(&self, x: &[f64], phase: f64) -> f64 {
        let [a, b] = self.0.map(|w| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>());
        (1.5 * a + phase).sin() + 0.5 * b
    }
}

/// How a network adapts: a name, its rule, the share it forgets every hundred samples, and its noise.
struct Listener(String, UpdateRule, f64, Noise);

/// Root mean squared error after a jump, at the end, and the seconds it took.
fn listen(samples: u64, Listener(_, rule, share, noise): &Listener) -> Result<([f64; 3], f64, f64)> {
    let net = Network::mlp([INPUTS, 32, 32, 1], Activation::MixtureRelu).noise_std([0.1]).noise(*noise);
    let mut net = net.update_rule(*rule).seed(1).device(tractable::Device::cpu(1)).build()?;
    let mut random = rng::stream(0, "stream", 0);
    let (mut world, mut after, mut end) = (World::new(0, 0), [(0.0, 0u64); 3], (0.0, 0u64));
    let (jump, began) = (JUMP.min(samples / 2), Instant::now());
    for t in 0..samples {
        if t % jump == 0 {
            world = World::new(0, t / jump);
        }
        let x: Vec<f64> = (0..INPUTS).map(|_| rng::uniform(-1.0, 1.0, &mut random)).collect();
        let truth = world.truth(&x, t as f64 / TURN * std::f64::consts::TAU);
        let x = Matrix::new(x, INPUTS)?;
        let note = |(sum, n): &mut (f64, u64)| -> Result<()> {
            *sum += (net.predict(&x)?.mean()[0] - truth).powi(2);
            *n += 1;
            Ok(())
        };
        for (at, errors) in AFTER.iter().zip(&mut after) {
            if t >= jump && (*at..at + WINDOW).contains(&(t % jump)) {
                note(errors)?;
            }
        }
        if t + (10 * WINDOW).min(samples / 10) >= samples {
            note(&mut end)?;
        }
        net.learn(&x, &Matrix::column(vec![truth + 0.1 * rng::standard_normal(&mut random)])?)?;
        if *share > 0.0 && t % 100 == 99 {
            net.forget(*share)?;
        }
    }
    let root = |(sum, n): (f64, u64)| (sum / n as f64).sqrt();
    Ok((after.map(root), root(end), began.elapsed().as_secs_f64()))
}

fn main() -> Result<()> {
    let samples = std::env::args().nth(1).map_or(40_000, |n| n.parse().expect("a number of samples"));
    let capped = |name: &str, share| Listener(name.into(), UpdateRule::Capped, share, Noise::Known);
    let counted = |name: &str, rows, noise| {
        Listener(format!("counted {rows}{name}"), UpdateRule::counted(rows), 0.0, noise)
    };
    println!("{samples} samples: error {AFTER:?} samples after a jump, at the end, seconds");
    let mut ends = String::new();
    for listener in [
        capped("capped", 0.0),
        capped("capped, forgets 0.001", 1e-3),
        capped("capped, forgets 0.01", 1e-2),
        counted("", 300, Noise::Known),
        counted("", 1000, Noise::Known),
        counted("", 10_000, Noise::Known),
        counted("", 100_000, Noise::Known),
        counted(", noise inferred", 1000, Noise::Inferred),
    ] {
        let ([soon, later, late], end, seconds) = listen(samples, &listener)?;
        let name = &listener.0;
        println!("{name:28} {soon:6.3} {later:6.3} {late:6.3} {end:6.3} {seconds:6.1}");
        ends += &format!("end, {name}: {end:.3}\n");
    }
    print!("{ends}");
    Ok(())
}
