//! Learning one sample at a time, each seen once. Expect: `rmse after 100` in 0.5..1.2, `rmse after 5000` in 0..0.15.

use tractable::{Activation, Matrix, Network, metrics, rng};

fn truth(x: f64) -> f64 {
    x.powi(3) - 3.0 * x
}

fn main() -> tractable::Result<()> {
    let mut net = Network::mlp([1, 64, 64, 1], Activation::Tanh).noise_std([0.1]).seed(0).build()?;
    let grid = Matrix::column((0..=80).map(|i| i as f64 / 20.0 - 2.0).collect())?;
    let curve: Vec<f64> = grid.data().iter().map(|&x| truth(x)).collect();
    let mut random = rng::stream(0, "online", 0);
    for n in 1..=5000 {
        // A measurement arrives, is learned, and is discarded.
        let x = rng::uniform(-2.0, 2.0, &mut random);
        let y = truth(x) + 0.1 * rng::standard_normal(&mut random);
        net.learn(&Matrix::column(vec![x])?, &Matrix::column(vec![y])?)?;
        if [10, 100, 1000, 5000].contains(&n) {
            let out = net.predict(&grid)?;
            println!("rmse after {n}: {:.3}", metrics::rmse(&curve, out.mean())?);
        }
    }
    Ok(())
}
