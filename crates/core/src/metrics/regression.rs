//! Scores of predicted numbers: errors of the mean, likelihood and calibration of the variances.

use super::Tails;
use crate::error::{Error, Result};

/// Root mean squared error, `sqrt(mean((y - mean)^2))`.
///
/// ```
/// # use tractable::metrics::rmse;
/// assert_eq!(rmse(&[0.0, 0.0], &[1.0, -1.0])?, 1.0);
/// assert!(rmse(&[0.0], &[f64::NAN])?.is_nan());
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn rmse(y: &[f64], mean: &[f64]) -> Result<f64> {
    check_len("mean", y, mean)?;
    Ok(average(y.iter().zip(mean).map(|(y, m)| (y - m) * (y - m)), y.len()).sqrt())
}

/// Mean absolute error, `mean(|y - mean|)`.
///
/// ```
/// # use tractable::metrics::mae;
/// assert_eq!(mae(&[0.0, 0.0], &[1.0, -2.0])?, 1.5);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn mae(y: &[f64], mean: &[f64]) -> Result<f64> {
    check_len("mean", y, mean)?;
    Ok(average(y.iter().zip(mean).map(|(y, m)| (y - m).abs()), y.len()))
}

/// Mean negative log-likelihood of `y` under N(mean, var), in nats per value; smaller is better:
///
/// ```text
/// mean( ln(2 pi var) / 2 + (y - mean)^2 / (2 var) )
/// ```
///
/// `var` must be the variance of an observation, including noise.
///
/// # Errors
/// Mismatched lengths, or a variance that is 0 or negative.
///
/// ```
/// # use tractable::metrics::gaussian_nll;
/// let nll = gaussian_nll(&[1.0], &[0.0], &[1.0])?;
/// assert!((nll - (0.5 * std::f64::consts::TAU.ln() + 0.5)).abs() < 1e-15);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn gaussian_nll(y: &[f64], mean: &[f64], var: &[f64]) -> Result<f64> {
    nll(y, mean, var, Tails::Normal)
}

/// Like [`gaussian_nll`], for errors with these tails.
///
/// ```
/// # use tractable::metrics::{Tails, nll};
/// let [normal, heavy] = [Tails::Normal, Tails::student(3.0)].map(|t| nll(&[6.0], &[0.0], &[1.0], t).unwrap());
/// assert!(heavy < normal); // an error of six standard deviations is less of a surprise
/// ```
pub fn nll(y: &[f64], mean: &[f64], var: &[f64], tails: Tails) -> Result<f64> {
    check_len("mean", y, mean)?;
    check_var(y, var, |v| v <= 0.0, "a variance must be positive for a likelihood; was the noise added?")?;
    let terms = errors(y, mean, var).zip(var).map(|(z, v)| 0.5 * v.ln() - tails.ln_density(z));
    Ok(average(terms, y.len()))
}

/// Continuous ranked probability score, in the units of `y`: for a certain prediction the mean absolute error, smaller if
/// its variance anticipates the error. Smaller is better.
///
/// ```
/// # use tractable::metrics::{Tails, crps};
/// let sure = crps(&[1.0], &[0.0], &[1e-12], Tails::Normal)?;
/// let honest = crps(&[1.0], &[0.0], &[1.0], Tails::Normal)?;
/// assert!((sure - 1.0).abs() < 1e-6 && honest < 0.61);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn crps(y: &[f64], mean: &[f64], var: &[f64], tails: Tails) -> Result<f64> {
    check_len("mean", y, mean)?;
    check_var(y, var, |v| v <= 0.0, "a variance must be positive")?;
    Ok(average(errors(y, mean, var).zip(var).map(|(z, v)| v.sqrt() * tails.crps(z)), y.len()))
}

/// Normalised innovation squared, `mean((y - mean)^2 / var)`: near 1 if the variances match the errors, above 1 if
/// they are too small.
///
/// ```
/// # use tractable::metrics::innovation_squared;
/// assert_eq!(innovation_squared(&[2.0, -2.0], &[0.0; 2], &[4.0; 2])?, 1.0);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn innovation_squared(y: &[f64], mean: &[f64], var: &[f64]) -> Result<f64> {
    check_len("mean", y, mean)?;
    check_var(y, var, |v| v <= 0.0, "a variance must be positive")?;
    Ok(average(errors(y, mean, var).map(|z| z * z), y.len()))
}

/// Share of the values inside their central interval of probability `level`, for normal errors: those with
///
/// ```text
/// |y - mean| <= z sqrt(var),   z = quantile((1 + level) / 2)
/// ```
///
/// Calibrated variances give about `level`; more means that they are too large, less that they are too small.
///
/// # Errors
/// Mismatched lengths, a negative variance, or a level that is not strictly between 0 and 1.
///
/// ```
/// # use tractable::metrics::coverage;
/// assert_eq!(coverage(&[0.5, 1.9, 2.1, -0.1], &[0.0; 4], &[1.0; 4], 0.95)?, 0.75);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn coverage(y: &[f64], mean: &[f64], var: &[f64], level: f64) -> Result<f64> {
    inside(y, mean, var, level, Tails::Normal)
}

/// Like [`coverage`], for errors with these tails.
///
/// ```
/// # use tractable::metrics::{Tails, inside};
/// let share = |tails| inside(&[0.6], &[0.0], &[1.0], 0.5, tails).unwrap();
/// assert_eq!((share(Tails::Normal), share(Tails::student(3.0))), (1.0, 0.0)); // half of the errors are smaller
/// ```
pub fn inside(y: &[f64], mean: &[f64], var: &[f64], level: f64, tails: Tails) -> Result<f64> {
    check_len("mean", y, mean)?;
    check_var(y, var, |v| v < 0.0, "a variance cannot be negative")?;
    if !(level > 0.0 && level < 1.0) {
        return Err(Error::invalid("level", format!("it must be strictly between 0 and 1, got {level}")));
    }
    let z = tails.quantile(0.5 + 0.5 * level);
    let inside = y.iter().zip(mean).zip(var).map(|((y, m), v)| {
        let (distance, reach) = ((y - m).abs(), z * v.sqrt());
        if distance.is_nan() || reach.is_nan() { f64::NAN } else { f64::from(u8::from(distance <= reach)) }
    });
    Ok(average(inside, y.len()))
}

/// Nominal and observed coverage of central intervals. Made by [`calibration`].
///
/// ```
/// # use tractable::metrics::{Tails, calibration};
/// let report = calibration(&[0.1, -0.2], &[0.0; 2], &[1.0; 2], Tails::Normal)?;
/// assert_eq!(report.levels.len(), report.observed.len());
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize))]
pub struct Calibration {
    /// Nominal probabilities of the intervals: 0.1, 0.2, ..., 0.9 and 0.95.
    pub levels: Vec<f64>,
    /// Share of the values inside each.
    pub observed: Vec<f64>,
    /// `mean(|observed - levels|)`: 0 is perfect.
    pub error: f64,
}

/// The share [`inside`] at ten levels, and its mean distance from them.
///
/// ```
/// # use tractable::metrics::{Tails, calibration};
/// // Predictions that are exact but claim a variance of 1: all inside, at every level.
/// let report = calibration(&[3.0; 5], &[3.0; 5], &[1.0; 5], Tails::Normal)?;
/// assert_eq!(report.observed, [1.0; 10]);
/// assert!((report.error - 0.455).abs() < 1e-12);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn calibration(y: &[f64], mean: &[f64], var: &[f64], tails: Tails) -> Result<Calibration> {
    Calibration::of(|level| inside(y, mean, var, level, tails))
}

impl Calibration {
    /// From the share inside the interval of each level.
    pub fn of(inside: impl Fn(f64) -> Result<f64>) -> Result<Self> {
        let levels = vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];
        let observed = levels.iter().map(|&level| inside(level)).collect::<Result<Vec<f64>>>()?;
        let error = average(observed.iter().zip(&levels).map(|(o, l)| (o - l).abs()), levels.len());
        Ok(Calibration { levels, observed, error })
    }
}

/// Errors in standard deviations.
fn errors(y: &[f64], mean: &[f64], var: &[f64]) -> impl Iterator<Item = f64> {
    y.iter().zip(mean).zip(var).map(|((y, m), v)| (y - m) / v.sqrt())
}

fn average(terms: impl Iterator<Item = f64>, n: usize) -> f64 {
    terms.sum::<f64>() / n as f64
}

fn check_len(what: &str, y: &[f64], other: &[f64]) -> Result<()> {
    if y.is_empty() {
        return Err(Error::invalid("metrics", "there are no values to compare"));
    }
    if y.len() != other.len() {
        return Err(Error::shape(what, format!("{} numbers, as in y", y.len()), other.len()));
    }
    Ok(())
}

fn check_var(y: &[f64], var: &[f64], refused: impl Fn(f64) -> bool, why: &str) -> Result<()> {
    check_len("variance", y, var)?;
    match var.iter().position(|&v| refused(v)) {
        None => Ok(()),
        Some(row) => Err(Error::OutOfRange {
            what: "variance".into(),
            row,
            column: 0,
            value: var[row],
            why: why.into(),
        }),
    }
}
