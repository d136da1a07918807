//! Prior of the weights: how uncertain they are before any data, and where their means start.

use super::Layer;
use tractable_core::error::{Error, Result};
use tractable_core::rng;
use tractable_core::shape::Shape;
use tractable_devices::{Parameters, Priors};

/// How the prior variance of a weight follows from the size of its layer.
///
/// ```
/// use tractable::{Prior, network::Scheme};
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
    /// Variance of the biases; `None`: as for the weights in dense layers, 0.01 in convolutions.
    pub bias_var: Option<f64>,
}

/// The noise head outputs the logarithm of a variance: its weights have a prior variance of this over their number,
const HEAD_GAIN: f64 = 0.25;
/// and its biases this mean and variance: noise of a third of the variance of standardised targets.
const HEAD_BIAS: [f64; 2] = [-1.0, 0.5];

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

    /// Prior of a layer's weights and of its biases; `None` when it has none. The noise head has its own.
    pub(crate) fn of(&self, layer: &Layer, input: Shape, head: bool) -> Result<Option<Priors>> {
        if let Layer::BatchNorm { .. } = layer {
            return Ok(Some([[1.0, 1.0], [0.0, 1e-4]]));
        }
        let Some(map) = layer.map(input)? else { return Ok(None) };
        let fan_in = map.fan_in() as f64;
        if head {
            return Ok(Some([[0.0, f64::from((HEAD_GAIN / fan_in) as f32)], HEAD_BIAS]));
        }
        let cells = map.window.map_or(1, |w| w.kernel * w.kernel);
        let fan_out = (map.output.channels * cells) as f64;
        let var = match self.scheme {
            Scheme::He => self.gain / fan_in,
            Scheme::Xavier => 2.0 * self.gain / (fan_in + fan_out),
        };
        let bias = self.bias_var.unwrap_or(if map.window.is_some() { 0.01 } else { var });
        let has_bias = !matches!(layer, Layer::Conv2d { bias: false, .. });
        let bias = if has_bias { bias } else { 0.0 };
        for v in [var].into_iter().chain(has_bias.then_some(bias)) {
            if !(v as f32).is_normal() {
                return Err(Error::invalid("prior", format!("a variance of {v} is beyond single precision")));
            }
        }
        // Rounded to f32 so that every device starts from the same numbers.
        Ok(Some([var, bias].map(|v| [0.0, f64::from(v as f32)])))
    }

    /// Draws the parameters of a layer; `None` when it has none. `index` is the layer's place in the network.
    pub(crate) fn draw(
        &self,
        layer: &Layer,
        input: Shape,
        head: bool,
        seed: u64,
        index: usize,
    ) -> Result<Option<Parameters>> {
        let Some([weight, bias]) = self.of(layer, input, head)? else { return Ok(None) };
        let map = layer.map(input)?;
        let mut rng = rng::stream(seed, "init", index as u64);
        // Batch normalisation starts as the identity, the noise head with constant noise.
        let random = map.is_some() && !head;
        let mut draw = |n: usize, [mean, var]: [f64; 2]| {
            let mean = |_| match random && var > 0.0 {
                true => f64::from((rng::standard_normal(&mut rng) * var.sqrt()) as f32),
                false => mean,
            };
            ((0..n).map(mean).collect::<Vec<_>>(), vec![var; n])
        };
        let (outputs, fan_in) = map.map_or((input.channels, 1), |map| (map.output.channels, map.fan_in()));
        let (mean, var) = draw(outputs * fan_in, weight);
        let (bias_mean, bias_var) = draw(outputs, bias);
        Ok(Some(Parameters { mean, var, bias_mean, bias_var }))
    }
}
