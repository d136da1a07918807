//! The parameters of a network, some outputs of a layer at a time: a large network needs no second copy of itself in double precision.

use super::Network;
use crate::layer::{Contents, Layer};
use std::ops::Range;
use tractable_core::error::Result;
use tractable_core::workers::Numbers;
use tractable_devices::Parameters;

/// Weights of a part, about as many as the cache of a core holds.
const WEIGHTS: usize = 1 << 16;

/// Some outputs of a layer. All parameters of a network are numbered layer by layer: its weights, then its biases.
pub(super) struct Part {
    pub(super) layer: usize,
    pub(super) outputs: Range<usize>,
    /// Numbers of the weights and of the biases.
    numbers: [Range<usize>; 2],
    /// Prior variances of the weights and of the biases.
    most: [f64; 2],
}

impl Network {
    /// All parts, in the order of the layers. A normalisation is one part.
    pub(super) fn parts(&self) -> Result<Vec<Part>> {
        let (mut parts, mut first) = (Vec::new(), 0);
        for (layer, kind) in self.spec.layers.iter().enumerate() {
            let shape = kind.parameter_shape(self.graph.input_shape(layer))?;
            let (Some((dims, biases)), Some(priors)) = (shape, self.spec.prior_of(&self.graph, layer)?)
            else {
                continue;
            };
            let weights: usize = dims.iter().product();
            let (each, all) = (weights / dims[0], dims[0]);
            let step = match kind {
                Layer::BatchNorm { .. } => all,
                _ => (WEIGHTS / each).next_multiple_of(32).max(32),
            };
            for start in (0..all).step_by(step) {
                let outputs = start..all.min(start + step);
                let bias = first + weights;
                let of_biases =
                    if biases == 0 { bias..bias } else { bias + outputs.start..bias + outputs.end };
                let numbers = [first + outputs.start * each..first + outputs.end * each, of_biases];
                parts.push(Part { layer, outputs, numbers, most: priors.map(|[_, var]| var) });
            }
            first += weights + biases;
        }
        Ok(parts)
    }

    /// The current parameters of a part.
    pub(super) fn part(&self, part: &Part) -> Result<Contents> {
        Ok(self.engine.contents(part.layer, part.outputs.clone())?.unwrap_or_default())
    }
}

impl Part {
    /// Mean and variance of every weight, then of every bias, each with the number of the first.
    pub(super) fn pairs<'a>(
        &self,
        p: &'a Parameters,
    ) -> [(usize, impl ExactSizeIterator<Item = [f64; 2]> + 'a); 2] {
        let [weights, biases] = &self.numbers;
        let pairs = |mean: &'a [f64], var: &'a [f64]| mean.iter().zip(var).map(|(&mean, &var)| [mean, var]);
        // None of a layer without biases.
        let n = biases.len();
        let of_biases = pairs(&p.bias_mean[..n], &p.bias_var[..n]);
        [(weights.start, pairs(&p.mean, &p.var)), (biases.start, of_biases)]
    }

    /// Its parameters from pairs of all parameters.
    pub(super) fn of(&self, pairs: &Numbers) -> Parameters {
        let [mean, var] = [0; 2].map(|_| vec![0.0; self.numbers[0].len()]);
        let [bias_mean, bias_var] = [0; 2].map(|_| vec![0.0; self.outputs.len()]);
        let mut p = Parameters { mean, var, bias_mean, bias_var };
        self.change(&mut p, pairs, |_, pair, _| pair);
        p
    }

    /// Replaces mean and variance of every parameter by `f(mean and variance, its pair, the variance of its prior)`.
    pub(super) fn change(
        &self,
        p: &mut Parameters,
        pairs: &Numbers,
        mut f: impl FnMut([f64; 2], [f64; 2], f64) -> [f64; 2],
    ) {
        let parts = [(&mut p.mean, &mut p.var), (&mut p.bias_mean, &mut p.bias_var)];
        for (((mean, var), numbers), most) in parts.into_iter().zip(&self.numbers).zip(self.most) {
            let all = mean.iter_mut().zip(var).take(numbers.len());
            pairs.with_pairs(numbers.start, all, |(mean, var), pair| {
                [*mean, *var] = f([*mean, *var], pair, most);
            });
        }
    }
}
