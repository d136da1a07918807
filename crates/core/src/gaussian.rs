//! The basic types: [`Matrix`] for known numbers, [`Gaussian`] for uncertain ones,
//! [`Input`] for either, as the verbs take them.

#[cfg(feature = "ndarray")]
mod arrays;

use crate::error::{Error, Result};

/// Known numbers, `[rows, width]`, row-major, all finite.
///
/// ```
/// let x = tractable::Matrix::new(vec![1.0, 2.0, 3.0, 4.0], 2)?;
/// assert_eq!((x.rows(), x.width()), (2, 2));
/// assert_eq!(x.row(1), [3.0, 4.0]);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize))]
pub struct Matrix {
    data: Vec<f64>,
    width: usize,
}

/// Independent normal variables, `[rows, width]`, row-major, each with a mean and a variance.
///
/// ```
/// let x = tractable::Gaussian::new(vec![0.5, -0.5], vec![0.01, 0.04], 2)?;
/// assert_eq!(x.std(), [0.1, 0.2]);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(try_from = "Unchecked"))]
pub struct Gaussian {
    mean: Vec<f64>,
    var: Vec<f64>,
    width: usize,
}

/// As it is read, before validation.
#[cfg(feature = "files")]
#[derive(serde::Deserialize)]
struct Unchecked {
    mean: Vec<f64>,
    var: Vec<f64>,
    width: usize,
}

#[cfg(feature = "files")]
impl TryFrom<Unchecked> for Gaussian {
    type Error = Error;

    fn try_from(raw: Unchecked) -> Result<Self> {
        Self::new(raw.mean, raw.var, raw.width)
    }
}

/// Input of a verb: means `[rows, width]` and, unless they are known exactly, variances.
///
/// Made from a `&Matrix` or a `&Gaussian`; verbs take `impl Into<Input>`.
///
/// ```
/// use tractable::{Gaussian, Input, Matrix};
/// let known = Matrix::new(vec![1.0, 2.0], 1)?;
/// let unsure = Gaussian::around(&known, 0.1)?;
/// assert!(Input::from(&known).var().is_none());
/// assert_eq!(Input::from(&unsure).var(), Some(&[0.1, 0.1][..]));
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    mean: &'a [f64],
    var: Option<&'a [f64]>,
    width: usize,
}

/// Numbers must be whole rows, at least one, of at least one column.
pub fn check_shape(what: &str, len: usize, width: usize) -> Result<()> {
    if width == 0 {
        return Err(Error::invalid(what, "the width must be at least 1"));
    }
    if !len.is_multiple_of(width) {
        return Err(Error::shape(what, format!("a multiple of the width {width}"), format!("{len} numbers")));
    }
    Ok(())
}

/// An error with the position of the first entry that is not finite, if any.
pub fn check_finite(what: &str, data: &[f64], width: usize) -> Result<()> {
    // The sum of x * 0 is 0 for finite numbers and NaN otherwise: no branch in the loop.
    if data.iter().map(|v| v * 0.0).sum::<f64>() == 0.0 {
        return Ok(());
    }
    let at = data.iter().position(|v| !v.is_finite()).expect("a non-finite entry exists");
    Err(Error::NotFinite { what: what.into(), row: at / width, column: at % width, value: data[at] })
}

fn check_var(what: &str, var: &[f64], width: usize) -> Result<()> {
    check_finite(what, var, width)?;
    match var.iter().position(|&v| v < 0.0) {
        None => Ok(()),
        Some(at) => Err(Error::OutOfRange {
            what: what.into(),
            row: at / width,
            column: at % width,
            value: var[at],
            why: "a variance cannot be negative".into(),
        }),
    }
}

impl Matrix {
    /// From `data`, which holds whole rows of `width` finite numbers.
    ///
    /// ```
    /// assert!(tractable::Matrix::new(vec![1.0, 2.0, 3.0], 2).is_err());
    /// ```
    pub fn new(data: Vec<f64>, width: usize) -> Result<Self> {
        check_shape("matrix", data.len(), width)?;
        check_finite("matrix", &data, width)?;
        Ok(Self { data, width })
    }

    /// One column.
    ///
    /// ```
    /// let y = tractable::Matrix::column(vec![1.0, 2.0])?;
    /// assert_eq!((y.rows(), y.width()), (2, 1));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn column(data: Vec<f64>) -> Result<Self> {
        Self::new(data, 1)
    }

    /// Number of rows.
    ///
    /// ```
    /// # let x = tractable::Matrix::new(vec![1.0; 6], 3)?;
    /// assert_eq!(x.rows(), 2);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.data.len() / self.width
    }

    /// Numbers in a row.
    ///
    /// ```
    /// # let x = tractable::Matrix::new(vec![1.0; 6], 3)?;
    /// assert_eq!(x.width(), 3);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn width(&self) -> usize {
        self.width
    }

    /// All numbers, row by row.
    ///
    /// ```
    /// # let x = tractable::Matrix::new(vec![1.0, 2.0], 1)?;
    /// assert_eq!(x.data(), [1.0, 2.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// One row; panics if there is no such row, like a slice.
    ///
    /// ```
    /// # let x = tractable::Matrix::new(vec![1.0, 2.0], 1)?;
    /// assert_eq!(x.row(1), [2.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn row(&self, row: usize) -> &[f64] {
        &self.data[row * self.width..][..self.width]
    }

    /// A new matrix of the rows at `index`, in that order; panics on a row that does not exist.
    ///
    /// ```
    /// # let x = tractable::Matrix::new(vec![1.0, 2.0, 3.0], 1)?;
    /// assert_eq!(x.select(&[2, 0]).data(), [3.0, 1.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn select(&self, index: &[usize]) -> Self {
        Self { data: index.iter().flat_map(|&r| self.row(r)).copied().collect(), width: self.width }
    }
}

impl Gaussian {
    /// Means and variances of the same length, whole rows of `width`; variances may be 0 (known exactly).
    ///
    /// ```
    /// assert!(tractable::Gaussian::new(vec![0.0], vec![-1.0], 1).is_err());
    /// ```
    pub fn new(mean: Vec<f64>, var: Vec<f64>, width: usize) -> Result<Self> {
        check_shape("mean", mean.len(), width)?;
        if var.len() != mean.len() {
            return Err(Error::shape("variance", format!("{} numbers", mean.len()), var.len()));
        }
        check_finite("mean", &mean, width)?;
        check_var("variance", &var, width)?;
        Ok(Self { mean, var, width })
    }

    /// Every number of `mean` with the same variance around it.
    ///
    /// ```
    /// let x0 = tractable::Matrix::new(vec![0.25], 1)?;
    /// assert_eq!(tractable::Gaussian::around(&x0, 1e-4)?.var(), [1e-4]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn around(mean: &Matrix, var: f64) -> Result<Self> {
        Self::new(mean.data.clone(), vec![var; mean.data.len()], mean.width)
    }

    /// For numbers this crate computed; checked where they were made.
    pub fn computed(mean: Vec<f64>, var: Vec<f64>, width: usize) -> Self {
        debug_assert_eq!(mean.len(), var.len());
        Self { mean, var, width }
    }

    /// Means and variances.
    pub fn into_parts(self) -> [Vec<f64>; 2] {
        [self.mean, self.var]
    }

    /// Calls `f(place, mean, variance)` for every entry.
    pub fn change(&mut self, mut f: impl FnMut(usize, &mut f64, &mut f64)) {
        for (i, (mean, var)) in self.mean.iter_mut().zip(&mut self.var).enumerate() {
            f(i, mean, var);
        }
    }

    /// Means, row after row.
    ///
    /// ```
    /// # let x = tractable::Gaussian::new(vec![0.5], vec![0.01], 1)?;
    /// assert_eq!(x.mean(), [0.5]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Variances, row after row.
    ///
    /// ```
    /// # let x = tractable::Gaussian::new(vec![0.5], vec![0.01], 1)?;
    /// assert_eq!(x.var(), [0.01]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn var(&self) -> &[f64] {
        &self.var
    }

    /// Standard deviations, row after row.
    ///
    /// ```
    /// # let x = tractable::Gaussian::new(vec![0.5], vec![0.01], 1)?;
    /// assert_eq!(x.std(), [0.1]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn std(&self) -> Vec<f64> {
        self.var.iter().map(|v| v.sqrt()).collect()
    }

    /// Number of rows.
    ///
    /// ```
    /// # let x = tractable::Gaussian::new(vec![0.5; 4], vec![0.01; 4], 2)?;
    /// assert_eq!(x.rows(), 2);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.mean.len() / self.width
    }

    /// Numbers in a row.
    ///
    /// ```
    /// # let x = tractable::Gaussian::new(vec![0.5; 4], vec![0.01; 4], 2)?;
    /// assert_eq!(x.width(), 2);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn width(&self) -> usize {
        self.width
    }
}

impl<'a> Input<'a> {
    /// Borrowed numbers that are known exactly, `[rows, width]`.
    ///
    /// # Errors
    /// When they are not whole rows, or not all finite.
    ///
    /// ```
    /// use tractable::Input;
    /// assert_eq!(Input::exact(&[1.0, 2.0, 3.0, 4.0], 2)?.rows(), 2);
    /// assert!(Input::exact(&[f64::NAN], 1).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn exact(mean: &'a [f64], width: usize) -> Result<Self> {
        check_shape("input", mean.len(), width)?;
        check_finite("input", mean, width)?;
        Ok(Input { mean, var: None, width })
    }

    /// Borrowed numbers with variances.
    ///
    /// # Errors
    /// As [`exact`](Input::exact), and when a variance is negative.
    ///
    /// ```
    /// use tractable::Input;
    /// assert_eq!(Input::uncertain(&[1.0, 2.0], &[0.1, 0.0], 2)?.rows(), 1);
    /// assert!(Input::uncertain(&[1.0], &[-0.1], 1).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn uncertain(mean: &'a [f64], var: &'a [f64], width: usize) -> Result<Self> {
        let exact = Input::exact(mean, width)?;
        if var.len() != mean.len() {
            return Err(Error::shape("variance", format!("{} numbers", mean.len()), var.len()));
        }
        check_var("variance", var, width)?;
        Ok(Input { var: Some(var), ..exact })
    }

    /// Means, row after row.
    ///
    /// ```
    /// # let x = tractable::Matrix::new(vec![1.0, 2.0], 1)?;
    /// assert_eq!(tractable::Input::from(&x).mean(), [1.0, 2.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn mean(&self) -> &'a [f64] {
        self.mean
    }

    /// Variances, or `None` when the numbers are known exactly.
    ///
    /// ```
    /// # let x = tractable::Matrix::new(vec![1.0, 2.0], 1)?;
    /// assert_eq!(tractable::Input::from(&x).var(), None);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn var(&self) -> Option<&'a [f64]> {
        self.var
    }

    /// Number of rows.
    ///
    /// ```
    /// # let x = tractable::Matrix::new(vec![1.0, 2.0], 1)?;
    /// assert_eq!(tractable::Input::from(&x).rows(), 2);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.mean.len() / self.width
    }

    /// Numbers in a row.
    ///
    /// ```
    /// # let x = tractable::Matrix::new(vec![1.0, 2.0], 1)?;
    /// assert_eq!(tractable::Input::from(&x).width(), 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether an entry of this row has a variance.
    pub fn is_uncertain(&self, row: usize) -> bool {
        self.var.is_some_and(|v| v[row * self.width..][..self.width].iter().any(|&v| v > 0.0))
    }

    /// Rows `from..to`, without copying; panics if they do not exist, like a slice.
    ///
    /// ```
    /// # let x = tractable::Matrix::new(vec![1.0, 2.0, 3.0], 1)?;
    /// assert_eq!(tractable::Input::from(&x).rows_between(1, 3).mean(), [2.0, 3.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn rows_between(&self, from: usize, to: usize) -> Input<'a> {
        let range = from * self.width..to * self.width;
        Input { mean: &self.mean[range.clone()], var: self.var.map(|v| &v[range]), width: self.width }
    }
}

impl<'a> From<&'a Matrix> for Input<'a> {
    fn from(x: &'a Matrix) -> Self {
        Input { mean: &x.data, var: None, width: x.width }
    }
}

impl<'a> From<&'a Gaussian> for Input<'a> {
    fn from(x: &'a Gaussian) -> Self {
        Input { mean: &x.mean, var: Some(&x.var), width: x.width }
    }
}
