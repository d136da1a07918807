//! Fitting an [`Ensemble`]: networks in parallel, then what left-out rows say of them.

// `Ensemble::fit` splits the rows into five folds (`folds.rs`) and trains one network of each kind (`kind.rs`) for every fold,
// without its fold. Predictions for left-out rows stand for predictions for new rows. From them `output/calibration.rs` chooses, for
// each candidate and by likelihood, a factor on the noise, how much of it depends on the input, a factor on the model uncertainty, and
// how heavy the tails are (Student's t). Then `weigh.rs` chooses the weights of the candidates, and corrects all widths by one factor,
// judged by rows that did not choose the weights. The variance of a prediction has two parts: one that more data would reduce
// (disagreement between networks and candidates, and weight uncertainty), and noise.

use super::candidate::Candidate;
use super::folds::{FOLDS, folds, rows_of};
use super::kind::{CAUTIOUS, CLOSE, Kind, LINE, LOGARITHM, WIDE};
use super::line::Line;
use super::member::{Kept, Member};
use super::{Ensemble, Rarer, Settings, Spec, outside, weights};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Matrix;
use tractable_core::metrics;
use tractable_core::rng;
use tractable_core::workers::Transport;
use tractable_data::{Dataset, Scaler, Target};
use tractable_network::network::Network;
use tractable_network::output::Output;
use tractable_network::train::{Fit, Progress, Samples};

/// Share of the epochs after which rows count less and less.
const ANNEAL: f64 = 0.5;
/// How far a mean may lie beyond the targets, in times of their range.
const BEYOND: f64 = 0.1;

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
    /// Of two classes, how well the rarer one is told apart, and the threshold that is chosen for it.
    #[cfg_attr(feature = "files", serde(default))]
    pub rarer: Option<Rarer>,
}

/// A network to be trained.
#[derive(Clone, Copy)]
pub(super) struct Job {
    /// Its kind, by its place.
    pub(super) kind: usize,
    /// The fold it leaves out.
    pub(super) fold: usize,
}

/// The rows, cut into folds, with what all networks share.
pub(super) struct Data<'a> {
    pub(super) all: &'a Dataset,
    pub(super) folds: Vec<usize>,
    input: Scaler,
    output: Option<Scaler>,
    /// The targets' logarithms, if all are positive.
    logarithms: Option<(Dataset, Scaler)>,
    pub(super) kinds: Vec<&'static Kind>,
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
            logarithms: None,
            kinds: Vec::new(),
            settings: &settings,
        };
        if held_out.rows() == 0 {
            return Err(Error::invalid("rows to calibrate on", "there are none"));
        }
        net.check_fit(held_out, &Fit::new())?;
        net.check_fit(learned, &Fit::new())?;
        let kept = data.keep(learned, data.output.as_ref(), &net, net.seed());
        let candidate = Candidate::new("network", false, vec![Member::new(net, 0, 1.0, kept)]);
        let candidates = data.decide(vec![candidate], &[], || true)?.expect("nobody interrupts it");
        let rows = learned.rows() + held_out.rows();
        let (range, left_out, class_weights) = (Vec::new(), Vec::new(), Vec::new());
        let spec = Spec { rows, seed: 0, range, left_out, own: true, class_weights };
        let mut model = Ensemble { candidates, spec };
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
    /// assert_eq!(model.unwrap().networks().count(), 1); // the most likely one
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
        let folds = if settings.single { 1 } else { FOLDS };
        let mut jobs: Vec<Job> =
            (0..data.kinds.len()).flat_map(|kind| (0..folds).map(move |fold| Job { kind, fold })).collect();
        // Long jobs first, so that no core is left with one at the end.
        jobs.sort_by_key(|job| std::cmp::Reverse(data.cost(*job)));
        let of: u64 = jobs.iter().map(|job| data.cost(*job)).sum();
        let (stop, visits) = (AtomicBool::new(false), AtomicU64::new(0));
        let mut watch = |what: &'static str| {
            let done = visits.load(Ordering::Relaxed).min(of);
            if progress(Stage { what, done, of }).is_break() {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let (rank, ranks) = workers.map_or((0, 1), |w| (w.rank(), w.ranks()));
        let mine: Vec<Job> = jobs.iter().skip(rank).step_by(ranks).copied().collect();
        let work = |i: usize, look: &mut dyn FnMut()| data.train(mine[i], &visits, &stop, look);
        let own = device.team().watched(mine.len(), work, || watch("learning"));
        let own = own.into_iter().collect::<Result<Option<Vec<Member>>>>();
        let trained = match workers {
            None => own?,
            #[cfg(feature = "files")]
            Some(workers) => data.gather(workers, &jobs, own?)?,
            #[cfg(not(feature = "files"))]
            Some(_) => own?,
        };
        let Some(trained) = trained else { return Ok(None) };
        let mut members: Vec<Vec<Member>> = data.kinds.iter().map(|_| Vec::new()).collect();
        jobs.iter().zip(trained).for_each(|(job, member)| members[job.kind].push(member));
        let of_kind = |(kind, mut own): (&&Kind, Vec<Member>)| {
            own.sort_by_key(|m| m.fold);
            Candidate::new(kind.name, kind.log, own)
        };
        let candidates: Vec<Candidate> = data.kinds.iter().zip(members).map(of_kind).collect();
        let range = data.range();
        let go_on = || {
            watch("calibrating");
            !stop.load(Ordering::Relaxed)
        };
        let Some(candidates) = data.decide(candidates, &range, go_on)? else { return Ok(None) };
        let (rows, seed) = (data.all.rows(), settings.seed);
        let class_weights = settings.class_weights.clone();
        let spec = Spec { rows, seed, range, left_out: Vec::new(), own: false, class_weights };
        let mut model = Ensemble { candidates, spec };
        model.spec.left_out = data.judge(&model)?;
        // One copy of how a table is read is enough.
        #[cfg(feature = "csv")]
        model
            .candidates
            .iter_mut()
            .flat_map(|c| &mut c.members)
            .skip(1)
            .for_each(|m| m.net.forget_preparation());
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
        let counting = all.weights().map_or(all.rows(), |w| w.iter().filter(|w| **w > 0.0).count());
        if counting < FOLDS {
            let why = format!("{counting} rows have more than none; at least {FOLDS} are needed");
            return Err(Error::invalid("weights", why));
        }
        let classes = if let Target::Labels { names, .. } = all.target() { names.len() } else { 0 };
        weights::check_classes(&settings.class_weights, classes)?;
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
        let logarithms = logarithms(all)?;
        let mut kinds = vec![&LINE, &CLOSE, &CAUTIOUS, &WIDE];
        kinds.extend(logarithms.is_some().then_some(&LOGARITHM));
        Ok(Data { all, folds, input, output, logarithms, kinds, settings })
    }

    /// How much work a network is: weights times visits.
    fn cost(&self, Job { kind, fold }: Job) -> u64 {
        let rows = self.folds.iter().filter(|f| **f != fold).count();
        (self.settings.epochs(rows) * rows) as u64 * self.kinds[kind].weights(self.all)
    }

    /// Of a network.
    pub(super) fn seed(&self, Job { kind, fold }: Job) -> u64 {
        self.settings.seed.wrapping_mul(1000).wrapping_add((kind * FOLDS + fold) as u64)
    }

    /// What a kind learns: the rows as they are or with the targets' logarithms.
    fn of_kind(&self, kind: usize) -> (&Dataset, Option<&Scaler>) {
        match &self.logarithms {
            Some((data, scaler)) if self.kinds[kind].log => (data, Some(scaler)),
            _ => (self.all, self.output.as_ref()),
        }
    }

    /// Of a fold's networks, without those that weigh nothing.
    fn rows_to_learn(&self, fold: usize) -> Vec<usize> {
        let mut rows = rows_of(&self.folds, fold, false);
        rows.retain(|row| self.all.weights().is_none_or(|w| w[*row] > 0.0));
        rows
    }

    /// `None` when it was stopped; calls `look` as it goes.
    fn train(
        &self,
        job: Job,
        visits: &AtomicU64,
        stop: &AtomicBool,
        look: &mut dyn FnMut(),
    ) -> Result<Option<Member>> {
        let (kind, seed) = (self.kinds[job.kind], self.seed(job));
        let (all, output) = self.of_kind(job.kind);
        let data = all.select(&self.rows_to_learn(job.fold))?;
        let rows = data.rows();
        let mut net = kind.network(all, rows, seed, self.settings.device())?;
        net.set_scalers(Some(self.input.clone()), output.cloned())?;
        if kind.is_line(all) {
            visits.fetch_add(self.cost(job), Ordering::Relaxed);
            return self.lines(job, net, &data).map(Some);
        }
        let (data, times) = weights::in_proportion(data, seed)?;
        let rows = data.rows();
        let epochs = self.settings.epochs(rows);
        let each = self.cost(job) / (epochs * rows) as u64;
        let fit = Fit::new().epochs(epochs).batch(kind.batch).anneal(ANNEAL).seed(seed);
        let mut told = 0;
        let report = net.fit_with(&data, &fit, |p| {
            let now = match p {
                Progress::Rows(done, _) => done,
                Progress::Epoch(..) => rows,
            };
            visits.fetch_add((now - told) as u64 * each, Ordering::Relaxed);
            told = if matches!(p, Progress::Epoch(..)) { 0 } else { now };
            look();
            look();
            if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok((!report.interrupted).then(|| self.member(job, net, &data, times)))
    }

    /// A line through each output, by these rows.
    fn lines(&self, job: Job, mut net: Network, data: &Dataset) -> Result<Member> {
        let Target::Values { y, observed } = data.target() else { unreachable!("the target is numbers") };
        let (inputs, width) = (data.width(), y.width());
        let output = self.of_kind(job.kind).1.expect("numbers are scaled");
        let (x, y) = (self.input.apply(data.x().data()), output.apply(y.data()));
        let line = |output: usize| {
            let seen = |row: &usize| observed.as_ref().is_none_or(|o| o[row * width + output]);
            let rows: Vec<usize> = (0..data.rows()).filter(seen).collect();
            let x: Vec<f64> = rows.iter().flat_map(|r| &x[r * inputs..(r + 1) * inputs]).copied().collect();
            let y: Vec<f64> = rows.iter().map(|r| y[r * width + output]).collect();
            let weights = data.weights().map(|w| rows.iter().map(|r| w[*r]).collect::<Vec<_>>());
            Line::fit(&x, &y, weights.as_deref(), inputs)
        };
        net.adopt(&Samples::from(data), Some((Some(self.input.clone()), Some(output.clone()))))?;
        net.set_epochs(1);
        Member::of_lines(net, job.fold, 1.0, (0..width).map(line).collect())
    }

    /// A network that has learned these rows, each of which it saw so many times.
    fn member(&self, job: Job, net: Network, data: &Dataset, times: usize) -> Member {
        let output = self.of_kind(job.kind).1;
        let kept = match self.settings.outside {
            true => self.keep(data, output, &net, self.seed(job)),
            false => Vec::new(),
        };
        let each = |kept: Kept| Kept { of_rows: kept.of_rows.div_ceil(times), ..kept };
        Member::new(net, job.fold, 1.0, kept.into_iter().map(each).collect())
    }

    /// A network that another worker has trained.
    #[cfg(feature = "files")]
    pub(super) fn of_other(&self, job: Job, net: Network) -> Result<Member> {
        let data = self.of_kind(job.kind).0.select(&self.rows_to_learn(job.fold))?;
        match self.kinds[job.kind].is_line(&data) {
            true => self.lines(job, net, &data),
            false => {
                let (data, times) = weights::in_proportion(data, self.seed(job))?;
                Ok(self.member(job, net, &data, times))
            }
        }
    }

    /// Rows that stand for all of a network's, one set an output; none of classes.
    fn keep(&self, data: &Dataset, output: Option<&Scaler>, net: &Network, seed: u64) -> Vec<Kept> {
        let (Target::Values { y, observed }, Some(output)) = (data.target(), output) else {
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

    /// The smallest and the largest target of each output, and a little beyond.
    fn range(&self) -> Vec<[f64; 2]> {
        let Target::Values { y, observed } = self.all.target() else { return Vec::new() };
        let of_output = |output: usize| {
            let seen = |i: &usize| observed.as_ref().is_none_or(|o| o[*i]);
            let each = (output..y.data().len()).step_by(y.width()).filter(seen).map(|i| y.data()[i]);
            let [low, high] =
                each.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], y| [low.min(y), high.max(y)]);
            let more = BEYOND * (high - low);
            [low - more, high + more]
        };
        (0..y.width()).map(of_output).collect()
    }

    /// Scores on left-out rows.
    fn judge(&self, model: &Ensemble) -> Result<Vec<LeftOut>> {
        let rows: Vec<usize> = match self.settings.single {
            true => rows_of(&self.folds, 0, true),
            false => (0..self.all.rows()).collect(),
        };
        let part = self.all.select(&rows)?;
        match part.target() {
            Target::Labels { labels, names } => {
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
                    rarer: Rarer::of(p.data(), labels, names, None)?,
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
                        rarer: None,
                    }
                };
                Ok((0..width).map(score).collect())
            }
        }
    }
}

/// The rows with the logarithms of their targets, if all targets are positive.
fn logarithms(all: &Dataset) -> Result<Option<(Dataset, Scaler)>> {
    let Target::Values { y, observed } = all.target() else { return Ok(None) };
    let seen = |i: usize| observed.as_ref().is_none_or(|o| o[i]);
    if !(0..y.data().len()).all(|i| y.data()[i] > 0.0 || !seen(i)) {
        return Ok(None);
    }
    let ln = (0..y.data().len()).map(|i| if seen(i) { libm::log(y.data()[i]) } else { 0.0 });
    let ln = Matrix::new(ln.collect(), y.width())?;
    let scaler = Scaler::fit_observed(&ln, observed.as_deref())?;
    let target = Target::Values { y: ln, observed: observed.clone() };
    Ok(Some((all.clone().with_target(target)?, scaler)))
}

/// Every target is seen in several rows.
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
    fn predictions_follow_the_decision_and_files_keep_it() {
        let all = wave(40, 0.1, 7);
        let settings = Settings::default().single(true).visits(1000).outside(false);
        let mut model = Ensemble::fit_with(&all, &settings, |_| ControlFlow::Continue(())).unwrap().unwrap();
        let vars = [false, true].map(|by_rows| {
            model.candidates[0].by_rows = by_rows;
            let out = model.predict(all.x()).unwrap();
            #[cfg(feature = "files")]
            {
                let bytes = model.to_bytes().unwrap();
                assert_eq!(Ensemble::from_bytes(&bytes).unwrap().predict(all.x()).unwrap(), out);
            }
            out.var().to_vec()
        });
        assert_ne!(vars[0], vars[1]);
    }
}
