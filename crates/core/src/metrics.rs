//! Scores of predictions, to compare models.
//!
//! Pure functions over slices. **NaN in, NaN out**: a diverged network must not look good. Mismatched
//! lengths and empty data are errors. Callers leave out entries with missing targets.

mod classification;
mod detection;
mod quantile;
mod regression;
mod tails;

pub use classification::{Bin, Reliability, argmax, brier, class_nll, ece, error_rate};
pub use detection::{Detected, auroc, average_precision};
pub use quantile::normal_quantile;
pub use regression::{
    Calibration, calibration, coverage, crps, gaussian_nll, innovation_squared, inside, mae, nll, rmse,
};
pub use tails::Tails;
