//! Sums from GPU to GPU, over workers that have one GPU each.

// With several GPUs each rank uses one: rank `r` on a machine takes `cuda:r`. Sums go through the host,
// or from GPU to GPU with NCCL (`cuda/team.rs`, `driver/nccl.rs`) if its library can be opened and no
// two ranks share a GPU; ranks agree on this at their first batch. NCCL does not add in the order of
// ranks, so its bits differ from those through the host.

use super::Cuda;
use super::driver::Team;
use tractable_core::error::Result;
use tractable_core::workers::{self, Transport};

impl Cuda {
    /// The team of all workers; `None` if NCCL is missing or two workers share a GPU.
    pub(super) fn form_team(&self, workers: &dyn Transport) -> Result<Option<Team>> {
        // Identifies a machine, since its last start, and one of its GPUs.
        let machine = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let mine =
            if Team::is_possible() { format!("{} {}", machine.trim(), self.ordinal) } else { String::new() };
        let mut all = workers::share(workers, mine.as_bytes())?;
        let (ranks, rank) = (all.len(), workers.rank());
        all.sort();
        all.dedup();
        if all.len() < ranks || all.contains(&Vec::new()) {
            return Ok(None);
        }
        let id = if rank == 0 { Team::id()? } else { Vec::new() };
        Team::join(&self.gpu, ranks, rank, &workers::share(workers, &id)?[0]).map(Some)
    }
}
