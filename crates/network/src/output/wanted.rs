//! The goal of `condition`: [`Wanted`].

use super::Observation;
use tractable_core::gaussian::Matrix;
use tractable_core::moments::derivative::Gate;

/// The goal of `condition` and `search`: an output, part of it, or a label; or a maximum, a
/// minimum or a stationary point of the output. Also which layer's posterior to return, and how many rounds a search runs.
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
    /// What to reach.
    pub goal: Aim<'a>,
    /// See [`Wanted::noise_var`].
    pub noise_var: f64,
    /// See [`Wanted::layer`].
    pub layer: Option<&'a str>,
    /// See [`Wanted::rounds`].
    pub rounds: usize,
    /// See [`Wanted::known_weights`].
    pub known_weights: bool,
    /// See [`Wanted::covariance`].
    pub covariance: Option<&'a Matrix>,
    /// The labels are to be avoided.
    pub other_than: bool,
}

/// The goal.
#[derive(Debug, Clone, Copy)]
pub enum Aim<'a> {
    /// An output, part of it, or a label.
    Output(Observation<'a>),
    /// A derivative of zero.
    Stationary {
        /// At a maximum (1), a minimum (-1) or either (0).
        towards: f64,
        /// Of which output.
        output: Option<usize>,
        /// Which slopes count as correlated.
        gate: Gate,
        /// Entries were selected, which is an error here.
        only: bool,
        /// By second derivatives, in a search.
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

/// A maximum, a minimum or a stationary point of the output: made by [`Wanted::maximum`], [`Wanted::minimum`] and
/// [`Wanted::stationary`], accepted wherever a [`Wanted`] is.
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
    /// Details of a stationary point.
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

    /// Which output to maximise or minimise, from 0; needed if there are several.
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
    /// let as_published = tractable::Wanted::maximum().gate(tractable::condition::Gate::Input);
    /// ```
    pub fn gate(mut self, gate: Gate) -> Self {
        self.gate = gate;
        self
    }

    /// In a [search](crate::Network::search), uses second derivatives, as
    /// [`condition`](crate::Network::condition) always does (T50), instead of the paper's covariance (T31), which treats all units
    /// as independent and overshoots for an uncertain input. It costs more: second derivatives of every row.
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

    /// Treats the weights as known, like [`Wanted::known_weights`]; in a
    /// search this turns on [`second_order`](Extremum::second_order).
    ///
    /// ```
    /// let straight_there = tractable::Wanted::maximum().known_weights();
    /// ```
    pub fn known_weights(mut self) -> Self {
        (self.second_order, self.known_weights) = (true, true);
        self
    }

    /// How precisely the derivative must be zero, as a variance in its own units; 0 unless set.
    ///
    /// ```
    /// let nearly = tractable::Wanted::maximum().noise_var(0.01);
    /// ```
    pub fn noise_var(mut self, var: f64) -> Self {
        self.noise_var = var;
        self
    }

    /// Like [`Wanted::layer`].
    ///
    /// ```
    /// let hidden = tractable::Wanted::maximum().layer("tanh1");
    /// ```
    pub fn layer(mut self, name: &'a str) -> Self {
        self.layer = Some(name);
        self
    }

    /// Like [`Wanted::rounds`].
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
    /// A derivative of zero: the posterior given `d(output)/dx = 0`, at a maximum, a
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

    /// Like [`stationary`](Wanted::stationary), but moves uphill.
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

    /// Like [`stationary`](Wanted::stationary), but moves downhill.
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

    /// How precisely the output is wanted, as a variance in its own units; 0, the default, means exactly. A search goes there in
    /// one linear step, which can overshoot if the prior is wide: see [`rounds`](Wanted::rounds).
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

    /// Which entries are wanted, `[rows, width]`; the others are left free. An error for a maximum or
    /// minimum.
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
    /// [`Network::layer_names`](crate::Network::layer_names). Inside a residual block, its covariance with the skip path is ignored.
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

    /// Treats the weights as known: their uncertainty does not relax the goal.
    /// An attack, for example, should reach its target however long the network was trained.
    ///
    /// ```
    /// # use tractable::Wanted;
    /// let class_three = Wanted::from(&[3]).known_weights();
    /// ```
    pub fn known_weights(mut self) -> Self {
        self.known_weights = true;
        self
    }

    /// Any label except this, one per row. Implies [known weights](Wanted::known_weights). In every round, a [search](crate::Network::search)
    /// goes towards the class that is easiest to reach; `condition` does not support it.
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

    /// Prior covariance of the input's entries, `[width, width]`, the same for every row:
    /// for example similar neighbouring pixels, or sensors that drift together. It replaces the prior's variances.
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

    /// Number of rounds of [`Network::search`](crate::Network::search). [`condition`](crate::Network::condition) ignores
    /// it.
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
