//! A layer at work on a device: forward, innovations back, posterior of its parameters.

use super::Layer;
use crate::backend::{Backend, Parameters, Policy, Pool, Statistics, Tally};
use crate::error::Result;
use crate::moments::Activation;
use crate::shape::{Shape, Window};
use std::ops::Range;

/// A layer with its parameters on a device.
pub(crate) enum Block<B: Backend> {
    Map(B::Weights, usize),
    Pool(Pool, Window),
    Norm(B::Norm),
    Activation(Activation),
}

/// Numbers of a block as files keep them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Contents {
    pub(crate) parameters: Parameters,
    /// Batch normalisation only: running mean and variance.
    pub(crate) running: Option<(Vec<f64>, Vec<f64>)>,
}

impl<B: Backend> Block<B> {
    /// Without any numbers yet: all its parameters are zero.
    pub(crate) fn new(backend: &B, layer: &Layer, input: Shape) -> Result<Self> {
        if let Some(map) = layer.map(input)? {
            return Ok(Block::Map(backend.weights(map), map.output.pixels()));
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
                Block::Norm(backend.norm(&parameters, &statistics))
            }
            Layer::Activation { function } => Block::Activation(function),
            Layer::Linear { .. } | Layer::Conv2d { .. } => unreachable!("maps were made above"),
        })
    }

    /// Puts in the numbers of some outputs, which `contents` must be as many as; of a normalisation, of all of them.
    pub(crate) fn fill(&mut self, backend: &B, outputs: Range<usize>, contents: &Contents) {
        match self {
            Block::Map(weights, _) => backend.set_weights(weights, outputs, &contents.parameters),
            Block::Norm(norm) => {
                let mut statistics = backend.norm_parameters(norm).1;
                if let Some((mean, var)) = contents.running.clone() {
                    (statistics.mean, statistics.var) = (mean, var);
                }
                *norm = backend.norm(&contents.parameters, &statistics);
            }
            Block::Pool(..) | Block::Activation(_) => {}
        }
    }

    pub(crate) fn contents(&self, backend: &B) -> Option<Contents> {
        match self {
            Block::Map(weights, _) => {
                Some(Contents { parameters: backend.weights_parameters(weights), running: None })
            }
            Block::Norm(norm) => {
                let (parameters, s) = backend.norm_parameters(norm);
                Some(Contents { parameters, running: Some((s.mean, s.var)) })
            }
            _ => None,
        }
    }

    pub(crate) fn forward(
        &self,
        backend: &B,
        scratch: &mut B::Scratch,
        x: &B::State,
        z: &mut B::State,
        learning: bool,
    ) {
        match self {
            Block::Map(weights, _) => backend.map(weights, scratch, x, z),
            Block::Pool(pool, window) => backend.pool(*pool, *window, x, z),
            Block::Norm(norm) => backend.normalize(norm, scratch, x, z, learning),
            Block::Activation(function) => backend.activate(*function, x, z),
        }
    }

    pub(crate) fn back(&self, backend: &B, scratch: &mut B::Scratch, z: &B::State, x: &mut B::State) {
        match self {
            Block::Map(weights, _) => backend.map_back(weights, scratch, z, x),
            Block::Pool(pool, window) => backend.pool_back(*pool, *window, z, x),
            Block::Norm(norm) => backend.normalize_back(norm, scratch, z, x),
            Block::Activation(_) => backend.activate_back(z, x),
        }
    }

    /// `rows` samples were seen; a convolution adds up over positions too.
    pub(crate) fn learn(
        &mut self,
        backend: &B,
        scratch: &mut B::Scratch,
        x: &B::State,
        z: &B::State,
        policy: Policy,
        rows: usize,
    ) -> Tally {
        match self {
            Block::Map(weights, positions) => {
                backend.map_learn(weights, scratch, x, z, policy.cap(rows, *positions))
            }
            Block::Norm(norm) => backend.normalize_learn(norm, scratch, x, z, policy.cap(rows, 2)),
            Block::Pool(..) | Block::Activation(_) => Tally::default(),
        }
    }
}
