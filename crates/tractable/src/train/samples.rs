//! What a fit learns from: rows of a data set or images, gathered one batch at a time.

use crate::data::{Dataset, Images, Scaler, Target};
use crate::error::Result;
use crate::gaussian::Input;
use crate::output::Observation;
use crate::rng::ChaCha8Rng;
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
                Ok((Some(Scaler::fit(part.x())), output))
            }
        }
    }
}

/// One batch, gathered into memory that is kept.
#[derive(Default)]
pub(super) struct Batch {
    x: Vec<f64>,
    y: Vec<f64>,
    seen: Vec<bool>,
    labels: Vec<usize>,
    /// Random changes to the images of this epoch.
    changes: Option<ChaCha8Rng>,
}

impl Batch {
    /// An epoch begins.
    pub(super) fn begin(&mut self, data: &Samples<'_>, seed: u64, epoch: usize) {
        self.changes = match data {
            Samples::Table(_) => None,
            Samples::Images(images) => images.changes(seed, epoch),
        };
    }

    pub(super) fn gather(&mut self, data: &Samples<'_>, rows: &[usize]) {
        self.x.clear();
        self.labels.clear();
        let data = match data {
            Samples::Table(data) => data,
            Samples::Images(images) => {
                images.gather(rows, self.changes.as_mut(), &mut self.x);
                self.labels.extend(rows.iter().map(|&r| images.label(r)));
                return;
            }
        };
        rows.iter().for_each(|&r| self.x.extend_from_slice(data.x().row(r)));
        match data.target() {
            Target::Values { y, observed } => {
                self.y.clear();
                rows.iter().for_each(|&r| self.y.extend_from_slice(y.row(r)));
                if let Some(seen) = observed {
                    self.seen.clear();
                    let width = y.width();
                    rows.iter().for_each(|&r| self.seen.extend_from_slice(&seen[r * width..][..width]));
                }
            }
            Target::Labels { labels, .. } => self.labels.extend(rows.iter().map(|&r| labels[r])),
        }
    }

    pub(super) fn input(&self, data: &Samples<'_>) -> Input<'_> {
        Input::checked(&self.x, data.width())
    }

    pub(super) fn observation(&self, data: &Samples<'_>) -> Observation<'_> {
        let values = match data {
            Samples::Table(data) => match data.target() {
                Target::Values { y, observed } => Some((y.width(), observed.is_some())),
                Target::Labels { .. } => None,
            },
            Samples::Images(_) => None,
        };
        match values {
            Some((width, missing)) => Observation::checked(&self.y, width, missing.then_some(&self.seen[..])),
            None => Observation::from(&self.labels),
        }
    }
}
