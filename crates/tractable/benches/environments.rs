//! Steps per second of the environments, on one core, under random actions with resets.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tractable::rl::env::{Environment, HalfCheetah, InvertedPendulum, Pendulum, TimeLimit, Version};
use tractable::rng::{stream, uniform};

const STEPS: usize = 10_000;

fn bench(c: &mut Criterion, name: &str, env: impl Environment) {
    let mut env = TimeLimit::new(env, 1000).unwrap();
    let (mut rng, width) = (stream(0, "actions", 0), env.action_space().len());
    let high = env.action_space().high()[0];
    let actions: Vec<f64> = (0..STEPS * width).map(|_| uniform(-high, high, &mut rng)).collect();
    let mut seen = vec![0.0; env.observation_space().len()];
    let mut group = c.benchmark_group("environments");
    group.throughput(Throughput::Elements(STEPS as u64));
    group.bench_function(name, |b| {
        b.iter(|| {
            env.reset(0, &mut seen).unwrap();
            for (i, action) in actions.chunks_exact(width).enumerate() {
                let step = env.step(action, &mut seen).unwrap();
                if step.terminated || step.truncated {
                    env.reset(i as u64, &mut seen).unwrap();
                }
            }
        });
    });
}

fn environments(c: &mut Criterion) {
    bench(c, "half_cheetah", HalfCheetah::new());
    bench(c, "inverted_pendulum", InvertedPendulum::new(Version::V5));
    bench(c, "pendulum", Pendulum::new());
}

criterion_group!(benches, environments);
criterion_main!(benches);
