//! Data for a fit: rows of a data set, or images.

use crate::network::{Network, Resident};
use std::borrow::Cow;
use tractable_core::error::Result;
use tractable_data::{Dataset, Images, Scaler, Target};

/// Data for [`fit`](crate::Network::fit) and [`nll`](crate::Network::nll): a reference to a data set or to images.
///
/// ```
/// use tractable::{data, train::Samples};
/// let digits = data::digits(3, 0)?;
/// assert!(matches!(Samples::from(&digits), Samples::Images(_)));
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Samples<'a> {
    /// Rows of numbers, each with a target.
    Table(Cow<'a, Dataset>),
    /// Images, each with a class.
    Images(Cow<'a, Images>),
}

impl<'a> From<&'a Dataset> for Samples<'a> {
    fn from(data: &'a Dataset) -> Self {
        Samples::Table(Cow::Borrowed(data))
    }
}

impl<'a> From<&'a Images> for Samples<'a> {
    fn from(images: &'a Images) -> Self {
        Samples::Images(Cow::Borrowed(images))
    }
}

impl Samples<'_> {
    pub(super) fn rows(&self) -> usize {
        match self {
            Samples::Table(data) => data.rows(),
            Samples::Images(images) => images.len(),
        }
    }

    pub(super) fn width(&self) -> usize {
        match self {
            Samples::Table(data) => data.width(),
            Samples::Images(images) => images.shape().len(),
        }
    }

    /// Target columns; one for classes.
    pub(super) fn outputs(&self) -> usize {
        match self {
            Samples::Table(data) => data.output_names().len(),
            Samples::Images(_) => 1,
        }
    }

    pub(super) fn input_names(&self) -> Cow<'_, [String]> {
        match self {
            Samples::Table(data) => data.input_names().into(),
            Samples::Images(images) => {
                (0..images.shape().len()).map(|i| format!("pixel{i}")).collect::<Vec<_>>().into()
            }
        }
    }

    pub(super) fn output_names(&self) -> Cow<'_, [String]> {
        match self {
            Samples::Table(data) => data.output_names().into(),
            Samples::Images(_) => vec!["class".to_string()].into(),
        }
    }

    /// `None` for regression.
    pub(super) fn class_names(&self) -> Option<&[String]> {
        match self {
            Samples::Images(images) => Some(images.class_names()),
            Samples::Table(data) => match data.target() {
                Target::Labels { names, .. } => Some(names),
                Target::Values { .. } => None,
            },
        }
    }

    /// Moves the data to the network's device.
    pub(super) fn on<'d>(&'d self, net: &Network) -> Result<Resident<'d>> {
        match self {
            Samples::Table(data) => net.resident_table(data),
            Samples::Images(images) => net.resident_images(images),
        }
    }

    /// An owned part of the data.
    pub(super) fn select<'b>(&self, rows: &[usize]) -> Result<Samples<'b>> {
        Ok(match self {
            Samples::Table(data) => Samples::Table(Cow::Owned(data.select(rows)?)),
            Samples::Images(images) => Samples::Images(Cow::Owned(images.select(rows)?)),
        })
    }

    /// Scalers of inputs and outputs, if the data ask for them, from the training rows.
    pub(super) fn scalers(&self, rows: &[usize]) -> Result<(Option<Scaler>, Option<Scaler>)> {
        match self {
            Samples::Images(images) => Ok((images.scaler(rows)?, None)),
            Samples::Table(data) if !data.wants_standardize() => Ok((None, None)),
            Samples::Table(data) => {
                let part = data.select(rows)?;
                let output = match part.target() {
                    Target::Values { y, observed } => Some(Scaler::fit_observed(y, observed.as_deref())?),
                    Target::Labels { .. } => None,
                };
                Ok((Some(part.input_scaler()), output))
            }
        }
    }
}
