//! Kernels that treat every unit by itself: activations, sums of layers, posteriors of states.

use super::{Purpose, States};
use tractable_core::moments::Activation;

/// Unit by unit.
pub trait Unitwise: States {
    /// The activation of every unit.
    fn activate(&self, activation: Activation, z: &Self::State, a: &mut Self::State, purpose: Purpose);
    /// Takes innovations down; `forward` has the slopes: `a` itself or the state whose rows these are.
    fn activate_back(&self, forward: &Self::State, a: &Self::State, z: &mut Self::State);
    /// The sum of these states, which are treated as independent.
    fn add(&self, states: &[Self::State], numbers: &[usize], z: &mut Self::State);
    /// A term of a sum has the innovation of the sum.
    fn add_back(&self, z: &Self::State, x: &mut Self::State);
    /// Adds the innovation of one state to that of another.
    fn add_innovation(&self, more: &Self::State, x: &mut Self::State);
    /// Nothing was learned about a state.
    fn forget_innovation(&self, state: &mut Self::State);
    /// The state's posterior becomes its prior.
    fn posterior(&self, state: &mut Self::State);
}
