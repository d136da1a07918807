//! The rows of a run's files, and which of them its model learns from.

use crate::report::Outcome;
use crate::settings::{EnsembleSettings, TableSettings};
use tractable::data::{Dataset, Table};
use tractable::rng;

/// Rows to learn from, to calibrate on, and to test with.
pub(crate) struct Rows {
    pub(crate) train: Dataset,
    pub(crate) calibration: Option<Dataset>,
    pub(crate) test: Option<Dataset>,
}

impl Rows {
    /// For the default model, which calibrates itself.
    pub(crate) fn of_ensemble(table: Table, settings: &EnsembleSettings) -> Outcome<Self> {
        let data = settings.columns().dataset(table)?;
        let (train, test) = split(data, settings.test, settings.seed)?;
        Ok(Rows { train, calibration: None, test })
    }

    /// Of a network of the user's own.
    pub(crate) fn of_network(table: Table, settings: &TableSettings) -> Outcome<Self> {
        let data = settings.columns().dataset(table)?;
        let data = if settings.no_standardize { data } else { data.standardize() };
        let (train, test) = split(data, settings.test, settings.seed)?;
        let rows = train.rows();
        if settings.calibration == 0.0 || rows == 1 {
            return Ok(Rows { train, calibration: None, test });
        }
        let aside = ((settings.calibration * rows as f64).round() as usize).clamp(1, rows - 1);
        let mut order: Vec<usize> = (0..rows).collect();
        rng::shuffle(&mut order, &mut rng::stream(settings.seed, "calibration", 0));
        let (aside, learned) = order.split_at_mut(aside);
        // In the order they came in, which `--no-shuffle` keeps.
        aside.sort_unstable();
        learned.sort_unstable();
        Ok(Rows { train: train.select(learned)?, calibration: Some(train.select(aside)?), test })
    }
}

/// The rows to train on and those kept apart.
fn split(data: Dataset, test: f64, seed: u64) -> Outcome<(Dataset, Option<Dataset>)> {
    if test == 0.0 {
        return Ok((data, None));
    }
    let (train, test) = data.split(1.0 - test, seed)?;
    Ok((train, Some(test)))
}
