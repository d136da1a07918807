//! [`Spec`]: a network without its parameters.

use crate::engine::InferredNoise;
use crate::graph::Graph;
use crate::layer::{Layer, Prior, SCALE_VAR};
use crate::output::{ClassCalibration, DefaultNoise, Noise, NoiseStd, Output};
use tractable_core::error::{Error, Result};
use tractable_core::shape::Shape;
use tractable_data::Scaler;
use tractable_devices::{Priors, UpdateRule};

/// Everything about a network except its parameters; stored in a file's metadata.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub(crate) struct Spec {
    pub(crate) input: Shape,
    pub(crate) layers: Vec<Layer>,
    pub(crate) names: Vec<String>,
    /// The states that every layer reads: 0 is the input, `i + 1` the output of layer `i`. Files of version 1 have none:
    /// every layer reads the one before it.
    #[cfg_attr(feature = "files", serde(default))]
    pub(crate) inputs: Vec<Vec<usize>>,
    pub(crate) output: Output,
    pub(crate) prior: Prior,
    /// Prior variance of the scale of normalisations, if there are any; before it was in files, it was 1.
    #[cfg_attr(feature = "files", serde(default, skip_serializing_if = "Option::is_none"))]
    pub(crate) scale_var: Option<f64>,
    #[cfg_attr(feature = "files", serde(alias = "policy"))]
    pub(crate) update: UpdateRule,
    pub(crate) seed: u64,
    pub(crate) noise: NoiseStd,
    /// Entries of every output that inferred noise was learned from; none before the first.
    #[cfg_attr(feature = "files", serde(default))]
    pub(crate) noise_rows: Vec<f64>,
    /// Epochs of fitting done so far.
    pub epochs: usize,
    /// Batches in the average of the means.
    #[cfg_attr(feature = "files", serde(default, skip_serializing_if = "is_zero"))]
    pub(crate) averaged: u64,
    pub(crate) input_scaler: Option<Scaler>,
    pub(crate) output_scaler: Option<Scaler>,
    pub(crate) input_names: Vec<String>,
    pub(crate) output_names: Vec<String>,
    pub(crate) class_names: Vec<String>,
    /// Of class probabilities, once calibrated.
    #[cfg_attr(feature = "files", serde(default, skip_serializing_if = "Option::is_none"))]
    pub(crate) calibration: Option<ClassCalibration>,
    /// How the columns of a table become the inputs.
    #[cfg(feature = "csv")]
    #[cfg_attr(feature = "files", serde(default, skip_serializing_if = "Option::is_none"))]
    pub(crate) preparation: Option<Box<tractable_data::Preparation>>,
    /// Kept for those who can read tables.
    #[cfg(all(feature = "files", not(feature = "csv")))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preparation: Option<serde_json::Value>,
}

#[cfg(feature = "files")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Spec {
    /// An untrained network with default settings.
    pub(crate) fn new(input: Shape, layers: Vec<Layer>, names: Vec<String>, output: Output) -> Self {
        Spec {
            input,
            inputs: (0..layers.len()).map(|i| vec![i]).collect(),
            scale_var: layers.iter().any(|l| matches!(l, Layer::BatchNorm { .. })).then_some(SCALE_VAR),
            layers,
            names,
            output,
            prior: Prior::default(),
            update: UpdateRule::default(),
            seed: 0,
            noise: NoiseStd(vec![1.0]),
            noise_rows: Vec::new(),
            epochs: 0,
            averaged: 0,
            input_scaler: None,
            output_scaler: None,
            input_names: Vec::new(),
            output_names: Vec::new(),
            class_names: Vec::new(),
            calibration: None,
            #[cfg(any(feature = "files", feature = "csv"))]
            preparation: None,
        }
    }

    pub(crate) fn graph(&self) -> Result<Graph> {
        let head = (self.output.noise() == Noise::PerInput).then(|| self.layers.len().saturating_sub(2));
        let graph = Graph::new(self.input, &self.layers, &self.names, &self.inputs, head)?;
        if let Some(head) = head {
            let width = self.output.units();
            let read = graph.inputs.iter().any(|inputs| inputs.contains(&(head + 1)));
            if graph.layers[head] != Layer::linear(width) || head == graph.layers.len() - 1 || read {
                let why = format!(
                    "input-dependent noise needs a linear layer of {width} before the last, which no layer reads"
                );
                return Err(Error::invalid("layers", why));
            }
        }
        Ok(graph)
    }

    /// Prior of the parameters of a layer, if it has any.
    pub(crate) fn prior_of(&self, graph: &Graph, layer: usize) -> Result<Option<Priors>> {
        let scale_var = self.scale_var.unwrap_or(1.0);
        self.prior.of(&self.layers[layer], graph.input_shape(layer), graph.head == Some(layer), scale_var)
    }

    pub(crate) fn inferred_noise(&self) -> InferredNoise {
        let units = self.output.units();
        let var = (0..units).map(|i| self.noise.0[i % self.noise.0.len()].powi(2)).collect();
        let rows = (0..units).map(|i| self.noise_rows.get(i).copied().unwrap_or(0.0)).collect();
        InferredNoise { var, rows }
    }

    /// The default noise of observations.
    pub(super) fn default_noise(&self) -> DefaultNoise<'_> {
        match self.output.noise() {
            Noise::Known if self.output.is_softmax() => DefaultNoise::Softmax,
            Noise::Known => DefaultNoise::Network(&self.noise),
            _ => DefaultNoise::Inferred,
        }
    }
}
