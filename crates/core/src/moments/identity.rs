//! Identity: the activation of a linear output.

use super::{Moments, Real};

/// T6. `a = z`: mean `mu_z`, variance `var_z`, slope 1.
///
/// ```
/// use tractable::moments::identity::moments;
/// let a = moments(-3.0f32, 0.25);
/// assert_eq!((a.mean, a.var, a.slope), (-3.0, 0.25, 1.0));
/// ```
#[inline(always)]
pub fn moments<R: Real>(mu_z: R, var_z: R) -> Moments<R> {
    Moments { mean: mu_z, var: var_z, slope: R::ONE } // T6
}
