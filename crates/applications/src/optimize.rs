//! Optimisation by inference: maxima and minima of an output.
//!
//! Networks are searched by conditioning on "the derivative is zero"
//! ([`Wanted::maximum`](tractable_network::Wanted::maximum), [`Wanted::minimum`](tractable_network::Wanted::minimum)), inside a box and with
//! steps of limited length. Exact values of a function are interpolated:
//!
//! | you have | use |
//! |---|---|
//! | a function to call | [`Optimizer::run`] |
//! | an external experiment: ask for a point, tell its value | [`Optimizer::ask`], [`Optimizer::tell`], [`Optimizer::save`] |
//! | a trained network, or a model of several | [`search`], [`search_ensemble`] |
//! | data, and the paper's algorithm: move the input while the network learns | [`follow`] |
//!
//! ```
//! use tractable::optimize::Optimizer;
//! let mut search = Optimizer::minimize([(-2.0, 2.0), (-2.0, 2.0)])?.seed(1);
//! let found = search.run(40, |x| (x[0] - 0.5).powi(2) + (x[1] + 1.0).powi(2))?;
//! assert!((found.x.mean()[0] - 0.5).abs() < 0.1);
//! # Ok::<(), tractable::Error>(())
//! ```

// Networks in `optimize/` move inputs by conditioning on a derivative of zero, inside a box
// (`bounds.rs`) and with limited step lengths: otherwise an overconfident network can send the input
// anywhere, as the paper reports for its start at 1.9. `search.rs` does this on a trained network from
// many starts; `follow.rs` is the paper's algorithm, in which the input moves while the network learns;
// `optimizer.rs` looks for the optimum of a function by asking for its values, and `state.rs` stores it
// in a file between answers.
//
// - **Exact values are interpolated** (`smooth.rs`, T53): a Gaussian process, the closed form of one
//   infinitely wide layer, passes through the nearest hundred values of the region, and its least point
//   is the next one. It converges much faster than a finite network, which only approximates its
//   points. With noise, with more than 20 coordinates, or where it sees nothing to gain, a network asks
//   for the next point.
// - **A new local network for every point** (`surrogate.rs`). It uses at most 200 points near the best
//   one, so a small network learns them from random weights in a few milliseconds. One network that
//   kept learning would become overconfident; new networks also disagree where little is known, which
//   gives exploration.
// - **Values are warped:** linear up to their median, logarithmic above it. Otherwise cliffs far from
//   the optimum would dominate the fit.
// - **A trust region** (`region.rs`) around the best point decides which points are learned (`near.rs`)
//   and how far away the next one may be. When it has shrunk to nothing, or is small and nothing is
//   left to gain, the search restarts with points spread over the box.
// - **The posterior pools eight networks.** One network underestimates the variance of its derivative;
//   networks with different random weights differ by more.
// - **The cost per point is constant:** about 1800 learning steps of a 32-32 network. The same seed and
//   values give the same points, also after saving to a file.

mod bounds;
mod follow;
mod near;
mod optimizer;
mod pooled;
mod region;
mod search;
mod smooth;
mod state;
mod surrogate;

pub use bounds::Bounds;
pub use follow::{Follow, Path, follow};
pub use optimizer::{Optimizer, Trial};
pub use pooled::search_ensemble;
pub use search::{SearchSettings, search};

use serde::{Deserialize, Serialize};
use tractable_core::gaussian::Gaussian;
use tractable_network::output::{Extremum, Wanted};

/// Minimise or maximise.
///
/// ```
/// use tractable::optimize::Goal;
/// assert!(Goal::Minimum.better(1.0, 2.0) && Goal::Maximum.better(2.0, 1.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Minimise.
    Minimum,
    /// Maximise.
    Maximum,
}

impl Goal {
    /// Whether the value `a` is better than `b`.
    ///
    /// ```
    /// assert!(!tractable::optimize::Goal::Minimum.better(1.0, 1.0));
    /// ```
    pub fn better(self, a: f64, b: f64) -> bool {
        self.sign() * a < self.sign() * b
    }

    /// Sign that turns the goal into minimisation.
    fn sign(self) -> f64 {
        match self {
            Goal::Minimum => 1.0,
            Goal::Maximum => -1.0,
        }
    }

    fn wanted(self) -> Extremum<'static> {
        match self {
            Goal::Minimum => Wanted::minimum().second_order(),
            Goal::Maximum => Wanted::maximum().second_order(),
        }
    }
}

/// A maximum or minimum of the output, with its uncertainty.
///
/// The standard deviations are rough, and usually too small in several dimensions. Without noise, the best evaluated
/// point, [`Optimizer::best`], is usually closer to the optimum than this mean.
///
/// ```
/// # use tractable::optimize::Optimizer;
/// let found = Optimizer::maximize([(-1.0, 1.0)])?.run(15, |x| 1.0 - x[0] * x[0])?;
/// println!("{} +- {}: {}", found.x.mean()[0], found.x.std()[0], found.value.mean()[0]);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Optimum {
    /// Posterior of the location, one row. The variance is that of a stationary point given the network's own uncertainty
    /// about its derivative, which is rough; on the edge of the box, where the derivative need not be zero, it
    /// is meaningless.
    pub x: Gaussian,
    /// Expected value of the function there, one number.
    pub value: Gaussian,
}
