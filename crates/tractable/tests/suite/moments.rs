//! The functions of `moments` against values computed with 60 digits (`tests/data/moments_reference.py`), in both
//! precisions, and the mixture ReLU against Monte Carlo.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use std::collections::BTreeMap;
use tractable::moments::{
    Moments, Real, identity, leaky_relu, mixture_relu, normal, relu, sigmoid, softplus, tanh,
};

/// Largest relative error allowed, in units of EPSILON: function, output, f32, f64. About twice what is measured.
const TOLERANCES: &[(&str, &[(f64, f64)])] = &[
    ("pdf", &[(0.0, 0.0)]),
    ("cdf", &[(0.0, 0.0)]),
    ("tails", &[(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]),
    ("exp", &[(0.0, 0.0)]),
    ("exp_m1", &[(0.0, 0.0)]),
    ("ln_1p", &[(0.0, 0.0)]),
    ("mixture_relu", &[(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]),
    ("identity", &[(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]),
    ("relu", &[(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]),
    ("leaky_relu", &[(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]),
    ("tanh", &[(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]),
    ("sigmoid", &[(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]),
    ("softplus", &[(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]),
];

fn evaluate<R: Real>(name: &str, x: &[f64]) -> Vec<f64> {
    let arg = |i: usize| R::from_f64(x[i]);
    let three = |m: Moments<R>| vec![m.mean.to_f64(), m.var.to_f64(), m.slope.to_f64()];
    match name {
        "pdf" => vec![normal::pdf(arg(0)).to_f64()],
        "cdf" => vec![normal::cdf(arg(0)).to_f64()],
        "tails" => {
            let t = normal::tails(arg(0));
            assert_eq!(normal::mills(arg(0)), t.mills);
            assert_eq!(normal::tail_first(arg(0)), t.first);
            assert_eq!(normal::tail_second(arg(0)), t.second);
            vec![t.mills.to_f64(), t.first.to_f64(), t.second.to_f64()]
        }
        "exp" => vec![Real::exp(arg(0)).to_f64()],
        "exp_m1" => vec![Real::exp_m1(arg(0)).to_f64()],
        "ln_1p" => vec![Real::ln_1p(arg(0)).to_f64()],
        "mixture_relu" => three(mixture_relu::moments(arg(0), arg(1))),
        "identity" => three(identity::moments(arg(0), arg(1))),
        "relu" => three(relu::moments(arg(0), arg(1))),
        "leaky_relu" => three(leaky_relu::moments(arg(0), arg(1), arg(2))),
        "tanh" => three(tanh::moments(arg(0), arg(1))),
        "sigmoid" => three(sigmoid::moments(arg(0), arg(1))),
        "softplus" => three(softplus::moments(arg(0), arg(1))),
        other => panic!("no such function: {other}"),
    }
}

/// Largest relative error by function and output, in units of EPSILON, with the input where it occurs. An output
/// below the smallest normal number of the type may be anything up to it.
fn worst<R: Real>() -> BTreeMap<(String, usize), (f64, Vec<f64>)> {
    let mut worst = BTreeMap::new();
    for line in include_str!("../data/moments.txt").lines() {
        let numbers = |s: &str| s.split_whitespace().map(|n| n.parse().unwrap()).collect::<Vec<f64>>();
        let (name, rest) = line.split_once(' ').unwrap();
        let (inputs, wanted) = rest.split_once('=').unwrap();
        let (inputs, wanted) = (numbers(inputs), numbers(wanted));
        if inputs.iter().any(|&x| R::from_f64(x).to_f64() != x) {
            continue; // a row for f64 only
        }
        for (i, (got, want)) in evaluate::<R>(name, &inputs).into_iter().zip(wanted).enumerate() {
            let error = if want.abs() < R::MIN_POSITIVE.to_f64() {
                if got.abs() <= R::MIN_POSITIVE.to_f64() { 0.0 } else { f64::INFINITY }
            } else {
                ((got - want) / want).abs() / R::EPSILON.to_f64()
            };
            let entry = worst.entry((name.to_string(), i)).or_insert((0.0, inputs.clone()));
            if !(error <= entry.0) {
                *entry = (error, inputs.clone());
            }
        }
    }
    worst
}

#[test]
fn reference_values() {
    let (single, double) = (worst::<f32>(), worst::<f64>());
    let mut failures = Vec::new();
    for &(name, outputs) in TOLERANCES {
        for (i, &(tol_single, tol_double)) in outputs.iter().enumerate() {
            for (precision, found, tolerance) in [("f32", &single, tol_single), ("f64", &double, tol_double)] {
                let (error, at) = &found[&(name.to_string(), i)];
                println!("{name} {i} {precision}: {error:.2} at {at:?}");
                if !(*error <= tolerance) {
                    failures.push(format!("{name} output {i} {precision}: {error:.2} > {tolerance} at {at:?}"));
                }
            }
        }
    }
    assert_eq!(single.len(), TOLERANCES.iter().map(|t| t.1.len()).sum::<usize>(), "a function was not tested");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
