//! Sums over batches, and their conversion to numbers for other workers.

use super::Cuda;
use super::driver::{self, Buffer};
use crate::{Pooled, Summed};
use tractable_core::error::Result;
use tractable_core::workers::{self, Numbers, Transport};

/// Sums of a map `[2][outputs][weight_stride]`, or of a normalisation, and their number.
pub enum Sums {
    Map(Buffer<f32>, usize),
    Norm(Buffer<f64>, usize),
    /// There was no memory for them.
    Failed(String),
}

/// Sums of a channel of a normalisation: four for the parameters; mean, variance and count of its values.
pub(super) const OF_CHANNEL: usize = 7;

impl Summed for Cuda {
    type Sums = Sums;

    fn clear(&self, sums: &mut Sums) {
        match sums {
            Sums::Map(buffer, n) => buffer.clear(*n),
            Sums::Norm(buffer, n) => buffer.clear(*n),
            Sums::Failed(_) => {}
        }
    }

    fn check_sums(&self, sums: &Sums) -> Result<()> {
        match sums {
            Sums::Failed(why) => Err(driver::failed(why.clone())),
            _ => Ok(()),
        }
    }

    /// Adds up over all workers; returns false if NCCL is missing or two workers share a GPU.
    fn sums_add(&self, sums: &[&Sums], workers: &dyn Transport) -> Result<bool> {
        if workers.ranks() == 1 {
            return Ok(false);
        }
        if self.team.get().is_none() {
            let team = self.form_team(workers)?;
            // Only one thread decides: workers that share a GPU cannot form a team.
            let _ = self.team.set(team);
        }
        let Some(Some(team)) = self.team.get() else { return Ok(false) };
        // What is queued may fail: before the workers agree to begin.
        self.gpu.launch_all()?;
        let all = sums.iter().map(|sums| match sums {
            Sums::Failed(why) => Err(driver::failed(why.clone())),
            Sums::Map(numbers, n) => Ok(Some((numbers, *n))),
            Sums::Norm(..) => Ok(None),
        });
        let all: Vec<_> = all.collect::<Result<_>>()?;
        // A worker that failed says so here; NCCL would wait for it for ever.
        workers::share(workers, &[])?;
        let mut added = all.into_iter().flatten().try_for_each(|(numbers, n)| team.add(numbers, n));
        if added.is_ok() {
            // Nor would it end a sum that another worker could not begin.
            added = workers::share(workers, &[]).map(drop);
        }
        if added.is_err() {
            team.give_up();
        }
        added.map(|()| true)
    }

    fn sums_read(&self, sums: &Sums, many: &mut Numbers, few: &mut Vec<f64>) -> Result<()> {
        match sums {
            Sums::Map(sums, n) => many.extend(sums.read(*n)?.into_iter().map(f64::from)),
            Sums::Norm(sums, n) => {
                let (all, channels) = (sums.read(*n)?, n / OF_CHANNEL);
                let (of_parameters, of_values) = all.split_at(4 * channels);
                few.extend_from_slice(of_parameters);
                let part = |j: usize| of_values.chunks_exact(3).map(|v| v[j]).collect::<Vec<_>>();
                Pooled { mean: part(0), var: part(1), count: of_values[2] }.read(channels, few);
            }
            Sums::Failed(why) => return Err(driver::failed(why.clone())),
        }
        Ok(())
    }

    fn sums_write(
        &self,
        sums: &mut Sums,
        many: &Numbers,
        at: usize,
        few: &mut dyn Iterator<Item = f64>,
    ) -> Result<usize> {
        match sums {
            Sums::Map(sums, n) => {
                sums.write(0, &(at..at + *n).map(|i| many.get(i) as f32).collect::<Vec<_>>());
                Ok(at + *n)
            }
            Sums::Norm(sums, n) => {
                let channels = *n / OF_CHANNEL;
                let mut all: Vec<f64> = (&mut *few).take(4 * channels).collect();
                let mut pooled = Pooled::default();
                pooled.write(channels, few);
                let of = |v: &[f64], c: usize| v.get(c).copied().unwrap_or(0.0);
                all.extend(
                    (0..channels).flat_map(|c| [of(&pooled.mean, c), of(&pooled.var, c), pooled.count]),
                );
                sums.write(0, &all);
                Ok(at)
            }
            Sums::Failed(why) => Err(driver::failed(why.clone())),
        }
    }
}
