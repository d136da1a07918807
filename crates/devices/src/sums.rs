//! Sums: what batches say about the parameters of a layer, added up before it is applied.

use super::Checks;
use tractable_core::error::Result;
use tractable_core::workers::{Numbers, Transport};

/// Summed updates of one layer's parameters; for a normalisation also its statistics.
pub trait Summed: Checks {
    /// The sums.
    type Sums: Send + Sync;

    /// Makes them zero.
    fn clear(&self, sums: &mut Self::Sums);
    /// An error if there was no memory for these sums.
    fn check_sums(&self, _: &Self::Sums) -> Result<()> {
        Ok(())
    }
    /// Adds the sums of maps over all workers from device to device if possible; returns whether it did.
    fn sums_add(&self, _: &[&Self::Sums], _: &dyn Transport) -> Result<bool> {
        Ok(false)
    }
    /// Appends the sums as numbers that add up over workers: many, in the device's precision and order, and a few for each channel of a
    /// normalisation.
    fn sums_read(&self, sums: &Self::Sums, many: &mut Numbers, few: &mut Vec<f64>) -> Result<()>;
    /// The reverse: reads from index `at`; returns the index after the last number read.
    fn sums_write(
        &self,
        sums: &mut Self::Sums,
        many: &Numbers,
        at: usize,
        few: &mut dyn Iterator<Item = f64>,
    ) -> Result<usize>;
}
