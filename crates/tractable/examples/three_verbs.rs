//! Learns a curve, predicts with uncertainty, asks for the input that gives a wanted output.
//! Expect: y(0.5) near -1.38, ten times its std at 3 (no data there), and x near 0.35 for y = -1.

use tractable::data::Dataset;
use tractable::{Activation, Fit, Gaussian, Matrix, Network, Wanted};

fn main() -> tractable::Result<()> {
    let x: Vec<f64> = (0..400).map(|i| i as f64 / 100.0 - 2.0).collect();
    let y = x.iter().map(|x| x.powi(3) - 3.0 * x).collect();
    let data = Dataset::new(Matrix::column(x)?, Matrix::column(y)?)?.standardize();

    let mut net = Network::mlp([1, 50, 50, 1], Activation::MixtureRelu).seed(0).build()?;
    net.fit(&data, &Fit::new().epochs(50).batch(1).noise_std(0.1))?;

    let at = Matrix::column(vec![0.5, 3.0])?;
    let y = net.predict(&at)?;
    for (i, x) in at.data().iter().enumerate() {
        println!("y({x}) = {:.3} +- {:.3}", y.mean()[i], y.std()[i]);
    }

    let prior = Gaussian::new(vec![0.5], vec![0.01], 1)?;
    let wanted = Matrix::column(vec![-1.0])?;
    let x = net.condition(&prior, Wanted::from(&wanted).noise_var(1.0).rounds(100))?;
    println!("y = -1 at x = {:.3} +- {:.3}", x.mean()[0], x.std()[0]);
    Ok(())
}
