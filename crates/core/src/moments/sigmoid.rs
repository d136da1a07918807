//! Logistic sigmoid, linearised at the mean.

use super::derivative::Curve;
use super::{Moments, Real, linearised};

/// T12. `mean = 1/(1 + exp(-mu_z))`, `slope = mean (1 - mean)`, `var = slope^2 var_z`.
///
/// With `e = exp(-|mu_z|)`: the mean is `1/(1 + e)` or `e/(1 + e)` and `slope = e/(1 + e)^2`: relative accuracy in
/// both tails.
///
/// ```
/// use tractable::moments::sigmoid::moments;
/// let a = moments(0.0f32, 1.0);
/// assert_eq!((a.mean, a.var, a.slope), (0.5, 0.0625, 0.25));
/// ```
#[inline(always)]
pub fn moments<R: Real>(mu_z: R, var_z: R) -> Moments<R> {
    let e = (-mu_z.abs()).exp();
    let upper = R::ONE / (R::ONE + e);
    let lower = e * upper;
    linearised(R::select(mu_z < R::ZERO, lower, upper), lower * upper, var_z) // T12
}

/// T29 for the sigmoid: `phi' = U - U^2`, `U = sigmoid Z` linearised. `a` are its [`moments`].
///
/// ```
/// use tractable::moments::sigmoid::{curve, moments};
/// let c = curve(moments(0.0, 0.16), 0.16);
/// assert_eq!((c.mean, c.bend), (0.25 - 0.01, 0.0));
/// ```
#[inline(always)]
pub fn curve<R: Real>(a: Moments<R>, var_z: R) -> Curve<R> {
    Curve::square(a.slope, R::ONE, -R::ONE, a.mean, a.slope, var_z) // T29
}
