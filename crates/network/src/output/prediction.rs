//! The result of [`predict`](crate::Network::predict): [`Prediction`].

use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Gaussian, Input, Matrix};
use tractable_core::metrics::Tails;
use tractable_core::rng;

/// Predicted outputs, one row per sample, with the uncertainty of a new observation.
///
/// The variance of an observation has two parts. [`var`](Prediction::var) is the model's uncertainty, which more data would
/// reduce. [`noise_var`](Prediction::noise_var) is the noise, which they would not. Intervals, samples and densities include both.
///
/// ```
/// use tractable::{Activation, Matrix, Network};
/// let net = Network::mlp([1, 16, 1], Activation::MixtureRelu).build()?;
/// let out = net.predict(&Matrix::column(vec![0.5])?)?;
/// let (lower, upper) = out.interval(0.9)?;
/// assert!(lower[0] < out.mean()[0] && out.mean()[0] < upper[0]);
/// assert_eq!(out.total_var()[0], out.var()[0] + out.noise_var()[0]);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize))]
pub struct Prediction {
    #[cfg_attr(feature = "files", serde(flatten))]
    output: Gaussian,
    noise_var: Vec<f64>,
    /// Of every column, or of all of them.
    tails: Vec<Tails>,
}

impl Prediction {
    /// Of an output, its noise, and the tails of every column or one for all.
    pub fn new(output: Gaussian, noise_var: Vec<f64>, tails: Vec<Tails>) -> Result<Self> {
        match noise_var.iter().position(|v| !(*v >= 0.0 && v.is_finite())) {
            None => Ok(Prediction { output, noise_var, tails }),
            Some(at) => Err(Error::OutOfRange {
                what: "noise variance".into(),
                row: at / output.width(),
                column: at % output.width(),
                value: noise_var[at],
                why: "it overflows in these units".into(),
            }),
        }
    }

    /// Means, row after row.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// assert_eq!(net.predict(&Matrix::column(vec![0.5, 0.6])?)?.mean().len(), 2);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn mean(&self) -> &[f64] {
        self.output.mean()
    }

    /// Variance of the model's own output, row by row: the part that more data would reduce.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// assert!(net.predict(&Matrix::column(vec![0.5])?)?.var()[0] > 0.0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn var(&self) -> &[f64] {
        self.output.var()
    }

    /// Variance of the noise around it, row by row: the part that more data would not reduce.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).noise_std([0.5]).build()?;
    /// assert_eq!(net.predict(&Matrix::column(vec![0.5])?)?.noise_var(), [0.25]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn noise_var(&self) -> &[f64] {
        &self.noise_var
    }

    /// Variance of an observation: both parts together.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).noise_std([0.5]).build()?;
    /// assert!(net.predict(&Matrix::column(vec![0.5])?)?.total_var()[0] > 0.25);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn total_var(&self) -> Vec<f64> {
        self.var().iter().zip(&self.noise_var).map(|(a, b)| a + b).collect()
    }

    /// Standard deviation of an observation.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).noise_std([0.5]).build()?;
    /// assert!(net.predict(&Matrix::column(vec![0.5])?)?.total_std()[0] > 0.5);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn total_std(&self) -> Vec<f64> {
        self.total_var().into_iter().map(f64::sqrt).collect()
    }

    /// The tails of the distribution of a column's observations.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network, metrics::Tails};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// assert_eq!(net.predict(&Matrix::column(vec![0.5])?)?.tails(0), Tails::Normal);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn tails(&self, column: usize) -> Tails {
        self.tails[column % self.tails.len()]
    }

    /// The output alone, without the noise.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// let out = net.predict(&Matrix::column(vec![0.5])?)?;
    /// assert_eq!(out.output().var(), out.var());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn output(&self) -> &Gaussian {
        &self.output
    }

    /// Samples.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 2], Activation::Relu).build()?;
    /// let out = net.predict(&Matrix::column(vec![0.5])?)?;
    /// assert_eq!((out.rows(), out.width()), (1, 2));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.output.rows()
    }

    /// Numbers in a row.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 2], Activation::Relu).build()?;
    /// assert_eq!(net.predict(&Matrix::column(vec![0.5])?)?.width(), 2);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn width(&self) -> usize {
        self.output.width()
    }

    /// The `p`-quantile of an observation, row by row.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// let out = net.predict(&Matrix::column(vec![0.5])?)?;
    /// assert_eq!(out.quantile(0.5)?, out.mean());
    /// assert!(out.quantile(1.0).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn quantile(&self, p: f64) -> Result<Vec<f64>> {
        if !(p > 0.0 && p < 1.0) {
            return Err(Error::invalid("quantile", format!("{p} is not between 0 and 1")));
        }
        let z: Vec<f64> = self.tails.iter().map(|t| t.quantile(p)).collect();
        let each = self.mean().iter().zip(self.total_std()).enumerate();
        Ok(each.map(|(i, (m, s))| m + z[i % self.width() % z.len()] * s).collect())
    }

    /// Central interval that contains an observation with probability `level`: lower and upper bounds.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// let out = net.predict(&Matrix::column(vec![0.5])?)?;
    /// let ((low, high), (lower, higher)) = (out.interval(0.5)?, out.interval(0.9)?);
    /// assert!(lower[0] < low[0] && high[0] < higher[0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn interval(&self, level: f64) -> Result<(Vec<f64>, Vec<f64>)> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::invalid("interval", format!("a level of {level} is not between 0 and 1")));
        }
        Ok((self.quantile(0.5 - 0.5 * level)?, self.quantile(0.5 + 0.5 * level)?))
    }

    /// Logarithm of the density of observations, `[rows, width]`, for every entry; outputs are treated as independent.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// let out = net.predict(&Matrix::column(vec![0.5])?)?;
    /// let [near, far] = [0.0, 100.0].map(|y| out.log_density(&Matrix::column(vec![y]).unwrap()).unwrap()[0]);
    /// assert!(near > far);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn log_density(&self, y: &Matrix) -> Result<Vec<f64>> {
        if (y.rows(), y.width()) != (self.rows(), self.width()) {
            let expected = format!("{} rows of {}", self.rows(), self.width());
            return Err(Error::shape("observations", expected, format!("{} of {}", y.rows(), y.width())));
        }
        let all = y.data().iter().zip(self.mean()).zip(self.total_std()).enumerate();
        Ok(all
            .map(|(i, ((y, m), s))| self.tails(i % self.width()).ln_density((y - m) / s) - s.ln())
            .collect())
    }

    /// Sampled observations, `n` for every row: `[n, rows * width]`.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// let out = net.predict(&Matrix::column(vec![0.5, 0.6, 0.7])?)?;
    /// let samples = out.samples(100, 0)?;
    /// assert_eq!((samples.rows(), samples.width()), (100, 3));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn samples(&self, n: usize, seed: u64) -> Result<Matrix> {
        let (mut rng, std) = (rng::stream(seed, "samples", 0), self.total_std());
        let mut all = Vec::with_capacity(n * std.len());
        for _ in 0..n {
            let row = self.mean().iter().zip(&std).enumerate();
            all.extend(row.map(|(i, (m, s))| m + s * self.tails(i % self.width()).draw(&mut rng)));
        }
        Matrix::new(all, std.len())
    }
}

impl From<Prediction> for Gaussian {
    fn from(prediction: Prediction) -> Self {
        prediction.output
    }
}

impl<'a> From<&'a Prediction> for Input<'a> {
    fn from(prediction: &'a Prediction) -> Self {
        Input::from(&prediction.output)
    }
}
