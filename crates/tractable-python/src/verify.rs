//! Golden vectors and recorded physics, recomputed.

use crate::device::device;
use crate::errors::OrRaise;
use crate::network::Path;
use pyo3::prelude::*;
use tractable::verify::{self, Checked, Status};

/// A file, why it was skipped, the largest relative error and where it is.
type Line = (String, Option<String>, f64, String);

fn lines(checked: Vec<Checked>) -> Vec<Line> {
    let line = |c: Checked| {
        let skipped = match c.status {
            Status::Checked => None,
            Status::Skipped(why) => Some(why),
        };
        (c.file, skipped, c.worst, c.at)
    };
    checked.into_iter().map(line).collect()
}

#[pyfunction]
#[pyo3(name = "_golden")]
pub(crate) fn golden(py: Python<'_>, folder: Path, device: &str) -> PyResult<Vec<Line>> {
    let device = self::device(device)?;
    Ok(lines(py.detach(|| verify::golden(&folder, device)).or_raise()?))
}

#[pyfunction]
#[pyo3(name = "_physics")]
pub(crate) fn physics(py: Python<'_>, folder: Path) -> PyResult<Vec<Line>> {
    Ok(lines(py.detach(|| verify::physics(&folder)).or_raise()?))
}
