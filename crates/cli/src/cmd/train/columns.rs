//! The detected type of every column: printed once, with how to change it.

use crate::console::{self, note};
use crate::report::table;
use tractable::data::{ColumnAbout, Table};

/// Columns that are plain numbers are counted, not listed, where there are more than this.
const LISTED: usize = 30;

/// What is decided about the columns, as a table on stderr.
pub(super) fn show(columns: &[ColumnAbout]) {
    if console::quiet() {
        return;
    }
    let plain = |c: &&ColumnAbout| c.what == "number" && c.missing == 0.0 && c.problem.is_none();
    let many = columns.len() > LISTED;
    let listed: Vec<&ColumnAbout> = columns.iter().filter(|c| !(many && plain(c))).collect();
    let share = |v: f64| if v > 0.0 { format!("{:.1} %", 100.0 * v) } else { String::new() };
    let mut rows = vec![["column", "type", "missing"].map(String::from).to_vec()];
    rows.extend(listed.iter().map(|c| vec![c.name.clone(), c.what.clone(), share(c.missing)]));
    table(&rows, &[0, 1]).lines().for_each(note);
    if listed.len() < columns.len() {
        note(&format!("and {} numbers", columns.len() - listed.len()));
    }
    for column in columns {
        if let Some(problem) = &column.problem {
            note(&format!("`{}`: {problem}", column.name));
        }
    }
    let usual = columns.iter().all(|c| ["number", "target"].contains(&&c.what[..]));
    if !usual {
        note("to change this, use --as COLUMN=number|category|date, --drop COLUMN or --id COLUMN");
    }
}

/// What every column is taken for.
pub(super) fn about(table: &Table, target: &[String]) -> Vec<ColumnAbout> {
    table.columns(&target.iter().map(String::as_str).collect::<Vec<_>>())
}
