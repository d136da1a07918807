//! States: what a device holds for the units of one layer and a batch, and how samples get in and out.

use tractable_core::error::Result;
use tractable_core::shape::Shape;

/// Purpose of a forward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A prediction.
    Predict,
    /// A normalisation uses the statistics of the batch, not the running ones.
    Learn,
    /// Layers record their own part of a variance.
    Rows,
}

/// What a state holds for every unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Mean.
    Mean,
    /// Variance.
    Var,
    /// cov(a, z)/var(z) of an activation.
    Slope,
    /// The part of the variance that is the layer's own: from its weights, or from the nonlinear part of an activation.
    /// Filled by a pass for [`Purpose::Rows`].
    Own,
    /// Normalised innovation of the mean, (posterior - prior)/var.
    DMean,
    /// Normalised innovation of the variance, (posterior - prior)/var^2.
    DVar,
}

/// The prior part of a state.
pub const PRIOR: [Field; 2] = [Field::Mean, Field::Var];
/// Its innovation.
pub const INNOVATION: [Field; 2] = [Field::DMean, Field::DVar];

/// The states of a device: mean and variance of one layer for a batch and, on the way back, its normalised innovations.
pub trait States: Send + Sync + 'static {
    /// Hidden state of one layer for a batch.
    type State: Send;
    /// Work memory of a layer's kernels, and what they computed from the batch shape.
    type Scratch: Default + Send;

    /// Whether numbers are kept in f64.
    fn is_double(&self) -> bool;
    /// Numbers that one sample takes in a state of this shape.
    fn numbers(&self, shape: Shape) -> usize;
    /// A state of this shape.
    fn state(&self, shape: Shape) -> Self::State;
    /// Makes a state of the same shape ready for the innovations of another.
    fn like(&self, state: &Self::State, spare: &mut Self::State);
    /// Sets the batch: means and, unless exact, variances, `[rows, shape.len()]`.
    fn write(&self, state: &mut Self::State, mean: &[f64], var: Option<&[f64]>) -> Result<()>;
    /// One number of every unit, `[rows, shape.len()]`.
    fn read(&self, state: &Self::State, field: Field) -> Result<Vec<f64>>;
    /// The same into a buffer, for devices that can avoid allocating.
    fn read_into(&self, state: &Self::State, field: Field, to: &mut Vec<f64>) -> Result<()> {
        *to = self.read(state, field)?;
        Ok(())
    }
}
