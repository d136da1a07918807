//! Reads a CSV file row by row as text: cells may be empty, or names.

use std::path::Path;

use super::records::Records;
use tractable_core::error::{Error, Result};

/// A CSV file read one row at a time, with cells as text; for tables in which an empty cell has a meaning.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("wishes.csv");
/// use tractable::data::CsvCells;
/// std::fs::write(&path, "a,kind\n1,\n,low\n")?;
/// let mut file = CsvCells::open(&path)?;
/// assert_eq!(file.names(), ["a", "kind"]);
/// assert!(file.advance()? && file.cell(1).is_empty());
/// assert!(file.advance()? && file.cell(1) == "low");
/// assert!(!file.advance()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CsvCells {
    records: Records,
    rows: usize,
}

impl CsvCells {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// As for [`csv`](super::csv).
    ///
    /// ```
    /// assert!(tractable::data::CsvCells::open("nowhere.csv").is_err());
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self { records: Records::open(path.as_ref())?, rows: 0 })
    }

    /// Column names, in the order of the file.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("new.csv");
    /// # std::fs::write(&path, "a,b\n1,2\n")?;
    /// assert_eq!(tractable::data::CsvCells::open(&path)?.names(), ["a", "b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn names(&self) -> &[String] {
        self.records.header()
    }

    /// Moves to the next row; false at the end of the file.
    ///
    /// # Errors
    /// As for [`csv`](super::csv).
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("new.csv");
    /// std::fs::write(&path, "a,b\n")?;
    /// assert!(tractable::data::CsvCells::open(&path)?.advance().is_err()); // a header and no rows
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn advance(&mut self) -> Result<bool> {
        let more = self.records.advance()?;
        if !more && self.rows == 0 {
            return Err(self.records.header_only());
        }
        self.rows += usize::from(more);
        Ok(more)
    }

    /// A cell of the row, without white space around it.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("new.csv");
    /// # std::fs::write(&path, "a,b\n1,  2 \n")?;
    /// let mut file = tractable::data::CsvCells::open(&path)?;
    /// file.advance()?;
    /// assert_eq!(file.cell(1), "2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cell(&self, column: usize) -> std::borrow::Cow<'_, str> {
        self.records.cell(column)
    }

    /// An error about the row, or a cell of it, that names file, line and column.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("new.csv");
    /// # std::fs::write(&path, "a,b\n1,2\n")?;
    /// let mut file = tractable::data::CsvCells::open(&path)?;
    /// file.advance()?;
    /// assert!(file.error(Some(1), "two is too much").to_string().contains("two is too much"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn error(&self, column: Option<usize>, why: impl Into<String>) -> Error {
        let column = column.map(|c| self.records.header()[c].as_str());
        self.records.error(self.records.line(), column, why)
    }
}

impl std::fmt::Debug for CsvCells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CsvCells").field("rows_read", &self.rows).finish_non_exhaustive()
    }
}
