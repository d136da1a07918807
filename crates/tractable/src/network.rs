//! [`Network`]: the three verbs on Gaussian layers, in the user's units.

use crate::backend::{Cpu, Device, Policy, Reference, Seen, Tally};
use crate::builder::shapes;
use crate::data::Scaler;
use crate::error::{Error, Result};
use crate::gaussian::{Gaussian, Input, Matrix};
use crate::layer::{Contents, Layer, Prior};
use crate::output::{Filled, Noise, Observation, OrElse, Output, Tree, Wanted, check_size};
use crate::shape::Shape;
use crate::stack::{Broken, MeanVar, Stack, Trace};
use serde::{Deserialize, Serialize};

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
}

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

impl Network {
    /// Checks a specification and puts its numbers on a device.
    pub(crate) fn assemble(spec: Spec, contents: &[Contents], device: Device) -> Result<Self> {
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
                Engine::Cpu(Stack::new(Cpu::new(threads), &spec.layers, &shapes, contents)?)
            }
            Device::Reference => Engine::Reference(Stack::new(Reference, &spec.layers, &shapes, contents)?),
        };
        Ok(Network { spec, engine, filled: Filled::default(), standard: Default::default() })
    }

    /// **What comes out?** Mean and variance of the output for every row of `x`, in one deterministic pass.
    /// The variance is that of the network's own output; add [`Network::noise_var`] for that of a new
    /// observation. For classes the output is the tree's nodes: see [`Network::predict_classes`].
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
        let mut buffers = Default::default();
        let (mean, var) = self.standardize(x, &mut buffers);
        let out = on_device!(&self.engine, stack => stack.predict(mean, var));
        let out = out.map_err(|b| self.diverged(b))?;
        self.in_users_units(out, x.rows(), self.spec.output_scaler.as_ref(), self.spec.layers.len())
    }

    /// The mean and variance of a layer (0 is the input) as a user knows them, finite in those units too.
    fn in_users_units(
        &self,
        out: MeanVar,
        rows: usize,
        s: Option<&Scaler>,
        layer: usize,
    ) -> Result<Gaussian> {
        let (mean, var) = out;
        let width = mean.len() / rows;
        let Some(s) = s else { return Ok(Gaussian::computed(mean, var, width)) };
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
        check_size(seen, self.spec.output.units(), if self.is_double() { 1e150 } else { 1e18 })?;
        let (mean, var) = self.standardize(x, buffers);
        let policy = self.spec.policy;
        let learned = on_device!(&mut self.engine, stack => stack.learn(mean, var, seen, policy, x.rows()));
        learned.map_err(|b| self.diverged(b))
    }

    /// **What must the input, or a hidden layer, be, given what I want at the output?** The posterior of the
    /// input (or of [`Wanted::layer`]), starting from the prior `x`; the weights are left alone.
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
        let seen = filled.fill(&wanted.observation, noise, self.spec.output, scaler, x.rows())?;
        let mut buffers = Default::default();
        let (mean, var) = self.standardize(x, &mut buffers);
        let out = on_device!(&self.engine, stack => stack.condition(mean, var, seen, at, wanted.rounds));
        let out = out.map_err(|b| self.diverged(b))?;
        let scaler = self.spec.input_scaler.as_ref().filter(|_| at == 0);
        self.in_users_units(out, x.rows(), scaler, at)
    }

    fn check_input<'a>(&self, x: Input<'a>) -> Result<Input<'a>> {
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

    fn layer_index(&self, name: &str) -> Result<usize> {
        self.spec.names.iter().position(|n| n == name).ok_or_else(|| {
            let known = self.spec.names.join(", ");
            Error::invalid("layer", format!("`{name}` is not in this network; it has input, {known}"))
        })
    }

    /// Puts other numbers into the same layers.
    pub(crate) fn refill(&mut self, contents: &[Contents]) -> Result<()> {
        let shapes = shapes(self.spec.input, &self.spec.layers, &self.spec.names)?;
        on_device!(&mut self.engine, stack => stack.refill(&self.spec.layers, &shapes, contents))
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

    /// Whether numbers are kept in f64.
    pub(crate) fn is_double(&self) -> bool {
        matches!(self.engine, Engine::Reference(_))
    }

    /// Shape of one input sample.
    ///
    /// ```
    /// # use tractable::{Activation, Network, Shape};
    /// assert_eq!(Network::mlp([2, 8, 1], Activation::Relu).build()?.input(), Shape::flat(2));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn input(&self) -> Shape {
        self.spec.input
    }

    /// What the output stands for.
    ///
    /// ```
    /// # use tractable::{Activation, Network, Output};
    /// assert_eq!(Network::mlp([2, 8, 1], Activation::Relu).build()?.output(), Output::Values { width: 1 });
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn output(&self) -> Output {
        self.spec.output
    }

    /// The layers, from the input up.
    ///
    /// ```
    /// # use tractable::{Activation, Layer, Network};
    /// assert_eq!(Network::mlp([2, 8, 1], Activation::Relu).build()?.layers()[0], Layer::linear(8));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn layers(&self) -> &[Layer] {
        &self.spec.layers
    }

    /// Names of the layers, from the input up, as [`Wanted::layer`] takes them.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([2, 8, 1], Activation::Relu).build()?;
    /// assert_eq!(net.layer_names(), ["linear1", "relu1", "linear2"]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn layer_names(&self) -> &[String] {
        &self.spec.names
    }

    /// Weights and biases in all; each has a mean and a variance.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// assert_eq!(Network::mlp([2, 8, 1], Activation::Relu).build()?.parameters(), 33);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn parameters(&self) -> usize {
        let shapes = shapes(self.spec.input, &self.spec.layers, &self.spec.names).unwrap_or_default();
        let count = |(layer, &shape): (&Layer, &Shape)| {
            let (dims, biases) = layer.parameter_shape(shape).ok()??;
            Some(dims.iter().product::<usize>() + biases)
        };
        self.spec.layers.iter().zip(&shapes).filter_map(count).sum()
    }

    /// Prior of the weights.
    ///
    /// ```
    /// # use tractable::{Activation, Network, Prior};
    /// assert_eq!(Network::mlp([2, 8, 1], Activation::Relu).build()?.prior(), Prior::he());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn prior(&self) -> Prior {
        self.spec.prior
    }

    /// How a batch changes the weights.
    ///
    /// ```
    /// # use tractable::{Activation, Network, Policy};
    /// assert_eq!(Network::mlp([2, 8, 1], Activation::Relu).build()?.policy(), Policy::Capped);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn policy(&self) -> Policy {
        self.spec.policy
    }

    /// The seed the weights were drawn with.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// assert_eq!(Network::mlp([2, 8, 1], Activation::Relu).build()?.seed(), 0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn seed(&self) -> u64 {
        self.spec.seed
    }

    /// Epochs of [fitting](Network::fit) done so far.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// assert_eq!(Network::mlp([2, 8, 1], Activation::Relu).build()?.epochs(), 0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn epochs(&self) -> usize {
        self.spec.epochs
    }

    /// Noise of the observations as the network uses it: standard deviations, one for all outputs or one for
    /// each, in standardised units where targets are standardised.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// assert_eq!(Network::mlp([2, 8, 1], Activation::Relu).build()?.noise_std(), [1.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn noise_std(&self) -> &[f64] {
        &self.spec.noise.0
    }

    /// Variance of the noise in the units of the target, one for every output unit: what to add to a
    /// prediction's variance for that of a new observation.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([2, 8, 2], Activation::Relu).noise_std([0.5]).build()?;
    /// assert_eq!(net.noise_var(), [0.25, 0.25]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn noise_var(&self) -> Vec<f64> {
        let noise = &self.spec.noise.0;
        let var: Vec<f64> = (0..self.spec.output.units()).map(|i| noise[i % noise.len()].powi(2)).collect();
        self.spec.output_scaler.as_ref().map_or(var.clone(), |s| s.undo_var(&var))
    }

    /// Changes the noise of the observations.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let mut net = Network::mlp([2, 8, 1], Activation::Relu).build()?;
    /// net.set_noise_std([0.3])?;
    /// assert!(net.set_noise_std([0.0]).is_err());
    /// assert_eq!(net.noise_std(), [0.3]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn set_noise_std(&mut self, std: impl IntoIterator<Item = f64>) -> Result<()> {
        self.spec.noise = Noise::new(std.into_iter().collect(), self.spec.output.units())?;
        Ok(())
    }

    /// Standardisation of inputs and targets, kept and saved with the network: from now on inputs and
    /// outputs are in the units the scalers were fitted to.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network, data::Scaler};
    /// let mut net = Network::mlp([1, 8, 1], Activation::Relu).build()?;
    /// let (x, y) = (Matrix::column(vec![10.0, 30.0])?, Matrix::column(vec![500.0, 700.0])?);
    /// net.set_scalers(Some(Scaler::fit(&x)), Some(Scaler::fit(&y)))?;
    /// assert_eq!(net.noise_var(), [100.0 * 100.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn set_scalers(&mut self, input: Option<Scaler>, output: Option<Scaler>) -> Result<()> {
        let below = ("input scaler", &input, self.spec.input.len());
        for (what, scaler, width) in [below, ("output scaler", &output, self.spec.output.units())] {
            if let Some(s) = scaler {
                s.check()?;
                if s.width() != width {
                    return Err(Error::shape(what, format!("{width} columns"), s.width()));
                }
            }
        }
        if output.is_some() && matches!(self.spec.output, Output::Classes { .. }) {
            return Err(Error::invalid("output scaler", "labels are not scaled"));
        }
        (self.spec.input_scaler, self.spec.output_scaler) = (input, output);
        Ok(())
    }

    /// Standardisation of the inputs, if any.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// assert!(Network::mlp([2, 8, 1], Activation::Relu).build()?.input_scaler().is_none());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn input_scaler(&self) -> Option<&Scaler> {
        self.spec.input_scaler.as_ref()
    }

    /// Standardisation of the targets, if any.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// assert!(Network::mlp([2, 8, 1], Activation::Relu).build()?.output_scaler().is_none());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn output_scaler(&self) -> Option<&Scaler> {
        self.spec.output_scaler.as_ref()
    }

    /// Names of the input columns, from the data set the network was fitted to.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// assert!(Network::mlp([2, 8, 1], Activation::Relu).build()?.input_names().is_empty());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn input_names(&self) -> &[String] {
        &self.spec.input_names
    }

    /// Names of the output columns, from the data set the network was fitted to.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// assert!(Network::mlp([2, 8, 1], Activation::Relu).build()?.output_names().is_empty());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn output_names(&self) -> &[String] {
        &self.spec.output_names
    }

    /// Names of the classes, from the data set the network was fitted to.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// assert!(Network::mlp([2, 8, 3], Activation::Relu).classes(3).build()?.class_names().is_empty());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn class_names(&self) -> &[String] {
        &self.spec.class_names
    }
}
