//! Statistics of batch normalisation, recomputed for averaged means.

use super::together::Learner;
use crate::layer::Layer;
use crate::network::{Network, Resident};
use tractable_core::error::Result;
use tractable_core::rng;
use tractable_core::workers::{self, Doing};

/// Batches that statistics are computed from.
const BATCHES: usize = 40;

impl Network {
    /// Recomputes running statistics with the parameters that predict, over random batches of these rows (T82). Workers share the batches.
    pub(super) fn restate_norms(
        &mut self,
        data: &mut Resident<'_>,
        rows: &[usize],
        batch: usize,
        (seed, epoch): (u64, usize),
        learner: &Learner<'_>,
    ) -> Result<()> {
        let norms: Vec<usize> = (0..self.layers().len())
            .filter(|&i| matches!(self.layers()[i], Layer::BatchNorm { .. }))
            .collect();
        if norms.is_empty() || !self.is_paced() {
            return Ok(());
        }
        let mut drawn = rows.to_vec();
        rng::shuffle(&mut drawn, &mut rng::stream(seed, "statistics", epoch as u64));
        data.begin(seed, epoch);
        let workers = learner.workers();
        let (rank, ranks) = workers.map_or((0, 1), |w| (w.rank(), w.ranks()));
        let mut mine = 0;
        // A smaller rest would count as much as a batch.
        for rows in
            drawn.chunks(batch).take((drawn.len() / batch).clamp(1, BATCHES)).skip(rank).step_by(ranks)
        {
            mine += 1;
            self.restate(data, rows, 1.0 / f64::from(mine))?;
        }
        self.learned(0)?;
        let Some(workers) = workers else { return Ok(()) };
        let mut sums = vec![f64::from(mine)];
        let all = norms.iter().map(|&i| Ok(self.contents(i)?.unwrap_or_default()));
        let mut all = all.collect::<Result<Vec<_>>>()?;
        for (mean, var) in all.iter().filter_map(|c| c.running.as_ref()) {
            sums.extend(mean.iter().chain(var).map(|v| f64::from(mine) * v));
        }
        workers::add_few(workers, Doing::Normalizing, &mut sums)?;
        let (count, mut sums) = (sums[0], sums[1..].iter());
        for (&i, contents) in norms.iter().zip(&mut all) {
            let (mean, var) = contents.running.get_or_insert_default();
            for (v, sum) in mean.iter_mut().chain(var).zip(&mut sums) {
                *v = sum / count;
            }
            self.fill(i, 0..contents.parameters.bias_mean.len(), contents)?;
        }
        Ok(())
    }
}
