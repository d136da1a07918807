//! Columns of a table by name, and cells in messages.

use super::data_error::{data_error, printable};
use super::spelling::nearest;
use std::path::Path;
use tractable_core::error::Result;

/// What to do about a numeric target that cannot be used.
pub(super) const TARGET: &str =
    "a target must be a number, or empty if not observed; names can be read as classes";

/// Position of `name` in `names`, or an error with the names there are and the nearest of them.
pub(super) fn find(path: &Path, names: &[String], name: &str) -> Result<usize> {
    if let Some(at) = names.iter().position(|n| n == name) {
        return Ok(at);
    }
    const SHOWN: usize = 20;
    let mut known = names.iter().take(SHOWN).map(|n| printable(n)).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        known += &format!(" and {} more", names.len() - SHOWN);
    }
    let hint = nearest(name, names.iter().map(String::as_str));
    let hint = hint.map_or(String::new(), |n| format!("; did you mean `{}`?", printable(n)));
    Err(data_error(path, 1, Some(name), format!("no such column{hint}; the columns are {known}")))
}

/// [`printable`] between quotes.
pub(super) fn quoted(cell: &str) -> String {
    format!("\"{}\"", printable(cell))
}
