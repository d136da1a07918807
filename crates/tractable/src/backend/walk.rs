//! Searches with known weights that stay on a device between rounds.

use crate::error::Result;

/// The form of searches: how many at most, the input's width, outputs each of them looks at, and the scaler of the input, means then
/// standard deviations.
pub(crate) struct WalkForm {
    pub(crate) slots: usize,
    pub(crate) width: usize,
    pub(crate) k: usize,
    pub(crate) scale: Vec<f64>,
}

impl WalkForm {
    /// Numbers of a search's record, in the user's units: place, variance, lowest, highest and start, `width` each; then `k` outputs (-1: none), `k`
    /// wishes, whether one of them is enough, and how far it may go from its start.
    pub(crate) fn record(&self) -> usize {
        5 * self.width + 2 * self.k + 2
    }
}

/// Searches on a device whose states are `S`. A round is: `place` sets the input of a pass, `rows` the rows of its output, and after both
/// have gone through the network `step` finds where every search goes next (T51).
pub(crate) trait Walk<S>: Send {
    /// Puts records into slots.
    fn enter(&mut self, slots: &[usize], records: &[f64]) -> Result<()>;
    /// The places of these slots become the rows of an input.
    fn place(&mut self, slots: &[usize], input: &mut S);
    /// Sets the rows of the outputs that the placed searches look at.
    fn rows(&self, rows: &mut S);
    /// Finds where the placed searches go, from the output and the rows at the input.
    fn step(&self, input: &S, output: &S, rows: &S);
    /// Moves these searches there.
    fn go(&mut self, slots: &[usize]) -> Result<()>;
    /// The places of these slots.
    fn read(&mut self, slots: &[usize]) -> Result<Vec<f64>>;
}
