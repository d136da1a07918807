//! Where weights and inputs are known, derivatives are those of a network of plain numbers; and units.

use super::{ALL, LEAKY, Plain, dense, known, places};
use crate::cases::{Draw, worst};
use tractable::data::Scaler;
use tractable::{Activation, Gaussian, Matrix, Network, condition::Wrt};

const WIDTHS: [usize; 5] = [3, 5, 4, 6, 2];

/// Compares the first and second derivative by every layer with those of plain numbers.
fn check(what: &str, widths: &[usize], activations: &[Activation]) {
    let net = known(dense(widths, activations).seed(7));
    let plain = Plain::of(&net, activations);
    let x = Draw::new(8).matrix(3, widths[0]);
    for (at, place) in places(&net).iter().enumerate() {
        for output in 0..*widths.last().unwrap() {
            let wrt = Wrt::from(&place[..]).output(output);
            let d = net.derivative(&x, wrt).unwrap();
            let second = net.second_derivative(&x, wrt).unwrap();
            let rows = x.data().chunks(widths[0]);
            let exact: Vec<_> = rows.map(|x| plain.derivatives(x, at, output)).collect();
            let exact = [0, 1].map(|k| exact.iter().flat_map(|e| e[k].clone()).collect::<Vec<_>>());
            let off = worst(d.mean(), &exact[0], 1.0);
            assert!(off < 1e-13, "{what}, d{output}/d {place}: off by {off:e}");
            let off = worst(second.data(), &exact[1], 1.0);
            assert!(off < 1e-13, "{what}, d2 {output}/d {place}: off by {off:e}");
            assert!(d.var().iter().all(|&v| (0.0..1e-100).contains(&v)), "{what}: {:?}", d.var());
        }
    }
}

#[test]
fn of_every_activation_and_depth() {
    for f in ALL {
        for depth in 1..=4 {
            let widths: Vec<usize> = WIDTHS[..depth].iter().copied().chain([2]).collect();
            check(&format!("{f:?}, {depth} layers"), &widths, &vec![f; depth - 1]);
            check(&format!("{f:?}, {depth} layers and on the output"), &widths, &vec![f; depth]);
        }
    }
}

#[test]
fn of_mixtures() {
    use Activation::*;
    check("tanh, relu, relu", &WIDTHS, &[Tanh, Relu, Relu]);
    check("tanh, sigmoid, softplus", &WIDTHS, &[Tanh, Sigmoid, Softplus]);
    check("softplus, tanh, leaky relu, sigmoid", &WIDTHS, &[Softplus, Tanh, LEAKY, Sigmoid]);
    check("sigmoid, identity, tanh, tanh", &WIDTHS, &[Sigmoid, Identity, Tanh, Tanh]);
}

/// A network whose first layer alone is curved: the covariance with the input is the second derivative times its
/// variance, where that is small.
#[test]
fn the_covariance_is_the_second_derivative_times_the_variance() {
    use Activation::*;
    for activations in [[Tanh, Relu, Relu], [Sigmoid, LEAKY, Identity], [Softplus, Relu, LEAKY]] {
        let net = known(dense(&WIDTHS, &activations).seed(9));
        let mean = Draw::new(10).normals(12);
        for var in [1e-12, 1e-9] {
            let x = Gaussian::new(mean.clone(), vec![var; 12], 3).unwrap();
            let d = net.derivative(&x, Wrt::input().output(1)).unwrap();
            let second = net.second_derivative(&x, Wrt::input().output(1)).unwrap();
            let expected: Vec<f64> = second.data().iter().map(|e| e * var).collect();
            let off = worst(d.cov(), &expected, var);
            assert!(off < 100.0 * var, "{activations:?}: off by {off:e} of {:?}", d.cov());
        }
    }
}

/// Central differences of order four.
fn difference(h: f64, f: impl Fn(f64) -> f64) -> f64 {
    (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)
}

fn scaled(net: &mut Network) {
    let input = Scaler::new(vec![100.0, -3.0], vec![20.0, 0.25]).unwrap();
    let output = Scaler::new(vec![7.0, -1.0], vec![5.0, 0.01]).unwrap();
    net.set_scalers(Some(input), Some(output)).unwrap();
}

/// With scalers: the derivative of what `predict` computes, in the user's units.
#[test]
fn in_the_units_of_the_user() {
    use Activation::*;
    let activations = [Tanh, Sigmoid];
    let mut net = known(dense(&[2, 6, 5, 2], &activations).seed(11));
    let plain = Plain::of(&net, &activations);
    scaled(&mut net);
    let (raw, std, out_std) = ([112.0, -3.1], [20.0, 0.25], [5.0, 0.01]);
    let standard = [12.0 / 20.0, -0.1 / 0.25];
    let x = Matrix::new(raw.to_vec(), 2).unwrap();
    for output in 0..2 {
        let wrt = Wrt::input().output(output);
        let d = net.derivative(&x, wrt).unwrap();
        let second = net.second_derivative(&x, wrt).unwrap();
        for unit in 0..2 {
            let moved = |by: f64| {
                let mut x = raw;
                x[unit] += by;
                Matrix::new(x.to_vec(), 2).unwrap()
            };
            let h = 1e-3 * std[unit];
            let scale = out_std[output] / std[unit];
            let first = difference(h, |by| net.predict(&moved(by)).unwrap().mean()[output]);
            let off = (d.mean()[unit] - first).abs() / scale;
            assert!(off < 1e-9, "{output} by {unit}: {} and {first}", d.mean()[unit]);
            let twice = difference(h, |by| net.derivative(&moved(by), wrt).unwrap().mean()[unit]);
            let off = (second.data()[unit] - twice).abs() / (scale / std[unit]);
            assert!(off < 1e-9, "{output} by {unit}: {} and {twice}", second.data()[unit]);
        }
        // Hidden layers have no units of their own.
        for (at, place) in places(&net).iter().enumerate().skip(1) {
            let wrt = Wrt::from(&place[..]).output(output);
            // The last layer is the output, in its own units.
            let own = |unit: usize| if place == "linear3" { out_std[unit] } else { 1.0 };
            let [first, twice] = plain.derivatives(&standard, at, output);
            let unit = |k: i32, v: &[f64]| -> Vec<f64> {
                v.iter().enumerate().map(|(i, v)| v * out_std[output] / own(i).powi(k)).collect()
            };
            let d = net.derivative(&x, wrt).unwrap();
            assert!(worst(d.mean(), &unit(1, &first), out_std[output]) < 1e-12, "by {place}");
            let second = net.second_derivative(&x, wrt).unwrap();
            assert!(worst(second.data(), &unit(2, &twice), out_std[output]) < 1e-12, "by {place}");
        }
    }
}

/// Mean, variance and covariance in the user's units are those of the network's own, times the units.
#[test]
fn uncertainty_in_the_units_of_the_user() {
    let mut net = super::with_var(dense(&[2, 6, 5, 2], &[Activation::Tanh; 2]).seed(12), 0.01);
    let own = Gaussian::new(vec![0.6, -0.4], vec![0.02, 0.03], 2).unwrap();
    let before = net.derivative(&own, Wrt::input().output(1)).unwrap();
    let hidden = net.derivative(&own, Wrt::from("linear1").output(1)).unwrap();
    scaled(&mut net);
    let raw = Gaussian::new(vec![112.0, -3.1], vec![0.02 * 400.0, 0.03 * 0.0625], 2).unwrap();
    let after = net.derivative(&raw, Wrt::input().output(1)).unwrap();
    let (y, x) = (0.01, [20.0, 0.25]);
    for (i, x) in x.iter().enumerate() {
        let unit = y / x;
        assert!((after.mean()[i] / (before.mean()[i] * unit) - 1.0).abs() < 1e-12);
        assert!((after.var()[i] / (before.var()[i] * unit * unit) - 1.0).abs() < 1e-12);
        assert!((after.cov()[i] / (before.cov()[i] * y) - 1.0).abs() < 1e-12);
    }
    let after = net.derivative(&raw, Wrt::from("linear1").output(1)).unwrap();
    let times = |v: &[f64], by: f64| v.iter().map(|v| v * by).collect::<Vec<_>>();
    assert!(worst(after.var(), &times(hidden.var(), y * y), 1e-12) < 1e-10);
    assert!(worst(after.cov(), &times(hidden.cov(), y), 1e-12) < 1e-10);
}
