//! [`Network`]: the three verbs on Gaussian layers, in the user's units.

mod forget;
mod settings;

use crate::backend::{Cpu, Device, Policy, Reference, Seen, Tally};
use crate::builder::shapes;
use crate::data::Scaler;
use crate::error::{Error, Result};
use crate::gaussian::{Gaussian, Input, Matrix};
use crate::layer::{Contents, Layer, Prior};
use crate::output::{Filled, Goal, Noise, Observation, OrElse, Output, Tree, Wanted, check_size};
use crate::shape::Shape;
use crate::stack::{Broken, MeanVar, Slope, Stack, Trace};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A network whose weights, hidden units and inputs are all Gaussian.
///
/// ```
/// use tractable::{Activation, Gaussian, Matrix, Network, Wanted};
/// let mut net = Network::mlp([1, 32, 1], Activation::Tanh).noise_std([0.1]).seed(0).build()?;
/// let x = Matrix::column(vec![-1.0, 0.0, 1.0])?;
/// let y = Matrix::column(vec![-0.8, 0.0, 0.8])?;
/// for _ in 0..50 {
///     net.learn(&x, &y)?; // what do the data say about the weights?
/// }
/// let out = net.predict(&x)?; // what comes out?
/// assert!((out.mean()[2] - 0.8).abs() < 0.2);
/// // What must the input be for an output of 0.4?
/// let x = net.condition(&Gaussian::new(vec![0.2], vec![0.1], 1)?, &Matrix::column(vec![0.4])?)?;
/// assert!(x.mean()[0] > 0.2);
/// # Ok::<(), tractable::Error>(())
/// ```
pub struct Network {
    pub(crate) spec: Spec,
    engine: Engine,
    /// Buffers of `learn`, kept from batch to batch.
    filled: Filled,
    standard: [Vec<f64>; 2],
    device: Device,
    /// Rows that `predict` and `condition` take at a time, so that their states stay small.
    at_once: usize,
}

/// Numbers in the states of all layers that a pass without learning may hold.
const MOST_NUMBERS: usize = 1 << 24;

/// Everything about a network but its numbers: what a file's metadata holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
    pub(crate) input: Shape,
    pub(crate) layers: Vec<Layer>,
    pub(crate) names: Vec<String>,
    pub(crate) output: Output,
    pub(crate) prior: Prior,
    pub(crate) policy: Policy,
    pub(crate) seed: u64,
    pub(crate) noise: Noise,
    /// Epochs of fitting done so far.
    pub(crate) epochs: usize,
    pub(crate) input_scaler: Option<Scaler>,
    pub(crate) output_scaler: Option<Scaler>,
    pub(crate) input_names: Vec<String>,
    pub(crate) output_names: Vec<String>,
    pub(crate) class_names: Vec<String>,
}

impl Spec {
    /// A network that has seen nothing, with every setting at its default.
    pub(crate) fn new(input: Shape, layers: Vec<Layer>, names: Vec<String>, output: Output) -> Self {
        Spec {
            input,
            layers,
            names,
            output,
            prior: Prior::default(),
            policy: Policy::default(),
            seed: 0,
            noise: Noise(vec![1.0]),
            epochs: 0,
            input_scaler: None,
            output_scaler: None,
            input_names: Vec::new(),
            output_names: Vec::new(),
            class_names: Vec::new(),
        }
    }
}

/// The layers on the device that was asked for.
enum Engine {
    Cpu(Stack<Cpu>),
    Reference(Stack<Reference>),
}

/// Does the same with whichever stack there is.
macro_rules! on_device {
    ($engine:expr, $stack:ident => $body:expr) => {
        match $engine {
            Engine::Cpu($stack) => $body,
            Engine::Reference($stack) => $body,
        }
    };
}

// After the macro it uses.
mod input;

/// What one call of [`Network::learn`] did.
///
/// ```
/// # use tractable::{Activation, Matrix, Network};
/// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
/// let info = net.learn(&Matrix::column(vec![0.5])?, &Matrix::column(vec![1.0])?)?;
/// assert_eq!((info.rows, info.capped, info.repaired), (1, 0, 0));
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct LearnInfo {
    /// Samples learned from.
    pub rows: usize,
    /// Parameters whose step was limited by [`Policy::Capped`].
    pub capped: u64,
    /// Parameters whose variance would not have stayed positive and was set to a small one.
    pub repaired: u64,
}

impl std::ops::AddAssign for LearnInfo {
    fn add_assign(&mut self, other: Self) {
        self.rows += other.rows;
        self.capped += other.capped;
        self.repaired += other.repaired;
    }
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Network").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// A second network with the same weights, on the same kind of device with a team of its own.
impl Clone for Network {
    fn clone(&self) -> Self {
        let contents: Vec<_> = self.contents().into_iter().map(Option::unwrap_or_default).collect();
        Network::assemble(self.spec.clone(), &contents, self.device)
            .expect("what was built once builds again")
    }
}

impl Network {
    /// Checks a specification and puts its numbers on a device.
    pub(crate) fn assemble(spec: Spec, contents: &[Contents], device: Device) -> Result<Self> {
        let mut net = Network::empty(spec, device)?;
        net.refill(contents);
        Ok(net)
    }

    /// Checks a specification and makes room for its numbers on a device; they are zero until they are filled in.
    pub(crate) fn empty(spec: Spec, device: Device) -> Result<Self> {
        let shapes = shapes(spec.input, &spec.layers, &spec.names)?;
        let units = shapes.last().expect("there is a layer").len();
        if let Output::Classes { classes } = spec.output {
            Tree::new(classes)?;
        }
        if spec.output.units() != units {
            let kind = match spec.output {
                Output::Values { .. } => "numbers",
                Output::Classes { .. } => "nodes of the class tree",
            };
            let expected = format!("{} units, the {kind}", spec.output.units());
            return Err(Error::shape("last layer", expected, units));
        }
        let engine = match device {
            Device::Cpu { threads } => {
                if threads > 1024 {
                    return Err(Error::invalid("threads", format!("{threads} is more than 1024")));
                }
                Engine::Cpu(Stack::new(Cpu::new(threads), &spec.layers, &shapes)?)
            }
            Device::Reference => Engine::Reference(Stack::new(Reference, &spec.layers, &shapes)?),
        };
        let at_once = on_device!(&engine, stack => (MOST_NUMBERS / stack.numbers(&shapes)).max(1));
        Ok(Network { spec, engine, filled: Filled::default(), standard: Default::default(), device, at_once })
    }

    /// **What comes out?** Mean and variance of the output for every row of `x`, in one deterministic pass.
    /// The variance is that of the network's own output; add [`Network::noise_var`] for that of a new
    /// observation. For classes the output is the tree's nodes: see [`Network::predict_classes`]. Far from the
    /// data the variance is too small.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network};
    /// let net = Network::mlp([2, 8, 1], Activation::Relu).build()?;
    /// let sure = net.predict(&Matrix::new(vec![0.5, 1.0], 2)?)?;
    /// let unsure = net.predict(&Gaussian::new(vec![0.5, 1.0], vec![0.1, 0.1], 2)?)?;
    /// assert!(unsure.var()[0] > sure.var()[0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn predict<'a>(&self, x: impl Into<Input<'a>>) -> Result<Gaussian> {
        let x = self.check_input(x.into())?;
        let out = self.in_parts(x.rows(), |rows| {
            let mut buffers = Default::default();
            let (mean, var) = self.standardize(x.rows_between(rows.start, rows.end), &mut buffers);
            on_device!(&self.engine, stack => stack.predict(mean, var))
        })?;
        self.in_users_units(out, x.rows(), self.spec.output_scaler.as_ref(), self.spec.layers.len())
    }

    /// The mean and variance of a layer (0 is the input) as a user knows them, finite in those units too.
    fn in_users_units(
        &self,
        [mean, var]: MeanVar,
        rows: usize,
        scaler: Option<&Scaler>,
        layer: usize,
    ) -> Result<Gaussian> {
        let width = mean.len() / rows;
        let Some(s) = scaler else { return Ok(Gaussian::computed(mean, var, width)) };
        let (mean, var) = (s.undo_mean(&mean), s.undo_var(&var));
        let not_finite = |v: &[f64]| v.iter().position(|v| !v.is_finite()).map(|at| (at, v[at]));
        match not_finite(&mean).or(not_finite(&var)) {
            Some((at, value)) => Err(self.diverged(Broken { layer, row: at / width, value })),
            None => Ok(Gaussian::computed(mean, var, width)),
        }
    }

    /// Probability of every class, `[rows, classes]`; each row sums to 1.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let net = Network::mlp([2, 8, 3], Activation::Relu).classes(3).build()?;
    /// let p = net.predict_classes(&Matrix::new(vec![0.5, 1.0], 2)?)?;
    /// assert_eq!(p.width(), 3);
    /// assert!((p.row(0).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn predict_classes<'a>(&self, x: impl Into<Input<'a>>) -> Result<Matrix> {
        let Output::Classes { classes } = self.spec.output else {
            return Err(Error::invalid("predict_classes", "this network puts out numbers; use predict"));
        };
        let tree = Tree::new(classes)?;
        let out = self.predict(x)?;
        let rows = out.mean().chunks_exact(tree.nodes()).zip(out.var().chunks_exact(tree.nodes()));
        Matrix::new(rows.flat_map(|(m, v)| tree.probabilities(m, v)).collect(), classes)
    }

    /// **What do the data say about the weights?** Updates them with one batch; each row of `x` goes with
    /// one row of the observation. An error leaves the network as it was.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let mut net = Network::mlp([2, 8, 3], Activation::Relu).classes(3).build()?;
    /// let x = Matrix::new(vec![0.5, 1.0, -0.5, 0.0], 2)?;
    /// let info = net.learn(&x, &[2, 0])?;
    /// assert_eq!(info.rows, 2);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn learn<'a, 'b>(
        &mut self,
        x: impl Into<Input<'a>>,
        observation: impl Into<Observation<'b>>,
    ) -> Result<LearnInfo> {
        let x = self.check_input(x.into())?;
        let observation = observation.into();
        let mut buffers = std::mem::take(&mut self.standard);
        let mut filled = std::mem::take(&mut self.filled);
        let learned = self.learn_with(x, &observation, &mut buffers, &mut filled);
        (self.standard, self.filled) = (buffers, filled);
        let tally = learned?;
        Ok(LearnInfo { rows: x.rows(), capped: tally.capped, repaired: tally.repaired })
    }

    fn learn_with(
        &mut self,
        x: Input<'_>,
        observation: &Observation<'_>,
        buffers: &mut [Vec<f64>; 2],
        filled: &mut Filled,
    ) -> Result<Tally> {
        let noise = OrElse::Network(&self.spec.noise);
        let scaler = self.spec.output_scaler.as_ref();
        let seen = filled.fill(observation, noise, self.spec.output, scaler, x.rows())?;
        check_size(seen, self.spec.output.units(), self.largest())?;
        let (mean, var) = self.standardize(x, buffers);
        let policy = self.spec.policy;
        let learned = on_device!(&mut self.engine, stack => stack.learn(mean, var, seen, policy, x.rows()));
        learned.map_err(|b| self.diverged(b))
    }

    /// **What must the input, or a hidden layer, be, given what I want at the output?** The posterior of the
    /// input (or of [`Wanted::layer`]), starting from the prior `x`; the weights are left alone. Hidden units
    /// count as independent, so a large prior variance makes the input move too far in one round:
    /// see [`Wanted::rounds`].
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Network, Wanted};
    /// let net = Network::mlp([4, 16, 3], Activation::Relu).classes(3).seed(1).build()?;
    /// let x = Gaussian::new(vec![0.1, 0.2, 0.3, 0.4], vec![0.01; 4], 4)?;
    /// let changed = net.condition(&x, Wanted::from(&[2]).rounds(20))?;
    /// let p = |x| net.predict_classes(x).map(|p| p.data()[2]);
    /// assert!(p(&changed)? > p(&x)?);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn condition<'a, 'b>(
        &self,
        x: impl Into<Input<'a>>,
        wanted: impl Into<Wanted<'b>>,
    ) -> Result<Gaussian> {
        let x = self.check_input(x.into())?;
        let wanted = wanted.into();
        let at = match wanted.layer {
            None | Some("input") => 0,
            Some(name) => self.layer_index(name)? + 1,
        };
        if wanted.rounds == 0 {
            return Err(Error::invalid("rounds", "at least one is needed"));
        }
        if at == 0 && x.var().is_none_or(|v| v.iter().all(|&v| v == 0.0)) {
            return Err(Error::invalid(
                "input",
                "it is known exactly, so nothing can move: give it a variance",
            ));
        }
        let mut filled = Filled::default();
        let noise = OrElse::Var(wanted.noise_var);
        let scaler = self.spec.output_scaler.as_ref();
        let observation = match &wanted.goal {
            Goal::Output(observation) => observation,
            &Goal::Stationary { towards, output, gate } => {
                let slope = self.slope(wanted.layer.unwrap_or("input"), output, gate)?;
                return self.condition_stationary(x, slope, towards, &wanted);
            }
        };
        let seen = filled.fill(observation, noise, self.spec.output, scaler, x.rows())?;
        check_size(seen, self.spec.output.units(), self.largest())?;
        let out = self.in_parts(x.rows(), |rows| {
            let mut buffers = Default::default();
            let seen = seen.rows_between(rows.clone(), self.spec.output.units());
            let (mean, var) = self.standardize(x.rows_between(rows.start, rows.end), &mut buffers);
            on_device!(&self.engine, stack => stack.condition(mean, var, seen, at, wanted.rounds))
        })?;
        self.in_users_units(out, x.rows(), self.scaler_at(at), at)
    }

    /// `condition` on a derivative that is zero.
    fn condition_stationary(
        &self,
        x: Input<'_>,
        slope: Slope,
        towards: f64,
        wanted: &Wanted<'_>,
    ) -> Result<Gaussian> {
        self.check_can_move(slope.at)?;
        if !(wanted.noise_var >= 0.0 && wanted.noise_var.is_finite()) {
            let why = format!("a variance of {} is not a number of at least 0", wanted.noise_var);
            return Err(Error::invalid("noise", why));
        }
        let (y_unit, x_units) = self.units_of(slope);
        let noise: Vec<f64> = x_units.iter().map(|x| wanted.noise_var * (x / y_unit).powi(2)).collect();
        let out = self.in_parts(x.rows(), |rows| {
            let mut buffers = Default::default();
            let (mean, var) = self.standardize(x.rows_between(rows.start, rows.end), &mut buffers);
            let rounds = wanted.rounds;
            on_device!(&self.engine, stack => stack.stationary(mean, var, slope, &noise, towards, rounds))
        })?;
        self.in_users_units(out, x.rows(), self.scaler_at(slope.at), slope.at)
    }

    /// The scaler of a state, 0 being the input's.
    pub(crate) fn scaler_at(&self, at: usize) -> Option<&Scaler> {
        match at {
            0 => self.spec.input_scaler.as_ref(),
            last if last == self.spec.layers.len() => self.spec.output_scaler.as_ref(),
            _ => None,
        }
    }

    /// Runs a pass over so many rows at a time that its states stay small, and puts the results together.
    fn in_parts<const N: usize>(
        &self,
        rows: usize,
        pass: impl Fn(std::ops::Range<usize>) -> std::result::Result<[Vec<f64>; N], Broken>,
    ) -> Result<[Vec<f64>; N]> {
        let mut all = [const { Vec::new() }; N];
        for from in (0..rows).step_by(self.at_once) {
            let to = rows.min(from + self.at_once);
            let part = pass(from..to).map_err(|b| self.diverged(Broken { row: from + b.row, ..b }))?;
            for (all, part) in all.iter_mut().zip(part) {
                // The first part says how much there will be.
                let width = part.len() / (to - from);
                all.reserve_exact(rows * width - all.len());
                all.extend(part);
            }
        }
        Ok(all)
    }

    /// A derivative's mean, variance and covariance with the layer, in the network's own units.
    pub(crate) fn slopes(&self, x: Input<'_>, slope: Slope) -> Result<[Vec<f64>; 3]> {
        let out = self.in_parts(x.rows(), |rows| {
            let mut buffers = Default::default();
            let (mean, var) = self.standardize(x.rows_between(rows.start, rows.end), &mut buffers);
            on_device!(&self.engine, stack => stack.derivative(mean, var, slope))
        })?;
        for part in &out {
            if let Some(at) = part.iter().position(|v| !v.is_finite()) {
                let row = at / (part.len() / x.rows());
                return Err(self.diverged(Broken { layer: slope.at, row, value: part[at] }));
            }
        }
        Ok(out)
    }

    /// Mean and variance of the input and of every layer, in the network's own units.
    pub(crate) fn states(&self, x: Input<'_>) -> Result<Vec<MeanVar>> {
        let mut buffers = Default::default();
        let (mean, var) = self.standardize(x, &mut buffers);
        on_device!(&self.engine, stack => stack.states(mean, var)).map_err(|b| self.diverged(b))
    }

    pub(crate) fn check_input<'a>(&self, x: Input<'a>) -> Result<Input<'a>> {
        if x.width() != self.spec.input.len() {
            return Err(Error::shape("input", format!("{} columns", self.spec.input.len()), x.width()));
        }
        if x.rows() == 0 {
            return Err(Error::shape("input", "at least one row", 0));
        }
        Ok(x)
    }

    /// The input in the network's own units; `buffers` hold it where that differs.
    fn standardize<'x>(
        &self,
        x: Input<'x>,
        buffers: &'x mut [Vec<f64>; 2],
    ) -> (&'x [f64], Option<&'x [f64]>) {
        let Some(scaler) = &self.spec.input_scaler else { return (x.mean(), x.var()) };
        let [mean, var] = buffers;
        mean.clear();
        mean.extend_from_slice(x.mean());
        scaler.apply_in_place(mean);
        let var = x.var().map(|v| {
            var.clear();
            var.extend(v.iter().zip(scaler.std().iter().cycle()).map(|(v, std)| v / (std * std)));
            &var[..]
        });
        (mean, var)
    }

    fn diverged(&self, b: Broken) -> Error {
        let layer = match b.layer.checked_sub(1) {
            None => "input".into(),
            Some(i) => self.spec.names[i].clone(),
        };
        Error::Diverged { layer, row: b.row, value: b.value }
    }

    pub(crate) fn layer_index(&self, name: &str) -> Result<usize> {
        self.spec.names.iter().position(|n| n == name).ok_or_else(|| {
            let known = self.spec.names.join(", ");
            Error::invalid("layer", format!("`{name}` is not in this network; it has input, {known}"))
        })
    }

    /// Puts other numbers into the same layers, one of `contents` a layer.
    pub(crate) fn refill(&mut self, contents: &[Contents]) {
        for (layer, c) in contents.iter().enumerate() {
            self.fill(layer, 0..c.parameters.bias_mean.len(), c);
        }
    }

    /// Puts other numbers into some outputs of a layer; of a normalisation, into all.
    pub(crate) fn fill(&mut self, layer: usize, outputs: Range<usize>, contents: &Contents) {
        on_device!(&mut self.engine, stack => stack.fill(layer, outputs, contents));
    }

    /// Weights and biases of a layer as they are now: weights `[out, in]`, or `[out, in * rows * columns]` for a
    /// convolution, one row an output; batch normalisation has one weight a channel. `None` for a layer
    /// without any.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([2, 8, 1], Activation::Relu).build()?;
    /// let (weights, biases) = net.weights("linear1")?.expect("a linear layer has weights");
    /// assert_eq!((weights.rows(), weights.width(), biases.width()), (8, 2, 8));
    /// assert!(net.weights("relu1")?.is_none());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn weights(&self, layer: &str) -> Result<Option<(Gaussian, Gaussian)>> {
        let at = self.layer_index(layer)?;
        Ok(self.contents().swap_remove(at).map(|c| {
            let p = c.parameters;
            let outputs = p.bias_mean.len();
            let width = p.mean.len() / outputs;
            let (weights, biases) = ((p.mean, p.var), (p.bias_mean, p.bias_var));
            (Gaussian::computed(weights.0, weights.1, width), Gaussian::computed(biases.0, biases.1, outputs))
        }))
    }

    /// Parameters of every layer that has any.
    pub(crate) fn contents(&self) -> Vec<Option<Contents>> {
        on_device!(&self.engine, stack => stack.contents())
    }

    /// States and innovations of every layer for one batch in the network's own units.
    pub(crate) fn trace(&self, mean: &[f64], var: Option<&[f64]>, seen: Seen<'_>) -> Result<Vec<Trace>> {
        let out = on_device!(&self.engine, stack => stack.trace(mean, var, seen));
        out.map_err(|b| self.diverged(b))
    }

    /// Posterior of the input in the network's own units.
    pub(crate) fn condition_seen(
        &self,
        mean: &[f64],
        var: Option<&[f64]>,
        seen: Seen<'_>,
    ) -> Result<MeanVar> {
        let out = on_device!(&self.engine, stack => stack.condition(mean, var, seen, 0, 1));
        out.map_err(|b| self.diverged(b))
    }

    /// Updates the weights with a batch in the network's own units.
    pub(crate) fn learn_seen(&mut self, mean: &[f64], var: Option<&[f64]>, seen: Seen<'_>) -> Result<Tally> {
        let (policy, rows) = (self.spec.policy, mean.len() / self.spec.input.len());
        let out = on_device!(&mut self.engine, stack => stack.learn(mean, var, seen, policy, rows));
        out.map_err(|b| self.diverged(b))
    }

    /// The largest number to observe: its square must not overflow.
    fn largest(&self) -> f64 {
        if self.is_double() { 1e150 } else { 1e18 }
    }

    /// Whether numbers are kept in f64.
    pub(crate) fn is_double(&self) -> bool {
        matches!(self.engine, Engine::Reference(_))
    }
}
