//! Rows of CSV files, one at a time, with limits against hostile files and line numbers in errors.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use super::cell::find;
use super::data_error::data_error;
use super::opened::{damaged, open};
use super::source::Source;
use tractable_core::error::{Error, Result};

/// Longest line that is read.
const MAX_LINE: u64 = 1 << 20;
/// Most columns that are read.
const MAX_COLUMNS: usize = 100_000;
const BUFFER: usize = 1 << 16;

/// The rows of one file or of several that have the same columns, as texts.
pub(super) struct Records {
    path: PathBuf,
    /// Files to come, the next one last.
    more: Vec<PathBuf>,
    reader: ::csv::Reader<Source>,
    record: ::csv::ByteRecord,
    header: Vec<String>,
    /// Where in the record the columns of the header are; a later file may have another order.
    order: Vec<usize>,
    separator: u8,
    line: usize,
    length: u64,
    /// Bytes of files that are read.
    before: u64,
}

impl Records {
    pub(super) fn open(path: &Path) -> Result<Self> {
        Self::open_all(&[path])
    }

    /// One file after the other. All have the columns of the first, in any order.
    pub(super) fn open_all(paths: &[impl AsRef<Path>]) -> Result<Self> {
        let mut more: Vec<PathBuf> = paths.iter().rev().map(|p| p.as_ref().into()).collect();
        let path = more.pop().ok_or_else(|| Error::invalid("files", "at least one is needed"))?;
        let (reader, separator, mut length) = reader(&path)?;
        length += more.iter().map(|p| std::fs::metadata(p).map_or(0, |m| m.len())).sum::<u64>();
        let (record, header) = (::csv::ByteRecord::new(), Vec::new());
        let mut records = Self {
            path,
            more,
            reader,
            record,
            header,
            order: Vec::new(),
            separator,
            line: 0,
            length,
            before: 0,
        };
        records.header = records.read_header()?;
        records.order = (0..records.header.len()).collect();
        Ok(records)
    }

    /// Column names, in the order of the first file.
    pub(super) fn header(&self) -> &[String] {
        &self.header
    }

    /// Whether the first file is of a kind that often has decimal commas.
    pub(super) fn has_semicolons(&self) -> bool {
        self.separator == b';'
    }

    /// Moves to the next row; false at the end of the last file.
    pub(super) fn advance(&mut self) -> Result<bool> {
        while !self.read()? {
            let Some(next) = self.more.pop() else { return Ok(false) };
            self.next_file(next)?;
        }
        let (width, got) = (self.header.len(), self.record.len());
        // Some programs end every line with a separator.
        let trailing = got == width + 1 && self.record[width].trim_ascii().is_empty();
        if got != width && !trailing {
            let why = format!(
                "expected {width} cells, as in the header, got {got}; a cell that contains a separator must be quoted"
            );
            return Err(self.error(self.line, None, why));
        }
        Ok(true)
    }

    fn next_file(&mut self, path: PathBuf) -> Result<()> {
        let first = std::mem::replace(&mut self.path, path);
        self.before += self.reader.position().byte();
        (self.reader, self.separator, _) = reader(&self.path)?;
        let names = self.read_header()?;
        if names.len() != self.header.len() {
            let why = format!("{} columns, and {} has {}", names.len(), first.display(), self.header.len());
            return Err(self.error(self.line, None, why));
        }
        self.order = self.header.iter().map(|name| find(&self.path, &names, name)).collect::<Result<_>>()?;
        Ok(())
    }

    /// About how many rows are still to come, by the length of the files and of the `rows` read so far.
    pub(super) fn more_rows(&self, rows: usize) -> usize {
        let read = (self.before + self.reader.position().byte()).max(1);
        let more = self.length.saturating_sub(read) as f64 / read as f64 * rows as f64;
        // A little more than expected, lest rows that become a little shorter cost one more round.
        (1.01 * more) as usize + 1
    }

    /// The line the current row starts on.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// A cell of the current row, without white space around it. What is not UTF-8 is read as Latin-1.
    pub(super) fn cell(&self, column: usize) -> Cow<'_, str> {
        text(&self.record[self.order.get(column).copied().unwrap_or(column)])
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
                Err(damaged(&self.path, source))
            }
        }
    }

    fn read_header(&mut self) -> Result<Vec<String>> {
        if !self.read()? {
            return Err(self.error(0, None, "the file is empty; a header row with column names is needed"));
        }
        let width = self.record.len();
        if width > MAX_COLUMNS {
            let why = format!("{width} columns; at most {MAX_COLUMNS} can be read");
            return Err(self.error(self.line, None, why));
        }
        let names = self.record.iter().map(|cell| text(cell).trim_start_matches('\u{feff}').to_string());
        let names: Vec<String> = names.collect();
        let numbers: Vec<f64> = names.iter().map_while(|n| n.parse().ok()).collect();
        let twice = (1..width).any(|i| names[..i].contains(&names[i]));
        // Whole numbers are names that some programs give; 0.00632 is a row of data.
        if numbers.len() == width && (twice || numbers.iter().any(|v| v.fract() != 0.0 || *v < 0.0)) {
            let why = "only numbers in the first line; a header row with column names is needed";
            return Err(self.error(self.line, None, why));
        }
        Ok(distinct(names))
    }
}

/// Names that are all there and all different: `column 3` where there is none, `price (2)` where there are two.
fn distinct(names: Vec<String>) -> Vec<String> {
    let mut seen: HashSet<String> = HashSet::with_capacity(names.len());
    let given: HashSet<String> = names.iter().cloned().collect();
    let mut out = Vec::with_capacity(names.len());
    for (i, name) in names.into_iter().enumerate() {
        let base = if name.is_empty() { format!("column {}", i + 1) } else { name };
        let mut name = base.clone();
        let mut n = 2;
        while seen.contains(&name) || (name != base && given.contains(&name)) {
            name = format!("{base} ({n})");
            n += 1;
        }
        seen.insert(name.clone());
        out.push(name);
    }
    out
}

fn reader(path: &Path) -> Result<(::csv::Reader<Source>, u8, u64)> {
    let opened = open(path)?;
    let reader = ::csv::ReaderBuilder::new()
        .has_headers(false) // the header is checked here
        .flexible(true) // and so is the number of cells
        .delimiter(opened.separator)
        .buffer_capacity(BUFFER)
        .from_reader(Source::new(opened.bytes));
    Ok((reader, opened.separator, opened.length))
}

fn text(cell: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(cell) {
        Ok(cell) => cell.trim().into(),
        Err(_) => {
            let latin: String = cell.iter().map(|&b| char::from(b)).collect();
            latin.trim().to_string().into()
        }
    }
}
