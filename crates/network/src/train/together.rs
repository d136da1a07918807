//! How a fit learns its batches: alone, or together with other workers.

// `train/together.rs` decides which worker learns which part of a batch. With `Sync::Batch` each
// worker computes a part of it (`Network::accumulate`), the sums are added, and all workers apply
// them. Batch normalisation adds its statistics over all workers during the pass, and on the way back
// what innovations have in common (`Layers::normalize_together`), and random changes to images are
// drawn for the whole batch, so that the result is that of one process. If a batch has fewer rows
// than workers, every worker learns all of it. With `Sync::Every` workers learn their own rows and
// merge. In the program only the first process prints and writes (`team.rs`). At the end of every
// epoch the workers' networks are compared, because different processors may round differently.

use crate::network::{Mark, Network, Resident};
use std::ops::Range;
use tractable_core::error::{Error, Result};
use tractable_core::fnv;
use tractable_core::workers::{self, Transport};

/// When workers that [fit together](Network::fit_together) exchange what they learned.
///
/// ```
/// use tractable::train::Sync;
/// assert_ne!(Sync::Batch, Sync::Every(1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// Every batch: each worker computes an equal part of it, and the sums of all make one update.
    Batch,
    /// Each worker learns its own rows (with P workers, every P-th row), and increments are merged after this many batches and
    /// at the end of every epoch.
    Every(usize),
}

/// Which worker learns which rows.
pub(super) enum Learner<'w> {
    Alone,
    Batch(&'w dyn Transport),
    Every { workers: &'w dyn Transport, every: usize, batches: usize, mark: Option<Mark> },
}

impl<'w> Learner<'w> {
    pub(super) fn new(workers: &'w dyn Transport, sync: Sync) -> Result<Self> {
        match sync {
            Sync::Every(0) => Err(Error::invalid("sync", "must be at least 1 batch")),
            Sync::Batch => Ok(Learner::Batch(workers)),
            Sync::Every(every) => Ok(Learner::Every { workers, every, batches: 0, mark: None }),
        }
    }

    pub(super) fn workers(&self) -> Option<&'w dyn Transport> {
        match self {
            Learner::Alone => None,
            Learner::Batch(workers) | Learner::Every { workers, .. } => Some(*workers),
        }
    }

    /// Checks that all workers start from the same network and learn the same rows.
    pub(super) fn begin(&self, net: &Network, rows: &[usize]) -> Result<()> {
        let Some(workers) = self.workers() else { return Ok(()) };
        if let (Learner::Every { .. }, true) = (self, net.is_paced()) {
            return Err(Error::invalid("sync", "a paced network must learn every batch together"));
        }
        workers::agree(workers, "network", &net.mark()?.identity())?;
        let hash = fnv::fnv1a_64(fnv::EMPTY, rows.iter().flat_map(|r| r.to_le_bytes()));
        workers::agree(workers, "number of rows", &hash.to_le_bytes())
    }

    /// The rows that this worker learns.
    pub(super) fn shard(&self, rows: Vec<usize>) -> Vec<usize> {
        match self {
            Learner::Every { workers, .. } => {
                rows.into_iter().skip(workers.rank()).step_by(workers.ranks()).collect()
            }
            _ => rows,
        }
    }

    /// Batches of an epoch: as many as the largest shard has.
    pub(super) fn rounds(&self, rows: usize, batch: usize) -> Range<usize> {
        0..rows.div_ceil(self.side_by_side()).div_ceil(batch)
    }

    /// Rows of all workers after a round.
    pub(super) fn done(&self, round: usize, batch: usize, rows: usize) -> usize {
        ((round + 1) * batch * self.side_by_side()).min(rows)
    }

    /// Workers that have rows.
    fn side_by_side(&self) -> usize {
        match self {
            Learner::Every { workers, .. } => workers.ranks(),
            _ => 1,
        }
    }

    /// Learns a batch; a shard may have none left.
    pub(super) fn learn(&mut self, net: &mut Network, data: &mut Resident<'_>, rows: &[usize]) -> Result<()> {
        match self {
            Learner::Alone => net.learn_rows(data, rows),
            Learner::Batch(workers) => net.learn_rows_together(data, rows, *workers),
            Learner::Every { every, batches, mark, .. } => {
                if mark.is_none() {
                    *mark = Some(net.mark()?);
                }
                if !rows.is_empty() {
                    net.learn_rows(data, rows)?;
                }
                *batches += 1;
                match *batches == *every {
                    true => self.merge(net),
                    false => Ok(()),
                }
            }
        }
    }

    /// Merges what has not been merged yet, and checks that all workers have the same network. The next batch starts from a new mark, because
    /// the noise may change between epochs.
    pub(super) fn merge(&mut self, net: &mut Network) -> Result<()> {
        match self {
            // Different processors may round differently; without this check, networks would drift apart unnoticed.
            Learner::Batch(workers) => workers::agree(*workers, "network", &net.mark()?.identity()),
            Learner::Every { workers, batches, mark, .. } => {
                *batches = 0;
                mark.take().map_or(Ok(()), |mark| net.merge_together(&mark, *workers))
            }
            Learner::Alone => Ok(()),
        }
    }

    /// Whether any worker stops.
    pub(super) fn agree_to_stop(&self, stop: bool) -> Result<bool> {
        self.workers().map_or(Ok(stop), |workers| workers::any(workers, stop))
    }
}
