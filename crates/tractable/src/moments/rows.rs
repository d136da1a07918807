//! Rows: the slopes of a few outputs walked down through a network, and what every layer adds to their covariance.

use super::{Moments, Real};

/// T44. What an activation adds to the variance of a unit beyond its straight part: `var_a - slope^2 var_z`.
///
/// ```
/// use tractable::moments::{relu, rows};
/// assert_eq!(rows::own(relu::moments(2.0, 0.5), 0.5), 0.0);
/// ```
#[inline(always)]
pub fn own<R: Real>(a: Moments<R>, var_z: R) -> R {
    (a.var - a.slope * a.slope * var_z).max(R::ZERO) // T44
}
