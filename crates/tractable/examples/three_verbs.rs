//! The three verbs on a curve. Expect: `y(0.5)` in -1.45..-1.30, `std at 0.5` in 0..0.1, `x for y = -1` in 0.34..0.42, `std of x` in 0.02..0.07.

use tractable::data::Dataset;
use tractable::{Activation, Fit, Gaussian, Matrix, Network, Wanted};

fn main() -> tractable::Result<()> {
    let x: Vec<f64> = (0..400).map(|i| i as f64 / 100.0 - 2.0).collect();
    let y = x.iter().map(|x| x.powi(3) - 3.0 * x).collect();
    let data = Dataset::new(Matrix::column(x)?, Matrix::column(y)?)?.standardize();

    // learn
    let mut net = Network::mlp([1, 50, 50, 1], Activation::MixtureRelu).seed(0).build()?;
    net.fit(&data, &Fit::new().epochs(50).batch(1).noise_std(0.1))?;

    // predict
    let y = net.predict(&Matrix::column(vec![0.5])?)?;
    println!("y(0.5): {:.3}", y.mean()[0]);
    println!("std at 0.5: {:.3}", y.output().std()[0]);

    // condition: x is 0.5 +- 0.1, and we want y = -1 +- 0.1.
    let prior = Gaussian::new(vec![0.5], vec![0.01], 1)?;
    let wanted = Matrix::column(vec![-1.0])?;
    let x = net.condition(&prior, Wanted::from(&wanted).noise_var(0.01))?;
    println!("x for y = -1: {:.3}", x.mean()[0]);
    println!("std of x: {:.3}", x.std()[0]);
    Ok(())
}
