//! Regression with intervals. Expect: `rmse` in 0..0.1, `inside 90 %` in 0.85..0.95 of new points.

use tractable::data::Dataset;
use tractable::{Activation, Fit, Matrix, Network, metrics, rng};

const NOISE: f64 = 0.2;

fn truth(x: f64) -> f64 {
    x.powi(3) - 3.0 * x
}

/// 400 points of the curve with noise.
fn noisy(part: u64) -> tractable::Result<(Matrix, Matrix)> {
    let mut random = rng::stream(0, "regression", part);
    let x: Vec<f64> = (0..400).map(|_| rng::uniform(-2.0, 2.0, &mut random)).collect();
    let y = x.iter().map(|&x| truth(x) + NOISE * rng::standard_normal(&mut random)).collect();
    Ok((Matrix::column(x)?, Matrix::column(y)?))
}

fn main() -> tractable::Result<()> {
    let (x, y) = noisy(0)?;
    let mut net = Network::mlp([1, 50, 50, 1], Activation::MixtureRelu).seed(0).build()?;
    // The noise is in standard deviations of y, which is about 1.2 here.
    net.fit(&Dataset::new(x, y)?.standardize(), &Fit::new().epochs(50).batch(1).noise_std(NOISE / 1.2))?;

    println!("   x   truth    mean  +- 2 std");
    let grid = Matrix::column((-4..=4).map(|i| i as f64 / 2.0).collect())?;
    // `predict` returns the uncertainty of the curve; a new observation adds noise.
    let curve = net.predict(&grid)?;
    for ((x, mean), std) in grid.data().iter().zip(curve.mean()).zip(curve.total_std()) {
        println!("{x:4.1}  {:6.2}  {mean:6.2}  {:6.2}", truth(*x), 2.0 * std);
    }

    let (x, y) = noisy(1)?;
    let out = net.predict(&x)?;
    let curve: Vec<f64> = x.data().iter().map(|&x| truth(x)).collect();
    println!("rmse: {:.3}", metrics::rmse(&curve, out.mean())?);
    println!("inside 90 %: {:.3}", metrics::coverage(y.data(), out.mean(), &out.total_var(), 0.9)?);
    Ok(())
}
