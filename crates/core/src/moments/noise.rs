//! Inferring the noise from an observation.
//!
//! An observation `y = a + v` has a Gaussian output `a` and noise `v` of unknown variance: a number that follows the
//! squares of `v`, or `exp(u)` with a Gaussian `u`, the output of a head of the network.

use super::Real;

/// Mean and variance of a squared noise.
///
/// ```
/// let nothing_else_is_unsure = tractable::moments::noise::square(1.0f64, 0.0, 3.0, 0.5);
/// assert_eq!((nothing_else_is_unsure.mean, nothing_else_is_unsure.var), (4.0, 0.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Square<R> {
    /// Mean of `v^2`.
    pub mean: R,
    /// Its variance.
    pub var: R,
}

/// T40. The squared noise `v^2` given `y = a + v`, where `a` has this mean and variance and `v` the variance `noise_var`:
/// `v` is Gaussian with mean `k (y - mean)` and variance `k var`, `k = noise_var/(var + noise_var)`.
///
/// ```
/// let square = tractable::moments::noise::square(0.0f64, 1.0, 2.0, 1.0);
/// assert_eq!((square.mean, square.var), (1.0 + 0.5, 2.0 * 0.25 + 4.0 * 0.5));
/// ```
#[inline(always)]
pub fn square<R: Real>(mean: R, var: R, y: R, noise_var: R) -> Square<R> {
    // T40
    let total = var + noise_var;
    let k = R::select(total < R::MIN_POSITIVE, R::ZERO, noise_var / total);
    let (v_mean, v_var) = (k * (y - mean), k * var);
    let squared = v_mean * v_mean;
    let (two, four) = (R::from_f64(2.0), R::from_f64(4.0));
    Square { mean: squared + v_var, var: two * v_var * v_var + four * v_var * squared }
}

/// T41. The noise variance of a head: the mean of `exp(u)`, `u` with this mean and variance.
///
/// ```
/// use tractable::moments::noise::expected;
/// assert_eq!(expected(0.0f64, 0.0), 1.0);
/// assert!((expected(-1.0f64, 2.0) - 1.0).abs() < 1e-12);
/// ```
#[inline(always)]
pub fn expected<R: Real>(mean: R, var: R) -> R {
    // T41. Beyond these limits a head has diverged; the result stays finite and positive.
    let (low, high) = (R::from_f64(-25.0), R::from_f64(10.0));
    let log = mean + R::from_f64(0.5) * var;
    let log = R::select(log < low, low, R::select(log > high, high, log));
    log.exp()
}

/// T42. Normalised innovation `(d_mean, d_var)` of the head `u`, from the squared noise: `b` is the noise variance of
/// [`expected`], `var` that of `u`. `v^2` has the mean `b` and the variance `s = 3 b^2 (exp(var) - 1) + 2 b^2`, its covariance with
/// `u` is `b var`:
///
/// ```text
/// d_mean = b (E[v^2|y] - b)/s,   d_var = min(0, b^2 (var[v^2|y] - s)/s^2)
/// ```
///
/// ```
/// use tractable::moments::noise::{Square, log_innovation};
/// let (d_mean, d_var) = log_innovation(1.0f64, 0.0, Square { mean: 3.0, var: 0.0 });
/// assert_eq!((d_mean, d_var), (1.0, -0.5));
/// ```
#[inline(always)]
pub fn log_innovation<R: Real>(b: R, var: R, square: Square<R>) -> (R, R) {
    // T42, in units of b. An untrained head learns as if it had a little certainty.
    let most = R::from_f64(5.0);
    let spread = R::select(var > most, most, var).exp_m1();
    let s = R::from_f64(3.0) * spread + R::from_f64(2.0);
    let d_var = (square.var / (b * b) - s) / (s * s);
    ((square.mean / b - R::ONE) / s, R::select(d_var < R::ZERO, d_var, R::ZERO))
}
