//! Searches with known weights that stay on a device between rounds.

use super::States;
use tractable_core::error::Result;

/// The sizes of searches, and the scaler of the input.
pub struct WalkForm {
    /// Their maximum number.
    pub slots: usize,
    /// The input's width.
    pub width: usize,
    /// The outputs each of them uses.
    pub k: usize,
    /// Means, then standard deviations.
    pub scale: Vec<f64>,
}

impl WalkForm {
    /// Length of a search's record, in the user's units: position, variance, lowest, highest and start, `width` each; then `k` outputs (-1: none), `k`
    /// wanted values, whether one of them is enough, and the maximum distance from the start.
    pub fn record(&self) -> usize {
        5 * self.width + 2 * self.k + 2
    }
}

/// A device on which searches stay.
pub trait Walks<B: States> {
    /// Room for searches; `None` if they use too many outputs.
    fn walk(&self, form: WalkForm) -> Result<Option<Box<dyn Walk<B::State>>>>;
}

/// The slots of searches.
pub trait Slots: Send {
    /// Puts records into slots.
    fn enter(&mut self, slots: &[usize], records: &[f64]) -> Result<()>;
    /// Moves these searches to the computed positions.
    fn go(&mut self, slots: &[usize]) -> Result<()>;
    /// The positions of these slots.
    fn places(&mut self, slots: &[usize]) -> Result<Vec<f64>>;
}

/// Searches on a device whose states are `S`. In a round, `place` sets the input of a pass, `rows` sets the rows of its output, and after both
/// have gone through the network, `step` computes where every search moves next (T51).
pub trait Walk<S>: Slots {
    /// Makes the positions of these slots the rows of an input.
    fn place(&mut self, slots: &[usize], input: &mut S);
    /// Sets the rows of the outputs that the placed searches use.
    fn rows(&self, rows: &mut S);
    /// Computes where the placed searches move, from the output and the rows at the input. An error if one of them has failed.
    fn step(&self, input: &S, output: &S, rows: &S) -> Result<()>;
}
