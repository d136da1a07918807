//! How surprising errors are given the predictions, and how much to forget.

/// T60. Factor on the variance of the weights that would have made a sum of squared errors expected: with `expected = model +
/// noise`, of which only the model's part grows,
///
/// ```text
/// factor model + noise = observed      factor = 1 + (observed - expected)/model
/// ```
///
/// At least 1: smaller errors than expected are no reason to become more certain.
///
/// ```
/// use tractable::moments::surprise::factor;
/// assert_eq!(factor(30.0, 10.0, 5.0), 5.0); // 5 * 5 + 5 = 30
/// assert_eq!(factor(8.0, 10.0, 5.0), 1.0);
/// ```
pub fn factor(observed: f64, expected: f64, model: f64) -> f64 {
    if model <= 0.0 {
        return 1.0;
    }
    1.0 + ((observed - expected) / model).clamp(0.0, f64::MAX)
}

/// T61. An upper limit for a sum of squared errors with this mean and variance. It is exceeded as rarely as a normal
/// variable exceeds its mean by this many standard deviations. With `k = 2 mean^2/var` degrees of freedom, `sum k/mean` is close to
/// chi-square, and its cube root close to normal (Wilson and Hilferty):
///
/// ```text
/// limit = mean (1 - 2/(9 k) + deviations sqrt(2/(9 k)))^3
/// ```
///
/// ```
/// use tractable::moments::surprise::limit;
/// // The 99.9 % quantile of chi-square with 10 degrees of freedom is 29.588.
/// assert!((limit(10.0, 20.0, 3.0902) / 29.588 - 1.0).abs() < 0.01);
/// ```
pub fn limit(mean: f64, var: f64, deviations: f64) -> f64 {
    // 2/(9 k)
    let spread = var / (9.0 * mean * mean);
    let root = 1.0 - spread + deviations * spread.sqrt();
    mean * root * root * root
}
