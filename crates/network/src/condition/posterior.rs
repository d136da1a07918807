//! The result of `condition`: [`Posterior`].

use super::Answer;
use tractable_core::error::Result;
use tractable_core::gaussian::{Gaussian, Input, Matrix};
use tractable_data::Scaler;

/// The posterior of the input, or of a hidden layer, given the wanted output: mean and variance of every entry of
/// every row, their covariances, the modes, and how it was found. It can be passed to
/// [`predict`](crate::Network::predict) directly. Serde writes everything except the covariances, which can be large: take
/// them from [`covariance`](Posterior::covariance).
///
/// ```
/// use tractable::{Activation, Gaussian, Matrix, Network, Wanted};
/// let net = Network::mlp([2, 16, 1], Activation::MixtureRelu).seed(3).build()?;
/// let prior = Gaussian::new(vec![0.1, -0.2], vec![0.5, 0.5], 2)?;
/// let x = net.condition(&prior, Wanted::from(&Matrix::column(vec![1.0])?).noise_var(0.01))?;
/// assert_eq!((x.rows(), x.width()), (1, 2));
/// assert!(x.modes(0).iter().map(|m| m.weight).sum::<f64>() > 0.999);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize))]
pub struct Posterior {
    #[cfg_attr(feature = "files", serde(flatten))]
    pub(super) all: Gaussian,
    pub(super) rows: Vec<Row>,
}

/// One row of it.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize))]
pub(super) struct Row {
    #[cfg_attr(feature = "files", serde(skip))]
    pub(super) covariance: Learned,
    pub(super) modes: Vec<Mode>,
    pub(super) found: Found,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Learned {
    /// `[width, width]`.
    Full(Vec<f64>),
    /// The prior's variances minus `B' B`, `[k, width]`.
    Less { prior: Vec<f64>, factor: Vec<f64> },
    /// The same with the prior's full covariance.
    LessFull { prior: std::sync::Arc<Vec<f64>>, factor: Vec<f64> },
}

/// One of the answers, if there are several with nothing likely in between.
///
/// ```
/// # use tractable::{Activation, Gaussian, Matrix, Network};
/// # let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(3).build()?;
/// let prior = Gaussian::new(vec![0.5], vec![0.1], 1)?;
/// let x = net.condition(&prior, &Matrix::column(vec![1.0])?)?;
/// let likeliest = &x.modes(0)[0];
/// assert!(likeliest.weight > 0.5 && likeliest.var[0] < 0.1);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Mode {
    /// Its probability; the modes of a row sum to 1.
    pub weight: f64,
    /// Mean of every entry.
    pub mean: Vec<f64>,
    /// Variance of every entry.
    pub var: Vec<f64>,
}

/// How the posterior of a row was found, and how reliable it is.
///
/// ```
/// # use tractable::{Activation, Gaussian, Matrix, Network, condition::Found};
/// # let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(3).build()?;
/// let prior = Gaussian::new(vec![0.5], vec![0.1], 1)?;
/// let x = net.condition(&prior, &Matrix::column(vec![1.0])?)?;
/// assert!(matches!(x.found(0), Found::Points { effective, .. } if effective > 64.0));
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Found {
    /// By weighted points of the prior, for up to 16 unknown entries.
    Points {
        /// Number of points.
        points: usize,
        /// Effective number of points. With 256 or more, mean and standard deviation are right to 10 % in nine of ten
        /// cases; below 64 they are a guess.
        effective: f64,
    },
    /// By repeatedly linearising the network at the answer.
    Linearised {
        /// Number of steps.
        steps: usize,
        /// Whether the last step changed almost nothing.
        converged: bool,
    },
}

impl Posterior {
    /// Answers in the units of a scaler's data, or the row and value that is not finite there.
    pub fn of(answers: Vec<Answer>, scaler: Option<&Scaler>) -> std::result::Result<Self, (usize, f64)> {
        let units = |i: usize| scaler.map_or(1.0, |s| s.std()[i % s.std().len()]);
        let (mut means, mut vars, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        let width = answers[0].mean.len();
        for (row, answer) in answers.into_iter().enumerate() {
            let place = |mean: &[f64]| scaler.map_or(mean.to_vec(), |s| s.undo_mean(mean));
            let spread = |var: &[f64]| scaler.map_or(var.to_vec(), |s| s.undo_var(var));
            let rescaled =
                |b: &[f64]| b.iter().enumerate().map(|(i, b)| b * units(i % width)).collect::<Vec<_>>();
            let whole = |c: &[f64]| {
                let entry = |(i, c): (usize, &f64)| c * units(i / width) * units(i % width);
                c.iter().enumerate().map(entry).collect::<Vec<_>>()
            };
            let covariance = match answer.covariance {
                Learned::Full(c) => Learned::Full(whole(&c)),
                Learned::Less { prior, factor } => {
                    Learned::Less { prior: spread(&prior), factor: rescaled(&factor) }
                }
                Learned::LessFull { prior, factor } => {
                    Learned::LessFull { prior: whole(&prior).into(), factor: rescaled(&factor) }
                }
            };
            let modes = answer.modes.iter();
            let modes =
                modes.map(|m| Mode { weight: m.weight, mean: place(&m.mean), var: spread(&m.var) }).collect();
            let (mean, var) = (place(&answer.mean), spread(&answer.var));
            if let Some(bad) = mean.iter().chain(&var).find(|v| !v.is_finite()) {
                return Err((row, *bad));
            }
            means.extend(mean);
            vars.extend(var);
            rows.push(Row { covariance, modes, found: answer.found });
        }
        Ok(Posterior { all: Gaussian::computed(means, vars, width), rows })
    }

    /// One row, in the user's units.
    pub fn answer(&self, row: usize) -> Result<Answer> {
        let at = row * self.width()..(row + 1) * self.width();
        let Row { modes, found, .. } = self.rows[row].clone();
        Ok(Answer {
            mean: self.mean()[at.clone()].to_vec(),
            var: self.var()[at].to_vec(),
            covariance: Learned::Full(self.covariance(row)?.data().to_vec()),
            modes,
            found,
        })
    }

    /// Mean and variance of every entry.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(3).build()?;
    /// # let x = net.condition(&Gaussian::new(vec![0.5], vec![0.1], 1)?, &Matrix::column(vec![1.0])?)?;
    /// assert_eq!(x.gaussian().mean(), x.mean());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn gaussian(&self) -> &Gaussian {
        &self.all
    }

    /// `[rows, width]`.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(3).build()?;
    /// # let x = net.condition(&Gaussian::new(vec![0.5], vec![0.1], 1)?, &Matrix::column(vec![1.0])?)?;
    /// assert_eq!(x.mean().len(), 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn mean(&self) -> &[f64] {
        self.all.mean()
    }

    /// `[rows, width]`.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(3).build()?;
    /// # let x = net.condition(&Gaussian::new(vec![0.5], vec![0.1], 1)?, &Matrix::column(vec![1.0])?)?;
    /// assert!(x.var()[0] < 0.1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn var(&self) -> &[f64] {
        self.all.var()
    }

    /// Square roots of the variances.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(3).build()?;
    /// # let x = net.condition(&Gaussian::new(vec![0.5], vec![0.1], 1)?, &Matrix::column(vec![1.0])?)?;
    /// assert_eq!(x.std()[0], x.var()[0].sqrt());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn std(&self) -> Vec<f64> {
        self.all.std()
    }

    /// Samples.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(3).build()?;
    /// # let x = net.condition(&Gaussian::new(vec![0.5], vec![0.1], 1)?, &Matrix::column(vec![1.0])?)?;
    /// assert_eq!(x.rows(), 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.all.rows()
    }

    /// Entries of a row.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(3).build()?;
    /// # let x = net.condition(&Gaussian::new(vec![0.5], vec![0.1], 1)?, &Matrix::column(vec![1.0])?)?;
    /// assert_eq!(x.width(), 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn width(&self) -> usize {
        self.all.width()
    }

    /// Covariance of the entries of a row, `[width, width]`.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network};
    /// # let net = Network::mlp([2, 16, 1], Activation::Tanh).seed(3).build()?;
    /// # let prior = Gaussian::new(vec![0.5, 0.1], vec![0.1; 2], 2)?;
    /// let x = net.condition(&prior, &Matrix::column(vec![1.0])?)?;
    /// let covariance = x.covariance(0)?;
    /// assert!((covariance.row(1)[1] - x.var()[1]).abs() < 1e-12);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn covariance(&self, row: usize) -> Result<Matrix> {
        let d = self.width();
        let less = |prior: &dyn Fn(usize) -> f64, factor: &[f64]| {
            let learned = |i: usize| factor.chunks_exact(d).map(|b| b[i / d] * b[i % d]).sum::<f64>();
            (0..d * d).map(|i| prior(i) - learned(i)).collect::<Vec<f64>>()
        };
        let mut covariance = match &self.rows[row].covariance {
            Learned::Full(covariance) => covariance.clone(),
            Learned::Less { prior, factor } => {
                less(&|i| if i / d == i % d { prior[i / d] } else { 0.0 }, factor)
            }
            Learned::LessFull { prior, factor } => less(&|i| prior[i], factor),
        };
        (0..d).for_each(|i| covariance[i * d + i] = self.var()[row * d + i]);
        Matrix::new(covariance, d)
    }

    /// Low-rank form of a row's covariance, `[k, width]`: the prior's covariance minus the sum of
    /// `b' b` over these rows. For images, where a full covariance is too large. `None` if points were weighted, answers
    /// were pooled, or the answer is a step against the curvature.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network};
    /// # let net = Network::mlp([20, 16, 1], Activation::Tanh).seed(3).build()?;
    /// # let prior = Gaussian::new(vec![0.1; 20], vec![0.1; 20], 20)?;
    /// let x = net.condition(&prior, &Matrix::column(vec![1.0])?)?;
    /// assert_eq!(x.factor(0)?.unwrap().width(), 20);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn factor(&self, row: usize) -> Result<Option<Matrix>> {
        match &self.rows[row].covariance {
            Learned::Full(_) => Ok(None),
            Learned::Less { factor, .. } | Learned::LessFull { factor, .. } => {
                Matrix::new(factor.clone(), self.width()).map(Some)
            }
        }
    }

    /// The answers of a row, the likeliest first: one, unless there are several with nothing likely
    /// in between. Then [`mean`](Posterior::mean) lies between them and is not an answer.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(3).build()?;
    /// # let x = net.condition(&Gaussian::new(vec![0.5], vec![0.1], 1)?, &Matrix::column(vec![1.0])?)?;
    /// assert_eq!(x.modes(0).len(), 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn modes(&self, row: usize) -> &[Mode] {
        &self.rows[row].modes
    }

    /// How the posterior of a row was found.
    ///
    /// ```
    /// # use tractable::{Activation, Gaussian, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(3).build()?;
    /// # let x = net.condition(&Gaussian::new(vec![0.5], vec![0.1], 1)?, &Matrix::column(vec![1.0])?)?;
    /// println!("{:?}", x.found(0));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn found(&self, row: usize) -> Found {
        self.rows[row].found
    }
}

impl<'a> From<&'a Posterior> for Input<'a> {
    fn from(posterior: &'a Posterior) -> Self {
        Input::from(&posterior.all)
    }
}
