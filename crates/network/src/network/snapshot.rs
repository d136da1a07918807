//! Everything that learning changes, saved to restore it.

use super::Network;
use crate::layer::Contents;
use crate::output::{NoiseStd, Output};
use tractable_core::error::Result;

/// Parameters and noise of a network at some point.
pub(crate) struct Snapshot {
    contents: Vec<Contents>,
    output: Output,
    noise: NoiseStd,
    noise_rows: Vec<f64>,
    averaged: u64,
}

impl Network {
    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        let (output, noise) = (self.spec.output, self.spec.noise.clone());
        let noise_rows = self.spec.noise_rows.clone();
        let averaged = self.spec.averaged;
        Ok(Snapshot { contents: self.all_contents()?, output, noise, noise_rows, averaged })
    }

    pub(crate) fn go_back(&mut self, to: &Snapshot) -> Result<()> {
        self.refill(&to.contents)?;
        (self.spec.output, self.spec.noise) = (to.output, to.noise.clone());
        self.spec.noise_rows.clone_from(&to.noise_rows);
        self.spec.averaged = to.averaged;
        self.engine.set_noise(self.spec.inferred_noise());
        Ok(())
    }
}
