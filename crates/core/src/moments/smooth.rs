//! How innovations propagate back through the network and update a hidden unit.

use super::Real;

/// T18. From the innovation of an activation to that of its pre-activation:
/// `(slope d_mean, slope^2 d_var)`.
///
/// ```
/// assert_eq!(tractable::moments::smooth::through_slope(0.5f32, 4.0, -4.0), (2.0, -1.0));
/// ```
#[inline(always)]
pub fn through_slope<R: Real>(slope: R, d_mean: R, d_var: R) -> (R, R) {
    (slope * d_mean, slope * slope * d_var) // T18
}

/// T19. Posterior of a hidden unit from its prior and its innovation:
/// `(mean + var d_mean, var + var^2 d_var)`; rounding cannot take the variance below 0.
///
/// ```
/// use tractable::moments::smooth::posterior;
/// assert_eq!(posterior(1.0f32, 0.5, 2.0, -1.0), (2.0, 0.25));
/// ```
#[inline(always)]
pub fn posterior<R: Real>(mean: R, var: R, d_mean: R, d_var: R) -> (R, R) {
    (mean + var * d_mean, (var * (R::ONE + var * d_var)).max(R::ZERO)) // T19
}
