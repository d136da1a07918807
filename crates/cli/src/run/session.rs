//! A training session, on rows or on images: saves finished epochs, handles Ctrl-C and early stopping;
//! a resumed run gives bit-identical results.

use super::RunFolder;
use crate::interrupt;
use crate::progress::ProgressDisplay;
use crate::report::{Exit, Outcome, Report, count, json_line, short};
use crate::scores::{self, ImageScore};
use crate::team;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tractable::data::Images;
use tractable::{
    Fit, Network,
    train::{EarlyStopping, Epoch, FitReport, Progress, Samples, Sync},
};

/// Epochs that follow each other faster than this are not all saved, and do not all get a line on stderr.
const OFTEN: Duration = Duration::from_secs(1);

/// What is learned, from what, and where it is kept.
pub(crate) struct Training<'a, C> {
    pub(crate) folder: &'a RunFolder,
    /// What `config.json` keeps.
    pub(crate) config: &'a C,
    pub(crate) fit: Fit,
    pub(crate) data: Samples<'a>,
    pub(crate) rows: usize,
    /// Images to score after every epoch.
    pub(crate) test: Option<&'a Images>,
    pub(crate) resumed: bool,
    pub(crate) force: bool,
    pub(crate) report: Report,
    /// When several processes exchange what they learned.
    pub(crate) sync: Sync,
}

/// A run that is done.
pub(crate) struct Trained {
    /// After the last epoch.
    pub(crate) net: Network,
    /// On the images, after the last epoch; `None` where no epoch was left to do.
    pub(crate) score: Option<ImageScore>,
}

/// Line `end` (one network, images) of `train`.
#[derive(Serialize)]
struct End<'a> {
    /// Folder of the run.
    run: &'a Path,
    /// File of the model to use.
    model: PathBuf,
    /// Number finished.
    epochs: usize,
    /// Epoch of the model, with `--patience`; of one network.
    #[serde(skip_serializing_if = "Option::is_none")]
    best_epoch: Option<Option<usize>>,
    /// In total.
    seconds: f64,
}

/// An epoch and, of images, what the test says after it.
///
/// Line `epoch` (one network, images) of `train`.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    epoch: &'a Epoch,
    #[serde(flatten)]
    test: Option<TestScores>,
}

#[derive(Serialize)]
struct TestScores {
    /// During training; of images.
    images_per_second: f64,
    /// Share of misclassified test images.
    test_error: f64,
    /// Mean negative log-likelihood of the test labels.
    test_nll: f64,
}

/// Fits alone or together with the other processes.
fn learn<C>(
    net: &mut Network,
    training: &Training<'_, C>,
    fit: &Fit,
    progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Outcome<FitReport> {
    let data = training.data.clone();
    match team::workers() {
        None => Ok(net.fit_with(data, fit, progress)?),
        Some(workers) => team::heard(net.fit_together(data, fit, &*workers, training.sync, progress)),
    }
}

impl<C: Serialize> Training<'_, C> {
    /// Learns together with the first process, which does all printing and saving.
    pub(crate) fn follow(mut self, mut net: Network) -> Outcome {
        interrupt::listen()?;
        self.fit.patience = None;
        if team::share(&[])?[0] == [1] {
            let fit = self.fit.clone().first_epoch(net.epochs());
            // A signal to this process alone ends the run too, but only after an epoch: the first process may have to save it.
            learn(&mut net, &self, &fit, |p| match p {
                Progress::Epoch(..) if interrupt::requested() => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            })?;
            if team::share(&[])?[0] == [1] {
                return Err(Exit::Interrupted(String::new()));
            }
        }
        Ok(())
    }

    /// Learns all epochs; `start` says what is learned, once files may be touched, and `finish` makes the model of the last
    /// epoch, once all are done.
    pub(crate) fn run(
        mut self,
        mut net: Network,
        start: impl FnOnce(&Network) -> Outcome,
        finish: impl FnOnce(&Network) -> Outcome,
    ) -> Outcome<Trained> {
        let (first, of) = (net.epochs(), self.fit.epochs);
        if of < first {
            return Err(Exit::Error(format!("--epochs {of}: the run already has {first}")));
        }
        net.check_fit(self.data.clone(), &self.fit)?;
        interrupt::listen()?;
        // From here on files are touched: everything that can be checked has been. The library would keep the best epoch
        // in memory; a run keeps it in a file, so that it can be resumed.
        let mut stopping = self.fit.patience.take().map(|patience| EarlyStopping { patience, best: None });
        let prepared = if self.resumed {
            for past in self.folder.past(first)? {
                stopping.as_mut().map(|s| s.update(past.epoch, past.validation_nll.unwrap_or(f64::NAN)));
            }
            self.folder.resume(self.config)?;
            None
        } else {
            Some(self.folder.prepare(self.force)?)
        };
        let replaces = prepared.as_ref().is_some_and(|p| p.replaces);
        let fresh = prepared.as_ref().filter(|p| !p.replaces);
        if fresh.is_some() {
            self.folder.start(self.config)?;
        }
        start(&net)?;
        let total = self.rows.saturating_mul(of - first);
        let mut session = Session {
            progress: ProgressDisplay::new(Some(total as u64)),
            unit: if self.test.is_some() { "images" } else { "rows" },
            begun: !replaces,
            stopping,
            first,
            finished: first,
            began: Instant::now(),
            epoch_began: Instant::now(),
            saved: None,
            unsaved: false,
            last: String::new(),
            score: None,
            failed: None,
            training: &self,
        };
        let mut interrupted = false;
        let goes_on = !session.out_of_patience();
        team::share(&[u8::from(goes_on)])?;
        if goes_on {
            let fit = self.fit.clone().first_epoch(first);
            let result = learn(&mut net, &self, &fit, |p| session.step(p));
            // A failure to save or write stands behind the break it caused.
            let result = session.failed.take().map_or(result, Err);
            // Nothing stays of a run that never had an epoch.
            if let (Err(_), None, Some(fresh)) = (&result, session.saved, fresh) {
                self.folder.forget(fresh);
            }
            // By a signal to any process, unless training was over.
            let stopped = result?.interrupted;
            interrupted = stopped && (interrupt::requested() || !session.out_of_patience());
            if session.unsaved {
                self.folder.save(&net, session.nothing_better())?;
            }
            team::share(&[u8::from(interrupted)])?;
        }
        let (finished, out) = (session.finished, self.folder.path());
        if interrupted && !session.begun {
            let why = "no epoch finished, nothing was saved; an earlier run is unchanged";
            return Err(Exit::Interrupted(why.into()));
        }
        if self.test.is_some() && finished > 0 {
            super::curves::write(self.folder, finished)?;
        }
        if interrupted {
            return Err(Exit::Interrupted(format!(
                "{finished} of {of} epochs are saved; continue with `tractable train --resume -o {}`",
                out.display()
            )));
        }
        interrupt::leave_at_once(&format!(
            "all epochs are saved; continue with `tractable train --resume -o {}`",
            out.display()
        ))?;
        finish(&net)?;
        let seconds = session.began.elapsed().as_secs_f64();
        let best_epoch = session.stopping.as_ref().and_then(|s| Some(s.best?.1));
        session.progress.done(&format!("{} in {seconds:.1} s", count(finished as u64, "epoch")));
        let of_rows = self.test.is_none().then_some(best_epoch);
        let model = self.folder.model();
        let end = End { run: out, model, epochs: finished, best_epoch: of_rows, seconds };
        self.report.say("end", &end, || {
            let best = best_epoch.map_or(String::new(), |e| format!(", the model is from epoch {e}"));
            format!("run {}: {}{best}", out.display(), count(finished as u64, "epoch"))
        })?;
        Ok(Trained { score: session.score, net })
    }
}

/// What to do after every epoch and in between.
struct Session<'a, C> {
    training: &'a Training<'a, C>,
    progress: ProgressDisplay,
    unit: &'static str,
    /// The folder holds this run, not an earlier one or none.
    begun: bool,
    stopping: Option<EarlyStopping>,
    /// Epochs done before and by now.
    first: usize,
    finished: usize,
    began: Instant,
    epoch_began: Instant,
    saved: Option<Instant>,
    /// The last finished epoch is not in the file yet.
    unsaved: bool,
    /// What the last epoch came to.
    last: String,
    score: Option<ImageScore>,
    failed: Option<Exit>,
}

impl<C: Serialize> Session<'_, C> {
    fn step(&mut self, progress: tractable::train::Progress<'_>) -> ControlFlow<()> {
        let over = match progress {
            tractable::train::Progress::Rows(done, of) => {
                let (total, speed) =
                    (self.done(done, of), done as f64 / self.epoch_began.elapsed().as_secs_f64());
                let (last, eta, epoch, unit) = (&self.last, self.eta(total), self.finished + 1, self.unit);
                let epochs = self.training.fit.epochs;
                let text = || format!("epoch {epoch}/{epochs}  {done}/{of}  {speed:.0} {unit}/s{last}{eta}");
                self.progress.at(total as u64, text);
                // Half an epoch is never saved: where the last whole one is not in the file yet, epochs are so short
                // that this one is finished first.
                interrupt::requested() && !self.unsaved
            }
            tractable::train::Progress::Epoch(net, epoch) => {
                self.failed = self.epoch(net, epoch).err();
                self.epoch_began = Instant::now();
                self.failed.is_some() || interrupt::requested() || self.out_of_patience()
            }
        };
        if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn epoch(&mut self, net: &Network, epoch: &Epoch) -> Outcome {
        let Training { folder, config, test, report, .. } = self.training;
        let speed = epoch.learned.rows as f64 / epoch.seconds;
        self.score = test.map(|images| scores::images::of(net, images)).transpose()?;
        let test = self.score.as_ref();
        let test =
            test.map(|s| TestScores { images_per_second: speed, test_error: s.error_rate, test_nll: s.nll });
        self.last = match (&test, epoch.validation_nll) {
            (Some(t), _) => format!("  error {:.2} %  nll {}", 100.0 * t.test_error, short(t.test_nll)),
            (None, Some(nll)) => format!("  validation nll {}", short(nll)),
            _ => String::new(),
        };
        self.finished = epoch.epoch;
        let nll = epoch.validation_nll.unwrap_or(f64::NAN);
        let improved = self.stopping.as_mut().is_some_and(|s| s.update(epoch.epoch, nll));
        let body = Line { epoch, test };
        let line = json_line("epoch", &body);
        if !self.begun {
            folder.replace(config, &format!("{line}\n"), |staged| staged.save(net, true))?;
            (self.saved, self.begun) = (Some(Instant::now()), true);
        } else {
            folder.append(&line)?;
            self.unsaved = true;
            if improved || self.saved.is_none_or(|s| s.elapsed() >= OFTEN) || interrupt::requested() {
                folder.save(net, improved || self.nothing_better())?;
                (self.saved, self.unsaved) = (Some(Instant::now()), false);
            }
        }
        report.say("epoch", &body, String::new)?;
        let (total, noise) = (self.done(0, 1), short(epoch.noise_std));
        let (last, eta, unit) = (&self.last, self.eta(total), self.unit);
        let text =
            format!("epoch {}/{}  {speed:.0} {unit}/s  noise {noise}{last}{eta}", epoch.epoch, epoch.of);
        match self.epoch_began.elapsed() >= OFTEN {
            true => {
                self.progress.moved(total as u64);
                self.progress.say(&text);
            }
            false => self.progress.at(total as u64, || text),
        }
        Ok(())
    }

    /// Rows done in this session, `done` of the `of` in this epoch: with validation an epoch has fewer than the data.
    fn done(&self, done: usize, of: usize) -> usize {
        (self.finished - self.first) * self.training.rows + done * self.training.rows / of
    }

    /// What is left at the pace so far, testing included; a bar says it itself.
    fn eta(&self, done: usize) -> String {
        if self.progress.is_bar() || done == 0 {
            return String::new();
        }
        let left = (self.training.fit.epochs - self.first) * self.training.rows - done;
        let seconds = self.began.elapsed().as_secs_f64() / done as f64 * left as f64;
        match seconds {
            s if s < 100.0 => format!("  eta {s:.0} s"),
            s if s < 6000.0 => format!("  eta {:.0} min", s / 60.0),
            s => format!("  eta {:.1} h", s / 3600.0),
        }
    }

    fn out_of_patience(&self) -> bool {
        self.stopping.as_ref().is_some_and(|s| s.is_over(self.finished))
    }

    /// No epoch has a score yet, so that the last one is the model to use.
    fn nothing_better(&self) -> bool {
        self.stopping.as_ref().is_none_or(|s| s.best.is_none())
    }
}
