//! The activations by name, and their moments in one place.

use super::derivative::Curve;
use super::{Moments, Real, identity, leaky_relu, mixture_relu, relu, sigmoid, softplus, tanh};
use crate::error::{Error, Result};

/// The nonlinearity between two layers.
///
/// All except [`Activation::MixtureRelu`] are linearised at the mean; that one has the exact mean and variance
/// of `max(0, z)` for a Gaussian `z`.
///
/// ```
/// use tractable::Activation;
/// let a = Activation::MixtureRelu.moments(0.0, 1.0);
/// assert!((a.mean - 0.3989422804014327_f64).abs() < 1e-15); // 1/sqrt(2 pi)
/// assert!((a.slope - 0.5).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Activation {
    /// `z`
    Identity,
    /// `max(0, z)`, linearised: a unit with a negative mean is off.
    Relu,
    /// `z` above zero, `slope * z` below, linearised.
    LeakyRelu {
        /// Slope below zero.
        slope: f64,
    },
    /// `tanh z`, linearised.
    Tanh,
    /// `1/(1 + exp(-z))`, linearised.
    Sigmoid,
    /// `ln(1 + exp z)`, linearised.
    Softplus,
    /// `max(0, z)` with the exact moments of a rectified Gaussian.
    MixtureRelu,
}

impl Activation {
    /// Mean and variance of the activation of `z ~ N(mu_z, var_z)`, and its slope cov(a, z)/var(z).
    ///
    /// ```
    /// let a = tractable::Activation::Relu.moments(2.0_f64, 0.5);
    /// assert_eq!((a.mean, a.var, a.slope), (2.0, 0.5, 1.0));
    /// ```
    pub fn moments<R: Real>(self, mu_z: R, var_z: R) -> Moments<R> {
        match self {
            Activation::Identity => identity::moments(mu_z, var_z),
            Activation::Relu => relu::moments(mu_z, var_z),
            Activation::LeakyRelu { slope } => leaky_relu::moments(mu_z, var_z, R::from_f64(slope)),
            Activation::Tanh => tanh::moments(mu_z, var_z),
            Activation::Sigmoid => sigmoid::moments(mu_z, var_z),
            Activation::Softplus => softplus::moments(mu_z, var_z),
            Activation::MixtureRelu => mixture_relu::moments(mu_z, var_z),
        }
    }

    /// Moments of the slope `phi'(z)` of `z ~ N(mu_z, var_z)`, given those of the activation itself.
    ///
    /// ```
    /// use tractable::Activation;
    /// let a = Activation::Relu.moments(2.0, 0.5);
    /// assert_eq!(Activation::Relu.curve(2.0, 0.5, a).mean, 1.0);
    /// ```
    #[inline(always)]
    pub fn curve<R: Real>(self, mu_z: R, var_z: R, a: Moments<R>) -> Curve<R> {
        match self {
            Activation::Identity | Activation::Relu | Activation::LeakyRelu { .. } => {
                Curve::straight(a.slope)
            }
            Activation::Tanh => tanh::curve(a, var_z),
            Activation::Sigmoid => sigmoid::curve(a, var_z),
            Activation::Softplus => softplus::curve(a, var_z),
            Activation::MixtureRelu => mixture_relu::curve(mu_z, var_z, a),
        }
    }

    /// Whether its slope depends on `z`. If neither a layer's activation nor the next one's is curved, a
    /// derivative has no covariance with the layer.
    ///
    /// ```
    /// use tractable::Activation;
    /// assert!(Activation::Tanh.is_curved() && !Activation::Relu.is_curved());
    /// ```
    pub fn is_curved(self) -> bool {
        match self {
            Activation::Identity | Activation::Relu | Activation::LeakyRelu { .. } => false,
            Activation::Tanh | Activation::Sigmoid | Activation::Softplus | Activation::MixtureRelu => true,
        }
    }

    /// The name used on the command line and in layer names.
    ///
    /// ```
    /// assert_eq!(tractable::Activation::MixtureRelu.name(), "mixture_relu");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Activation::Identity => "identity",
            Activation::Relu => "relu",
            Activation::LeakyRelu { .. } => "leaky_relu",
            Activation::Tanh => "tanh",
            Activation::Sigmoid => "sigmoid",
            Activation::Softplus => "softplus",
            Activation::MixtureRelu => "mixture_relu",
        }
    }
}

impl std::str::FromStr for Activation {
    type Err = Error;

    /// Reads a [name](Activation::name); `leaky_relu` gets the slope 0.1.
    fn from_str(name: &str) -> Result<Self> {
        const KNOWN: [Activation; 7] = [
            Activation::Identity,
            Activation::Relu,
            Activation::LeakyRelu { slope: 0.1 },
            Activation::Tanh,
            Activation::Sigmoid,
            Activation::Softplus,
            Activation::MixtureRelu,
        ];
        KNOWN.into_iter().find(|a| a.name() == name).ok_or_else(|| {
            let names: Vec<_> = KNOWN.iter().map(|a| a.name()).collect();
            Error::invalid("activation", format!("`{name}` is not known; use one of {}", names.join(", ")))
        })
    }
}
