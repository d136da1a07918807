//! Conditions on a derivative that is zero: each step is the formula's, and steps lead to maxima and minima.

use super::{dense, with_var};
use crate::cases::{Draw, bytes};
use tractable::data::{Dataset, Scaler};
use tractable::moments::derivative::{shrunk, stationary};
use tractable::{
    Activation, Device, Fit, Gaussian, Matrix, Network, Wanted,
    condition::{Extremum, Gate, Wrt},
};

const ALL: [(f64, fn() -> Extremum<'static>); 3] =
    [(0.0, Wanted::stationary), (1.0, Wanted::maximum), (-1.0, Wanted::minimum)];

fn net() -> Network {
    with_var(dense(&[3, 7, 5, 2], &[Activation::Tanh, Activation::Sigmoid]).seed(20), 0.01)
}

/// What T33 makes of a prior, given the derivative by it.
fn step(prior: &Gaussian, d: &tractable::condition::Derivative, noise: f64, towards: f64) -> Gaussian {
    let one = |i: usize| stationary(d.mean()[i], d.var()[i] + noise, d.cov()[i], towards);
    let n = prior.mean().len();
    let mean = (0..n).map(|i| prior.mean()[i] + one(i).0).collect();
    let var = (0..n).map(|i| shrunk(prior.var()[i], one(i).1)).collect();
    Gaussian::new(mean, var, prior.width()).unwrap()
}

#[test]
fn every_round_is_the_posterior() {
    let net = net();
    let before = bytes(&net);
    for (towards, wanted) in ALL {
        for (gate, noise) in [(Gate::Both, 0.0), (Gate::Input, 0.0), (Gate::Both, 0.3)] {
            let mut x = Draw::new(21).gaussian(4, 3);
            let first = x.clone();
            for rounds in 1..=3 {
                let d = net.derivative(&x, Wrt::input().output(1).gate(gate)).unwrap();
                x = step(&x, &d, noise, towards);
                let all = wanted().output(1).gate(gate).noise_var(noise).rounds(rounds);
                assert_eq!(net.search(&first, all).unwrap(), x, "{towards}, {gate:?}, {rounds} rounds");
            }
        }
    }
    assert_eq!(bytes(&net), before);
}

#[test]
fn of_a_hidden_layer() {
    let net = net();
    let x = Draw::new(22).gaussian(3, 3);
    let y = Matrix::new(vec![0.0; 6], 2).unwrap();
    for layer in ["linear1", "tanh1", "linear2"] {
        // An observation that says nothing leaves the prior.
        let prior = net.search(&x, Wanted::from(&y).layer(layer).noise_var(1e300)).unwrap();
        let d = net.derivative(&x, Wrt::from(layer).output(0)).unwrap();
        for (towards, wanted) in ALL {
            let after = net.search(&x, wanted().output(0).layer(layer)).unwrap();
            assert_eq!(after, step(&prior, &d, 0.0, towards), "{layer}, {towards}");
            assert_ne!(after.mean(), prior.mean());
        }
    }
}

#[test]
fn noise_dampens() {
    let net = net();
    let x = Draw::new(23).gaussian(2, 3);
    let moved = |noise: f64| {
        let after = net.search(&x, Wanted::stationary().output(0).noise_var(noise)).unwrap();
        let far = |i: usize| (after.mean()[i] - x.mean()[i]).abs();
        ((0..6).map(far).collect::<Vec<_>>(), after.var().to_vec())
    };
    let mut last = moved(0.0);
    for noise in [0.01, 0.1, 1.0, 10.0] {
        let next = moved(noise);
        assert!(next.0.iter().zip(&last.0).all(|(a, b)| a < b), "{noise}");
        assert!(next.1.iter().zip(&last.1).all(|(a, b)| a >= b), "{noise}");
        last = next;
    }
}

#[test]
fn in_the_units_of_the_user() {
    let mut net = net();
    let own = Gaussian::new(vec![0.6, -0.4, 0.1], vec![0.02, 0.03, 0.04], 3).unwrap();
    let (mean, std) = ([100.0, -3.0, 0.0], [20.0, 0.25, 1.0]);
    let wanted = |noise| Wanted::maximum().output(1).noise_var(noise).rounds(3);
    let before = net.search(&own, wanted(0.0)).unwrap();
    let output = Scaler::new(vec![7.0, -1.0], vec![5.0, 0.01]).unwrap();
    net.set_scalers(Some(Scaler::new(mean.to_vec(), std.to_vec()).unwrap()), Some(output)).unwrap();
    let raw: Vec<f64> = (0..3).map(|i| mean[i] + std[i] * own.mean()[i]).collect();
    let var = (0..3).map(|i| std[i] * std[i] * own.var()[i]).collect();
    let raw = Gaussian::new(raw, var, 3).unwrap();
    let after = net.search(&raw, wanted(0.0)).unwrap();
    for i in 0..3 {
        assert!(((after.mean()[i] - mean[i]) / std[i] - before.mean()[i]).abs() < 1e-11);
        assert!((after.var()[i] / (std[i] * std[i]) / before.var()[i] - 1.0).abs() < 1e-10);
    }
    // And the noise is one of the derivative as the user sees it.
    let d = net.derivative(&raw, Wrt::input().output(1)).unwrap();
    let noise = d.var()[1];
    let once = Wanted::stationary().output(1);
    let (free, damped) = (net.search(&raw, once).unwrap(), net.search(&raw, once.noise_var(noise)).unwrap());
    let ratio = (damped.mean()[1] - raw.mean()[1]) / (free.mean()[1] - raw.mean()[1]);
    assert!((ratio - 0.5).abs() < 1e-9, "{ratio}");
}

/// A trained network of `x^3 - 3 x`: the maximum is at -1, the minimum at 1.
#[test]
fn leads_to_the_optimum() {
    let x: Vec<f64> = (0..100).map(|i| f64::from(i) / 25.0 - 2.0).collect();
    let y = x.iter().map(|x| x.powi(3) - 3.0 * x).collect();
    let data = Dataset::new(Matrix::column(x).unwrap(), Matrix::column(y).unwrap()).unwrap();
    for device in [Device::reference(), Device::cpu(1)] {
        let mut net = dense(&[1, 32, 32, 1], &[Activation::Tanh, Activation::Relu])
            .seed(3)
            .device(&device)
            .build()
            .unwrap();
        net.fit(&data, &Fit::new().epochs(50).batch(1).noise_std(0.1)).unwrap();
        for (start, wanted, expected) in [
            (-0.6, Wanted::maximum(), -1.0),
            (-1.4, Wanted::maximum(), -1.0),
            (0.6, Wanted::minimum(), 1.0),
            (1.4, Wanted::minimum(), 1.0),
        ] {
            let mut x = Gaussian::new(vec![start], vec![1e-4], 1).unwrap();
            let mut y = net.predict(&x).unwrap().mean()[0];
            let first = y;
            for _ in 0..300 {
                // The same uncertainty at every step, or it would stop where it is sure enough.
                let after = net.search(&x, wanted).unwrap();
                x = Gaussian::new(after.mean().to_vec(), vec![1e-4], 1).unwrap();
                y = net.predict(&x).unwrap().mean()[0];
            }
            let at = x.mean()[0];
            assert!((at - expected).abs() < 0.15, "from {start} to {at}");
            assert!((y - first) * expected < 0.0, "{first} to {y}");
        }
    }
}
