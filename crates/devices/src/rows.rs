//! Rows: slopes of a few outputs for every sample, and their covariance.

use super::{Field, States};
use tractable_core::error::Result;

/// Rows, and what they spread. `*_back` takes rows down like a batch of that many samples.
pub trait Rows: States {
    /// A covariance of a few rows with each other, for every sample.
    type Spread: Default + Send;

    /// Makes room for `k` rows a sample: innovations of means, laid out like the state `of`.
    fn rows(&self, of: &Self::State, k: usize, rows: &mut Self::State);
    /// Covariances that are zero, of `k` rows of every sample of a state.
    fn spread_begin(&self, of: &Self::State, k: usize, spread: &mut Self::Spread);
    /// Adds what the units of a state add, independent of each other with variances `field`.
    fn spread_add(&self, of: &Self::State, field: Field, rows: &Self::State, spread: &mut Self::Spread);
    /// `[samples, k, k]`.
    fn spread_read(&self, spread: &Self::Spread) -> Result<Vec<f64>>;
}
