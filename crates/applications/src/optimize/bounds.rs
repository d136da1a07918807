//! The box to search in.

use serde::{Deserialize, Serialize};
use tractable_core::error::{Error, Result};
use tractable_core::rng::{ChaCha8Rng, Rng, shuffle};

/// A box: a lowest and a highest value for every coordinate.
///
/// ```
/// use tractable::optimize::Bounds;
/// let bounds = Bounds::new([(-5.0, 10.0), (0.0, 15.0)])?;
/// assert_eq!(bounds.len(), 2);
/// assert!(Bounds::new([(2.0, -2.0)]).is_err());
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(f64, f64)>", into = "Vec<(f64, f64)>")]
pub struct Bounds(Vec<(f64, f64)>);

impl Bounds {
    /// From (lowest, highest) of every coordinate, in order.
    ///
    /// ```
    /// # use tractable::optimize::Bounds;
    /// let e = Bounds::new([(0.0, 1.0), (3.0, 3.0)]).unwrap_err();
    /// assert!(e.to_string().contains("coordinate 1"));
    /// ```
    pub fn new(bounds: impl IntoIterator<Item = (f64, f64)>) -> Result<Self> {
        let bounds: Vec<_> = bounds.into_iter().collect();
        if bounds.is_empty() {
            return Err(Error::invalid("bounds", "at least one coordinate is needed"));
        }
        for (i, &(low, high)) in bounds.iter().enumerate() {
            let wrong =
                |why: &str| Err(Error::invalid("bounds", format!("coordinate {i}: {low} to {high} {why}")));
            if !(low.is_finite() && high.is_finite() && (high - low).is_finite()) {
                return wrong("is not a finite range");
            }
            if low > high {
                return wrong("is reversed; give the lower one first");
            }
            if high - low <= 1e-12 * low.abs().max(high.abs()) {
                return wrong("contains a single point");
            }
            // Squares of lengths must be numbers.
            if !(1e-100..=1e100).contains(&(high - low)) {
                return wrong("is too narrow or too wide for the arithmetic; use another unit");
            }
        }
        Ok(Bounds(bounds))
    }

    /// Coordinates.
    ///
    /// ```
    /// # use tractable::optimize::Bounds;
    /// assert_eq!(Bounds::new([(0.0, 1.0)])?.len(), 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    #[allow(clippy::len_without_is_empty, reason = "a box has at least one coordinate")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// (lowest, highest) of every coordinate.
    ///
    /// ```
    /// # use tractable::optimize::Bounds;
    /// assert_eq!(Bounds::new([(0.0, 1.0)])?.pairs(), [(0.0, 1.0)]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn pairs(&self) -> &[(f64, f64)] {
        &self.0
    }

    /// Whether a point lies in the box.
    ///
    /// ```
    /// # use tractable::optimize::Bounds;
    /// assert!(!Bounds::new([(0.0, 1.0)])?.contains(&[1.5]));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn contains(&self, x: &[f64]) -> bool {
        x.len() == self.len() && x.iter().zip(&self.0).all(|(x, (low, high))| low <= x && x <= high)
    }

    /// Half the length of every side.
    pub(super) fn half_widths(&self) -> Vec<f64> {
        self.0.iter().map(|(low, high)| (high - low) / 2.0).collect()
    }

    /// The part of the box within `radius` half-widths of a point.
    pub(super) fn around(&self, center: &[f64], radius: f64) -> Bounds {
        let side = |((low, high), c): (&(f64, f64), &f64)| {
            let reach = radius * (high - low) / 2.0;
            ((c - reach).max(*low), (c + reach).min(*high))
        };
        Bounds(self.0.iter().zip(center).map(side).collect())
    }

    /// The nearest point of the box, coordinate by coordinate; `i` counts through rows of points.
    pub(super) fn clamp(&self, i: usize, x: f64) -> f64 {
        let (low, high) = self.0[i % self.len()];
        x.clamp(low, high)
    }

    pub(super) fn random(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        self.0.iter().map(|&side| between(side, unit(rng))).collect()
    }

    /// A Latin hypercube of `n` points: each falls into a different one of `n` slices along every coordinate.
    pub(super) fn spread(&self, n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let mut points = vec![0.0; n * self.len()];
        for (k, &side) in self.0.iter().enumerate() {
            let mut slices: Vec<usize> = (0..n).collect();
            shuffle(&mut slices, rng);
            for (i, slice) in slices.into_iter().enumerate() {
                points[i * self.len() + k] = between(side, (slice as f64 + unit(rng)) / n as f64);
            }
        }
        points
    }
}

impl TryFrom<Vec<(f64, f64)>> for Bounds {
    type Error = Error;

    fn try_from(pairs: Vec<(f64, f64)>) -> Result<Self> {
        Bounds::new(pairs)
    }
}

impl From<Bounds> for Vec<(f64, f64)> {
    fn from(bounds: Bounds) -> Self {
        bounds.0
    }
}

/// Interpolates between two ends; rounding never leaves the range.
fn between((low, high): (f64, f64), share: f64) -> f64 {
    (low + (high - low) * share).clamp(low, high)
}

/// A number in [0, 1).
pub(super) fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}
