//! Parquet files as tables: their rows are written out as CSV, which everything else reads.

use crate::csv;
use crate::report::{Exit, Outcome, file_error};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes the rows of the file `from` to `to`.
pub(super) fn to_csv(from: &Path, to: File) -> Outcome {
    let refuse = |e: parquet::errors::ParquetError| Exit::Error(format!("{}: {e}", from.display()));
    let fail = |e| file_error(from, "copy its rows")(e);
    let file = File::open(from).map_err(file_error(from, "open it"))?;
    let reader = SerializedFileReader::new(file).map_err(refuse)?;
    let schema = reader.metadata().file_metadata().schema();
    let names: Vec<String> = schema.get_fields().iter().map(|f| f.name().to_string()).collect();
    let (mut out, mut line) = (BufWriter::with_capacity(1 << 16, to), String::new());
    csv::texts(&mut line, &names);
    out.write_all(line.as_bytes()).map_err(fail)?;
    for row in reader.get_row_iter(None).map_err(refuse)? {
        let row = row.map_err(refuse)?;
        let cells: Vec<String> = row.get_column_iter().map(|(_, field)| cell(field)).collect();
        line.clear();
        csv::texts(&mut line, &cells);
        out.write_all(line.as_bytes()).map_err(fail)?;
    }
    out.flush().map_err(fail)
}

/// A value as a cell; nothing where there is none.
fn cell(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        other => other.to_string(),
    }
}
