//! The rows of a run's files, and which of them its model learns from.

use crate::report::Outcome;
use crate::settings::{Kind, RunSettings};
use tractable::data::{Dataset, Table};
use tractable::rng;

/// Rows to learn from, to calibrate on, and to test with.
pub(crate) struct Rows {
    pub(crate) train: Dataset,
    pub(crate) calibration: Option<Dataset>,
    pub(crate) test: Option<Dataset>,
}

impl Rows {
    /// Of a run with these settings. The default model standardises and calibrates itself.
    pub(crate) fn new(table: Table, settings: &RunSettings) -> Outcome<Self> {
        let (data, one) = (settings.dataset(table)?, settings.kind == Kind::Network);
        let data = if one && !settings.no_standardize { data.standardize() } else { data };
        let (train, test) = split(data, settings.test, settings.seed)?;
        let (rows, share) = (train.rows(), if one { settings.calibration() } else { 0.0 });
        if share == 0.0 || rows == 1 {
            return Ok(Rows { train, calibration: None, test });
        }
        let aside = ((share * rows as f64).round() as usize).clamp(1, rows - 1);
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
