//! [`Network`]: the three verbs on Gaussian layers, in the user's units.

mod accumulate;
mod forget;
mod gradient;
mod increment;
mod mark;
mod merge;
mod one;
mod parts;
mod predict;
#[cfg(feature = "csv")]
mod prepared;
mod resident;
mod rows;
mod settings;
mod slopes;
mod snapshot;
mod spec;

pub use accumulate::Sums;
pub use increment::Increment;
pub(crate) use mark::Done;
pub use mark::Mark;
pub(crate) use resident::Resident;
pub(crate) use rows::{Ask, Chosen};
pub(crate) use snapshot::Snapshot;
pub(crate) use spec::Spec;

use crate::engine::{self, ActivePass, Batch, Engine, InferredNoise, MeanVar};
use crate::graph::Graph;
use crate::layer::Contents;
use crate::layer::Layer;
use crate::output::{Noise, Observation, ObservationBuffer, Output, Prediction};
use crate::plan::Op;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Gaussian, Input, Matrix};
use tractable_core::metrics::Tails;
use tractable_core::moments::noise;
use tractable_data::Scaler;
use tractable_devices::{Device, Purpose, Tally, Update};
#[cfg(feature = "verify")]
use tractable_devices::{Field, Seen};

/// A network with Gaussian weights, hidden units and inputs.
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
/// let x = net.search(&Gaussian::new(vec![0.2], vec![0.1], 1)?, &Matrix::column(vec![0.4])?)?;
/// assert!(x.mean()[0] > 0.2);
/// # Ok::<(), tractable::Error>(())
/// ```
pub struct Network {
    pub(crate) spec: Spec,
    pub(crate) graph: Arc<Graph>,
    pub(crate) engine: Box<dyn Engine>,
    /// The plan of a prediction.
    pub(crate) forward: Vec<Op>,
    /// Buffers of `learn`, kept from batch to batch.
    observed: ObservationBuffer,
    standard: [Vec<f64>; 2],
    /// What `learn_one` reads back.
    told: [Vec<f64>; 3],
    device: Device,
    /// Updates so far, for increments.
    done: Done,
    /// Rows that `predict` and `condition` process at a time, to limit memory.
    at_once: usize,
}

/// Maximum size of all states in a pass without learning, on the host and on a separate device.
const MOST_NUMBERS: usize = 1 << 24;
const MOST_NUMBERS_AWAY: usize = 1 << 28;

/// What one call of [`Network::learn`] did.
///
/// ```
/// # use tractable::{Activation, Matrix, Network};
/// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
/// let info = net.learn(&Matrix::column(vec![0.5])?, &Matrix::column(vec![1.0])?)?;
/// assert_eq!((info.rows, info.capped, info.repaired), (1, 0, 0));
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "files", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LearnInfo {
    /// Samples learned from.
    pub rows: usize,
    /// Parameters whose step was limited by [`UpdateRule::Capped`](crate::UpdateRule::Capped).
    pub capped: u64,
    /// Parameters whose variance would have become non-positive and was set to a small one.
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
    /// A second network with the same weights, on the same device.
    ///
    /// # Errors
    /// If the device has no memory left, or was lost.
    ///
    /// ```
    /// use tractable::{Activation, Matrix, Network};
    /// let net = Network::mlp([1, 4, 1], Activation::Relu).build()?;
    /// let mut other = net.try_clone()?;
    /// let x = Matrix::column(vec![0.5])?;
    /// other.learn(&x, &x)?;
    /// assert_ne!(net.predict(&x)?, other.predict(&x)?);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn try_clone(&self) -> Result<Self> {
        let copy = Network::assemble(self.spec.clone(), &self.all_contents()?, self.device.clone())?;
        Ok(Network { done: self.done, ..copy })
    }

    /// Checks a specification and puts its numbers on a device.
    pub(crate) fn assemble(spec: Spec, contents: &[Contents], device: Device) -> Result<Self> {
        let mut net = Network::empty(spec, device)?;
        net.refill(contents)?;
        Ok(net)
    }

    /// Checks a specification and makes room for its numbers on a device; they are zero until they are filled in.
    pub(crate) fn empty(spec: Spec, device: Device) -> Result<Self> {
        let graph = Arc::new(spec.graph()?);
        spec.update.check()?;
        let units = graph.shapes[graph.output()].len();
        if spec.output.classes() > 0 {
            spec.output.class_units()?;
        }
        if spec.output.units() != units {
            let kind = match spec.output {
                Output::Values { .. } => "numbers",
                Output::Classes { .. } if spec.output.is_softmax() => "classes",
                Output::Classes { .. } => "nodes of the class tree",
            };
            let expected = format!("{} units, the {kind}", spec.output.units());
            return Err(Error::shape("last layer", expected, units));
        }
        if spec.output.is_softmax() && graph.shapes[graph.output()].pixels() > 1 {
            let why = "a softmax needs one pixel with a channel for every class";
            return Err(Error::invalid("last layer", why));
        }
        let priors = (0..spec.layers.len()).map(|i| spec.prior_of(&graph, i)).collect::<Result<Vec<_>>>()?;
        let mut engine = engine::load(&device, &graph, priors)?;
        engine.set_noise(spec.inferred_noise());
        let most = if engine.keeps_data() { MOST_NUMBERS_AWAY } else { MOST_NUMBERS };
        Ok(Network {
            at_once: (most / engine.numbers()).max(1),
            forward: graph.forward(0, Purpose::Predict),
            observed: ObservationBuffer::default(),
            standard: Default::default(),
            told: Default::default(),
            done: Done::default(),
            spec,
            graph,
            engine,
            device,
        })
    }

    /// **What is the output?** Mean and variance of the output for every row of `x`, in one deterministic pass.
    /// The variance is that of the network's own output; the noise of a new observation is returned separately. For uncertain inputs,
    /// covariances between units are included; for exact inputs, units are treated as independent. Each row is predicted
    /// as if it were alone. For classes the
    /// output is the tree's nodes: see [`Network::predict_classes`]. Far from the data the variance is too small;
    /// use an `Ensemble` there.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network};
    /// let net = Network::mlp([2, 8, 1], Activation::Relu).build()?;
    /// let sure = net.predict(&Matrix::new(vec![0.5, 1.0], 2)?)?;
    /// let unsure = net.predict(&Gaussian::new(vec![0.5, 1.0], vec![0.1, 0.1], 2)?)?;
    /// assert!(unsure.var()[0] > sure.var()[0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn predict<'a>(&self, x: impl Into<Input<'a>>) -> Result<Prediction> {
        let x = self.check_input(x.into())?;
        let output = self.graph.output();
        let [mean, var, noise] = self.predict_standard(x)?;
        let noise = self.scaler_at(output).map_or(noise.clone(), |s| s.undo_var(&noise));
        Prediction::new(self.in_users_units([mean, var], x.rows(), output)?, noise, vec![Tails::Normal])
    }

    /// Variance of the noise of every entry of a pass, in the network's own units.
    fn noise_of(&self, pass: &dyn ActivePass, rows: usize) -> Result<Vec<f64>> {
        if let Some(head) = self.graph.head {
            let [mean, var] = pass.read_prior(head + 1)?;
            return Ok(mean.iter().zip(&var).map(|(&m, &v)| noise::expected(m, v)).collect());
        }
        let (std, units) = (&self.spec.noise.0, self.spec.output.units());
        if self.spec.output.is_softmax() {
            return Ok(vec![0.0; rows * units]);
        }
        Ok((0..rows * units).map(|i| std[i % units % std.len()].powi(2)).collect())
    }

    /// Whether the device queues batches, so that the host can run ahead of it.
    pub(crate) fn works_ahead(&self) -> bool {
        self.engine.keeps_data()
    }

    /// The update of the weights by a batch with this weight.
    fn update(&self, weight: f64) -> Update {
        let rule = self.spec.update;
        Update { rule, weight, average: rule.average(self.spec.averaged) }
    }

    /// A pass with these samples in it, forward.
    pub(crate) fn forward(&self, x: Input<'_>) -> Result<Box<dyn ActivePass + '_>> {
        let mut pass = self.pass_of(x)?;
        pass.run(&self.forward, None)?;
        Ok(pass)
    }

    /// A pass for the caller alone.
    pub(crate) fn pass(&self) -> Box<dyn ActivePass + '_> {
        self.engine.pass()
    }

    /// Samples in the network's own units.
    pub(crate) fn own_units(&self, x: Input<'_>) -> (Vec<f64>, Option<Vec<f64>>) {
        let mut buffers = Default::default();
        let (mean, var) = self.standardize(x, &mut buffers);
        (mean.to_vec(), var.map(<[f64]>::to_vec))
    }

    /// A pass with these samples in it.
    pub(crate) fn pass_of(&self, x: Input<'_>) -> Result<Box<dyn ActivePass + '_>> {
        let mut buffers = Default::default();
        let (mean, var) = self.standardize(x, &mut buffers);
        let mut pass = self.engine.pass();
        pass.write(0, mean, var)?;
        Ok(pass)
    }

    /// The mean and variance of a state (0 is the input) in the user's units; finite in those units too.
    pub(crate) fn in_users_units(&self, [mean, var]: MeanVar, rows: usize, state: usize) -> Result<Gaussian> {
        let width = mean.len() / rows;
        let (mean, var) = match self.scaler_at(state) {
            None => (mean, var),
            Some(s) => (s.undo_mean(&mean), s.undo_var(&var)),
        };
        for v in [&mean, &var] {
            if let Some(at) = v.iter().position(|v| !v.is_finite()) {
                return Err(self.diverged(state, at / width, v[at]));
            }
        }
        Ok(Gaussian::computed(mean, var, width))
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
        self.class_probabilities(&self.predict(x)?)
    }

    /// The class probabilities of a [prediction](Network::predict), calibrated if the network is.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let net = Network::mlp([2, 8, 3], Activation::Relu).classes(3).build()?;
    /// let x = Matrix::new(vec![0.5, 1.0], 2)?;
    /// assert_eq!(net.class_probabilities(&net.predict(&x)?)?, net.predict_classes(&x)?);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn class_probabilities<'a>(&self, out: impl Into<Input<'a>>) -> Result<Matrix> {
        let out = out.into();
        let Output::Classes { classes, .. } = self.spec.output else {
            return Err(Error::invalid("predict_classes", "this is a regression model; use predict"));
        };
        let units = self.spec.output.class_units()?;
        if out.width() != units.units() {
            let expected = format!("{} units of the output", units.units());
            return Err(Error::shape("prediction", expected, out.width()));
        }
        let known = || Cow::Owned(vec![0.0; out.mean().len()]);
        let var = out.var().map_or_else(known, Cow::Borrowed);
        let rows = out.mean().chunks_exact(units.units()).zip(var.chunks_exact(units.units()));
        let p = rows.map(|(m, v)| units.probabilities(m, v));
        let p: Vec<f64> = match self.spec.calibration {
            None => p.flatten().collect(),
            Some(calibration) => p.flat_map(|p| calibration.of(&p)).collect(),
        };
        Matrix::new(p, classes)
    }

    /// **What do the data say about the weights?** Updates them with one batch; each row of `x` belongs to
    /// one row of the observation. An error leaves the network unchanged. Running statistics of batch normalisation follow the batch.
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
        let mut observed = std::mem::take(&mut self.observed);
        let learned = observed
            .fill(
                &observation,
                self.spec.default_noise(),
                self.spec.output,
                self.spec.output_scaler.as_ref(),
                x.rows(),
                self.largest(),
            )
            .and_then(|()| {
                let (mean, var) = self.standardize(x, &mut buffers);
                let seen = observed.observed(self.spec.output.units());
                self.engine.learn(Batch::Values(mean, var), seen, self.update(1.0), x.rows())
            });
        (self.standard, self.observed) = (buffers, observed);
        learned?;
        let averaged = self.spec.averaged;
        self.updated(x.rows());
        self.learned(x.rows()).inspect_err(|_| self.spec.averaged = averaged)
    }

    /// Checks whether [`learn`](Network::learn) would accept these rows, without changing anything.
    #[doc(hidden)]
    pub fn check_learn(&self, x: Input<'_>, observation: &Observation<'_>) -> Result<()> {
        let x = self.check_input(x)?;
        let (noise, scaler) = (self.spec.default_noise(), self.spec.output_scaler.as_ref());
        let mut observed = ObservationBuffer::default();
        observed.fill(observation, noise, self.spec.output, scaler, x.rows(), self.largest())
    }

    /// What the device recorded while it learned from this many samples.
    #[doc(hidden)]
    pub fn learned(&mut self, rows: usize) -> Result<LearnInfo> {
        let status = self.engine.status();
        if status.is_err() {
            self.engine.set_noise(self.spec.inferred_noise());
        }
        let Tally { capped, repaired } = status?;
        if self.spec.output.noise() != Noise::Known {
            let InferredNoise { var, rows } = self.engine.noise()?;
            if rows.iter().sum::<f64>() > self.spec.noise_rows.iter().sum() {
                self.spec.noise.0.clear();
                self.spec.noise.0.extend(var.iter().map(|v| v.sqrt()));
                self.spec.noise_rows.clone_from(rows);
            }
        }
        Ok(LearnInfo { rows, capped, repaired })
    }

    /// The scaler of a state; 0 is the input.
    pub(crate) fn scaler_at(&self, at: usize) -> Option<&Scaler> {
        match at {
            0 => self.spec.input_scaler.as_ref(),
            last if last == self.graph.output() => self.spec.output_scaler.as_ref(),
            _ => None,
        }
    }

    /// Runs a pass over a limited number of rows at a time and concatenates the results.
    pub(crate) fn in_parts<const N: usize>(
        &self,
        rows: usize,
        pass: impl FnMut(Range<usize>) -> Result<[Vec<f64>; N]>,
    ) -> Result<[Vec<f64>; N]> {
        self.in_parts_of(self.at_once, rows, pass)
    }

    /// The same, with this many rows at a time.
    pub(crate) fn in_parts_of<const N: usize>(
        &self,
        at_once: usize,
        rows: usize,
        mut pass: impl FnMut(Range<usize>) -> Result<[Vec<f64>; N]>,
    ) -> Result<[Vec<f64>; N]> {
        let mut all = [const { Vec::new() }; N];
        for from in (0..rows).step_by(at_once) {
            let to = rows.min(from + at_once);
            let part = pass(from..to).map_err(|e| match e {
                Error::Diverged { layer, row, value } => Error::Diverged { layer, row: from + row, value },
                other => other,
            })?;
            for (all, part) in all.iter_mut().zip(part) {
                // The first part says how much there will be.
                let width = part.len() / (to - from);
                all.reserve_exact(rows * width - all.len());
                all.extend(part);
            }
        }
        Ok(all)
    }

    /// An error unless rows have the network's width; the input as it is.
    #[doc(hidden)]
    pub fn check_input<'a>(&self, x: Input<'a>) -> Result<Input<'a>> {
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
        standardized(self.spec.input_scaler.as_ref(), x, buffers)
    }

    pub(crate) fn diverged(&self, state: usize, row: usize, value: f64) -> Error {
        let layer = state.checked_sub(1).map_or("input", |i| &self.spec.names[i]).into();
        Error::Diverged { layer, row, value }
    }

    /// The number of a layer's state; `input` is 0.
    pub(crate) fn state_number(&self, layer: &str) -> Result<usize> {
        if layer == "input" { Ok(0) } else { Ok(self.layer_index(layer)? + 1) }
    }

    pub(crate) fn layer_index(&self, name: &str) -> Result<usize> {
        self.spec.names.iter().position(|n| n == name).ok_or_else(|| {
            let known = self.spec.names.join(", ");
            Error::invalid("layer", format!("`{name}` is not in this network; it has input, {known}"))
        })
    }

    /// Replaces the parameters of all layers, with one of `contents` per layer.
    pub(crate) fn refill(&mut self, contents: &[Contents]) -> Result<()> {
        for (layer, c) in contents.iter().enumerate() {
            self.fill(layer, 0..c.parameters.bias_mean.len(), c)?;
        }
        Ok(())
    }

    /// Replaces the parameters of some outputs of a layer; for a normalisation, of all.
    pub(crate) fn fill(&mut self, layer: usize, outputs: Range<usize>, contents: &Contents) -> Result<()> {
        self.engine.fill(layer, outputs, contents)
    }

    /// The current weights and biases of a layer: weights `[out, in]`, or `[out, in * rows * columns]` for a
    /// convolution, one row per output; batch normalisation has one weight per channel. Biases that a convolution does not have are 0.
    /// `None` for a layer without parameters.
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
        Ok(self.contents(at)?.map(|c| {
            let p = c.parameters;
            let outputs = p.bias_mean.len();
            let width = p.mean.len() / outputs;
            let (weights, biases) = ((p.mean, p.var), (p.bias_mean, p.bias_var));
            (Gaussian::computed(weights.0, weights.1, width), Gaussian::computed(biases.0, biases.1, outputs))
        }))
    }

    /// Replaces the weights and biases of a layer by others of the same shape.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let mut net = Network::mlp([2, 8, 1], Activation::Relu).build()?;
    /// let other = Network::mlp([2, 8, 1], Activation::Relu).seed(1).build()?;
    /// let (weights, biases) = other.weights("linear1")?.unwrap();
    /// net.set_weights("linear1", &weights, &biases)?;
    /// assert_eq!(net.weights("linear1")?.unwrap().0, weights);
    /// assert!(net.set_weights("linear2", &weights, &biases).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn set_weights(&mut self, layer: &str, weights: &Gaussian, biases: &Gaussian) -> Result<()> {
        let at = self.layer_index(layer)?;
        let mut contents = self.contents(at)?.unwrap_or_default();
        let p = &mut contents.parameters;
        for (old, new) in [(&p.mean, weights), (&p.bias_mean, biases)] {
            if old.len() != new.mean().len() {
                return Err(Error::shape(format!("parameters of {layer}"), old.len(), new.mean().len()));
            }
        }
        let has_bias = !matches!(self.spec.layers[at], Layer::Conv2d { bias: false, .. });
        if !has_bias && biases.mean().iter().chain(biases.var()).any(|v| *v != 0.0) {
            return Err(Error::invalid(format!("parameters of {layer}"), "it has no biases: they must be 0"));
        }
        (p.mean, p.var) = (weights.mean().to_vec(), weights.var().to_vec());
        (p.bias_mean, p.bias_var) = (biases.mean().to_vec(), biases.var().to_vec());
        contents.latest = None;
        self.fill(at, 0..biases.mean().len(), &contents)
    }

    /// The parameters of a layer, if it has any.
    pub(crate) fn contents(&self, layer: usize) -> Result<Option<Contents>> {
        self.engine.contents(layer, 0..usize::MAX)
    }

    /// The parameters of every layer; empty for layers without any.
    #[doc(hidden)]
    pub fn all_contents(&self) -> Result<Vec<Contents>> {
        (0..self.spec.layers.len()).map(|i| Ok(self.contents(i)?.unwrap_or_default())).collect()
    }

    /// States and innovations of every layer for one batch in the network's own units, for checks against reference
    /// vectors; parameters are unchanged.
    #[cfg(feature = "verify")]
    #[doc(hidden)]
    pub fn trace(&self, x: Input<'_>, seen: Seen<'_>) -> Result<Vec<Trace>> {
        let mut pass = self.forward(x)?;
        let mut ops = vec![Op::Observe];
        ops.extend(self.graph.back(Purpose::Predict, |_| true));
        pass.run(&ops, Some(seen.into()))?;
        let activation = |state: usize| {
            let layer = state.checked_sub(1).map(|i| self.spec.layers[i]);
            matches!(layer, Some(Layer::Activation { .. }))
        };
        let states = 0..self.graph.shapes.len();
        states
            .map(|state| {
                let read = |field| pass.read(state, field);
                Ok(Trace {
                    mean: read(Field::Mean)?,
                    var: read(Field::Var)?,
                    slope: if activation(state) { Some(read(Field::Slope)?) } else { None },
                    d_mean: read(Field::DMean)?,
                    d_var: read(Field::DVar)?,
                })
            })
            .collect()
    }

    /// Updates the weights with a batch in the network's own units.
    #[cfg(feature = "verify")]
    pub(crate) fn learn_seen(&mut self, x: Input<'_>, seen: Seen<'_>) -> Result<LearnInfo> {
        self.engine.learn(Batch::Values(x.mean(), x.var()), seen.into(), self.update(1.0), x.rows())?;
        self.learned(x.rows())
    }

    /// The largest value that can be observed: its square must not overflow.
    pub(crate) fn largest(&self) -> f64 {
        if self.is_double() { 1e150 } else { 1e18 }
    }

    /// Whether numbers are kept in f64.
    pub(crate) fn is_double(&self) -> bool {
        self.engine.is_double()
    }
}

/// Numbers in the network's own units; `buffers` hold them where those differ.
pub(crate) fn standardized<'x>(
    scaler: Option<&Scaler>,
    x: Input<'x>,
    buffers: &'x mut [Vec<f64>; 2],
) -> (&'x [f64], Option<&'x [f64]>) {
    let Some(scaler) = scaler else { return (x.mean(), x.var()) };
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

/// State and normalised innovations of one layer for a batch.
#[cfg(feature = "verify")]
#[derive(Debug, Clone)]
pub struct Trace {
    pub(crate) mean: Vec<f64>,
    /// Variance of the state.
    pub var: Vec<f64>,
    /// Of an activation.
    pub(crate) slope: Option<Vec<f64>>,
    /// Innovation of the mean.
    pub d_mean: Vec<f64>,
    /// Innovation of the variance.
    pub d_var: Vec<f64>,
}
