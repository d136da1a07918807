//! [`Surprise`]: how far observations were from their predictions, and how far they were expected to be.

use super::{ClassUnits, Prediction};
use tractable_core::error::{Error, Result};
use tractable_core::metrics::{Tails, normal_quantile};

/// Squared errors of predictions, observed and expected. Sums over rows check calibration while a network learns, and tell
/// [`Drift`](crate::Drift) how much to forget.
///
/// Numbers: every observed one adds `(y - mean)^2/(var + noise)`, the normalised innovation squared, of which 1 is expected. Classes:
/// `sum (1[k] - p_k)^2` over the classes, of which `1 - sum p_k^2` is expected.
///
/// ```
/// # use tractable::{Activation, Matrix, Network, network::Surprise};
/// let mut net = Network::mlp([1, 16, 1], Activation::Tanh).noise_std([0.1]).build()?;
/// let mut sum = Surprise::default();
/// for i in 0..100 {
///     let x = Matrix::column(vec![f64::from(i % 10) / 10.0])?;
///     sum += net.learn_one(&x, &x)?;
/// }
/// assert!(sum.ratio() < 2.0); // near 1 if errors are as large as predicted
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize))]
pub struct Surprise {
    /// Squared error.
    pub observed: f64,
    /// Its mean according to the prediction.
    pub expected: f64,
    /// The part of that mean which is due to the uncertainty of the weights, not to noise.
    pub model: f64,
    /// Variance of the squared error according to the prediction.
    pub var: f64,
}

/// Limit on an observation's error in standard deviations: beyond it, probabilities round to 0.
const FARTHEST: f64 = 8.0;

impl Surprise {
    /// Observed over expected squared errors: near 1 if calibrated, above 1 if errors are larger than predicted.
    ///
    /// ```
    /// let surprise = tractable::network::Surprise { observed: 3.0, expected: 2.0, ..Default::default() };
    /// assert_eq!(surprise.ratio(), 1.5);
    /// ```
    pub fn ratio(&self) -> f64 {
        self.observed / self.expected
    }

    /// The surprise of the entries of `y` that were seen, row by row. With heavy tails, an error counts as that of a normal variable with the
    /// same tail probability.
    ///
    /// # Errors
    /// When sizes do not agree.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network, network::Surprise};
    /// let net = Network::mlp([1, 16, 2], Activation::Relu).build()?;
    /// let out = net.predict(&Matrix::column(vec![0.5])?)?;
    /// let surprise = Surprise::of_values(&out, &[0.1, 7.0], Some(&[true, false]))?;
    /// assert_eq!(surprise.expected, 1.0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn of_values(out: &Prediction, y: &[f64], seen: Option<&[bool]>) -> Result<Self> {
        for n in [y.len(), seen.map_or(y.len(), <[bool]>::len)] {
            if n != out.mean().len() {
                return Err(Error::shape("observations", out.mean().len(), n));
            }
        }
        let (mut sum, total) = (Surprise::default(), out.total_var());
        for i in (0..y.len()).filter(|&i| total[i] > 0.0 && seen.is_none_or(|seen| seen[i])) {
            sum.add_normal(innovation_squared(out, i, y[i]), out.var()[i] / total[i]);
        }
        Ok(sum)
    }

    /// The surprise of a class, given the probabilities of all; the model's part of their variance comes from [`ClassUnits::spread`].
    ///
    /// # Errors
    /// When there is no such class.
    ///
    /// ```
    /// let surprise = tractable::network::Surprise::of_class(&[0.5, 0.5], 0, 0.1)?;
    /// assert_eq!((surprise.observed, surprise.expected), (0.5, 0.5));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn of_class(p: &[f64], label: usize, model: f64) -> Result<Self> {
        let Some(own) = p.get(label) else {
            return Err(Error::invalid("label", format!("{label}: there are only {} classes", p.len())));
        };
        let [squares, cubes] = [2, 3].map(|n| p.iter().map(|p| p.powi(n)).sum::<f64>());
        Ok(Surprise {
            observed: 1.0 - 2.0 * own + squares,
            expected: 1.0 - squares,
            model: model.min(1.0 - squares),
            var: 4.0 * (cubes - squares * squares).max(0.0),
        })
    }

    /// The surprise of a class, given the units of the output.
    pub(crate) fn of_units(units: ClassUnits, mean: &[f64], var: &[f64], label: usize) -> Result<Self> {
        Surprise::of_class(&units.probabilities(mean, var), label, units.spread(mean, var).model)
    }

    /// Adds an innovation that should be standard normal, squared; a share of its variance is the model's.
    pub(crate) fn add_normal(&mut self, square: f64, model: f64) {
        *self += Surprise { observed: square, expected: 1.0, model, var: 2.0 };
    }
}

/// The squared innovation of one entry; unless it is normal, that of a normal variable with the same tail probability.
pub fn innovation_squared(out: &Prediction, entry: usize, y: f64) -> f64 {
    let z = (y - out.mean()[entry]) / (out.var()[entry] + out.noise_var()[entry]).sqrt();
    let z = match out.components().is_empty() && out.tails(entry % out.width()) == Tails::Normal {
        true => z,
        false => {
            let [below, above] = out.below_and_above(entry, y);
            normal_quantile(below.min(above).max(1e-300)).max(-FARTHEST)
        }
    };
    z * z
}

impl std::ops::AddAssign for Surprise {
    fn add_assign(&mut self, other: Self) {
        self.observed += other.observed;
        self.expected += other.expected;
        self.model += other.model;
        self.var += other.var;
    }
}
