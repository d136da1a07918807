//! Reading chosen columns of a CSV file piece by piece, for files larger than memory.

use std::path::Path;

use super::cell::{FEATURE, number};
use super::records::Records;
use crate::error::{Error, Result};

/// A CSV file read some rows at a time, in the columns wanted and in their order; other columns are ignored.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("new.csv");
/// use tractable::data::CsvRows;
/// std::fs::write(&path, "note,b,a\nfirst,1,2\nsecond,3,4\nthird,5,6\n")?;
/// let mut file = CsvRows::open(&path, &["a".into(), "b".into()])?;
/// let mut x = Vec::new();
/// assert_eq!(file.next_chunk(2, &mut x)?, 2);
/// assert_eq!(x, [2.0, 1.0, 4.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CsvRows {
    records: Records,
    columns: Vec<usize>,
    rows: usize,
}

impl CsvRows {
    /// Opens a file and looks up the wanted columns by name.
    ///
    /// # Errors
    /// As for [`csv`](super::csv); and when a wanted column is not there.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("new.csv");
    /// # use tractable::data::CsvRows;
    /// std::fs::write(&path, "age,rooms\n20,3\n")?;
    /// let error = CsvRows::open(&path, &["room".into()]).err().unwrap();
    /// assert!(error.to_string().contains("did you mean `rooms`?"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>, wanted_columns: &[String]) -> Result<Self> {
        if wanted_columns.is_empty() {
            return Err(Error::invalid("wanted columns", "at least one column is needed"));
        }
        let records = Records::open(path.as_ref())?;
        let columns = wanted_columns.iter().map(|name| records.position(name)).collect::<Result<_>>()?;
        Ok(Self { records, columns, rows: 0 })
    }

    /// Numbers in a row: how many columns are wanted.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("new.csv");
    /// # std::fs::write(&path, "a,b\n1,2\n")?;
    /// let file = tractable::data::CsvRows::open(&path, &["b".into()])?;
    /// assert_eq!(file.width(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Appends up to `max_rows` rows to `out`, row-major `[rows, width]`; says how many, 0 at the end of
    /// the file.
    ///
    /// Memory does not depend on the size of the file when `out` is cleared and used again.
    ///
    /// # Errors
    /// As for [`csv`](super::csv); and on a wanted cell that is empty or not a finite number. `out` is then
    /// as it was.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("new.csv");
    /// # std::fs::write(&path, "a\n1\n2\n3\n")?;
    /// let mut file = tractable::data::CsvRows::open(&path, &["a".into()])?;
    /// let (mut x, mut sum) = (Vec::new(), 0.0);
    /// while file.next_chunk(2, &mut x)? > 0 {
    ///     sum += x.iter().sum::<f64>();
    ///     x.clear();
    /// }
    /// assert_eq!(sum, 6.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_chunk(&mut self, max_rows: usize, out: &mut Vec<f64>) -> Result<usize> {
        if max_rows == 0 {
            return Err(Error::invalid(
                "max_rows",
                "at least one row must be asked for; 0 would look like the end",
            ));
        }
        let before = out.len();
        let read = self.append(max_rows, out);
        if read.is_err() {
            out.truncate(before);
        }
        read
    }

    fn append(&mut self, max_rows: usize, out: &mut Vec<f64>) -> Result<usize> {
        let mut rows = 0;
        while rows < max_rows && self.records.advance()? {
            for &i in &self.columns {
                let value = number(self.records.cell(i)?).map_err(|why| {
                    let name = &self.records.header()[i];
                    self.records.error(self.records.line(), Some(name), format!("{why}; {FEATURE}"))
                })?;
                out.push(value);
            }
            rows += 1;
        }
        self.rows += rows;
        if self.rows == 0 {
            return Err(self.records.header_only());
        }
        Ok(rows)
    }
}

impl std::fmt::Debug for CsvRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CsvRows")
            .field("columns", &self.columns)
            .field("rows_read", &self.rows)
            .finish_non_exhaustive()
    }
}
