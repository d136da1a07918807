//! Derivatives of an output by the units of dense layers.

use super::Weighted;
use tractable_core::error::Result;
use tractable_core::moments::Activation;
use tractable_core::moments::derivative::Gate;

/// The units of a layer: their pre-activations, and what an activation makes of them (the same state where there is
/// none).
pub struct Units<'a, S> {
    /// Pre-activations.
    pub z: &'a S,
    /// The activation.
    pub activation: Activation,
    /// What it makes of them.
    pub a: &'a S,
}

/// The chain rule.
pub trait Derivatives: Weighted {
    /// The derivative of an output by the units of one layer for a batch.
    type Derivative: Default + Send;

    /// The derivative of one output by its own pre-activation.
    fn derivative_output(&self, units: Units<'_, Self::State>, output: usize, d: &mut Self::Derivative);
    /// The derivative by the units below a dense map, or without weights below a sum, from that by the units above it; `more` adds to what
    /// is there.
    #[allow(clippy::too_many_arguments)]
    fn derivative_below(
        &self,
        w: Option<&Self::Weights>,
        scratch: &mut Self::Scratch,
        below: Units<'_, Self::State>,
        above: Units<'_, Self::State>,
        d_above: &Self::Derivative,
        gate: Gate,
        more: bool,
        d: &mut Self::Derivative,
    );
    /// Mean, variance and covariance with the units, `[rows, width]` each.
    fn derivative_read(&self, d: &Self::Derivative) -> Result<[Vec<f64>; 3]>;
}
