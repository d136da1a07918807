//! How a network's output is observed: as numbers with Gaussian noise, or as a class.

mod calibration;
mod class_calibration;
mod class_units;
mod classes;
mod observation;
mod prediction;
mod softmax;
mod spread;
mod surprise;
mod wanted;

pub use calibration::{Calibration, Parts};
pub use class_calibration::ClassCalibration;
pub use class_units::{ClassUnits, Head};
pub use classes::Tree;
pub use observation::Observation;
pub use observation::{DefaultNoise, ObservationBuffer};
pub use prediction::{Component, Prediction, ln_mixed};
pub(crate) use softmax::AsObserved;
pub use softmax::Softmax;
pub use spread::Spread;
pub use surprise::Surprise;
pub use surprise::innovation_squared;
pub use wanted::Aim;
pub use wanted::{Extremum, Wanted};

use tractable_core::error::{Error, Result};

/// The kind of a network's output.
///
/// ```
/// use tractable::{Noise, network::{Head, Output}};
/// assert_eq!(Output::Values { width: 2, noise: Noise::Inferred }.units(), 2);
/// assert_eq!(Output::Classes { classes: 10, head: Head::Tree }.units(), 11); // nodes of the binary tree
/// assert_eq!(Output::Classes { classes: 10, head: Head::Softmax }.units(), 10);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "files",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)
)]
pub enum Output {
    /// This many numbers, observed with Gaussian noise.
    Values {
        /// Numbers in an output.
        width: usize,
        /// What is known about the noise.
        #[cfg_attr(feature = "files", serde(default))]
        noise: Noise,
    },
    /// One of several classes.
    Classes {
        /// Number of classes, at least 2.
        classes: usize,
        /// How they are read from the units.
        #[cfg_attr(feature = "files", serde(default, skip_serializing_if = "Head::is_tree"))]
        head: Head,
    },
}

impl Output {
    /// Units of the last layer this needs.
    ///
    /// ```
    /// use tractable::network::{Head, Output};
    /// assert_eq!(Output::Classes { classes: 2, head: Head::Tree }.units(), 1);
    /// ```
    pub fn units(&self) -> usize {
        match *self {
            Output::Values { width, .. } => width,
            Output::Classes { .. } => self.class_units().map_or(0, |u| u.units()),
        }
    }

    /// What is known about the noise; for classes it is a setting, unless they are those of a softmax, which has none.
    ///
    /// ```
    /// use tractable::{Noise, network::{Head, Output}};
    /// assert_eq!(Output::Classes { classes: 3, head: Head::Tree }.noise(), Noise::Known);
    /// ```
    pub fn noise(&self) -> Noise {
        match *self {
            Output::Values { noise, .. } => noise,
            Output::Classes { .. } => Noise::Known,
        }
    }

    /// How the units stand for classes.
    ///
    /// # Errors
    /// If it has no classes, or not at least 2.
    ///
    /// ```
    /// use tractable::network::{Head, Output};
    /// assert_eq!(Output::Classes { classes: 3, head: Head::Softmax }.class_units()?.units(), 3);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn class_units(&self) -> Result<ClassUnits> {
        match *self {
            Output::Values { .. } => {
                Err(Error::invalid("output", "this is a regression model; it has no classes"))
            }
            Output::Classes { classes, head } => ClassUnits::new(classes, head),
        }
    }

    /// Whether classes are those of a softmax.
    pub(crate) fn is_softmax(&self) -> bool {
        matches!(self, Output::Classes { head: Head::Softmax, .. })
    }

    /// Number of classes; 0 for regression.
    pub fn classes(&self) -> usize {
        match *self {
            Output::Values { .. } => 0,
            Output::Classes { classes, .. } => classes,
        }
    }
}

/// What is known about the noise of the observations: the variation around the network's output that more data would not reduce.
///
/// ```
/// use tractable::{Activation, Network, Noise};
/// let net = Network::mlp([2, 16, 1], Activation::MixtureRelu).noise(Noise::PerInput).build()?;
/// assert_eq!(net.layer_names()[2], "noise");
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Noise {
    /// Given, as a standard deviation of every output.
    #[default]
    Known,
    /// Inferred from the data in closed form: one number per output.
    Inferred,
    /// Inferred as a function of the input: a layer named `noise` reads the same input as the last layer, and outputs the
    /// logarithm of the noise variance. It sends no innovations to the layers below.
    PerInput,
}

/// Noise of the observations, as a standard deviation in the network's own (standardised) units: one number
/// for all outputs or one for each.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize))]
pub struct NoiseStd(pub(crate) Vec<f64>);

impl NoiseStd {
    pub(crate) fn new(std: Vec<f64>, units: usize) -> Result<Self> {
        if std.len() != 1 && std.len() != units {
            return Err(Error::shape("noise", format!("1 or {units} standard deviations"), std.len()));
        }
        let positive = |v: f64| v > 0.0 && v.is_finite();
        // The square is what is used.
        match std.iter().find(|s| !(positive(**s) && positive(**s * **s))) {
            None => Ok(NoiseStd(std)),
            Some(s) if positive(*s) => Err(Error::invalid(
                "noise",
                format!("the square of a standard deviation of {s} is not a number"),
            )),
            Some(s) => {
                Err(Error::invalid("noise", format!("a standard deviation of {s} is not a positive number")))
            }
        }
    }
}
