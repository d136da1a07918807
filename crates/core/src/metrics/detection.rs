//! How well a score separates two groups, such as images from the training distribution and others, or a rare class from the rest.

use crate::error::{Error, Result};

/// Area under the ROC curve: the probability that a member of `high` scores above one of `low`, equal scores
/// counting half. 1 is perfect, 0.5 is chance. NaN when a score is NaN.
///
/// ```
/// # use tractable::metrics::auroc;
/// assert_eq!(auroc(&[0.1, 0.2], &[0.3, 0.9])?, 1.0);
/// assert_eq!(auroc(&[0.1, 0.3], &[0.3, 0.2])?, 0.625);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn auroc(low: &[f64], high: &[f64]) -> Result<f64> {
    let Some(scores) = sorted(low, high)? else { return Ok(f64::NAN) };
    // Twice the pairs that are in order, counted group of equal scores by group.
    let (mut below, mut twice) = (0u64, 0u64);
    for group in scores.chunk_by(|a, b| a.0 == b.0) {
        let highs = group.iter().filter(|s| s.1).count() as u64;
        let lows = group.len() as u64 - highs;
        twice += highs * (2 * below + lows);
        below += lows;
    }
    Ok(twice as f64 / (2.0 * low.len() as f64 * high.len() as f64))
}

/// Average precision: the mean, over the members of `high`, of the share of `high` among all that score at least as much. 1 is perfect, the
/// share of `high` among all is chance. NaN when a score is NaN.
///
/// ```
/// # use tractable::metrics::average_precision;
/// assert_eq!(average_precision(&[0.1, 0.2], &[0.3, 0.9])?, 1.0);
/// // The best is right; of the three that reach 0.2, two are.
/// assert_eq!(average_precision(&[0.3], &[0.9, 0.2])?, (1.0 + 2.0 / 3.0) / 2.0);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn average_precision(low: &[f64], high: &[f64]) -> Result<f64> {
    let Some(scores) = sorted(low, high)? else { return Ok(f64::NAN) };
    let (mut sum, mut found, mut reached) = (0.0, 0, 0);
    for group in scores.chunk_by(|a, b| a.0 == b.0).rev() {
        let highs = group.iter().filter(|s| s.1).count();
        (found, reached) = (found + highs, reached + group.len());
        sum += highs as f64 * found as f64 / reached as f64;
    }
    Ok(sum / high.len() as f64)
}

/// What a threshold finds: everything that scores at least as much is taken for a member of `high`.
///
/// ```
/// # use tractable::metrics::Detected;
/// let found = Detected::at(0.5, &[0.1, 0.6], &[0.4, 0.7, 0.9])?;
/// assert_eq!((found.precision, found.recall, found.f1), (2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0));
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize))]
pub struct Detected {
    /// The least score.
    pub threshold: f64,
    /// Share of what is found that belongs to `high`; 0 where nothing is found.
    pub precision: f64,
    /// Share of `high` that is found.
    pub recall: f64,
    /// Their harmonic mean: 1 is perfect.
    pub f1: f64,
}

impl Detected {
    /// With this threshold. NaN when a score is NaN.
    pub fn at(threshold: f64, low: &[f64], high: &[f64]) -> Result<Self> {
        let Some(scores) = sorted(low, high)? else {
            return Ok(Detected { threshold, precision: f64::NAN, recall: f64::NAN, f1: f64::NAN });
        };
        let reached = |of: bool| scores.iter().filter(|s| s.0 >= threshold && s.1 == of).count();
        Ok(Detected::of(threshold, reached(true), reached(false), high.len()))
    }

    /// With the threshold that has the highest `f1`, the higher of equals; it lies in the middle between two scores.
    ///
    /// ```
    /// # use tractable::metrics::Detected;
    /// let found = Detected::best(&[0.1, 0.2, 0.75], &[0.5, 1.0])?;
    /// assert_eq!((found.threshold, found.f1), (0.35, 0.8));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn best(low: &[f64], high: &[f64]) -> Result<Self> {
        let Some(scores) = sorted(low, high)? else { return Detected::at(f64::NAN, low, high) };
        let groups: Vec<_> = scores.chunk_by(|a, b| a.0 == b.0).rev().collect();
        let (mut best, mut highs, mut lows) = (Detected::of(f64::INFINITY, 0, 0, high.len()), 0, 0);
        for (i, group) in groups.iter().enumerate() {
            let own = group.iter().filter(|s| s.1).count();
            (highs, lows) = (highs + own, lows + group.len() - own);
            let below = groups.get(i + 1).map_or(group[0].0, |next| next[0].0);
            let found = Detected::of(0.5 * (group[0].0 + below), highs, lows, high.len());
            if found.f1 > best.f1 {
                best = found;
            }
        }
        Ok(best)
    }

    fn of(threshold: f64, highs: usize, lows: usize, all: usize) -> Self {
        let share = |of: usize| if of == 0 { 0.0 } else { highs as f64 / of as f64 };
        let f1 = 2.0 * highs as f64 / (highs + lows + all) as f64;
        Detected { threshold, precision: share(highs + lows), recall: share(all), f1 }
    }
}

/// All scores from the least, with whether they are of `high`; `None` when one is NaN.
fn sorted(low: &[f64], high: &[f64]) -> Result<Option<Vec<(f64, bool)>>> {
    if low.is_empty() || high.is_empty() {
        return Err(Error::invalid("metrics", "there are no scores to compare"));
    }
    if low.iter().chain(high).any(|s| s.is_nan()) {
        return Ok(None);
    }
    let mut scores: Vec<(f64, bool)> = low.iter().map(|&s| (s, false)).collect();
    scores.extend(high.iter().map(|&s| (s, true)));
    scores.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(Some(scores))
}
