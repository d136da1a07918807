//! What the settings say about the columns of a table.

use super::TrainSettings;
use crate::report::{Exit, Outcome};
use std::path::PathBuf;
use tractable::data::{self, Dataset, Table};

impl TrainSettings {
    /// Refuses what cannot be meant.
    pub(crate) fn check_target(&self) -> Outcome {
        match self.target.len() {
            0 => Err(Exit::Error("--target: name the column to predict".into())),
            n if self.classes && n > 1 => Err(Exit::Error("--classes: takes one target column".into())),
            _ => Ok(()),
        }
    }

    /// The table without the columns that are not for a network, and with what was said about the others.
    pub(crate) fn table(&self, files: &[PathBuf]) -> Outcome<Table> {
        Ok(self.applied(data::csv_files(files)?)?)
    }

    /// What is said about the columns, said to a table.
    pub(crate) fn applied(&self, mut table: Table) -> tractable::Result<Table> {
        for (column, kind) in &self.treat {
            table = table.treat(column, *kind)?;
        }
        // A column that is left out may still say how rows are related.
        if let Some(column) = &self.group {
            table = table.groups(column)?;
        }
        if let Some(column) = &self.time {
            table = table.time(column)?;
        }
        for column in &self.drop {
            table = table.drop(column)?;
        }
        for column in &self.ids {
            table = table.id(column)?;
        }
        Ok(table)
    }

    /// Features and targets.
    pub(crate) fn dataset(&self, table: Table) -> tractable::Result<Dataset> {
        if self.classes {
            return table.classes(&self.target[0]);
        }
        table.targets(&self.target.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Whether the target has words, which are classes.
    pub(crate) fn has_classes(&self, table: &Table) -> tractable::Result<bool> {
        match &self.target[..] {
            [one] => Ok(!self.classes && table.has_classes(one)?),
            _ => Ok(false),
        }
    }
}
