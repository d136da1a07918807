//! A softmax over outputs that are uncertain: class probabilities, and the innovation of an output from an observed class.

use super::Real;

/// T90. Probabilities of the classes, from the means and variances of their outputs, which are independent:
///
/// ```text
/// p = softmax(m/sqrt(1 + pi S/8))
/// ```
///
/// Exact where outputs are known. Up to `S = 0.1` within 0.02 of the mean of the softmax, up to 1 within 0.1; with `S = 10` and many classes 0.2
/// off.
///
/// ```
/// let (sure, unsure) = (&mut [0.0; 2], &mut [0.0; 2]);
/// tractable::moments::softmax::probabilities(&[1.0, 0.0], &[0.0, 0.0], sure);
/// tractable::moments::softmax::probabilities(&[1.0, 0.0], &[4.0, 4.0], unsure);
/// assert!((sure[0] / sure[1] - 1f64.exp()).abs() < 1e-12);
/// assert!(0.5 < unsure[0] && unsure[0] < sure[0]);
/// ```
pub fn probabilities<R: Real>(mean: &[R], var: &[R], p: &mut [R]) {
    let mut most = R::from_f64(f64::NEG_INFINITY);
    for ((p, &mean), &var) in p.iter_mut().zip(mean).zip(var) {
        *p = mean * tempered(var);
        most = most.max(*p);
    }
    let mut sum = R::ZERO;
    for p in &mut *p {
        *p = (*p - most).exp();
        sum += *p;
    }
    for p in p {
        *p /= sum; // T90
    }
}

/// The factor on a mean in [`probabilities`], `1/sqrt(1 + pi var/8)`.
///
/// ```
/// assert_eq!(tractable::moments::softmax::tempered(0.0f32), 1.0);
/// ```
#[inline(always)]
pub fn tempered<R: Real>(var: R) -> R {
    R::ONE / (R::ONE + R::from_f64(std::f64::consts::PI / 8.0) * var).sqrt()
}

/// T91. Normalised innovation `(d_mean, d_var)` of the output of a class with this probability, from observing that the class is
/// (`y = 1`) or is not (`y = 0`) the one; `var` is the variance of the output. With `l = p (1 - p)`
///
/// ```text
/// d_mean = (y - p)/(1 + var l)      d_var = -l/(1 + var l)
/// ```
///
/// which is the innovation of T17 from observing `m + (y - p)/l` with a noise variance of `1/l`: the likelihood of the class to second order,
/// without its products of two outputs.
///
/// ```
/// use tractable::moments::softmax::innovation;
/// assert_eq!(innovation(0.25f64, 0.0, 1.0), (0.75, -0.1875)); // the gradient of ln p, and its curvature
/// ```
#[inline(always)]
pub fn innovation<R: Real>(p: R, var: R, y: R) -> (R, R) {
    let l = p * (R::ONE - p);
    let share = R::ONE / (R::ONE + var * l);
    (share * (y - p), R::ZERO - share * l) // T91
}
