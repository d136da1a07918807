//! [`Network::condition`]: the posterior of the input, or of a hidden layer, given the wanted output.
//!
//! Up to 16 unknown entries are found by weighting points of their prior (`points.rs`), which handles curved networks and
//! several answers; more of them, and hidden layers, by linearising the network at the answer (`iterate.rs`).

// `Network::condition` (`condition.rs`) turns every row into a `Task`: a prior, the wanted outputs, and
// their noise. Up to 16 unknown inputs are found with points of the prior (`points.rs`, on the lattice
// of `lattice.rs`), each weighted by rows at that input; `modes.rs` separates answers by looking for
// valleys between them, along straight paths and paths that are bent back onto a ridge (`paths.rs`).
// More unknowns, and hidden layers, are linearised at the answer until it converges (`iterate.rs`,
// `linear.rs`); the prior of a hidden layer is the covariance from rows of its own units. For maxima
// and minima, points are weighted by how close the derivative is to zero, or take one step by second
// derivatives (`stationary.rs`). An `Ensemble` weights the same points by its calibrated predictions;
// for maxima, minima and many unknowns its networks answer separately, and `pool.rs` pools the answers.
// Linear algebra is f64 on the host: it is `k x k`, or 16 x 16.
//
// `search.rs` does not compute a posterior. A round moves a state towards the wanted output, and the
// next round continues from there: by the paper's innovations or, with known weights, by damped steps
// over rows within limits (`step.rs`).

mod iterate;
mod lattice;
pub(crate) mod linear;
mod modes;
mod paths;
mod points;
pub mod pool;
mod posterior;
mod prior;
mod search;
mod searches;
mod stationary;
mod step;

use crate::engine::ActivePass;
use crate::network::{Ask, Chosen, Network};
use crate::output::{Aim, ClassUnits, ObservationBuffer, Softmax, Wanted};
pub(crate) use iterate::iterate;
use linear::Wish;
pub use points::MOST as MOST_POINTS;
use posterior::Learned;
pub use posterior::{Found, Mode, Posterior};
pub use prior::{Covariance, Prior};
pub use search::Search;
pub use searches::{SearchStart, Searches};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Input;

/// Maximum width of a hidden layer for a full covariance; wider layers are treated as independent.
const MOST_UNITS: usize = 512;
/// An exactly wanted output must be met to this share of its range over the unknown inputs.
pub const EXACTLY: f64 = 1e-3;
/// Samples linearised in parallel.
const SIDE_BY_SIDE: usize = 64;

impl Network {
    /// **Which input, or hidden layer, gives the output I want?** The posterior of the
    /// input (or of [`Wanted::layer`]) given its prior `x`; the weights are unchanged, and their uncertainty is included.
    ///
    /// Up to 16 unknown entries are found by weighting points of the prior, more of them by linearising the network at the
    /// answer; [`Posterior::found`] tells which, and how reliable it is. To reach a goal in steps, as an attack does, see
    /// [`Network::search`].
    ///
    /// ```
    /// use tractable::{Activation, Fit, Gaussian, Matrix, Network, Wanted, data::Dataset};
    /// let x: Vec<f64> = (-20..=20).map(|i| f64::from(i) / 10.0).collect();
    /// let y = x.iter().map(|x| x * x).collect();
    /// let mut net = Network::mlp([1, 32, 1], Activation::MixtureRelu).seed(1).build()?;
    /// net.fit(&Dataset::new(Matrix::column(x)?, Matrix::column(y)?)?, &Fit::new().epochs(60).batch(1).noise_std(0.05))?;
    /// // Which x has the square 1? There are two, and so it says.
    /// let wish = Matrix::column(vec![1.0])?;
    /// let x = net.condition(&Gaussian::new(vec![0.2], vec![1.0], 1)?, Wanted::from(&wish).noise_var(0.01))?;
    /// let modes: Vec<f64> = x.modes(0).iter().map(|m| m.mean[0].abs()).collect();
    /// assert!(modes.len() == 2 && modes.iter().all(|m| (m - 1.0).abs() < 0.15), "{modes:?}");
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn condition<'a, 'b>(
        &self,
        x: impl Into<Input<'a>>,
        wanted: impl Into<Wanted<'b>>,
    ) -> Result<Posterior> {
        let (x, wanted) = (self.check_input(x.into())?, wanted.into());
        let at = self.conditioned(x, &wanted)?;
        if matches!(wanted.goal, Aim::Stationary { .. }) {
            return stationary::condition(self, x, at, &wanted);
        }
        let wish = self.observed(&wanted, x.rows())?;
        let priors = Priors::new(self, x, at, &wanted)?;
        let mut rows = Vec::with_capacity(x.rows());
        for from in (0..x.rows()).step_by(SIDE_BY_SIDE) {
            let samples: Vec<usize> = (from..x.rows().min(from + SIDE_BY_SIDE)).collect();
            rows.extend(self.condition_some(x, at, &wanted, &wish, &priors, &samples)?);
        }
        self.posterior(rows, at)
    }

    /// The state that `condition` returns, if it can.
    #[doc(hidden)]
    pub fn conditioned(&self, x: Input<'_>, wanted: &Wanted<'_>) -> Result<usize> {
        if wanted.other_than {
            let why = "`other_than` works only in a search; `condition` needs a wanted label";
            return Err(Error::invalid("wanted", why));
        }
        self.moving(x, wanted)
    }

    fn condition_some(
        &self,
        x: Input<'_>,
        at: usize,
        wanted: &Wanted<'_>,
        wish: &ObservationBuffer,
        priors: &Priors,
        samples: &[usize],
    ) -> Result<Vec<Answer>> {
        let mut answers: Vec<Option<Answer>> = vec![None; samples.len()];
        let mut many = Vec::new();
        for (i, &sample) in samples.iter().enumerate() {
            let prior = priors.of(self, x, sample)?;
            let task = Task::new(self, at, prior, wish, sample, wanted.known_weights);
            // Nothing is wanted, or nothing can move.
            if task.chosen.k == 0 || task.prior.free().is_empty() {
                answers[i] = Some(Answer::nothing(task.prior));
            } else if at == 0 && task.prior.free().len() <= points::MOST {
                answers[i] = Some(self.by_points(&task)?);
            } else {
                many.push((i, task));
            }
        }
        let (places, tasks): (Vec<usize>, Vec<Task>) = many.into_iter().unzip();
        if !tasks.is_empty() {
            let whole = (at > 0).then(|| self.pass_of_samples(x, &places, samples)).transpose()?;
            let found = iterate(self, &tasks, whole, iterate::ENOUGH)?;
            for (place, (task, found)) in places.into_iter().zip(tasks.into_iter().zip(found)) {
                answers[place] = Some(Answer::linearised(task.prior, found));
            }
        }
        Ok(answers.into_iter().map(|a| a.expect("every sample was answered")).collect())
    }

    /// One sample with few unknown entries, found by points.
    fn by_points(&self, task: &Task) -> Result<Answer> {
        let task = &task.at_least_noisy(self)?;
        let mut pass = self.pass();
        let mut weigh = |places: &[f64]| task.weigh(self, &mut *pass, places);
        let mut start = || {
            let found = &iterate(self, std::slice::from_ref(task), None, iterate::ENOUGH)?[0];
            Ok(Some(found.around(&task.prior, &task.prior.free())))
        };
        match Answer::by_points(&task.prior, &mut weigh, &mut start)? {
            Some(answer) => Ok(answer),
            None => {
                let found = iterate(self, std::slice::from_ref(task), None, iterate::ENOUGH)?.swap_remove(0);
                Ok(Answer::linearised(task.prior.clone(), found))
            }
        }
    }

    /// A pass with complete samples, for a hidden layer.
    fn pass_of_samples(
        &self,
        x: Input<'_>,
        places: &[usize],
        samples: &[usize],
    ) -> Result<Box<dyn ActivePass + '_>> {
        let gather = |all: &[f64]| -> Vec<f64> {
            places.iter().flat_map(|&p| &all[samples[p] * x.width()..][..x.width()]).copied().collect()
        };
        let (mean, var) = (gather(x.mean()), x.var().map(gather));
        match &var {
            Some(var) => self.pass_of(Input::uncertain(&mean, var, x.width())?),
            None => self.pass_of(Input::exact(&mean, x.width())?),
        }
    }

    /// Answers in the user's units.
    fn posterior(&self, answers: Vec<Answer>, at: usize) -> Result<Posterior> {
        Posterior::of(answers, self.scaler_at(at)).map_err(|(row, bad)| self.diverged(at, row, bad))
    }
}

/// The prior of every sample.
struct Priors {
    at: usize,
    /// The same for all samples.
    shared: Option<Covariance>,
}

impl Priors {
    fn new(net: &Network, x: Input<'_>, at: usize, wanted: &Wanted<'_>) -> Result<Self> {
        let Some(given) = wanted.covariance else { return Ok(Priors { at, shared: None }) };
        let d = x.width();
        if at != 0 {
            let why = "a covariance can be given only for the input; for a hidden layer it is computed";
            return Err(Error::invalid("prior covariance", why));
        }
        let unit = |i: usize| net.scaler_at(0).map_or(1.0, |s| s.std()[i]);
        let covariance = Covariance::given(given, d, unit)?;
        Ok(Priors { at, shared: Some(covariance) })
    }

    fn of(&self, net: &Network, x: Input<'_>, sample: usize) -> Result<Prior> {
        let x = x.rows_between(sample, sample + 1);
        if self.at > 0 {
            return net.prior_of_state(x, self.at);
        }
        let (mean, var) = net.own_units(x);
        let diagonal = || Covariance::Diagonal(var.unwrap_or_else(|| vec![0.0; mean.len()]));
        let covariance = self.shared.clone().unwrap_or_else(diagonal);
        Ok(Prior { mean, covariance })
    }
}

impl Network {
    /// The prior of a hidden layer for one sample: with all covariances, unless it is very wide.
    fn prior_of_state(&self, x: Input<'_>, at: usize) -> Result<Prior> {
        let mut pass = self.pass_of(x)?;
        pass.run(&self.graph.forward(0, tractable_devices::Purpose::Rows), None)?;
        let [mean, var] = pass.read_prior(at)?;
        if mean.len() > MOST_UNITS {
            return Ok(Prior { mean, covariance: Covariance::Diagonal(var) });
        }
        let matrix = self.state_covariance(&mut *pass, at)?;
        let width = mean.len();
        Ok(Prior { mean, covariance: Covariance::full(matrix, width) })
    }
}

/// One sample to condition: its prior, and the wanted outputs.
#[derive(Clone)]
pub(crate) struct Task {
    pub(crate) at: usize,
    pub(crate) prior: Prior,
    pub(crate) chosen: Chosen,
    pub(crate) y: Vec<f64>,
    pub(crate) noise: Vec<f64>,
    /// The class of a softmax, instead of numbers.
    pub(crate) class: Option<(Softmax, usize)>,
    pub(crate) known_weights: bool,
}

impl Task {
    fn new(
        net: &Network,
        at: usize,
        prior: Prior,
        wish: &ObservationBuffer,
        sample: usize,
        known_weights: bool,
    ) -> Self {
        let units = net.output().units();
        let one = wish.rows_between(sample..sample + 1, units);
        let chosen = Chosen::seen(one.seen(), units, 1);
        let outputs = || chosen.outputs.iter().flatten();
        let y: Vec<f64> = outputs().map(|&o| one.y()[o]).collect();
        let noise = outputs().map(|&o| one.noise_at(0, o, units)).collect();
        let class = match net.output().class_units() {
            Ok(ClassUnits::Softmax(softmax)) => {
                y.iter().position(|y| *y == 1.0).map(|class| (softmax, class))
            }
            _ => None,
        };
        Task { at, prior, chosen, y, noise, class, known_weights }
    }

    pub(crate) fn wish(&self) -> Wish<'_> {
        Wish { y: &self.y, noise: &self.noise }
    }

    /// Adds noise, needed to weight points, if the output is wanted exactly.
    fn at_least_noisy(&self, net: &Network) -> Result<Task> {
        if self.class.is_some() {
            return Ok(self.clone());
        }
        let (var, mut task) = (self.prior.var(), self.clone());
        let x = Input::uncertain(&self.prior.mean, &var, var.len())?;
        let rows = net.rows(x, &self.chosen, Ask::Slopes)?;
        let moved = self.prior.times(&rows.slopes);
        for (i, noise) in task.noise.iter_mut().enumerate() {
            let lines = [&rows.slopes, &moved].map(|v| &v[i * var.len()..][..var.len()]);
            let by_state: f64 = lines[0].iter().zip(lines[1]).map(|(a, p)| a * p).sum();
            *noise = noise.max(EXACTLY * EXACTLY * by_state);
        }
        Ok(task)
    }

    /// Log-likelihood of the wanted output, given this mean and covariance. If weights are known, the covariance that
    /// they cause is ignored.
    pub(crate) fn ln_likelihood(&self, mean: &[f64], spread: &[f64]) -> f64 {
        if let Some((softmax, class)) = self.class {
            return softmax.ln_probability(class, mean, &self.by_weights(spread));
        }
        match self.known_weights {
            true => linear::ln_likelihood(mean, &vec![0.0; spread.len()], &self.wish()),
            false => linear::ln_likelihood(mean, spread, &self.wish()),
        }
    }

    /// The variances of a covariance that weights cause, unless these count as known.
    pub(crate) fn by_weights(&self, spread: &[f64]) -> Vec<f64> {
        let k = self.chosen.k;
        (0..k).map(|i| if self.known_weights { 0.0 } else { spread[i * k + i] }).collect()
    }

    /// `ln p(wanted | x)` at known inputs.
    fn weigh(&self, net: &Network, pass: &mut dyn ActivePass, places: &[f64]) -> Result<Vec<f64>> {
        let (d, mut ln) = (self.prior.width(), Vec::with_capacity(places.len() / self.prior.width()));
        for places in places.chunks(net.at_once_with(self.chosen.k) * d) {
            let n = places.len() / d;
            pass.write(0, places, None)?;
            let rows = net.rows_in(pass, (0, 0), &self.chosen.for_samples(n), Ask::Spread)?;
            ln.extend((0..n).map(|i| self.ln_likelihood(rows.mean_of(i), rows.spread_of(i))));
        }
        Ok(ln)
    }
}

/// The posterior of one sample, in the units of its prior.
#[derive(Debug, Clone)]
pub struct Answer {
    mean: Vec<f64>,
    var: Vec<f64>,
    covariance: Learned,
    modes: Vec<Mode>,
    found: Found,
}

impl Answer {
    /// The prior, if nothing is learned.
    pub fn nothing(prior: Prior) -> Self {
        let (mean, var) = (prior.mean.clone(), prior.var());
        let found = Found::Linearised { steps: 0, converged: true };
        let updated = linear::Updated { mean, var, factor: Vec::new() };
        Answer::linear(prior, updated, found)
    }

    fn linearised(prior: Prior, found: iterate::Iterated) -> Self {
        let how = Found::Linearised { steps: found.steps, converged: found.converged };
        Answer::linear(prior, found.updated, how)
    }

    fn linear(prior: Prior, updated: linear::Updated, found: Found) -> Self {
        let linear::Updated { mean, var, factor } = updated;
        let covariance = match prior.covariance {
            Covariance::Diagonal(prior) => Learned::Less { prior, factor },
            Covariance::Full { matrix, .. } => Learned::LessFull { prior: matrix, factor },
        };
        let modes = vec![Mode { weight: 1.0, mean: mean.clone(), var: var.clone() }];
        Answer { mean, var, covariance, modes, found }
    }

    /// By points of the prior, unless almost none of them count; `weigh` is `ln p(wanted | x)` for a list of points.
    pub fn by_points(
        prior: &Prior,
        weigh: &mut points::Weigh<'_>,
        start: &mut dyn FnMut() -> Result<Option<points::Around>>,
    ) -> Result<Option<Self>> {
        let free = prior.free();
        let free = &free[..];
        let mut weigh = |u: &[f64]| {
            let places: Vec<f64> = u.chunks_exact(free.len()).flat_map(|u| prior.place(free, u)).collect();
            weigh(&places)
        };
        let cloud = &points::sample(free.len(), &mut weigh, start)?;
        if cloud.effective() < points::NEXT_TO_NONE {
            return Ok(None);
        }
        let (_, all) = cloud.moments(&cloud.all());
        let mut density = |u: &[f64]| {
            let prior = u.chunks_exact(free.len()).map(|u| -0.5 * u.iter().map(|u| u * u).sum::<f64>());
            Ok(weigh(u)?.iter().zip(prior).map(|(l, p)| l + p).collect())
        };
        let lumps = modes::lumps(cloud, &mut density)?;
        let total: f64 = lumps.iter().map(|l| l.0).sum();
        let modes = lumps.iter().map(|(weight, around)| {
            let (mean, covariance) = in_places(prior, free, around);
            let var = (0..mean.len()).map(|i| covariance[i * (mean.len() + 1)]).collect();
            Mode { weight: weight / total, mean, var }
        });
        let (mean, covariance) = in_places(prior, free, &all);
        Ok(Some(Answer {
            var: (0..mean.len()).map(|i| covariance[i * (mean.len() + 1)]).collect(),
            modes: modes.collect(),
            found: Found::Points { points: cloud.weights.len(), effective: cloud.effective() },
            mean,
            covariance: Learned::Full(covariance),
        }))
    }
}

/// Converts a Gaussian in standard deviations of the prior to the state's units, `[width]` and `[width, width]`.
fn in_places(prior: &Prior, free: &[usize], (u, cov): &points::Around) -> (Vec<f64>, Vec<f64>) {
    let (d, f) = (prior.width(), free.len());
    // `L cov L'`, column by column.
    let columns: Vec<Vec<f64>> =
        (0..f).map(|j| prior.scaled(free, &(0..f).map(|i| cov[i * f + j]).collect::<Vec<_>>())).collect();
    let mut covariance = vec![0.0; d * d];
    for i in 0..f {
        let row = prior.scaled(free, &columns.iter().map(|c| c[i]).collect::<Vec<_>>());
        for j in 0..f {
            covariance[free[i] * d + free[j]] = row[j];
        }
    }
    (prior.place(free, u), covariance)
}
