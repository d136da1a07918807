//! Boxes: spaces of observations and actions.

use tractable_core::error::{Error, Result};

/// A box: every number has a lowest and a highest value, possibly infinite.
///
/// ```
/// use tractable::rl::env::Space;
/// let torque = Space::symmetric(1, 2.0);
/// assert_eq!((torque.low(), torque.high()), (&[-2.0][..], &[2.0][..]));
/// assert!(torque.contains(&[1.5]) && !torque.contains(&[2.5]));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Space {
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Space {
    /// Bounds number by number; each `low` must be at most its `high`.
    ///
    /// ```
    /// use tractable::rl::env::Space;
    /// assert!(Space::new(vec![0.0, -1.0], vec![1.0, 1.0]).is_ok());
    /// assert!(Space::new(vec![1.0], vec![0.0]).is_err());
    /// ```
    pub fn new(low: Vec<f64>, high: Vec<f64>) -> Result<Self> {
        if low.len() != high.len() {
            return Err(Error::shape("upper bounds of a space", low.len(), high.len()));
        }
        if let Some(i) = (0..low.len()).find(|&i| low[i].partial_cmp(&high[i]).is_none_or(|o| o.is_gt())) {
            let why = format!("entry {i}: the lower bound {} is above the upper bound {}", low[i], high[i]);
            return Err(Error::invalid("space", why));
        }
        Ok(Space { low, high })
    }

    /// `n` numbers without bounds.
    ///
    /// ```
    /// use tractable::rl::env::Space;
    /// assert!(Space::unbounded(3).contains(&[1e9, 0.0, -1e9]));
    /// ```
    pub fn unbounded(n: usize) -> Self {
        Self::symmetric(n, f64::INFINITY)
    }

    /// `n` numbers within `bound` of 0.
    ///
    /// ```
    /// use tractable::rl::env::Space;
    /// assert_eq!(Space::symmetric(2, 3.0).len(), 2);
    /// ```
    pub fn symmetric(n: usize, bound: f64) -> Self {
        Space { low: vec![-bound.abs(); n], high: vec![bound.abs(); n] }
    }

    /// Number of entries.
    ///
    /// ```
    /// assert_eq!(tractable::rl::env::Space::unbounded(17).len(), 17);
    /// ```
    pub fn len(&self) -> usize {
        self.low.len()
    }

    /// Whether there are no entries.
    ///
    /// ```
    /// assert!(tractable::rl::env::Space::unbounded(0).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.low.is_empty()
    }

    /// Lowest values.
    ///
    /// ```
    /// assert_eq!(tractable::rl::env::Space::symmetric(1, 2.0).low(), [-2.0]);
    /// ```
    pub fn low(&self) -> &[f64] {
        &self.low
    }

    /// Highest values.
    ///
    /// ```
    /// assert_eq!(tractable::rl::env::Space::symmetric(1, 2.0).high(), [2.0]);
    /// ```
    pub fn high(&self) -> &[f64] {
        &self.high
    }

    /// Whether a point lies in the box; never for NaN.
    ///
    /// ```
    /// assert!(!tractable::rl::env::Space::unbounded(1).contains(&[f64::NAN]));
    /// ```
    pub fn contains(&self, point: &[f64]) -> bool {
        let within = |(i, x): (usize, &f64)| *x >= self.low[i] && *x <= self.high[i];
        point.len() == self.len() && point.iter().enumerate().all(within)
    }

    /// An error unless a slice has one number for each dimension.
    pub fn check_len(&self, what: &str, slice: &[f64]) -> Result<()> {
        if slice.len() != self.len() {
            return Err(Error::shape(what, self.len(), slice.len()));
        }
        Ok(())
    }
}
