//! How a network's output is observed: as numbers with Gaussian noise, or as one of several classes.

mod classes;
mod observation;
mod spread;
mod wanted;

pub use classes::Tree;
pub use observation::Observation;
pub(crate) use observation::{DefaultNoise, ObservationBuffer};
pub use spread::Spread;
pub(crate) use wanted::Aim;
pub use wanted::{Extremum, Wanted};

use crate::error::{Error, Result};

/// What the output of a network stands for.
///
/// ```
/// use tractable::Output;
/// assert_eq!(Output::Values { width: 2 }.units(), 2);
/// assert_eq!(Output::Classes { classes: 10 }.units(), 11); // nodes of the binary tree
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "files",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)
)]
#[non_exhaustive]
pub enum Output {
    /// This many numbers, seen with Gaussian noise.
    Values {
        /// Numbers in an output.
        width: usize,
    },
    /// One of so many classes, by a binary tree.
    Classes {
        /// Number of classes, at least 2.
        classes: usize,
    },
}

impl Output {
    /// Units of the last layer this needs.
    ///
    /// ```
    /// assert_eq!(tractable::Output::Classes { classes: 2 }.units(), 1);
    /// ```
    pub fn units(&self) -> usize {
        match *self {
            Output::Values { width } => width,
            Output::Classes { classes } => Tree::new(classes).map_or(0, |t| t.nodes()),
        }
    }

    /// Number of classes; 0 where the output is numbers.
    pub(crate) fn classes(&self) -> usize {
        match *self {
            Output::Values { .. } => 0,
            Output::Classes { classes } => classes,
        }
    }
}

/// Noise of the observations, as a standard deviation in the network's own (standardised) units: one number
/// for all outputs or one for each.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Noise(pub(crate) Vec<f64>);

impl Noise {
    pub(crate) fn new(std: Vec<f64>, units: usize) -> Result<Self> {
        if std.len() != 1 && std.len() != units {
            return Err(Error::shape("noise", format!("1 or {units} standard deviations"), std.len()));
        }
        let positive = |v: f64| v > 0.0 && v.is_finite();
        // The square is what is used.
        match std.iter().find(|s| !(positive(**s) && positive(**s * **s))) {
            None => Ok(Noise(std)),
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
