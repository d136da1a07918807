//! `ndarray` in and out: views as [`Matrix`] and [`Input`], results as views.

use super::{Gaussian, Input, Matrix};
use crate::error::{Error, Result};
use ndarray::{Array2, ArrayView2};

/// Copies a view of any layout.
impl TryFrom<ArrayView2<'_, f64>> for Matrix {
    type Error = Error;

    fn try_from(view: ArrayView2<'_, f64>) -> Result<Self> {
        Matrix::new(view.iter().copied().collect(), view.ncols())
    }
}

/// Borrows a view without copying. Its rows must be contiguous, as in an `Array2` by default.
impl<'a> TryFrom<ArrayView2<'a, f64>> for Input<'a> {
    type Error = Error;

    fn try_from(view: ArrayView2<'a, f64>) -> Result<Self> {
        let rows = view.to_slice().ok_or_else(|| {
            Error::invalid("array", "its rows are not contiguous; use `Matrix::try_from`, which copies")
        })?;
        Input::exact(rows, view.ncols())
    }
}

/// Without copying.
impl<'a> From<&'a Matrix> for ArrayView2<'a, f64> {
    fn from(x: &'a Matrix) -> Self {
        view(&x.data, x.width)
    }
}

/// Without copying.
impl From<Matrix> for Array2<f64> {
    fn from(x: Matrix) -> Self {
        Array2::from_shape_vec((x.rows(), x.width), x.data).expect("a matrix has whole rows")
    }
}

impl Gaussian {
    /// Means as an `ndarray` view, `[rows, width]`. Needs the feature `ndarray`.
    ///
    /// ```
    /// # let x = tractable::Gaussian::new(vec![0.5, 0.6], vec![0.01; 2], 2)?;
    /// assert_eq!(x.mean_view(), ndarray::array![[0.5, 0.6]]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn mean_view(&self) -> ArrayView2<'_, f64> {
        view(&self.mean, self.width)
    }

    /// Variances as an `ndarray` view, `[rows, width]`. Needs the feature `ndarray`.
    ///
    /// ```
    /// # let x = tractable::Gaussian::new(vec![0.5, 0.6], vec![0.01; 2], 2)?;
    /// assert_eq!(x.var_view(), ndarray::array![[0.01, 0.01]]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn var_view(&self) -> ArrayView2<'_, f64> {
        view(&self.var, self.width)
    }
}

fn view(data: &[f64], width: usize) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape((data.len() / width, width), data).expect("whole rows")
}
