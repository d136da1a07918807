//! What `condition`, `search` and `derivative` return.

use crate::arrays::{array, rows};
use crate::errors::{OrRaise, invalid};
use pyo3::prelude::*;
use tractable::condition::Found;

/// Mean and variance of every entry, [rows, width].
#[pyclass(frozen, module = "tractable")]
pub(crate) struct Gaussian(pub(crate) tractable::Gaussian);

#[pymethods]
impl Gaussian {
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        rows(py, self.0.mean().to_vec(), self.0.width())
    }

    #[getter]
    fn var<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        rows(py, self.0.var().to_vec(), self.0.width())
    }

    #[getter]
    fn std<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        rows(py, self.0.std(), self.0.width())
    }

    fn __len__(&self) -> usize {
        self.0.rows()
    }

    fn __repr__(&self) -> String {
        format!("<Gaussian of {} x {}: {}>", self.0.rows(), self.0.width(), few(self.0.mean(), &self.0.std()))
    }
}

/// The posterior of the input, or of a hidden layer: mean and variance of every entry, [rows, width].
#[pyclass(frozen, module = "tractable")]
pub(crate) struct Posterior(pub(crate) tractable::Posterior);

/// One of several answers.
#[pyclass(frozen, module = "tractable")]
pub(crate) struct Mode(tractable::condition::Mode);

#[pymethods]
impl Mode {
    /// Its probability.
    #[getter]
    fn weight(&self) -> f64 {
        self.0.weight
    }

    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.0.mean.clone(), &[0])
    }

    #[getter]
    fn std<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.0.var.iter().map(|v| v.sqrt()).collect(), &[0])
    }

    fn __repr__(&self) -> String {
        let std: Vec<f64> = self.0.var.iter().map(|v| v.sqrt()).collect();
        format!("<Mode {:.1} %: {}>", 100.0 * self.0.weight, few(&self.0.mean, &std))
    }
}

impl Posterior {
    fn check(&self, row: usize) -> PyResult<()> {
        match row < self.0.rows() {
            true => Ok(()),
            false => Err(invalid(
                "row",
                format!("there is no row {row}; there are {}, counted from 0", self.0.rows()),
            )),
        }
    }
}

#[pymethods]
impl Posterior {
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        rows(py, self.0.mean().to_vec(), self.0.width())
    }

    #[getter]
    fn var<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        rows(py, self.0.var().to_vec(), self.0.width())
    }

    #[getter]
    fn std<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        rows(py, self.0.std(), self.0.width())
    }

    /// Covariance of the entries of a row, [width, width].
    #[pyo3(signature = (row=0))]
    fn cov<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyAny>> {
        self.check(row)?;
        rows(py, self.0.covariance(row).or_raise()?.data().to_vec(), self.0.width())
    }

    /// The answers of a row, the likeliest first. If there are several, the mean lies between them and is not an answer.
    #[pyo3(signature = (row=0))]
    fn modes(&self, row: usize) -> PyResult<Vec<Mode>> {
        self.check(row)?;
        Ok(self.0.modes(row).iter().cloned().map(Mode).collect())
    }

    /// How a row was found and how reliable it is: its points and their effective number, or its steps and
    /// whether they converged.
    #[pyo3(signature = (row=0))]
    fn found<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
        self.check(row)?;
        let found = pyo3::types::PyDict::new(py);
        match self.0.found(row) {
            Found::Points { points, effective } => {
                found.set_item("points", points)?;
                found.set_item("effective", effective)?;
            }
            Found::Linearised { steps, converged } => {
                found.set_item("steps", steps)?;
                found.set_item("converged", converged)?;
            }
            _ => {}
        }
        Ok(found)
    }

    fn __len__(&self) -> usize {
        self.0.rows()
    }

    fn __repr__(&self) -> String {
        let modes = match self.0.modes(0).len() {
            1 => String::new(),
            n => format!(", {n} answers"),
        };
        let few = few(self.0.mean(), &self.0.std());
        format!("<Posterior of {} x {}: {few}{modes}>", self.0.rows(), self.0.width())
    }
}

/// Mean and variance of a derivative, and its covariance with the unit, [rows, width].
#[pyclass(frozen, module = "tractable")]
pub(crate) struct Derivative(pub(crate) tractable::condition::Derivative);

#[pymethods]
impl Derivative {
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        rows(py, self.0.mean().to_vec(), self.0.width())
    }

    #[getter]
    fn var<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        rows(py, self.0.var().to_vec(), self.0.width())
    }

    #[getter]
    fn std<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        rows(py, self.0.var().iter().map(|v| v.sqrt()).collect(), self.0.width())
    }

    /// Covariance of the derivative with the unit it is taken by.
    #[getter]
    fn cov<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        rows(py, self.0.cov().to_vec(), self.0.width())
    }

    fn __repr__(&self) -> String {
        let std: Vec<f64> = self.0.var().iter().map(|v| v.sqrt()).collect();
        format!("<Derivative of {} x {}: {}>", self.0.rows(), self.0.width(), few(self.0.mean(), &std))
    }
}

/// The first entries, for people.
pub(crate) fn few(mean: &[f64], std: &[f64]) -> String {
    let some = mean.iter().zip(std).take(3).map(|(m, s)| format!("{} ± {}", short(*m), short(*s)));
    some.collect::<Vec<_>>().join(", ") + if mean.len() > 3 { ", ..." } else { "" }
}

/// Three digits or so.
fn short(v: f64) -> String {
    match v.abs() {
        0.0 => "0".into(),
        size if (1e-3..1e5).contains(&size) => {
            let decimals = (2 - size.log10().floor() as i32).max(0) as usize;
            format!("{v:.decimals$}")
        }
        _ => format!("{v:.2e}"),
    }
}
