//! What must hold for every input of the functions of `moments`, whatever the precision: 100,000 inputs of each
//! property in every run. `PROPTEST_CASES=10000000 cargo test --test suite moments_properties` tries more.

use proptest::prelude::*;
use tractable::moments::{
    Moments, Real, identity, leaky_relu, mixture_relu, observe, posterior, product, relu, sigmoid, smooth,
    softplus, tanh,
};

/// Every finite `f32`, denormal numbers included.
fn any_finite() -> impl Strategy<Value = f32> {
    use prop::num::f32::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    NORMAL | SUBNORMAL | ZERO | POSITIVE | NEGATIVE
}

/// A variance between 1e-12 and 1e12, evenly in its logarithm.
fn variance() -> impl Strategy<Value = f64> {
    (-12.0..12.0f64).prop_map(|e| 10f64.powf(e))
}

fn all<R: Real>(mu_z: R, var_z: R) -> [Moments<R>; 7] {
    [
        identity::moments(mu_z, var_z),
        relu::moments(mu_z, var_z),
        mixture_relu::moments(mu_z, var_z),
        leaky_relu::moments(mu_z, var_z, R::from_f64(0.1)),
        tanh::moments(mu_z, var_z),
        sigmoid::moments(mu_z, var_z),
        softplus::moments(mu_z, var_z),
    ]
}

fn sound<R: Real>(mu_z: R, var_z: R) {
    for (i, m) in all(mu_z, var_z).into_iter().enumerate() {
        let what = format!("activation {i} at {mu_z:?}, {var_z:?}: {m:?}");
        assert!(m.mean.is_finite() && m.var.is_finite() && m.slope.is_finite(), "{what}");
        assert!(m.var >= R::ZERO && m.var <= var_z, "{what}");
        assert!(m.slope >= R::ZERO && m.slope <= R::ONE, "{what}");
    }
}

/// Scaling by a power of two scales the result, to the last bit.
fn equivariant<R: Real>(mu_z: f64, var_z: f64, power: i32) {
    let by = 2f64.powi(power);
    let (mu_z, var_z, by) = (R::from_f64(mu_z), R::from_f64(var_z), R::from_f64(by));
    for moments in [relu::moments, mixture_relu::moments] {
        let (a, b) = (moments(mu_z, var_z), moments(mu_z * by, var_z * by * by));
        assert_eq!((a.mean * by, a.slope), (b.mean, b.slope), "{mu_z:?} {var_z:?} {by:?}");
        assert_eq!(a.var * by * by, b.var, "{mu_z:?} {var_z:?} {by:?}");
    }
}

/// `free_step` says whether `capped` intervenes, and where it does not, `capped`, `plain` and `free_step` agree.
fn cap_agrees<R: Real>(mu_w: R, var_w: R, g_mean: R, g_var: R, cap: R) {
    let what = format!("{mu_w:?} {var_w:?} {g_mean:?} {g_var:?} {cap:?}");
    let capped = posterior::capped(mu_w, var_w, g_mean, g_var, cap);
    let plain = posterior::plain(mu_w, var_w, g_mean, g_var);
    let (cap_squared, least_shrink) = posterior::limits(Some(cap));
    let (mean, var, within) = posterior::free_step(mu_w, var_w, g_mean, g_var, cap_squared, least_shrink);
    assert_eq!(within, !capped.capped && !capped.repaired, "{what}: {capped:?}");
    if within {
        assert_eq!(capped, plain, "{what}");
        assert_eq!((plain.mean, plain.var), (mean, var), "{what}");
    }
    let (cap_squared, least_shrink) = posterior::limits(None);
    let (mean, var, free) = posterior::free_step(mu_w, var_w, g_mean, g_var, cap_squared, least_shrink);
    // (Where the square of the step overflows, `free_step` may be cautious.)
    assert!(!free || !plain.repaired, "{what}: {plain:?}");
    if free {
        assert_eq!((plain.mean, plain.var), (mean, var), "{what}");
    }
    for step in [capped, plain] {
        assert!(step.var <= var_w.max(R::MIN_POSITIVE), "{what}: {step:?}");
        assert!(step.var >= R::MIN_POSITIVE || var_w == R::ZERO && step.var == R::ZERO, "{what}: {step:?}");
    }
    if cap > R::ONE && !capped.repaired {
        let floor = var_w / (cap * cap) * (R::ONE - R::EPSILON - R::EPSILON);
        assert!(capped.var >= floor, "{what}: {capped:?}");
    }
    // The step as the sum gives it may itself be rounded: allow for it.
    let limit = var_w.sqrt() / cap * (R::ONE + R::from_f64(4.0) * R::EPSILON);
    let rounding = (mu_w.abs() + limit) * R::EPSILON;
    assert!((capped.mean - mu_w).abs() <= limit + rounding, "{what}: {capped:?}");
}

/// What an observation of an activation says about what is below it.
fn seen_below(m: &Moments<f64>, y: f64, noise_var: f64) -> (f64, f64) {
    let (d_mean, d_var) = observe::innovation(m.mean, m.var, y, noise_var);
    smooth::through_slope(m.slope, d_mean, d_var)
}

/// Cases of each property: those asked for, or 100,000.
fn cases() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig::with_cases(asked.unwrap_or(100_000))
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn finite_in_finite_out(mu_z in any_finite(), var_z in any_finite()) {
        sound(mu_z, var_z.abs());
        sound(f64::from(mu_z), f64::from(var_z.abs()));
        sound(mu_z, 0.0);
    }

    #[test]
    fn ordinary_inputs_are_sound(alpha in -40.0..40.0f64, var_z in variance()) {
        let mu_z = alpha * var_z.sqrt();
        sound(mu_z, var_z);
        sound(mu_z as f32, var_z as f32);
    }

    #[test]
    fn relus_scale(alpha in -6.0..6.0f64, var_z in 0.1..10.0f64, power in -16..16i32) {
        equivariant::<f32>(alpha * var_z.sqrt(), var_z, power);
        equivariant::<f64>(alpha * var_z.sqrt(), var_z, 8 * power);
    }

    #[test]
    fn mixture_relu_reflects(alpha in 0.0..10.0f64, var_z in variance()) {
        // max(0, z) - max(0, -z) = z.
        let mu_z = alpha * var_z.sqrt();
        let (above, below) = (mixture_relu::moments(mu_z, var_z), mixture_relu::moments(-mu_z, var_z));
        let tolerance = 8.0 * f64::EPSILON;
        prop_assert!((above.mean - below.mean - mu_z).abs() <= tolerance * above.mean);
        prop_assert!((above.slope + below.slope - 1.0).abs() <= tolerance);
        prop_assert!((above.var - below.var - var_z * (1.0 - 2.0 * below.slope)).abs() <= tolerance * var_z);
    }

    #[test]
    fn tanh_is_odd_and_the_sigmoid_turns_about_a_half(mu_z in -20.0..20.0f64, var_z in variance()) {
        let (above, below) = (tanh::moments(mu_z, var_z), tanh::moments(-mu_z, var_z));
        prop_assert_eq!((above.mean, above.var, above.slope), (-below.mean, below.var, below.slope));
        let (above, below) = (sigmoid::moments(mu_z, var_z), sigmoid::moments(-mu_z, var_z));
        prop_assert!((above.mean + below.mean - 1.0).abs() <= 4.0 * f64::EPSILON);
        prop_assert!((above.slope - below.slope).abs() <= 16.0 * f64::EPSILON * above.slope);
        prop_assert!((above.var - below.var).abs() <= 32.0 * f64::EPSILON * above.var);
        // ln(1 + e^z) - ln(1 + e^-z) = z.
        let (above, below) = (softplus::moments(mu_z, var_z), softplus::moments(-mu_z, var_z));
        prop_assert!((above.mean - below.mean - mu_z).abs() <= 8.0 * f64::EPSILON * above.mean.max(below.mean));
        prop_assert!((above.slope + below.slope - 1.0).abs() <= 8.0 * f64::EPSILON);
    }

    #[test]
    fn the_slope_is_the_derivative(alpha in -4.0..4.0f64, var_z in variance()) {
        // Of the mixture ReLU in units of its standard deviation; of the others at the mean, where they are linearised.
        let (s, h) = (var_z.sqrt(), 1e-5);
        let m = mixture_relu::moments(alpha * s, var_z);
        let rise = mixture_relu::moments((alpha + h) * s, var_z).mean - mixture_relu::moments((alpha - h) * s, var_z).mean;
        prop_assert!((rise / (2.0 * h * s) - m.slope).abs() <= 1e-8, "{} {}", rise / (2.0 * h * s), m.slope);
        for moments in [tanh::moments::<f64>, sigmoid::moments, softplus::moments] {
            let rise = moments(alpha + h, var_z).mean - moments(alpha - h, var_z).mean;
            let slope = moments(alpha, var_z).slope;
            prop_assert!((rise / (2.0 * h) - slope).abs() <= 1e-8, "{} {slope}", rise / (2.0 * h));
        }
    }

    #[test]
    fn more_doubt_never_takes_mean_from_a_convex_function(alpha in -8.0..8.0f64, var_z in variance(), more in 1.001..4.0f64) {
        // d mean / d var = E[f''] / 2, which is positive for max(0, z).
        let mu_z = alpha * var_z.sqrt();
        let (less, more) = (mixture_relu::moments(mu_z, var_z), mixture_relu::moments(mu_z, more * var_z));
        prop_assert!(more.mean >= less.mean * (1.0 - 4.0 * f64::EPSILON));
    }

    #[test]
    fn mixture_relu_is_monotone(alpha in -36.0..36.0f64, var_z in variance()) {
        let s = var_z.sqrt();
        let a = mixture_relu::moments(alpha * s, var_z);
        let further = mixture_relu::moments((alpha + 1e-6) * s, var_z);
        let wider = mixture_relu::moments(alpha * s, var_z * 1.0001);
        prop_assert!(further.mean > a.mean && further.slope >= a.slope);
        prop_assert!(wider.mean >= a.mean && wider.var > a.var);
        prop_assert!(a.mean >= f64::max(0.0, alpha * s));
        let single = mixture_relu::moments((alpha * s) as f32, var_z as f32);
        prop_assert!(single.mean >= f32::max(0.0, (alpha * s) as f32));
    }

    #[test]
    fn products_have_their_exact_moments(mu_w in -3.0..3.0f64, var_w in 0.0..2.0f64, mu_a in -3.0..3.0f64, var_a in 0.0..2.0f64) {
        // Two-point variables with these moments: all four products, averaged.
        let (dw, da) = (var_w.sqrt(), var_a.sqrt());
        let products = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)]
            .map(|(i, j)| (mu_w + i * dw) * (mu_a + j * da));
        let mean = products.iter().sum::<f64>() / 4.0;
        let var = products.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / 4.0;
        prop_assert!((product::term_mean(mu_w, mu_a) - mean).abs() < 1e-13);
        let second_a = product::second_moment(mu_a, var_a);
        prop_assert!((product::term_var(mu_w, var_w, var_a, second_a) - var).abs() < 1e-12);
    }

    #[test]
    fn observing_shrinks(mu_z in -3.0..3.0f64, var_z in variance(), y in -3.0..3.0f64, noise in variance()) {
        for m in all(mu_z, var_z) {
            let (d_mean, d_var) = seen_below(&m, y, noise);
            let (mean, var) = smooth::posterior(mu_z, var_z, d_mean, d_var);
            prop_assert!(var >= 0.0 && var <= var_z);
            prop_assert!((mean - mu_z) * (y - m.mean) >= 0.0);
            // Seeing what was expected, or seeing it through infinite noise, moves nothing.
            let (d_mean, _) = seen_below(&m, m.mean, noise);
            prop_assert_eq!(smooth::posterior(mu_z, var_z, d_mean, d_var).0, mu_z);
            let (d_mean, d_var) = seen_below(&m, y, 1e300);
            prop_assert_eq!(smooth::posterior(mu_z, var_z, d_mean, d_var), (mu_z, var_z));
        }
    }

    #[test]
    fn observing_without_noise_is_believed(mu_z in -3.0..3.0f64, var_z in 0.01..10.0f64, y in -3.0..3.0f64) {
        let m = identity::moments(mu_z, var_z);
        let (d_mean, d_var) = seen_below(&m, y, 0.0);
        let (mean, var) = smooth::posterior(mu_z, var_z, d_mean, d_var);
        prop_assert!((mean - y).abs() < 1e-14 && var < 1e-14 * var_z);
    }

    #[test]
    fn a_slope_is_a_change_of_variable(slope in -2.0..2.0f64, d_mean in -5.0..5.0f64, d_var in -5.0..0.0f64) {
        let (m, v) = smooth::through_slope(slope, d_mean, d_var);
        prop_assert_eq!(m, slope * d_mean);
        prop_assert!(v <= 0.0 && (v - slope * slope * d_var).abs() <= 1e-15 * v.abs());
    }

    #[test]
    fn caps_agree(mu_w in -3.0..3.0f64, var_w in variance(), step in -3.0..3.0f64, lost in 0.0..2.0f64, cap in prop::sample::select(vec![0.1, 1.0, 2.0, 3.0])) {
        let (g_mean, g_var) = (step / var_w.sqrt(), -lost / var_w);
        cap_agrees(mu_w, var_w, g_mean, g_var, cap);
        cap_agrees(mu_w as f32, var_w as f32, g_mean as f32, g_var as f32, cap as f32);
        // On the limits themselves, and a rounding error to either side of them.
        for nudge in [1.0 - 1e-7, 1.0 - 1e-16, 1.0, 1.0 + 3e-16, 1.0 + 1e-7] {
            let (g_mean, g_var) = (nudge / (cap * var_w.sqrt()), -nudge * (1.0 - 1.0 / (cap * cap)).max(0.0) / var_w);
            cap_agrees(mu_w, var_w, g_mean, g_var, cap);
            cap_agrees(mu_w as f32, var_w as f32, g_mean as f32, g_var as f32, cap as f32);
        }
    }

    #[test]
    fn caps_agree_everywhere(mu_w in -3.0..3.0f32, var_w in any_finite(), g_mean in any_finite(), g_var in any_finite(), cap in prop::sample::select(vec![0.1f32, 2.0, 3.0])) {
        cap_agrees(mu_w, var_w.abs(), g_mean, -g_var.abs(), cap);
        cap_agrees(mu_w, 0.0, g_mean, -g_var.abs(), cap);
    }
}

#[test]
fn a_batch_that_overshoots_is_repaired_and_counted() {
    let step = posterior::plain(1.0f32, 0.5, 2.0, -2.0); // 1 + 0.5 * -2 = 0
    assert_eq!((step.mean, step.var, step.capped, step.repaired), (2.0, 0.5 / 1024.0, false, true));
    let step = posterior::capped(1.0f32, 0.5, 2.0, -2.0, 0.1);
    assert_eq!((step.mean, step.var, step.capped, step.repaired), (2.0, 0.5 / 1024.0, false, true));
    let step = posterior::capped(1.0f32, 0.25, -100.0, -100.0, 2.0);
    assert_eq!((step.mean, step.var, step.capped, step.repaired), (0.75, 0.0625, true, false));
    let step = posterior::plain(1.0f32, 0.0, 2.0, -2.0);
    assert_eq!((step.mean, step.var, step.capped, step.repaired), (1.0, 0.0, false, false));
    let step = posterior::plain(1.0f32, f32::MIN_POSITIVE, 0.0, -0.5 / f32::MIN_POSITIVE);
    assert_eq!((step.var, step.repaired), (f32::MIN_POSITIVE, true));
    let step = posterior::plain(1.0f32, 0.5, 0.0, f32::NAN);
    assert_eq!((step.var, step.repaired), (0.5 / 1024.0, true));
    for g_mean in [f32::NAN, f32::INFINITY] {
        let step = posterior::plain(1.0f32, 0.5, g_mean, -0.1);
        assert_eq!((step.mean, step.repaired), (1.0, true));
    }
    let step = posterior::capped(1.0f32, 0.5, f32::NAN, -0.1, 2.0);
    assert_eq!((step.mean, step.repaired), (1.0, true));
}
