//! Fitting an [`Ensemble`]: networks in parallel, predictions for left-out rows, calibration.

// `Ensemble::fit` splits the rows into five folds (`ensemble/folds.rs`) and trains ten networks in
// parallel, two kinds for every fold, each without its fold (`fit.rs`). The first kind is trained for
// two lengths; left-out rows decide which to keep and how long to train the second kind. Predictions
// for left-out rows stand for predictions for new rows. From them `output/calibration.rs` chooses, by
// likelihood: the weight of each kind, a factor on the noise, how much of it depends on the input, a
// factor on the model uncertainty, and how heavy the tails are (Student's t). The variance of a
// prediction then has two parts: one that more data would reduce (disagreement between networks, and
// weight uncertainty), and noise.

use super::decide::Judged;
use super::folds::{FOLDS, folds, rows_of};
use super::{Ensemble, Kept, Member, Settings, Spec, outside};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Matrix;
use tractable_core::metrics;
use tractable_core::moments::Activation;
use tractable_core::rng;
use tractable_core::workers::Transport;
use tractable_data::{Dataset, Scaler, Target};
use tractable_devices::{Device, UpdateRule};
use tractable_network::layer::Prior;
use tractable_network::network::Network;
use tractable_network::output::{Noise, Output};
use tractable_network::train::{Fit, Progress};

/// A kind of network: a smooth one and a flexible one. Left-out rows determine the weight of each.
pub(super) struct Kind {
    hidden: [usize; 2],
    gain: f64,
}

pub(super) const KINDS: [Kind; 2] =
    [Kind { hidden: [50, 50], gain: 0.5 }, Kind { hidden: [100, 100], gain: 2.0 }];
/// Rows per parameter that are added where rows are counted.
const MARGIN: usize = 3;
/// Rows learned from together: as good as one at a time, and several times faster.
pub(super) const BATCH: usize = 8;
/// Share of the epochs after which rows count less and less.
pub(super) const ANNEAL: f64 = 0.5;
/// Noise of the nodes of a class tree.
const CLASS_NOISE: f64 = 1.0;

/// Progress of a fit.
///
/// ```
/// let stage = tractable::ensemble::Stage { what: "learning", done: 3, of: 10 };
/// assert_eq!(format!("{}: {} of {}", stage.what, stage.done, stage.of), "learning: 3 of 10");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// Current activity.
    pub what: &'static str,
    /// Steps done,
    pub done: u64,
    /// of this many.
    pub of: u64,
}

/// Scores of a model on the rows it left out, on which it was also calibrated.
///
/// ```
/// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
/// # let x: Vec<f64> = (0..20).map(f64::from).collect();
/// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
/// # let settings = Settings::default().visits(500);
/// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
/// let score = &model.scores()[0];
/// println!("{} of {} rows inside 90 %", score.coverage_90.unwrap(), score.rows);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct LeftOut {
    /// Number of left-out rows.
    pub rows: usize,
    /// Mean negative log-likelihood, in the units of the target.
    pub nll: f64,
    /// Root mean squared error, for numbers.
    pub rmse: Option<f64>,
    /// Share inside the 90 % interval, for numbers.
    pub coverage_90: Option<f64>,
    /// Error rate, for classes.
    pub error_rate: Option<f64>,
}

/// A network to be trained.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) kind: usize,
    /// The fold it leaves out.
    pub(super) fold: usize,
    /// How long it learns, in times of the visits that are set.
    pub(super) length: usize,
}

/// Lengths that are tried: left-out rows say which of them the first kind needs, and the other kind takes the same.
const LENGTHS: [usize; 2] = [1, 3];

/// The rows, cut into folds, with what all networks share.
pub(super) struct Data<'a> {
    pub(super) all: &'a Dataset,
    pub(super) folds: Vec<usize>,
    input: Scaler,
    pub(super) output: Option<Scaler>,
    pub(super) settings: &'a Settings,
}

impl Ensemble {
    /// Fits a model to a data set with default settings.
    ///
    /// # Errors
    /// When there are fewer than five rows, or numbers that cannot be standardised.
    ///
    /// ```
    /// use tractable::{Ensemble, Matrix, data::Dataset};
    /// let two_rows = Dataset::new(Matrix::column(vec![0.0, 1.0])?, Matrix::column(vec![0.0, 1.0])?)?;
    /// assert!(Ensemble::fit(&two_rows).unwrap_err().to_string().contains("at least 5"));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn fit(data: &Dataset) -> Result<Self> {
        let fitted = Self::fit_with(data, &Settings::default(), |_| ControlFlow::Continue(()))?;
        Ok(fitted.expect("nobody interrupts it"))
    }

    /// Makes a model from your own network, calibrated on rows that it was not trained on; `learned` are some training rows, for
    /// the uncertainty away from them.
    ///
    /// ```
    /// # use tractable::{Activation, Ensemble, Fit, Matrix, Network, data::Dataset};
    /// # let x: Vec<f64> = (0..40).map(f64::from).collect();
    /// let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?.standardize();
    /// let (learned, held_out) = data.split(0.8, 0)?;
    /// let mut net = Network::mlp([1, 16, 1], Activation::Tanh).build()?;
    /// net.fit(&learned, &Fit::new().epochs(5))?;
    /// let model = Ensemble::calibrated(net, &learned, &held_out)?;
    /// assert_eq!(model.scores()[0].rows, 8);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn calibrated(net: Network, learned: &Dataset, held_out: &Dataset) -> Result<Self> {
        let settings = Settings::default().single(true);
        // All rows that are left out are one fold.
        let data = Data {
            all: held_out,
            folds: vec![0; held_out.rows()],
            input: net.input_scaler().cloned().unwrap_or_else(|| Scaler::identity(net.input().len())),
            output: match net.output() {
                Output::Values { width, .. } => {
                    Some(net.output_scaler().cloned().unwrap_or_else(|| Scaler::identity(width)))
                }
                Output::Classes { .. } => None,
            },
            settings: &settings,
        };
        if held_out.rows() == 0 {
            return Err(Error::invalid("rows to calibrate on", "there are none"));
        }
        net.check_fit(held_out, &Fit::new())?;
        net.check_fit(learned, &Fit::new())?;
        let kept = data.keep(learned, &net, net.seed());
        let members = vec![Member::new(net, 0, 0, kept)?];
        let left_out = |by_rows| Ok(Some(vec![data.left_out(&members[0], by_rows)?]));
        let (weights, calibration, by_rows) = data.decide(&members, left_out)?.expect("nobody interrupts it");
        let rows = learned.rows() + held_out.rows();
        let spec = Spec { rows, seed: 0, weights, calibration, left_out: Vec::new(), own: true, by_rows };
        let mut model = Ensemble { members, spec };
        model.spec.left_out = data.judge(&model)?;
        Ok(model)
    }

    /// Like [`Ensemble::fit`], but calls `progress` as it goes. [`ControlFlow::Break`] stops it without a model.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// let settings = Settings::default().single(true).visits(1000);
    /// let model = Ensemble::fit_with(&data, &settings, |stage| {
    ///     eprintln!("{}: {} of {}", stage.what, stage.done, stage.of);
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(model.unwrap().networks().count(), 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn fit_with(
        data: &Dataset,
        settings: &Settings,
        progress: impl FnMut(Stage) -> ControlFlow<()>,
    ) -> Result<Option<Self>> {
        Self::fit_as(data, settings, None, progress)
    }

    /// Together with other workers, or alone.
    pub(super) fn fit_as(
        data: &Dataset,
        settings: &Settings,
        workers: Option<&dyn Transport>,
        mut progress: impl FnMut(Stage) -> ControlFlow<()>,
    ) -> Result<Option<Self>> {
        let data = &Data::new(data, settings)?;
        let device = settings.device();
        let team = device.team();
        let longest = LENGTHS[LENGTHS.len() - 1];
        let folds = |kind, length| (0..FOLDS).map(move |fold| Job { kind, fold, length });
        // Long jobs first, so that no core is left with one at the end.
        let first: Vec<Job> = match settings.single {
            true => vec![Job { kind: 0, fold: 0, length: longest }],
            false => LENGTHS.iter().rev().flat_map(|&length| folds(0, length)).collect(),
        };
        let second =
            |length| -> Vec<Job> { if settings.single { Vec::new() } else { folds(1, length).collect() } };
        let cost = |jobs: &[Job]| jobs.iter().map(|job| data.cost(*job)).sum::<u64>();
        let (stop, visits) = (AtomicBool::new(false), AtomicU64::new(0));
        let mut watch = |what: &'static str, of: u64| {
            let done = visits.load(Ordering::Relaxed).min(of);
            if progress(Stage { what, done, of }).is_break() {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let mut train = |jobs: &[Job], what: &'static str, of: u64| {
            let (rank, ranks) = workers.map_or((0, 1), |w| (w.rank(), w.ranks()));
            let mine: Vec<Job> = jobs.iter().skip(rank).step_by(ranks).copied().collect();
            let work = |i: usize, look: &mut dyn FnMut()| data.train(mine[i], &visits, &stop, look);
            let own = team.watched(mine.len(), work, || watch(what, of)).into_iter();
            let own = own.collect::<Result<Option<Vec<Member>>>>();
            match workers {
                None => own,
                #[cfg(feature = "files")]
                Some(workers) => data.gather(workers, jobs, own?),
                #[cfg(not(feature = "files"))]
                Some(_) => own,
            }
        };
        let of = cost(&first) + cost(&second(longest));
        let Some(tried) = train(&first, "learning, and for how long", of)? else { return Ok(None) };
        let (length, mut members) = data.best_length(&first, tried)?;
        let second = second(length);
        let of = cost(&first) + cost(&second);
        let Some(wide) = train(&second, "learning", of)? else { return Ok(None) };
        members.extend(wide);
        let left_out = |by_rows: bool| {
            let go_on = |i: usize, _: &mut dyn FnMut()| match stop.load(Ordering::Relaxed) {
                true => Ok(None),
                false => data.left_out(&members[i], by_rows).map(Some),
            };
            let said = team.watched(members.len(), go_on, || watch("calibrating", of));
            let said = said.into_iter().collect::<Result<Option<Vec<_>>>>()?;
            Ok(said.filter(|_| !stop.load(Ordering::Relaxed)))
        };
        let Some((weights, calibration, by_rows)) = data.decide(&members, left_out)? else { return Ok(None) };
        let keep = |member: &Member| weights[member.kind] > 0.0;
        let rows = data.all.rows();
        members.retain(keep);
        // One copy of how a table is read is enough.
        #[cfg(feature = "csv")]
        members.iter_mut().skip(1).for_each(|m| m.net.forget_preparation());
        let spec = Spec {
            rows,
            seed: settings.seed,
            weights,
            calibration,
            left_out: Vec::new(),
            own: false,
            by_rows,
        };
        let mut model = Ensemble { members, spec };
        model.spec.left_out = data.judge(&model)?;
        Ok(Some(model))
    }
}

impl<'a> Data<'a> {
    fn new(all: &'a Dataset, settings: &'a Settings) -> Result<Self> {
        settings.check()?;
        if all.rows() < FOLDS {
            let why = format!("{} are too few to leave some out; at least {FOLDS} are needed", all.rows());
            return Err(Error::invalid("rows", why));
        }
        all.check_spread()?;
        let input = all.input_scaler();
        input.check()?;
        let output = match all.target() {
            Target::Values { y, observed } => {
                let scaler = Scaler::fit_observed(y, observed.as_deref())?;
                scaler.check()?;
                check_observed(y, observed.as_deref(), all.output_names())?;
                Some(scaler)
            }
            Target::Labels { .. } => None,
        };
        let folds = folds(all.target(), all.rows(), settings.seed);
        Ok(Data { all, folds, input, output, settings })
    }

    pub(super) fn classes(&self) -> Option<usize> {
        match self.all.target() {
            Target::Labels { names, .. } => Some(names.len()),
            Target::Values { .. } => None,
        }
    }

    fn outputs(&self) -> usize {
        self.classes().unwrap_or(self.all.output_names().len())
    }

    /// How much work a network is: weights times visits.
    fn cost(&self, Job { kind, fold, length }: Job) -> u64 {
        let rows = self.folds.iter().filter(|f| **f != fold).count();
        let [a, b] = KINDS[kind].hidden;
        let weights = (self.all.width() * a + a * b + b * self.outputs()) as u64;
        (self.settings.epochs(rows, length) * rows) as u64 * weights
    }

    /// Of a network.
    pub(super) fn seed(&self, kind: usize, fold: usize) -> u64 {
        self.settings.seed.wrapping_mul(1000).wrapping_add((kind * FOLDS + fold) as u64)
    }

    /// `None` when it was stopped; calls `look` as it goes.
    fn train(
        &self,
        job: Job,
        visits: &AtomicU64,
        stop: &AtomicBool,
        look: &mut dyn FnMut(),
    ) -> Result<Option<Member>> {
        let Job { kind, fold, length } = job;
        let rows = rows_of(&self.folds, fold, false);
        let data = self.all.select(&rows)?;
        let seed = self.seed(kind, fold);
        let mut net = network(&KINDS[kind], self.all, rows.len(), seed, self.settings.device())?;
        net.set_scalers(Some(self.input.clone()), self.output.clone())?;
        let epochs = self.settings.epochs(rows.len(), length);
        let each = self.cost(job) / (epochs * rows.len()) as u64;
        let fit = Fit::new().epochs(epochs).batch(BATCH).anneal(ANNEAL).seed(seed);
        let mut told = 0;
        let report = net.fit_with(&data, &fit, |p| {
            let now = match p {
                Progress::Rows(done, _) => done,
                Progress::Epoch(..) => rows.len(),
            };
            visits.fetch_add((now - told) as u64 * each, Ordering::Relaxed);
            told = if matches!(p, Progress::Epoch(..)) { 0 } else { now };
            look();
            if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if report.interrupted {
            return Ok(None);
        }
        let kept = if self.settings.outside { self.keep(&data, &net, seed) } else { Vec::new() };
        Member::new(net, kind, fold, kept).map(Some)
    }

    /// Rows that stand for all of a network's, one set an output; none of classes.
    pub(super) fn keep(&self, data: &Dataset, net: &Network, seed: u64) -> Vec<Kept> {
        let (Target::Values { y, observed }, Some(output)) = (data.target(), &self.output) else {
            return Vec::new();
        };
        if !net.is_dense() {
            return Vec::new();
        }
        let (x, scaled) = (self.input.apply(data.x().data()), output.apply(y.data()));
        let (inputs, width) = (data.width(), y.width());
        let mut order: Vec<usize> = (0..data.rows()).collect();
        rng::shuffle(&mut order, &mut rng::stream(seed, "outside", 0));
        (0..width)
            .map(|output| {
                let seen = |row: &usize| observed.as_ref().is_none_or(|o| o[row * width + output]);
                let seen: Vec<usize> = order.iter().copied().filter(seen).collect();
                let few = &seen[..seen.len().min(outside::ROWS)];
                Kept {
                    x: few.iter().flat_map(|r| &x[r * inputs..(r + 1) * inputs]).copied().collect(),
                    y: few.iter().map(|r| scaled[r * width + output]).collect(),
                    of_rows: seen.len(),
                }
            })
            .collect()
    }

    /// What a network says of the rows it left out.
    pub(super) fn left_out(&self, member: &Member, by_rows: bool) -> Result<Judged> {
        let rows = self.all.select(&rows_of(&self.folds, member.fold, true))?;
        Ok(match self.classes() {
            Some(_) => Judged::Classes(member.net.predict_classes(rows.input())?),
            None => Judged::Values(member.say(rows.input(), by_rows)?),
        })
    }

    /// Scores on left-out rows.
    fn judge(&self, model: &Ensemble) -> Result<Vec<LeftOut>> {
        let rows: Vec<usize> = match self.settings.single {
            true => rows_of(&self.folds, 0, true),
            false => (0..self.all.rows()).collect(),
        };
        let part = self.all.select(&rows)?;
        match part.target() {
            Target::Labels { labels, .. } => {
                let p = match self.settings.single {
                    true => model.predict_classes(part.input())?,
                    false => model.left_out_classes(self.all)?,
                };
                Ok(vec![LeftOut {
                    rows: labels.len(),
                    nll: metrics::class_nll(p.data(), labels)?,
                    rmse: None,
                    coverage_90: None,
                    error_rate: Some(metrics::error_rate(p.data(), labels)?),
                }])
            }
            Target::Values { y, observed } => {
                let out = match self.settings.single {
                    true => model.predict(part.input())?,
                    false => model.left_out(self.all)?,
                };
                let (density, (lower, upper)) = (out.log_density(y)?, out.interval(0.9)?);
                let (width, y) = (y.width(), y.data());
                let score = |column: usize| {
                    let seen = |i: &usize| observed.as_ref().is_none_or(|o| o[*i]);
                    let at: Vec<usize> = (column..y.len()).step_by(width).filter(seen).collect();
                    // A target may be missing in all rows that were left out: then nothing is known.
                    let (rows, known) = (at.len(), !at.is_empty());
                    let mean =
                        |f: &dyn Fn(usize) -> f64| at.iter().map(|&i| f(i)).sum::<f64>() / rows.max(1) as f64;
                    let inside = |i: usize| f64::from(u8::from(lower[i] <= y[i] && y[i] <= upper[i]));
                    LeftOut {
                        rows,
                        nll: -mean(&|i| density[i]),
                        rmse: known.then(|| mean(&|i| (y[i] - out.mean()[i]).powi(2)).sqrt()),
                        coverage_90: known.then(|| mean(&inside)),
                        error_rate: None,
                    }
                };
                Ok((0..width).map(score).collect())
            }
        }
    }
}

/// Every target is seen in several rows.
/// A network for data like these that counts so many rows.
pub(super) fn network(
    kind: &Kind,
    data: &Dataset,
    rows: usize,
    seed: u64,
    device: Device,
) -> Result<Network> {
    let (outputs, classes) = match data.target() {
        Target::Labels { names, .. } => (names.len(), Some(names.len())),
        Target::Values { y, .. } => (y.width(), None),
    };
    let widths = [data.width(), kind.hidden[0], kind.hidden[1], outputs];
    let builder = Network::mlp(widths, Activation::MixtureRelu)
        .prior(Prior::he().gain(kind.gain))
        .seed(seed)
        .device(device);
    let builder = match classes {
        Some(classes) => builder.classes(classes).noise_std([CLASS_NOISE]),
        None => builder.noise(Noise::PerInput),
    };
    let mut net = builder.build()?;
    net.set_update_rule(UpdateRule::Counted { rows, margin: MARGIN * net.parameters() })?;
    Ok(net)
}

fn check_observed(y: &Matrix, observed: Option<&[bool]>, names: &[String]) -> Result<()> {
    let Some(observed) = observed else { return Ok(()) };
    for (column, name) in names.iter().enumerate() {
        let seen = observed.iter().skip(column).step_by(y.width()).filter(|o| **o).count();
        if seen < FOLDS {
            let why = format!("it is known in {seen} rows; at least {FOLDS} are needed");
            return Err(Error::invalid(format!("target `{name}`"), why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wave observed with noise.
    fn wave(rows: usize, noise: f64, seed: u64) -> Dataset {
        let mut random = rng::stream(seed, "wave", 0);
        let x: Vec<f64> = (0..2 * rows).map(|_| rng::uniform(-2.0, 2.0, &mut random)).collect();
        let y =
            x.chunks_exact(2).map(|x| (2.0 * x[0]).sin() + x[1] + noise * rng::standard_normal(&mut random));
        let y = Matrix::column(y.collect()).unwrap();
        Dataset::new(Matrix::new(x, 2).unwrap(), y).unwrap()
    }

    #[test]
    fn left_out_rows_decide_whether_units_are_independent() {
        for (rows, seed, better) in [(40, 0, true), (100, 2, false)] {
            let all = wave(rows, 0.02, seed);
            let settings = Settings::default().single(true).visits(3000).outside(false).seed(seed);
            let model = Ensemble::fit_with(&all, &settings, |_| ControlFlow::Continue(())).unwrap().unwrap();
            let data = Data::new(&all, &settings).unwrap();
            let likelihood = |by_rows| {
                let said = data.left_out(&model.members[0], by_rows).unwrap();
                data.calibrate(&model.members, &[said]).2
            };
            assert_eq!([likelihood(true) > likelihood(false), model.spec.by_rows], [better; 2]);
        }
    }

    #[test]
    fn predictions_follow_the_decision_and_files_keep_it() {
        let all = wave(40, 0.1, 7);
        let settings = Settings::default().single(true).visits(1000).outside(false);
        let mut model = Ensemble::fit_with(&all, &settings, |_| ControlFlow::Continue(())).unwrap().unwrap();
        let vars = [false, true].map(|by_rows| {
            model.spec.by_rows = by_rows;
            let out = model.predict(all.x()).unwrap();
            #[cfg(feature = "files")]
            {
                let bytes = model.to_bytes().unwrap();
                // An older file does not have this field.
                assert_eq!(bytes.windows(7).any(|w| w == b"by_rows"), by_rows);
                assert_eq!(Ensemble::from_bytes(&bytes).unwrap().predict(all.x()).unwrap(), out);
            }
            out.var().to_vec()
        });
        assert_ne!(vars[0], vars[1]);
    }
}
