//! Adversarial images: changed until a classifier misclassifies them.
//!
//! [`infer`] conditions on a wrong label, repeatedly: every pixel gets a variance, the label is
//! observed without noise, and the posterior of the image becomes the next prior. There is no gradient and no step
//! length; the variances only shrink, so the moves fade out. The result is a mean and a variance for every pixel.
//!
//! ```text
//! repeat   predict (x, var_x);  observe the label;  back to the input
//!          x += var_x d_mean,   var_x += var_x^2 d_var
//!          x into the pixel range and the budget
//! ```
//!
//! For comparison, [`pgd`] and [`fgsm`] are the usual gradient attacks, on the network of means. All three take
//! the same [`Targets`] and [`Settings`] and return the same [`Attacked`].
//!
//! ```
//! use tractable::{Activation, Matrix, Network, attack};
//! # let mut net = Network::mlp([4, 24, 3], Activation::Relu).classes(3).seed(2).build()?;
//! # let x = Matrix::new((0..12).map(|i| f64::from(i % 4 == i / 4)).collect(), 4)?;
//! # (0..30).try_for_each(|_| net.learn(&x, &[0, 1, 2]).map(drop))?;
//! # let images = Matrix::new(vec![0.9, 0.1, 0.1, 0.0], 4)?;
//! let targets = attack::Targets::given(&[0], &[2]); // shows class 0, is to look like class 2
//! let found = attack::infer(&net, &images, &targets, &attack::Settings::new().prior_std(0.1))?;
//! assert!(found[0].success && found[0].l_inf < 0.9);
//! assert!(found[0].change.var().iter().all(|&v| v <= 0.0101));
//! # Ok::<(), tractable::Error>(())
//! ```
//!
//! **Units.** Images, [`Settings::range`], [`Settings::prior_std`] and [`Budget`]s are in the units that
//! [`Network::predict`](tractable_network::Network::predict) takes. A network with an input scaler takes plain pixels, 0 to 1; if you centred pixels
//! yourself, set the range.

// `cmd/attack.rs` (flags) -> `attack/` of the program (a few images at a time, pictures) ->
// `attack::infer` of the library -> `lanes.rs` (32 images in parallel; a finished one makes room for
// the next) -> `net.searching(image, label)` with known weights and the pixels' limits -> `round()`:
// the engine lends a pass (two threads never wait for each other), runs forward, propagates rows of the
// label's nodes down to the image, and `step.rs` solves for the step -> `limits.rs` projects it into
// the budget -> next round. On a GPU `resident.rs` does the same with `net.searches(slots)`: images,
// limits and steps stay on the device (`walk.cu`), and only the outputs are read back after a round.
// With `unsure_weights` a round is the paper's: `Forward ... Observe, Back ..., Posterior` for state 0.

mod gradient;
mod infer;
mod lanes;
mod limits;
mod resident;
mod settings;
mod targets;

pub use gradient::{fgsm, gradient, pgd};
pub use infer::infer;
pub use settings::{Budget, Settings, Stop};
pub use targets::Targets;

use tractable_core::gaussian::Gaussian;
use tractable_core::metrics::argmax;

/// The result for one image.
///
/// ```
/// use tractable::{Activation, Matrix, Network, attack};
/// let net = Network::mlp([4, 8, 3], Activation::Relu).classes(3).build()?;
/// let image = Matrix::new(vec![0.2, 0.4, 0.6, 0.8], 4)?;
/// let found = attack::infer(&net, &image, &attack::Targets::all_wrong(&[1]), &attack::Settings::new())?;
/// assert_eq!(found.len(), 2); // towards 0 and towards 2
/// assert_eq!((found[1].image, found[1].label, found[1].target), (0, 1, Some(2)));
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Attacked {
    /// Row of the attacked image.
    pub image: usize,
    /// Its label.
    pub label: usize,
    /// The target class; `None` if any wrong class is accepted.
    pub target: Option<usize>,
    /// The class the attack aimed at: the target or, without one, the most likely wrong class of the original
    /// image.
    pub towards: usize,
    /// Whether the most likely class at the end is the target or, without one, not the label.
    pub success: bool,
    /// Mean and variance of the change, final image minus original, one row. For gradient attacks the
    /// variance is zero. Clipping and budgets affect only means.
    pub change: Gaussian,
    /// Largest change of a pixel.
    pub l_inf: f64,
    /// Square root of the sum of the squared changes.
    pub l2: f64,
    /// Iterations done; 0 if the original image was already classified as the target.
    pub iterations: usize,
    /// Class probabilities of the original image.
    pub before: Vec<f64>,
    /// Class probabilities of the final image, known exactly.
    pub after: Vec<f64>,
}

impl Attacked {
    /// The most likely class of the original image.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network, attack};
    /// # let net = Network::mlp([2, 8, 3], Activation::Relu).classes(3).build()?;
    /// # let image = Matrix::new(vec![0.2, 0.4], 2)?;
    /// # let found = attack::infer(&net, &image, &attack::Targets::all_wrong(&[1]), &attack::Settings::new())?;
    /// assert_eq!(found[0].class_before(), found[1].class_before());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn class_before(&self) -> usize {
        argmax(&self.before)
    }

    /// The most likely class at the end.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network, attack};
    /// # let net = Network::mlp([2, 8, 3], Activation::Relu).classes(3).build()?;
    /// # let image = Matrix::new(vec![0.2, 0.4], 2)?;
    /// # let found = attack::infer(&net, &image, &attack::Targets::all_wrong(&[1]), &attack::Settings::new())?;
    /// assert_eq!(found[0].success, found[0].class_after() == 0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn class_after(&self) -> usize {
        argmax(&self.after)
    }

    /// The final image, given the original.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network, attack};
    /// # let net = Network::mlp([2, 8, 3], Activation::Relu).classes(3).build()?;
    /// # let image = Matrix::new(vec![0.2, 0.4], 2)?;
    /// # let found = attack::infer(&net, &image, &attack::Targets::all_wrong(&[1]), &attack::Settings::new())?;
    /// assert!(found[0].result(image.row(0)).iter().all(|p| (0.0..=1.0).contains(p)));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn result(&self, image: &[f64]) -> Vec<f64> {
        image.iter().zip(self.change.mean()).map(|(x, d)| x + d).collect()
    }
}
