//! Standardisation: columns to mean 0 and standard deviation 1, and predictions back.

use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Matrix;

/// Mean and standard deviation of each column: `x' = (x - mean) / std`.
///
/// Validated by [`check`](Self::check) when read from a file.
///
/// ```
/// use tractable::{Matrix, data::Scaler};
/// let x = Matrix::new(vec![1.0, 10.0, 3.0, 30.0], 2)?;
/// let scaler = Scaler::fit(&x);
/// assert_eq!(scaler.apply(x.data()), [-1.0, -1.0, 1.0, 1.0]);
/// assert_eq!(scaler.undo_mean(&[-1.0, 1.0]), [1.0, 30.0]);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(try_from = "Unchecked"))]
pub struct Scaler {
    mean: Vec<f64>,
    std: Vec<f64>,
}

/// As read from a file, before validation.
#[cfg(feature = "files")]
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    mean: Vec<f64>,
    std: Vec<f64>,
}

#[cfg(feature = "files")]
impl TryFrom<Unchecked> for Scaler {
    type Error = Error;

    fn try_from(raw: Unchecked) -> Result<Self> {
        Self::new(raw.mean, raw.std)
    }
}

impl Scaler {
    /// Means and standard deviations of the columns, checked.
    ///
    /// ```
    /// use tractable::data::Scaler;
    /// assert!(Scaler::new(vec![0.0], vec![2.0]).is_ok());
    /// assert!(Scaler::new(vec![0.0], vec![0.0]).is_err());
    /// ```
    pub fn new(mean: Vec<f64>, std: Vec<f64>) -> Result<Self> {
        let scaler = Self { mean, std };
        scaler.check()?;
        Ok(scaler)
    }

    /// A scaler that changes nothing.
    ///
    /// ```
    /// assert_eq!(tractable::data::Scaler::identity(2).apply(&[3.0, 4.0]), [3.0, 4.0]);
    /// ```
    pub fn identity(width: usize) -> Self {
        Self { mean: vec![0.0; width], std: vec![1.0; width] }
    }

    /// Population mean and standard deviation of each column, in two passes:
    ///
    /// ```text
    /// mean = sum(x) / n        std = sqrt(sum((x - mean)^2) / n)
    /// ```
    ///
    /// A column with `std <= 1e-10 max |x|` is constant up to rounding and gets `std` 1: it becomes
    /// zeros instead of amplified rounding errors. The squares of numbers above about 1e154 overflow:
    /// [`check`](Self::check) then refuses the result.
    ///
    /// ```
    /// use tractable::{Matrix, data::Scaler};
    /// let scaler = Scaler::fit(&Matrix::new(vec![1.0, 0.998, 5.0, 0.998], 2)?);
    /// assert_eq!(scaler.mean(), [3.0, 0.998]);
    /// assert_eq!(scaler.std(), [2.0, 1.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn fit(data: &Matrix) -> Scaler {
        Self::fit_where(data, |_| true)
    }

    /// Like [`fit`](Self::fit), over the entries of `y` with `observed` true (row-major, `None`: all). A column
    /// without any is unchanged.
    ///
    /// # Errors
    /// When `observed` does not have one entry for each of `y`.
    ///
    /// ```
    /// use tractable::{Matrix, data::Scaler};
    /// let y = Matrix::column(vec![1.0, 0.0, 3.0])?;
    /// let scaler = Scaler::fit_observed(&y, Some(&[true, false, true]))?;
    /// assert_eq!(scaler.mean(), [2.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn fit_observed(y: &Matrix, observed: Option<&[bool]>) -> Result<Scaler> {
        match observed {
            None => Ok(Self::fit(y)),
            Some(seen) if seen.len() != y.data().len() => {
                Err(Error::shape("observed", format!("{} entries", y.data().len()), seen.len()))
            }
            Some(seen) => Ok(Self::fit_where(y, |i| seen[i])),
        }
    }

    /// T67. The scaler of all rows, from the scalers of parts and the number of rows in each. The `std` of a part is used as it is, even
    /// the 1 of a constant column.
    ///
    /// # Errors
    /// When there are no rows, or widths differ.
    ///
    /// ```
    /// use tractable::{Matrix, data::Scaler};
    /// let (a, b) = (Scaler::fit(&Matrix::column(vec![1.0, 2.0])?), Scaler::fit(&Matrix::column(vec![3.0, 4.0, 8.0])?));
    /// let all = Scaler::fit(&Matrix::column(vec![1.0, 2.0, 3.0, 4.0, 8.0])?);
    /// let merged = Scaler::merged(&[(2, &a), (3, &b)])?;
    /// assert!((merged.mean()[0] - all.mean()[0]).abs() < 1e-12 && (merged.std()[0] - all.std()[0]).abs() < 1e-12);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn merged(parts: &[(usize, &Scaler)]) -> Result<Scaler> {
        let rows = parts.iter().map(|(n, _)| *n as f64).sum::<f64>();
        let width = parts.first().map_or(0, |(_, s)| s.width());
        if rows == 0.0 || parts.iter().any(|(_, s)| s.width() != width) {
            return Err(Error::invalid("scalers", "parts must have rows, and the same columns"));
        }
        // Relative to the overall mean, so that columns with a large offset do not lose precision.
        let sum =
            |f: &dyn Fn(&Scaler) -> f64| parts.iter().map(|(n, s)| *n as f64 * f(s)).sum::<f64>() / rows;
        let mean: Vec<f64> = (0..width).map(|c| sum(&|s| s.mean[c])).collect();
        let var = |c: usize| sum(&|s| s.std[c].powi(2) + (s.mean[c] - mean[c]).powi(2));
        let std = (0..width).map(|c| var(c).sqrt()).collect();
        Scaler::new(mean, std)
    }

    fn fit_where(data: &Matrix, counts: impl Fn(usize) -> bool) -> Scaler {
        let width = data.width();
        // Sums over the rows in order, one per column: bit-identical on every machine.
        let average = |term: &dyn Fn(usize, f64) -> f64| {
            let (mut sum, mut n) = (vec![0.0; width], vec![0.0; width]);
            for (row, values) in data.data().chunks_exact(width).enumerate() {
                for (column, &x) in values.iter().enumerate().filter(|(c, _)| counts(row * width + c)) {
                    sum[column] += term(column, x);
                    n[column] += 1.0;
                }
            }
            sum.iter().zip(&n).map(|(s, &n)| if n == 0.0 { 0.0 } else { s / n }).collect::<Vec<f64>>()
        };
        let mean = average(&|_, x| x);
        let var = average(&|column, x| (x - mean[column]) * (x - mean[column]));
        let mut largest = vec![0.0_f64; width];
        for (i, x) in data.data().iter().enumerate().filter(|(i, _)| counts(*i)) {
            largest[i % width] = largest[i % width].max(x.abs());
        }
        let std = var.iter().zip(&largest).map(|(v, largest)| {
            let std = v.sqrt();
            if std <= 1e-10 * largest { 1.0 } else { std }
        });
        Scaler { std: std.collect(), mean }
    }

    /// Every mean is finite, every standard deviation is finite and positive, and there are as many of each.
    ///
    /// ```
    /// use tractable::{Matrix, data::Scaler};
    /// assert!(Scaler::identity(3).check().is_ok());
    /// assert!(Scaler::fit(&Matrix::column(vec![-1e308, 1e308])?).check().is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn check(&self) -> Result<()> {
        if self.mean.len() != self.std.len() {
            return Err(Error::shape(
                "scaler",
                format!("{} standard deviations", self.mean.len()),
                self.std.len(),
            ));
        }
        if self.mean.is_empty() {
            return Err(Error::invalid("scaler", "at least one column is needed"));
        }
        for (column, (&mean, &std)) in self.mean.iter().zip(&self.std).enumerate() {
            if !mean.is_finite() {
                return Err(Error::NotFinite { what: "scaler mean".into(), row: 0, column, value: mean });
            }
            if !std.is_finite() || std <= 0.0 {
                let why = "a standard deviation must be positive and finite".into();
                return Err(Error::OutOfRange { what: "scaler std".into(), row: 0, column, value: std, why });
            }
        }
        Ok(())
    }

    /// Of some of the columns.
    pub fn some(&self, columns: std::ops::Range<usize>) -> Self {
        Self { mean: self.mean[columns.clone()].to_vec(), std: self.std[columns].to_vec() }
    }

    /// Number of columns.
    ///
    /// ```
    /// assert_eq!(tractable::data::Scaler::identity(3).width(), 3);
    /// ```
    pub fn width(&self) -> usize {
        self.mean.len()
    }

    /// Means, one per column.
    ///
    /// ```
    /// assert_eq!(tractable::data::Scaler::identity(2).mean(), [0.0, 0.0]);
    /// ```
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Standard deviations, one per column; never 0.
    ///
    /// ```
    /// assert_eq!(tractable::data::Scaler::identity(2).std(), [1.0, 1.0]);
    /// ```
    pub fn std(&self) -> &[f64] {
        &self.std
    }

    /// `(x - mean) / std` for whole rows; panics when `data` does not consist of such.
    ///
    /// ```
    /// # use tractable::data::Scaler;
    /// assert_eq!(Scaler::new(vec![1.0], vec![2.0])?.apply(&[5.0, 1.0]), [2.0, 0.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn apply(&self, data: &[f64]) -> Vec<f64> {
        self.map(data, |x, mean, std| (x - mean) / std)
    }

    /// [`apply`](Self::apply) without a copy.
    ///
    /// ```
    /// # use tractable::data::Scaler;
    /// let mut x = [5.0, 1.0];
    /// Scaler::new(vec![1.0], vec![2.0])?.apply_in_place(&mut x);
    /// assert_eq!(x, [2.0, 0.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn apply_in_place(&self, data: &mut [f64]) {
        self.map_in_place(data, |x, mean, std| (x - mean) / std);
    }

    /// Variances into the scaled space, `var / std^2`, for inputs that are uncertain; panics as
    /// [`apply`](Self::apply).
    ///
    /// ```
    /// # use tractable::data::Scaler;
    /// assert_eq!(Scaler::new(vec![1.0], vec![2.0])?.apply_var(&[8.0]), [2.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn apply_var(&self, var: &[f64]) -> Vec<f64> {
        self.map(var, |v, _, std| v / (std * std))
    }

    /// Means back to the original units, `x std + mean`; panics as [`apply`](Self::apply).
    ///
    /// ```
    /// # use tractable::data::Scaler;
    /// assert_eq!(Scaler::new(vec![1.0], vec![2.0])?.undo_mean(&[2.0]), [5.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn undo_mean(&self, mean: &[f64]) -> Vec<f64> {
        self.map(mean, |x, mean, std| x * std + mean)
    }

    /// Variances back to the original units, `var std^2`; panics as [`apply`](Self::apply).
    ///
    /// ```
    /// # use tractable::data::Scaler;
    /// assert_eq!(Scaler::new(vec![1.0], vec![2.0])?.undo_var(&[2.0]), [8.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn undo_var(&self, var: &[f64]) -> Vec<f64> {
        self.map(var, |v, _, std| v * (std * std))
    }

    fn map(&self, data: &[f64], f: impl Fn(f64, f64, f64) -> f64) -> Vec<f64> {
        let mut out = data.to_vec();
        self.map_in_place(&mut out, f);
        out
    }

    fn map_in_place(&self, data: &mut [f64], f: impl Fn(f64, f64, f64) -> f64) {
        assert!(
            data.len().is_multiple_of(self.width()),
            "{} numbers in rows of {}",
            data.len(),
            self.width()
        );
        for row in data.chunks_exact_mut(self.width()) {
            for (x, (&mean, &std)) in row.iter_mut().zip(self.mean.iter().zip(&self.std)) {
                *x = f(*x, mean, std);
            }
        }
    }
}
