//! Rows that a model is asked about to understand it: those of its run, which it left out, or others that have targets.

use super::{AnyConfig, DataFile, DataFiles, Rows, RunFolder, TableConfig};
use crate::report::{Exit, Outcome};
use crate::settings::Kind;
use std::path::{Path, PathBuf};
use tractable::data::{self, ColumnAbout, Dataset};
use tractable::{Ensemble, network::Output};

/// Rows with targets, and whether they are those the model was fitted to.
pub(crate) struct Asked {
    pub(crate) rows: Dataset,
    pub(crate) left_out: bool,
    /// What the columns of the run's table are.
    pub(crate) columns: Vec<ColumnAbout>,
}

impl Asked {
    /// The rows of a file; without one, or where it is the run's own, those of the run.
    pub(crate) fn of(path: &Path, model: &Ensemble, file: Option<&Path>) -> Outcome<Self> {
        let config = config(path);
        let Some(file) = file else {
            let none = || Exit::Error("give rows with targets: tractable importance MODEL FILE.csv".into());
            return Asked::of_run(model, config.as_deref().ok_or_else(none)?);
        };
        if let Some(config) = config.filter(|_| file.is_file()) {
            let files = DataFiles::open(&[PathBuf::from(file)])?;
            if DataFile::read(&files)?.same_content(&config.data) {
                return Asked::of_run(model, &config);
            }
        }
        Ok(Asked { rows: with_targets(file, model)?, left_out: false, columns: Vec::new() })
    }

    fn of_run(model: &Ensemble, config: &TableConfig) -> Outcome<Self> {
        let refuse = |why: &str| {
            Exit::Error(format!("{}: {why}; give other rows: FILE.csv", config.data.path.display()))
        };
        if config.settings.stream {
            return Err(refuse("the run streams its rows"));
        }
        let files = config.data.open()?;
        if !DataFile::read(&files)?.same_content(&config.data) {
            return Err(refuse("has changed since the run started"));
        }
        let table = config.settings.table(files.paths())?;
        let targets: Vec<&str> = config.settings.target.iter().map(String::as_str).collect();
        let columns = table.columns(&targets);
        let Rows { train, calibration, test } = Rows::new(table, &config.settings)?;
        if config.settings.kind == Kind::Ensemble {
            return match model.rows() == train.rows() {
                true => Ok(Asked { rows: train, left_out: true, columns }),
                false => Err(refuse("the model has learned other rows since")),
            };
        }
        match test.or(calibration) {
            Some(rows) => Ok(Asked { rows, left_out: false, columns }),
            None => Err(refuse("the model was trained on all of these rows")),
        }
    }
}

/// The settings of a run on a table. A model file is looked for beside its settings.
pub(crate) fn config(model: &Path) -> Option<Box<TableConfig>> {
    let run = if model.is_dir() { model } else { model.parent()? };
    if !run.join("config.json").is_file() {
        return None;
    }
    match RunFolder::config(run) {
        Ok(AnyConfig::Table(config)) => Some(config),
        _ => None,
    }
}

/// The features of a file as the model takes them, and the targets.
pub(crate) fn with_targets(file: &Path, model: &Ensemble) -> Outcome<Dataset> {
    let preparation = model.preparation().expect("a trained model has names");
    let classes = if let Output::Classes { .. } = model.output() { model.class_names() } else { &[] };
    let file = DataFiles::once(file)?;
    Ok(data::csv(&file.paths()[0])?.as_trained(&preparation, model.output_names(), classes)?)
}
