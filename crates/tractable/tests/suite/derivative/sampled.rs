//! Against Monte Carlo: weights and inputs drawn from their distributions, every draw differentiated exactly.

use super::{Plain, dense, with_var};
use crate::cases::Draw;
use tractable::{Activation, Gaussian, Wrt};

const DRAWS: usize = 100_000;

/// Mean, variance and covariance with the input of the derivative by the first input, closed form and sampled, and the
/// standard error of the sampled mean.
struct Both {
    ours: [f64; 3],
    drawn: [f64; 3],
    error: f64,
}

fn both(widths: &[usize], activations: &[Activation], var_w: f64, var_x: f64, seed: u64) -> Both {
    let net = with_var(dense(widths, activations).seed(seed), var_w);
    let plain = Plain::of(&net, activations);
    let mut draw = Draw::new(seed);
    let mean = draw.normals(widths[0]);
    let x = Gaussian::new(mean.clone(), vec![var_x; widths[0]], widths[0]).unwrap();
    let d = net.derivative(&x, Wrt::input()).unwrap();
    let ours = [d.mean()[0], d.var()[0], d.cov()[0]];
    let mut sums = [0.0; 5];
    for _ in 0..DRAWS {
        let mut jets: Vec<_> = mean.iter().map(|m| [m + var_x.sqrt() * draw.normal(), 0.0, 0.0]).collect();
        jets[0][1] = 1.0;
        let x = jets[0][0] - mean[0];
        let slope = plain.sample(&mut draw).run(0, plain.0.len(), jets)[0][1] - ours[0];
        [slope, slope * slope, x, x * slope, 1.0].iter().zip(&mut sums).for_each(|(v, sum)| *sum += v);
    }
    let [s, ss, x, xs, n] = sums;
    let var = (ss - s * s / n) / (n - 1.0);
    let drawn = [ours[0] + s / n, var, (xs - x * s / n) / (n - 1.0)];
    Both { ours, drawn, error: (var / n).sqrt() }
}

/// One unit a layer: no branches to be independent, so all of it is right where variances are small.
#[test]
fn a_single_path() {
    use Activation::*;
    for f in [Tanh, Sigmoid, Softplus] {
        for seed in 0..3 {
            let Both { ours, drawn, error } = both(&[1, 1, 1], &[f], 1e-4, 1e-4, seed);
            let what = format!("{f:?}, seed {seed}: {ours:?}, drawn {drawn:?}, error {error:e}");
            println!(
                "1-1-1 {what} var ratio {} cov ratio {} mean off {:e}",
                ours[1] / drawn[1],
                ours[2] / drawn[2],
                (ours[0] - drawn[0]).abs()
            );
            // What the linearised activation leaves out of the mean is of the order of its variance.
            assert!((ours[0] - drawn[0]).abs() < 4.0 * error + 1e-4, "{what}");
            assert!((ours[1] / drawn[1] - 1.0).abs() < 0.03, "{what}");
            let noise = (ours[1] * 1e-4 / DRAWS as f64).sqrt();
            assert!((ours[2] - drawn[2]).abs() < 5.0 * noise + 0.01 * ours[2].abs(), "{what}");
        }
    }
}

#[test]
fn a_longer_path() {
    use Activation::*;
    for pair in [[Tanh, Tanh], [Tanh, Relu], [Sigmoid, Softplus], [Softplus, Tanh], [Identity, Sigmoid]] {
        for seed in 3..6 {
            let Both { ours, drawn, error } = both(&[1, 1, 1, 1], &pair, 1e-4, 1e-4, seed);
            let what = format!("{pair:?}, seed {seed}: {ours:?}, drawn {drawn:?}, error {error:e}");
            println!(
                "1-1-1-1 {what} var ratio {} mean off {:e}",
                ours[1] / drawn[1],
                (ours[0] - drawn[0]).abs()
            );
            assert!((ours[0] - drawn[0]).abs() < 4.0 * error + 1e-4, "{what}");
            if drawn[1] > 1e-20 {
                assert!((ours[1] / drawn[1] - 1.0).abs() < 0.2, "{what}");
            }
        }
    }
}

/// Several units a layer: branches count as independent, which is wrong, so the variance is rough.
#[test]
fn branches() {
    use Activation::*;
    let nets: [(&[usize], &[Activation]); 4] = [
        (&[2, 6, 1], &[Tanh]),
        (&[1, 4, 4, 1], &[Tanh, Tanh]),
        (&[3, 5, 4, 1], &[Tanh, Relu]),
        (&[2, 4, 3, 4, 1], &[Sigmoid, Tanh, Softplus]),
    ];
    for (widths, activations) in nets {
        for seed in 6..9 {
            let Both { ours, drawn, error } = both(widths, activations, 1e-4, 1e-4, seed);
            let what = format!("{widths:?}, seed {seed}: {ours:?}, drawn {drawn:?}, error {error:e}");
            println!(
                "{what} var ratio {} cov ratio {} mean off {:e}",
                ours[1] / drawn[1],
                ours[2] / drawn[2],
                (ours[0] - drawn[0]).abs()
            );
            assert!((ours[0] - drawn[0]).abs() < 4.0 * error + 1e-3, "{what}");
            let ratio = ours[1] / drawn[1];
            assert!((0.2..2.7).contains(&ratio), "{what}: ratio {ratio}");
            if activations.len() == 1 {
                let noise = (ours[1] * 1e-4 / DRAWS as f64).sqrt();
                assert!((ours[2] - drawn[2]).abs() < 6.0 * noise + 0.01 * ours[2].abs(), "{what}");
            }
        }
    }
}
