//! Batch normalisation.

use super::{Parameters, Purpose, Steps, Summed};
use tractable_core::error::Result;
use tractable_core::moments::merge;

/// Statistics of batch normalisation, one entry per channel, and how fast the running ones follow.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// Running means.
    pub mean: Vec<f64>,
    /// Running variances.
    pub var: Vec<f64>,
    /// The part of the running statistics that a batch leaves.
    pub momentum: f64,
    /// Added to variances.
    pub epsilon: f64,
}

impl Statistics {
    /// Moves the running statistics towards those of batches.
    pub(crate) fn follow(&mut self, batch: &Pooled) {
        for (running, batch) in [(&mut self.mean, &batch.mean), (&mut self.var, &batch.var)] {
            for (r, b) in running.iter_mut().zip(batch) {
                *r = self.momentum * *r + (1.0 - self.momentum) * b;
            }
        }
    }

    /// T82. Moves them by this share towards other statistics.
    pub(crate) fn restate(&mut self, mean: &[f64], var: &[f64], share: f64) {
        for (running, batch) in [(&mut self.mean, mean), (&mut self.var, var)] {
            for (r, b) in running.iter_mut().zip(batch) {
                *r = if share < 1.0 { *r + share * (b - *r) } else { *b };
            }
        }
    }
}

/// Adds numbers over all workers that share a batch.
pub type Together<'a> = &'a mut dyn FnMut(&mut [f64]) -> Result<()>;

/// What the way back takes from every innovation of a channel (T73): the means of `d_mean`, then of `x d_mean`, for all channels. They are those
/// of a batch with this many values a channel or, `together`, of all workers' parts of one. Nothing for one value, which has no statistics.
pub(crate) fn common(
    values: f64,
    [of_shift, of_scale]: [&[f64]; 2],
    together: Option<Together<'_>>,
    to: &mut Vec<f64>,
) -> Result<()> {
    to.clear();
    to.extend(of_shift.iter().chain(of_scale).chain(&[values]));
    together.map_or(Ok(()), |together| together(to))?;
    let values = to.pop().expect("it was put there");
    to.iter_mut().for_each(|sum| *sum /= values);
    if values <= 1.0 {
        to.clear();
    }
    Ok(())
}

/// Mean and variance of every channel over one batch or several.
#[derive(Debug, Default)]
pub(crate) struct Pooled {
    pub(crate) mean: Vec<f64>,
    pub(crate) var: Vec<f64>,
    /// Values of a channel.
    pub(crate) count: f64,
}

impl Pooled {
    pub(crate) fn clear(&mut self) {
        self.mean.clear();
        self.var.clear();
        self.count = 0.0;
    }

    /// As sums that add up over workers: values, then first and second moments (T67).
    pub(crate) fn read(&self, channels: usize, to: &mut Vec<f64>) {
        let of = |v: &[f64], c: usize| v.get(c).copied().unwrap_or(0.0);
        to.push(self.count);
        to.extend((0..channels).map(|c| self.count * of(&self.mean, c)));
        to.extend((0..channels).map(|c| self.count * (of(&self.var, c) + of(&self.mean, c).powi(2))));
    }

    /// The reverse.
    pub(crate) fn write(&mut self, channels: usize, from: &mut dyn Iterator<Item = f64>) {
        self.clear();
        self.count = from.next().unwrap_or(0.0);
        let first: Vec<f64> = from.take(channels).collect();
        for (first, second) in first.into_iter().zip(from.take(channels)) {
            if let Some((mean, var)) = merge::pooled(self.count, first, second) {
                self.mean.push(mean);
                self.var.push(var);
            }
        }
    }

    /// Adds a batch with this many values per channel.
    pub(crate) fn add(&mut self, mean: &[f64], var: &[f64], count: f64) {
        if self.count == 0.0 {
            self.mean.extend_from_slice(mean);
            self.var.extend_from_slice(var);
        } else {
            let share = count / (self.count + count);
            for c in 0..mean.len() {
                let off = mean[c] - self.mean[c];
                self.mean[c] += share * off;
                self.var[c] += share * (var[c] - self.var[c]) + share * (1.0 - share) * off * off;
            }
        }
        self.count += count;
    }
}

/// Batch normalisation with Gaussian scale and shift.
pub trait Norms: Summed {
    /// Scale, shift and running statistics.
    type Norm: Send + Sync;

    /// Puts a normalisation on the device.
    fn norm(&self, parameters: &Parameters, statistics: &Statistics) -> Result<Self::Norm>;
    /// Reads it back.
    fn norm_parameters(&self, norm: &Self::Norm) -> Result<(Parameters, Statistics)>;
    /// The normalised units.
    fn normalize(
        &self,
        norm: &Self::Norm,
        scratch: &mut Self::Scratch,
        x: &Self::State,
        z: &mut Self::State,
        purpose: Purpose,
    );
    /// While learning, before the two below: sums over the batch of what its innovations say. If several workers share the batch, and its
    /// statistics were theirs, `together` adds numbers over them; only then can it fail.
    fn normalize_total(
        &self,
        norm: &Self::Norm,
        scratch: &mut Self::Scratch,
        x: &Self::State,
        z: &Self::State,
        together: Option<Together<'_>>,
    ) -> Result<()>;
    /// Takes innovations down, after a pass that learns through the statistics of the batch. `of` is the state that was normalised, if
    /// `x` only receives its innovation.
    fn normalize_back(
        &self,
        norm: &Self::Norm,
        scratch: &Self::Scratch,
        of: Option<&Self::State>,
        z: &Self::State,
        x: &mut Self::State,
    );
    /// Zero sums.
    fn normalize_sums(&self, norm: &Self::Norm) -> Self::Sums;
    /// Adds what a batch says, this worker's part of it.
    fn normalize_accumulate(&self, norm: &Self::Norm, scratch: &Self::Scratch, sums: &mut Self::Sums);
    /// Updates scale and shift, and moves the running statistics towards those of the batches.
    fn normalize_apply(
        &self,
        norm: &mut Self::Norm,
        sums: &Self::Sums,
        steps: Steps,
        status: &mut Self::Status,
    );
}
