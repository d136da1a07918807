//! ReLU, linearised at the mean: `max(0, z)`.

use super::{Moments, Real, linearised};

/// T7. `mean = max(0, mu_z)`, `slope = 1` where `mu_z > 0` and 0 elsewhere (also at 0), `var = slope var_z`.
///
/// ```
/// use tractable::moments::relu::moments;
/// assert_eq!(moments(-1.0f32, 0.25).mean, 0.0);
/// assert_eq!(moments(1.0f32, 0.25).var, 0.25);
/// assert_eq!(moments(0.0f32, 0.25).slope, 0.0);
/// ```
#[inline(always)]
pub fn moments<R: Real>(mu_z: R, var_z: R) -> Moments<R> {
    let slope = R::select(mu_z > R::ZERO, R::ONE, R::ZERO);
    linearised(mu_z.max(R::ZERO), slope, var_z) // T7
}
