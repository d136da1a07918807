//! [`Network::search`] and [`Search`]: moving a layer towards a wanted output, round by round.

use super::step::Step;
use crate::derivative::Derivative;
use crate::engine::{ActivePass, Slope};
use crate::network::{Ask, Chosen, Network, standardized};
use crate::output::{Aim, DefaultNoise, ObservationBuffer, Output, Wanted};
use crate::plan::Op;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Gaussian, Input};
use tractable_core::moments::derivative::{shrunk, stationary};
use tractable_core::moments::softmax;
use tractable_core::team::Team;
use tractable_devices::Purpose;

/// A layer that moves towards a wanted output: made by [`Network::searching`], moved by
/// [`round`](Search::round). Between rounds, read the output, and [`project`](Search::project) the layer into
/// a range, a budget or a box. It has its own memory and does not block other users of the network.
///
/// ```
/// use tractable::{Activation, Gaussian, Matrix, Network, Wanted};
/// let net = Network::mlp([2, 16, 1], Activation::Tanh).seed(3).build()?;
/// let start = Gaussian::new(vec![0.5, -0.2], vec![0.01; 2], 2)?;
/// let mut x = net.searching(&start, Wanted::maximum())?;
/// for _ in 0..20 {
///     x.round()?;
///     x.project(|_, mean, _| mean.iter_mut().for_each(|x| *x = x.clamp(0.0, 1.0)))?;
/// }
/// assert!(x.posterior()?.mean().iter().all(|x| (0.0..=1.0).contains(x)));
/// # Ok::<(), tractable::Error>(())
/// ```
pub struct Search<'n> {
    net: &'n Network,
    pass: Box<dyn ActivePass + 'n>,
    /// The state that moves, and how many rows it has.
    at: usize,
    rows: usize,
    goal: OwnedGoal,
    known_weights: bool,
    other_than: bool,
    /// Lowest and highest allowed values of the layer.
    limits: Option<[Vec<f64>; 2]>,
    /// The plan of the first round, and of the others.
    plans: [Vec<Op>; 2],
    rounds: usize,
    /// The state in the user's units, if it has been read.
    place: Option<Gaussian>,
    /// Whether it was changed there, but not yet on the device.
    changed: bool,
    slope: Option<Derivative>,
    /// The output before the last round, if the output itself moves.
    before: Option<Gaussian>,
}

/// A node of a class tree this far on the right side is not pushed farther; nodes are pushed towards 1.
const SURE: f64 = 0.5;

/// The class of a softmax that is ahead of every other by this and the logarithm of their number has a probability of 0.88 or more; it is pushed
/// farther by [`SURE`]. Only so many others are looked at.
const SURE_OF_ALL: f64 = 2.0;
const MOST_RIVALS: usize = 16;

/// The goal, owned.
enum OwnedGoal {
    Output(ObservationBuffer),
    /// A derivative of zero, up to a noise variance.
    Stationary {
        slope: Slope,
        towards: f64,
        noise_var: f64,
        second_order: bool,
    },
}

impl std::fmt::Debug for Search<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Network {
    /// Moves the input (or [`Wanted::layer`]) towards the wanted output, starting from the prior `x`; the weights are unchanged. The
    /// result is not a posterior: see [`condition`](Network::condition) for that. Hidden units
    /// are treated as independent, so with a large prior variance one round moves the input too far:
    /// see [`Wanted::rounds`], and [`Network::searching`] to look at every round.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Network, Wanted};
    /// let net = Network::mlp([4, 16, 3], Activation::Relu).classes(3).seed(1).build()?;
    /// let x = Gaussian::new(vec![0.1, 0.2, 0.3, 0.4], vec![0.01; 4], 4)?;
    /// let changed = net.search(&x, Wanted::from(&[2]).rounds(20))?;
    /// let p = |x| net.predict_classes(x).map(|p| p.data()[2]);
    /// assert!(p(&changed)? > p(&x)?);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn search<'a, 'b>(&self, x: impl Into<Input<'a>>, wanted: impl Into<Wanted<'b>>) -> Result<Gaussian> {
        let (x, wanted) = (self.check_input(x.into())?, wanted.into());
        if wanted.rounds == 0 {
            return Err(Error::invalid("rounds", "at least one is needed"));
        }
        let (at, mut goal) = self.held(x, &wanted)?;
        let out = self.in_parts(x.rows(), |rows| {
            let goal = goal.rows_between(rows.clone(), self.spec.output.units(), x.rows());
            let x = x.rows_between(rows.start, rows.end);
            let mut c = Search::new(self, x, at, goal, &wanted)?;
            (0..wanted.rounds).try_for_each(|_| c.round().map(drop))?;
            c.posterior()?;
            let posterior = c.place.take().expect("just read");
            Ok(posterior.into_parts())
        })?;
        let [mean, var] = out;
        let width = mean.len() / x.rows();
        Ok(Gaussian::computed(mean, var, width))
    }

    /// [`search`](Network::search), one round at a time: the caller moves the layer, reads the output and may
    /// change the layer in between. [`Wanted::rounds`] is ignored. Memory grows with the rows; use at most
    /// [`rows_at_once`](Network::rows_at_once).
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Network, Wanted};
    /// let net = Network::mlp([4, 16, 3], Activation::Relu).classes(3).seed(1).build()?;
    /// let start = Gaussian::new(vec![0.1, 0.2, 0.3, 0.4], vec![0.01; 4], 4)?;
    /// let mut x = net.searching(&start, &[2])?;
    /// let before = x.round()?.output()?;
    /// let after = x.round()?.output()?;
    /// assert_ne!(before.mean(), after.mean());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn searching<'a, 'b>(
        &self,
        prior: impl Into<Input<'a>>,
        wanted: impl Into<Wanted<'b>>,
    ) -> Result<Search<'_>> {
        let x = self.check_input(prior.into())?;
        let wanted = wanted.into();
        let (at, goal) = self.held(x, &wanted)?;
        Search::new(self, x, at, goal, &wanted)
    }

    /// Checks the request: the state that moves, and the goal in the network's units.
    fn held(&self, x: Input<'_>, wanted: &Wanted<'_>) -> Result<(usize, OwnedGoal)> {
        let at = self.moving(x, wanted)?;
        let goal = match wanted.goal {
            Aim::Output(_) => OwnedGoal::Output(self.observed(wanted, x.rows())?),
            Aim::Stationary { towards, output, gate, second_order, .. } => {
                let slope = self.slope(wanted.layer.unwrap_or("input"), output, gate)?;
                OwnedGoal::Stationary { slope, towards, noise_var: wanted.noise_var, second_order }
            }
        };
        Ok((at, goal))
    }

    /// The state that moves, if it can.
    pub(crate) fn moving(&self, x: Input<'_>, wanted: &Wanted<'_>) -> Result<usize> {
        let at = self.state_number(wanted.layer.unwrap_or("input"))?;
        let known = x.var().is_none_or(|v| v.iter().all(|&v| v == 0.0)) && wanted.covariance.is_none();
        if at == 0 && known {
            return Err(Error::invalid("input", "it is known exactly and cannot move: give it a variance"));
        }
        if wanted.other_than && !matches!(self.output(), Output::Classes { .. }) {
            return Err(Error::invalid("wanted", "this is a regression model; it has no labels"));
        }
        if let Aim::Stationary { output, gate, only, .. } = wanted.goal {
            if only {
                let why = "`only` does not apply to a maximum or minimum";
                return Err(Error::invalid("wanted entries", why));
            }
            self.slope(wanted.layer.unwrap_or("input"), output, gate)?;
            self.check_can_move(at)?;
            let noise_var = wanted.noise_var;
            if !(noise_var >= 0.0 && noise_var.is_finite()) {
                let why = format!("a variance of {noise_var} is not a number of at least 0");
                return Err(Error::invalid("noise", why));
            }
        }
        Ok(at)
    }

    /// The wanted output of this many samples, in the network's units.
    pub(crate) fn observed(&self, wanted: &Wanted<'_>, rows: usize) -> Result<ObservationBuffer> {
        let Aim::Output(observation) = &wanted.goal else {
            return Err(Error::invalid("wanted", "a derivative is not an output"));
        };
        let (mut buffer, noise) = (ObservationBuffer::default(), DefaultNoise::Var(wanted.noise_var));
        buffer.fill(observation, noise, self.output(), self.output_scaler(), rows, self.largest())?;
        Ok(buffer)
    }
}

impl Network {
    /// T50, entry by entry: `(H P H')_ii` and `(P H)_ii`, in the user's units.
    fn bends(
        &self,
        pass: &dyn ActivePass,
        slope: Slope,
        rows: usize,
        var: &[f64],
    ) -> Result<Vec<(f64, f64)>> {
        let width = var.len() / rows;
        // Entries that are known do not move.
        let free: Vec<usize> =
            (0..width).filter(|&i| var.iter().skip(i).step_by(width).any(|&v| v > 0.0)).collect();
        let second = self.second_derivatives_in(pass, slope, &free, rows)?;
        let units = self.in_derivative_units(slope, width);
        let x_unit = |i: usize| self.scaler_at(slope.at).map_or(1.0, |s| s.std()[i % s.std().len()]);
        let entry = |at: usize| {
            let (row, i) = (at / width, at % width);
            let Ok(place) = free.binary_search(&i) else { return (0.0, 0.0) };
            let line = &second[(row * free.len() + place) * free.len()..][..free.len()];
            let h = |k: usize| line[k] * units[i] / x_unit(free[k]);
            let by_place = (0..free.len()).map(|k| h(k).powi(2) * var[row * width + free[k]]).sum();
            (by_place, h(place) * var[at])
        };
        Ok((0..var.len()).map(entry).collect())
    }
}

impl OwnedGoal {
    /// The goal of some rows; all rows use it unchanged.
    fn rows_between(&mut self, rows: std::ops::Range<usize>, units: usize, all: usize) -> OwnedGoal {
        match self {
            OwnedGoal::Output(buffer) if rows.len() == all => OwnedGoal::Output(std::mem::take(buffer)),
            OwnedGoal::Output(buffer) => OwnedGoal::Output(buffer.rows_between(rows, units)),
            &mut OwnedGoal::Stationary { slope, towards, noise_var, second_order } => {
                OwnedGoal::Stationary { slope, towards, noise_var, second_order }
            }
        }
    }
}

impl<'n> Search<'n> {
    fn new(net: &'n Network, x: Input<'_>, at: usize, goal: OwnedGoal, wanted: &Wanted<'_>) -> Result<Self> {
        let plans = match goal {
            OwnedGoal::Output(_) => [true, false].map(|first| net.graph.condition(at, first)),
            OwnedGoal::Stationary { .. } => [0, at].map(|from| net.graph.forward(from, Purpose::Predict)),
        };
        let place = (at == 0).then(|| {
            let var = x.var().map_or(vec![0.0; x.mean().len()], <[f64]>::to_vec);
            Gaussian::computed(x.mean().to_vec(), var, x.width())
        });
        let pass = net.pass_of(x)?;
        let (rows, rounds) = (x.rows(), 0);
        Ok(Search {
            net,
            pass,
            at,
            rows,
            goal,
            known_weights: wanted.known_weights,
            other_than: wanted.other_than,
            limits: None,
            plans,
            rounds,
            place,
            changed: false,
            slope: None,
            before: None,
        })
    }

    /// Runs one round: a forward pass, the wanted output is observed, and the layer's posterior becomes its prior. A
    /// posterior that is not finite gives an error when it is read, or in the next round.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(3).build()?;
    /// let mut x = net.searching(&Gaussian::new(vec![0.5], vec![0.1], 1)?, &Matrix::column(vec![1.0])?)?;
    /// assert!(x.round()?.posterior()?.var()[0] < 0.1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn round(&mut self) -> Result<&mut Self> {
        // A projected state was read after a forward pass.
        let plan = &self.plans[usize::from(self.rounds > 0 || self.changed)];
        if std::mem::take(&mut self.changed) {
            let place = self.place.as_ref().expect("it was changed");
            let mut buffers = Default::default();
            let scaler = self.net.scaler_at(self.at);
            let (mean, var) = standardized(scaler, Input::from(place), &mut buffers);
            self.pass.write(self.at, mean, var)?;
        }
        if self.known_weights && matches!(self.goal, OwnedGoal::Output(_)) {
            self.towards_the_output()?;
            self.rounds += 1;
            return Ok(self);
        }
        self.rounds += 1;
        match &self.goal {
            OwnedGoal::Output(buffer) => {
                let seen = buffer.observed(self.net.spec.output.units());
                let (last, first) = plan.split_last().expect("a plan has operations");
                self.pass.run(first, Some(seen))?;
                // The output itself moves: keep its old value.
                if self.at == self.net.graph.output() {
                    let before = self.pass.read_prior(self.at)?;
                    self.before = Some(self.net.in_users_units(before, self.rows, self.at)?);
                }
                self.pass.run(&[*last], None)?;
                self.place = None;
            }
            &OwnedGoal::Stationary { slope, towards, noise_var, second_order } => {
                self.pass.run(plan, None)?;
                let mut place = self.posterior()?.clone();
                if second_order {
                    // At the mean itself: its uncertainty enters through the second derivatives.
                    let mut buffers = Default::default();
                    let known = Input::exact(place.mean(), place.width())?;
                    let (mean, _) = standardized(self.net.scaler_at(self.at), known, &mut buffers);
                    self.pass.write(self.at, mean, None)?;
                    self.pass.run(&self.net.graph.forward(self.at, Purpose::Predict), None)?;
                }
                let d = self.net.derivative_in(&mut *self.pass, slope, self.rows)?;
                let bends = match second_order {
                    true => Some(self.net.bends(&*self.pass, slope, self.rows, place.var())?),
                    false => None,
                };
                let known = self.known_weights;
                place.change(|i, mean, var| {
                    let (by_place, cov) = bends.as_ref().map_or((0.0, d.cov()[i]), |b| b[i]);
                    let weights = if known { 0.0 } else { d.var()[i] };
                    let total = weights + by_place + noise_var;
                    let (d_mean, d_var) = stationary(d.mean()[i], total, cov, towards);
                    *mean += d_mean;
                    *var = shrunk(*var, d_var);
                });
                (self.place, self.slope, self.changed) = (Some(place), Some(d), true);
            }
        }
        Ok(self)
    }

    /// With known weights, moves the layer to where a linear network would give the wanted output ([`Step`]).
    /// Its variance is kept for the next round. For a label, nodes that are [`SURE`] enough are not moved.
    fn towards_the_output(&mut self) -> Result<()> {
        let place = self.posterior()?.clone();
        let (net, d, units) = (self.net, place.width(), self.net.output().units());
        let OwnedGoal::Output(buffer) = &self.goal else { unreachable!("an output is wanted") };
        let mut buffers = Default::default();
        let scaler = net.scaler_at(self.at);
        let (mean, var) = standardized(scaler, Input::from(&place), &mut buffers);
        let mut moved = mean.to_vec();
        let var = var.map_or(vec![0.0; mean.len()], <[f64]>::to_vec);
        self.pass.write(self.at, mean, (self.at > 0).then_some(&var))?;
        self.pass.run(&net.graph.forward(self.at, Purpose::Predict), None)?;
        // Of a softmax: the factors on its outputs (T90).
        let (chosen, factors) = match buffer.is_softmax() {
            true => {
                let [mean, var] = self.pass.read_prior(net.graph.output())?;
                let factors: Vec<f64> = var.iter().map(|v| softmax::tempered(*v)).collect();
                let logits: Vec<f64> = mean.iter().zip(&factors).map(|(m, f)| m * f).collect();
                (rivals(buffer, &logits, units), factors)
            }
            false => (Chosen::seen(buffer.seen(), units, self.rows), Vec::new()),
        };
        let rows = net.rows_after(&mut *self.pass, self.at, &chosen, Ask::Slopes)?;
        let room = |row: usize, u: usize| match &self.limits {
            None => [f64::NEG_INFINITY, f64::INFINITY],
            Some(limits) => {
                let unit = scaler.map_or(1.0, |s| s.std()[u % s.std().len()]);
                limits.each_ref().map(|v| (v[row * d + u] - place.mean()[row * d + u]) / unit)
            }
        };
        let room = |row: usize| (0..d).map(|u| room(row, u)).collect::<Vec<[f64; 2]>>();
        let step_to_class = |row: usize| {
            let var = &var[row * d..][..d];
            let outputs = chosen.outputs[row * chosen.k..][..chosen.k].iter().flatten();
            let factors: Vec<f64> = outputs.map(|o| factors[row * units + o]).collect();
            let slopes = rows.slopes_of(row).iter().enumerate().map(|(i, a)| factors[i / d] * a);
            let logits = rows.mean_of(row).iter().zip(&factors).map(|(m, f)| m * f);
            let (slopes, logits) = (slopes.collect::<Vec<_>>(), logits.collect::<Vec<_>>());
            let (slopes, off) = ahead(&slopes, &logits, var, units, self.other_than)?;
            let noise = vec![0.0; off.len()];
            Some(Step { slopes: &slopes, off: &off, noise: &noise }.within(var, &room(row)))
        };
        let turned = if self.other_than { -1.0 } else { 1.0 };
        let step_to_outputs = |row: usize| {
            let outputs = &chosen.outputs[row * chosen.k..][..chosen.k];
            let wish = |i: usize| outputs[i].map(|o| turned * buffer.y()[row * units + o]);
            let off = |i: usize| wish(i).map(|y| y - rows.mean_of(row)[i]);
            let short = |i: usize| match (wish(i), net.output()) {
                (None, _) => false,
                (Some(y), Output::Classes { .. }) => y * rows.mean_of(row)[i] < SURE,
                (Some(y), _) => y != rows.mean_of(row)[i],
            };
            let mut open: Vec<usize> = (0..chosen.k).filter(|&i| short(i)).collect();
            if self.other_than {
                // Flipping one node is enough: the easiest one.
                let var = &var[row * d..][..d];
                let moves = |i: usize| {
                    let slopes = rows.slopes_of(row)[i * d..][..d].iter();
                    slopes.zip(var).map(|(a, v)| a * a * v).sum::<f64>().sqrt()
                };
                let far = |i: &usize| off(*i).map_or(f64::INFINITY, |off| off.abs() / moves(*i));
                let turned_already = open.len() < outputs.iter().flatten().count();
                open.sort_by(|a, b| far(a).total_cmp(&far(b)));
                open.truncate(usize::from(!turned_already));
            }
            if open.is_empty() {
                return None;
            }
            let output = |i: &usize| outputs[*i].expect("it is short of something");
            let slopes: Vec<&[f64]> = open.iter().map(|&i| &rows.slopes_of(row)[i * d..][..d]).collect();
            let step = Step {
                slopes: &slopes.concat(),
                off: &open.iter().filter_map(|&i| off(i)).collect::<Vec<_>>(),
                noise: &open.iter().map(|i| buffer.noise_at(row, output(i), units)).collect::<Vec<_>>(),
            };
            Some(step.within(&var[row * d..][..d], &room(row)))
        };
        let step_of = |row: usize| match buffer.is_softmax() {
            true if chosen.outputs[row * chosen.k].is_none() => None,
            true => step_to_class(row),
            false => step_to_outputs(row),
        };
        for (row, step) in each_row(self.net.device().team(), self.rows, d, step_of).into_iter().enumerate() {
            step.into_iter().flatten().enumerate().for_each(|(u, by)| moved[row * d + u] += by);
        }
        self.before = Some(net.in_users_units(
            self.pass.read_prior(net.graph.output())?,
            self.rows,
            net.graph.output(),
        )?);
        let [_, var] = place.into_parts();
        let mean = scaler.map_or(moved.clone(), |s| s.undo_mean(&moved));
        (self.place, self.changed) = (Some(Gaussian::computed(mean, var, d)), true);
        Ok(())
    }

    /// The network's output before the last round.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(3).build()?;
    /// let start = Gaussian::new(vec![0.5], vec![0.1], 1)?;
    /// let mut x = net.searching(&start, &Matrix::column(vec![1.0])?)?;
    /// assert_eq!(x.round()?.output()?.mean(), net.predict(&start)?.mean());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn output(&self) -> Result<Gaussian> {
        if self.rounds == 0 {
            return Err(Error::invalid("output", "no round has been run yet"));
        }
        if let Some(before) = &self.before {
            return Ok(before.clone());
        }
        let output = self.net.graph.output();
        self.net.in_users_units(self.pass.read_prior(output)?, self.rows, output)
    }

    /// The current layer, in the units of the data.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(3).build()?;
    /// let start = Gaussian::new(vec![0.5], vec![0.1], 1)?;
    /// let mut x = net.searching(&start, &Matrix::column(vec![1.0])?)?;
    /// assert_eq!(x.posterior()?, &start); // nothing was observed yet
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn posterior(&mut self) -> Result<&Gaussian> {
        if self.place.is_none() {
            if self.rounds == 0 {
                self.pass.run(&self.net.forward, None)?;
            }
            let now = self.pass.read_prior(self.at)?;
            self.place = Some(self.net.in_users_units(now, self.rows, self.at)?);
        }
        Ok(self.place.as_ref().expect("just read"))
    }

    /// The derivative that the last round conditioned on; `None` if an output is wanted.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Network, Wanted};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(3).build()?;
    /// let mut x = net.searching(&Gaussian::new(vec![0.5], vec![0.1], 1)?, Wanted::maximum())?;
    /// assert!(x.round()?.slope().is_some());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn slope(&self) -> Option<&Derivative> {
        self.slope.as_ref()
    }

    /// Lowest and highest values of every entry, `[rows, width]` each: with [known weights](Wanted::known_weights), entries at
    /// their limit stay there and the others make up for it. Otherwise limits are ignored; see
    /// [`project`](Search::project).
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network, Wanted};
    /// # let net = Network::mlp([2, 16, 1], Activation::Tanh).seed(3).build()?;
    /// let y = Matrix::column(vec![5.0])?;
    /// let start = Gaussian::new(vec![0.5; 2], vec![0.1; 2], 2)?;
    /// let mut x = net.searching(&start, Wanted::from(&y).known_weights())?;
    /// x.limits(vec![0.4; 2], vec![0.6; 2])?;
    /// x.round()?;
    /// assert!(x.posterior()?.mean().iter().all(|x| (0.4..=0.6).contains(x)));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn limits(&mut self, low: Vec<f64>, high: Vec<f64>) -> Result<()> {
        let entries = self.rows * self.net.graph.shapes[self.at].len();
        for limits in [&low, &high] {
            if limits.len() != entries {
                return Err(Error::shape("limits", entries, limits.len()));
            }
        }
        if let Some(i) = (0..entries).find(|&i| low[i] > high[i] || low[i].is_nan() || high[i].is_nan()) {
            let why = format!("entry {i} must be between {} and {}", low[i], high[i]);
            return Err(Error::invalid("limits", why));
        }
        self.limits = Some([low, high]);
        Ok(())
    }

    /// Changes the layer between two rounds: `f` gets every row's index, means and variances. The results must
    /// be finite, and variances at least 0.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(3).build()?;
    /// let mut x = net.searching(&Gaussian::new(vec![0.5], vec![0.1], 1)?, &Matrix::column(vec![9.0])?)?;
    /// x.round()?.project(|_row, mean, _var| mean[0] = mean[0].clamp(0.4, 0.6))?;
    /// assert!((0.4..=0.6).contains(&x.posterior()?.mean()[0]));
    /// assert!(x.project(|_, mean, _| mean[0] = f64::NAN).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn project(&mut self, mut f: impl FnMut(usize, &mut [f64], &mut [f64])) -> Result<()> {
        let now = self.posterior()?;
        let (width, [mut mean, mut var]) = (now.width(), now.clone().into_parts());
        let rows = mean.chunks_exact_mut(width).zip(var.chunks_exact_mut(width));
        rows.enumerate().for_each(|(row, (mean, var))| f(row, mean, var));
        self.place = Some(Gaussian::new(mean, var, width)?);
        self.changed = true;
        Ok(())
    }
}

/// Of every row that has a class: that one, and the others that are most probable.
fn rivals(buffer: &ObservationBuffer, logits: &[f64], units: usize) -> Chosen {
    let k = units.min(1 + MOST_RIVALS);
    let of = |(row, y): (usize, &[f64])| {
        let logits = &logits[row * units..][..units];
        let seen = buffer.seen().is_none_or(|s| s[row * units]);
        let class = y.iter().position(|y| *y == 1.0).filter(|_| seen);
        let mut others: Vec<usize> = (0..units).filter(|&o| Some(o) != class).collect();
        others.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
        let all = class.into_iter().chain(others).take(k).map(|o| class.map(|_| o));
        all.collect::<Vec<_>>()
    };
    Chosen { k, outputs: buffer.y().chunks_exact(units).enumerate().flat_map(of).collect() }
}

/// T51 of a softmax, from outputs of which the first is the class: how far it is to be ahead of the others, or, if it is to be another one, that
/// of them which it takes least to put ahead. `None` where that is so.
fn ahead(
    slopes: &[f64],
    logits: &[f64],
    var: &[f64],
    classes: usize,
    other_than: bool,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let d = var.len();
    let line = |i: usize| &slopes[i * d..][..d];
    let sign = if other_than { -1.0 } else { 1.0 };
    let least = if other_than { SURE } else { SURE_OF_ALL + ((classes - 1) as f64).ln() };
    let lead = |i: usize| sign * (logits[0] - logits[i]);
    let apart = |i: usize| line(0).iter().zip(line(i)).map(|(a, b)| sign * (a - b));
    let mut open: Vec<usize> = (1..logits.len()).filter(|&i| lead(i) < least).collect();
    if other_than {
        let far = |i: &usize| {
            let moves: f64 = apart(*i).zip(var).map(|(a, v)| a * a * v).sum();
            (least + SURE - lead(*i)) / moves.sqrt()
        };
        open.sort_by(|a, b| far(a).total_cmp(&far(b)));
        open.truncate(usize::from(open.len() + 1 == logits.len()));
    }
    let off = open.iter().map(|&i| least + SURE - lead(i)).collect();
    (!open.is_empty()).then(|| (open.iter().flat_map(|&i| apart(i)).collect(), off))
}

/// At least this many numbers, and several threads share the rows.
const MANY: usize = 1 << 18;

/// The step of every row. Rows are computed independently, so the number of threads does not change them.
fn each_row<T: Send>(team: &Team, rows: usize, width: usize, of: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let parts = if rows * width < MANY { 1 } else { team.size() };
    let per = rows.div_ceil(parts).max(1);
    let part = |i: usize| (i * per..rows.min((i + 1) * per)).map(&of).collect::<Vec<T>>();
    team.map(rows.div_ceil(per), part).into_iter().flatten().collect()
}
