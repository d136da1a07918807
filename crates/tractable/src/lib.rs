//! Bayesian neural networks with closed-form inference.
//!
//! Every weight, hidden unit and input of a [`Network`] is Gaussian: a mean and a variance. There are no
//! gradients, no learning rate and no sampling; everything a user does is one of three verbs:
//!
//! | verb | question | what it returns |
//! |---|---|---|
//! | [`predict`](Network::predict) | what is the output? | mean and variance of the output |
//! | [`learn`](Network::learn) | what do the data say about the weights? | updated weights, one sample or one batch at a time |
//! | [`condition`](Network::condition) | which input (or hidden layer) gives the output I want? | posterior of those states; weights are unchanged |
//!
//! [`derivative`](Network::derivative) gives the derivative of the output with respect to the input or a hidden layer, with mean and
//! variance, and [`Wanted::maximum`] conditions on a derivative of zero.
//!
//! ```
//! use tractable::{Activation, Fit, Gaussian, Matrix, Network, data::Dataset};
//!
//! let x: Vec<f64> = (0..200).map(|i| i as f64 / 50.0 - 2.0).collect();
//! let y = x.iter().map(|x| x.powi(3) - 3.0 * x).collect();
//! let data = Dataset::new(Matrix::column(x)?, Matrix::column(y)?)?.standardize();
//! let mut net = Network::mlp([1, 50, 1], Activation::Relu).seed(0).build()?;
//! net.fit(&data, &Fit::new().epochs(50).batch(1).noise_std(0.1))?;
//! let y = net.predict(&Matrix::column(vec![0.5])?)?; // Gaussian: mean and variance
//! assert!((y.mean()[0] - (0.125 - 1.5)).abs() < 0.3);
//! let wanted = Matrix::column(vec![-1.8])?;
//! let x = net.search(&Gaussian::new(vec![0.5], vec![0.01], 1)?, &wanted)?; // which input gives -1.8?
//! assert!(x.mean()[0] > 0.5);
//! # Ok::<(), tractable::Error>(())
//! ```
//!
//! # The model in six equations
//!
//! With `m` for means and `S` for variances, `J` for the slope cov(a, z)/S of an activation:
//!
//! ```text
//! predict    z = W a + b:  m_z = sum m_w m_a + m_b,   S_z = sum S_w (m_a^2 + S_a) + m_w^2 S_a + S_b
//!            a = f(z):     m_a, S_a, J                            (exact or linearised at the mean)
//! observe    y = a + v:    d = J (y - m_a)/(S_a + S_v),  D = -J^2/(S_a + S_v)
//! back       d_below = J sum m_w d,    D_below = J^2 sum m_w^2 D          (no division below the output)
//! learn      m_w += S_w sum m_a d,     S_w += S_w^2 sum m_a^2 D           (sums over the batch)
//! condition  m_x += S_x d_x,           S_x += S_x^2 D_x
//! ```
//!
//! `docs/equations.md` in the repository lists every formula with its source, its function and its test; `docs/book/` is
//! the guide, from a first fit to adding layers.
//!
//! # Modules
//!
//! What a first program needs is here; the rest is one level down.
//!
//! | module | contents |
//! |---|---|
//! | [`network`], [`train`], [`condition`] | what belongs to the three verbs of a [`Network`] |
//! | [`ensemble`] | the calibrated model for tables |
//! | [`data`] | tables, images, scalers |
//! | [`attack`], [`optimize`], [`rl`] | images that are misclassified; maxima and minima; agents |
//! | [`metrics`] | scores of predictions with uncertainty |
//! | [`moments`] | the mathematics, as scalar functions |
//! | [`recipes`] | the paper's networks |
//! | [`workers`] | several threads, processes or machines learning together |
//! | [`stop`](mod@stop) | ending long work early |
//! | [`files`], [`rng`], [`fnv`] | crash-safe files; named random streams from one seed; fingerprints of data |
//!
//! # Features
//!
//! All except `ndarray` are on by default. Without any, a [`Network`] can be built, fitted and queried, with 11 crates of others instead
//! of 33.
//!
//! | feature | what it adds |
//! |---|---|
//! | `files` | `Network::save` and `Network::load`, the module `files`, and serde's traits for settings and results |
//! | `attack` | the module `attack` |
//! | `optimize`, `rl` | the modules with these names; both enable `files` |
//! | `csv` | tables from CSV files: `data::csv`, `data::Table`, `data::CsvRows` |
//! | `gzip` | compressed image files |
//! | `cuda` | NVIDIA GPUs: `Device::cuda`, by the driver's library at run time |
//! | `ndarray` | `Input` and `Matrix` from `ndarray` views; `Array2` and views from `Matrix` and `Gaussian` |
//! | `mujoco` | `rl::env::mujoco`: a real MuJoCo, opened at run time; enables `rl` |
//!
//! # Threads
//!
//! All public types are `Send` and `Sync`, except [`Search`](condition::Search) and [`Searches`](condition::Searches), which are only `Send`. One [`Network`] can answer
//! [`predict`](Network::predict) and [`condition`](Network::condition) from many threads at once; learning needs `&mut`.
//!
//! # What is approximate
//!
//! Covariances within a layer and between weights are set to zero; products of Gaussians and activations are
//! replaced by Gaussians with the same mean and variance; all activations except
//! [`MixtureRelu`](Activation::MixtureRelu) are linearised at the mean. The sums over a batch count the prior
//! once per sample; see [`UpdateRule`](network::UpdateRule).

pub use tractable_core::error::{Error, Result};
#[cfg(feature = "files")]
pub use tractable_core::files;
pub use tractable_core::gaussian::{Gaussian, Input, Matrix};
pub use tractable_core::moments::{self, Activation};
pub use tractable_core::shape::Shape;
pub use tractable_core::{fnv, metrics, rng, stop};
pub use tractable_data as data;
pub use tractable_devices::Device;
pub use tractable_ensemble::{self as ensemble, Ensemble};
pub use tractable_network::{Fit, Layer, Network, Noise, Posterior, Prediction, Prior, Wanted, recipes};

/// What a network is made of, what it says of itself, and what copies of it exchange.
pub mod network {
    pub use tractable_core::shape::{Padding, Window};
    pub use tractable_devices::UpdateRule;
    pub use tractable_network::{
        ClassUnits, Drift, Head, Increment, LearnInfo, Mark, NetworkBuilder, Node, Observation, Output,
        Scheme, Softmax, Spread, Sums, Surprise, Tree,
    };
}

/// Fitting a network: what it can be fitted to, progress, stopping early, several workers.
pub mod train {
    pub use tractable_network::{EarlyStopping, Epoch, FitReport, NoiseSchedule, Progress, Samples, Sync};
}

/// Answers of [`Network::condition`], its step-by-step form, and derivatives.
pub mod condition {
    pub use tractable_core::moments::derivative::Gate;
    pub use tractable_network::{Derivative, Extremum, Found, Mode, Search, SearchStart, Searches, Wrt};
}

#[cfg(feature = "attack")]
pub use tractable_applications::attack;
#[cfg(feature = "optimize")]
pub use tractable_applications::optimize;

/// Reinforcement learning with continuous actions, by inference: environments, and an agent that conditions its actions on a
/// derivative of the value of zero.
#[cfg(feature = "rl")]
pub mod rl {
    pub use tractable_applications::rl::{
        Agent, AtTimeLimit, Decay, Episode, Evaluation, Rollout, Running, Settings, Squash,
    };

    /// Environments: tasks with continuous actions, in Gymnasium's terms.
    pub mod env {
        pub use tractable_applications::rl::env::{Environment, Segment, Space, Step, TimeLimit};
        #[cfg(feature = "mujoco")]
        pub use tractable_physics::mujoco;
        pub use tractable_physics::{HalfCheetah, InvertedPendulum, Pendulum, Version};
    }
}

/// Several threads, processes or machines that learn together, and the [`Team`](workers::Team) of threads that compute.
pub mod workers {
    pub use tractable_core::team::Team;
    pub use tractable_core::workers::{Threads, Transport, agree, fail, leave, share};
}

/// The code in the README and in the book, compiled and run with the documentation's tests.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/book/src/first-fit.md")]
    struct FirstFit;
    #[doc = include_str!("../../../docs/book/src/uncertainty.md")]
    struct Uncertainty;
    #[doc = include_str!("../../../docs/book/src/streams.md")]
    struct Streams;
    #[doc = include_str!("../../../docs/book/src/conditioning.md")]
    struct Conditioning;
    #[doc = include_str!("../../../docs/book/src/attack.md")]
    struct Attack;
    #[doc = include_str!("../../../docs/book/src/optimise.md")]
    struct Optimise;
    #[doc = include_str!("../../../docs/book/src/reinforcement-learning.md")]
    struct ReinforcementLearning;
    #[doc = include_str!("../../../docs/book/src/machines.md")]
    struct Machines;
    #[doc = include_str!("../../../docs/book/src/coming-from.md")]
    struct ComingFrom;
    #[doc = include_str!("../../../docs/book/src/extending.md")]
    struct Extending;
}
