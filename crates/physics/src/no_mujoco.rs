//! Replaces `mujoco` if that feature is off: a simulator that cannot be created.

use tractable_core::error::Result;

#[derive(Debug, Clone)]
pub(super) enum Simulator {}

impl Simulator {
    pub(super) fn state(&self) -> Vec<f64> {
        match *self {}
    }

    pub(super) fn restore(&mut self, _: &[f64]) -> Result<()> {
        match *self {}
    }

    pub(super) fn step(&mut self, _: &[f64], _: usize) -> Result<()> {
        match *self {}
    }

    pub(super) fn positions_and_velocities<const N: usize>(&self) -> ([f64; N], [f64; N]) {
        match *self {}
    }
}
