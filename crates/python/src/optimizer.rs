//! Ask and tell.

use crate::arrays::{Numbers, array, rows};
use crate::errors::OrRaise;
use crate::locks;
use crate::network::Path;
use crate::posterior::Gaussian;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard};
use tractable::optimize::{Goal, Optimizer as Inner};

/// Finds the minimum, or maximum, of an expensive function: ask for a point, tell its value.
#[pyclass(frozen, module = "tractable")]
pub(crate) struct Optimizer(Mutex<Inner>);

impl Optimizer {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        locks::lock(&self.0)
    }
}

#[pymethods]
impl Optimizer {
    /// bounds: one pair (low, high) per variable. noise_std: of the function's values, 0 if they are exact.
    #[new]
    #[pyo3(signature = (bounds, *, maximize=false, seed=0, noise_std=0.0))]
    fn new(bounds: Vec<(f64, f64)>, maximize: bool, seed: u64, noise_std: f64) -> PyResult<Self> {
        let optimizer = if maximize { Inner::maximize(bounds) } else { Inner::minimize(bounds) };
        let mut optimizer = optimizer.or_raise()?.seed(seed);
        if noise_std != 0.0 {
            optimizer = optimizer.noise_std(noise_std).or_raise()?;
        }
        Ok(Optimizer(Mutex::new(optimizer)))
    }

    /// The next point to try. Asked again before a value is told, it returns another one: points may be tried side by side.
    fn ask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let point = py.detach(|| self.lock().ask()).or_raise()?;
        array(py, point, &[0])
    }

    /// The value at a point that was asked for; NaN if the evaluation failed.
    fn tell(&self, py: Python<'_>, x: &Bound<'_, PyAny>, y: f64) -> PyResult<()> {
        let x = Numbers::of(x, "x")?.data().to_vec();
        py.detach(|| self.lock().tell(&x, y)).or_raise()
    }

    /// The value at any other point.
    fn add(&self, py: Python<'_>, x: &Bound<'_, PyAny>, y: f64) -> PyResult<()> {
        let x = Numbers::of(x, "x")?.data().to_vec();
        py.detach(|| self.lock().add(&x, y)).or_raise()
    }

    /// Where the network expects the optimum, and its value there: two Gaussians.
    fn optimum(&self, py: Python<'_>) -> PyResult<(Gaussian, Gaussian)> {
        let found = py.detach(|| self.lock().optimum()).or_raise()?;
        Ok((Gaussian(found.x), Gaussian(found.value)))
    }

    /// The best point so far and its value, or None.
    #[getter]
    fn best<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyAny>, f64)>> {
        let best = self.lock().best().map(|t| (t.x.clone(), t.y.unwrap_or(f64::NAN)));
        best.map(|(x, y)| Ok((array(py, x, &[0])?, y))).transpose()
    }

    /// All points told, [n, variables], and their values, [n]; NaN where the evaluation failed.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (x, y, width) = {
            let inner = self.lock();
            let x: Vec<f64> = inner.history().iter().flat_map(|t| t.x.clone()).collect();
            let y: Vec<f64> = inner.history().iter().map(|t| t.y.unwrap_or(f64::NAN)).collect();
            (x, y, inner.bounds().len())
        };
        Ok((rows(py, x, width)?, array(py, y, &[0])?))
    }

    /// Points asked for whose values were not told, [n, variables].
    #[getter]
    fn pending<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (x, width) = {
            let inner = self.lock();
            (inner.pending().concat(), inner.bounds().len())
        };
        rows(py, x, width)
    }

    /// Writes a file that load() and the program continue from.
    fn save(&self, py: Python<'_>, path: Path) -> PyResult<()> {
        py.detach(|| self.lock().save(path)).or_raise()
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: Path) -> PyResult<Self> {
        Ok(Optimizer(Mutex::new(py.detach(|| Inner::load(path)).or_raise()?)))
    }

    fn __repr__(&self) -> String {
        let inner = self.lock();
        let goal = if inner.goal() == Goal::Minimum { "minimise" } else { "maximise" };
        let best = inner.best().and_then(|t| t.y).map_or(String::new(), |y| format!("; best {y:.6}"));
        let (n, pending) = (inner.history().len(), inner.pending().len());
        format!(
            "<Optimizer: {goal} over {} variables; {n} told, {pending} pending{best}>",
            inner.bounds().len()
        )
    }
}
