//! What is seen at the output: [`Observation`].

use super::{Noise, Output, Tree};
use crate::backend::{NoiseVar, Seen};
use crate::data::{Scaler, Target};
use crate::error::{Error, Result};
use crate::gaussian::Matrix;

/// The content of an observation, borrowed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum What<'a> {
    Values { y: &'a [f64], width: usize },
    Labels(&'a [usize]),
}

/// What was seen at the output, one row a sample. Made from a `&Matrix` (numbers), a `&[usize]` (labels) or a
/// data set's `&Target`.
///
/// ```
/// use tractable::{Activation, Matrix, Network, Observation};
/// let mut net = Network::mlp([1, 8, 2], Activation::Tanh).build()?;
/// let x = Matrix::column(vec![0.1, 0.2])?;
/// let y = Matrix::new(vec![1.0, 0.0, 2.0, 3.0], 2)?;
/// net.learn(&x, &y)?; // with the network's own noise
/// net.learn(&x, Observation::from(&y).noise_var(&[0.1, 0.1, 0.5, 0.5]))?; // noise of every observation
/// net.learn(&x, Observation::from(&y).seen(&[true, false, true, true]))?; // one entry missing
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    pub(crate) what: What<'a>,
    pub(crate) noise_var: Option<&'a [f64]>,
    pub(crate) seen: Option<&'a [bool]>,
}

impl<'a> Observation<'a> {
    /// Numbers that were checked when they were read.
    pub(crate) fn checked(y: &'a [f64], width: usize, seen: Option<&'a [bool]>) -> Self {
        Observation { what: What::Values { y, width }, noise_var: None, seen }
    }

    /// Variance of the noise of every single entry, in the units of the observation, instead of the
    /// network's own noise: `[rows, width]`.
    ///
    /// ```
    /// # use tractable::{Matrix, Observation};
    /// let y = Matrix::column(vec![1.0])?;
    /// let seen = Observation::from(&y).noise_var(&[0.2]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn noise_var(mut self, var: &'a [f64]) -> Self {
        self.noise_var = Some(var);
        self
    }

    /// Which entries were seen, `[rows, width]`; the others are missing and teach nothing.
    ///
    /// ```
    /// # use tractable::{Matrix, Observation};
    /// let y = Matrix::new(vec![1.0, 0.0], 2)?;
    /// let seen = Observation::from(&y).seen(&[true, false]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn seen(mut self, seen: &'a [bool]) -> Self {
        self.seen = Some(seen);
        self
    }
}

impl<'a> From<&'a Matrix> for Observation<'a> {
    fn from(y: &'a Matrix) -> Self {
        Observation { what: What::Values { y: y.data(), width: y.width() }, noise_var: None, seen: None }
    }
}

impl<'a> From<&'a [usize]> for Observation<'a> {
    fn from(labels: &'a [usize]) -> Self {
        Observation { what: What::Labels(labels), noise_var: None, seen: None }
    }
}

impl<'a, const N: usize> From<&'a [usize; N]> for Observation<'a> {
    fn from(labels: &'a [usize; N]) -> Self {
        Observation::from(&labels[..])
    }
}

impl<'a> From<&'a Vec<usize>> for Observation<'a> {
    fn from(labels: &'a Vec<usize>) -> Self {
        Observation::from(&labels[..])
    }
}

impl<'a> From<&'a Target> for Observation<'a> {
    fn from(target: &'a Target) -> Self {
        match target {
            Target::Values { y, observed } => {
                Observation { seen: observed.as_deref(), ..Observation::from(y) }
            }
            Target::Labels { labels, .. } => Observation::from(&labels[..]),
        }
    }
}

/// Buffers that hold an observation in the network's own units, kept from batch to batch.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    y: Vec<f64>,
    noise: Vec<f64>,
    seen: Vec<bool>,
}

/// The noise to use for entries the observation itself says nothing about.
pub(crate) enum OrElse<'a> {
    Network(&'a Noise),
    Var(f64),
}

impl Filled {
    /// Checks an observation of `rows` samples against the output and brings it into the network's units:
    /// labels become tree nodes, numbers are standardised by `scaler`.
    pub(crate) fn fill<'s>(
        &'s mut self,
        observation: &'s Observation<'_>,
        or_else: OrElse<'_>,
        output: Output,
        scaler: Option<&Scaler>,
        rows: usize,
    ) -> Result<Seen<'s>> {
        let units = output.units();
        let n = rows * units;
        let given = match observation.what {
            What::Values { y, width } => y.len() / width,
            What::Labels(labels) => labels.len(),
        };
        if given != rows {
            return Err(Error::shape("observation", format!("{rows} rows"), given));
        }
        if let Some(seen) = observation.seen
            && seen.len() != n
        {
            return Err(Error::shape("seen entries", n, seen.len()));
        }
        // The network's own noise is in the network's units; any other comes in those of the observation.
        let raw_noise = observation.noise_var.is_some() || matches!(or_else, OrElse::Var(_));
        self.noise.clear();
        match (observation.noise_var, or_else) {
            (Some(var), _) => {
                check_noise(var, n, units)?;
                self.noise.extend_from_slice(var);
            }
            (None, OrElse::Var(var)) => {
                if !(var >= 0.0 && var.is_finite()) {
                    return Err(Error::invalid(
                        "noise",
                        format!("a variance of {var} is not a number of at least 0"),
                    ));
                }
                self.noise.resize(n, var);
            }
            (None, OrElse::Network(noise)) => {
                self.noise.extend(noise.0.iter().map(|s| s * s));
            }
        }
        match (observation.what, output) {
            (What::Values { y, width }, Output::Values { .. }) => {
                if width != units {
                    return Err(Error::shape("observation", format!("{units} columns"), width));
                }
                self.y.clear();
                self.y.extend_from_slice(y);
                if let Some(scaler) = scaler {
                    scaler.apply_in_place(&mut self.y);
                    if raw_noise {
                        for (i, v) in self.noise.iter_mut().enumerate() {
                            *v /= scaler.std()[i % units] * scaler.std()[i % units];
                        }
                    }
                }
                Ok(Seen { y: &self.y, noise: self.noise_view(units), seen: observation.seen })
            }
            (What::Labels(labels), Output::Classes { classes }) => {
                let tree = Tree::new(classes)?;
                self.y.resize(n, 0.0);
                self.seen.resize(n, false);
                for (row, &label) in labels.iter().enumerate() {
                    if label >= classes {
                        return Err(Error::OutOfRange {
                            what: "label".into(),
                            row,
                            column: 0,
                            value: label as f64,
                            why: format!("the network has {classes} classes, 0 to {}", classes - 1),
                        });
                    }
                    let at = row * units..(row + 1) * units;
                    tree.observe(label, &mut self.y[at.clone()], &mut self.seen[at]);
                }
                if let Some(seen) = observation.seen {
                    self.seen.iter_mut().zip(seen).for_each(|(mine, theirs)| *mine &= theirs);
                }
                Ok(Seen { y: &self.y, noise: self.noise_view(units), seen: Some(&self.seen) })
            }
            (What::Values { .. }, Output::Classes { classes }) => Err(Error::invalid(
                "observation",
                format!("this network knows {classes} classes: give labels, not numbers"),
            )),
            (What::Labels(_), Output::Values { width }) => Err(Error::invalid(
                "observation",
                format!("this network puts out {width} numbers: give numbers, not labels"),
            )),
        }
    }

    fn noise_view(&self, units: usize) -> NoiseVar<'_> {
        match self.noise.len() {
            1 => NoiseVar::One(self.noise[0]),
            n if n == units => NoiseVar::PerOutput(&self.noise),
            _ => NoiseVar::PerEntry(&self.noise),
        }
    }
}

/// Refuses numbers beyond `most`: their square is more than the device can hold, and they would end as infinite
/// weights.
pub(crate) fn check_size(seen: Seen<'_>, units: usize, most: f64) -> Result<()> {
    let is_seen = |at: usize| seen.seen.is_none_or(|s| s[at]);
    match (0..seen.y.len()).find(|&at| is_seen(at) && (seen.y[at].is_nan() || seen.y[at].abs() > most)) {
        None => Ok(()),
        Some(at) => Err(Error::OutOfRange {
            what: "observation".into(),
            row: at / units,
            column: at % units,
            value: seen.y[at],
            why: format!("numbers to learn from must lie within +-{most:e}, after standardisation"),
        }),
    }
}

fn check_noise(var: &[f64], n: usize, units: usize) -> Result<()> {
    if var.len() != n {
        return Err(Error::shape("noise of every observation", n, var.len()));
    }
    match var.iter().position(|v| !(*v > 0.0 && v.is_finite())) {
        None => Ok(()),
        Some(at) => Err(Error::OutOfRange {
            what: "noise variance".into(),
            row: at / units,
            column: at % units,
            value: var[at],
            why: "it must be a positive number".into(),
        }),
    }
}
