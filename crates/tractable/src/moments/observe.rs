//! What an observation of an output says about its pre-activation.

use super::Real;

/// T17. Normalised innovation `(d_mean, d_var)` of the output's pre-activation `z`, from observing
/// `y = a + v`, `var(v) = noise_var`, where `a` has the given mean, variance and slope:
///
/// ```text
/// d_mean = slope/(var + noise_var) (y - mean)
/// d_var  = -slope^2/(var + noise_var)
/// ```
///
/// "Normalised" means divided by `var_z` and `var_z^2`: the posterior of `z` is
/// [`smooth::posterior`](super::smooth::posterior)`(mu_z, var_z, d_mean, d_var)`. Both are 0 where nothing is
/// uncertain, that is where `var + noise_var` is 0 (or denormal: its inverse would overflow).
///
/// ```
/// use tractable::moments::observe::innovation;
/// assert_eq!(innovation(1.0f32, 0.5, 1.0, 3.0, 0.5), (2.0, -1.0));
/// assert_eq!(innovation(1.0f32, 0.0, 1.0, 3.0, 0.0), (0.0, 0.0));
/// ```
#[inline(always)]
pub fn innovation<R: Real>(mean: R, var: R, slope: R, y: R, noise_var: R) -> (R, R) {
    let total = var + noise_var;
    let gain = R::select(total < R::MIN_POSITIVE, R::ZERO, slope / total);
    (gain * (y - mean), -(slope * gain)) // T17
}
