//! Derivatives of a network's output, with their uncertainty: [`Network::derivative`].

// `derivative.rs` checks the request and converts to the user's units; `engine.rs::differentiate` goes
// from the output down after a forward pass, with one `derivative_map` or `derivative_add` per branch;
// `moments/derivative.rs` has the formulae. Taken literally, they sum over pairs of a weight and the
// weights above it, which costs the cube of the width. A unit above enters such a sum only through
// seven numbers (`UnitDerivative`), so one pass over the weights suffices. The reference adds branch
// after branch; the fast device factors the sum further into products of powers of the weights and
// numbers of the units above (T35), and skips terms that are zero because a layer is linear.
// `Gate::Input` reproduces the authors' code, which decides from the lower of two neighbouring layers
// whether their slopes are correlated; the default looks at both. The second derivative is a mean
// without uncertainty, computed on the host in f64 (`derivative/second.rs`): derivatives with respect
// to the requested units are propagated up for all rows of a batch together, and only as far as the
// last curved activation. The agent's value network is curved only in its first layer, so little is
// propagated for its few actions.

mod second;

use crate::engine::{ActivePass, Slope};
use crate::layer::Layer;
use crate::network::Network;
use second::Passed;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Gaussian, Input, Matrix};
use tractable_core::moments::Activation;
use tractable_core::moments::derivative::Gate;
use tractable_devices::Purpose;

/// Rows that are differentiated together.
const AT_ONCE: usize = 1024;

/// What to differentiate with respect to, and which output: made from a layer's name, or by [`Wrt::input`].
///
/// ```
/// use tractable::{Activation, Matrix, Network, condition::Wrt};
/// let net = Network::mlp([2, 8, 3], Activation::Tanh).build()?;
/// let x = Matrix::new(vec![0.1, 0.2], 2)?;
/// let by_input = net.derivative(&x, Wrt::input().output(2))?;
/// let by_hidden = net.derivative(&x, Wrt::from("linear1").output(2))?;
/// assert_eq!((by_input.width(), by_hidden.width()), (2, 8));
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrt<'a> {
    layer: &'a str,
    output: Option<usize>,
    gate: Gate,
}

impl<'a> From<&'a str> for Wrt<'a> {
    fn from(layer: &'a str) -> Self {
        Wrt { layer, output: None, gate: Gate::default() }
    }
}

impl Wrt<'static> {
    /// The input.
    ///
    /// ```
    /// assert_eq!(tractable::condition::Wrt::input(), "input".into());
    /// ```
    pub fn input() -> Self {
        Wrt::from("input")
    }
}

impl Wrt<'_> {
    /// Which output to differentiate, from 0; needed if there are several.
    ///
    /// ```
    /// let second = tractable::condition::Wrt::input().output(1);
    /// ```
    pub fn output(mut self, output: usize) -> Self {
        self.output = Some(output);
        self
    }

    /// Which slopes are treated as correlated; [`Gate::Input`] reproduces the authors' code.
    ///
    /// ```
    /// let as_published = tractable::condition::Wrt::input().gate(tractable::condition::Gate::Input);
    /// ```
    pub fn gate(mut self, gate: Gate) -> Self {
        self.gate = gate;
        self
    }
}

/// Mean and variance of a derivative, `[rows, width]`, in the units of the output over those of the layer.
///
/// ```
/// # use tractable::{Activation, Matrix, Network, condition::Wrt};
/// let net = Network::mlp([1, 16, 1], Activation::Tanh).build()?;
/// let d = net.derivative(&Matrix::column(vec![0.3])?, Wrt::input())?;
/// println!("{} +- {}", d.mean()[0], d.var()[0].sqrt());
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize))]
pub struct Derivative {
    #[cfg_attr(feature = "files", serde(flatten))]
    slope: Gaussian,
    cov: Vec<f64>,
}

impl Derivative {
    /// Means, row after row.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network, condition::Wrt};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).build()?;
    /// let d = net.derivative(&Matrix::column(vec![0.3, 0.4])?, Wrt::input())?;
    /// assert_eq!(d.mean().len(), 2);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn mean(&self) -> &[f64] {
        self.slope.mean()
    }

    /// Variances. They are rough, because covariances between branches of the network are ignored: see the equations.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network, condition::Wrt};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).build()?;
    /// let d = net.derivative(&Matrix::column(vec![0.3])?, Wrt::input())?;
    /// assert!(d.var()[0] > 0.0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn var(&self) -> &[f64] {
        self.slope.var()
    }

    /// Covariance of each derivative with its unit; zero if the unit is known exactly.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network, condition::Wrt};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).build()?;
    /// let d = net.derivative(&Matrix::column(vec![0.3])?, Wrt::input())?;
    /// assert_eq!(d.cov(), [0.0]); // the input has no variance
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn cov(&self) -> &[f64] {
        &self.cov
    }

    /// Samples.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network, condition::Wrt};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).build()?;
    /// assert_eq!(net.derivative(&Matrix::column(vec![0.3])?, Wrt::input())?.rows(), 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.slope.rows()
    }

    /// Units of the layer.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network, condition::Wrt};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).build()?;
    /// assert_eq!(net.derivative(&Matrix::column(vec![0.3])?, Wrt::from("tanh1"))?.width(), 16);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn width(&self) -> usize {
        self.slope.width()
    }
}

impl Network {
    /// **How does the output change with the input, or a hidden layer?** Mean and variance of the derivative of one
    /// output with respect to every unit of a layer, and the covariance with that unit, for every row of `x`. An activation on
    /// the output is differentiated too. Dense networks only; the cost grows with the number of weights.
    ///
    /// ```
    /// use tractable::{Activation, Gaussian, Network, condition::Wrt};
    /// let net = Network::mlp([2, 16, 1], Activation::Tanh).seed(1).build()?;
    /// let x = Gaussian::new(vec![0.3, -0.2], vec![0.01; 2], 2)?;
    /// let d = net.derivative(&x, Wrt::input())?;
    /// assert!(d.var().iter().all(|&v| v > 0.0));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn derivative<'a, 'b>(&self, x: impl Into<Input<'a>>, wrt: impl Into<Wrt<'b>>) -> Result<Derivative> {
        let (x, wrt) = (self.check_input(x.into())?, wrt.into());
        let slope = self.slope(wrt.layer, wrt.output, wrt.gate)?;
        let [mean, var, cov] = self.in_parts_of(self.rows_at_once().min(AT_ONCE), x.rows(), |rows| {
            let mut pass = self.forward(x.rows_between(rows.start, rows.end))?;
            let d = self.derivative_in(&mut *pass, slope, rows.len())?;
            let [mean, var] = d.slope.into_parts();
            Ok([mean, var, d.cov])
        })?;
        let width = mean.len() / x.rows();
        Ok(Derivative { slope: Gaussian::computed(mean, var, width), cov })
    }

    /// The derivative of this many rows after a forward pass, in the user's units.
    pub(crate) fn derivative_in(
        &self,
        pass: &mut dyn ActivePass,
        slope: Slope,
        rows: usize,
    ) -> Result<Derivative> {
        let [mut mean, mut var, mut cov] = pass.derivative(slope)?;
        let width = mean.len() / rows;
        for part in [&mean, &var, &cov] {
            if let Some(at) = part.iter().position(|v| !v.is_finite()) {
                return Err(self.diverged(slope.at, at / width, part[at]));
            }
        }
        let y_unit = self.output_scaler().map_or(1.0, |s| s.std()[slope.output]);
        let x_units = self.scaler_at(slope.at).map_or(&[1.0][..], |s| s.std());
        for i in 0..mean.len() {
            let unit = y_unit / x_units[i % x_units.len()];
            mean[i] *= unit;
            var[i] *= unit * unit;
            cov[i] *= y_unit;
        }
        Ok(Derivative { slope: Gaussian::computed(mean, var, width), cov })
    }

    /// The second derivative of one output with respect to every unit of a layer, `[rows, width]`, at the means of the weights: exact
    /// if weights and input are known. Slopes and curvatures are averaged over the uncertainty of the units;
    /// covariances with the weights are ignored, so before training it says little. Zero if every activation above
    /// is piecewise linear, like ReLU.
    ///
    /// ```
    /// use tractable::{Activation, Fit, Matrix, Network, condition::Wrt, data::Dataset};
    /// let x: Vec<f64> = (-20..=20).map(|i| f64::from(i) / 20.0).collect();
    /// let y = x.iter().map(|x| x * x).collect();
    /// let data = Dataset::new(Matrix::column(x)?, Matrix::column(y)?)?;
    /// let mut net = Network::mlp([1, 16, 1], Activation::Tanh).seed(1).build()?;
    /// net.fit(&data, &Fit::new().epochs(50).batch(1).noise_std(0.05))?;
    /// let second = net.second_derivative(&Matrix::column(vec![0.1])?, Wrt::input())?;
    /// assert!(second.data()[0] > 1.0); // a valley
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn second_derivative<'a, 'b>(
        &self,
        x: impl Into<Input<'a>>,
        wrt: impl Into<Wrt<'b>>,
    ) -> Result<Matrix> {
        let (x, wrt) = (self.check_input(x.into())?, wrt.into());
        let slope = self.slope(wrt.layer, wrt.output, wrt.gate)?;
        let mut second = self.second_derivative_in(&*self.forward(x)?, slope, x.rows())?;
        let width = second.len() / x.rows();
        let y_unit = self.output_scaler().map_or(1.0, |s| s.std()[slope.output]);
        let x_units = self.scaler_at(slope.at).map_or(&[1.0][..], |s| s.std());
        second.iter_mut().enumerate().for_each(|(i, v)| *v *= y_unit / x_units[i % x_units.len()].powi(2));
        Matrix::new(second, width)
    }

    /// Mean and variance of the derivative with respect to a state that is known to be `place`, for one sample, and all second
    /// derivatives, `[width, width]`; in the network's own units.
    pub(crate) fn curvature(&self, x: Input<'_>, place: &[f64], slope: Slope) -> Result<[Vec<f64>; 3]> {
        let mut pass = self.forward(x)?;
        pass.write(slope.at, place, None)?;
        pass.run(&self.graph.forward(slope.at, Purpose::Predict), None)?;
        let [mean, var, _] = pass.derivative(slope)?;
        let all: Vec<usize> = (0..self.graph.shapes[slope.at].len()).collect();
        let second = self.second_derivatives_in(&*pass, slope, &all, 1)?;
        Ok([mean, var, second])
    }

    /// The second derivative with respect to every unit, for this many rows after a forward pass, in the network's own units.
    pub(crate) fn second_derivative_in(
        &self,
        pass: &dyn ActivePass,
        slope: Slope,
        rows: usize,
    ) -> Result<Vec<f64>> {
        self.with_passed(pass, rows, |passed| passed.by_units(slope))
    }

    /// Second derivatives by some units and each other, `[rows, units, units]`, likewise.
    pub(crate) fn second_derivatives_in(
        &self,
        pass: &dyn ActivePass,
        slope: Slope,
        units: &[usize],
        rows: usize,
    ) -> Result<Vec<f64>> {
        self.with_passed(pass, rows, |passed| passed.matrix(slope, units))
    }

    /// Calls `f` with the weights and states of a pass.
    fn with_passed(
        &self,
        pass: &dyn ActivePass,
        rows: usize,
        f: impl Fn(Passed<'_>) -> Vec<f64>,
    ) -> Result<Vec<f64>> {
        let states = (0..self.graph.shapes.len()).map(|s| pass.read_prior(s)).collect::<Result<Vec<_>>>()?;
        let contents = self.all_contents()?;
        let weights: Vec<&[f64]> = contents.iter().map(|c| &c.parameters.mean[..]).collect();
        Ok(f(Passed { graph: &self.graph, weights: &weights, states: &states, rows }))
    }

    /// Factors that convert a derivative with respect to every unit of a layer to the user's units.
    pub(crate) fn in_derivative_units(&self, slope: Slope, width: usize) -> Vec<f64> {
        let y_unit = self.output_scaler().map_or(1.0, |s| s.std()[slope.output]);
        let x_units = self.scaler_at(slope.at).map_or(&[1.0][..], |s| s.std());
        (0..width).map(|i| y_unit / x_units[i % x_units.len()]).collect()
    }

    /// Checks the request against the network.
    pub(crate) fn slope(&self, layer: &str, output: Option<usize>, gate: Gate) -> Result<Slope> {
        let at = self.state_number(layer)?;
        let units = self.output().units();
        let output = match output {
            Some(output) if output < units => output,
            Some(output) => {
                return Err(Error::invalid(
                    "output",
                    format!("there is no output {output}; there are {units}, counted from 0"),
                ));
            }
            None if units == 1 => 0,
            None => {
                return Err(Error::invalid(
                    "output",
                    format!("choose one of the {units} outputs to differentiate"),
                ));
            }
        };
        let names = &self.spec.names;
        let refuse =
            |i: usize, why: &str| Err(Error::invalid("derivative", format!("layer `{}` {why}", names[i])));
        let activation = |i: usize| matches!(self.spec.layers[i], Layer::Activation { .. });
        for (i, layer) in self.spec.layers.iter().enumerate() {
            match layer {
                Layer::Linear { .. } | Layer::Add => {}
                Layer::Activation { .. }
                    if self.graph.inputs[i][0].checked_sub(1).is_some_and(activation) =>
                {
                    return refuse(
                        i,
                        "follows another activation; consecutive activations cannot be differentiated",
                    );
                }
                Layer::Activation { .. } => {}
                _ => {
                    return refuse(
                        i,
                        "is not dense; only linear layers, sums and activations can be differentiated",
                    );
                }
            }
        }
        if !self.input().is_flat() {
            return Err(Error::invalid(
                "derivative",
                "the input is an image; only flat inputs can be differentiated",
            ));
        }
        Ok(Slope { output, at, gate })
    }

    /// Refuses a layer that cannot move: neither its own activation nor the next one is curved, so its
    /// covariance with any derivative is zero.
    pub(crate) fn check_can_move(&self, at: usize) -> Result<()> {
        let graph = &self.graph;
        let activation = |i: usize| match graph.layers[i] {
            Layer::Activation { function } => Some(function),
            _ => None,
        };
        let curved = |state: usize| graph.readers(state).filter_map(activation).any(|f| f.is_curved());
        // Its own activation, and those behind the layers that read it, activated or not.
        let activated = graph.readers(at).filter(|&i| activation(i).is_some()).map(|i| i + 1);
        let mut read =
            activated.chain([at]).flat_map(|s| graph.readers(s)).filter(|&i| activation(i).is_none());
        if curved(at) || read.any(|i| curved(i + 1)) {
            return Ok(());
        }
        let first = if at == 0 { "first layer" } else { "next layer" };
        Err(Error::invalid(
            "activation",
            format!(
                "the {first} is piecewise linear, so the derivative does not depend on where the input is and nothing can \
                 move; give the {first} a curved activation: {}",
                Activation::names(Activation::is_curved)
            ),
        ))
    }
}
