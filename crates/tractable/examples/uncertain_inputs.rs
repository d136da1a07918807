//! Inputs that are noisy or missing. Expect: `rmse` in 0..0.1, `std, both known` in 0..0.1, `std, b missing` in 0.2..0.8.

use tractable::{Activation, Gaussian, Matrix, Network, metrics, rng};

fn truth(a: f64, b: f64) -> f64 {
    a + (2.0 * b).sin()
}

fn main() -> tractable::Result<()> {
    let mut random = rng::stream(0, "uncertain inputs", 0);
    let mut net = Network::mlp([2, 64, 64, 1], Activation::MixtureRelu).noise_std([0.1]).seed(0).build()?;

    // Inputs are standard normal. In a third of the rows b was not measured: it then has its
    // prior, 0 with a variance of 1. In another third it was measured with a standard deviation of 0.1.
    for i in 0..10_000 {
        let (a, b) = (rng::standard_normal(&mut random), rng::standard_normal(&mut random));
        let (b_mean, b_var) = match i % 3 {
            0 => (b, 0.0),
            1 => (b + 0.1 * rng::standard_normal(&mut random), 0.01),
            _ => (0.0, 1.0),
        };
        let x = Gaussian::new(vec![a, b_mean], vec![0.0, b_var], 2)?;
        net.learn(&x, &Matrix::column(vec![truth(a, b)])?)?;
    }

    // The more is known about b, the more certain the answer. Without b the truth is 0.5 +- 0.71: the network's standard
    // deviation is too small, because it treats its hidden units, which all depend on b, as independent.
    let known = net.predict(&Gaussian::new(vec![0.5, 0.3], vec![0.0, 0.0], 2)?)?;
    let noisy = net.predict(&Gaussian::new(vec![0.5, 0.3], vec![0.0, 0.04], 2)?)?;
    let missing = net.predict(&Gaussian::new(vec![0.5, 0.0], vec![0.0, 1.0], 2)?)?;
    for (what, y) in [("both known", known), ("b is 0.3 +- 0.2", noisy), ("b missing", missing)] {
        println!("mean, {what}: {:.3}", y.mean()[0]);
        println!("std, {what}: {:.3}", y.output().std()[0]);
    }

    let x: Vec<f64> = (0..400).map(|_| rng::uniform(-1.0, 1.0, &mut random)).collect();
    let y: Vec<f64> = x.chunks_exact(2).map(|x| truth(x[0], x[1])).collect();
    println!("rmse: {:.3}", metrics::rmse(&y, net.predict(&Matrix::new(x, 2)?)?.mean())?);
    Ok(())
}
