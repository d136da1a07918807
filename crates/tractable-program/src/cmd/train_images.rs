//! `tractable train SET`: fits a network to images and keeps the run in a folder, testing after every epoch.

use super::train::Args;
use crate::console;
use crate::console::note;
use crate::image_sets::{ImageSet, fingerprint};
use crate::interrupt;
use crate::plot::{Color, Figure, Panel, reliability};
use crate::progress::Progress;
use crate::report::{Exit, Outcome, Report, json_line, short};
use crate::run::{ImageConfig, ImageData, Past, RunFolder};
use crate::scores::{self, ImageScore};
use crate::settings::ImageSettings;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tractable::data::Images;
use tractable::{Epoch, Network};

#[derive(Serialize)]
struct Start<'a> {
    run: &'a Path,
    resumed_after_epoch: usize,
    images: &'a ImageData,
    shape: String,
    parameters: usize,
    settings: &'a ImageSettings,
}

/// An epoch and what the test images say after it.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    epoch: &'a Epoch,
    images_per_second: f64,
    test_error: f64,
    test_nll: f64,
}

#[derive(Serialize)]
struct End<'a> {
    run: &'a Path,
    model: PathBuf,
    epochs: usize,
    seconds: f64,
}

/// `out` is the folder of the run; `old` its settings where it goes on.
pub(super) fn run(args: &Args, out: &Path, set: Option<ImageSet>, old: Option<&ImageConfig>) -> Outcome {
    let report = Report::new(args.json).ignoring_closed_pipe();
    let (set, settings) = match old {
        None => {
            if !args.force {
                RunFolder::check_free(out)?;
            }
            let set = set.ok_or_else(|| Exit::Error("say which images".into()))?;
            (set, args.images.settings(&args.flags)?)
        }
        Some(old) => {
            if args.file.is_some() && set != Some(old.images.set) {
                let why = format!("--resume: the run is on {}; leave the name out", old.images.set.name());
                return Err(Exit::Error(why));
            }
            (old.images.set, args.images.settings_of(&args.flags, &old.settings)?)
        }
    };
    let given = args.images.data.as_deref().map(|p| std::path::absolute(p).unwrap_or_else(|_| p.into()));
    let folder = given.or(old.and_then(|o| o.images.folder.clone()));
    let (train, test) = set.load(folder.as_deref(), settings.limit)?;
    let (hash, sizes) = (fingerprint(&train), (train.len(), test.len()));
    if old.is_some_and(|o| o.images.hash != hash) {
        let why = "are not the images the run began with, and cannot give the same result; start a new run";
        return Err(Exit::Error(format!("{}: these {why}", set.name())));
    }
    let data = ImageData { set, folder, train: sizes.0, test: sizes.1, hash };
    let config = ImageConfig::new(data, settings);
    let settings = &config.settings;
    let train = settings.prepare(train);
    let files = RunFolder::new(out, false);
    let device = settings.device.with(console::threads());
    let mut net = match old {
        Some(_) => Network::load(files.state(), device)?,
        None => settings.build(set, &train).device(device).build()?,
    };
    if old.is_some() && settings.epochs < net.epochs() {
        let why = format!("--epochs {}: the run has {} already", settings.epochs, net.epochs());
        return Err(Exit::Error(why));
    }
    let fit = settings.fit().first_epoch(net.epochs());
    let untouched = net.clone();
    // One of no epochs finds what would be refused.
    net.fit(&train, &fit.clone().first_epoch(fit.epochs))?;
    if interrupt::asked() {
        return Err(Exit::Interrupted("nothing was written".into()));
    }

    // From here on files are touched: everything that can be checked has been.
    let _held = if old.is_some() {
        files.past(net.epochs())?;
        files.go_on(&config)?;
        None
    } else {
        Some(files.prepare()?)
    };
    let shape = train.shape().to_string();
    let (first, parameters) = (net.epochs(), net.parameters());
    let images = &config.images;
    let start = Start { run: out, resumed_after_epoch: first, images, shape, parameters, settings };
    report.say("start", &start, String::new)?;
    let (name, shape, n) = (set.name(), &start.shape, parameters);
    note(&format!("{name}: {} images of {shape} and {} to test; {n} parameters", sizes.0, sizes.1));
    let began = Instant::now();
    let mut session = Session {
        folder: &files,
        config: &config,
        test: &test,
        force: args.force,
        begun: old.is_some(),
        report,
        progress: Progress::new(
            Some(train.len().saturating_mul(settings.epochs - first) as u64),
            console::quiet(),
        ),
        first,
        finished: first,
        of: settings.epochs,
        images: train.len(),
        began,
        epoch_began: began,
        last: String::new(),
        score: None,
        failed: None,
    };
    let result = net.fit_with(&train, &fit, |p| session.step(p));
    // A failure to save or write stands behind the break it caused.
    if let Some(stop) = session.failed.take() {
        return Err(stop);
    }
    let interrupted = result?.interrupted && interrupt::asked();
    let (finished, score) = (session.finished, session.score);
    if interrupted && !session.begun {
        if args.force {
            let why = "no epoch is finished, nothing was saved; a run that was there is as it was";
            return Err(Exit::Interrupted(why.into()));
        }
        files.begin(&config, &untouched, "", false)?;
    }
    if finished > 0 {
        curves(&files, finished)?;
    }
    if interrupted {
        return Err(Exit::Interrupted(format!(
            "{finished} of {} epochs are saved; go on with `tractable train --resume -o {}`",
            settings.epochs,
            out.display()
        )));
    }
    let seconds = began.elapsed().as_secs_f64();
    session.progress.done(&format!("{finished} epochs in {seconds:.1} s"));
    let end = End { run: out, model: files.model(), epochs: finished, seconds };
    report.say("end", &end, || format!("run {}: {finished} epochs", out.display()))?;
    // A run that had nothing left to do has not been tested yet.
    let score = score.map_or_else(|| scores::images::of(&net, &test), Ok)?;
    files.append(&json_line("test", &score))?;
    reliability("Calibration on the test images", &score.reliability).save(&files.file("reliability"))?;
    score.say(report, "test", false)
}

/// Writes the learning curves of a run: the one place that turns `metrics.jsonl` into something to look at.
fn curves(folder: &RunFolder, epochs: usize) -> Outcome {
    let mut text = String::from("epoch,noise_std,test_error,test_nll,images_per_second\n");
    for past in folder.past(epochs)? {
        let numbers = [Some(past.noise_std), past.test_error, past.test_nll, past.images_per_second];
        let cells = numbers.map(|v| v.map_or(String::new(), |v| v.to_string()));
        text += &format!("{},{}\n", past.epoch, cells.join(","));
    }
    folder.write("curves.csv", &text)?;
    let past = folder.past(epochs)?;
    let over_epochs = |title: &str, unit: &str, value: &dyn Fn(&Past) -> Option<f64>| {
        let (x, y): (Vec<f64>, Vec<f64>) =
            past.iter().filter_map(|p| value(p).map(|v| (p.epoch as f64, v))).unzip();
        Panel::new(title, "epoch", unit).line("", Color::Blue, &x, &y).points("", Color::Blue, &x, &y)
    };
    Figure::new("Learning curves on the test images")
        .columns(2)
        .panel(over_epochs("Error", "error, %", &|p| p.test_error.map(|e| 100.0 * e)))
        .panel(over_epochs("Negative log-likelihood", "nats an image", &|p| p.test_nll))
        .save(&folder.file("curves"))
}

/// One run while it learns: what to do after every epoch and in between.
struct Session<'a> {
    folder: &'a RunFolder,
    config: &'a ImageConfig,
    test: &'a Images,
    force: bool,
    /// The folder holds this run, not an earlier one or none.
    begun: bool,
    report: Report,
    progress: Progress,
    /// Epochs done before, by now, and in the end.
    first: usize,
    finished: usize,
    of: usize,
    images: usize,
    began: Instant,
    epoch_began: Instant,
    /// What the last epoch came to.
    last: String,
    score: Option<ImageScore>,
    failed: Option<Exit>,
}

impl Session<'_> {
    fn step(&mut self, progress: tractable::Progress<'_>) -> ControlFlow<()> {
        match progress {
            tractable::Progress::Rows(done, of) => {
                let speed = done as f64 / self.epoch_began.elapsed().as_secs_f64();
                let total = (self.finished - self.first) * self.images + done;
                let (last, eta, epoch) = (&self.last, self.eta(total), self.finished + 1);
                let text =
                    || format!("epoch {epoch}/{}  {done}/{of}  {speed:.0} images/s{last}{eta}", self.of);
                self.progress.at(total as u64, text);
                // Half an epoch is never saved; the last whole one is in the file.
                if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
            tractable::Progress::Epoch(net, epoch) => {
                let result = self.epoch(net, epoch);
                self.epoch_began = Instant::now();
                match result {
                    Ok(()) if interrupt::asked() => ControlFlow::Break(()),
                    Ok(()) => ControlFlow::Continue(()),
                    Err(stop) => {
                        self.failed = Some(stop);
                        ControlFlow::Break(())
                    }
                }
            }
            _ => ControlFlow::Continue(()),
        }
    }

    /// What is left at the pace so far, testing included; a bar says it itself.
    fn eta(&self, done: usize) -> String {
        if self.progress.is_bar() || done == 0 {
            return String::new();
        }
        let left = (self.of - self.first) * self.images - done;
        let seconds = self.began.elapsed().as_secs_f64() / done as f64 * left as f64;
        match seconds {
            s if s < 100.0 => format!("  eta {s:.0} s"),
            s if s < 6000.0 => format!("  eta {:.0} min", s / 60.0),
            s => format!("  eta {:.1} h", s / 3600.0),
        }
    }

    fn epoch(&mut self, net: &Network, epoch: &Epoch) -> Outcome {
        let score = scores::images::of(net, self.test)?;
        let (test_error, test_nll) = (score.error_rate, score.nll);
        self.score = Some(score);
        let images_per_second = epoch.learned.rows as f64 / epoch.seconds;
        let whole = Line { epoch, images_per_second, test_error, test_nll };
        let line = json_line("epoch", &whole);
        if self.begun {
            self.folder.append(&line)?;
            self.folder.save(net, true)?;
        } else {
            self.folder.begin(self.config, net, &format!("{line}\n"), self.force)?;
            self.begun = true;
        }
        self.finished = epoch.epoch;
        self.report.say("epoch", &whole, String::new)?;
        self.last = format!("  error {:.2} %  nll {}", 100.0 * test_error, short(test_nll));
        let (last, noise) = (&self.last, short(epoch.noise_std));
        let total = (self.finished - self.first) * self.images;
        let eta = self.eta(total);
        self.progress.moved(total as u64);
        self.progress.say(&format!(
            "epoch {}/{}  {images_per_second:.0} images/s  noise {noise}{last}{eta}",
            epoch.epoch, epoch.of
        ));
        Ok(())
    }
}
