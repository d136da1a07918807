//! Fused layers.

use super::{Steps, Weighted};
use tractable_core::shape::Window;

/// The first layers of a network that learns, fused: a convolution, ReLU and average pooling.
pub trait Joins<B: Weighted> {
    /// Whether these layers can be fused for the batch `x`.
    fn joins(&self, w: &B::Weights, pool: Window, x: &B::State) -> bool;
    /// Computes `pooled` alone.
    fn join(
        &self,
        w: &B::Weights,
        scratch: &mut B::Scratch,
        pool: Window,
        x: &B::State,
        pooled: &mut B::State,
    );
    /// Makes room for what `join_learn` needs, as [`map_reserve`](super::Learning::map_reserve) does.
    fn join_reserve(
        &self,
        w: &B::Weights,
        scratch: &mut B::Scratch,
        x_pooled: [&B::State; 2],
        status: &mut B::Status,
    );
    /// Learns the convolution from the innovation of `pooled`.
    fn join_learn(
        &self,
        w: &mut B::Weights,
        scratch: &mut B::Scratch,
        pool: Window,
        x_pooled: [&B::State; 2],
        steps: Steps,
        status: &mut B::Status,
    );
}
