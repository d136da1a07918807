//! Trains one network with the user's settings on the rows of a CSV file, and calibrates it at the end.

use super::{Args, columns, data_files, describe, new_table, say_left_out, say_test};
use crate::console::{self, note};
use crate::report::{Exit, Outcome, Report};
use crate::run::{DataFile, Rows, RunFolder, TableConfig, Training};
use crate::scores::Judged;
use crate::settings::{Kind, RunSettings};
use crate::team;
use serde::Serialize;
use std::path::Path;
use tractable::data::{ColumnAbout, Dataset, Target};
use tractable::{Ensemble, Fit, Network, train::Sync};

/// Line `start` (one network) of `train`.
#[derive(Serialize)]
struct Start<'a> {
    /// Folder of the run.
    run: &'a Path,
    /// 0 for a new run.
    resumed_after_epoch: usize,
    /// Training rows.
    rows: usize,
    /// Rows held out by `--calibration`.
    calibration_rows: usize,
    /// Rows held out by `--test`.
    test_rows: usize,
    /// Names of the inputs that the columns become.
    inputs: &'a [String],
    /// Names of the target columns.
    outputs: &'a [String],
    /// For every column of the file its `name`, `what` it is taken for, the share `missing`, and a `problem` or null.
    columns: &'a [ColumnAbout],
    /// Weights and biases.
    parameters: usize,
    /// As in `config.json`.
    settings: &'a RunSettings,
}

/// `out` is the folder of the run; `old` its settings if it is resumed.
pub(super) fn run(args: &Args, out: &Path, old: Option<&TableConfig>) -> Outcome {
    let report = Report::new(args.json).ignoring_closed_pipe();
    let files = data_files(args, Kind::Network, old)?;
    let (table, settings) = match old {
        Some(old) => (None, args.flags.resumed(&old.settings)?),
        None => {
            let (table, settings) = new_table(args, Kind::Network, &files)?;
            (Some(table), settings)
        }
    };
    let config = TableConfig::new(DataFile::read(&files)?, settings);
    config.check_same(old)?;
    let settings = &config.settings;
    let table = table.map_or_else(|| settings.table(files.paths()), Ok)?;
    let columns = columns::about(&table, &settings.target);
    let rows = Rows::new(table, settings)?;
    let folder = RunFolder::keeping(out, settings.patience.is_some(), settings.calibration() > 0.0);
    let device = settings
        .device
        .to_train(console::threads(), settings.batch, || build(&rows.train, settings).build())?;
    let net = if old.is_some() && folder.has_epochs()? {
        let net = Network::load(folder.state(), &device)?;
        check_same(&net, &rows.train, &folder.state())?;
        net
    } else {
        build(&rows.train, settings).device(&device).build()?
    };
    let training = Training {
        folder: &folder,
        config: &config,
        fit: fit(settings),
        data: (&rows.train).into(),
        rows: rows.train.rows(),
        test: None,
        resumed: old.is_some(),
        force: args.force,
        report,
        sync: args.sync.unwrap_or(Sync::Batch),
    };
    team::agree(&format!("{:?} {:?} {:?}", config.settings, config.data.content(), training.sync))?;
    if team::place().0 > 0 {
        return training.follow(net);
    }
    let start = |net: &Network| {
        let count = |part: &Option<Dataset>| part.as_ref().map_or(0, Dataset::rows);
        let start = Start {
            run: out,
            resumed_after_epoch: net.epochs(),
            rows: rows.train.rows(),
            calibration_rows: count(&rows.calibration),
            test_rows: count(&rows.test),
            inputs: rows.train.input_names(),
            outputs: rows.train.output_names(),
            columns: &columns,
            parameters: net.parameters(),
            settings,
        };
        if old.is_none() {
            columns::show(&columns);
        }
        note(&format!(
            "{}; {} parameters",
            describe(rows.train.rows(), &rows.train, rows.test.as_ref()),
            net.parameters()
        ));
        let own = args.flags.own_network().join(", ");
        if !own.is_empty() && old.is_none() {
            note(&format!(
                "training one network with these settings; leave out {own} for a calibrated ensemble of ten"
            ));
        }
        report.say("start", &start, String::new)
    };
    let mut model = None;
    training.run(net, start, |net| {
        let net = match settings.patience {
            Some(_) => Network::load(folder.network(), &device)?,
            None => net.try_clone()?,
        };
        model = Some(match &rows.calibration {
            Some(aside) => {
                let model = Ensemble::calibrated(net, &rows.train, aside)?;
                model.save(folder.model())?;
                model
            }
            None => {
                net.save(folder.model())?;
                Ensemble::load_on(folder.model(), console::device())?
            }
        });
        Ok(())
    })?;
    let model = model.expect("it is made once all epochs are done");
    let mut judged = Judged::default();
    if let Some(aside) = &rows.calibration {
        judged.predict(&model, aside.input(), aside.target())?;
    }
    say_left_out(&folder, report, &model, &judged)?;
    rows.test.map_or(Ok(()), |test| say_test(&folder, report, &model, &test))
}

fn build(data: &Dataset, settings: &RunSettings) -> tractable::network::NetworkBuilder {
    let (outputs, classes) = match data.target() {
        Target::Values { y, .. } => (y.width(), None),
        Target::Labels { names, .. } => (names.len(), Some(names.len())),
    };
    let widths = [data.width()].into_iter().chain(settings.hidden.iter().copied()).chain([outputs]);
    let mut net = Network::mlp(widths, settings.activation)
        .prior(settings.weights_prior())
        .update_rule(settings.rule())
        .seed(settings.seed);
    net = match settings.noise() {
        Some(known) => net.noise_std([known.at(0)]),
        None => net.noise(settings.noise),
    };
    match classes {
        Some(classes) => net.classes(classes).head(settings.head()),
        None => net,
    }
}

fn fit(settings: &RunSettings) -> Fit {
    let mut fit = Fit::new()
        .epochs(settings.epochs)
        .batch(settings.batch)
        .shuffle(!settings.no_shuffle)
        .seed(settings.seed);
    fit.noise = settings.noise();
    (fit.validation, fit.patience) = (settings.validation, settings.patience);
    fit
}

/// A state that does not belong to the run's data would be learned over without a word.
fn check_same(net: &Network, data: &Dataset, path: &Path) -> Outcome {
    let classes: &[String] = match data.target() {
        Target::Labels { names, .. } => names,
        Target::Values { .. } => &[],
    };
    let same = net.input_names() == data.input_names()
        && net.output_names() == data.output_names()
        && net.class_names() == classes;
    // Before the first epoch a model has no names yet.
    if net.epochs() > 0 && !same {
        let why = "its columns or classes do not match the run's data";
        return Err(Exit::Error(format!("{}: {why}", path.display())));
    }
    Ok(())
}
