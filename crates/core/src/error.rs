//! The error type, with a variant for every mistake a caller or a file can make.

use std::fmt;
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

/// What went wrong, and where.
///
/// `Debug` prints the same sentence as `Display`, so a `main` that returns this error prints a line that people can read.
///
/// ```
/// use tractable::{Error, Matrix};
/// let err = Matrix::new(vec![1.0, f64::NAN], 2).unwrap_err();
/// assert!(matches!(err, Error::NotFinite { row: 0, column: 1, .. }));
/// assert_eq!(err.to_string(), "matrix: row 0, column 1 is NaN; only finite numbers can be used");
/// assert_eq!(format!("{err:?}"), err.to_string());
/// ```
#[non_exhaustive]
pub enum Error {
    /// Two sizes that must agree do not.
    Shape {
        /// The quantity with the wrong size.
        what: String,
        /// The expected size.
        expected: String,
        /// The actual size.
        got: String,
    },
    /// NaN or infinity where a number is needed. Rows and columns count from 0.
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
    /// A number outside its allowed range, with its position in an array.
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
    Invalid {
        /// The setting.
        what: String,
        /// Why it is refused, and what would be accepted.
        why: String,
    },
    /// A numerical breakdown inside the network: a state is no longer finite.
    Diverged {
        /// Name of the first layer affected.
        layer: String,
        /// Row of the batch.
        row: usize,
        /// The value produced.
        value: f64,
    },
    /// A data file that cannot be read. Lines count from 1, the header included.
    Data {
        /// The file.
        path: PathBuf,
        /// Line in the file, from 1; 0 for the file as a whole.
        line: usize,
        /// Name of the column at fault, if any.
        column: Option<String>,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A model file that is refused.
    Model {
        /// The file.
        path: PathBuf,
        /// The tensor or metadata entry.
        at: String,
        /// What is wrong with it.
        why: String,
    },
    /// Not enough memory.
    Memory {
        /// The requested size.
        bytes: u64,
    },
    /// A device that cannot be used, or failed while in use.
    Device {
        /// The device.
        device: String,
        /// What is wrong.
        why: String,
    },
    /// Another worker of a team has failed; see [`workers`](crate::workers).
    Worker {
        /// Its number, from 0.
        rank: usize,
        /// The error it reported, or what is wrong with it.
        why: String,
    },
    /// Another process is using a folder.
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// The work was to end early; see [`stop`](crate::stop).
    Stopped,
    /// The operating system refused a file operation.
    File {
        /// The file.
        path: PathBuf,
        /// The operation, as a verb.
        doing: &'static str,
        /// The operating system's reason.
        source: std::io::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Shape { what, expected, got } => write!(f, "{what}: expected {expected}, got {got}"),
            Error::NotFinite { what, row, column, value } => {
                write!(f, "{what}: row {row}, column {column} is {value}; only finite numbers can be used")
            }
            Error::OutOfRange { what, row, column, value, why } => {
                write!(f, "{what}: row {row}, column {column} is {value}; {why}")
            }
            Error::Invalid { what, why } => write!(f, "{what}: {why}"),
            Error::Diverged { layer, row, value } => write!(
                f,
                "layer `{layer}` produced {value} for row {row}: the network has diverged; \
                 use a larger noise, a smaller batch or the capped update rule"
            ),
            Error::Data { path, line, column, why } => {
                write!(f, "{}", path.display())?;
                if *line > 0 {
                    write!(f, ", line {line}")?;
                }
                if let Some(column) = column {
                    write!(f, ", column `{column}`")?;
                }
                write!(f, ": {why}")
            }
            Error::Model { path, at, why } => write!(f, "{}: {at}: {why}", path.display()),
            Error::Memory { bytes } => {
                // As far as a reader can take in.
                let (unit, name) = match *bytes {
                    0..=0xf_ffff => (1.0, "bytes"),
                    0x10_0000..=0x3fff_ffff => ((1u64 << 20) as f64, "MiB"),
                    _ => ((1u64 << 30) as f64, "GiB"),
                };
                let size = *bytes as f64 / unit;
                write!(f, "not enough memory for {size:.0} {name}; use a smaller network, batch or data set")
            }
            Error::Device { device, why } => write!(f, "{device}: {why}"),
            Error::Worker { rank, why } => write!(f, "worker {rank}: {why}"),
            Error::InUse { path } => write!(
                f,
                "{}: another process is using this folder; wait until it ends or choose another folder",
                path.display()
            ),
            Error::Stopped => write!(f, "stopped before it was done"),
            Error::File { path, doing, source } => {
                write!(f, "{}: cannot {doing}: {source}", path.display())
            }
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::File { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl Error {
    /// A setting that cannot be used.
    pub fn invalid(what: impl Into<String>, why: impl Into<String>) -> Self {
        Error::Invalid { what: what.into(), why: why.into() }
    }

    /// Two sizes that must agree do not.
    pub fn shape(what: impl Into<String>, expected: impl fmt::Display, got: impl fmt::Display) -> Self {
        Error::Shape { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }
}
