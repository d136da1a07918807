//! How surprised a network is by what it predicted, and how much of what it knows that takes away.

/// T60. Factor on the variance of the weights with which a sum of squared errors would have been expected: with `expected = model +
/// noise`, of which only the model's part grows,
///
/// ```text
/// factor model + noise = observed      factor = 1 + (observed - expected)/model
/// ```
///
/// At least 1: a network that errs less than expected has forgotten nothing too little.
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

/// T61. The value that a sum of squared errors with this mean and variance stays below, up to a chance: that of a normal
/// variable to be so many standard deviations above its mean. With `k = 2 mean^2/var` degrees of freedom, `sum k/mean` is close to
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
