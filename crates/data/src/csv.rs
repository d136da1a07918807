//! Reading whole CSV files into a [`Table`].

use std::path::Path;

use super::records::Records;
use super::table::{Column, Table};
use tractable_core::error::Result;

/// Reads a CSV file: a header row with the column names, then rows of as many cells.
///
/// Cells are separated by commas, semicolons, tabs or bars, whichever the header has most of. They may be quoted (`"a, b"`,
/// with `""` for a quote); lines may end in LF, CRLF or CR; a UTF-8 byte order mark and blank lines are skipped; white space
/// around a cell is ignored. A file may be compressed with gzip. Columns without a name get one, and so do those that share
/// one. What a cell means is decided once the target is named: see [`Table::target`].
///
/// The texts are held as they are, with 4 bytes more for each cell: about the size of the file and half of it again. A
/// million rows of 20 columns of numbers take about 250 MB, and 160 MB more once they are numbers.
///
/// # Errors
/// [`Error::File`](tractable_core::error::Error::File) when the file cannot be read; [`Error::Data`](tractable_core::error::Error::Data),
/// which names line and column, when it is empty, has a header only, has a row of the wrong length, has no header, is
/// not text, has a line of more than 1 MiB or more than 100,000 columns.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("iris.csv");
/// std::fs::write(&path, "length;species\r\n5,1;setosa\r\n7,0;versicolor\r\n")?;
/// let table = tractable::data::csv(&path)?;
/// assert_eq!(table.rows(), 2);
/// assert_eq!(table.names(), ["length", "species"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn csv(path: impl AsRef<Path>) -> Result<Table> {
    csv_files(&[path])
}

/// Reads several CSV files as one table. All have the columns of the first, in any order.
///
/// # Errors
/// As for [`csv()`], and when a file has other columns.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let (a, b) = (dir.path().join("a.csv"), dir.path().join("b.csv"));
/// std::fs::write(&a, "x,y\n1,2\n")?;
/// std::fs::write(&b, "y,x\n4,3\n")?;
/// let data = tractable::data::csv_files(&[&a, &b])?.target("y")?;
/// assert_eq!(data.x().data(), [1.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn csv_files(paths: &[impl AsRef<Path>]) -> Result<Table> {
    let mut records = Records::open_all(paths)?;
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
            if !column.push(&records.cell(i), records.line()) {
                let name = &records.header()[i];
                return Err(records.error(
                    records.line(),
                    Some(name),
                    "more than 4 GiB of text in one column",
                ));
            }
        }
        rows += 1;
    }
    if rows == 0 {
        return Err(records.header_only());
    }
    let commas = records.has_semicolons();
    let (path, names) = records.into_parts();
    Ok(Table::new(path, names, columns, rows, commas))
}
