//! The one error type: every mistake a caller or a file can make is a variant here.

use std::path::PathBuf;

/// `Result` with this crate's [`Error`].
///
/// ```
/// fn half(x: f64) -> tractable::Result<f64> {
///     Ok(x / 2.0)
/// }
/// assert_eq!(half(3.0).unwrap(), 1.5);
/// ```
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong, with the place where it did.
///
/// ```
/// use tractable::{Error, Matrix};
/// let err = Matrix::new(vec![1.0, f64::NAN], 2).unwrap_err();
/// assert!(matches!(err, Error::NotFinite { row: 0, column: 1, .. }));
/// assert_eq!(err.to_string(), "matrix: row 0, column 1 is NaN; only finite numbers can be used");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two sizes that must agree do not.
    #[error("{what}: expected {expected}, got {got}")]
    Shape {
        /// The quantity with the wrong size.
        what: String,
        /// The size that fits.
        expected: String,
        /// The size that came.
        got: String,
    },
    /// NaN or infinity where a number is needed. Rows and columns count from 0.
    #[error("{what}: row {row}, column {column} is {value}; only finite numbers can be used")]
    NotFinite {
        /// The array it was found in.
        what: String,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The offending value.
        value: f64,
    },
    /// A number outside of its allowed range, at a place in an array.
    #[error("{what}: row {row}, column {column} is {value}; {why}")]
    OutOfRange {
        /// The array it was found in.
        what: String,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The offending value.
        value: f64,
        /// The rule it breaks.
        why: String,
    },
    /// A setting that cannot be used.
    #[error("{what}: {why}")]
    Invalid {
        /// The setting.
        what: String,
        /// Why it is refused and what would do.
        why: String,
    },
    /// A numerical breakdown inside the network: a state is no longer finite.
    #[error(
        "layer `{layer}` produced {value} for row {row}: the network has diverged; \
         use a larger noise, a smaller batch or the capped update rule"
    )]
    Diverged {
        /// Name of the first layer that broke.
        layer: String,
        /// Row of the batch.
        row: usize,
        /// What came out.
        value: f64,
    },
    /// A data file that cannot be read as asked. Lines count from 1, the header included.
    #[error("{}{}{}: {why}", path.display(), place("line", (*line > 0).then_some(line)), place("column", column.as_ref().map(|c| format!("`{c}`"))))]
    Data {
        /// The file.
        path: PathBuf,
        /// Line in the file, from 1; 0 when the file as a whole is meant.
        line: usize,
        /// Column name, where one is to blame.
        column: Option<String>,
        /// What is wrong and what to do.
        why: String,
    },
    /// A model file that is refused.
    #[error("{}: {at}: {why}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// The tensor or metadata entry.
        at: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no memory for something so large.
    #[error("there is no memory for {bytes} bytes; use a smaller network, batch or data set")]
    Memory {
        /// What was asked for.
        bytes: u64,
    },
    /// Another process is at work in a folder.
    #[error("{}: another process is at work in this folder; wait for its end or choose another folder", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// The operating system refused a file operation.
    #[error("{}: cannot {doing}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was tried, as a verb.
        doing: &'static str,
        /// The operating system's reason.
        source: std::io::Error,
    },
}

/// `, what which`, where there is one.
fn place(what: &str, which: Option<impl std::fmt::Display>) -> String {
    which.map(|w| format!(", {what} {w}")).unwrap_or_default()
}

impl Error {
    /// A setting that cannot be used.
    pub(crate) fn invalid(what: impl Into<String>, why: impl Into<String>) -> Self {
        Error::Invalid { what: what.into(), why: why.into() }
    }

    /// Two sizes that must agree do not.
    pub(crate) fn shape(
        what: impl Into<String>,
        expected: impl std::fmt::Display,
        got: impl std::fmt::Display,
    ) -> Self {
        Error::Shape { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }
}
