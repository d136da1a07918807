//! Structure and settings of a [`Network`]: everything except the verbs.

use super::Network;
use crate::layer::{Layer, Prior};
use crate::output::{Noise, NoiseStd, Output};
use tractable_core::error::{Error, Result};
use tractable_core::shape::Shape;
use tractable_data::Scaler;
use tractable_devices::{Device, UpdateRule};

impl Network {
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

    /// Kind of the output.
    ///
    /// ```
    /// # use tractable::{Activation, Network, Noise, network::Output};
    /// assert_eq!(Network::mlp([2, 8, 1], Activation::Relu).build()?.output(), Output::Values { width: 1, noise: Noise::Inferred });
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

    /// Names of the layers, from the input up, as [`Wanted::layer`](crate::Wanted::layer) takes them.
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

    /// What every layer reads: 0 is the input, `i + 1` the output of layer `i`.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([2, 8, 1], Activation::Relu).build()?;
    /// assert_eq!(net.layer_inputs(), [[0], [1], [2]]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn layer_inputs(&self) -> &[Vec<usize>] {
        &self.spec.inputs
    }

    /// Total number of weights and biases; each has a mean and a variance.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// assert_eq!(Network::mlp([2, 8, 1], Activation::Relu).build()?.parameters(), 33);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn parameters(&self) -> usize {
        self.graph.parameters
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
    /// # use tractable::{Activation, Network, network::UpdateRule};
    /// assert_eq!(Network::mlp([2, 8, 1], Activation::Relu).build()?.update_rule(), UpdateRule::Capped);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn update_rule(&self) -> UpdateRule {
        self.spec.update
    }

    /// Whether its means are averages.
    pub(crate) fn is_paced(&self) -> bool {
        matches!(self.spec.update, UpdateRule::Paced { .. })
    }

    /// After an update with this many rows.
    pub(super) fn updated(&mut self, rows: usize) {
        self.done.note_update(rows);
        self.spec.averaged = self.spec.averaged.saturating_add(u64::from(self.is_paced()));
    }

    /// Sets how a batch changes the weights. A network that was [paced](UpdateRule::Paced) continues from its averaged means.
    ///
    /// ```
    /// # use tractable::{Activation, Network, network::UpdateRule};
    /// let mut net = Network::mlp([2, 8, 1], Activation::Relu).build()?;
    /// net.set_update_rule(UpdateRule::counted(500))?;
    /// assert!(net.set_update_rule(UpdateRule::counted(0)).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn set_update_rule(&mut self, rule: UpdateRule) -> Result<()> {
        rule.check()?;
        self.spec.update = rule;
        if !self.is_paced() {
            self.engine.forget_latest();
            self.spec.averaged = 0;
        }
        Ok(())
    }

    /// Adds one row to the count of a counting rule.
    #[doc(hidden)]
    pub fn count_one_more(&mut self) {
        if let UpdateRule::Counted { rows, .. } = &mut self.spec.update {
            *rows = rows.saturating_add(1);
        }
    }

    /// Divides the row count of a counting rule.
    #[doc(hidden)]
    pub fn count_fewer(&mut self, factor: f64) {
        if let UpdateRule::Counted { rows, .. } = &mut self.spec.update {
            *rows = ((*rows as f64 / factor) as usize).max(1);
        }
    }

    /// Where the network computes.
    ///
    /// ```
    /// # use tractable::{Activation, Device, Network};
    /// let net = Network::mlp([2, 8, 1], Activation::Relu).device(Device::reference()).build()?;
    /// assert_eq!(net.device(), &Device::reference());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Rows that [`predict`](Network::predict) and [`condition`](Network::condition) process at a time, so that the states
    /// of all layers stay within about 100 MiB.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// assert!(Network::mlp([2, 8, 1], Activation::Relu).build()?.rows_at_once() > 1000);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn rows_at_once(&self) -> usize {
        self.at_once
    }

    /// Bytes that the states of so many rows take while they are learned from.
    pub(crate) fn bytes_of_batch(&self, rows: usize) -> u64 {
        let number = if self.engine.is_double() { 8 } else { 4 };
        (rows as u64).saturating_mul(self.engine.numbers() as u64).saturating_mul(number)
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

    /// Counts epochs that were done otherwise.
    pub fn set_epochs(&mut self, epochs: usize) {
        self.spec.epochs = epochs;
    }

    /// Noise of the observations as the network uses it, known or inferred: standard deviations, one for all outputs or one for
    /// each, in standardised units where targets are standardised. With [`Noise::PerInput`], for an average input. A softmax does not use it.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([2, 8, 1], Activation::Relu).noise_std([0.5]).build()?;
    /// assert_eq!(net.noise_std(), [0.5]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn noise_std(&self) -> &[f64] {
        &self.spec.noise.0
    }

    /// Variance of the noise in the units of the target, one per output unit: add it to a
    /// prediction's variance to get that of a new observation.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([2, 8, 2], Activation::Relu).noise_std([0.5]).build()?;
    /// assert_eq!(net.noise_var(), [0.25, 0.25]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn noise_var(&self) -> Vec<f64> {
        let noise = if self.spec.output.is_softmax() { &vec![0.0] } else { &self.spec.noise.0 };
        let var: Vec<f64> = (0..self.spec.output.units()).map(|i| noise[i % noise.len()].powi(2)).collect();
        self.spec.output_scaler.as_ref().map_or(var.clone(), |s| s.undo_var(&var))
    }

    /// Sets the noise of the observations; it is then known, not inferred.
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
        let std = NoiseStd::new(std.into_iter().collect(), self.spec.output.units())?;
        if self.spec.output.is_softmax() {
            return Err(Error::invalid("noise", "a softmax has none"));
        }
        match &mut self.spec.output {
            Output::Values { noise: Noise::PerInput, .. } => {
                let why = "this network infers noise for every input; build one with known noise instead";
                return Err(Error::invalid("noise", why));
            }
            Output::Values { noise, .. } => *noise = Noise::Known,
            Output::Classes { .. } => {}
        }
        self.spec.noise = std;
        Ok(())
    }

    /// Sets the standardisation of inputs and targets, saved with the network: inputs and
    /// outputs are then in the units the scalers were fitted to.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network, data::Scaler};
    /// let mut net = Network::mlp([1, 8, 1], Activation::Relu).noise_std([1.0]).build()?;
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
