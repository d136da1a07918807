//! What a user says about the columns of a table.

use crate::report::Outcome;
use std::path::PathBuf;
use tractable::data::{self, As, Dataset, Table};

/// What is said about columns.
pub(crate) struct Columns<'a> {
    pub(crate) target: &'a [String],
    pub(crate) classes: bool,
    pub(crate) drop: &'a [String],
    pub(crate) ids: &'a [String],
    pub(crate) treat: &'a [(String, As)],
}

impl Columns<'_> {
    /// Refuses what cannot be meant.
    pub(crate) fn check(&self) -> Outcome {
        super::check_target(self.target, self.classes)
    }

    /// The table without the columns that are not for a network, and with what was said about the others.
    pub(crate) fn table(&self, files: &[PathBuf]) -> Outcome<Table> {
        let mut table = data::csv_files(files)?;
        for column in self.drop {
            table = table.drop(column)?;
        }
        for column in self.ids {
            table = table.id(column)?;
        }
        for (column, kind) in self.treat {
            table = table.treat(column, *kind)?;
        }
        Ok(table)
    }

    /// Features and targets.
    pub(crate) fn dataset(&self, table: Table) -> Outcome<Dataset> {
        if self.classes {
            return Ok(table.classes(&self.target[0])?);
        }
        Ok(table.targets(&self.target.iter().map(String::as_str).collect::<Vec<_>>())?)
    }
}
