//! Results of learning: how much changed, how surprising a row of a stream was, and whether the world has changed.

use crate::locks;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Mutex;

/// What one call of learn did.
#[pyclass(frozen, module = "tractable")]
pub(crate) struct LearnInfo(pub(crate) tractable::network::LearnInfo);

#[pymethods]
impl LearnInfo {
    /// Samples learned from.
    #[getter]
    fn rows(&self) -> usize {
        self.0.rows
    }

    /// Parameters whose step was limited.
    #[getter]
    fn capped(&self) -> u64 {
        self.0.capped
    }

    /// Parameters whose variance had to be repaired.
    #[getter]
    fn repaired(&self) -> u64 {
        self.0.repaired
    }

    fn __repr__(&self) -> String {
        format!("LearnInfo(rows={}, capped={}, repaired={})", self.0.rows, self.0.capped, self.0.repaired)
    }
}

/// Squared errors of predictions, observed and expected. A sum over rows is a running check of calibration.
#[pyclass(frozen, module = "tractable")]
pub(crate) struct Surprise(pub(crate) tractable::network::Surprise);

#[pymethods]
impl Surprise {
    #[new]
    #[pyo3(signature = (observed=0.0, expected=0.0, model=0.0, var=0.0))]
    fn new(observed: f64, expected: f64, model: f64, var: f64) -> Self {
        Surprise(tractable::network::Surprise { observed, expected, model, var })
    }

    /// Squared error, normalised.
    #[getter]
    fn observed(&self) -> f64 {
        self.0.observed
    }

    /// Its mean according to the prediction.
    #[getter]
    fn expected(&self) -> f64 {
        self.0.expected
    }

    /// The part of that mean which is due to the uncertainty of the weights.
    #[getter]
    fn model(&self) -> f64 {
        self.0.model
    }

    /// Variance of the squared error according to the prediction.
    #[getter]
    fn var(&self) -> f64 {
        self.0.var
    }

    /// Observed over expected: near 1 if calibrated.
    #[getter]
    fn ratio(&self) -> f64 {
        self.0.ratio()
    }

    fn __add__(&self, other: &Self) -> Self {
        let mut sum = self.0;
        sum += other.0;
        Surprise(sum)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (f64, f64, f64, f64)) {
        let tractable::network::Surprise { observed, expected, model, var } = slf.get().0;
        (slf.get_type().into_any(), (observed, expected, model, var))
    }

    fn __repr__(&self) -> String {
        format!("Surprise(observed={:.3}, expected={:.3})", self.0.observed, self.0.expected)
    }
}

/// Watches the surprises of a stream. A model whose errors are larger than expected forgets in proportion; there is nothing to set.
#[pyclass(frozen, module = "tractable")]
pub(crate) struct Drift(Mutex<tractable::network::Drift>);

#[pymethods]
impl Drift {
    #[new]
    fn new() -> Self {
        Drift(Mutex::default())
    }

    /// Counts one row. Returns the factor on the variance of the weights that would have made the errors expected; 1 if they were expected.
    fn count(&self, surprise: &Surprise) -> f64 {
        locks::lock(&self.0).count(surprise.0)
    }

    /// Calls count(), and model.discount() if the errors were too surprising. Returns the factor.
    fn follow(&self, model: &Bound<'_, PyAny>, surprise: &Surprise) -> PyResult<f64> {
        let factor = self.count(surprise);
        if factor > 1.0 {
            model.call_method1("discount", (factor,))?;
        }
        Ok(factor)
    }

    fn __getstate__(&self) -> String {
        serde_json::to_string(&*locks::lock(&self.0)).expect("plain numbers")
    }

    fn __setstate__(&self, state: &str) -> PyResult<()> {
        let state = serde_json::from_str(state).map_err(|e| PyValueError::new_err(e.to_string()))?;
        *locks::lock(&self.0) = state;
        Ok(())
    }
}
