//! Merging the posteriors of workers that started from the same posterior: natural parameters add up.
//!
//! A Gaussian `N(m, v)` has the natural parameters `l = 1/v` and `l m`. Data multiply the density by their likelihood, so they add to both
//! parameters; what several workers learned from different data since a common mark adds up too.

use super::posterior::Updated;

/// What was learned about one parameter since a mark, in natural parameters.
///
/// ```
/// use tractable::moments::merge::Learned;
/// assert_eq!(Learned::between([0.0, 1.0], [0.5, 0.5]), Learned { precision: 1.0, shift: 1.0 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Learned {
    /// Change of `1/v`.
    pub precision: f64,
    /// Change of `m/v`.
    pub shift: f64,
}

/// How far a merged parameter may move from the mark: as far as the worker with the most updates was allowed to.
///
/// ```
/// use tractable::moments::merge::Bound;
/// let four_batches = Bound { stds: 4.0 / 2.0, shrink: 0.25f64.powi(4) };
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Step of the mean, in standard deviations of the mark.
    pub stds: f64,
    /// The variance is at least this share of the mark's.
    pub shrink: f64,
}

impl Learned {
    /// T65. From mean and variance at the mark and now: `1/v - 1/v0` and `m/v - m0/v0`. Nothing is learned about a known parameter.
    ///
    /// ```
    /// use tractable::moments::merge::Learned;
    /// assert_eq!(Learned::between([2.0, 0.0], [2.0, 0.0]), Learned::default());
    /// ```
    pub fn between([mean0, var0]: [f64; 2], [mean, var]: [f64; 2]) -> Self {
        if var0 == 0.0 || var == 0.0 {
            return Learned::default();
        }
        Learned { precision: 1.0 / var - 1.0 / var0, shift: mean / var - mean0 / var0 }
    }

    /// A share of it.
    pub fn times(self, share: f64) -> Self {
        Learned { precision: share * self.precision, shift: share * self.shift }
    }

    /// T65. The parameter after everything learned since the mark: `l = l0 + sum l_k - l0`, the same for `l m`; limited by T66. A variance that
    /// is not positive, or exceeds both `most` and the mark's variance, is repaired to the larger of the two.
    ///
    /// ```
    /// use tractable::moments::merge::{Bound, Learned};
    /// // Twice the observation 1 with noise variance 1, from N(0, 1).
    /// let once = Learned { precision: 1.0, shift: 1.0 };
    /// let both = Learned { precision: 2.0 * once.precision, shift: 2.0 * once.shift };
    /// let free = Bound { stds: f64::INFINITY, shrink: 0.0 };
    /// let merged = both.merged([0.0, 1.0], 1.0, free);
    /// assert_eq!((merged.mean, merged.var), (2.0 / 3.0, 1.0 / 3.0));
    /// ```
    pub fn merged(self, [mean0, var0]: [f64; 2], most: f64, bound: Bound) -> Updated<f64> {
        // T65. Branch-free, so that the compiler can vectorise it.
        let idle = var0 == 0.0 || (self.precision == 0.0 && self.shift == 0.0);
        // Relative to the mark: 1 + v0 dl, so that small changes do not lose precision.
        let grown = 1.0 + var0 * self.precision;
        let most = most.max(var0);
        let fits = grown > 0.0 && var0 / grown <= most * (1.0 + 1e-6);
        let free_var = if fits { var0 / grown } else { most };
        let free_step = (self.shift - mean0 * self.precision) * free_var;
        // T66
        let (least, limit) = (var0 * bound.shrink, bound.stds * var0.sqrt());
        let var = if free_var < least { least } else { free_var };
        let step = if free_step > limit { limit } else { free_step };
        let step = if step < -limit { -limit } else { step };
        let overflowed = !(mean0 + step).is_finite();
        let mean = if overflowed { mean0 } else { mean0 + step };
        if idle {
            return Updated { mean: mean0, var: var0, capped: false, repaired: false };
        }
        let capped = fits && (free_var < least || step != free_step);
        Updated { mean, var, capped, repaired: !fits || overflowed }
    }
}

/// T67. Mean and variance over all rows, from sums over workers of their rows `n`, `n m` and `n (S + m^2)`: the moments of the mixture. `None`
/// without rows.
///
/// ```
/// // Two rows around 1 and one at 4.
/// let [n, first, second] = [2.0 + 1.0, 2.0 * 1.0 + 4.0, 2.0 * (0.5 + 1.0) + 16.0];
/// assert_eq!(tractable::moments::merge::pooled(n, first, second), Some((2.0, 19.0 / 3.0 - 4.0)));
/// ```
pub fn pooled(rows: f64, first: f64, second: f64) -> Option<(f64, f64)> {
    let mean = first / rows;
    (rows > 0.0).then(|| (mean, (second / rows - mean * mean).max(0.0)))
}

/// The largest surprise allowed for merged workers: with more, learning oscillated on images of digits.
const MOST_SURPRISE: f64 = 0.3;

/// T54. The largest share of what was learned, at least `least`, with a surprise of at most 0.3; `surprise` must grow with the share.
///
/// ```
/// use tractable::moments::merge::most_share;
/// assert_eq!(most_share(0.1, |share| 0.2 * share), 1.0);
/// assert!((most_share(0.1, |share| 0.6 * share) - 0.5).abs() < 0.01);
/// assert_eq!(most_share(0.1, |_| 1e9), 0.1);
/// ```
pub fn most_share(least: f64, surprise: impl Fn(f64) -> f64) -> f64 {
    // T54
    let fits = |share: f64| surprise(share) <= MOST_SURPRISE;
    if least >= 1.0 || fits(1.0) {
        return 1.0;
    }
    if !fits(least) {
        return least;
    }
    // Bisection on a logarithmic scale.
    let (mut low, mut high) = (least, 1.0);
    for _ in 0..12 {
        let middle = f64::sqrt(low * high);
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// T69. How surprising a worker's increment is: the squared steps in units of the mark's variance, divided by the share of variance removed,
/// both summed over parameters. In a linear model, data that the mark expected give about 1: the variance of a posterior mean equals
/// the reduction in variance.
///
/// ```
/// use tractable::moments::merge::surprise;
/// let calm = surprise([([0.0, 1.0], [0.7, 0.5])]);
/// let wild = surprise([([0.0, 1.0], [30.0, 0.5])]);
/// assert!((calm - 0.98).abs() < 1e-12 && wild == 1800.0);
/// ```
pub fn surprise(parameters: impl IntoIterator<Item = ([f64; 2], [f64; 2])>) -> f64 {
    // T69
    let (mut squares, mut lost) = (0.0, 0.0);
    for ([mean0, var0], [mean, var]) in parameters {
        if var0 > 0.0 {
            squares += (mean - mean0) * (mean - mean0) / var0;
            lost += 1.0 - var / var0;
        }
    }
    if squares == 0.0 { 0.0 } else { squares / lost.max(f64::MIN_POSITIVE) }
}
