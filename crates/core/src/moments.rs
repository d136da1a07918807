//! The mathematics, as pure scalar functions.
//!
//! Nothing here allocates, branches, reads a file or starts a thread. Every formula of the method is in exactly
//! one function of this module, generic over [`Real`]: backends call it in plain loops over `f32` and the compiler
//! vectorises them, the reference backend calls the same function for `f64`. Formulae carry tags (`T1`, `T2`, ...);
//! `docs/equations.md` lists each with its source and its test.
//!
//! | topic | module |
//! |---|---|
//! | standard normal: density, distribution function, tails | [`normal`] |
//! | mean, variance and slope of an activation | [`identity`] [`relu`] [`leaky_relu`] [`tanh`] [`sigmoid`] [`softplus`] [`mixture_relu`] |
//! | one product `w a` of a weighted sum | [`product`] |
//! | the innovation of an output from an observation, of a number or of a class | [`observe`] [`softmax`] |
//! | how innovations propagate back, and update a hidden unit | [`smooth`] |
//! | how they update a parameter, and how steps are limited | [`posterior`] |
//! | posteriors of workers that share a prior, merged | [`merge`] |
//! | the contribution of a layer to the covariance of outputs | [`rows`] |
//! | whether errors are as large as predicted, and how much to forget if not | [`surprise`] |
//! | moments of a slope, one branch of the chain rule, conditioning on a derivative of zero | [`derivative`] |

mod activation;
pub mod derivative;
pub mod identity;
pub mod leaky_relu;
pub mod merge;
pub mod mixture_relu;
pub mod noise;
pub mod normal;
pub mod observe;
pub mod posterior;
pub mod product;
mod real;
pub mod relu;
pub mod rows;
pub mod sigmoid;
pub mod smooth;
pub mod softmax;
pub mod softplus;
pub mod surprise;
mod tables;
pub mod tanh;

pub use activation::{Activation, Formulae};
pub use real::Real;

/// Moments of an activation `a = f(Z)` of a normal `Z ~ N(mu_z, var_z)`.
///
/// ```
/// use tractable::moments::{Moments, relu};
/// let a: Moments<f32> = relu::moments(2.0, 0.5);
/// assert_eq!((a.mean, a.var, a.slope), (2.0, 0.5, 1.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moments<R> {
    /// Mean of `a`.
    pub mean: R,
    /// Variance of `a`, never negative.
    pub var: R,
    /// `cov(a, Z)/var_z`: how far the mean of `a` moves with `mu_z`.
    pub slope: R,
}

/// T5. Moments of the tangent at the mean: `var = slope^2 var_z`.
#[inline(always)]
fn linearised<R: Real>(mean: R, slope: R, var_z: R) -> Moments<R> {
    Moments { mean, var: slope * slope * var_z, slope } // T5
}
