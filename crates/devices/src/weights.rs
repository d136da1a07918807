//! Gaussian weights.

use super::{Map, Summed};
use std::ops::Range;
use tractable_core::error::Result;

/// Gaussian parameters as files and users see them: weights `[out, in]` (dense) or `[out, in, row, column]`
/// (convolution), one bias per output channel; batch normalisation has one weight and one bias per channel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters {
    /// Means of the weights.
    pub mean: Vec<f64>,
    /// Their variances.
    pub var: Vec<f64>,
    /// Means of the biases.
    pub bias_mean: Vec<f64>,
    /// Their variances.
    pub bias_var: Vec<f64>,
}

/// The weights of maps.
pub trait Weighted: Summed {
    /// Gaussian weights of a [`Map`], in the device's own layout.
    type Weights: Send + Sync;

    /// Bytes that the weights of a map take.
    fn bytes(&self, map: &Map) -> u64;
    /// Allocates the weights of a map, all zero.
    fn weights(&self, map: Map) -> Result<Self::Weights>;
    /// Sets the weights and biases of some output channels; `p` are theirs alone.
    fn set_weights(&self, w: &mut Self::Weights, outputs: Range<usize>, p: &Parameters) -> Result<()>;
    /// The weights and biases of some output channels; those beyond the last are left out.
    fn weights_parameters(&self, w: &Self::Weights, outputs: Range<usize>) -> Result<Parameters>;
}
