//! Hyperbolic tangent, linearised at the mean.

use super::derivative::Curve;
use super::{Moments, Real, linearised};

/// T9. `mean = tanh(mu_z)`, `slope = 1 - tanh(mu_z)^2`, `var = slope^2 var_z`.
///
/// With `e = exp(-2 |mu_z|)`: `|mean| = (1 - e)/(1 + e)` and `slope = 4 e/(1 + e)^2`, so that the slope has relative
/// accuracy also where the mean is 1 to the last digit.
///
/// ```
/// use tractable::moments::tanh::moments;
/// assert_eq!(moments(0.0f32, 0.25).var, 0.25);
/// assert_eq!(moments(20.0f64, 1.0).mean, 1.0);
/// assert!((moments(20.0f64, 1.0).slope / 1.6993417021166355e-17 - 1.0).abs() < 1e-14);
/// ```
#[inline(always)]
pub fn moments<R: Real>(mu_z: R, var_z: R) -> Moments<R> {
    let x = -(mu_z.abs() + mu_z.abs());
    let e = x.exp();
    let inverse = R::ONE / (R::ONE + e);
    let size = -x.exp_m1() * inverse;
    let mean = R::select(mu_z < R::ZERO, -size, size);
    // Rounding must not make it larger than 1 near 0.
    let slope = (R::from_f64(4.0) * e * inverse * inverse).min(R::ONE);
    linearised(mean, slope, var_z) // T9
}

/// T29 for tanh: `phi' = 1 - U^2`, `U = tanh Z` linearised. `a` are its [`moments`].
///
/// ```
/// use tractable::moments::tanh::{curve, moments};
/// let c = curve(moments(0.0, 0.1), 0.1);
/// assert_eq!((c.mean, c.bend), (0.9, 0.0));
/// ```
#[inline(always)]
pub fn curve<R: Real>(a: Moments<R>, var_z: R) -> Curve<R> {
    Curve::square(a.slope, R::ZERO, -R::ONE, a.mean, a.slope, var_z) // T29
}
