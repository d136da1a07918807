//! The moments of a slope: sound everywhere, and the derivatives they claim to be.

use super::ALL;
use proptest::prelude::*;
use tractable::Activation;
use tractable::moments::Real;
use tractable::moments::derivative::{Curve, Unit, UnitDerivative, shrunk, stationary};

fn curve<R: Real>(f: Activation, mu_z: R, var_z: R) -> Curve<R> {
    f.curve(mu_z, var_z, f.moments(mu_z, var_z))
}

fn sound<R: Real>(mu_z: R, var_z: R) {
    for f in ALL {
        let c = curve(f, mu_z, var_z);
        let what = format!("{f:?} at {mu_z:?}, {var_z:?}: {c:?}");
        assert!([c.mean, c.var, c.bend, c.twist].iter().all(|v| v.is_finite()), "{what}");
        assert!(c.var >= R::ZERO && c.mean <= R::ONE, "{what}");
        if !f.is_curved() {
            assert!([c.var, c.bend, c.twist] == [R::ZERO; 3], "{what}");
        }
    }
}

proptest! {
    /// As large as a variance can be: its square must be a number.
    #[test]
    fn finite_in_finite_out(mu_z in -1e30..1e30f32, exponent in -44.0..18.0f64, sign in any::<bool>()) {
        let var_z = 10f64.powf(exponent);
        let near = if sign { var_z.sqrt() } else { -var_z.sqrt() };
        for mu_z in [f64::from(mu_z), near, 0.0] {
            sound(mu_z, var_z);
            sound(mu_z as f32, var_z as f32);
            sound(mu_z, 0.0);
            sound(mu_z as f32, 0.0);
        }
    }

    #[test]
    fn the_bend_is_the_derivative_of_the_slope(mu_z in -6.0..6.0f64) {
        let h = 1e-4;
        for f in [Activation::Tanh, Activation::Sigmoid, Activation::Softplus] {
            let slope = |by: f64| curve(f, mu_z + by, 1e-300).mean;
            let first = (8.0 * (slope(h) - slope(-h)) - (slope(2.0 * h) - slope(-2.0 * h))) / (12.0 * h);
            let c = curve(f, mu_z, 1e-300);
            prop_assert!((c.bend - first).abs() < 1e-11, "{f:?} at {mu_z}: {} and {first}", c.bend);
            prop_assert!((c.mean - f.moments(mu_z, 1e-300).slope).abs() < 1e-15, "{f:?} at {mu_z}: {}", c.mean);
            // And to first order the variance follows from it.
            let var = curve(f, mu_z, 1e-9).var;
            prop_assert!((var - c.bend * c.bend * 1e-9).abs() <= 3e-18, "{f:?} at {mu_z}");
        }
    }

    #[test]
    fn single_precision_agrees(mu_z in -8.0..8.0f32, var_z in 1e-6..4.0f32) {
        for f in ALL {
            let (a, b) = (curve(f, mu_z, var_z), curve(f, f64::from(mu_z), f64::from(var_z)));
            let pairs = [(a.mean, b.mean), (a.var, b.var), (a.bend, b.bend), (a.twist, b.twist)];
            for (part, (a, b)) in pairs.into_iter().enumerate() {
                // Relative to what the parts can be: a mixture ReLU's density is as large as 0.4/s.
                let scale = if f == Activation::MixtureRelu && part == 2 { 0.4 / f64::from(var_z).sqrt() } else { 1.0 };
                let size = scale.max(f64::from(var_z).powi(2));
                prop_assert!((f64::from(a) - b).abs() <= 16.0 * f64::from(f32::EPSILON) * size, "{f:?}, part {part}: {a} and {b} at {mu_z}, {var_z}");
            }
        }
    }

    /// By quadrature of the density over `z > 0`.
    #[test]
    fn the_curve_of_mixture_relu_is_exact(alpha in -5.0..5.0f64, s in 0.1..3.0f64) {
        let (mu, n) = (alpha * s, 2000);
        let density = |z: f64| (-0.5 * ((z - mu) / s).powi(2)).exp() / (s * (2.0 * std::f64::consts::PI).sqrt());
        // From z = 0 to ten standard deviations above the mean, by Simpson's rule.
        let top = (mu + 10.0 * s).max(10.0 * s);
        let h = top / f64::from(n);
        let weight = |i: i32| if i == 0 || i == n { 1.0 } else if i % 2 == 1 { 4.0 } else { 2.0 };
        let over = |g: &dyn Fn(f64) -> f64| -> f64 {
            (0..=n).map(|i| weight(i) * g(h * f64::from(i)) * density(h * f64::from(i))).sum::<f64>() * h / 3.0
        };
        let (p, cov) = (over(&|_| 1.0), over(&|z| z - mu));
        let c = curve(Activation::MixtureRelu, mu, s * s);
        prop_assert!((c.mean - p).abs() < 1e-8 && (c.var - p * (1.0 - p)).abs() < 1e-8, "{c:?}, {p}");
        prop_assert!((c.bend * s * s - cov).abs() < 1e-8 * s, "{c:?}, {cov}");
    }

    /// A quadratic of a Gaussian has its exact moments, by three-point Gauss-Hermite quadrature (exact to degree 5).
    #[test]
    fn a_quadratic_slope_has_its_exact_moments(c0 in -1.0..1.0f64, c1 in -1.0..1.0f64, c2 in -1.0..1.0f64, mean in -1.0..1.0f64, slope in -1.0..1.0f64, var_z in 0.0..1.0f64) {
        let value = |u: f64| c0 + c1 * u + c2 * u * u;
        let std = slope * var_z.sqrt();
        let points = [(-1.0, 1.0 / 6.0), (0.0, 2.0 / 3.0), (1.0, 1.0 / 6.0)].map(|(x, p)| (mean + x * 3f64.sqrt() * std, p));
        let expect = |g: &dyn Fn(f64) -> f64| points.iter().map(|&(u, p)| p * g(u)).sum::<f64>();
        let c = Curve::square(value(mean), c1, c2, mean, slope, var_z);
        let exact = expect(&value);
        prop_assert!((c.mean - exact).abs() < 1e-14);
        prop_assert!((c.var - expect(&|u| (value(u) - exact).powi(2))).abs() < 1e-13);
        // cov(phi', Z) = bend var_z, and Z = (U - mean)/slope.
        prop_assert!((c.bend * var_z * slope - expect(&|u| (value(u) - exact) * (u - mean))).abs() < 1e-13);
    }

    /// T30: the derivative of the output by its own pre-activation is its slope.
    #[test]
    fn the_output_starts_with_its_slope(mu_z in -3.0..3.0f64, var_z in 0.0..1.0f64) {
        for f in ALL {
            let unit = Unit::new(f, mu_z, var_z, f.moments(mu_z, var_z));
            let (node, other) = (UnitDerivative::output(&unit, 1.0), UnitDerivative::output(&unit, 0.0));
            prop_assert_eq!((node.mean, node.var, node.cov), (unit.curve.mean, unit.curve.var, unit.curve.bend * var_z));
            prop_assert_eq!((node.rest, node.mean_mean, node.mean_rest, node.rest_rest), (1.0, node.mean * node.mean, node.mean, 1.0));
            prop_assert!([other.mean, other.var, other.cov, other.rest, other.mean_mean, other.mean_rest, other.rest_rest] == [0.0; 7]);
        }
    }

    /// T33 is the posterior of a Gaussian, and the direction changes the sign only.
    #[test]
    fn a_derivative_of_zero_conditions(mean in -3.0..3.0f64, var in 1e-3..3.0f64, correlation in -1.0..1.0f64, var_x in 1e-3..3.0f64) {
        let cov = correlation * (var * var_x).sqrt();
        let (d_mean, d_var) = stationary(mean, var, cov, 0.0);
        prop_assert!((d_mean - -cov / var * mean).abs() < 1e-14);
        prop_assert!((d_var - -cov * cov / var).abs() < 1e-14);
        // Exact as long as covariance and variances belong together.
        prop_assert!((var_x + d_var - var_x * (1.0 - correlation * correlation)).abs() < 1e-13);
        let (up, down) = (stationary(mean, var, cov, 1.0), stationary(mean, var, cov, -1.0));
        prop_assert_eq!(up.0.abs(), d_mean.abs());
        prop_assert_eq!((-up.0, up.1, d_var), (down.0, down.1, up.1));
        prop_assert!(up.0 * mean >= 0.0);
        let after = shrunk(var_x, d_var);
        prop_assert!(after <= var_x && after >= var_x / 1024.0);
    }
}
