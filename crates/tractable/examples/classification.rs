//! Three spirals, three classes. Expect: `error rate` in 0..0.02, `ece` in 0..0.05, `unsure far away` in 0..0.1, which is overconfident.

use tractable::data::Dataset;
use tractable::{Activation, Fit, Matrix, Network, metrics, rng, train::NoiseSchedule};

/// Points on three spiral arms, and the arm of each.
fn spirals(n: usize, part: u64) -> tractable::Result<(Matrix, Vec<usize>)> {
    let mut random = rng::stream(0, "spirals", part);
    let (mut x, mut labels) = (Vec::new(), Vec::new());
    for i in 0..n {
        let (label, r) = (i % 3, rng::uniform(0.2, 1.0, &mut random));
        let angle = 2.0 * label as f64 * std::f64::consts::PI / 3.0 + 4.0 * r;
        let angle = angle + 0.1 * rng::standard_normal(&mut random);
        x.extend([r * angle.cos(), r * angle.sin()]);
        labels.push(label);
    }
    Ok((Matrix::new(x, 2)?, labels))
}

fn main() -> tractable::Result<()> {
    let (x, labels) = spirals(900, 0)?;
    let names = ["red", "green", "blue"].map(String::from).to_vec();
    let data = Dataset::with_labels(x, labels, names)?.standardize();
    let mut net = Network::mlp([2, 64, 64, 3], Activation::MixtureRelu).classes(3).seed(0).build()?;
    let noise = NoiseSchedule { start: 1.0, decay: 0.95, floor: 0.3 };
    net.fit(&data, &Fit::new().epochs(40).batch(4).noise(noise))?;

    let (x, labels) = spirals(600, 1)?;
    let p = net.predict_classes(&x)?;
    println!("error rate: {:.3}", metrics::error_rate(p.data(), &labels)?);
    println!("ece: {:.3}", metrics::ece(p.data(), &labels, 10)?.ece);
    let centre = net.predict_classes(&Matrix::new(vec![0.0, 0.0], 2)?)?;
    println!("where the arms meet: {:.2?}", centre.row(0));
    let far = net.predict_classes(&Matrix::new(vec![5.0, -5.0], 2)?)?;
    // Beware: away from the data the network is overconfident.
    println!("unsure far away: {:.3}", 1.0 - far.row(0).iter().copied().fold(0.0, f64::max));
    Ok(())
}
