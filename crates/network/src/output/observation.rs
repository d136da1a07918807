//! Observed outputs: [`Observation`].

use super::{ClassUnits, NoiseStd, Output};
use crate::engine::{Entries, Observed};
use std::ops::Range;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Matrix, check_finite, check_shape};
use tractable_data::{Scaler, Target};
use tractable_devices::NoiseVar;

/// The content of an observation, borrowed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum What<'a> {
    Values { y: &'a [f64], width: usize },
    Labels(&'a [usize]),
}

/// Observed outputs, one row per sample. Made from a `&Matrix` (numbers), a `&[usize]` (labels) or a
/// data set's `&Target`.
///
/// ```
/// use tractable::{Activation, Matrix, Network, network::Observation};
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
    /// The label of a row, if labels were observed.
    pub fn label(&self, row: usize) -> Option<usize> {
        match self.what {
            What::Labels(labels) => labels.get(row).copied(),
            What::Values { .. } => None,
        }
    }

    /// The numbers, and which of them were observed; `None` for labels.
    pub fn entries(&self) -> (&'a [f64], Option<&'a [bool]>) {
        match self.what {
            What::Values { y, .. } => (y, self.seen),
            What::Labels(_) => (&[], None),
        }
    }

    /// The noise variance of each entry, where it is given.
    pub fn noise(&self) -> Option<&'a [f64]> {
        self.noise_var
    }

    /// Borrowed numbers, `[rows, width]`.
    ///
    /// # Errors
    /// When they are not whole rows, or not all finite.
    ///
    /// ```
    /// # use tractable::network::Observation;
    /// let three_rows_of_two = Observation::values(&[1.0, 0.0, 2.0, 3.0, 5.0, 1.0], 2)?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn values(y: &'a [f64], width: usize) -> Result<Self> {
        check_shape("observation", y.len(), width)?;
        check_finite("observation", y, width)?;
        Ok(Observation { what: What::Values { y, width }, noise_var: None, seen: None })
    }

    /// Variance of the noise of every single entry, in the units of the observation, instead of the
    /// network's own noise: `[rows, width]`.
    ///
    /// ```
    /// # use tractable::{Matrix, network::Observation};
    /// let y = Matrix::column(vec![1.0])?;
    /// let seen = Observation::from(&y).noise_var(&[0.2]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn noise_var(mut self, var: &'a [f64]) -> Self {
        self.noise_var = Some(var);
        self
    }

    /// One row of it.
    pub fn row(&self, row: usize) -> Observation<'a> {
        let (what, rows) = match self.what {
            What::Values { y, width } => {
                (What::Values { y: &y[row * width..(row + 1) * width], width }, y.len() / width)
            }
            What::Labels(labels) => (What::Labels(&labels[row..row + 1]), labels.len()),
        };
        let part = |n: usize| row * n / rows..(row + 1) * n / rows;
        Observation {
            what,
            noise_var: self.noise_var.map(|v| &v[part(v.len())]),
            seen: self.seen.map(|v| &v[part(v.len())]),
        }
    }

    /// Which entries were observed, `[rows, width]`; the others are missing and ignored.
    ///
    /// ```
    /// # use tractable::{Matrix, network::Observation};
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

/// An observation in the network's own units, in memory that is kept from batch to batch.
#[derive(Debug, Default)]
pub struct ObservationBuffer {
    y: Vec<f64>,
    /// One variance for all entries, one for every output, or one for every entry; empty if inferred.
    noise: Vec<f64>,
    /// Which entries were observed; empty if all were.
    seen: Vec<bool>,
    /// Classes of a softmax.
    softmax: bool,
}

/// The noise for entries without their own.
pub enum DefaultNoise<'a> {
    /// Known to the network.
    Network(&'a NoiseStd),
    /// Inferred by the network.
    Inferred,
    /// This variance, in the units of the observation.
    Var(f64),
    /// None: the classes of a softmax.
    Softmax,
}

impl ObservationBuffer {
    /// Checks an observation of `rows` samples against the output and brings it into the network's units:
    /// labels become what is seen of the output's units, numbers are standardised by `scaler` and must then be within `most`: the square of
    /// more would overflow on the device and give infinite weights.
    pub fn fill(
        &mut self,
        observation: &Observation<'_>,
        noise: DefaultNoise<'_>,
        output: Output,
        scaler: Option<&Scaler>,
        rows: usize,
        most: f64,
    ) -> Result<()> {
        let units = output.units();
        let n = rows * units;
        self.softmax = output.is_softmax();
        if self.softmax {
            check_softmax(observation, &noise, units)?;
        }
        let given = match observation.what {
            What::Values { y, width } => y.len() / width,
            What::Labels(labels) => labels.len(),
        };
        if given != rows {
            return Err(Error::shape("observation", format!("{rows} rows"), given));
        }
        self.seen.clear();
        if let Some(seen) = observation.seen {
            if seen.len() != n {
                return Err(Error::shape("seen entries", n, seen.len()));
            }
            self.seen.extend_from_slice(seen);
        }
        // The network's own noise is in the network's units; any other comes in those of the observation.
        let raw_noise = observation.noise_var.is_some() || matches!(noise, DefaultNoise::Var(_));
        self.noise.clear();
        match (observation.noise_var, noise) {
            (Some(var), _) => {
                check_noise(var, n, units)?;
                self.noise.extend_from_slice(var);
            }
            (None, DefaultNoise::Var(var)) => {
                if !(var >= 0.0 && var.is_finite()) {
                    return Err(Error::invalid(
                        "noise",
                        format!("a variance of {var} is not a number of at least 0"),
                    ));
                }
                self.noise.resize(if scaler.is_some() { units } else { 1 }, var);
            }
            (None, DefaultNoise::Network(noise)) => {
                self.noise.extend(noise.0.iter().map(|s| s * s));
            }
            (None, DefaultNoise::Inferred | DefaultNoise::Softmax) => {}
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
                self.check_size(units, most)?;
            }
            (What::Labels(labels), Output::Classes { classes, .. }) => {
                let units = output.class_units()?;
                if let Some(row) = labels.iter().position(|&label| label >= classes) {
                    return Err(Error::OutOfRange {
                        what: "label".into(),
                        row,
                        column: 0,
                        value: labels[row] as f64,
                        why: format!("the network has {classes} classes, 0 to {}", classes - 1),
                    });
                }
                self.label(units, labels.iter().copied());
                if let Some(seen) = observation.seen {
                    self.seen.resize(n, true);
                    self.seen.iter_mut().zip(seen).for_each(|(mine, theirs)| *mine &= theirs);
                }
            }
            (What::Values { .. }, Output::Classes { classes, .. }) => {
                let why = format!("this network has {classes} classes: give labels, not numbers");
                return Err(Error::invalid("observation", why));
            }
            (What::Labels(_), Output::Values { width, .. }) => {
                let why =
                    format!("this is a regression model with {width} outputs: give numbers, not labels");
                return Err(Error::invalid("observation", why));
            }
        }
        Ok(())
    }

    /// What these labels say of the units of the output.
    pub(crate) fn label(&mut self, units: ClassUnits, labels: impl ExactSizeIterator<Item = usize>) {
        let (width, rows) = (units.units(), labels.len());
        self.y.resize(rows * width, 0.0);
        match units {
            ClassUnits::Tree(tree) => {
                self.seen.resize(rows * width, false);
                for (row, label) in labels.enumerate() {
                    let at = row * width..(row + 1) * width;
                    tree.observe(label, &mut self.y[at.clone()], &mut self.seen[at]);
                }
            }
            ClassUnits::Softmax(_) => {
                self.seen.clear();
                self.y.fill(0.0);
                labels.enumerate().for_each(|(row, label)| self.y[row * width + label] = 1.0);
            }
        }
    }

    /// Some rows of another; the noise stays.
    pub(crate) fn gather(&mut self, all: &Self, units: usize, rows: &[usize]) {
        self.y.clear();
        self.seen.clear();
        for &row in rows {
            let at = row * units..(row + 1) * units;
            self.y.extend_from_slice(&all.y[at.clone()]);
            self.seen.extend_from_slice(all.seen.get(at).unwrap_or_default());
        }
    }

    /// The network's own noise, for rows that are gathered.
    pub(crate) fn set_noise(&mut self, noise: DefaultNoise<'_>) {
        self.noise.clear();
        self.softmax = matches!(noise, DefaultNoise::Softmax);
        if let DefaultNoise::Network(noise) = noise {
            self.noise.extend(noise.0.iter().map(|s| s * s));
        }
    }

    /// The observation as the engine takes it.
    pub(crate) fn observed(&self, units: usize) -> Observed<'_> {
        let noise = match self.noise.len() {
            0 if self.softmax => Some(NoiseVar::Softmax),
            0 => None,
            1 => Some(NoiseVar::One(self.noise[0])),
            n if n == units => Some(NoiseVar::PerOutput(&self.noise)),
            _ => Some(NoiseVar::PerEntry(&self.noise)),
        };
        Observed { entries: Entries::Values(&self.y, self.seen()), noise }
    }

    /// The values.
    pub fn y(&self) -> &[f64] {
        &self.y
    }

    /// Which entries were observed; `None`: all.
    pub fn seen(&self) -> Option<&[bool]> {
        (!self.seen.is_empty()).then_some(&self.seen[..])
    }

    /// Whether labels are those of a softmax.
    pub(crate) fn is_softmax(&self) -> bool {
        self.softmax
    }

    /// Variance of the noise of an entry, which is not inferred; 0 of a softmax.
    pub fn noise_at(&self, row: usize, output: usize, units: usize) -> f64 {
        match self.noise.len() {
            0 => 0.0,
            1 => self.noise[0],
            n if n == units => self.noise[output],
            _ => self.noise[row * units + output],
        }
    }

    /// A copy of some rows.
    pub fn rows_between(&self, rows: Range<usize>, units: usize) -> Self {
        let at = rows.start * units..rows.end * units;
        let each = self.noise.len() == self.y.len() && self.noise.len() > units;
        ObservationBuffer {
            y: self.y[at.clone()].to_vec(),
            noise: if each { self.noise[at.clone()].to_vec() } else { self.noise.clone() },
            seen: if self.seen.is_empty() { Vec::new() } else { self.seen[at].to_vec() },
            softmax: self.softmax,
        }
    }

    fn check_size(&self, units: usize, most: f64) -> Result<()> {
        let is_seen = |at: usize| self.seen.is_empty() || self.seen[at];
        let wrong = |y: f64| y.is_nan() || y.abs() > most;
        match (0..self.y.len()).find(|&at| wrong(self.y[at]) && is_seen(at)) {
            None => Ok(()),
            Some(at) => Err(Error::OutOfRange {
                what: "observation".into(),
                row: at / units,
                column: at % units,
                value: self.y[at],
                why: format!("values must be within +-{most:e} after standardisation"),
            }),
        }
    }
}

/// A softmax has no noise, and its class is seen as a whole.
fn check_softmax(observation: &Observation<'_>, noise: &DefaultNoise<'_>, units: usize) -> Result<()> {
    if observation.noise_var.is_some() || matches!(noise, DefaultNoise::Var(var) if *var != 0.0) {
        return Err(Error::invalid("noise", "a softmax has none"));
    }
    let in_part = |row: &[bool]| row.contains(&true) && row.contains(&false);
    match observation.seen.is_some_and(|seen| seen.chunks(units).any(in_part)) {
        true => {
            Err(Error::invalid("seen entries", "the class of a softmax is seen as a whole or not at all"))
        }
        false => Ok(()),
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
