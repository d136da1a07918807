//! One of two outputs is wanted, the other follows. Expect: `x` in 0.25..0.35, `cos` in 0.5..0.7, `cos, truly` in 0.5..0.7.

use tractable::data::Dataset;
use tractable::{Activation, Fit, Gaussian, Matrix, Network, Wanted};

fn main() -> tractable::Result<()> {
    // x to (sin 3x, cos 3x).
    let x: Vec<f64> = (0..400).map(|i| i as f64 / 200.0 - 1.0).collect();
    let y = x.iter().flat_map(|x| [(3.0 * x).sin(), (3.0 * x).cos()]).collect();
    let data = Dataset::new(Matrix::column(x)?, Matrix::new(y, 2)?)?.standardize();
    let mut net = Network::mlp([1, 64, 64, 2], Activation::Tanh).seed(0).build()?;
    net.fit(&data, &Fit::new().epochs(50).batch(1).noise_std(0.05))?;

    // x is somewhere around 0.2; the sine should be 0.8, the cosine is free.
    let prior = Gaussian::new(vec![0.2], vec![0.0025], 1)?;
    let wanted = Matrix::new(vec![0.8, 0.0], 2)?;
    let wish = Wanted::from(&wanted).only(&[true, false]).noise_var(0.0001);
    let x = net.condition(&prior, wish)?;
    println!("x: {:.3}", x.mean()[0]);
    println!("std of x: {:.3}", x.std()[0]);
    let y = net.predict(&x)?;
    println!("sin: {:.3}", y.mean()[0]);
    println!("cos: {:.3}", y.mean()[1]);
    println!("cos, truly: {:.3}", (3.0 * x.mean()[0]).cos());
    Ok(())
}
