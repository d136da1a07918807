//! How numbers move: the dozen kernels a device must offer, and the devices there are.
//!
//! `reference` computes in f64 with plain loops and is the thing to read; `cpu` computes in f32 and is the
//! thing to run. Both call the same formulae in [`crate::moments`]. Nothing above this module knows how a
//! device lays its numbers out: samples go in and come out as f64, channel after channel.

#[cfg(test)]
mod conformance;
mod cpu;
mod reference;

pub(crate) use cpu::Cpu;
pub(crate) use reference::Reference;

use crate::error::{Error, Result};
use crate::moments::Activation;
use crate::moments::derivative::Gate;
use crate::moments::posterior::cap_for_batch;
use crate::shape::{Shape, Window};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Where a network computes.
///
/// ```
/// use tractable::{Activation, Device, Matrix, Network};
/// let x = Matrix::new(vec![0.5, -1.0], 2)?;
/// let net = |device| Network::mlp([2, 8, 1], Activation::Tanh).seed(1).device(device).build();
/// let exact = net(Device::Reference)?.predict(&x)?;
/// let fast = net(Device::cpu(1))?.predict(&x)?;
/// assert!((exact.mean()[0] - fast.mean()[0]).abs() < 1e-6);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Device {
    /// The processor, in f32, with the widest vectors it has.
    Cpu {
        /// Threads to use; 0 means one per core. Results do not depend on it.
        threads: usize,
    },
    /// The processor, in f64 with plain loops on one thread: slow, and the measure of the others.
    Reference,
}

impl Device {
    /// The processor with this many threads; 0 means one per core.
    ///
    /// ```
    /// assert_eq!(tractable::Device::cpu(2), tractable::Device::Cpu { threads: 2 });
    /// ```
    pub fn cpu(threads: usize) -> Self {
        Device::Cpu { threads }
    }
}

impl Default for Device {
    fn default() -> Self {
        Device::cpu(0)
    }
}

impl std::str::FromStr for Device {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "cpu" => Ok(Device::default()),
            "reference" => Ok(Device::Reference),
            _ => Err(Error::invalid("device", format!("`{name}` is not known; use cpu or reference"))),
        }
    }
}

/// How the deltas of a batch are applied to a weight (`docs/equations.md`, T20 and T21).
///
/// ```
/// use tractable::{Activation, Network, Policy};
/// let net = Network::mlp([1, 8, 1], Activation::Tanh).policy(Policy::Plain).build()?;
/// assert_eq!(net.policy(), Policy::Plain);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Policy {
    /// Add the sum over the batch, as in the paper. Over-counts in batches of more than one sample when the
    /// noise is small: variances can be driven below zero and are then repaired, and counted.
    Plain,
    /// The same sum, each step limited: a mean moves by at most `sqrt(var)/c` and a variance falls to no
    /// less than `var/c^2`, with c = 2 for 2 to 255 samples and 3 above. The update of a single sample is
    /// exact: its mean may move by ten standard deviations and its variance is not limited.
    #[default]
    Capped,
}

impl Policy {
    /// The cap c for a batch of this many rows; `None` when steps are not limited. Where a weight is used at
    /// several `positions`, even one sample is a sum of several.
    pub(crate) fn cap(self, rows: usize, positions: usize) -> Option<f64> {
        match self {
            Policy::Plain => None,
            Policy::Capped if positions > 1 => Some(cap_for_batch(rows.max(2))),
            Policy::Capped => Some(cap_for_batch(rows)),
        }
    }
}

/// What an update had to limit or mend, in parameters.
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
/// (convolution), one bias per output channel; batch normalisation has one weight and one bias a channel.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Parameters {
    pub(crate) mean: Vec<f64>,
    pub(crate) var: Vec<f64>,
    pub(crate) bias_mean: Vec<f64>,
    pub(crate) bias_var: Vec<f64>,
}

/// Statistics of batch normalisation, one entry a channel, and how fast the running ones follow.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statistics {
    pub(crate) mean: Vec<f64>,
    pub(crate) var: Vec<f64>,
    pub(crate) momentum: f64,
    pub(crate) epsilon: f64,
}

impl Statistics {
    /// Moves the running statistics towards those of a batch.
    fn follow(&mut self, mean: &[f64], var: &[f64]) {
        for (running, batch) in [(&mut self.mean, mean), (&mut self.var, var)] {
            for (r, b) in running.iter_mut().zip(batch) {
                *r = self.momentum * *r + (1.0 - self.momentum) * b;
            }
        }
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
    One(f64),
    PerOutput(&'a [f64]),
    PerEntry(&'a [f64]),
}

impl NoiseVar<'_> {
    pub(crate) fn at(&self, row: usize, column: usize, width: usize) -> f64 {
        match self {
            NoiseVar::One(v) => *v,
            NoiseVar::PerOutput(v) => v[column],
            NoiseVar::PerEntry(v) => v[row * width + column],
        }
    }
}

/// What was seen at the output: `[rows, width]`, entries with `seen` false are missing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) y: &'a [f64],
    pub(crate) noise: NoiseVar<'a>,
    pub(crate) seen: Option<&'a [bool]>,
}

impl<'a> Seen<'a> {
    /// What was seen in some rows of `width` entries.
    pub(crate) fn rows_between(&self, rows: std::ops::Range<usize>, width: usize) -> Seen<'a> {
        let at = rows.start * width..rows.end * width;
        let noise = match self.noise {
            NoiseVar::PerEntry(v) => NoiseVar::PerEntry(&v[at.clone()]),
            other => other,
        };
        Seen { y: &self.y[at.clone()], noise, seen: self.seen.map(|s| &s[at]) }
    }
}

/// A part of a layer's state that can be read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Mean,
    Var,
    /// cov(a, z)/var(z) of an activation.
    Slope,
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

/// The kernels of a device. States hold the mean and variance of one layer for a batch and, on the way back,
/// its normalised innovations; `*_back` turns the innovations of a layer's output into those of its input;
/// `*_learn` turns them into the posterior of the parameters. Only `*_learn` changes parameters.
pub(crate) trait Backend: Send + Sync {
    /// Hidden state of one layer for a batch.
    type State: Send;
    /// What a map or a normalisation remembers from its forward pass until the batch is done.
    type Scratch: Default + Send;
    /// Gaussian weights of a [`Map`], in the device's own layout.
    type Weights: Send + Sync;
    /// Scale, shift and running statistics of a batch normalisation.
    type Norm: Send + Sync;

    /// The derivative of an output by the units of one layer for a batch.
    type Derivative: Default + Send;

    fn state(&self, shape: Shape) -> Self::State;
    /// Numbers that one sample takes in a state of this shape.
    fn numbers(&self, shape: Shape) -> usize;
    /// Sets the batch: means and, unless exact, variances, `[rows, shape.len()]`.
    fn write(&self, state: &mut Self::State, mean: &[f64], var: Option<&[f64]>);
    fn read(&self, state: &Self::State, part: Part) -> Vec<f64>;
    /// First row in which one of these parts is not finite, with that value.
    fn not_finite(&self, state: &Self::State, parts: [Part; 2]) -> Option<(usize, f64)>;

    /// Room for the weights of a map, all zero.
    fn weights(&self, map: Map) -> Self::Weights;
    /// Sets the weights and biases of some output channels; `parameters` are theirs alone.
    fn set_weights(&self, weights: &mut Self::Weights, outputs: Range<usize>, parameters: &Parameters);
    fn weights_parameters(&self, weights: &Self::Weights) -> Parameters;
    fn norm(&self, parameters: &Parameters, statistics: &Statistics) -> Self::Norm;
    fn norm_parameters(&self, norm: &Self::Norm) -> (Parameters, Statistics);

    fn map(&self, w: &Self::Weights, scratch: &mut Self::Scratch, x: &Self::State, z: &mut Self::State);
    fn map_back(&self, w: &Self::Weights, scratch: &mut Self::Scratch, z: &Self::State, x: &mut Self::State);
    fn map_learn(
        &self,
        w: &mut Self::Weights,
        scratch: &mut Self::Scratch,
        x: &Self::State,
        z: &Self::State,
        cap: Option<f64>,
    ) -> Tally;

    fn pool(&self, pool: Pool, window: Window, x: &Self::State, z: &mut Self::State);
    fn pool_back(&self, pool: Pool, window: Window, z: &Self::State, x: &mut Self::State);

    /// Normalises by the statistics of the batch when `learning`, by the running ones otherwise.
    fn normalize(
        &self,
        norm: &Self::Norm,
        scratch: &mut Self::Scratch,
        x: &Self::State,
        z: &mut Self::State,
        learning: bool,
    );
    fn normalize_back(&self, n: &Self::Norm, scratch: &Self::Scratch, z: &Self::State, x: &mut Self::State);
    /// Updates scale and shift, and moves the running statistics towards the batch's.
    fn normalize_learn(
        &self,
        norm: &mut Self::Norm,
        scratch: &mut Self::Scratch,
        x: &Self::State,
        z: &Self::State,
        cap: Option<f64>,
    ) -> Tally;

    fn activate(&self, activation: Activation, z: &Self::State, a: &mut Self::State);
    fn activate_back(&self, a: &Self::State, z: &mut Self::State);

    /// Innovation of the output given what was seen there.
    fn observe(&self, output: &mut Self::State, seen: Seen<'_>);
    /// Gives the output's means an innovation, `[rows, width]`, and its variances none.
    fn innovate(&self, output: &mut Self::State, d_mean: &[f64]);
    /// The state's posterior becomes its prior.
    fn posterior(&self, state: &mut Self::State);

    /// The derivative of one output by its own pre-activation.
    fn derivative_output(&self, units: Units<'_, Self::State>, output: usize, d: &mut Self::Derivative);
    /// The derivative by the units below a dense map, from that by the units above it.
    #[allow(clippy::too_many_arguments)]
    fn derivative_map(
        &self,
        w: &Self::Weights,
        scratch: &mut Self::Scratch,
        below: Units<'_, Self::State>,
        above: Units<'_, Self::State>,
        d_above: &Self::Derivative,
        gate: Gate,
        d: &mut Self::Derivative,
    );
    /// Mean, variance and covariance with the units, `[rows, width]` each.
    fn derivative_read(&self, d: &Self::Derivative) -> [Vec<f64>; 3];
    /// The state's posterior, given that the derivative by it is zero up to a noise variance per unit, becomes its
    /// prior; `towards` as in [`crate::moments::derivative::stationary`].
    fn stationary(&self, d: &Self::Derivative, noise: &[f64], towards: f64, state: &mut Self::State);
}
