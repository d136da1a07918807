//! Rows of a table that belong together or have a time, as `fit` is told.

use crate::errors::OrRaise;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use tractable::Ensemble;
use tractable::data::Dataset;

/// The table without the column of groups, and how its rows are related.
#[derive(FromPyObject)]
pub(crate) struct Named<'py> {
    #[pyo3(item)]
    pub(crate) x: Bound<'py, PyAny>,
    #[pyo3(item)]
    groups: Option<Vec<usize>>,
    #[pyo3(item)]
    time: Option<Vec<f64>>,
}

impl<'py> Named<'py> {
    /// By the names of columns, or by arrays.
    pub(crate) fn of(
        x: &Bound<'py, PyAny>,
        groups: Option<&Bound<'py, PyAny>>,
        time: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        x.py().import("tractable._related")?.getattr("named")?.call1((x, groups, time))?.extract()
    }

    pub(crate) fn applied(self, mut data: Dataset) -> PyResult<Dataset> {
        if let Some(groups) = self.groups {
            data = data.with_groups(groups).or_raise()?;
        }
        if let Some(time) = self.time {
            data = data.with_time(time).or_raise()?;
        }
        Ok(data)
    }
}

/// What the model noticed about its rows, as warnings.
pub(crate) fn warn(py: Python<'_>, model: &Ensemble) -> PyResult<()> {
    for note in model.notes() {
        let note = std::ffi::CString::new(note.replace('\0', " ")).expect("no zero is left");
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &note, 1)?;
    }
    Ok(())
}
