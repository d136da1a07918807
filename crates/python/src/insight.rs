//! What an ensemble shows of itself: which columns count, and how the prediction moves with one.

use crate::arrays::outputs;
use crate::errors::invalid;
use crate::progress::Watch;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tractable::ensemble::{Cells, Effect, Importance, Loss};

/// What a caller passed as `loss`.
pub(crate) fn loss(name: &str) -> PyResult<Loss> {
    match name {
        "log_density" => Ok(Loss::LogDensity),
        "squared" => Ok(Loss::Squared),
        other => Err(invalid("loss", format!("`{other}` is neither \"log_density\" nor \"squared\""))),
    }
}

/// One dict per output and column; of each output those that count most first.
pub(crate) fn importance<'py>(
    py: Python<'py>,
    found: &Importance,
    outputs: &[String],
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let mut all = Vec::new();
    for (output, name) in outputs.iter().enumerate() {
        let mut columns: Vec<_> = found.columns.iter().collect();
        columns.sort_by(|a, b| b.increase[output].total_cmp(&a.increase[output]));
        for column in columns {
            let out = PyDict::new(py);
            out.set_item("output", name)?;
            out.set_item("column", &column.name)?;
            out.set_item("increase", column.increase[output])?;
            out.set_item("std", column.std[output])?;
            all.push(out);
        }
    }
    Ok(all)
}

pub(crate) fn effect<'py>(py: Python<'py>, effect: &Effect) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("column", &effect.column)?;
    match &effect.at {
        Cells::Numbers(at) => out.set_item("at", outputs(py, at.clone(), 1)?)?,
        Cells::Levels(at) => out.set_item("at", at)?,
    }
    for (name, values) in [("mean", &effect.mean), ("std", &effect.std)] {
        out.set_item(name, outputs(py, values.data().to_vec(), values.width())?)?;
    }
    Ok(out)
}

/// What a call that reports its progress came to; `None` where Python stopped it.
pub(crate) fn finished<T>(watch: Watch, found: PyResult<Option<T>>, what: &str) -> PyResult<T> {
    watch.end()?;
    found?.ok_or_else(|| invalid(what, "was stopped"))
}
