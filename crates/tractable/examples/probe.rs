//! speed probe (temporary)
use std::time::Instant;
use tractable::*;
fn time(name: &str, rows: usize, mut f: impl FnMut()) {
    f();
    f();
    let mut best = f64::MAX;
    let t0 = Instant::now();
    while t0.elapsed().as_secs_f64() < 1.0 {
        let n = 1;
        let t = Instant::now();
        for _ in 0..n {
            f()
        }
        best = best.min(t.elapsed().as_secs_f64() / n as f64);
    }
    println!("{name}: {:.2} us, {:.0} rows/s", best * 1e6, rows as f64 / best);
}
fn net(name: &str, widths: &[usize], rows: usize, threads: usize) {
    let mut net =
        Network::mlp(widths.iter().copied(), Activation::Relu).device(Device::cpu(threads)).build().unwrap();
    let x = Matrix::new(
        (0..rows * widths[0]).map(|i| ((i * 7919) % 1000) as f64 / 500.0 - 1.0).collect(),
        widths[0],
    )
    .unwrap();
    let o = *widths.last().unwrap();
    let y = Matrix::new((0..rows * o).map(|i| ((i * 31) % 10) as f64 / 10.0).collect(), o).unwrap();
    time(&format!("{name} b{rows} t{threads}"), rows, || {
        net.learn(&x, &y).unwrap();
    });
}
fn mnist(rows: usize, threads: usize) {
    let mut net = Network::builder(Shape::image(1, 28, 28))
        .layer(Layer::conv2d(32, 4).padding(1))
        .layer(Activation::Relu)
        .layer(Layer::avg_pool2d(3).stride(2))
        .layer(Layer::conv2d(64, 5))
        .layer(Activation::Relu)
        .layer(Layer::avg_pool2d(3).stride(2))
        .layer(Layer::linear(150))
        .layer(Activation::Relu)
        .layer(Layer::linear(11))
        .classes(10)
        .device(Device::cpu(threads))
        .build()
        .unwrap();
    let x = Matrix::new((0..rows * 784).map(|i| ((i * 7919) % 1000) as f64 / 500.0 - 1.0).collect(), 784)
        .unwrap();
    let y: Vec<usize> = (0..rows).map(|i| i % 10).collect();
    time(&format!("mnist b{rows} t{threads}"), rows, || {
        net.learn(&x, &y).unwrap();
    });
}
fn cifar(rows: usize, threads: usize) {
    let pool = Layer::avg_pool2d(3).stride(2).end_padding(1);
    let mut net = Network::builder(Shape::image(3, 32, 32))
        .layer(Layer::conv2d(32, 5).padding(2))
        .layer(Activation::Relu)
        .layer(pool)
        .layer(Layer::conv2d(32, 5).padding(2))
        .layer(Activation::Relu)
        .layer(pool)
        .layer(Layer::conv2d(64, 5).padding(2))
        .layer(Activation::Relu)
        .layer(pool)
        .layer(Layer::linear(64))
        .layer(Activation::Relu)
        .layer(Layer::linear(11))
        .classes(10)
        .device(Device::cpu(threads))
        .build()
        .unwrap();
    let x = Matrix::new((0..rows * 3072).map(|i| ((i * 7919) % 1000) as f64 / 500.0 - 1.0).collect(), 3072)
        .unwrap();
    let y: Vec<usize> = (0..rows).map(|i| i % 10).collect();
    time(&format!("cifar b{rows} t{threads}"), rows, || {
        net.learn(&x, &y).unwrap();
    });
}
fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("rl") => {
            for _ in 0..4 {
                net("rl", &[23, 128, 128, 128, 1], 16, 1);
            }
            return;
        }
        Some("784") => {
            for _ in 0..4 {
                net("784", &[784, 128, 128, 11], 16, 1);
            }
            return;
        }
        Some("784b") => {
            for _ in 0..4 {
                net("784", &[784, 128, 128, 11], 512, 1);
            }
            return;
        }
        Some("toy") => {
            for _ in 0..4 {
                net("toy", &[1, 64, 64, 1], 1, 1);
            }
            return;
        }
        Some("cnn") => {
            for _ in 0..2 {
                cifar(128, 1);
            }
            return;
        }
        Some("mnist") => {
            for _ in 0..3 {
                mnist(16, 1);
            }
            return;
        }
        _ => {}
    }
    net("rl", &[23, 128, 128, 128, 1], 16, 1);
    net("784", &[784, 128, 128, 11], 16, 1);
    net("784", &[784, 128, 128, 11], 512, 1);
    net("toy", &[1, 64, 64, 1], 1, 1);
    for t in [1, 2] {
        for b in [16, 128] {
            mnist(b, t);
            cifar(b, t);
        }
    }
}
