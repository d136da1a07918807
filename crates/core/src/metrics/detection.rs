//! How well a score separates two groups, such as images from the training distribution and others.

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
    if low.is_empty() || high.is_empty() {
        return Err(Error::invalid("metrics", "there are no scores to compare"));
    }
    if low.iter().chain(high).any(|s| s.is_nan()) {
        return Ok(f64::NAN);
    }
    let mut scores: Vec<(f64, bool)> = low.iter().map(|&s| (s, false)).collect();
    scores.extend(high.iter().map(|&s| (s, true)));
    scores.sort_by(|a, b| a.0.total_cmp(&b.0));
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
