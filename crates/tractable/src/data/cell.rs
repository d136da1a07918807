//! Cells and columns of a table: the number in a cell, the place of a name, and what to say where there is none.

use super::data_error::{data_error, printable};
use super::spelling::nearest;
use crate::error::Result;
use std::path::Path;

/// What to do about a feature that cannot be used.
pub(super) const FEATURE: &str =
    "a feature must be a finite number: fill it in, or remove the row or the column";
/// What to do about a numeric target that cannot be used.
pub(super) const TARGET: &str =
    "a target must be a finite number, or empty if not observed; names can be read as classes";

/// The number in a cell, or what is wrong with it.
pub(super) fn number(cell: &str) -> std::result::Result<f64, String> {
    match cell.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(format!("{} is not a finite number", quoted(cell))),
        Err(_) if cell.is_empty() => Err("the cell is empty".into()),
        Err(_) => Err(format!("{} is not a number", quoted(cell))),
    }
}

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
