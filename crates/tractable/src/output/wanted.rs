//! What `condition` is asked for: [`Wanted`].

use super::Observation;
use crate::gaussian::Matrix;
use crate::moments::derivative::Gate;

/// What `condition` and `search` are asked for: an output, or some of it, or a label; or that the output has a maximum, a
/// minimum or either there; which layer's posterior to return; and how often a search repeats its step.
///
/// ```
/// use tractable::{Activation, Gaussian, Matrix, Network, Wanted};
/// let net = Network::mlp([2, 16, 1], Activation::Tanh).seed(3).build()?;
/// let prior = Gaussian::new(vec![0.1, -0.2], vec![0.5, 0.5], 2)?;
/// let y = Matrix::column(vec![1.0])?;
/// let x = net.condition(&prior, Wanted::from(&y).noise_var(0.01))?;
/// assert_eq!(x.width(), 2);
/// let hidden = net.condition(&prior, Wanted::from(&y).layer("tanh1"))?;
/// assert_eq!(hidden.width(), 16);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub(crate) goal: Aim<'a>,
    pub(crate) noise_var: f64,
    pub(crate) layer: Option<&'a str>,
    pub(crate) rounds: usize,
    pub(crate) known_weights: bool,
    pub(crate) covariance: Option<&'a Matrix>,
    /// Labels are those that are not wanted.
    pub(crate) other_than: bool,
}

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Aim<'a> {
    Output(Observation<'a>),
    /// That the derivative of an output is zero: at a maximum (1), a minimum (-1) or either (0). `only`: some entries
    /// were asked for, which a derivative does not have.
    Stationary {
        towards: f64,
        output: Option<usize>,
        gate: Gate,
        only: bool,
        second_order: bool,
    },
}

impl<'a, T: Into<Observation<'a>>> From<T> for Wanted<'a> {
    fn from(observation: T) -> Self {
        Wanted {
            goal: Aim::Output(observation.into()),
            noise_var: 0.0,
            layer: None,
            rounds: 1,
            known_weights: false,
            covariance: None,
            other_than: false,
        }
    }
}

/// That the output is at a maximum, a minimum or either there: made by [`Wanted::maximum`], [`Wanted::minimum`] and
/// [`Wanted::stationary`], taken wherever a [`Wanted`] is.
///
/// ```
/// use tractable::{Activation, Gaussian, Network, Wanted};
/// let net = Network::mlp([1, 16, 2], Activation::Tanh).seed(1).build()?;
/// let start = Gaussian::new(vec![0.3], vec![1e-4], 1)?;
/// let x = net.search(&start, Wanted::maximum().output(1).rounds(5))?;
/// assert!(net.search(&start, Wanted::maximum().output(2)).is_err());
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Extremum<'a> {
    pub(crate) towards: f64,
    pub(crate) output: Option<usize>,
    pub(crate) gate: Gate,
    noise_var: f64,
    layer: Option<&'a str>,
    rounds: usize,
    second_order: bool,
    known_weights: bool,
}

impl<'a> From<Extremum<'a>> for Wanted<'a> {
    fn from(e: Extremum<'a>) -> Self {
        let Extremum { towards, output, gate, noise_var, layer, rounds, second_order, known_weights } = e;
        let goal = Aim::Stationary { towards, output, gate, only: false, second_order };
        Wanted { goal, noise_var, layer, rounds, known_weights, covariance: None, other_than: false }
    }
}

impl<'a> Extremum<'a> {
    /// What a wish for a stationary point is about.
    pub(crate) fn of(wanted: &Wanted<'a>) -> Option<Self> {
        let Aim::Stationary { towards, output, gate, second_order, .. } = wanted.goal else { return None };
        let &Wanted { noise_var, layer, rounds, known_weights, .. } = wanted;
        Some(Extremum { towards, output, gate, noise_var, layer, rounds, second_order, known_weights })
    }

    fn towards(towards: f64) -> Self {
        Extremum {
            towards,
            output: None,
            gate: Gate::default(),
            noise_var: 0.0,
            layer: None,
            rounds: 1,
            second_order: false,
            known_weights: false,
        }
    }

    /// Which output is to be at its maximum or minimum, from 0; needed where there are several.
    ///
    /// ```
    /// let second_is_highest = tractable::Wanted::maximum().output(1);
    /// ```
    pub fn output(mut self, output: usize) -> Self {
        self.output = Some(output);
        self
    }

    /// Which slopes count as correlated in a derivative; [`Gate::Input`] reproduces the authors' code.
    ///
    /// ```
    /// let as_published = tractable::Wanted::maximum().gate(tractable::Gate::Input);
    /// ```
    pub fn gate(mut self, gate: Gate) -> Self {
        self.gate = gate;
        self
    }

    /// In a [search](crate::Network::search), how a place goes with the derivative by second derivatives, as
    /// [`condition`](crate::Network::condition) always does (T50), in place of the paper's covariance (T31), which takes all units
    /// as independent and overstates the step of a place that is unsure. It costs more: second derivatives of every row.
    ///
    /// ```
    /// use tractable::{Activation, Gaussian, Network, Wanted};
    /// let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(1).build()?;
    /// let start = Gaussian::new(vec![0.3], vec![0.01], 1)?;
    /// let higher = net.search(&start, Wanted::maximum().second_order())?;
    /// assert!(net.predict(&higher)?.mean()[0] > net.predict(&start)?.mean()[0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn second_order(mut self) -> Self {
        self.second_order = true;
        self
    }

    /// Count the weights as known: what is not known of them does not hold the place back. As [`Wanted::known_weights`]; in a
    /// search it needs [`second_order`](Extremum::second_order), which it brings.
    ///
    /// ```
    /// let straight_there = tractable::Wanted::maximum().known_weights();
    /// ```
    pub fn known_weights(mut self) -> Self {
        (self.second_order, self.known_weights) = (true, true);
        self
    }

    /// How exactly the derivative is to be zero, as a variance in its own units; 0 unless set.
    ///
    /// ```
    /// let nearly = tractable::Wanted::maximum().noise_var(0.01);
    /// ```
    pub fn noise_var(mut self, var: f64) -> Self {
        self.noise_var = var;
        self
    }

    /// As [`Wanted::layer`].
    ///
    /// ```
    /// let hidden = tractable::Wanted::maximum().layer("tanh1");
    /// ```
    pub fn layer(mut self, name: &'a str) -> Self {
        self.layer = Some(name);
        self
    }

    /// As [`Wanted::rounds`].
    ///
    /// ```
    /// let far = tractable::Wanted::maximum().rounds(20);
    /// ```
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }
}

impl<'a> Wanted<'a> {
    /// That the derivative of the output is zero: the posterior given `d(output)/dx = 0`, which is a maximum, a
    /// minimum or neither. Each unit moves by `-cov/var` times its derivative. Dense networks only, and the
    /// layer or the one above it must have a curved activation.
    ///
    /// ```
    /// use tractable::{Activation, Gaussian, Network, Wanted};
    /// let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(1).build()?;
    /// let x = net.search(&Gaussian::new(vec![0.3], vec![1e-4], 1)?, Wanted::stationary())?;
    /// assert!(x.var()[0] < 1e-4);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn stationary() -> Extremum<'a> {
        Extremum::towards(0.0)
    }

    /// As [`stationary`](Wanted::stationary), the move being made uphill.
    ///
    /// ```
    /// use tractable::{Activation, Gaussian, Network, Wanted};
    /// let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(1).build()?;
    /// let start = Gaussian::new(vec![0.3], vec![1e-4], 1)?;
    /// let higher = net.search(&start, Wanted::maximum().rounds(20))?;
    /// assert!(net.predict(&higher)?.mean()[0] > net.predict(&start)?.mean()[0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn maximum() -> Extremum<'a> {
        Extremum::towards(1.0)
    }

    /// As [`stationary`](Wanted::stationary), the move being made downhill.
    ///
    /// ```
    /// use tractable::{Activation, Gaussian, Network, Wanted};
    /// let net = Network::mlp([1, 16, 1], Activation::Tanh).seed(1).build()?;
    /// let start = Gaussian::new(vec![0.3], vec![1e-4], 1)?;
    /// let lower = net.search(&start, Wanted::minimum().rounds(20))?;
    /// assert!(net.predict(&lower)?.mean()[0] < net.predict(&start)?.mean()[0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn minimum() -> Extremum<'a> {
        Extremum::towards(-1.0)
    }

    /// How exactly the output is wanted, as a variance in its own units; 0, the default, wants it exactly. A search goes there in
    /// one linear step, which can overshoot where the prior is wide: see [`rounds`](Wanted::rounds).
    ///
    /// ```
    /// # use tractable::{Matrix, Wanted};
    /// let y = Matrix::column(vec![1.0])?;
    /// let about_one = Wanted::from(&y).noise_var(0.01);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn noise_var(mut self, var: f64) -> Self {
        self.noise_var = var;
        if let Aim::Output(observation) = &mut self.goal {
            observation.noise_var = None;
        }
        self
    }

    /// Which entries are wanted, `[rows, width]`; the others may come out as they like. Of a maximum or minimum there
    /// are none to choose, and conditioning refuses.
    ///
    /// ```
    /// # use tractable::{Matrix, Wanted};
    /// let y = Matrix::new(vec![1.0, 0.0], 2)?;
    /// let first_only = Wanted::from(&y).only(&[true, false]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn only(mut self, wanted: &'a [bool]) -> Self {
        match &mut self.goal {
            Aim::Output(observation) => observation.seen = Some(wanted),
            Aim::Stationary { only, .. } => *only = true,
        }
        self
    }

    /// Return the posterior of this hidden layer instead of the input's; see
    /// [`Network::layer_names`](crate::Network::layer_names).
    ///
    /// ```
    /// # use tractable::{Matrix, Wanted};
    /// let y = Matrix::column(vec![1.0])?;
    /// let hidden = Wanted::from(&y).layer("relu1");
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn layer(mut self, name: &'a str) -> Self {
        self.layer = Some(name);
        self
    }

    /// Count the weights as known: what is not known of them neither excuses an output that is off nor holds the input back.
    /// An attack, for one, is to reach its target however long the network has learned.
    ///
    /// ```
    /// # use tractable::Wanted;
    /// let class_three = Wanted::from(&[3]).known_weights();
    /// ```
    pub fn known_weights(mut self) -> Self {
        self.known_weights = true;
        self
    }

    /// Any label but this, one a row. A [search](crate::Network::search) with [known weights](Wanted::known_weights), which this
    /// is, goes towards the class that it takes least to reach, in every round anew; a posterior has no such thing.
    ///
    /// ```
    /// use tractable::{Activation, Gaussian, Network, Wanted};
    /// let net = Network::mlp([4, 16, 3], Activation::Relu).classes(3).seed(1).build()?;
    /// let x = Gaussian::new(vec![0.1, 0.2, 0.3, 0.4], vec![0.01; 4], 4)?;
    /// let label = net.predict_classes(&x)?.row(0).iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
    /// let other = net.search(&x, Wanted::other_than(&[label]).rounds(20))?;
    /// assert!(net.predict_classes(&other)?.row(0)[label] < 0.5);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn other_than(labels: &'a [usize]) -> Self {
        Wanted { other_than: true, ..Wanted::from(labels).known_weights() }
    }

    /// Covariance of the input's entries with each other before anything is wanted, `[width, width]`, the same for every row:
    /// neighbouring pixels that are alike, sensors that drift together. It takes the place of the prior's variances.
    ///
    /// ```
    /// use tractable::{Activation, Gaussian, Matrix, Network, Wanted};
    /// let net = Network::mlp([2, 16, 1], Activation::Tanh).seed(3).build()?;
    /// let alike = Matrix::new(vec![0.5, 0.4, 0.4, 0.5], 2)?;
    /// let y = Matrix::column(vec![1.0])?;
    /// let x = Matrix::new(vec![0.1, -0.2], 2)?;
    /// let x = net.condition(&x, Wanted::from(&y).noise_var(0.01).covariance(&alike))?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn covariance(mut self, covariance: &'a Matrix) -> Self {
        self.covariance = Some(covariance);
        self
    }

    /// How often [`Network::search`](crate::Network::search) repeats its step. [`condition`](crate::Network::condition) takes no
    /// notice of it.
    ///
    /// ```
    /// # use tractable::Wanted;
    /// let class_three = Wanted::from(&[3]).rounds(10);
    /// ```
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }
}
