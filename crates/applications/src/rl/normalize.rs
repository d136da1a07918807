//! Running mean and variance, to normalise observations and rewards.

use serde::{Deserialize, Serialize};

/// Added to a standard deviation before dividing by it.
const EPSILON: f64 = 1e-8;
/// Normalised numbers are clipped here.
const MOST: f64 = 10.0;

/// Mean and variance of every number seen so far, updated one observation at a time.
///
/// ```
/// use tractable::rl::Running;
/// let mut seen = Running::new(1);
/// for x in [1.0, 2.0, 3.0] {
///     seen.update(&[x]);
/// }
/// assert!((seen.mean()[0] - 2.0).abs() < 1e-3);
/// let mut x = [100.0];
/// seen.normalize(&mut x);
/// assert_eq!(x, [10.0]); // cut off
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Running {
    mean: Vec<f64>,
    var: Vec<f64>,
    count: f64,
}

impl Running {
    /// For `width` numbers; starts with mean 0 and variance 1, which count as a ten-thousandth of an observation.
    ///
    /// ```
    /// assert_eq!(tractable::rl::Running::new(2).var(), [1.0, 1.0]);
    /// ```
    pub fn new(width: usize) -> Self {
        Running { mean: vec![0.0; width], var: vec![1.0; width], count: 1e-4 }
    }

    /// Means so far.
    ///
    /// ```
    /// assert_eq!(tractable::rl::Running::new(1).mean(), [0.0]);
    /// ```
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Variances so far.
    ///
    /// ```
    /// assert_eq!(tractable::rl::Running::new(1).var(), [1.0]);
    /// ```
    pub fn var(&self) -> &[f64] {
        &self.var
    }

    /// Observations so far, and the ten-thousandth it starts with.
    ///
    /// ```
    /// assert_eq!(tractable::rl::Running::new(1).count(), 1e-4);
    /// ```
    pub fn count(&self) -> f64 {
        self.count
    }

    /// T70. Adds one observation; numbers beyond the width are ignored.
    ///
    /// ```
    /// let mut seen = tractable::rl::Running::new(1);
    /// seen.update(&[3.0]);
    /// assert!((seen.mean()[0] - 3.0).abs() < 1e-3 && seen.var()[0] < 1e-2);
    /// ```
    pub fn update(&mut self, x: &[f64]) {
        // T70
        let total = self.count + 1.0;
        for ((mean, var), x) in self.mean.iter_mut().zip(&mut self.var).zip(x) {
            let d = x - *mean;
            *mean += d / total;
            *var = (*var * self.count + d * d * self.count / total) / total;
        }
        self.count = total;
    }

    /// Subtracts the mean, divides by the standard deviation, clips at ±10.
    ///
    /// ```
    /// let mut x = [0.5];
    /// tractable::rl::Running::new(1).normalize(&mut x);
    /// assert!((x[0] - 0.5).abs() < 1e-7);
    /// ```
    pub fn normalize(&self, x: &mut [f64]) {
        for ((x, mean), var) in x.iter_mut().zip(&self.mean).zip(&self.var) {
            *x = ((*x - mean) / (var.sqrt() + EPSILON)).clamp(-MOST, MOST);
        }
    }

    /// Divides by the standard deviation of the first number, clips at ±10; the mean is kept.
    ///
    /// ```
    /// assert!((tractable::rl::Running::new(1).scale(0.5) - 0.5).abs() < 1e-7);
    /// ```
    pub fn scale(&self, x: f64) -> f64 {
        (x / (self.var[0].sqrt() + EPSILON)).clamp(-MOST, MOST)
    }

    /// Whether these values are valid, with this width.
    pub(super) fn is_sound(&self, width: usize) -> bool {
        let finite = |v: &[f64]| v.len() == width && v.iter().all(|v| v.is_finite());
        finite(&self.mean)
            && finite(&self.var)
            && self.var.iter().all(|v| *v >= 0.0)
            && self.count.is_finite()
            && self.count > 0.0
    }
}
