//! Training on the rows of a CSV file.

use super::Args;
use crate::console::{self, note};
use crate::report::{Exit, Outcome, Report, json_line};
use crate::run::{DataFile, RunFolder, TableConfig, Training};
use crate::scores;
use crate::settings::TableSettings;
use serde::Serialize;
use std::path::Path;
use tractable::data::{self, Dataset, Target};
use tractable::{Fit, Network};

#[derive(Serialize)]
struct Start<'a> {
    run: &'a Path,
    resumed_after_epoch: usize,
    rows: usize,
    test_rows: usize,
    inputs: &'a [String],
    outputs: &'a [String],
    parameters: usize,
    settings: &'a TableSettings,
}

/// `out` is the folder of the run; `old` its settings where it is resumed.
pub(super) fn run(args: &Args, out: &Path, old: Option<&TableConfig>) -> Outcome {
    let report = Report::new(args.json).ignoring_closed_pipe();
    if let Some(flag) = args.images.given().keys().next() {
        return Err(Exit::Error(format!("--{flag}: is for image sets, not for CSV files; leave it out")));
    }
    let file = args.file.as_deref().or(old.map(|o| &*o.data.path)).expect("clap asks for it");
    let settings = match old {
        Some(old) => args.flags.settings_of(&old.settings)?,
        None => args.flags.settings()?,
    };
    let config = TableConfig::new(DataFile::read(file)?, settings);
    if old.is_some_and(|old| !config.data.same_content(&old.data)) {
        let why = "is not what the run began with, and cannot give the same result; start a new run";
        return Err(Exit::Error(format!("{}: {why}", file.display())));
    }
    let settings = &config.settings;
    let (train, test) = read(file, settings)?;
    let folder = RunFolder::new(out, settings.patience.is_some());
    let device = settings.device.with(console::threads());
    let net = if old.is_some() && folder.has_epochs()? {
        let net = Network::load(folder.state(), &device)?;
        check_same(&net, &train, &folder.state())?;
        net
    } else {
        build(&train, settings)?.device(&device).build()?
    };
    let training = Training {
        folder: &folder,
        config: &config,
        fit: fit(settings),
        data: (&train).into(),
        rows: train.rows(),
        test: None,
        resumed: old.is_some(),
        force: args.force,
        report,
    };
    let trained = training.run(net, |net| {
        let start = Start {
            run: out,
            resumed_after_epoch: net.epochs(),
            rows: train.rows(),
            test_rows: test.as_ref().map_or(0, Dataset::rows),
            inputs: train.input_names(),
            outputs: train.output_names(),
            parameters: net.parameters(),
            settings,
        };
        note(&describe(&train, test.as_ref(), net));
        report.say("start", &start, String::new)
    })?;
    let Some(test) = test else { return Ok(()) };
    let best = trained.best_epoch.map(|_| Network::load(folder.model(), device)).transpose()?;
    for score in scores::of(&best.unwrap_or(trained.net), test.x(), test.target(), test.output_names())? {
        folder.append(&json_line("test", &score))?;
        score.say(report, "test", false)?;
    }
    Ok(())
}

/// What a run learns from, in a line.
fn describe(train: &Dataset, test: Option<&Dataset>, net: &Network) -> String {
    let missing = match train.target() {
        Target::Values { observed: Some(seen), .. } => seen.iter().filter(|s| !**s).count(),
        _ => 0,
    };
    let missing = if missing > 0 { format!(", {missing} of their values missing") } else { String::new() };
    let test = test.map_or(String::new(), |t| format!(" and {} to test", t.rows()));
    let few = |names: &[String]| match names.len() {
        0..=12 => names.join(", "),
        n => format!("{} and {} more", names[..10].join(", "), n - 10),
    };
    let (inputs, targets) = (few(train.input_names()), few(train.output_names()));
    let (rows, parameters) = (train.rows(), net.parameters());
    format!("{rows} rows{test}; inputs {inputs}; target {targets}{missing}; {parameters} parameters")
}

/// The rows to train on and those kept apart.
fn read(file: &Path, settings: &TableSettings) -> Outcome<(Dataset, Option<Dataset>)> {
    let mut csv = data::csv(file)?;
    for column in &settings.drop {
        csv = csv.drop(column)?;
    }
    let data = if settings.classes {
        csv.classes(&settings.target[0])?
    } else {
        let targets: Vec<&str> = settings.target.iter().map(String::as_str).collect();
        csv.targets(&targets)?
    };
    let data = if settings.no_standardize { data } else { data.standardize() };
    if settings.test == 0.0 {
        return Ok((data, None));
    }
    let (train, test) = data.split(1.0 - settings.test, settings.seed)?;
    Ok((train, Some(test)))
}

fn build(data: &Dataset, settings: &TableSettings) -> Outcome<tractable::NetworkBuilder> {
    let (outputs, classes) = match data.target() {
        Target::Values { y, .. } => (y.width(), None),
        Target::Labels { names, .. } => (names.len(), Some(names.len())),
    };
    let widths = [data.width()].into_iter().chain(settings.hidden.iter().copied()).chain([outputs]);
    let mut net = Network::mlp(widths, settings.activation)
        .prior(settings.weights_prior())
        .update_rule(settings.update_rule)
        .noise_std([settings.noise().at(0)])
        .seed(settings.seed);
    if let Some(classes) = classes {
        net = net.classes(classes);
    }
    Ok(net)
}

fn fit(settings: &TableSettings) -> Fit {
    let mut fit = Fit::new()
        .epochs(settings.epochs)
        .batch(settings.batch)
        .noise(settings.noise())
        .shuffle(!settings.no_shuffle)
        .seed(settings.seed);
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
        let why = "its columns or classes are not those of the run's data";
        return Err(Exit::Error(format!("{}: {why}", path.display())));
    }
    Ok(())
}
