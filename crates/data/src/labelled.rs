//! Reads a CSV file row by row, inputs and targets, even while it is still being written.

use std::path::Path;

use super::cell::quoted;
use super::preparation::Preparation;
use super::rows::CsvRows;
use super::text::{is_missing, number};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Gaussian;

/// A CSV file read row by row, with the targets of a model.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let (path, new) = (dir.path().join("old.csv"), dir.path().join("new.csv"));
/// # std::fs::write(&path, "a,b,y\n1,2,3\n4,5,6\n5,7,1\n")?;
/// use tractable::data::{self, CsvLabelled};
/// let data = data::csv(&path)?.target("y")?;
/// std::fs::write(&new, "y,b,a\n2.5,1,\n,1,2\n")?;
/// let mut rows = CsvLabelled::open(&new, data.preparation().unwrap(), &["y".into()], &[])?;
/// let row = rows.next_row()?.expect("there is one");
/// assert_eq!((row.line, &row.y[..], row.x.var()[1]), (2, &[Some(2.5)][..], 0.0));
/// assert!(row.x.var()[0] > 0.0); // a missing cell
/// assert_eq!(rows.next_row()?.unwrap().y, [None]); // a missing target
/// assert!(rows.next_row()?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CsvLabelled {
    rows: CsvRows,
    targets: Vec<usize>,
    classes: Vec<String>,
    decimal_comma: bool,
}

/// One row.
#[derive(Debug, Clone)]
pub struct LabelledRow {
    /// The line of the file where it starts.
    pub line: usize,
    /// The inputs; missing cells have a variance above 0.
    pub x: Gaussian,
    /// The target numbers, `None` if missing; empty for classes.
    pub y: Vec<Option<f64>>,
    /// The target class, if there are classes.
    pub label: Option<usize>,
}

impl CsvLabelled {
    /// Opens a file; columns are found by name, and others are ignored. With classes there is one target.
    ///
    /// # Errors
    /// As for [`csv`](super::csv), or when a column is missing.
    pub fn open(
        path: impl AsRef<Path>,
        preparation: &Preparation,
        targets: &[String],
        classes: &[String],
    ) -> Result<Self> {
        let rows = CsvRows::open(path, preparation)?;
        let targets = targets.iter().map(|name| rows.records.position(name)).collect::<Result<_>>()?;
        let decimal_comma = preparation.has_decimal_commas();
        Ok(CsvLabelled { rows, targets, classes: classes.to_vec(), decimal_comma })
    }

    /// The next row; `None` at the end of the file.
    ///
    /// # Errors
    /// When the row has more or fewer cells than the header, or its target is not a number or a known class. Later rows can
    /// still be read.
    pub fn next_row(&mut self) -> Result<Option<LabelledRow>> {
        if !self.rows.records.advance()? {
            return Ok(None);
        }
        let line = self.rows.records.line();
        let cells: Vec<String> =
            self.targets.iter().map(|&at| self.rows.records.cell(at).into_owned()).collect();
        let (mut y, mut label) = (Vec::new(), None);
        for (i, cell) in cells.iter().enumerate() {
            let known = !is_missing(cell);
            if !self.classes.is_empty() {
                label = self.classes.iter().position(|c| c == cell);
                if known && label.is_none() {
                    return Err(self.refuse(i, format!("{} is not a class of the model", quoted(cell))));
                }
                continue;
            }
            // The file may use a different style of numbers than the training data.
            let value = number(cell, self.decimal_comma).or_else(|| number(cell, !self.decimal_comma));
            if known && value.is_none() {
                return Err(self.refuse(i, format!("{} is not a number", quoted(cell))));
            }
            y.push(value.filter(|_| known));
        }
        let (mut mean, mut var) = (Vec::new(), Vec::new());
        self.rows.push(&mut mean, &mut var);
        let width = mean.len();
        Ok(Some(LabelledRow { line, x: Gaussian::new(mean, var, width)?, y, label }))
    }

    /// Columns with unreadable cells, treated as missing: see [`CsvRows::unreadable`].
    pub fn unreadable(&self) -> Vec<(&str, usize, usize, &str)> {
        self.rows.unreadable()
    }

    fn refuse(&self, target: usize, why: String) -> Error {
        let records = &self.rows.records;
        records.error(records.line(), Some(&records.header()[self.targets[target]]), why)
    }
}
