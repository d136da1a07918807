//! One `learn` (forward, back, update) or one `derivative` on the networks of the paper; `tractable bench` prints the
//! same as a table with the processor's peak beside it.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tractable::{Activation, Device, Matrix, Network, condition::Wrt, network::NetworkBuilder, recipes};

/// Numbers in [-1, 1) that follow no pattern a cache could like.
fn numbers(rows: usize, width: usize) -> Matrix {
    let number = |i: usize| ((i * 7919 + 13) % 1009) as f64 / 504.5 - 1.0;
    Matrix::new((0..rows * width).map(number).collect(), width).expect("finite")
}

fn learn(c: &mut Criterion, name: &str, net: NetworkBuilder, rows: usize, threads: usize) {
    let mut net = net.device(Device::cpu(threads)).build().expect("a network");
    let x = numbers(rows, net.input().len());
    let y = numbers(rows, net.output().units());
    let labels: Vec<usize> = (0..rows).map(|i| i % 10).collect();
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(rows as u64)).sample_size(20);
    group.bench_function(BenchmarkId::new(format!("batch {rows}"), format!("{threads} threads")), |b| {
        b.iter(|| match net.output() {
            tractable::network::Output::Classes { .. } => net.learn(&x, &labels),
            _ => net.learn(&x, &y),
        })
    });
    group.finish();
}

/// The derivative of the output by all inputs.
fn derivative(c: &mut Criterion, name: &str, net: NetworkBuilder, rows: usize) {
    let net = net.device(Device::cpu(1)).build().expect("a network");
    let x = numbers(rows, net.input().len());
    let mut group = c.benchmark_group(format!("derivative of {name}"));
    group.throughput(Throughput::Elements(rows as u64)).sample_size(20);
    group.bench_function(BenchmarkId::new(format!("batch {rows}"), "1 threads"), |b| {
        b.iter(|| net.derivative(&x, Wrt::input()))
    });
    group.finish();
}

fn benches(c: &mut Criterion) {
    let mlp = |widths: &[usize]| Network::mlp(widths.iter().copied(), Activation::Relu);
    learn(c, "1-64-64-1", mlp(&[1, 64, 64, 1]), 1, 1);
    learn(c, "23-128-128-128-1", mlp(&[23, 128, 128, 128, 1]), 16, 1);
    derivative(c, "23-128-128-128-1", recipes::value(23), 16);
    for rows in [16, 512] {
        learn(c, "784-128-128-11", mlp(&[784, 128, 128, 11]), rows, 1);
    }
    for rows in [16, 128] {
        learn(c, "MNIST", recipes::mnist(), rows, 2);
        learn(c, "CIFAR-10", recipes::cifar10(), rows, 2);
    }
}

criterion_group!(learning, benches);
criterion_main!(learning);
