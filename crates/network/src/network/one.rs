//! Learning one row of a stream, and how good its prediction was.

use super::Network;
use crate::output::{Observation, Surprise};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Input;
use tractable_devices::Field;

impl Network {
    /// [`learn`](Network::learn) for one row of a stream. Also returns how large the error of its prediction was, and how large it was
    /// expected to be. The prediction is part of learning and costs nothing extra. Regression allocates no memory and
    /// wakes no other thread.
    ///
    /// # Errors
    /// As for [`learn`](Network::learn), and when there is more than one row.
    ///
    /// ```
    /// # use tractable::{Activation, Input, Network, network::Observation};
    /// let mut net = Network::mlp([2, 16, 1], Activation::Tanh).noise_std([0.1]).build()?;
    /// let surprise = net.learn_one(Input::exact(&[0.5, 1.0], 2)?, Observation::values(&[0.7], 1)?)?;
    /// assert_eq!(surprise.expected, 1.0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn learn_one<'a, 'b>(
        &mut self,
        x: impl Into<Input<'a>>,
        observation: impl Into<Observation<'b>>,
    ) -> Result<Surprise> {
        let (x, observation) = (x.into(), observation.into());
        if x.rows() != 1 {
            return Err(Error::shape("input", "one row", x.rows()));
        }
        self.learn(x, observation)?;
        let mut told = std::mem::take(&mut self.told);
        let surprise = self.surprise(observation.label(0), &mut told);
        self.told = told;
        surprise
    }

    /// The surprise of the row that was learned last.
    fn surprise(&mut self, label: Option<usize>, told: &mut [Vec<f64>; 3]) -> Result<Surprise> {
        let first = if label.is_some() { Field::Mean } else { Field::DMean };
        for (field, to) in [first, Field::Var, Field::DVar].into_iter().zip(&mut *told) {
            self.engine.read_output(field, to)?;
        }
        let [mean, var, d_var] = told;
        if let Some(label) = label {
            return Surprise::of_units(self.spec.output.class_units()?, mean, var, label);
        }
        let mut sum = Surprise::default();
        // Entries that were not observed have no innovation.
        for ((d_mean, var), d_var) in mean.iter().zip(&*var).zip(&*d_var).filter(|(_, d_var)| **d_var < 0.0) {
            sum.add_normal(d_mean * d_mean / -d_var, var * -d_var);
        }
        Ok(sum)
    }
}
