//! Mixture ReLU: the exact mean, variance and slope of `max(0, Z)` for a normal `Z`.
//!
//! The linearised [`super::relu`] misstates the variance by 5 to 80 %; these formulae are exact for one unit.

use super::derivative::Curve;
use super::{Moments, Real, normal};

/// Moments of `max(0, Z)`, `Z ~ N(mu_z, var_z)`, with relative accuracy in all three however negative
/// `mu_z/sqrt(var_z)` is (until the cut described in [`normal`], below which they are exactly 0).
///
/// With `s = sqrt(var_z)`, `t = |mu_z|/s`, `phi`, `R`, `G1` and `G2` as in [`normal`]:
///
/// ```text
/// T10  mu_z <= 0:  mean  = s phi(t) G1(t)
///                  var   = var_z phi(t) (G2(t) - phi(t) G1(t)^2)
///                  slope = Phi(-t) = phi(t) R(t)
/// T11  mu_z > 0, from max(0, z) = z + max(0, -z), with mean- and var- the above:
///                  mean  = mu_z + mean-
///                  var   = var_z (1 - 2 Phi(-t)) + var-
///                  slope = 1 - Phi(-t)
/// ```
///
/// `var_z = 0` gives `max(0, mu_z)`, variance 0 and slope 1 or 0. Scaling `mu_z` by `2^k` and `var_z` by `4^k`
/// scales the result exactly, short of over- and underflow.
///
/// ```
/// use tractable::moments::mixture_relu::moments;
/// let a = moments(0.0f64, 1.0);
/// assert!((a.mean - 0.3989422804014327).abs() < 1e-15); // 1/sqrt(2 pi)
/// assert!((a.var - 0.34084505690810466).abs() < 1e-15); // 1/2 - 1/(2 pi)
/// assert!((a.slope - 0.5).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn moments<R: Real>(mu_z: R, var_z: R) -> Moments<R> {
    let far = R::from_f64(normal::FAR);
    let s = var_z.sqrt();
    let inverse = R::ONE / s;
    let m = mu_z.abs();
    let ratio = m * inverse;
    // `var_z = 0` and an overflowing ratio are infinitely far out.
    let t = R::select(s > R::ZERO, ratio.min(far), far);

    // t = m/s was rounded three times. The residuals var_z - s^2 and m - t s, exact by splitting, tell by how much:
    // m/sqrt(var_z) = t + dt. Beyond the cut dt is meaningless, and unused.
    let (s_high, t_high) = (s.high_half(), t.high_half());
    let (s_low, t_low) = (s - s_high, t - t_high);
    let s_rest = (var_z - s_high * s_high) - s_low * (s + s_high);
    // Near the denormal numbers s^2 loses its digits and with it the residual its meaning.
    let s_rest = R::select(var_z < R::MIN_POSITIVE / R::EPSILON, R::ZERO, s_rest);
    let t_rest = ((m - t_high * s_high) - t_high * s_low) - t_low * s;
    let dt = (t_rest - R::HALF * t * (s_rest * inverse)) * inverse;

    let density = normal::bell(t, dt) * R::from_f64(normal::FRAC_1_SQRT_2PI);
    let tails = normal::tails(t);
    let tail = density * tails.mills;
    let above = density * tails.first;
    let mean = s * above; // T10
    // var/var_z, T10; `above * above` would be denormal from t = 8 on.
    let spread = density * (tails.second - above * tails.first);

    let positive = mu_z > R::ZERO;
    Moments {
        mean: R::select(positive, mu_z + mean, mean), // T11
        var: var_z * R::select(positive, (R::ONE - (tail + tail)) + spread, spread),
        slope: R::select(positive, R::ONE - tail, tail),
    }
}

/// T32. Moments of the slope, 1 where `Z > 0` and 0 elsewhere, which are exact: with the probability `P = slope` of
/// `Z > 0`, `mean = P`, `var = P (1 - P)` and `bend` is the density of `Z` at 0. `twist` is left out.
///
/// ```
/// use tractable::moments::mixture_relu::{curve, moments};
/// let c = curve(0.0, 1.0, moments(0.0, 1.0));
/// assert!((c.var - 0.25_f64).abs() < 1e-15);
/// assert!((c.bend - 0.3989422804014327_f64).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn curve<R: Real>(mu_z: R, var_z: R, a: Moments<R>) -> Curve<R> {
    // T32
    let s = var_z.sqrt();
    let inverse = R::select(s > R::ZERO, R::ONE / s, R::ZERO);
    let far = R::from_f64(normal::FAR);
    let bend = inverse * normal::pdf((mu_z * inverse).abs().min(far));
    Curve { mean: a.slope, var: a.slope * (R::ONE - a.slope), bend, twist: R::ZERO }
}
