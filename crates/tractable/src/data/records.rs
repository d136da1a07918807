//! Rows of a CSV file, one at a time, with limits on what a hostile file can cost and a line number for
//! every complaint.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::cell::{find, quoted};
use super::data_error::data_error;
use super::source::Source;
use crate::error::{Error, Result};

/// The longest line accepted, in bytes. A quoted cell with line breaks counts as one line here.
const MAX_LINE: u64 = 1 << 20;
/// The most columns accepted.
const MAX_COLUMNS: usize = 100_000;
/// Bytes asked of the file at a time.
const BUFFER: usize = 1 << 16;

/// An open CSV file whose header has been read and checked.
pub(super) struct Records {
    path: PathBuf,
    reader: ::csv::Reader<Source>,
    record: ::csv::ByteRecord,
    header: Vec<String>,
    line: usize,
    /// Bytes in the file, if it is one.
    length: u64,
}

impl Records {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file =
            File::open(path).map_err(|source| Error::File { path: path.into(), doing: "open", source })?;
        let length = file.metadata().map_or(0, |about| about.len());
        let reader = ::csv::ReaderBuilder::new()
            .has_headers(false) // the header is checked here
            .flexible(true) // and so is the number of cells
            .buffer_capacity(BUFFER)
            .from_reader(Source::new(file));
        let record = ::csv::ByteRecord::new();
        let mut records = Self { path: path.into(), reader, record, header: Vec::new(), line: 0, length };
        if !records.read()? {
            return Err(records.error(
                0,
                None,
                "the file is empty; a header row with column names is needed",
            ));
        }
        records.header = records.checked_header()?;
        Ok(records)
    }

    /// Column names, in the order of the file.
    pub(super) fn header(&self) -> &[String] {
        &self.header
    }

    /// Moves to the next row; false at the end of the file.
    pub(super) fn advance(&mut self) -> Result<bool> {
        if !self.read()? {
            return Ok(false);
        }
        if self.record.len() != self.header.len() {
            let why = format!(
                "expected {} cells, as in the header, got {}; a cell that contains a comma must be quoted",
                self.header.len(),
                self.record.len()
            );
            return Err(self.error(self.line, None, why));
        }
        Ok(true)
    }

    /// Rows that may follow, if they are as long as the `rows` before them.
    pub(super) fn more_rows(&self, rows: usize) -> usize {
        let read = self.reader.position().byte().max(1);
        let more = self.length.saturating_sub(read) as f64 / read as f64 * rows as f64;
        // A little more than expected, lest rows that become a little shorter cost one more round.
        (1.01 * more) as usize + 1
    }

    /// Line on which the current row starts, from 1.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// Cell of the current row, without white space around it.
    pub(super) fn cell(&self, column: usize) -> Result<&str> {
        match std::str::from_utf8(&self.record[column]) {
            Ok(cell) => Ok(cell.trim()),
            Err(_) => {
                let cell = quoted(&String::from_utf8_lossy(&self.record[column]));
                let why = format!("{cell} is not UTF-8; save the file in that encoding");
                Err(self.error(self.line, self.header.get(column).map(String::as_str), why))
            }
        }
    }

    pub(super) fn into_parts(self) -> (PathBuf, Vec<String>) {
        (self.path, self.header)
    }

    pub(super) fn error(&self, line: usize, column: Option<&str>, why: impl Into<String>) -> Error {
        data_error(&self.path, line, column, why)
    }

    pub(super) fn header_only(&self) -> Error {
        self.error(self.line, None, "the file has a header but no rows")
    }

    /// Position of a column, or an error that says what there is.
    pub(super) fn position(&self, name: &str) -> Result<usize> {
        find(&self.path, &self.header, name)
    }

    fn read(&mut self) -> Result<bool> {
        // One buffer more than the limit: the last read of a record may bring the start of the next.
        self.reader.get_mut().allow(MAX_LINE + BUFFER as u64);
        let start = self.reader.position().clone();
        let more = self.reader.read_byte_record(&mut self.record);
        let too_long = self.reader.position().byte() - start.byte() > MAX_LINE + 1;
        if too_long || (more.is_err() && self.reader.get_ref().exhausted()) {
            let why = "a line of more than 1 MiB; is a quote (\") never closed, or is this not a CSV file?";
            return Err(self.error(start.line() as usize, None, why));
        }
        match more {
            Ok(true) => {
                // Counted back from the end, because the blank lines before a record are read with it.
                let inside = self.record.as_slice().iter().filter(|&&b| b == b'\n').count();
                self.line = (self.reader.position().line() as usize).saturating_sub(1 + inside).max(1);
                Ok(true)
            }
            Ok(false) => Ok(false),
            Err(e) => {
                let source = match e.into_kind() {
                    ::csv::ErrorKind::Io(source) => source,
                    other => io::Error::other(format!("{other:?}")),
                };
                Err(Error::File { path: self.path.clone(), doing: "read", source })
            }
        }
    }

    fn checked_header(&self) -> Result<Vec<String>> {
        let width = self.record.len();
        if width > MAX_COLUMNS {
            return Err(self.error(
                self.line,
                None,
                format!("{width} columns; at most {MAX_COLUMNS} can be read"),
            ));
        }
        let mut names = Vec::with_capacity(width);
        for i in 0..width {
            names.push(self.cell(i)?.trim_start_matches('\u{feff}').to_owned());
        }
        if let [only] = &names[..]
            && let Some(mark) = only.chars().find(|c| [';', '\t'].contains(c))
        {
            let why = format!("the cells seem to be separated by {mark:?}; they must be separated by commas");
            return Err(self.error(self.line, None, why));
        }
        let numbers: Vec<f64> = names.iter().map_while(|n| n.parse().ok()).collect();
        // Whole numbers are names that some programs give; 0.00632 is a row of data.
        if numbers.len() == width && numbers.iter().any(|v| v.fract() != 0.0 || *v < 0.0) {
            let why = "only numbers in the first line; a header row with column names is needed";
            return Err(self.error(self.line, None, why));
        }
        let mut seen = HashMap::with_capacity(width);
        for (i, name) in names.iter().enumerate() {
            if name.is_empty() {
                return Err(self.error(self.line, None, format!("column {} of {width} has no name", i + 1)));
            }
            if let Some(first) = seen.insert(name.as_str(), i) {
                let why = format!(
                    "columns {} and {} have the same name; is the header row missing?",
                    first + 1,
                    i + 1
                );
                return Err(self.error(self.line, Some(name), why));
            }
        }
        Ok(names)
    }
}
