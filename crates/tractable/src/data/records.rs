//! Rows of a CSV file, one at a time, with limits on what a hostile file can cost and a line number for every complaint.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The longest line accepted, in bytes. A quoted cell with line breaks counts as one line here.
const MAX_LINE: u64 = 1 << 20;
/// The most columns accepted.
const MAX_COLUMNS: usize = 100_000;
/// Bytes asked of the file at a time.
const BUFFER: usize = 1 << 16;

/// The file's bytes with every line end (CRLF, CR, LF, or none at the end of the file) turned into LF.
///
/// The csv crate counts LFs only, and counts the one of a CRLF late; with this its line numbers are right. It also stops a
/// record that does not end: what a record may still take is set before each one.
struct Source {
    file: File,
    after_cr: bool,
    ended: bool,
    last: u8,
    allowance: u64,
}

impl Read for Source {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.allowance == 0 {
            return Err(io::Error::other("line too long"));
        }
        while !self.ended && !out.is_empty() {
            let got = match self.file.read(out) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            let kept = if got == 0 {
                self.ended = true;
                if self.last == b'\n' {
                    return Ok(0);
                }
                out[0] = b'\n';
                1
            } else {
                self.line_feeds_only(&mut out[..got])
            };
            if kept > 0 {
                self.last = out[kept - 1];
                self.allowance = self.allowance.saturating_sub(kept as u64);
                return Ok(kept);
            }
        }
        Ok(0)
    }
}

impl Source {
    /// CRLF and CR to LF, in place; how many bytes are left.
    fn line_feeds_only(&mut self, bytes: &mut [u8]) -> usize {
        if !self.after_cr && !bytes.contains(&b'\r') {
            return bytes.len();
        }
        let mut kept = 0;
        for i in 0..bytes.len() {
            let byte = bytes[i];
            if !(byte == b'\n' && self.after_cr) {
                bytes[kept] = if byte == b'\r' { b'\n' } else { byte };
                kept += 1;
            }
            self.after_cr = byte == b'\r';
        }
        kept
    }
}

/// An open CSV file whose header has been read and checked.
pub(super) struct Records {
    path: PathBuf,
    reader: ::csv::Reader<Source>,
    record: ::csv::ByteRecord,
    header: Vec<String>,
    line: usize,
}

impl Records {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file =
            File::open(path).map_err(|source| Error::File { path: path.into(), doing: "open", source })?;
        let source = Source { file, after_cr: false, ended: false, last: b'\n', allowance: 0 };
        let reader = ::csv::ReaderBuilder::new()
            .has_headers(false) // the header is checked here
            .flexible(true) // and so is the number of cells
            .buffer_capacity(BUFFER)
            .from_reader(source);
        let record = ::csv::ByteRecord::new();
        let mut records = Self { path: path.into(), reader, record, header: Vec::new(), line: 0 };
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
        self.reader.get_mut().allowance = MAX_LINE + BUFFER as u64;
        let start = self.reader.position().clone();
        let more = self.reader.read_byte_record(&mut self.record);
        let too_long = self.reader.position().byte() - start.byte() > MAX_LINE + 1;
        if too_long || (more.is_err() && self.reader.get_ref().allowance == 0) {
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

pub(super) fn data_error(path: &Path, line: usize, column: Option<&str>, why: impl Into<String>) -> Error {
    Error::Data { path: path.into(), line, column: column.map(printable), why: why.into() }
}

/// The number in a cell, or why it is none.
pub(super) fn number(cell: &str) -> std::result::Result<f64, String> {
    match cell.parse::<f64>() {
        Ok(v) if v.is_finite() => Ok(v),
        Ok(_) => Err(format!("{} is not a finite number; remove the row, or the column", quoted(cell))),
        Err(_) if cell.is_empty() => {
            Err("the cell is empty; a feature must be a number: fill it in, or remove the row or the column"
                .into())
        }
        Err(_) => Err(format!(
            "{} is not a number; write it as one (a category as one 0/1 column each), or remove the column",
            quoted(cell)
        )),
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
        Some((d, n)) if d <= name.chars().count().div_ceil(3) => {
            format!("; did you mean `{}`?", printable(n))
        }
        _ => String::new(),
    };
    Err(data_error(path, 1, Some(name), format!("no such column{hint}; the columns are {known}")))
}

/// Number of characters to insert, remove or replace to get from `a` to `b`, letter case aside; only the first 64 count.
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

/// At most 40 characters of `text`, control characters escaped: a file must not be able to write to the terminal.
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

fn quoted(cell: &str) -> String {
    format!("\"{}\"", printable(cell))
}
