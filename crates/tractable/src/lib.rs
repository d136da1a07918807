//! Bayesian neural networks whose inference is closed form.

mod error;
mod gaussian;
pub mod moments;

pub use error::{Error, Result};
pub use gaussian::{Gaussian, Input, Matrix};
