//! What a fit learns from: rows of a data set, or images.

use crate::data::{Dataset, Images, Scaler, Target};
use crate::error::Result;
use crate::network::{Network, Resident};
use std::borrow::Cow;

/// Data for [`fit`](crate::Network::fit) and [`nll`](crate::Network::nll): a reference to a data set or to images.
///
/// ```
/// use tractable::{Samples, data};
/// let digits = data::digits(3, 0)?;
/// assert!(matches!(Samples::from(&digits), Samples::Images(_)));
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Samples<'a> {
    /// Rows of numbers with a target each.
    Table(Cow<'a, Dataset>),
    /// Images with a class each.
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

    /// `None` where the target is numbers.
    pub(super) fn class_names(&self) -> Option<&[String]> {
        match self {
            Samples::Images(images) => Some(images.class_names()),
            Samples::Table(data) => match data.target() {
                Target::Labels { names, .. } => Some(names),
                Target::Values { .. } => None,
            },
        }
    }

    /// Puts the data where a network computes.
    pub(super) fn on<'d>(&'d self, net: &Network) -> Result<Resident<'d>> {
        match self {
            Samples::Table(data) => net.resident_table(data),
            Samples::Images(images) => net.resident_images(images),
        }
    }

    /// A part with memory of its own.
    pub(super) fn select<'b>(&self, rows: &[usize]) -> Result<Samples<'b>> {
        Ok(match self {
            Samples::Table(data) => Samples::Table(Cow::Owned(data.select(rows)?)),
            Samples::Images(images) => Samples::Images(Cow::Owned(images.select(rows)?)),
        })
    }

    /// What the data ask for, of inputs and outputs, from the rows that are learned from.
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
