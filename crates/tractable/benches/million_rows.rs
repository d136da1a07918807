//! Whole calls over a million rows in memory, to compare with the same calls from Python (docs/benchmarks/python.py). Prints JSON.

use std::time::Instant;
use tractable::data::Dataset;
use tractable::{Activation, Device, Fit, Matrix, Network, rng};

fn main() {
    let rows: usize = std::env::var("ROWS").map_or(1_000_000, |n| n.parse().expect("ROWS is a number"));
    let mut stream = rng::stream(0, "million rows", 0);
    let x: Vec<f64> = (0..rows * 23).map(|_| rng::standard_normal(&mut stream)).collect();
    let y: Vec<f64> = (0..rows).map(|i| x[23 * i] + 0.1 * rng::standard_normal(&mut stream)).collect();
    let (mut fit, mut predict) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..3 {
        let builder =
            Network::mlp([23, 128, 128, 128, 1], Activation::Relu).noise_std([0.1]).device(Device::cpu(1));
        let mut net = builder.build().expect("a network");
        let began = Instant::now();
        // As a caller has to who keeps the arrays.
        let (x, y) = (Matrix::new(x.clone(), 23).expect("rows"), Matrix::column(y.clone()).expect("rows"));
        let data = Dataset::new(x, y).expect("rows").standardize();
        net.fit(&data, &Fit::new().epochs(1).batch(16)).expect("a fit");
        fit = fit.min(began.elapsed().as_secs_f64());
        let began = Instant::now();
        net.predict(data.x()).expect("predictions");
        predict = predict.min(began.elapsed().as_secs_f64());
    }
    println!("{{\"rows\": {rows}, \"fit_seconds\": {fit}, \"predict_seconds\": {predict}}}");
}
