//! Training on images, tested after every epoch.

use super::Args;
use crate::console::{self, note};
use crate::image_sets::{ImageSet, fingerprint};
use crate::plot::reliability;
use crate::report::{Exit, Outcome, Report, json_line};
use crate::run::{ImageConfig, ImageData, RunFolder, Training};
use crate::scores;
use crate::settings::{Kind, RunSettings};
use crate::team;
use serde::Serialize;
use std::path::Path;
use tractable::{Network, train::Sync};

/// Line `start` (images) of `train`.
#[derive(Serialize)]
struct Start<'a> {
    /// Folder of the run.
    run: &'a Path,
    /// 0 for a new run.
    resumed_after_epoch: usize,
    /// Which set, how many, and their hash.
    images: &'a ImageData,
    /// Channels, rows, columns.
    shape: String,
    /// Weights and biases.
    parameters: usize,
    /// As in `config.json`.
    settings: &'a RunSettings,
}

/// `out` is the folder of the run; `old` its settings if it is resumed.
pub(super) fn run(args: &Args, out: &Path, set: ImageSet, old: Option<&ImageConfig>) -> Outcome {
    let report = Report::new(args.json).ignoring_closed_pipe();
    let settings = match old {
        None => args.flags.settings(Kind::Images, false)?,
        Some(old) => args.flags.resumed(&old.settings)?,
    };
    let given =
        args.flags.values.data.as_deref().map(|p| std::path::absolute(p).unwrap_or_else(|_| p.into()));
    let folder = given.or(old.and_then(|o| o.images.folder.clone()));
    let (train, test) = set.load(folder.as_deref(), settings.limit)?;
    let hash = fingerprint(&train);
    if old.is_some_and(|o| o.images.hash != hash) {
        let why = "have changed since the run started; start a new run";
        return Err(Exit::Error(format!("{}: these {why}", set.name())));
    }
    let config =
        ImageConfig::new(ImageData { set, folder, train: train.len(), test: test.len(), hash }, settings);
    let settings = &config.settings;
    let (train, aside) = settings.keep_aside(train)?;
    let train = settings.prepare(train);
    let folder = RunFolder::new(out);
    let device = settings
        .device
        .to_train(console::threads(), settings.batch, || settings.build(set, &train).build())?;
    let net = match old.is_some() && folder.has_epochs()? {
        true => Network::load(folder.state(), device)?,
        false => settings.build(set, &train).device(device).build()?,
    };
    let training = Training {
        folder: &folder,
        config: &config,
        fit: settings.fit_images(),
        data: (&train).into(),
        rows: train.len(),
        test: Some(&test),
        resumed: old.is_some(),
        force: args.force,
        report,
        sync: args.sync.unwrap_or(Sync::Batch),
    };
    team::agree(&format!("{:?} {} {:?}", config.settings, config.images.hash, training.sync))?;
    if team::place().0 > 0 {
        return training.follow(net);
    }
    let start = |net: &Network| {
        let (shape, parameters, images) = (train.shape().to_string(), net.parameters(), &config.images);
        let (name, n, t) = (set.name(), train.len(), test.len());
        note(&format!("{name}: {n} images of {shape} and {t} to test; {parameters} parameters"));
        let start =
            Start { run: out, resumed_after_epoch: net.epochs(), images, shape, parameters, settings };
        report.say("start", &start, String::new)
    };
    let mut calibrated = None;
    let trained = training.run(net, start, |net| {
        if let Some(aside) = &aside {
            let mut net = net.try_clone()?;
            net.calibrate(aside)?;
            net.save(folder.model())?;
            calibrated = Some(net);
        }
        Ok(())
    })?;
    // A run that had nothing left to do has not been tested yet.
    let score = match (&calibrated, trained.score) {
        (Some(net), before) => {
            if let Some(before) = before {
                folder.append(&json_line("uncalibrated", &before))?;
                before.say_uncalibrated(report)?;
            }
            scores::images::of(net, &test)?
        }
        (None, Some(score)) => score,
        (None, None) => scores::images::of(&trained.net, &test)?,
    };
    folder.append(&json_line("test", &score))?;
    reliability("Calibration on the test images", &score.reliability).save(&folder.file("reliability"))?;
    score.say(report, "test", false)
}
