//! Errors of the library as Python's exceptions, with the same words.

use pyo3::PyErr;
use pyo3::exceptions::{
    PyArithmeticError, PyFileNotFoundError, PyMemoryError, PyOSError, PyRuntimeError, PyValueError,
};
use tractable::Error;

/// Unlike `From`, works for a type of another crate.
pub(crate) trait OrRaise<T> {
    fn or_raise(self) -> Result<T, PyErr>;
}

impl<T> OrRaise<T> for tractable::Result<T> {
    fn or_raise(self) -> Result<T, PyErr> {
        self.map_err(raised)
    }
}

pub(crate) fn raised(error: Error) -> PyErr {
    // Names that differ here.
    let text = error.to_string().replace("predict_classes", "predict_proba");
    match error {
        Error::Diverged { .. } => PyArithmeticError::new_err(text),
        Error::Memory { .. } => PyMemoryError::new_err(text),
        Error::File { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(text)
        }
        Error::File { .. } | Error::InUse { .. } => PyOSError::new_err(text),
        Error::Device { .. } | Error::Worker { .. } => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// A setting that cannot be used.
pub(crate) fn invalid(what: &str, why: impl Into<String>) -> PyErr {
    raised(Error::Invalid { what: what.into(), why: why.into() })
}

/// Two sizes that must agree do not.
pub(crate) fn shape(what: &str, expected: impl std::fmt::Display, got: impl std::fmt::Display) -> PyErr {
    raised(Error::Shape { what: what.into(), expected: expected.to_string(), got: got.to_string() })
}
