//! Sums over batches, and their conversion to numbers for other workers.

use super::driver::{self, Buffer};
use crate::Pooled;
use tractable_core::error::Result;
use tractable_core::workers::Numbers;

/// Sums of a map `[2][outputs][weight_stride]`, or of a normalisation, and their number.
pub enum Sums {
    Map(Buffer<f32>, usize),
    Norm(Buffer<f64>, usize),
    /// There was no memory for them.
    Failed(String),
}

/// Sums of a channel of a normalisation: four for the parameters; mean, variance and count of its values.
pub(super) const OF_CHANNEL: usize = 7;

impl Sums {
    /// Appends the numbers, which add up over workers.
    pub(super) fn read(&self, many: &mut Numbers, few: &mut Vec<f64>) -> Result<()> {
        match self {
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

    /// The reverse: reads from index `at`; returns the index after the last number read.
    pub(super) fn write(
        &mut self,
        many: &Numbers,
        at: usize,
        few: &mut dyn Iterator<Item = f64>,
    ) -> Result<usize> {
        match self {
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
