//! The edges of branches, worked out by hand: where a comparison turns, on it and beside it.

use tractable::Activation;
use tractable::moments::derivative::{repaired, stationary};
use tractable::moments::observe::innovation;
use tractable::moments::posterior::{cap_for_batch, capped, free_step, limits, plain};
use tractable::moments::{Real, mixture_relu};

#[test]
fn an_innovation_of_nothing_uncertain_is_nothing() {
    assert_eq!(innovation(1.0f32, 0.5, 3.0, 1.5), (1.0, -0.5));
    assert_eq!(innovation(1.0f32, 0.0, 3.0, 0.0), (0.0, 0.0));
    // The smallest sum whose inverse is a number, and one below it.
    let least = f32::MIN_POSITIVE;
    assert_eq!(innovation(0.0, least, 1.0, 0.0), (1.0 / least, -1.0 / least));
    assert_eq!(innovation(0.0, least / 2.0, 1.0, 0.0), (0.0, 0.0));
}

#[test]
fn a_derivative_that_is_known_moves_nothing() {
    assert_eq!(stationary(2.0, 0.0, 0.0, 0.0), (0.0, 0.0));
    assert_eq!(stationary(2.0, 4.0, 1.0, 0.5), (0.25, -0.25));
    assert_eq!((repaired(-0.5), repaired(0.5)), (0.0, 0.5));
}

#[test]
fn caps_of_batches_and_their_limits() {
    assert_eq!([0, 1, 2, 255, 256, 100_000].map(cap_for_batch), [0.1, 0.1, 2.0, 2.0, 3.0, 3.0]);
    assert_eq!(limits(Some(3.0)), (9.0, 1.0 / 9.0));
    assert_eq!(limits(Some(0.5)), (0.25, f64::MIN_POSITIVE));
    assert_eq!(limits(Some(1.0)), (1.0, f64::MIN_POSITIVE));
    assert_eq!(limits::<f32>(None), (0.0, f32::MIN_POSITIVE));
}

#[test]
fn what_is_mended_twice_is_mended() {
    // The variance falls below zero and the mean is no number, at once.
    assert!(plain(f32::MAX, 1.0, f32::MAX, -2.0).repaired);
    assert!(capped(0.0f32, 1.0, f32::NAN, -2.0, 0.1).repaired);
    // Each alone, and neither.
    assert!(plain(f32::MAX, 1.0, f32::MAX, 0.0).repaired);
    assert!(plain(0.0f32, 1.0, 0.0, -2.0).repaired);
    assert!(!plain(0.0f32, 1.0, 0.5, -0.5).repaired);
}

#[test]
fn a_step_on_the_limit_is_free() {
    let (cap_squared, least_shrink) = limits(Some(2.0f32));
    let free = |g_mean, g_var| free_step(0.0f32, 1.0, g_mean, g_var, cap_squared, least_shrink).2;
    assert!(free(0.5, -0.75) && free(-0.5, -0.75));
    assert!(!free(0.5 + f32::EPSILON, 0.0) && !free(0.0, -0.75 - f32::EPSILON));
    let step = capped(0.0f32, 1.0, 0.5, -0.75, 2.0);
    assert_eq!((step.mean, step.var, step.capped, step.repaired), (0.5, 0.25, false, false));
}

#[test]
fn the_exponential_ends_where_numbers_do() {
    let exp = |x: f32| Real::exp(x);
    assert!(exp(-86.9) > 0.0 && exp(88.722_83).is_finite());
    assert_eq!([exp(-86.91), exp(-100.0), exp(f32::NEG_INFINITY)], [0.0; 3]);
    assert_eq!([exp(88.723), exp(100.0), exp(f32::INFINITY)], [f32::INFINITY; 3]);
    assert!(f32::exp_cut(f32::EXP_CUT, 0.0) > 0.0 && f64::exp_cut(f64::EXP_CUT, 0.0) > 0.0);
    assert_eq!((f32::exp_cut(60.01, 0.0), f64::exp_cut(700.1, 0.0)), (0.0, 0.0));
}

#[test]
fn numbers_are_compared_as_they_should() {
    for x in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        assert!(!Real::is_finite(x) && !Real::is_finite(f64::from(x)));
    }
    assert!(Real::is_finite(f32::MAX) && Real::is_finite(f64::MAX));
    // Of equal numbers the first one.
    assert!(Real::max(0.0f32, -0.0).is_sign_positive() && Real::max(-0.0f32, 0.0).is_sign_negative());
    assert!(Real::min(0.0f64, -0.0).is_sign_positive() && Real::min(-0.0f64, 0.0).is_sign_negative());
}

/// Among the denormal numbers the correction for the rounding of a square root would be wrong by a thousandth.
#[test]
fn denormal_variances_are_no_worse() {
    for bits in (1..1 << 23).step_by(997) {
        let var_z = f32::from_bits(bits);
        for t in [-5.3, -1.1, 0.7, 2.9] {
            let mu_z = t * var_z.sqrt();
            let got = mixture_relu::moments(mu_z, var_z);
            let want = mixture_relu::moments(f64::from(mu_z), f64::from(var_z));
            let off = (f64::from(got.slope) / want.slope - 1.0).abs();
            assert!(off < 5e-6, "{t}, {var_z:e}: {got:?}, {want:?}");
        }
    }
}

#[test]
fn activations_have_their_names() {
    let all = [
        ("identity", Activation::Identity, false),
        ("relu", Activation::Relu, false),
        ("leaky_relu", Activation::LeakyRelu { slope: 0.1 }, false),
        ("tanh", Activation::Tanh, true),
        ("sigmoid", Activation::Sigmoid, true),
        ("softplus", Activation::Softplus, true),
        ("mixture_relu", Activation::MixtureRelu, true),
    ];
    for (name, activation, curved) in all {
        assert_eq!((activation.name(), activation.is_curved()), (name, curved));
        assert_eq!(name.parse::<Activation>().unwrap(), activation);
    }
    for name in ["", "relus", "Relu", "none"] {
        assert!(name.parse::<Activation>().is_err(), "{name}");
    }
}
