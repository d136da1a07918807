//! The kernels a device must offer, and the devices.
//!
//! `reference` computes in f64 with plain loops: read it to understand the kernels. `cpu` computes in f32 and is
//! fast. Both call the same formulae in [`crate::moments`]. Nothing above this module knows a
//! device's memory layout: samples go in and come out as f64, channel by channel.

#[cfg(test)]
mod conformance;
mod cpu;
mod device;
mod reference;

pub(crate) use cpu::Cpu;
pub use device::Device;
pub(crate) use device::Handle;
pub(crate) use reference::Reference;

use crate::error::{Error, Result};
use crate::moments::Activation;
use crate::moments::derivative::Gate;
use crate::moments::merge;
use crate::moments::posterior::{Count, cap_for_batch};
use crate::shape::{Shape, Window};
use crate::workers::Numbers;
use std::ops::Range;

/// How the deltas of a batch are applied to a weight (`docs/equations.md`, T20, T21 and T39).
///
/// ```
/// use tractable::{Activation, Network, UpdateRule};
/// let net = Network::mlp([1, 8, 1], Activation::Tanh).update_rule(UpdateRule::Plain).build()?;
/// assert_eq!(net.update_rule(), UpdateRule::Plain);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum UpdateRule {
    /// Add the sum over the batch, as in the paper. Overcounts in batches of more than one sample if the
    /// noise is small: variances can fall below zero; they are then repaired and counted.
    Plain,
    /// The same sum with limited steps: a mean moves by at most `sqrt(var)/c` and a variance falls to no
    /// less than `var/c^2`, with c = 2 for 2 to 255 samples and 3 above. The update of a single sample is
    /// exact: its mean may move by ten standard deviations and its variance is not limited.
    #[default]
    Capped,
    /// Count every row once, however often it is seen: every row pulls all weights slightly back
    /// to their prior. Variances do not collapse, and the network keeps adapting. Steps are limited as in `Capped`. For a
    /// stream, `rows` is how many rows it remembers, and about how many it takes to adapt to a jump;
    /// [`forget`](crate::Network::forget) adapts faster.
    ///
    /// With [`Fit::anneal`](crate::Fit::anneal) a linear network reaches the exact posterior after any number of epochs, as far as
    /// independent weights allow: its predictive standard deviation is 0.98 of the exact one, its mean within 0.05 standard deviations, with
    /// any batch up to half of the rows. If a batch is all of the rows, limited steps make means converge only after hundreds of
    /// epochs. Single precision agrees with double for a million rows, and within a few per cent for ten million.
    Counted {
        /// Number of different rows.
        rows: usize,
        /// Added to `rows` to compute the pull. Weights treated as independent hold each other back if
        /// every row counts exactly once, more so the more there are; three per parameter let a network fit the data.
        margin: usize,
    },
}

impl UpdateRule {
    /// Each of this many rows counts once.
    ///
    /// ```
    /// use tractable::UpdateRule;
    /// assert_eq!(UpdateRule::counted(500), UpdateRule::Counted { rows: 500, margin: 0 });
    /// ```
    pub fn counted(rows: usize) -> Self {
        UpdateRule::Counted { rows, margin: 0 }
    }

    pub(crate) fn check(self) -> Result<()> {
        match self {
            UpdateRule::Counted { rows: 0, .. } => {
                Err(Error::invalid("update rule", "must count at least one row"))
            }
            _ => Ok(()),
        }
    }
}

/// A rule, and the current weight of a batch: 1, or less towards the end of a fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Update {
    pub(crate) rule: UpdateRule,
    pub(crate) weight: f64,
}

/// Prior of the parameters of a layer: `[mean, variance]` of a weight and of a bias.
pub(crate) type Priors = [[f64; 2]; 2];

impl Update {
    /// The step of weights and of biases for a batch of this many rows. If a weight is used at several `positions`, even
    /// one sample is a sum of several.
    pub(crate) fn steps(self, rows: usize, positions: usize, priors: Priors) -> Steps {
        let cap = cap_for_batch(if positions > 1 { rows.max(2) } else { rows });
        priors.map(|[mean, var]| match self.rule {
            UpdateRule::Plain => Step::Plain,
            UpdateRule::Capped => Step::Capped(cap),
            UpdateRule::Counted { rows: all, margin } => {
                // As if row by row: the last rows of a batch make it forget a little of the first.
                let one = (self.weight / (all as f64 + margin as f64)).min(1.0);
                let share = -libm::expm1(rows as f64 * libm::log1p(-one));
                let weight = self.weight * share / (rows as f64 * one);
                Step::Counted(Count { weight, share, mean, precision: 1.0 / var, cap })
            }
        })
    }
}

/// How parameters follow the sums of a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Step<R> {
    Plain,
    Capped(R),
    Counted(Count<R>),
}

/// Of the weights and of the biases of a layer.
pub(crate) type Steps = [Step<f64>; 2];

/// A state that is not finite: its number (0 is the input), row, value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Broken {
    pub(crate) state: usize,
    pub(crate) row: usize,
    pub(crate) value: f64,
}

/// What a device recorded since the last query.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Noted {
    /// The first state that was not finite. While it is set, parameters are not updated.
    pub(crate) broken: Option<Broken>,
    pub(crate) tally: Tally,
}

impl Noted {
    fn note(&mut self, broken: Option<Broken>) {
        self.broken = self.broken.or(broken);
    }
}

/// Numbers of parameters that were limited or repaired.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) capped: u64,
    pub(crate) repaired: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.capped += other.capped;
        self.repaired += other.repaired;
    }
}

/// A linear map with Gaussian weights: dense (`window: None`) or a convolution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Map {
    pub(crate) input: Shape,
    pub(crate) output: Shape,
    pub(crate) window: Option<Window>,
}

impl Map {
    /// Inputs each output unit sees.
    pub(crate) fn fan_in(&self) -> usize {
        match self.window {
            None => self.input.len(),
            Some(w) => self.input.channels * w.kernel * w.kernel,
        }
    }
}

/// Gaussian parameters as files and users see them: weights `[out, in]` (dense) or `[out, in, row, column]`
/// (convolution), one bias per output channel; batch normalisation has one weight and one bias per channel.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Parameters {
    pub(crate) mean: Vec<f64>,
    pub(crate) var: Vec<f64>,
    pub(crate) bias_mean: Vec<f64>,
    pub(crate) bias_var: Vec<f64>,
}

/// Statistics of batch normalisation, one entry per channel, and how fast the running ones follow.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statistics {
    pub(crate) mean: Vec<f64>,
    pub(crate) var: Vec<f64>,
    pub(crate) momentum: f64,
    pub(crate) epsilon: f64,
}

impl Statistics {
    /// Moves the running statistics towards those of batches.
    fn follow(&mut self, batch: &Pooled) {
        for (running, batch) in [(&mut self.mean, &batch.mean), (&mut self.var, &batch.var)] {
            for (r, b) in running.iter_mut().zip(batch) {
                *r = self.momentum * *r + (1.0 - self.momentum) * b;
            }
        }
    }
}

/// Mean and variance of every channel over one batch or several.
#[derive(Debug, Default)]
struct Pooled {
    mean: Vec<f64>,
    var: Vec<f64>,
    /// Values of a channel.
    count: f64,
}

impl Pooled {
    fn clear(&mut self) {
        self.mean.clear();
        self.var.clear();
        self.count = 0.0;
    }

    /// As sums that add up over workers: values, then first and second moments (T62).
    fn read(&self, channels: usize, to: &mut Vec<f64>) {
        let of = |v: &[f64], c: usize| v.get(c).copied().unwrap_or(0.0);
        to.push(self.count);
        to.extend((0..channels).map(|c| self.count * of(&self.mean, c)));
        to.extend((0..channels).map(|c| self.count * (of(&self.var, c) + of(&self.mean, c).powi(2))));
    }

    /// The reverse.
    fn write(&mut self, channels: usize, from: &mut dyn Iterator<Item = f64>) {
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
    fn add(&mut self, mean: &[f64], var: &[f64], count: f64) {
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

/// Which pooling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pool {
    Average,
    Max,
}

/// Noise variance of what is observed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NoiseVar<'a> {
    /// The engine knows it, and learns it.
    Inferred,
    One(f64),
    PerOutput(&'a [f64]),
    PerEntry(&'a [f64]),
}

impl NoiseVar<'_> {
    pub(crate) fn at(&self, row: usize, column: usize, width: usize) -> f64 {
        match self {
            NoiseVar::Inferred => unreachable!("the engine puts its own in place"),
            NoiseVar::One(v) => *v,
            NoiseVar::PerOutput(v) => v[column],
            NoiseVar::PerEntry(v) => v[row * width + column],
        }
    }
}

/// Observed outputs, `[rows, width]`; entries with `seen` false are missing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) y: &'a [f64],
    pub(crate) noise: NoiseVar<'a>,
    pub(crate) seen: Option<&'a [bool]>,
    /// Whether the noise is inferred from it too.
    pub(crate) infer: bool,
}

/// Sum of squared noise for every output, and the number of entries.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct NoiseSums {
    pub(crate) squares: Vec<f64>,
    pub(crate) count: Vec<f64>,
}

impl NoiseSums {
    pub(crate) fn zeros(outputs: usize) -> Self {
        NoiseSums { squares: vec![0.0; outputs], count: vec![0.0; outputs] }
    }

    pub(crate) fn begin(&mut self, outputs: usize) {
        for of_outputs in [&mut self.squares, &mut self.count] {
            of_outputs.clear();
            of_outputs.resize(outputs, 0.0);
        }
    }

    fn add(&mut self, output: usize, square: f64) {
        self.squares[output] += square;
        self.count[output] += 1.0;
    }
}

/// Purpose of a forward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Predict,
    /// A normalisation uses the statistics of the batch, not the running ones.
    Learn,
    /// Layers record their own part of a variance.
    Rows,
}

/// What a state holds for every unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Mean,
    Var,
    /// cov(a, z)/var(z) of an activation.
    Slope,
    /// The part of the variance that is the layer's own: from its weights, or from the nonlinear part of an activation.
    /// Filled by a pass for [`Purpose::Rows`].
    Own,
    /// Normalised innovation of the mean, (posterior - prior)/var.
    DMean,
    /// Normalised innovation of the variance, (posterior - prior)/var^2.
    DVar,
}

/// The units of a layer: their pre-activations, and what an activation makes of them (the same state where there is
/// none).
pub(crate) struct Units<'a, S> {
    pub(crate) z: &'a S,
    pub(crate) activation: Activation,
    pub(crate) a: &'a S,
}

/// The prior part of a state.
pub(crate) const PRIOR: [Field; 2] = [Field::Mean, Field::Var];
/// Its innovation.
pub(crate) const INNOVATION: [Field; 2] = [Field::DMean, Field::DVar];

/// The kernels of a device. States hold the mean and variance of one layer for a batch and, on the way back,
/// its normalised innovations; `*_back` turns the innovations of a layer's output into those of its input;
/// `*_accumulate` sums the updates of the parameters, `*_apply` computes the posterior. Only
/// `*_apply` and `map_learn`, which does both, change parameters, and not after an error in the status.
///
/// Kernels return nothing: they may still be running when the call ends. Functions that read numbers or allocate wait, and can
/// fail.
pub(crate) trait Backend: Send + Sync + 'static {
    /// Hidden state of one layer for a batch.
    type State: Send;
    /// Work memory of a layer's kernels, and what they computed from the batch shape.
    type Scratch: Default + Send;
    /// Gaussian weights of a [`Map`], in the device's own layout.
    type Weights: Send + Sync;
    /// Scale, shift and running statistics of a batch normalisation.
    type Norm: Send + Sync;
    /// Summed updates of one layer's parameters; for a normalisation also its statistics.
    type Sums: Send + Sync;
    /// Rows of a data set.
    type RowStore: Send + Sync;
    /// Errors, and counts of limited steps.
    type Status: Default + Send;
    /// The derivative of an output by the units of one layer for a batch.
    type Derivative: Default + Send;
    /// A covariance of a few rows with each other, for every sample.
    type Spread: Default + Send;

    /// Whether numbers are kept in f64.
    fn is_double(&self) -> bool;
    /// Bytes that the weights of a map take.
    fn bytes(&self, map: &Map) -> u64;
    /// Numbers that one sample takes in a state of this shape.
    fn numbers(&self, shape: Shape) -> usize;
    fn state(&self, shape: Shape) -> Self::State;
    /// Makes a state of the same shape ready for the innovations of another.
    fn like(&self, state: &Self::State, spare: &mut Self::State);
    /// Sets the batch: means and, unless exact, variances, `[rows, shape.len()]`.
    fn write(&self, state: &mut Self::State, mean: &[f64], var: Option<&[f64]>) -> Result<()>;
    fn read(&self, state: &Self::State, field: Field) -> Result<Vec<f64>>;
    /// Allocates a table for this many samples of this shape.
    fn table(&self, shape: Shape, rows: usize) -> Result<Self::RowStore>;
    /// Sets rows from `first` on, `[rows, shape.len()]`.
    fn table_write(&self, table: &mut Self::RowStore, first: usize, values: &[f64]) -> Result<()>;
    /// Sets the batch to these rows, known exactly.
    fn gather(&self, table: &Self::RowStore, rows: &[usize], state: &mut Self::State);
    /// What was recorded since the last call.
    fn status(&self, status: &mut Self::Status) -> Result<Noted>;
    /// Records the first of these states, in order, that is not finite, unless the last one is finite.
    fn check_states(&self, states: &[Self::State], status: &mut Self::Status);
    /// Records whether the innovation of a state is not finite.
    fn check_innovation(&self, state: &Self::State, number: usize, status: &mut Self::Status);

    /// Allocates the weights of a map, all zero.
    fn weights(&self, map: Map) -> Result<Self::Weights>;
    /// Sets the weights and biases of some output channels; `parameters` are theirs alone.
    fn set_weights(
        &self,
        weights: &mut Self::Weights,
        outputs: Range<usize>,
        parameters: &Parameters,
    ) -> Result<()>;
    fn weights_parameters(&self, weights: &Self::Weights) -> Result<Parameters>;
    fn norm(&self, parameters: &Parameters, statistics: &Statistics) -> Result<Self::Norm>;
    fn norm_parameters(&self, norm: &Self::Norm) -> Result<(Parameters, Statistics)>;

    fn map(
        &self,
        w: &Self::Weights,
        scratch: &mut Self::Scratch,
        x: &Self::State,
        z: &mut Self::State,
        purpose: Purpose,
    );
    fn map_back(&self, w: &Self::Weights, scratch: &mut Self::Scratch, z: &Self::State, x: &mut Self::State);
    /// Zero sums.
    fn map_sums(&self, w: &Self::Weights) -> Self::Sums;
    fn map_accumulate(
        &self,
        w: &Self::Weights,
        scratch: &mut Self::Scratch,
        x: &Self::State,
        z: &Self::State,
        sums: &mut Self::Sums,
    );
    fn map_apply(&self, w: &mut Self::Weights, sums: &Self::Sums, steps: Steps, status: &mut Self::Status);
    /// Accumulates one batch and applies it.
    fn map_learn(
        &self,
        w: &mut Self::Weights,
        scratch: &mut Self::Scratch,
        x: &Self::State,
        z: &Self::State,
        steps: Steps,
        status: &mut Self::Status,
    );

    fn pool(&self, pool: Pool, window: Window, x: &Self::State, z: &mut Self::State);
    /// `forward` is the state that the pass forward left, `z` itself or the one whose rows these are.
    fn pool_back(
        &self,
        pool: Pool,
        window: Window,
        forward: &Self::State,
        z: &Self::State,
        x: &mut Self::State,
    );

    fn normalize(
        &self,
        norm: &Self::Norm,
        scratch: &mut Self::Scratch,
        x: &Self::State,
        z: &mut Self::State,
        purpose: Purpose,
    );
    fn normalize_back(&self, n: &Self::Norm, scratch: &Self::Scratch, z: &Self::State, x: &mut Self::State);
    /// Zero sums.
    fn normalize_sums(&self, norm: &Self::Norm) -> Self::Sums;
    fn normalize_accumulate(
        &self,
        norm: &Self::Norm,
        scratch: &mut Self::Scratch,
        x: &Self::State,
        z: &Self::State,
        sums: &mut Self::Sums,
    );
    /// Updates scale and shift, and moves the running statistics towards those of the batches.
    fn normalize_apply(
        &self,
        norm: &mut Self::Norm,
        sums: &Self::Sums,
        steps: Steps,
        status: &mut Self::Status,
    );
    fn clear(&self, sums: &mut Self::Sums);
    /// Appends the sums as numbers that add up over workers: many, in the device's precision and order, and a few for each channel of a
    /// normalisation.
    fn sums_read(&self, sums: &Self::Sums, many: &mut Numbers, few: &mut Vec<f64>) -> Result<()>;
    /// The reverse, from the number `at` on; returns the number after the last that was taken.
    fn sums_write(
        &self,
        sums: &mut Self::Sums,
        many: &Numbers,
        at: usize,
        few: &mut dyn Iterator<Item = f64>,
    ) -> Result<usize>;

    fn activate(&self, activation: Activation, z: &Self::State, a: &mut Self::State, purpose: Purpose);
    /// `forward` has the slopes: `a` itself or the state whose rows these are.
    fn activate_back(&self, forward: &Self::State, a: &Self::State, z: &mut Self::State);

    /// The sum of these states, which are treated as independent.
    fn add(&self, states: &[Self::State], numbers: &[usize], z: &mut Self::State);
    /// A term of a sum has the innovation of the sum.
    fn add_back(&self, z: &Self::State, x: &mut Self::State);
    /// Adds the innovation of one state to that of another.
    fn add_innovation(&self, more: &Self::State, x: &mut Self::State);

    /// Innovation of the output given the observation.
    fn observe(&self, output: &mut Self::State, seen: Seen<'_>);
    /// Infers the noise of the observation, added to the sums, and the innovation of the noise head, if there is one.
    fn infer_noise(
        &self,
        output: &Self::State,
        head: Option<&mut Self::State>,
        seen: Seen<'_>,
        sums: &mut NoiseSums,
    );
    /// Gives the output's means an innovation, `[rows, width]`, and its variances none.
    fn innovate(&self, output: &mut Self::State, d_mean: &[f64]) -> Result<()>;
    /// Nothing was learned about a state.
    fn forget_innovation(&self, state: &mut Self::State);
    /// The state's posterior becomes its prior.
    fn posterior(&self, state: &mut Self::State);

    /// Makes room for `k` rows a sample: innovations of means, laid out like the state `of`. `*_back` takes them down like
    /// a batch of that many samples.
    fn rows(&self, of: &Self::State, k: usize, rows: &mut Self::State);
    /// Covariances that are zero, of `k` rows of every sample of a state.
    fn spread_begin(&self, of: &Self::State, k: usize, spread: &mut Self::Spread);
    /// Adds what the units of a state add, independent of each other with variances `field`.
    fn spread_add(&self, of: &Self::State, field: Field, rows: &Self::State, spread: &mut Self::Spread);
    /// `[samples, k, k]`.
    fn spread_read(&self, spread: &Self::Spread) -> Result<Vec<f64>>;

    /// The derivative of one output by its own pre-activation.
    fn derivative_output(&self, units: Units<'_, Self::State>, output: usize, d: &mut Self::Derivative);
    /// The derivative by the units below a dense map, from that by the units above it; `more` adds to what is there.
    #[allow(clippy::too_many_arguments)]
    fn derivative_map(
        &self,
        w: &Self::Weights,
        scratch: &mut Self::Scratch,
        below: Units<'_, Self::State>,
        above: Units<'_, Self::State>,
        d_above: &Self::Derivative,
        gate: Gate,
        more: bool,
        d: &mut Self::Derivative,
    );
    /// The same below a sum.
    fn derivative_add(
        &self,
        below: Units<'_, Self::State>,
        above: Units<'_, Self::State>,
        d_above: &Self::Derivative,
        gate: Gate,
        more: bool,
        d: &mut Self::Derivative,
    );
    /// Mean, variance and covariance with the units, `[rows, width]` each.
    fn derivative_read(&self, d: &Self::Derivative) -> Result<[Vec<f64>; 3]>;
}
