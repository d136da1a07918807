//! Pooling.

use super::States;
use tractable_core::shape::Window;

/// Which pooling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// The mean of a window.
    Average,
    /// The unit with the largest mean.
    Max,
}

/// Pooling of windows.
pub trait Pooling: States {
    /// The pooled units.
    fn pool(&self, pool: Pool, window: Window, x: &Self::State, z: &mut Self::State);
    /// Takes innovations down; `forward` is the state that the pass forward left, `z` itself or the one whose rows these are.
    fn pool_back(
        &self,
        pool: Pool,
        window: Window,
        forward: &Self::State,
        z: &Self::State,
        x: &mut Self::State,
    );
}
