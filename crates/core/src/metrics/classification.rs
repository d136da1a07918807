//! Scores of predicted class probabilities: errors, likelihood and calibration.
//!
//! `probs` is row-major `[rows, classes]` with one row for each label.

use crate::error::{Error, Result};

/// Index of the largest number: the first of equals; NaN counts as the largest, so that it is not overlooked.
/// 0 for an empty slice.
///
/// ```
/// # use tractable::metrics::argmax;
/// assert_eq!(argmax(&[0.1, 0.6, 0.3]), 1);
/// assert_eq!(argmax(&[0.5, 0.5]), 0);
/// assert_eq!(argmax(&[0.9, f64::NAN, 1.0, f64::NAN]), 1);
/// ```
pub fn argmax(values: &[f64]) -> usize {
    let above = |a: f64, b: f64| a > b || (a.is_nan() && !b.is_nan());
    (1..values.len()).fold(0, |best, k| if above(values[k], values[best]) { k } else { best })
}

/// Share of the rows whose most probable class is not the label; among equals the first class counts.
///
/// ```
/// # use tractable::metrics::error_rate;
/// assert_eq!(error_rate(&[0.9, 0.1, 0.6, 0.4], &[0, 1])?, 0.5);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn error_rate(probs: &[f64], labels: &[usize]) -> Result<f64> {
    average(probs, labels, |row, label| f64::from(u8::from(argmax(row) != label)))
}

/// Mean negative log-likelihood of the labels, `mean(-ln p[label])`, in nats; infinite if a label has
/// probability 0.
///
/// ```
/// # use tractable::metrics::class_nll;
/// assert_eq!(class_nll(&[0.25, 0.75], &[1])?, -0.75f64.ln());
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn class_nll(probs: &[f64], labels: &[usize]) -> Result<f64> {
    average(probs, labels, |row, label| -row[label].ln())
}

/// Brier score: the mean over the rows of `sum_k (p[k] - [k = label])^2`; 0 is perfect, 2 the worst.
///
/// ```
/// # use tractable::metrics::brier;
/// assert_eq!(brier(&[0.5, 0.5], &[1])?, 0.5);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn brier(probs: &[f64], labels: &[usize]) -> Result<f64> {
    average(probs, labels, |row, label| {
        row.iter().enumerate().map(|(k, p)| (p - f64::from(u8::from(k == label))).powi(2)).sum()
    })
}

/// The rows whose confidence falls into `(low, high]`. Part of [`Reliability`].
///
/// ```
/// # use tractable::metrics::ece;
/// let report = ece(&[0.8, 0.2], &[0], 2)?;
/// let bin = &report.bins[1];
/// assert_eq!((bin.low, bin.high, bin.count), (0.5, 1.0, 1));
/// assert_eq!((bin.confidence, bin.accuracy), (Some(0.8), Some(1.0)));
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize))]
pub struct Bin {
    /// Confidences in this bin are above this (0 itself belongs to the first bin).
    pub low: f64,
    /// And at most this.
    pub high: f64,
    /// Number of rows.
    pub count: usize,
    /// Their mean confidence; `None` when there are none.
    pub confidence: Option<f64>,
    /// Their accuracy; `None` when there are none.
    pub accuracy: Option<f64>,
}

/// Confidence against accuracy, and their distance. Made by [`ece`].
///
/// ```
/// # use tractable::metrics::ece;
/// assert_eq!(ece(&[1.0, 0.0], &[0], 15)?.ece, 0.0);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize))]
pub struct Reliability {
    /// Bins of equal width over 0..1.
    pub bins: Vec<Bin>,
    /// Expected calibration error: 0 is perfect. NaN when a probability is NaN; the bins then leave that
    /// row out.
    pub ece: f64,
}

/// Expected calibration error over `bins` bins of equal width (15 is usual), by the confidence of the
/// predicted class:
///
/// ```text
/// ece = sum_b count_b / n * |accuracy_b - confidence_b|
/// ```
///
/// ```
/// # use tractable::metrics::ece;
/// // Two rows with confidence 0.75, one of them right.
/// let report = ece(&[0.75, 0.25, 0.75, 0.25], &[0, 1], 15)?;
/// assert_eq!(report.ece, 0.25);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn ece(probs: &[f64], labels: &[usize], bins: usize) -> Result<Reliability> {
    let classes = check(probs, labels)?;
    if bins == 0 {
        return Err(Error::invalid("bins", "at least one bin is needed"));
    }
    let (mut count, mut confidence, mut right) = (vec![0; bins], vec![0.0; bins], vec![0; bins]);
    let mut poisoned = false;
    for (row, &label) in probs.chunks_exact(classes).zip(labels) {
        let predicted = argmax(row);
        if row[predicted].is_nan() {
            poisoned = true;
            continue;
        }
        // (low, high] has number ceil(p * bins) - 1.
        let bin = ((row[predicted] * bins as f64).ceil() as usize).clamp(1, bins) - 1;
        count[bin] += 1;
        confidence[bin] += row[predicted];
        right[bin] += usize::from(predicted == label);
    }
    let gaps = confidence.iter().zip(&right).map(|(c, &r)| (r as f64 - c).abs());
    let ece = if poisoned { f64::NAN } else { gaps.sum::<f64>() / labels.len() as f64 };
    let bins = (0..bins)
        .map(|b| {
            let mean = |sum: f64| (count[b] > 0).then(|| sum / count[b] as f64);
            Bin {
                low: b as f64 / bins as f64,
                high: (b + 1) as f64 / bins as f64,
                count: count[b],
                confidence: mean(confidence[b]),
                accuracy: mean(right[b] as f64),
            }
        })
        .collect();
    Ok(Reliability { bins, ece })
}

/// The mean of a term of every row; a row with NaN is NaN.
fn average(probs: &[f64], labels: &[usize], term: impl Fn(&[f64], usize) -> f64) -> Result<f64> {
    let classes = check(probs, labels)?;
    let rows = probs.chunks_exact(classes).zip(labels);
    let sum: f64 =
        rows.map(|(row, &label)| if row[argmax(row)].is_nan() { f64::NAN } else { term(row, label) }).sum();
    Ok(sum / labels.len() as f64)
}

/// The number of classes, once everything fits.
fn check(probs: &[f64], labels: &[usize]) -> Result<usize> {
    if labels.is_empty() || probs.is_empty() {
        return Err(Error::invalid("metrics", "there are no rows to compare"));
    }
    if !probs.len().is_multiple_of(labels.len()) {
        let expected = format!("the same number of classes for each of {} labels", labels.len());
        return Err(Error::shape("probabilities", expected, format!("{} numbers", probs.len())));
    }
    let classes = probs.len() / labels.len();
    let out_of_range = |what: &str, row, column, value, why: String| {
        Err(Error::OutOfRange { what: what.into(), row, column, value, why })
    };
    if let Some(row) = labels.iter().position(|&label| label >= classes) {
        let why = format!("there are {classes} classes, counted from 0");
        return out_of_range("labels", row, 0, labels[row] as f64, why);
    }
    // Single precision leaves sums a little above 1.
    if let Some(at) = probs.iter().position(|&p| !(p.is_nan() || (0.0..=1.0 + 1e-6).contains(&p))) {
        let why = "a probability is between 0 and 1".into();
        return out_of_range("probabilities", at / classes, at % classes, probs[at], why);
    }
    Ok(classes)
}
