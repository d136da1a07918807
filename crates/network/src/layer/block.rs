//! A layer on a device: forward, innovations back, posterior of its parameters.

use super::Layer;
use std::ops::Range;
use tractable_core::error::Result;
use tractable_core::moments::{Activation, merge};
use tractable_core::shape::{Shape, Window};
use tractable_devices::{
    Backend, Field, Parameters, Pool, Priors, Purpose, Statistics, Steps, Together, Update,
};

/// A layer with its parameters on a device.
pub(crate) enum Block<B: Backend> {
    /// With the positions at which each weight is used.
    Map(B::Weights, usize),
    Pool(Pool, Window),
    Norm(B::Norm),
    Activation(Activation),
    Add,
}

/// Parameters of a block, as in files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contents {
    pub parameters: Parameters,
    /// Batch normalisation only: running mean and variance.
    pub(crate) running: Option<(Vec<f64>, Vec<f64>)>,
    /// The latest means of weights and biases, if those of the parameters are an average.
    pub(crate) latest: Option<[Vec<f64>; 2]>,
}

impl<B: Backend> Block<B> {
    /// A new block with all parameters zero.
    pub(crate) fn new(backend: &B, layer: &Layer, input: Shape) -> Result<Self> {
        if let Some(map) = layer.map(input)? {
            return Ok(Block::Map(backend.weights(map)?, map.output.pixels()));
        }
        Ok(match *layer {
            Layer::AvgPool2d { window } => Block::Pool(Pool::Average, window),
            Layer::MaxPool2d { window } => Block::Pool(Pool::Max, window),
            Layer::BatchNorm { momentum, epsilon } => {
                let zeros = vec![0.0; input.channels];
                let var = vec![1.0; input.channels];
                let statistics = Statistics { mean: zeros.clone(), var, momentum, epsilon };
                let [mean, var, bias_mean, bias_var] = [0; 4].map(|_| zeros.clone());
                let parameters = Parameters { mean, var, bias_mean, bias_var };
                Block::Norm(backend.norm(&parameters, &statistics)?)
            }
            Layer::Activation { function } => Block::Activation(function),
            Layer::Add => Block::Add,
            Layer::Linear { .. } | Layer::Conv2d { .. } => unreachable!("maps were made above"),
        })
    }

    /// Sets the parameters of some outputs from `contents`, which must match; for a normalisation, of all.
    pub(crate) fn fill(&mut self, backend: &B, outputs: Range<usize>, contents: &Contents) -> Result<()> {
        match self {
            Block::Map(weights, _) => backend.set_weights(weights, outputs, &contents.parameters),
            Block::Norm(norm) => {
                let mut statistics = backend.norm_parameters(norm)?.1;
                if let Some((mean, var)) = contents.running.clone() {
                    (statistics.mean, statistics.var) = (mean, var);
                }
                *norm = backend.norm(&contents.parameters, &statistics)?;
                Ok(())
            }
            Block::Pool(..) | Block::Activation(_) | Block::Add => Ok(()),
        }
    }

    /// The parameters of some outputs; those beyond the last are left out. For a normalisation, of all.
    pub(crate) fn contents(&self, backend: &B, outputs: Range<usize>) -> Result<Option<Contents>> {
        Ok(match self {
            Block::Map(weights, _) => Some(Contents {
                parameters: backend.weights_parameters(weights, outputs)?,
                ..Contents::default()
            }),
            Block::Norm(norm) => {
                let (parameters, s) = backend.norm_parameters(norm)?;
                Some(Contents { parameters, running: Some((s.mean, s.var)), latest: None })
            }
            Block::Pool(..) | Block::Activation(_) | Block::Add => None,
        })
    }

    /// `below` are the states up to the layer's own, `inputs` the numbers of those it reads.
    pub(crate) fn forward(
        &self,
        backend: &B,
        scratch: &mut B::Scratch,
        below: &[B::State],
        inputs: &[usize],
        z: &mut B::State,
        purpose: Purpose,
    ) {
        let x = &below[inputs[0]];
        match self {
            Block::Map(weights, _) => backend.map(weights, scratch, x, z, purpose),
            Block::Pool(pool, window) => backend.pool(*pool, *window, x, z),
            Block::Norm(norm) => backend.normalize(norm, scratch, x, z, purpose),
            Block::Activation(function) => backend.activate(*function, x, z, purpose),
            Block::Add => backend.add(below, inputs, z),
        }
    }

    /// The forward pass of a normalisation while learning, with the statistics of a batch that several workers share: `together` adds the number
    /// of values and the first and second moments of every channel (T25) over all workers.
    pub(crate) fn normalize_together(
        &self,
        backend: &B,
        scratch: &mut B::Scratch,
        x: &B::State,
        z: &mut B::State,
        pixels: usize,
        together: Together<'_>,
    ) -> Result<()> {
        let Block::Norm(norm) = self else { unreachable!("only a normalisation has statistics") };
        let (parameters, mut statistics) = backend.norm_parameters(norm)?;
        let [mean, var] = [Field::Mean, Field::Var].map(|field| backend.read(x, field));
        let (mean, var, channels) = (mean?, var?, statistics.mean.len());
        let mut sums = vec![0.0; 1 + 2 * channels];
        sums[0] = (mean.len() / channels) as f64;
        for (i, (m, v)) in mean.iter().zip(&var).enumerate() {
            let c = i / pixels % channels;
            sums[1 + c] += m;
            sums[1 + channels + c] += m * m + v;
        }
        together(&mut sums)?;
        // One value per channel has no variance: use the running statistics.
        if sums[0] > 1.0 {
            for c in 0..channels {
                let all = merge::pooled(sums[0], sums[1 + c], sums[1 + channels + c]);
                (statistics.mean[c], statistics.var[c]) = all.expect("there are values");
            }
        }
        let norm = backend.norm(&parameters, &statistics)?;
        backend.normalize(&norm, scratch, x, z, Purpose::Predict);
        Ok(())
    }

    /// What a normalisation's innovations say about the whole batch, of all workers if they share it; only with them can it fail.
    pub(crate) fn total(
        &self,
        backend: &B,
        scratch: &mut B::Scratch,
        x: &B::State,
        z: &B::State,
        together: Option<Together<'_>>,
    ) -> Result<()> {
        let Block::Norm(norm) = self else { unreachable!("only a normalisation has statistics") };
        backend.normalize_total(norm, scratch, x, z, together)
    }

    /// Innovations or rows of `z`; `forward` is the layer's state after the forward pass, `of` the one below it, if `x` is not that state.
    pub(crate) fn back(
        &self,
        backend: &B,
        scratch: &mut B::Scratch,
        forward: &B::State,
        of: Option<&B::State>,
        z: &B::State,
        x: &mut B::State,
    ) {
        match self {
            Block::Map(weights, _) => backend.map_back(weights, scratch, z, x),
            Block::Pool(pool, window) => backend.pool_back(*pool, *window, forward, z, x),
            Block::Norm(norm) => backend.normalize_back(norm, scratch, of, z, x),
            Block::Activation(_) => backend.activate_back(forward, z, x),
            Block::Add => backend.add_back(z, x),
        }
    }

    /// The window of a pooling layer.
    pub(crate) fn pool(&self) -> Option<Window> {
        match self {
            Block::Pool(_, window) => Some(*window),
            _ => None,
        }
    }

    /// Zero sums, for a layer with parameters.
    pub(crate) fn sums(&self, backend: &B) -> Option<B::Sums> {
        match self {
            Block::Map(weights, _) => Some(backend.map_sums(weights)),
            Block::Norm(norm) => Some(backend.normalize_sums(norm)),
            Block::Pool(..) | Block::Activation(_) | Block::Add => None,
        }
    }

    /// Adds the updates of a batch.
    pub(crate) fn accumulate(
        &self,
        backend: &B,
        scratch: &mut B::Scratch,
        x: &B::State,
        z: &B::State,
        sums: &mut B::Sums,
    ) {
        match self {
            Block::Map(weights, _) => backend.map_accumulate(weights, scratch, x, z, sums),
            Block::Norm(norm) => backend.normalize_accumulate(norm, scratch, sums),
            Block::Pool(..) | Block::Activation(_) | Block::Add => {}
        }
    }

    /// The steps of its parameters. A normalisation counts as a sum of several samples, and does not decay.
    pub(crate) fn steps(&self, update: Update, rows: usize, priors: Priors) -> Steps {
        match self {
            Block::Map(_, positions) => update.steps(rows, *positions, priors, true),
            _ => update.steps(rows, 2, priors, false),
        }
    }

    /// Makes the posterior of the parameters from sums.
    pub(crate) fn apply(&mut self, backend: &B, sums: &B::Sums, steps: Steps, status: &mut B::Status) {
        match self {
            Block::Map(weights, _) => backend.map_apply(weights, sums, steps, status),
            Block::Norm(norm) => backend.normalize_apply(norm, sums, steps, status),
            Block::Pool(..) | Block::Activation(_) | Block::Add => {}
        }
    }

    /// Follows a block that learns: means by this share, everything else as it is there.
    pub(crate) fn follow(&mut self, backend: &B, latest: &Self, share: f64, status: &mut B::Status) {
        match (self, latest) {
            (Block::Map(average, _), Block::Map(latest, _)) => {
                backend.map_average(latest, average, share, status)
            }
            (Block::Norm(average), Block::Norm(latest)) => {
                backend.normalize_average(latest, average, share, status)
            }
            _ => {}
        }
    }

    /// Moves running statistics by this share towards those of the last batch.
    pub(crate) fn restate(&mut self, backend: &B, scratch: &B::Scratch, share: f64) {
        if let Block::Norm(norm) = self {
            backend.normalize_restate(norm, scratch, share);
        }
    }

    /// Makes room for what [`accumulate`](Block::accumulate) and [`learn`](Block::learn) need; records an error in the status.
    pub(crate) fn reserve(
        &self,
        backend: &B,
        scratch: &mut B::Scratch,
        x: &B::State,
        z: &B::State,
        status: &mut B::Status,
    ) {
        if let Block::Map(weights, _) = self {
            backend.map_reserve(weights, scratch, [x, z], status);
        }
    }

    /// Accumulates and applies one batch; `sums` are those of a normalisation.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn learn(
        &mut self,
        backend: &B,
        scratch: &mut B::Scratch,
        x: &B::State,
        z: &B::State,
        sums: Option<&mut B::Sums>,
        steps: Steps,
        status: &mut B::Status,
    ) {
        if let Block::Map(weights, _) = self {
            backend.map_learn(weights, scratch, x, z, steps, status);
        } else if let Some(sums) = sums {
            backend.clear(sums);
            self.accumulate(backend, scratch, x, z, sums);
            self.apply(backend, sums, steps, status);
        }
    }
}
