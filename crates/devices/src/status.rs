//! What kernels record: numbers that are not finite, and limited steps.

use super::States;
use tractable_core::error::Result;

/// A state that is not finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Broken {
    /// Its number; 0 is the input.
    pub state: usize,
    /// The first such row.
    pub row: usize,
    /// The number there.
    pub value: f64,
}

/// What a device recorded since the last query.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Noted {
    /// The first state that was not finite. While it is set, parameters are not updated.
    pub broken: Option<Broken>,
    /// Limited and repaired parameters.
    pub tally: Tally,
}

impl Noted {
    pub(crate) fn note(&mut self, broken: Option<Broken>) {
        self.broken = self.broken.or(broken);
    }
}

/// Numbers of parameters that were limited or repaired.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Limited.
    pub capped: u64,
    /// Repaired.
    pub repaired: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.capped += other.capped;
        self.repaired += other.repaired;
    }
}

/// Checks of states, which record and do not return.
pub trait Checks: States {
    /// Errors, and counts of limited steps.
    type Status: Default + Send;

    /// An error if the host knows of one since the last call of `status`; does not wait for the device.
    fn lacks(&self, _: &mut Self::Status) -> Result<()> {
        Ok(())
    }
    /// What was recorded since the last call.
    fn status(&self, status: &mut Self::Status) -> Result<Noted>;
    /// Records the first of these states, in order, that is not finite, unless the last one is finite.
    fn check_states(&self, states: &[Self::State], status: &mut Self::Status);
    /// Records whether the innovation of a state is not finite.
    fn check_innovation(&self, state: &Self::State, number: usize, status: &mut Self::Status);
}
