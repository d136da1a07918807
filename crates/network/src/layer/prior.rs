//! Prior of the weights: how uncertain they are before any data, and where their means start.

use super::Layer;
use tractable_core::error::{Error, Result};
use tractable_core::rng;
use tractable_core::shape::Shape;
use tractable_devices::{Map, Parameters, Priors};

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
    /// `gain / 28,800` for every weight and bias, also of batch normalisation (there `1e-4 gain`): a hundredth of
    /// `1/fan_in` of a convolution with a window of 3 and 32 channels. For deep networks.
    Even,
}

/// Prior of the weights and biases; means are drawn with the network's seed from `N(0, variance)`, or with a variance of their own.
///
/// ```
/// use tractable::{Activation, Network, Prior};
/// let prior = Prior::he().gain(0.25).bias_var(0.01);
/// let net = Network::mlp([13, 50, 1], Activation::Relu).prior(prior).build()?;
/// assert_eq!(net.prior(), prior);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize))]
pub struct Prior {
    /// How the variance follows from the layer's size.
    pub scheme: Scheme,
    /// Factor on the variance of the weights.
    pub gain: f64,
    /// The same for the drawn means: their variance is `mean_gain/fan_in`, or `2 mean_gain/(fan_in + fan_out)` with [`Scheme::Xavier`].
    /// `None`: that of the weights; 2 with [`Scheme::Even`].
    #[cfg_attr(feature = "files", serde(default, skip_serializing_if = "Option::is_none"))]
    pub mean_gain: Option<f64>,
    /// Variance of the biases; `None`: as for the weights in dense layers, 0.01 in convolutions.
    pub bias_var: Option<f64>,
}

/// The noise head outputs the logarithm of a variance: its weights have a prior variance of this over their number,
const HEAD_GAIN: f64 = 0.25;
/// and its biases this mean and variance: noise of a third of the variance of standardised targets.
const HEAD_BIAS: [f64; 2] = [-1.0, 0.5];
/// Variances of [`Scheme::Even`]: of a weight, and of a scale or shift.
const EVEN: [f64; 2] = [1.0 / 28_800.0, 1e-4];
/// With it, means are drawn with this gain.
const EVEN_MEAN_GAIN: f64 = 2.0;

// Increments carry a hash of this text: where nothing is new, it stays as it was.
impl std::fmt::Debug for Prior {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut s = f.debug_struct("Prior");
        s.field("scheme", &self.scheme).field("gain", &self.gain);
        if let Some(gain) = &self.mean_gain {
            s.field("mean_gain", gain);
        }
        s.field("bias_var", &self.bias_var).finish()
    }
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
        Prior { scheme: Scheme::He, gain: 1.0, mean_gain: None, bias_var: None }
    }

    /// Variance `2/(fan_in + fan_out)`.
    ///
    /// ```
    /// assert_eq!(tractable::Prior::xavier().gain, 1.0);
    /// ```
    pub fn xavier() -> Self {
        Prior { scheme: Scheme::Xavier, ..Self::he() }
    }

    /// The same small variance for every weight, and means drawn from `N(0, 2/fan_in)`: the means of a deep network's units are then not
    /// drowned by their variances.
    ///
    /// ```
    /// use tractable::{Prior, network::Scheme};
    /// assert_eq!(Prior::deep().scheme, Scheme::Even);
    /// ```
    pub fn deep() -> Self {
        Prior { scheme: Scheme::Even, ..Self::he() }
    }

    /// Draws the means with a gain of their own.
    ///
    /// ```
    /// assert_eq!(tractable::Prior::he().mean_gain(2.0).mean_gain, Some(2.0));
    /// ```
    pub fn mean_gain(mut self, gain: f64) -> Self {
        self.mean_gain = Some(gain);
        self
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
        let [mean_gain, bias_var] = [self.mean_gain, self.bias_var].map(|v| v.unwrap_or(1.0));
        let all =
            [("prior gain", self.gain), ("prior mean gain", mean_gain), ("prior bias variance", bias_var)];
        for (what, v) in all {
            if !(v > 0.0 && v.is_finite()) {
                return Err(Error::invalid(what, format!("{v} is not a positive number")));
            }
        }
        Ok(())
    }

    /// Prior of a layer's weights and of its biases; `None` when it has none. The noise head has its own.
    pub(crate) fn of(&self, layer: &Layer, input: Shape, head: bool) -> Result<Option<Priors>> {
        if let Layer::BatchNorm { .. } = layer {
            return Ok(Some(match self.scheme {
                Scheme::Even => {
                    let var = single(self.gain * EVEN[1])?;
                    [[1.0, var], [0.0, var]]
                }
                _ => [[1.0, 1.0], [0.0, 1e-4]],
            }));
        }
        let Some(map) = layer.map(input)? else { return Ok(None) };
        let fan_in = map.fan_in() as f64;
        if head {
            return Ok(Some([[0.0, f64::from((HEAD_GAIN / fan_in) as f32)], HEAD_BIAS]));
        }
        let even = self.scheme == Scheme::Even;
        let var = if even { self.gain * EVEN[0] } else { self.by_size(self.gain, &map) };
        let bias = self.bias_var.unwrap_or(if map.window.is_some() && !even { 0.01 } else { var });
        Ok(Some([[0.0, single(var)?], [0.0, single(bias)?]]))
    }

    /// A gain over the size of a layer.
    fn by_size(&self, gain: f64, map: &Map) -> f64 {
        let fan_in = map.fan_in() as f64;
        let cells = map.window.map_or(1, |w| w.kernel * w.kernel);
        let fan_out = (map.output.channels * cells) as f64;
        match self.scheme {
            Scheme::Xavier => 2.0 * gain / (fan_in + fan_out),
            Scheme::He | Scheme::Even => gain / fan_in,
        }
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
        let gain = self.mean_gain.or((self.scheme == Scheme::Even).then_some(EVEN_MEAN_GAIN));
        let own = gain.zip(map).map(|(gain, map)| self.by_size(gain, &map));
        let mut draw = |n: usize, [mean, var]: [f64; 2], drawn: f64| {
            let mean = |_| match random {
                true => f64::from((rng::standard_normal(&mut rng) * drawn.sqrt()) as f32),
                false => mean,
            };
            ((0..n).map(mean).collect::<Vec<_>>(), vec![var; n])
        };
        let (outputs, fan_in) = map.map_or((input.channels, 1), |map| (map.output.channels, map.fan_in()));
        let (mean, var) = draw(outputs * fan_in, weight, own.unwrap_or(weight[1]));
        let (bias_mean, bias_var) = draw(outputs, bias, bias[1]);
        Ok(Some(Parameters { mean, var, bias_mean, bias_var }))
    }
}

/// A variance rounded to f32, so that every device starts from the same number.
fn single(var: f64) -> Result<f64> {
    match (var as f32).is_normal() && var > 0.0 {
        true => Ok(f64::from(var as f32)),
        false => Err(Error::invalid("prior", format!("a variance of {var} is beyond single precision"))),
    }
}
