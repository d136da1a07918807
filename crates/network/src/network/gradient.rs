//! [`Network::gradient`]: the gradient of a function of the output with respect to the input, in one backward pass.

use super::Network;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Gaussian, Input, Matrix};
use tractable_devices::{Field, Purpose};

impl Network {
    /// The output, and the gradient of a function of the output's means with respect to the input. `by_output` takes the output
    /// and returns the function's gradient with respect to those means, `[rows, outputs]`. Variances are treated as constant: this is the
    /// gradient of the network of means. Memory grows with the rows; use at most
    /// [`rows_at_once`](Network::rows_at_once).
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let net = Network::mlp([2, 16, 1], Activation::Tanh).seed(1).build()?;
    /// let at = |x0: f64| Matrix::new(vec![x0, 0.7], 2);
    /// let (y, slope) = net.gradient(&at(0.3)?, |_| Matrix::column(vec![1.0]))?; // of the output itself
    /// let further = net.predict(&at(0.301)?)?.mean()[0];
    /// assert!((slope.data()[0] - (further - y.mean()[0]) / 0.001).abs() < 0.01);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn gradient<'a>(
        &self,
        x: impl Into<Input<'a>>,
        by_output: impl FnOnce(&Gaussian) -> Result<Matrix>,
    ) -> Result<(Gaussian, Matrix)> {
        let x = self.check_input(x.into())?;
        let mut pass = self.forward(x)?;
        let output =
            self.in_users_units(pass.read_prior(self.graph.output())?, x.rows(), self.graph.output())?;
        let d = by_output(&output)?;
        if [d.rows(), d.width()] != [output.rows(), output.width()] {
            let (expected, got) = ((output.rows(), output.width()), (d.rows(), d.width()));
            return Err(Error::shape("gradient by the output", format!("{expected:?}"), format!("{got:?}")));
        }
        let mut d = d.data().to_vec();
        if let Some(scaler) = &self.spec.output_scaler {
            d.iter_mut().zip(scaler.std().iter().cycle()).for_each(|(d, std)| *d *= std);
        }
        pass.innovate(&d)?;
        pass.run(&self.graph.back(Purpose::Predict, |state| state == 0), None)?;
        let mut gradient = pass.read(0, Field::DMean)?;
        if let Some(scaler) = &self.spec.input_scaler {
            gradient.iter_mut().zip(scaler.std().iter().cycle()).for_each(|(g, std)| *g /= std);
        }
        match gradient.iter().position(|g| !g.is_finite()) {
            None => Ok((output, Matrix::new(gradient, x.width())?)),
            Some(at) => Err(self.diverged(0, at / x.width(), gradient[at])),
        }
    }
}
