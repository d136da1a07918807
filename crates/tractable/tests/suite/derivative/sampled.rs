//! Against Monte Carlo: weights and inputs drawn from their distributions, every draw differentiated exactly.

use super::{LEAKY, Part, Plain, dense, jet_of, with_var};
use crate::cases::Draw;
use tractable::{Activation, Gaussian, condition::Wrt};

const DRAWS: usize = 40_000;

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
            // What the linearised activation leaves out of the mean is of the order of its variance.
            assert!((ours[0] - drawn[0]).abs() < 4.0 * error + 1e-4, "{what}");
            assert!((ours[1] / drawn[1] - 1.0).abs() < 0.03, "{what}");
            let noise = (ours[1] * 1e-4 / DRAWS as f64).sqrt();
            assert!((ours[2] - drawn[2]).abs() < 5.0 * noise + 0.01 * ours[2].abs(), "{what}");
        }
    }
}

/// Weights, slopes and bends along a path of three layers, and what the variance of their product is to first order where
/// every weight and the input have variance 1: without and with the covariance of the second slope and the first weight.
fn along(plain: &Plain, x: f64) -> [f64; 2] {
    let weight = |at: usize| match &plain.0[at] {
        Part::Linear { w, b } => (w[0][0], b[0][0]),
        Part::Activation(_) => panic!("no weight there"),
    };
    let curve = |at: usize, z: f64| match plain.0[at] {
        Part::Activation(f) => {
            let [a, slope, bend] = jet_of(f, [z, 1.0, 0.0]);
            (a, slope, bend)
        }
        Part::Linear { .. } => panic!("no activation there"),
    };
    let ((w1, b1), (w2, b2), (w3, _)) = (weight(0), weight(2), weight(4));
    let (a1, s1, bend1) = curve(1, w1 * x + b1);
    let (_, s2, bend2) = curve(3, w2 * a1 + b2);
    let d = w3 * s2 * w2 * s1 * w1;
    let var_z1 = 1.0 + w1 * w1 + x * x;
    let var_s1 = bend1 * bend1 * var_z1;
    let var_s2 = bend2 * bend2 * (1.0 + a1 * a1 + w2 * w2 * s1 * s1 * var_z1);
    let vars = w1.powi(-2) + w2.powi(-2) + w3.powi(-2) + var_s1 / (s1 * s1) + var_s2 / (s2 * s2);
    let near = bend2 * a1 / (s2 * w2) + bend2 * w2 * s1 * bend1 * var_z1 / (s2 * s1) + bend1 * x / (s1 * w1);
    let far = bend2 * w2 * s1 * x / (s2 * w1);
    [d * d * (vars + 2.0 * near), d * d * (vars + 2.0 * (near + far))]
}

/// Two curved layers in a row: what is further apart than one layer counts as independent, and nothing else is left out.
#[test]
fn a_longer_path() {
    use Activation::*;
    for pair in [[Tanh, Tanh], [Tanh, Relu], [Sigmoid, Softplus], [Softplus, Tanh], [LEAKY, Sigmoid]] {
        for seed in 3..6 {
            let widths = [1, 1, 1, 1];
            let x = Draw::new(seed).normals(1);
            let net = with_var(dense(&widths, &pair).seed(seed), 1e-10);
            let plain = Plain::of(&net, &pair);
            if plain.derivatives(&x, 0, 0)[0][0] == 0.0 {
                continue; // a ReLU that is off
            }
            let [near, all] = along(&plain, x[0]);
            let d = net.derivative(&Gaussian::new(x, vec![1e-10], 1).unwrap(), Wrt::input()).unwrap();
            let ratio = d.var()[0] / (near * 1e-10);
            assert!((ratio - 1.0).abs() < 1e-6, "{pair:?}, seed {seed}: {ratio}");
            let Both { ours, drawn, error } = both(&widths, &pair, 1e-4, 1e-4, seed);
            let what = format!("{pair:?}, seed {seed}: {ours:?}, drawn {drawn:?}, error {error:e}");
            assert!((ours[0] - drawn[0]).abs() < 4.0 * error + 1e-4, "{what}");
            assert!((drawn[1] / (all * 1e-4) - 1.0).abs() < 0.03, "{what}: {all}");
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
            assert!((ours[0] - drawn[0]).abs() < 4.0 * error + 1e-3, "{what}");
            let ratio = ours[1] / drawn[1];
            assert!((0.2..5.0).contains(&ratio), "{what}: ratio {ratio}");
            if activations.len() == 1 {
                let noise = (ours[1] * 1e-4 / DRAWS as f64).sqrt();
                assert!((ours[2] - drawn[2]).abs() < 6.0 * noise + 0.01 * ours[2].abs(), "{what}");
            }
        }
    }
}
