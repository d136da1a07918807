//! What `predict` returns.

use crate::arrays::{Numbers, array, outputs};
use crate::errors::{OrRaise, invalid};
use crate::posterior::few;
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
    #[pyo3(signature = (level=0.9))]
    fn interval<'py>(&self, py: Python<'py>, level: f64) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (lower, upper) = self.inner.interval(level).or_raise()?;
        Ok((self.outputs(py, lower)?, self.outputs(py, upper)?))
    }

    /// The value below which a new observation lies with probability p.
    fn quantile<'py>(&self, py: Python<'py>, p: f64) -> PyResult<Bound<'py, PyAny>> {
        self.outputs(py, self.inner.quantile(p).or_raise()?)
    }

    /// Draws n new observations of every row: [n, rows], or [n, rows, outputs].
    #[pyo3(signature = (n=1, seed=0))]
    fn sample<'py>(&self, py: Python<'py>, n: usize, seed: u64) -> PyResult<Bound<'py, PyAny>> {
        let (rows, k) = (self.inner.rows(), self.inner.width());
        let drawn = self.inner.samples(n, seed).or_raise()?.data().to_vec();
        if k == 1 { array(py, drawn, &[n, rows]) } else { array(py, drawn, &[n, rows, k]) }
    }

    /// Logarithm of the density of these observations.
    fn log_prob<'py>(&self, py: Python<'py>, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let y = Numbers::of(y, "y")?.matrix(self.inner.width(), "y")?;
        self.outputs(py, self.inner.log_density(&y).or_raise()?)
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
