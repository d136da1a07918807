//! Rows of a data set on a device.

use super::{NoiseVar, States};
use tractable_core::error::Result;
use tractable_core::shape::{Change, Shape};

/// Tables of known rows, from which batches are gathered.
pub trait Tables: States {
    /// Rows of a data set.
    type RowStore: Send + Sync;

    /// Allocates a table for this many samples of this shape.
    fn table(&self, shape: Shape, rows: usize) -> Result<Self::RowStore>;
    /// Sets rows from `first` on, `[rows, shape.len()]`.
    fn table_write(&self, table: &mut Self::RowStore, first: usize, values: &[f64]) -> Result<()>;
    /// Sets the batch to these rows, known exactly.
    fn gather(&self, table: &Self::RowStore, rows: &[usize], state: &mut Self::State);
}

/// A device that keeps a whole data set, with its bytes and targets, because sending every batch from the host is too slow.
pub trait DataSets<B: Tables> {
    /// Images as bytes. `scaled` has the number for every byte of a channel, `greys` the numbers for every image's hole, channel by
    /// channel, unless there are no holes.
    fn images(&self, shape: Shape, pixels: &[u8], scaled: &[f32], greys: &[f32]) -> Result<B::RowStore>;
    /// Sets the batch to these images, changed if there are changes.
    fn gather_images(&self, images: &B::RowStore, rows: &[usize], changes: &[Change], state: &mut B::State);
    /// Innovation of the output given these rows of a table of targets, in which NaN means not observed.
    fn observe_rows(
        &self,
        input: &B::State,
        output: &mut B::State,
        targets: &B::RowStore,
        rows: &[usize],
        noise: NoiseVar<'_>,
    );
}
