//! Bayesian neural networks whose inference is closed form.

pub mod data;
mod error;
mod gaussian;
pub mod metrics;
pub mod rng;

pub use error::{Error, Result};
pub use gaussian::{Gaussian, Input, Matrix};
