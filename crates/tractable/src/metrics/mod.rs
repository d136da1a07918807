//! How good predictions are: numbers to compare models by.
//!
//! Pure functions over slices. **NaN in, NaN out**: a diverged network must not look good. Lengths that do
//! not match and empty data are errors. Where targets are missing, callers leave those entries out.

mod classification;
mod detection;
mod quantile;
mod regression;
mod tails;

pub use classification::{Bin, Reliability, argmax, brier, class_nll, ece, error_rate};
pub use detection::auroc;
pub use quantile::normal_quantile;
pub use regression::{
    Calibration, calibration, coverage, crps, gaussian_nll, innovation_squared, inside, mae, nll, rmse,
};
pub use tails::Tails;
