//! Reads a CSV file in chunks as inputs of a model, for files larger than memory.

use std::path::Path;

use super::preparation::{Cell, Preparation};
use super::records::Records;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Gaussian;

/// A CSV file read in chunks, as inputs of a model: see [`Preparation`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let (path, new) = (dir.path().join("old.csv"), dir.path().join("new.csv"));
/// # std::fs::write(&path, "a,kind,y\n1,low,3\n4,high,6\n5,low,1\n")?;
/// use tractable::data::{self, CsvRows};
/// let data = data::csv(&path)?.target("y")?;
/// std::fs::write(&new, "kind,note,a\nlow,x,2\nhigh,y,\n")?;
/// let mut rows = CsvRows::open(&new, data.preparation().unwrap())?;
/// let chunk = rows.next_chunk(1000)?.expect("there are rows");
/// assert_eq!(chunk.mean()[..2], [2.0, 1.0]);
/// assert!(chunk.var()[2] > 0.0); // a missing cell
/// assert!(rows.next_chunk(1000)?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CsvRows {
    pub(super) records: Records,
    preparation: Preparation,
    places: Vec<usize>,
    /// Columns whose cells are kept as they are.
    kept: Vec<usize>,
    rows: usize,
    kept_cells: Vec<String>,
    /// Of every column: cells that could not be read, and the first of them with its line.
    odd: Vec<(usize, Option<(usize, String)>)>,
}

impl CsvRows {
    /// Opens a file; columns are found by name, and others are ignored. Identifying columns may be
    /// missing.
    ///
    /// # Errors
    /// As for [`csv`](super::csv), or when a column is not there.
    pub fn open(path: impl AsRef<Path>, preparation: &Preparation) -> Result<Self> {
        let records = Records::open(path.as_ref())?;
        let places: Vec<usize> =
            preparation.columns().map(|name| records.position(name)).collect::<Result<_>>()?;
        let ids = preparation.ids().iter().filter_map(|id| records.header().iter().position(|n| n == id));
        let odd = vec![(0, None); places.len()];
        let (kept, preparation) = (ids.collect(), preparation.clone());
        Ok(Self { records, preparation, places, kept, rows: 0, kept_cells: Vec::new(), odd })
    }

    /// Keeps the cells of all columns as they are, not only of identifying ones; without columns of these names.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.csv");
    /// # std::fs::write(&path, "a,note,y\n1,x,3\n4,,6\n")?;
    /// # use tractable::data::{self, CsvRows};
    /// # let data = data::csv(&path)?.target("y")?;
    /// let mut rows = CsvRows::open(&path, data.preparation().unwrap())?.keep_all_but(&["y".into()]);
    /// assert_eq!(rows.kept_names(), ["a", "note"]);
    /// rows.next_chunk(1000)?;
    /// assert_eq!(rows.kept_cells(), ["1", "x", "4", ""]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep_all_but(mut self, names: &[String]) -> Self {
        let header = self.records.header();
        self.kept = (0..header.len()).filter(|&i| !names.contains(&header[i])).collect();
        self
    }

    /// Names of the columns whose cells are kept: the identifying ones in the file, unless [all](Self::keep_all_but) are.
    pub fn kept_names(&self) -> Vec<&str> {
        self.kept.iter().map(|&i| self.records.header()[i].as_str()).collect()
    }

    /// The cells of these columns in the rows of the last chunk, row after row.
    pub fn kept_cells(&self) -> &[String] {
        &self.kept_cells
    }

    /// Inputs of the next rows, at most `max_rows`; `None` at the end of the file. Missing cells have a variance.
    ///
    /// # Errors
    /// As for [`csv`](super::csv), and when no row is asked for.
    pub fn next_chunk(&mut self, max_rows: usize) -> Result<Option<Gaussian>> {
        if max_rows == 0 {
            return Err(Error::invalid("max_rows", "at least one row is needed; 0 would look like the end"));
        }
        let (mut mean, mut var, mut rows) = (Vec::new(), Vec::new(), 0);
        self.kept_cells.clear();
        while rows < max_rows && self.records.advance()? {
            self.push(&mut mean, &mut var);
            self.kept_cells.extend(self.kept.iter().map(|&i| self.records.cell(i).into_owned()));
            rows += 1;
        }
        self.rows += rows;
        if self.rows == 0 {
            return Err(self.records.header_only());
        }
        if rows == 0 { Ok(None) } else { Gaussian::new(mean, var, self.preparation.width()).map(Some) }
    }

    /// Adds the inputs of the current row.
    pub(super) fn push(&mut self, mean: &mut Vec<f64>, var: &mut Vec<f64>) {
        let (records, places, odd) = (&self.records, &self.places, &mut self.odd);
        let cell = |i: usize| records.cell(places[i]);
        self.preparation.push_row(cell, mean, var, |i, found| {
            if found == Cell::Unreadable {
                odd[i].0 += 1;
                odd[i].1.get_or_insert_with(|| (records.line(), records.cell(places[i]).into()));
            }
        });
    }

    /// Columns with unreadable cells, treated as missing: name, how many, and the first with its line.
    pub fn unreadable(&self) -> Vec<(&str, usize, usize, &str)> {
        let named = self.preparation.columns().zip(&self.odd);
        named
            .filter_map(|(name, (n, first))| first.as_ref().map(|(line, cell)| (name, *n, *line, &cell[..])))
            .collect()
    }
}

impl std::fmt::Debug for CsvRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CsvRows").field("rows_read", &self.rows).finish_non_exhaustive()
    }
}
