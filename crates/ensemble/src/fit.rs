//! Fitting an [`Ensemble`]: networks in parallel, then what left-out rows say of them.

// `Ensemble::fit` splits the rows into five folds (`folds.rs`) and trains one network of each kind (`kind.rs`) for every fold,
// without its fold. Predictions for left-out rows stand for predictions for new rows. From them `output/calibration.rs` chooses, for
// each candidate and by likelihood, a factor on the noise, how much of it depends on the input, a factor on the model uncertainty, and
// how heavy the tails are (Student's t). Then `weigh.rs` chooses the weights of the candidates, and corrects all widths by one factor,
// judged by rows that did not choose the weights. The variance of a prediction has two parts: one that more data would reduce
// (disagreement between networks and candidates, and weight uncertainty), and noise.

use super::candidate::Candidate;
use super::closed;
use super::folds::{FOLDS, Folds};
use super::kind::{self, Kind, MANY_ROWS};
use super::member::{self, Member};
use super::process::{Kernel, Process, Readings};
use super::rows::Rows;
use super::{Ensemble, Rarer, Settings, Spec, weights};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Matrix;
use tractable_core::metrics;
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
    pub(super) folds: Folds,
    input: Scaler,
    output: Option<Scaler>,
    /// The targets' logarithms, if all are positive.
    logarithms: Option<(Dataset, Scaler)>,
    /// How Gaussian processes read the rows; nothing where there are none.
    readings: Option<Arc<Readings>>,
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

    /// Makes a model from your own network, calibrated on rows that it was not trained on; `learned` are those that it was.
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
            folds: Folds::one(held_out.rows()),
            input: net.input_scaler().cloned().unwrap_or_else(|| Scaler::identity(net.input().len())),
            output: match net.output() {
                Output::Values { width, .. } => {
                    Some(net.output_scaler().cloned().unwrap_or_else(|| Scaler::identity(width)))
                }
                Output::Classes { .. } => None,
            },
            logarithms: None,
            readings: None,
            kinds: Vec::new(),
            settings: &settings,
        };
        if held_out.rows() == 0 {
            return Err(Error::invalid("rows to calibrate on", "there are none"));
        }
        net.check_fit(held_out, &Fit::new())?;
        net.check_fit(learned, &Fit::new())?;
        let member = Member::new(net, member::Form::Network, 0, 1.0)?;
        let candidate = Candidate::new("network", false, vec![member]);
        let candidates = data.decide(vec![candidate], &[], || true)?.expect("nobody interrupts it");
        let rows = learned.rows() + held_out.rows();
        let spec = Spec::of_own(rows);
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
    /// assert_eq!(model.unwrap().models(), 1); // the most likely one
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
        let looked = Rows::look(data)?;
        let data = &Data::new(&looked, settings)?;
        let device = settings.device();
        let folds = data.folds.networks(settings.single);
        let of_kind = |kind| folds.clone().map(move |fold| Job { kind, fold });
        let mut jobs: Vec<Job> = (0..data.kinds.len()).flat_map(of_kind).collect();
        // Long jobs first, so that no core is left with one at the end.
        jobs.sort_by_key(|job| std::cmp::Reverse(data.cost(*job)));
        let all_of = |jobs: &[Job]| jobs.iter().map(|job| data.cost(*job)).sum::<u64>();
        let (stop, done, of) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(all_of(&jobs)));
        let mut watch = |what: &'static str| {
            let of = of.load(Ordering::Relaxed);
            let done = done.load(Ordering::Relaxed).min(of);
            if progress(Stage { what, done, of }).is_break() {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let range = data.range();
        let mut members: Vec<Vec<Member>> = data.kinds.iter().map(|_| Vec::new()).collect();
        // The first fold of every kind, then the others of those that are promising.
        let (first, mut others): (Vec<Job>, Vec<Job>) =
            jobs.iter().partition(|job| job.fold == data.folds.lead());
        for round in 0..2 {
            let jobs = if round == 0 { &first } else { &others };
            let (rank, ranks) = workers.map_or((0, 1), |w| (w.rank(), w.ranks()));
            let mine: Vec<Job> = jobs.iter().skip(rank).step_by(ranks).copied().collect();
            let work = |i: usize, look: &mut dyn FnMut()| {
                data.train(mine[i], members[mine[i].kind].first(), &done, &stop, look)
            };
            let own = device.team().watched(mine.len(), work, || watch("learning"));
            let own = own.into_iter().collect::<Result<Option<Vec<Member>>>>();
            let trained = match workers {
                None => own?,
                #[cfg(feature = "files")]
                Some(workers) => data.gather(workers, jobs, own?)?,
                #[cfg(not(feature = "files"))]
                Some(_) => own?,
            };
            let Some(trained) = trained else { return Ok(None) };
            jobs.iter().zip(trained).for_each(|(job, member)| members[job.kind].push(member));
            if round == 0 && data.all.rows() > MANY_ROWS && !settings.single {
                let of_kind = |(kind, own): (&&Kind, Vec<Member>)| Candidate::new(kind.name, kind.log, own);
                let mut all: Vec<Candidate> = data.kinds.iter().zip(members).map(of_kind).collect();
                let promising = data.promising(&mut all, &range)?;
                members = all.into_iter().map(|c| c.members).collect();
                let dropped = |job: &Job| !promising[job.kind];
                of.fetch_sub(
                    all_of(&others.iter().copied().filter(dropped).collect::<Vec<_>>()),
                    Ordering::Relaxed,
                );
                others.retain(|job| promising[job.kind]);
                members.iter_mut().zip(promising).filter(|(_, p)| !p).for_each(|(own, _)| own.clear());
            }
        }
        let of_kind = |(kind, mut own): (&&Kind, Vec<Member>)| {
            own.sort_by_key(|m| m.fold);
            (!own.is_empty()).then(|| Candidate::new(kind.name, kind.log, own))
        };
        let candidates: Vec<Candidate> = data.kinds.iter().zip(members).filter_map(of_kind).collect();
        let go_on = || {
            watch("calibrating");
            !stop.load(Ordering::Relaxed)
        };
        let Some(candidates) = data.decide(candidates, &range, go_on)? else { return Ok(None) };
        let (rows, seed) = (data.all.rows(), settings.seed);
        let (folds, notes) = (looked.related.is_some().then(|| data.folds.clone()), looked.notes.clone());
        let class_weights = settings.class_weights.clone();
        let spec = Spec { rows, seed, range, left_out: Vec::new(), own: false, folds, notes, class_weights };
        let mut model = Ensemble { candidates, spec };
        model.spec.left_out = data.judge(&model)?;
        if !settings.single {
            model.candidates.iter_mut().try_for_each(|c| c.complete(data.all, seed))?;
        }
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
    fn new(rows: &'a Rows<'_>, settings: &'a Settings) -> Result<Self> {
        settings.check()?;
        let all: &Dataset = &rows.data;
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
                check_observed(all, y, observed.as_deref())?;
                Some(scaler)
            }
            Target::Labels { .. } => None,
        };
        let folds = Folds::of(all, rows.related.as_deref(), settings.seed)?;
        let logarithms = logarithms(all)?;
        let kinds = kind::kinds(all, logarithms.is_some());
        let process = kinds.iter().any(|kind| kind.form == kind::Form::Process);
        let readings = process.then(|| closed::readings(&input.apply(all.x().data()), all));
        Ok(Data { all, folds, input, output, logarithms, readings, kinds, settings })
    }

    /// How much work a model is: weights times visits.
    fn cost(&self, Job { kind, fold }: Job) -> u64 {
        let rows = self.folds.rows(fold, false).len();
        match self.kinds[kind].form(self.all) {
            kind::Form::Process => Process::cost(rows, self.all.width(), fold != self.folds.lead()),
            _ => (self.settings.epochs(rows) * rows) as u64 * self.kinds[kind].weights(self.all),
        }
    }

    /// Of a network.
    pub(super) fn seed(&self, Job { kind, fold }: Job) -> u64 {
        self.settings.seed.wrapping_mul(1000).wrapping_add((kind * FOLDS + fold) as u64)
    }

    /// The rows that a job learns. Closed forms take the logarithm of targets themselves.
    fn rows_for(&self, Job { kind, fold }: Job) -> Result<Dataset> {
        let kind = self.kinds[kind];
        let network = kind.log && kind.form(self.all) == kind::Form::Network;
        let all = self.logarithms.as_ref().filter(|_| network).map_or(self.all, |(data, _)| data);
        let mut rows = self.folds.rows(fold, false);
        rows.retain(|row| self.all.weights().is_none_or(|w| w[*row] > 0.0));
        all.select(&rows)
    }

    /// A network that knows the units of what a kind learns.
    fn network(&self, job: Job, data: &Dataset) -> Result<Network> {
        let kind = self.kinds[job.kind];
        let mut net = kind.network(self.all, data.rows(), self.seed(job), self.settings.device())?;
        let output = match &self.logarithms {
            Some((_, scaler)) if kind.log => Some(scaler),
            _ => self.output.as_ref(),
        };
        net.set_scalers(Some(self.input.clone()), output.cloned())?;
        if kind.form(self.all) != kind::Form::Network {
            net.adopt(&Samples::from(data), Some((Some(self.input.clone()), output.cloned())))?;
            net.set_epochs(1);
        }
        Ok(net)
    }

    /// `None` when it was stopped; calls `look` as it goes. `first` is of the same kind and left out another fold.
    fn train(
        &self,
        job: Job,
        first: Option<&Member>,
        done: &AtomicU64,
        stop: &AtomicBool,
        look: &mut dyn FnMut(),
    ) -> Result<Option<Member>> {
        let kind = self.kinds[job.kind];
        let data = self.rows_for(job)?;
        let mut net = self.network(job, &data)?;
        let stopped = || stop.load(Ordering::Relaxed);
        let form = match kind.form(self.all) {
            kind::Form::Line => self.closed(job, &net, &data, &[]),
            kind::Form::Process => {
                let readings = self.readings.as_ref().expect("a process reads");
                let go_on = || {
                    look();
                    !stopped()
                };
                let kernels = closed::kernels(&net, kind.log, &data, readings, first.map(|m| &m.form), go_on);
                if stopped() {
                    return Ok(None);
                }
                self.closed(job, &net, &data, &kernels)
            }
            kind::Form::Network => {
                let data = weights::in_proportion(data, net.seed())?;
                let rows = data.rows();
                let epochs = self.settings.epochs(rows);
                let each = self.cost(job) / (epochs * rows) as u64;
                let fit = Fit::new().epochs(epochs).batch(kind.batch).anneal(ANNEAL).seed(net.seed());
                let mut told = 0;
                let report = net.fit_with(&data, &fit, |p| {
                    let now = match p {
                        Progress::Rows(done, _) => done,
                        Progress::Epoch(..) => rows,
                    };
                    done.fetch_add((now - told) as u64 * each, Ordering::Relaxed);
                    told = if matches!(p, Progress::Epoch(..)) { 0 } else { now };
                    look();
                    if stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })?;
                let form = member::Form::Network;
                return if report.interrupted {
                    Ok(None)
                } else {
                    Member::new(net, form, job.fold, 1.0).map(Some)
                };
            }
        };
        done.fetch_add(self.cost(job), Ordering::Relaxed);
        Member::new(net, form, job.fold, 1.0).map(Some)
    }

    /// A closed form of these rows; processes with these kernels.
    fn closed(&self, job: Job, net: &Network, data: &Dataset, kernels: &[Kernel]) -> member::Form {
        let log = self.kinds[job.kind].log;
        match &self.readings {
            Some(readings) if !kernels.is_empty() => {
                closed::processes(net, log, data, readings, kernels, self.settings.seed)
            }
            _ => closed::lines(net, log, data),
        }
    }

    /// What another worker needs to know of a member to make it too.
    #[cfg(feature = "files")]
    pub(super) fn told(&self, member: &Member) -> Result<Vec<u8>> {
        match &member.form {
            member::Form::Network => member.net.to_bytes(),
            member::Form::Lines(_) => Ok(Vec::new()),
            member::Form::Processes(of) => {
                let kernels: Vec<&Kernel> = of.iter().map(|p| &p.kernel).collect();
                Ok(serde_json::to_vec(&kernels).expect("numbers"))
            }
        }
    }

    /// A member that another worker has trained.
    #[cfg(feature = "files")]
    pub(super) fn of_other(&self, job: Job, told: &[u8]) -> Result<Member> {
        let kind = self.kinds[job.kind];
        let (net, form) = match kind.form(self.all) {
            kind::Form::Network => {
                (Network::from_bytes(told, self.settings.device())?, member::Form::Network)
            }
            form => {
                let data = self.rows_for(job)?;
                let net = self.network(job, &data)?;
                let kernels: Vec<Kernel> = match form {
                    kind::Form::Process => serde_json::from_slice(told)
                        .map_err(|e| Error::invalid("a worker's kernels", e.to_string()))?,
                    _ => Vec::new(),
                };
                let form = self.closed(job, &net, &data, &kernels);
                (net, form)
            }
        };
        Member::new(net, form, job.fold, 1.0)
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
        let part = match model.spec.own {
            true => self.all.clone(),
            false => self.all.select(&model.rows_left_out(self.all)?)?,
        };
        match part.target() {
            Target::Labels { labels, names } => {
                let p = match model.spec.own {
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
                let out = match model.spec.own {
                    true => model.predict(part.input())?,
                    false => model.left_out_by_folds(self.all)?,
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

/// Every target is seen in several rows that count.
fn check_observed(all: &Dataset, y: &Matrix, observed: Option<&[bool]>) -> Result<()> {
    let Some(observed) = observed else { return Ok(()) };
    let counts = |row: usize| all.weights().is_none_or(|w| w[row] > 0.0);
    for column in 0..y.width() {
        let seen = (0..y.rows()).filter(|&row| counts(row) && observed[row * y.width() + column]).count();
        if seen < FOLDS {
            let why = format!("it is known in {seen} rows; at least {FOLDS} are needed");
            let name = all.output_names().get(column).map_or("", String::as_str);
            return Err(Error::invalid(format!("target `{name}`"), why));
        }
    }
    Ok(())
}
