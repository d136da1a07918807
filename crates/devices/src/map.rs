//! Linear maps with Gaussian weights.

use super::{Purpose, Weighted};
use tractable_core::shape::{Shape, Window};

/// A linear map with Gaussian weights: dense (`window: None`) or a convolution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Map {
    /// Shape of the layer below.
    pub input: Shape,
    /// Shape of the layer itself.
    pub output: Shape,
    /// Of a convolution.
    pub window: Option<Window>,
}

impl Map {
    /// Inputs each output unit sees.
    pub fn fan_in(&self) -> usize {
        match self.window {
            None => self.input.len(),
            Some(w) => self.input.channels * w.kernel * w.kernel,
        }
    }
}

/// Linear maps, dense and convolutional.
pub trait Maps: Weighted {
    /// The map's output.
    fn map(
        &self,
        w: &Self::Weights,
        scratch: &mut Self::Scratch,
        x: &Self::State,
        z: &mut Self::State,
        purpose: Purpose,
    );
    /// Takes the innovations of the output down to the input.
    fn map_back(&self, w: &Self::Weights, scratch: &mut Self::Scratch, z: &Self::State, x: &mut Self::State);
}
