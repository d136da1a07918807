//! The fit loop: epochs of shuffled batches, a noise schedule, early stopping.

mod samples;
mod settings;
mod statistics;
mod together;

pub use samples::Samples;
pub use settings::{Fit, NoiseSchedule};
pub use together::Sync;

use crate::network::{LearnInfo, Network, Snapshot};
use crate::output::{ClassCalibration, Output};
use std::ops::ControlFlow;
use std::time::Instant;
use together::Learner;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Matrix;
use tractable_core::memory;
use tractable_core::metrics;
use tractable_core::rng;
use tractable_core::workers::{self, Transport};
use tractable_data::{Images, Scaler, Target};
use tractable_devices::UpdateRule;

/// One epoch of a fit.
///
/// ```
/// # use tractable::{Activation, Fit, Matrix, Network, data::Dataset};
/// let data = Dataset::new(Matrix::column(vec![0.0, 1.0])?, Matrix::column(vec![0.0, 1.0])?)?;
/// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
/// let report = net.fit(&data, &Fit::new().epochs(2))?;
/// assert_eq!(report.epochs[1].epoch, 2);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Epoch {
    /// Number of the epoch, from 1.
    pub epoch: usize,
    /// Maximum number of epochs.
    pub of: usize,
    /// Noise in this epoch, as a standard deviation; the first output's where they differ, 0 of a softmax.
    pub noise_std: f64,
    /// Samples learned from, steps limited, variances repaired.
    pub learned: LearnInfo,
    /// Mean negative log-likelihood of the validation share, in the target's units.
    pub validation_nll: Option<f64>,
    /// Seconds the epoch took.
    pub seconds: f64,
}

/// Progress of a fit: samples done within an epoch, or a finished epoch.
///
/// ```
/// use std::ops::ControlFlow;
/// # use tractable::{Activation, Fit, Matrix, Network, data::Dataset, train::Progress};
/// # let data = Dataset::new(Matrix::column(vec![0.0, 1.0])?, Matrix::column(vec![0.0, 1.0])?)?;
/// # let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
/// let report = net.fit_with(&data, &Fit::new(), |progress| match progress {
///     Progress::Epoch(_, e) if e.epoch == 3 => ControlFlow::Break(()), // enough
///     _ => ControlFlow::Continue(()),
/// })?;
/// assert_eq!(report.epochs.len(), 3);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug)]
pub enum Progress<'a> {
    /// Samples done and samples in total, in the current epoch. Breaking here leaves the epoch unfinished.
    Rows(usize, usize),
    /// An epoch is finished; with the current network, for a checkpoint.
    Epoch(&'a Network, &'a Epoch),
}

/// What a fit did.
///
/// ```
/// # use tractable::{Activation, Fit, Matrix, Network, data::Dataset};
/// # let data = Dataset::new(Matrix::column(vec![0.0, 1.0])?, Matrix::column(vec![0.0, 1.0])?)?;
/// # let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
/// let report = net.fit(&data, &Fit::new().epochs(2))?;
/// assert!(!report.interrupted && report.best_epoch.is_none());
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FitReport {
    /// Every finished epoch.
    pub epochs: Vec<Epoch>,
    /// With early stopping: the best epoch, from 1, which the network was reset to.
    pub best_epoch: Option<usize>,
    /// Whether the callback stopped the fit.
    pub interrupted: bool,
}

/// Tracks the lowest validation score and decides when to stop. A NaN score
/// is never the best; patience counts from the best epoch.
///
/// ```
/// let mut stopping = tractable::train::EarlyStopping { patience: 2, best: None };
/// assert!(stopping.update(1, 0.7) && !stopping.update(2, f64::NAN) && !stopping.is_over(2));
/// assert!(!stopping.update(3, 0.8) && stopping.is_over(3));
/// assert_eq!(stopping.best, Some((0.7, 1)));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct EarlyStopping {
    /// Epochs without a better score after which to stop.
    pub patience: usize,
    /// The lowest score and its epoch, counted from 1.
    pub best: Option<(f64, usize)>,
}

impl EarlyStopping {
    /// Records the score of an epoch, counted from 1; returns whether it is the best so far.
    ///
    /// ```
    /// let mut stopping = tractable::train::EarlyStopping { patience: 3, best: None };
    /// assert!(!stopping.update(1, f64::NAN) && stopping.update(2, 5.0) && stopping.update(3, 4.0));
    /// ```
    pub fn update(&mut self, epoch: usize, nll: f64) -> bool {
        let better = !nll.is_nan() && self.best.is_none_or(|(lowest, _)| nll < lowest);
        if better {
            self.best = Some((nll, epoch));
        }
        better
    }

    /// Whether patience has run out after this epoch.
    ///
    /// ```
    /// let stopping = tractable::train::EarlyStopping { patience: 1, best: Some((0.5, 4)) };
    /// assert!(!stopping.is_over(4) && stopping.is_over(5));
    /// ```
    pub fn is_over(&self, epoch: usize) -> bool {
        self.best.is_some_and(|(_, at)| epoch - at >= self.patience)
    }
}

/// The start of a fit, after all checks.
struct Start<'a> {
    seed: u64,
    /// Rows to learn from.
    rows: Vec<usize>,
    held_out: Option<Samples<'a>>,
    /// Of inputs and outputs, unless the network has its own.
    scalers: Option<(Option<Scaler>, Option<Scaler>)>,
}

/// The order of the rows in an epoch.
struct Order {
    in_order: Vec<usize>,
    rows: Vec<usize>,
    /// None: rows stay in order.
    seed: Option<u64>,
    /// The epoch that `rows` is for.
    epoch: Option<usize>,
}

impl Order {
    fn new(in_order: Vec<usize>, seed: Option<u64>) -> Self {
        Order { rows: in_order.clone(), in_order, seed, epoch: None }
    }

    /// Shuffles the rows for an epoch, from the same start every time, so that its order does not depend on the epochs before.
    fn prepare(&mut self, epoch: usize) {
        if let Some(seed) = self.seed
            && self.epoch.replace(epoch) != Some(epoch)
        {
            self.rows.copy_from_slice(&self.in_order);
            rng::shuffle(&mut self.rows, &mut rng::stream(seed, "shuffle", epoch as u64));
        }
    }
}

/// Rows between two [`Progress::Rows`], and the minimum number of batches on a device that queues them.
const REPORT_EVERY: usize = 512;
const BATCHES_AHEAD: usize = 32;

impl Network {
    /// Fits the network to a data set or to images. If the data set asks for it, inputs and targets are standardised with
    /// the mean and standard deviation of the training part, and the network keeps the scalers.
    ///
    /// ```
    /// # use tractable::{Activation, Fit, Matrix, Network, data::Dataset};
    /// let x: Vec<f64> = (0..40).map(|i| i as f64 / 20.0).collect();
    /// let y = x.iter().map(|x| 3.0 * x).collect();
    /// let data = Dataset::new(Matrix::column(x)?, Matrix::column(y)?)?.standardize();
    /// let mut net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// net.fit(&data, &Fit::new().noise_std(0.1))?;
    /// assert!((net.predict(&Matrix::column(vec![1.0])?)?.mean()[0] - 3.0).abs() < 0.3);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn fit<'a>(&mut self, data: impl Into<Samples<'a>>, fit: &Fit) -> Result<FitReport> {
        self.fit_with(data, fit, |_| ControlFlow::Continue(()))
    }

    /// Like [`Network::fit`], but calls `progress` as it goes; [`ControlFlow::Break`] stops the fit and keeps what
    /// was learned.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use tractable::{Activation, Fit, Matrix, Network, data::Dataset};
    /// # let data = Dataset::new(Matrix::column(vec![0.0, 1.0])?, Matrix::column(vec![0.0, 1.0])?)?;
    /// # let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// let report = net.fit_with(&data, &Fit::new(), |_| ControlFlow::Break(()))?;
    /// assert!(report.interrupted);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn fit_with<'a>(
        &mut self,
        data: impl Into<Samples<'a>>,
        fit: &Fit,
        progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<FitReport> {
        self.fit_as(data.into(), fit, Learner::Alone, progress)
    }

    fn fit_as<'a>(
        &mut self,
        data: Samples<'a>,
        fit: &Fit,
        mut learner: Learner<'_>,
        mut progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<FitReport> {
        let Start { seed, rows, held_out, scalers } = self.start(&data, fit)?;
        self.adopt(&data, scalers)?;
        self.spec.calibration = None;
        learner.begin(self, &rows)?;
        let total = rows.len();
        if let UpdateRule::Paced { rows, .. } = &mut self.spec.update {
            *rows = total;
        }
        let mut order = Order::new(learner.shard(rows), fit.shuffle.then_some(seed));
        let mut resident = data.on(self)?;
        let mut report = FitReport { epochs: Vec::new(), best_epoch: None, interrupted: false };
        let mut stopping = fit.patience.map(|patience| EarlyStopping { patience, best: None });
        let mut best: Option<(usize, Snapshot)> = None;
        if let (Some(stopping), Some(held_out), true) = (&mut stopping, &held_out, fit.first_epoch > 0)
            && stopping.update(fit.first_epoch, self.nll_of(held_out)?)
        {
            best = Some((fit.first_epoch, self.snapshot()?));
        }
        'epochs: for epoch in fit.first_epoch..fit.epochs {
            let start = Instant::now();
            if let Some(noise) = fit.noise_at(epoch) {
                self.set_noise_std([noise])?;
            }
            order.prepare(epoch);
            let mut learned = LearnInfo::default();
            resident.begin(seed, epoch);
            let (mut done, every) = (0, self.rows_between_reports(fit.batch));
            let rounds = learner.rounds(total, fit.batch);
            for round in rounds.clone() {
                resident.weigh(self.weight_of(fit, epoch, round, rounds.len()));
                let rows = order.rows.chunks(fit.batch).nth(round).unwrap_or(&[]);
                learner.learn(self, &mut resident, rows)?;
                let before = done;
                done = learner.done(round, fit.batch, total);
                if done / every == before / every {
                    continue;
                }
                // Only now is the outcome of the batches known.
                learned += self.learned(done - learned.rows)?;
                if learner.agree_to_stop(progress(Progress::Rows(done, total)).is_break())? {
                    report.interrupted = true;
                    self.restate_norms(&mut resident, &order.in_order, fit.batch, (seed, epoch), &learner)?;
                    break 'epochs;
                }
            }
            // The device may still be busy: shuffle before waiting for it.
            if self.works_ahead() && epoch + 1 < fit.epochs {
                order.prepare(epoch + 1);
            }
            learned += self.learned(done - learned.rows)?;
            learner.merge(self)?;
            self.restate_norms(&mut resident, &order.in_order, fit.batch, (seed, epoch), &learner)?;
            self.spec.epochs = epoch + 1;
            let validation_nll = held_out.as_ref().map(|d| self.nll_of(d)).transpose()?;
            report.epochs.push(Epoch {
                epoch: epoch + 1,
                of: fit.epochs,
                noise_std: if self.output().is_softmax() { 0.0 } else { self.noise_std()[0] },
                learned,
                validation_nll,
                seconds: start.elapsed().as_secs_f64(),
            });
            if let (Some(stopping), Some(nll)) = (&mut stopping, validation_nll)
                && stopping.update(epoch + 1, nll)
            {
                best = Some((epoch + 1, self.snapshot()?));
            }
            let last = report.epochs.last().expect("just pushed");
            if learner.agree_to_stop(progress(Progress::Epoch(self, last)).is_break())? {
                report.interrupted = true;
                break;
            }
            if stopping.as_ref().is_some_and(|s| s.is_over(epoch + 1)) {
                break;
            }
        }
        if let Some((at, snapshot)) = best {
            self.go_back(&snapshot)?;
            self.spec.epochs = at;
            report.best_epoch = Some(at);
        }
        Ok(report)
    }

    /// The weight of a batch of an epoch, by its number.
    fn weight_of(&self, fit: &Fit, epoch: usize, round: usize, rounds: usize) -> f64 {
        match self.spec.update {
            UpdateRule::Paced { .. } => fit.pace_at(epoch as f64 + (round as f64 + 0.5) / rounds as f64),
            _ => fit.weight_at(epoch),
        }
    }

    fn rows_between_reports(&self, batch: usize) -> usize {
        if self.works_ahead() { REPORT_EVERY.max(BATCHES_AHEAD * batch) } else { REPORT_EVERY }
    }

    /// Like [`fit_with`](Network::fit_with), together with other workers that call it with the same network, data and settings: all of them end with
    /// the same network. With [`Sync::Batch`] each computes an equal part of every batch, and the result is that of one worker up to
    /// rounding; with [`Sync::Every`] each learns its own rows, and increments are [merged](Network::merge). If one callback stops,
    /// all workers stop. An error in one worker is an error in all.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use tractable::{Activation, Fit, Matrix, Network, data::Dataset, train::Sync};
    /// use tractable::workers::Threads;
    /// # let x: Vec<f64> = (0..40).map(|i| i as f64 / 20.0).collect();
    /// # let y = x.iter().map(|x| 3.0 * x).collect();
    /// # let data = Dataset::new(Matrix::column(x)?, Matrix::column(y)?)?;
    /// let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// let mut nets = [net.try_clone()?, net];
    /// std::thread::scope(|scope| {
    ///     for (net, worker) in nets.iter_mut().zip(Threads::team(2)) {
    ///         let data = &data;
    ///         scope.spawn(move || net.fit_together(data, &Fit::new(), &worker, Sync::Batch, |_| ControlFlow::Continue(())));
    ///     }
    /// });
    /// assert_eq!(nets[0].predict(data.input())?, nets[1].predict(data.input())?);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn fit_together<'a>(
        &mut self,
        data: impl Into<Samples<'a>>,
        fit: &Fit,
        workers: &dyn Transport,
        sync: Sync,
        progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<FitReport> {
        let fitted =
            Learner::new(workers, sync).and_then(|learner| self.fit_as(data.into(), fit, learner, progress));
        fitted.inspect_err(|e| {
            // An error reported by another worker has already reached all of them.
            if !matches!(e, Error::Worker { .. }) {
                workers::fail(workers, &e.to_string());
            }
        })
    }

    /// Checks whether [`Network::fit`] would accept these data and settings, without changing anything.
    ///
    /// ```
    /// # use tractable::{Activation, Fit, Matrix, Network, data::Dataset};
    /// let data = Dataset::new(Matrix::column(vec![0.0, 1.0])?, Matrix::column(vec![0.0, 1.0])?)?;
    /// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// assert!(net.check_fit(&data, &Fit::new()).is_ok());
    /// assert!(net.check_fit(&data, &Fit::new().batch(0)).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn check_fit<'a>(&self, data: impl Into<Samples<'a>>, fit: &Fit) -> Result<()> {
        self.start(&data.into(), fit).map(drop)
    }

    fn start<'a>(&self, data: &Samples<'a>, fit: &Fit) -> Result<Start<'a>> {
        fit.check()?;
        if self.output().is_softmax() && (fit.noise.is_some() || fit.settle.is_some()) {
            return Err(Error::invalid("noise", "a softmax has none"));
        }
        self.check_data(data)?;
        self.check_names(data)?;
        let seed = fit.seed.unwrap_or(self.seed());
        let (rows, held_out) = hold_out(data, fit, seed)?;
        memory::check(self.bytes_of_batch(fit.batch.min(rows.len())))?;
        let own = self.input_scaler().is_some() || self.output_scaler().is_some();
        if let (false, Samples::Table(data)) = (own, data)
            && data.wants_standardize()
        {
            data.check_spread()?;
        }
        let scalers = if own { None } else { Some(data.scalers(&rows)?) };
        Ok(Start { seed, rows, held_out, scalers })
    }

    /// Mean negative log-likelihood of a data set's targets, in their own units; of the labels for classes.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network, data::Dataset};
    /// let data = Dataset::new(Matrix::column(vec![0.0, 1.0])?, Matrix::column(vec![0.0, 1.0])?)?;
    /// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// assert!(net.nll(&data)?.is_finite());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn nll<'a>(&self, data: impl Into<Samples<'a>>) -> Result<f64> {
        self.nll_of(&data.into())
    }

    /// Calibrates class probabilities: sharpens or flattens them to maximise the likelihood of the labels of these images, which must
    /// not be training images. [`predict_classes`](Network::predict_classes) and saved files then use the calibration;
    /// further fitting discards it. For tables use `Ensemble::calibrated`.
    ///
    /// ```
    /// # use tractable::{Activation, Fit, Layer, Network, data};
    /// let digits = data::digits(300, 0)?;
    /// let mut net = Network::builder(digits.shape()).layer(Layer::linear(10)).classes(10).build()?;
    /// net.fit(&digits, &Fit::new().epochs(1))?;
    /// let held_out = data::digits(100, 1)?;
    /// let before = net.nll(&held_out)?;
    /// net.calibrate(&held_out)?;
    /// assert!(net.nll(&held_out)? <= before);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn calibrate(&mut self, held_out: &Images) -> Result<()> {
        self.check_data(&Samples::from(held_out))?;
        let before = self.spec.calibration.take();
        let p = self.classes_of(held_out).inspect_err(|_| self.spec.calibration = before)?;
        self.spec.calibration = Some(ClassCalibration::fit(p.data(), &held_out.labels()).0);
        Ok(())
    }

    fn nll_of(&self, data: &Samples<'_>) -> Result<f64> {
        self.check_data(data)?;
        let data = match data {
            Samples::Table(data) => data,
            Samples::Images(images) => {
                return metrics::class_nll(self.classes_of(images)?.data(), &images.labels());
            }
        };
        match data.target() {
            Target::Values { y, observed } => {
                let out = self.predict(data.input())?;
                let seen = |i: &usize| observed.as_ref().is_none_or(|o| o[*i]);
                let pick = |v: &[f64]| (0..v.len()).filter(seen).map(|i| v[i]).collect::<Vec<_>>();
                metrics::gaussian_nll(&pick(y.data()), &pick(out.mean()), &pick(&out.total_var()))
            }
            Target::Labels { labels, .. } => {
                metrics::class_nll(self.predict_classes(data.input())?.data(), labels)
            }
        }
    }

    /// Probability of every class for every image, `[images, classes]`.
    fn classes_of(&self, images: &Images) -> Result<Matrix> {
        self.class_probabilities(&self.predict_images(images)?)
    }

    /// Once fitted, the names of columns and classes stay: others would mean other things.
    fn check_names(&self, data: &Samples<'_>) -> Result<()> {
        let same = |what: &str, known: &[String], now: &[String]| match self.epochs() == 0
            || known.is_empty()
            || known == now
        {
            true => Ok(()),
            false => Err(Error::shape(what, known.join(", "), now.join(", "))),
        };
        same("input columns", self.input_names(), &data.input_names())?;
        same("target columns", self.output_names(), &data.output_names())?;
        data.class_names().map_or(Ok(()), |names| same("classes", self.class_names(), names))
    }

    fn check_data(&self, data: &Samples<'_>) -> Result<()> {
        let (input, width) = (self.input(), self.input().len());
        match data {
            // A network without convolutions takes images of any form.
            Samples::Images(i) if i.shape() != input && !(input.is_flat() && i.shape().len() == width) => {
                return Err(Error::shape("images", format!("images of {input}"), i.shape()));
            }
            _ if data.width() != width => {
                return Err(Error::shape("data", format!("{width} input columns"), data.width()));
            }
            _ => {}
        }
        match (data.class_names(), self.output()) {
            (None, Output::Values { width, .. }) if data.outputs() == width => Ok(()),
            (None, Output::Values { width, .. }) => {
                Err(Error::shape("data", format!("{width} targets"), data.outputs()))
            }
            (Some(names), Output::Classes { classes, .. }) if names.len() <= classes => Ok(()),
            (Some(names), Output::Classes { classes, .. }) => {
                Err(Error::shape("data", format!("{classes} classes"), names.len()))
            }
            (None, Output::Classes { .. }) => {
                Err(Error::invalid("data", "the network has classes but the target is a number"))
            }
            (Some(_), Output::Values { .. }) => {
                Err(Error::invalid("data", "the target is a label but the network puts out numbers"))
            }
        }
    }

    /// Takes scalers and names over from the data a fit starts with.
    #[doc(hidden)]
    pub fn adopt(
        &mut self,
        data: &Samples<'_>,
        scalers: Option<(Option<Scaler>, Option<Scaler>)>,
    ) -> Result<()> {
        self.spec.input_names = data.input_names().into_owned();
        self.spec.output_names = data.output_names().into_owned();
        #[cfg(feature = "csv")]
        if let Samples::Table(data) = data {
            self.spec.preparation = data.preparation().map(|p| Box::new(p.clone()));
        }
        if let Some(names) = data.class_names() {
            self.spec.class_names = names.to_vec();
        }
        scalers.map_or(Ok(()), |(input, output)| self.set_scalers(input, output))
    }
}

/// Rows to learn from, and the share kept aside.
fn hold_out<'a>(data: &Samples<'a>, fit: &Fit, seed: u64) -> Result<(Vec<usize>, Option<Samples<'a>>)> {
    let mut rows: Vec<usize> = (0..data.rows()).collect();
    if fit.validation == 0.0 {
        return Ok((rows, None));
    }
    rng::shuffle(&mut rows, &mut rng::stream(seed, "validation", 0));
    let aside = ((data.rows() as f64 * fit.validation).round() as usize).max(1);
    if aside >= data.rows() {
        return Err(Error::invalid(
            "validation",
            format!("{} rows are too few to keep some aside", data.rows()),
        ));
    }
    let held_out = data.select(&rows[..aside])?;
    let mut rows = rows.split_off(aside);
    rows.sort_unstable();
    Ok((rows, Some(held_out)))
}
