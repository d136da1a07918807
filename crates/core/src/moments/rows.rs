//! Rows: the slopes of a few outputs propagated down a network, and the contribution of every layer to their covariance.

use super::{Moments, Real};

/// T44. What an activation adds to the variance of a unit beyond its linear part: `var_a - slope^2 var_z`.
///
/// ```
/// use tractable::moments::{relu, rows};
/// assert_eq!(rows::own(relu::moments(2.0, 0.5), 0.5), 0.0);
/// ```
#[inline(always)]
pub fn own<R: Real>(a: Moments<R>, var_z: R) -> R {
    (a.var - a.slope * a.slope * var_z).max(R::ZERO) // T44
}
