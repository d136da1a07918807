//! Mini-batches of a value network and its policy that a device learns in one call.

use super::{Map, Parameters, Steps};
use tractable_core::error::Result;
use tractable_core::moments::Activation;

/// Maximum number of rows of a mini-batch.
pub const MOST_ROWS: usize = 16;

/// A dense layer, and the activation above it.
pub type Dense = (Map, Activation);

/// Two networks on a device, numbered 0 (value) and 1 (policy).
pub trait Lessons: Send + Sync {
    fn fill(&mut self, net: usize, layer: usize, parameters: &Parameters) -> Result<()>;
    fn parameters(&self, net: usize, layer: usize) -> Result<Parameters>;
    /// Learns all mini-batches. Unless a number is not finite, both networks have then learned.
    fn run(&mut self, lesson: &Given<'_>) -> Result<Told>;
}

/// A rollout, row by row, and how to learn it.
pub struct Given<'a> {
    pub states: &'a [f64],
    pub actions: &'a [f64],
    pub returns: &'a [f64],
    /// Variance of the noise of every return.
    pub noise: &'a [f64],
    /// Variance of the noise of an inferred action.
    pub policy_noise: f64,
    /// Rows in the order of learning, epoch after epoch.
    pub order: &'a [usize],
    pub batch: usize,
    /// Rounds of inference, and whether actions are clipped to ±1.
    pub rounds: usize,
    pub clip: bool,
    /// For every network and layer: steps of a whole mini-batch, and of a shorter last one.
    pub steps: [Vec<[Steps; 2]>; 2],
}

/// What became of a lesson.
#[derive(Debug, Default)]
pub struct Told {
    /// Network, layer and row of a number that is not finite.
    pub broken: Option<(usize, usize, usize)>,
    pub capped: [u64; 2],
    pub repaired: [u64; 2],
    /// Sums over all actions: standard deviation, size, move, slope over its standard deviation.
    pub sums: [f64; 4],
}
