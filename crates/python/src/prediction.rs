//! What `predict` returns.

use crate::arrays::{Numbers, array, outputs};
use crate::errors::invalid;
use crate::posterior::few;
use crate::progress::interruptible;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use tractable::Prediction as Inner;

/// A prediction: the mean of every output, and a variance with two parts, one that more data would reduce and noise.
/// With one output, arrays have shape [rows]; with several, [rows, outputs].
#[pyclass(frozen, module = "tractable")]
pub(crate) struct Prediction {
    pub(crate) inner: Inner,
    /// Covariance of the outputs without noise, row after row, where it was asked for.
    pub(crate) covariance: Option<Vec<f64>>,
    mean: PyOnceLock<Py<PyAny>>,
    var: PyOnceLock<Py<PyAny>>,
    std: PyOnceLock<Py<PyAny>>,
}

impl Prediction {
    pub(crate) fn new(inner: Inner, covariance: Option<Vec<f64>>) -> Self {
        let (mean, var, std) = (PyOnceLock::new(), PyOnceLock::new(), PyOnceLock::new());
        Prediction { inner, covariance, mean, var, std }
    }

    fn outputs<'py>(&self, py: Python<'py>, data: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
        outputs(py, data, self.inner.width())
    }

    /// Made once, then the same array every time.
    fn kept<'py>(
        &self,
        py: Python<'py>,
        place: &PyOnceLock<Py<PyAny>>,
        data: impl FnOnce() -> Vec<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let made = place.get_or_try_init(py, || self.outputs(py, data()).map(Bound::unbind))?;
        Ok(made.bind(py).clone())
    }
}

#[pymethods]
impl Prediction {
    /// Mean of every output.
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.kept(py, &self.mean, || self.inner.mean().to_vec())
    }

    /// Variance of a new observation: model and noise.
    #[getter]
    fn var<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.kept(py, &self.var, || self.inner.total_var())
    }

    /// Standard deviation of a new observation: model and noise.
    #[getter]
    fn std<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.kept(py, &self.std, || self.inner.total_std())
    }

    /// The part of the variance that more data would reduce.
    #[getter]
    fn model_var<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.outputs(py, self.inner.var().to_vec())
    }

    /// Variance of the noise.
    #[getter]
    fn noise_var<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.outputs(py, self.inner.noise_var().to_vec())
    }

    /// Covariance of the outputs, [rows, outputs, outputs], noise included. With several outputs only from
    /// predict(x, cov=True).
    #[getter]
    fn cov<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (rows, k) = (self.inner.rows(), self.inner.width());
        let mut covariance = match &self.covariance {
            Some(covariance) => covariance.clone(),
            None if k == 1 => self.inner.var().to_vec(),
            None => return Err(invalid("cov", "was not asked for; use predict(x, cov=True)")),
        };
        for (i, noise) in self.inner.noise_var().iter().enumerate() {
            covariance[i / k * k * k + i % k * (k + 1)] += noise;
        }
        array(py, covariance, &[rows, k, k])
    }

    /// Lower and upper bounds that contain this share of new observations.
    ///
    /// Parameters
    /// ----------
    /// level : float, default=0.9
    ///
    /// Returns
    /// -------
    /// two arrays [rows] or [rows, outputs]
    ///
    /// Examples
    /// --------
    /// >>> import tractable as tr
    /// >>> lower, upper = tr.Network.mlp([1, 8, 1]).predict([0.1, 0.2]).interval(0.5)
    /// >>> bool((lower < upper).all())
    /// True
    #[pyo3(signature = (level=0.9))]
    fn interval<'py>(&self, py: Python<'py>, level: f64) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (lower, upper) = interruptible(py, || self.inner.interval(level))?;
        Ok((self.outputs(py, lower)?, self.outputs(py, upper)?))
    }

    /// The value below which a new observation lies with probability p.
    ///
    /// Parameters
    /// ----------
    /// p : float, or a list of them
    ///     Between 0 and 1.
    ///
    /// Returns
    /// -------
    /// array [rows] or [rows, outputs]; of a list, with one more dimension at the end, one entry per level
    ///
    /// Examples
    /// --------
    /// >>> import tractable as tr
    /// >>> p = tr.Network.mlp([1, 8, 1]).predict([0.1, 0.2])
    /// >>> p.quantile(0.5).shape, p.quantile([0.1, 0.5, 0.9]).shape
    /// ((2,), (2, 3))
    fn quantile<'py>(&self, py: Python<'py>, p: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if p.len().is_err() {
            let p = p.extract::<f64>()?;
            return self.outputs(py, interruptible(py, || self.inner.quantile(p))?);
        }
        let p = Numbers::of(p, "quantile")?;
        let [levels] = *p.shape() else {
            return Err(invalid("quantile", "give one level or a list of them"));
        };
        let p = p.data();
        let each = interruptible(py, || {
            p.iter().map(|&p| self.inner.quantile(p)).collect::<tractable::Result<Vec<_>>>()
        })?;
        let (rows, width) = (self.inner.rows(), self.inner.width());
        let all = (0..rows * width).flat_map(|i| each.iter().map(move |q| q[i])).collect();
        match width {
            1 => array(py, all, &[rows, levels]),
            _ => array(py, all, &[rows, width, levels]),
        }
    }

    /// Draws new observations of every row.
    ///
    /// Parameters
    /// ----------
    /// n : int, default=1
    ///     How many of each.
    /// seed : int, default=0
    ///
    /// Returns
    /// -------
    /// array [n, rows] or [n, rows, outputs]
    ///
    /// Examples
    /// --------
    /// >>> import tractable as tr
    /// >>> tr.Network.mlp([1, 8, 1]).predict([0.1, 0.2]).sample(5).shape
    /// (5, 2)
    #[pyo3(signature = (n=1, seed=0))]
    fn sample<'py>(&self, py: Python<'py>, n: usize, seed: u64) -> PyResult<Bound<'py, PyAny>> {
        let (rows, k) = (self.inner.rows(), self.inner.width());
        let drawn = interruptible(py, || self.inner.samples(n, seed))?.data().to_vec();
        if k == 1 { array(py, drawn, &[n, rows]) } else { array(py, drawn, &[n, rows, k]) }
    }

    /// Logarithm of the density of observations.
    ///
    /// Parameters
    /// ----------
    /// y : array [rows] or [rows, outputs]
    ///
    /// Returns
    /// -------
    /// array of the same shape
    ///
    /// Examples
    /// --------
    /// >>> import tractable as tr
    /// >>> p = tr.Network.mlp([1, 8, 1]).predict([0.1, 0.2])
    /// >>> bool((p.log_prob(p.mean) > p.log_prob(p.mean + 1)).all())
    /// True
    fn log_prob<'py>(&self, py: Python<'py>, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let y = Numbers::of(y, "y")?.matrix(self.inner.width(), "y")?;
        self.outputs(py, interruptible(py, || self.inner.log_density(&y))?)
    }

    fn __len__(&self) -> usize {
        self.inner.rows()
    }

    fn __repr__(&self) -> String {
        let (rows, k) = (self.inner.rows(), self.inner.width());
        let some = few(self.inner.mean(), &self.inner.total_std());
        format!("<Prediction of {rows} x {k}: {some}>")
    }
}
