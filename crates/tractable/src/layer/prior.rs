//! Prior of the weights: how uncertain they are before any data, and where their means start.

use super::Layer;
use crate::backend::Parameters;
use crate::error::{Error, Result};
use crate::rng;
use crate::shape::Shape;

/// How the prior variance of a weight follows from the size of its layer.
///
/// ```
/// use tractable::{Prior, Scheme};
/// assert_eq!(Prior::xavier().scheme, Scheme::Xavier);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Scheme {
    /// `gain / fan_in`
    He,
    /// `2 gain / (fan_in + fan_out)`
    Xavier,
}

/// Prior of the weights and biases; means are drawn from `N(0, variance)` with the network's seed.
///
/// ```
/// use tractable::{Activation, Network, Prior};
/// let prior = Prior::he().gain(0.25).bias_var(0.01);
/// let net = Network::mlp([13, 50, 1], Activation::Relu).prior(prior).build()?;
/// assert_eq!(net.prior(), prior);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize))]
pub struct Prior {
    /// How the variance follows from the layer's size.
    pub scheme: Scheme,
    /// Factor on the variance of the weights.
    pub gain: f64,
    /// Variance of the biases; `None`: as the weights' in dense layers, 0.01 in convolutions.
    pub bias_var: Option<f64>,
}

impl Default for Prior {
    fn default() -> Self {
        Self::he()
    }
}

impl Prior {
    /// Variance `1/fan_in`, as the paper's authors use.
    ///
    /// ```
    /// assert_eq!(tractable::Prior::he().gain, 1.0);
    /// ```
    pub fn he() -> Self {
        Prior { scheme: Scheme::He, gain: 1.0, bias_var: None }
    }

    /// Variance `2/(fan_in + fan_out)`.
    ///
    /// ```
    /// assert_eq!(tractable::Prior::xavier().gain, 1.0);
    /// ```
    pub fn xavier() -> Self {
        Prior { scheme: Scheme::Xavier, ..Self::he() }
    }

    /// Multiplies the variance of the weights.
    ///
    /// ```
    /// assert_eq!(tractable::Prior::he().gain(0.5).gain, 0.5);
    /// ```
    pub fn gain(mut self, gain: f64) -> Self {
        self.gain = gain;
        self
    }

    /// Sets the variance of the biases.
    ///
    /// ```
    /// assert_eq!(tractable::Prior::he().bias_var(0.01).bias_var, Some(0.01));
    /// ```
    pub fn bias_var(mut self, var: f64) -> Self {
        self.bias_var = Some(var);
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        for (what, v) in [("prior gain", self.gain), ("prior bias variance", self.bias_var.unwrap_or(1.0))] {
            if !(v > 0.0 && v.is_finite()) {
                return Err(Error::invalid(what, format!("{v} is not a positive number")));
            }
        }
        Ok(())
    }

    /// Variances of a layer's weights and of its biases; `None` when it has none.
    pub(crate) fn variances(&self, layer: &Layer, input: Shape) -> Result<Option<[f64; 2]>> {
        if let Layer::BatchNorm { .. } = layer {
            return Ok(Some([1.0, 1e-4]));
        }
        let Some(map) = layer.map(input)? else { return Ok(None) };
        let fan_in = map.fan_in() as f64;
        let cells = map.window.map_or(1, |w| w.kernel * w.kernel);
        let fan_out = (map.output.channels * cells) as f64;
        let var = match self.scheme {
            Scheme::He => self.gain / fan_in,
            Scheme::Xavier => 2.0 * self.gain / (fan_in + fan_out),
        };
        let bias = self.bias_var.unwrap_or(if map.window.is_some() { 0.01 } else { var });
        for v in [var, bias] {
            if !(v as f32).is_normal() {
                return Err(Error::invalid("prior", format!("a variance of {v} is beyond single precision")));
            }
        }
        // Rounded to f32 so that every device starts from the same numbers.
        Ok(Some([var, bias].map(|v| f64::from(v as f32))))
    }

    /// Draws the parameters of a layer; `None` when it has none. `index` is the layer's place in the network.
    pub(crate) fn draw(
        &self,
        layer: &Layer,
        input: Shape,
        seed: u64,
        index: usize,
    ) -> Result<Option<Parameters>> {
        let Some([var, bias]) = self.variances(layer, input)? else { return Ok(None) };
        let Some(map) = layer.map(input)? else {
            // Batch normalisation starts as the identity.
            let n = input.channels;
            let (mean, bias_mean) = (vec![1.0; n], vec![0.0; n]);
            return Ok(Some(Parameters { mean, var: vec![var; n], bias_mean, bias_var: vec![bias; n] }));
        };
        let mut rng = rng::stream(seed, "init", index as u64);
        let mut draw = |n: usize, var: f64| {
            let mean = (0..n).map(|_| f64::from((rng::standard_normal(&mut rng) * var.sqrt()) as f32));
            (mean.collect::<Vec<_>>(), vec![var; n])
        };
        let (mean, var) = draw(map.output.channels * map.fan_in(), var);
        let (bias_mean, bias_var) = draw(map.output.channels, bias);
        Ok(Some(Parameters { mean, var, bias_mean, bias_var }))
    }
}
