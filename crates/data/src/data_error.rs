//! Errors of data files, with texts from the files made safe to print.

use std::path::Path;
use tractable_core::error::Error;

/// [`Error::Data`] with a column name that is safe to print.
pub(super) fn data_error(path: &Path, line: usize, column: Option<&str>, why: impl Into<String>) -> Error {
    Error::Data { path: path.into(), line, column: column.map(printable), why: why.into() }
}

/// At most 40 characters of `text`, control characters escaped: a file must not be able to write to the
/// terminal.
pub(super) fn printable(text: &str) -> String {
    let mut short: String = text
        .chars()
        .take(40)
        .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect();
    if text.chars().nth(40).is_some() {
        short.push('…');
    }
    short
}
