//! Softplus, linearised at the mean: `ln(1 + exp(z))`.

use super::derivative::Curve;
use super::{Moments, Real, linearised};

/// T13. `mean = ln(1 + exp(mu_z)) = max(0, mu_z) + ln(1 + exp(-|mu_z|))`, `slope = 1/(1 + exp(-mu_z))`,
/// `var = slope^2 var_z`.
///
/// ```
/// use tractable::moments::softplus::moments;
/// let a = moments(0.0f64, 1.0);
/// assert!((a.mean - std::f64::consts::LN_2).abs() < 1e-15);
/// assert_eq!((a.var, a.slope), (0.25, 0.5));
/// ```
#[inline(always)]
pub fn moments<R: Real>(mu_z: R, var_z: R) -> Moments<R> {
    let e = (-mu_z.abs()).exp();
    let upper = R::ONE / (R::ONE + e);
    let slope = R::select(mu_z < R::ZERO, e * upper, upper);
    linearised(mu_z.max(R::ZERO) + e.ln_1p(), slope, var_z) // T13
}

/// T29 for softplus: `phi' = U`, `U = sigmoid Z` linearised, whose mean is the slope of `a`, its [`moments`].
///
/// ```
/// use tractable::moments::softplus::{curve, moments};
/// let c = curve(moments(0.0, 0.16), 0.16);
/// assert_eq!((c.mean, c.var, c.bend), (0.5, 0.01, 0.25));
/// ```
#[inline(always)]
pub fn curve<R: Real>(a: Moments<R>, var_z: R) -> Curve<R> {
    Curve::square(a.slope, R::ONE, R::ZERO, a.slope, a.slope * (R::ONE - a.slope), var_z) // T29
}
