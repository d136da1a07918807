//! What is wrong with a file, said so that it can be found and mended: line, column, the cell and what to do.

use std::path::Path;

use crate::error::{Error, Result};

/// What to do about a feature that cannot be used.
pub(super) const FEATURE: &str =
    "a feature must be a finite number: fill it in, or remove the row or the column";
/// What to do about a numeric target that cannot be used.
pub(super) const TARGET: &str =
    "a target must be a finite number, or empty if not observed; names are read as classes (--classes)";

/// [`Error::Data`] with a column name that is safe to print.
pub(super) fn data_error(path: &Path, line: usize, column: Option<&str>, why: impl Into<String>) -> Error {
    Error::Data { path: path.into(), line, column: column.map(printable), why: why.into() }
}

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
    let nearest = names.iter().map(|n| (distance(name, n), n)).min_by_key(|(d, _)| *d);
    let hint = match nearest {
        Some((d, n)) if d <= name.chars().count() / 3 || n.eq_ignore_ascii_case(name.trim()) => {
            format!("; did you mean `{}`?", printable(n))
        }
        _ => String::new(),
    };
    Err(data_error(path, 1, Some(name), format!("no such column{hint}; the columns are {known}")))
}

/// Number of characters to insert, remove or replace to get from `a` to `b`, letter case aside; only the
/// first 64 count.
fn distance(a: &str, b: &str) -> usize {
    let letters = |s: &str| s.chars().take(64).flat_map(char::to_lowercase).collect::<Vec<_>>();
    let (a, b) = (letters(a), letters(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
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

/// [`printable`] between quotes.
pub(super) fn quoted(cell: &str) -> String {
    format!("\"{}\"", printable(cell))
}
