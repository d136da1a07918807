//! Averages: parameters that follow those which learn, for networks that predict with the average of their means.

use super::{Learning, Norms};

/// Averages of parameters, and the statistics of normalisations that go with them.
pub trait Averages: Learning + Norms {
    /// Moves the means of `average` towards the latest by this share, and copies variances, unless the status has an error. A share of 1
    /// copies means too (T81).
    fn map_average(
        &self,
        latest: &Self::Weights,
        average: &mut Self::Weights,
        share: f64,
        status: &mut Self::Status,
    );
    /// The same for a normalisation; copies its running statistics.
    fn normalize_average(
        &self,
        latest: &Self::Norm,
        average: &mut Self::Norm,
        share: f64,
        status: &mut Self::Status,
    );
    /// Moves the running statistics of a normalisation by this share towards those of the batch that it normalised last (T82).
    fn normalize_restate(&self, norm: &mut Self::Norm, scratch: &Self::Scratch, share: f64);
}
