//! The innovation of an output from an observation.

use super::Real;

/// T17. Normalised innovation `(d_mean, d_var)` of an output `a` with this mean and variance, from observing
/// `y = a + v`, `var(v) = noise_var`:
///
/// ```text
/// d_mean = (y - mean)/(var + noise_var)
/// d_var  = -1/(var + noise_var)
/// ```
///
/// "Normalised" means divided by `var` and `var^2`: the posterior of `a` is
/// [`smooth::posterior`](super::smooth::posterior)`(mean, var, d_mean, d_var)`, and
/// [`smooth::through_slope`](super::smooth::through_slope) propagates the innovation below an
/// activation. Both are 0 if nothing is uncertain, that is if `var + noise_var` is 0 (or denormal: its inverse would overflow).
///
/// ```
/// use tractable::moments::observe::innovation;
/// assert_eq!(innovation(1.0f32, 0.5, 3.0, 0.5), (2.0, -1.0));
/// assert_eq!(innovation(1.0f32, 0.0, 3.0, 0.0), (0.0, 0.0));
/// ```
#[inline(always)]
pub fn innovation<R: Real>(mean: R, var: R, y: R, noise_var: R) -> (R, R) {
    let total = var + noise_var;
    let gain = R::select(total < R::MIN_POSITIVE, R::ZERO, R::ONE / total);
    (gain * (y - mean), -gain) // T17
}
