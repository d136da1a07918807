//! The kernels a device must offer, and the devices.
//!
//! `reference` computes in f64 with plain loops: read it to understand the kernels. `cpu` computes in f32 and is
//! fast. Both call the same formulae in [`tractable_core::moments`]. `cuda` computes in f32 on a GPU, with its own kernels. Nothing above this module knows a
//! device's memory layout: samples go in and come out as f64, channel by channel.

#[cfg(test)]
mod conformance;
#[allow(unsafe_code, reason = "vector instructions, and one owner per number")]
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod device;
#[cfg_attr(not(feature = "cuda"), allow(dead_code))]
mod reference;
mod update;
pub mod walk;

pub use cpu::Cpu;
pub use device::Device;
pub use device::Handle;
pub use reference::Reference;
pub use update::UpdateRule;
pub use update::{Priors, Step, Steps, Update};

use std::ops::Range;
use tractable_core::error::Result;
use tractable_core::moments::Activation;
use tractable_core::moments::derivative::Gate;
use tractable_core::moments::merge;
pub use tractable_core::shape::{Change, Shape, Window};
use tractable_core::workers::{Numbers, Transport};
use walk::{Walk, WalkForm};

/// A state that is not finite: its number (0 is the input), row, value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Broken {
    pub state: usize,
    pub row: usize,
    pub value: f64,
}

/// What a device recorded since the last query.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Noted {
    /// The first state that was not finite. While it is set, parameters are not updated.
    pub broken: Option<Broken>,
    pub tally: Tally,
}

impl Noted {
    fn note(&mut self, broken: Option<Broken>) {
        self.broken = self.broken.or(broken);
    }
}

/// Numbers of parameters that were limited or repaired.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub capped: u64,
    pub repaired: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.capped += other.capped;
        self.repaired += other.repaired;
    }
}

/// A linear map with Gaussian weights: dense (`window: None`) or a convolution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Map {
    pub input: Shape,
    pub output: Shape,
    pub window: Option<Window>,
}

impl Map {
    /// Inputs each output unit sees.
    pub fn fan_in(&self) -> usize {
        match self.window {
            None => self.input.len(),
            Some(w) => self.input.channels * w.kernel * w.kernel,
        }
    }
}

/// Gaussian parameters as files and users see them: weights `[out, in]` (dense) or `[out, in, row, column]`
/// (convolution), one bias per output channel; batch normalisation has one weight and one bias per channel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters {
    pub mean: Vec<f64>,
    pub var: Vec<f64>,
    pub bias_mean: Vec<f64>,
    pub bias_var: Vec<f64>,
}

/// Statistics of batch normalisation, one entry per channel, and how fast the running ones follow.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    pub mean: Vec<f64>,
    pub var: Vec<f64>,
    pub momentum: f64,
    pub epsilon: f64,
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

    /// As sums that add up over workers: values, then first and second moments (T67).
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
pub enum Pool {
    Average,
    Max,
}

/// Noise variance of what is observed.
#[derive(Debug, Clone, Copy)]
pub enum NoiseVar<'a> {
    /// The engine knows it, and learns it.
    Inferred,
    One(f64),
    PerOutput(&'a [f64]),
    PerEntry(&'a [f64]),
}

impl NoiseVar<'_> {
    pub fn at(&self, row: usize, column: usize, width: usize) -> f64 {
        match self {
            NoiseVar::Inferred => unreachable!("the engine puts its own in place"),
            NoiseVar::One(v) => *v,
            NoiseVar::PerOutput(v) => v[column],
            NoiseVar::PerEntry(v) => v[row * width + column],
        }
    }
}

/// Observed outputs, `[rows, width]`; entries with `seen` false are missing.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    pub y: &'a [f64],
    pub noise: NoiseVar<'a>,
    pub seen: Option<&'a [bool]>,
    /// Whether the noise is inferred from it too.
    pub infer: bool,
    /// Rows of a table on the device, instead of `y` and `seen`.
    pub rows: Option<(&'a (dyn std::any::Any + Send + Sync), &'a [usize])>,
}

/// Sum of squared noise for every output, and the number of entries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NoiseSums {
    pub squares: Vec<f64>,
    pub count: Vec<f64>,
}

impl NoiseSums {
    pub fn zeros(outputs: usize) -> Self {
        NoiseSums { squares: vec![0.0; outputs], count: vec![0.0; outputs] }
    }

    pub fn begin(&mut self, outputs: usize) {
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
pub enum Purpose {
    Predict,
    /// A normalisation uses the statistics of the batch, not the running ones.
    Learn,
    /// Layers record their own part of a variance.
    Rows,
}

/// What a state holds for every unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
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
pub struct Units<'a, S> {
    pub z: &'a S,
    pub activation: Activation,
    pub a: &'a S,
}

/// The prior part of a state.
pub const PRIOR: [Field; 2] = [Field::Mean, Field::Var];
/// Its innovation.
pub const INNOVATION: [Field; 2] = [Field::DMean, Field::DVar];

/// The kernels of a device. States hold the mean and variance of one layer for a batch and, on the way back,
/// its normalised innovations; `*_back` turns the innovations of a layer's output into those of its input;
/// `*_accumulate` sums the updates of the parameters, `*_apply` computes the posterior. Only
/// `*_apply` and `map_learn`, which does both, change parameters, and not after an error in the status.
///
/// Kernels return nothing: they may still be running when the call ends. Functions that read numbers or allocate wait, and can
/// fail.
pub trait Backend: Send + Sync + 'static {
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
    /// The same into a buffer, for devices that can avoid allocating.
    fn read_into(&self, state: &Self::State, field: Field, to: &mut Vec<f64>) -> Result<()> {
        *to = self.read(state, field)?;
        Ok(())
    }
    /// Allocates a table for this many samples of this shape.
    fn table(&self, shape: Shape, rows: usize) -> Result<Self::RowStore>;
    /// Sets rows from `first` on, `[rows, shape.len()]`.
    fn table_write(&self, table: &mut Self::RowStore, first: usize, values: &[f64]) -> Result<()>;
    /// Whether a data set is kept on the device with its bytes and targets, because sending every batch from the host is too slow.
    fn keeps_data(&self) -> bool {
        false
    }
    /// Images as bytes, if the device keeps them. `scaled` has the number for every byte of a channel, `greys` the numbers for every
    /// image's hole, channel by channel, unless there are no holes.
    fn images(&self, _: Shape, _pixels: &[u8], _scaled: &[f32], _greys: &[f32]) -> Result<Self::RowStore> {
        unreachable!("this device keeps no data")
    }
    /// Sets the batch to these images, changed if there are changes.
    fn gather_images(&self, _: &Self::RowStore, _rows: &[usize], _: &[Change], _: &mut Self::State) {
        unreachable!("this device keeps no data")
    }
    /// Innovation of the output given these rows of a table of targets, in which NaN means not observed.
    fn observe_rows(
        &self,
        _input: &Self::State,
        _output: &mut Self::State,
        _: &Self::RowStore,
        _rows: &[usize],
        _: NoiseVar<'_>,
    ) {
        unreachable!("this device keeps no data")
    }
    /// Searches that stay on the device, if it supports them.
    fn walk(&self, _: WalkForm) -> Result<Option<Box<dyn Walk<Self::State>>>> {
        Ok(None)
    }
    /// Sets the batch to these rows, known exactly.
    fn gather(&self, table: &Self::RowStore, rows: &[usize], state: &mut Self::State);
    /// An error if the host knows of one since the last call of `status`; does not wait for the device.
    fn lacks(&self, _: &mut Self::Status) -> Result<()> {
        Ok(())
    }
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
    /// The weights and biases of some output channels; those beyond the last are left out.
    fn weights_parameters(&self, weights: &Self::Weights, outputs: Range<usize>) -> Result<Parameters>;
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
    /// Makes room for what `map_accumulate` and `map_learn` need, so that none of the layers learns if there is no room for one of them:
    /// then the status has an error.
    fn map_reserve(
        &self,
        _w: &Self::Weights,
        _scratch: &mut Self::Scratch,
        _x: &Self::State,
        _z: &Self::State,
        _status: &mut Self::Status,
    ) {
    }
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

    /// Whether a network that learns from `x` can fuse its first layers: a convolution, ReLU and average pooling.
    fn joins(&self, _w: &Self::Weights, _pool: Window, _x: &Self::State) -> bool {
        false
    }
    /// The fused first layers; only `pooled` is computed.
    fn join(
        &self,
        _w: &Self::Weights,
        _scratch: &mut Self::Scratch,
        _pool: Window,
        _x: &Self::State,
        _pooled: &mut Self::State,
    ) {
        unreachable!("this device does not join layers");
    }
    /// Makes room for what `join_learn` needs, as [`map_reserve`](Backend::map_reserve) does.
    fn join_reserve(
        &self,
        _w: &Self::Weights,
        _scratch: &mut Self::Scratch,
        _x: &Self::State,
        _pooled: &Self::State,
        _status: &mut Self::Status,
    ) {
    }
    /// Learns the convolution from the innovation of `pooled`.
    #[allow(clippy::too_many_arguments)]
    fn join_learn(
        &self,
        _w: &mut Self::Weights,
        _scratch: &mut Self::Scratch,
        _pool: Window,
        _x: &Self::State,
        _pooled: &Self::State,
        _steps: Steps,
        _status: &mut Self::Status,
    ) {
        unreachable!("this device does not join layers");
    }

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
        output: &mut Self::State,
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
