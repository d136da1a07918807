//! Leaky ReLU, linearised at the mean: `z` above 0, `negative_slope z` below.

use super::{Moments, Real, linearised};

/// T8. `slope = 1` where `mu_z > 0` and `negative_slope` elsewhere (also at 0), `mean = slope mu_z`,
/// `var = slope^2 var_z`.
///
/// ```
/// use tractable::moments::leaky_relu::moments;
/// assert_eq!(moments(-2.0f32, 1.0, 0.5).mean, -1.0);
/// assert_eq!(moments(-2.0f32, 1.0, 0.5).var, 0.25);
/// assert_eq!(moments(0.0f32, 1.0, 0.5).slope, 0.5);
/// ```
#[inline(always)]
pub fn moments<R: Real>(mu_z: R, var_z: R, negative_slope: R) -> Moments<R> {
    let slope = R::select(mu_z > R::ZERO, R::ONE, negative_slope);
    linearised(slope * mu_z, slope, var_z) // T8
}
