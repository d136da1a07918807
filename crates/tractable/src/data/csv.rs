//! Reading a whole CSV file into a [`Table`].

use std::path::Path;

use super::records::Records;
use super::table::{Column, Table};
use crate::error::Result;

/// Reads a CSV file: a header row with the column names, then rows of as many cells, separated by commas.
///
/// Cells may be quoted (`"a, b"`, with `""` for a quote); lines may end in LF, CRLF or CR; a UTF-8 byte
/// order mark and blank lines are skipped; white space around a cell is ignored. Numbers are written with a
/// decimal point.
///
/// Columns of numbers are held as `f64`, 8 bytes a cell. Columns with up to 1024 distinct texts, which may
/// be classes, take 2 bytes a cell and each text once. A million rows of 20 columns of numbers take about
/// 170 MB, and twice that while the target is named.
///
/// # Errors
/// [`Error::File`](crate::Error::File) when the file cannot be read; [`Error::Data`](crate::Error::Data),
/// which names line and column, when it is empty, has a header only, has a row of the wrong length, has an
/// empty or repeated column name, is not UTF-8, has a line of more than 1 MiB or more than 100,000 columns.
/// Whether a cell must be a number is only known once the target is named: see [`Table::target`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("iris.csv");
/// std::fs::write(&path, "length,species\r\n5.1,setosa\r\n7.0,versicolor\r\n")?;
/// let table = tractable::data::csv(&path)?;
/// assert_eq!(table.rows(), 2);
/// assert_eq!(table.names(), ["length", "species"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn csv(path: impl AsRef<Path>) -> Result<Table> {
    let mut records = Records::open(path.as_ref())?;
    let mut columns: Vec<Column> = records.header().iter().map(|_| Column::default()).collect();
    let (mut rows, mut room) = (0, 1024);
    while records.advance()? {
        // Lists would double where they are full; they need not outgrow what the rest of the file can fill.
        if rows == room {
            let more = records.more_rows(rows).clamp(rows / 8, rows);
            columns.iter_mut().for_each(|c| c.reserve(more));
            room += more;
        }
        for (i, column) in columns.iter_mut().enumerate() {
            column.push(records.cell(i)?, records.line());
        }
        rows += 1;
    }
    if rows == 0 {
        return Err(records.header_only());
    }
    let (path, names) = records.into_parts();
    Ok(Table::new(path, names, columns, rows))
}
