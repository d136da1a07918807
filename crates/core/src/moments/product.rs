//! One product `w a` of the weighted sum `z = sum_j w_j a_j + b`: its share of the sum's mean and variance.
//!
//! Weights and activations are independent, so the variance of the sum is the sum of these shares.

use super::Real;

/// T14. Second moment of an activation: `E[a^2] = var_a + mu_a^2`.
///
/// ```
/// assert_eq!(tractable::moments::product::second_moment(3.0f32, 0.5), 9.5);
/// ```
#[inline(always)]
pub fn second_moment<R: Real>(mu_a: R, var_a: R) -> R {
    var_a + mu_a * mu_a // T14
}

/// T15. Mean of the product: `E[w a] = mu_w mu_a`.
///
/// ```
/// assert_eq!(tractable::moments::product::term_mean(2.0f32, 3.0), 6.0);
/// ```
#[inline(always)]
pub fn term_mean<R: Real>(mu_w: R, mu_a: R) -> R {
    mu_w * mu_a // T15
}

/// T16. Variance of the product: `var[w a] = var_a mu_w^2 + var_w (var_a + mu_a^2)`, given
/// `second_a = `[`second_moment`]`(mu_a, var_a)`.
///
/// ```
/// use tractable::moments::product::{second_moment, term_var};
/// assert_eq!(term_var(2.0f32, 0.1, 0.5, second_moment(3.0, 0.5)), 0.5 * 4.0 + 0.1 * 9.5);
/// ```
#[inline(always)]
pub fn term_var<R: Real>(mu_w: R, var_w: R, var_a: R, second_a: R) -> R {
    var_a * (mu_w * mu_w) + second_a * var_w // T16
}
