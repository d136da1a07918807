//! What the columns of a table are taken for, in the words of the program.

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tractable::data::{Preparation, Table};

/// One column. A model that was read from a file knows what it does with it, not what the table was like.
#[derive(Clone)]
pub(crate) struct Column {
    name: String,
    what: String,
    missing: Option<f64>,
    problem: Option<String>,
}

impl Column {
    /// All columns of a table, those that are left out among them.
    pub(crate) fn of_table(table: &Table, targets: &[String]) -> Vec<Column> {
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        let about = table.columns(&targets).into_iter();
        about
            .map(|c| Column { name: c.name, what: c.what, missing: Some(c.missing), problem: c.problem })
            .collect()
    }

    /// The columns that a model reads, and its targets; `missing` are the shares of missing cells, where they are known.
    pub(crate) fn of_model(
        preparation: &Preparation,
        targets: &[String],
        missing: Option<&[f64]>,
    ) -> Vec<Column> {
        let read = preparation.columns().map(|name| {
            let (_, what) = preparation.column(name).expect("it is one of its columns");
            (name.to_string(), what)
        });
        let targets = targets.iter().map(|name| (name.clone(), "target".to_string()));
        let column = |(i, (name, what))| {
            let missing = missing.and_then(|m: &[f64]| m.get(i).copied());
            Column { name, what, missing, problem: None }
        };
        read.chain(targets).enumerate().map(column).collect()
    }

    pub(crate) fn dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        out.set_item("name", &self.name)?;
        out.set_item("what", &self.what)?;
        out.set_item("missing", self.missing)?;
        out.set_item("problem", &self.problem)?;
        Ok(out)
    }
}

/// Python's warnings of what a user may want to look at: the program prints these lines.
pub(crate) fn warn(py: Python<'_>, columns: &[Column]) -> PyResult<()> {
    for Column { name, what, problem, .. } in columns {
        let left_out = what.starts_with("left out").then_some(what);
        for line in left_out.into_iter().chain(problem) {
            let text = std::ffi::CString::new(format!("column `{name}`: {line}").replace('\0', " "))?;
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)?;
        }
    }
    Ok(())
}
