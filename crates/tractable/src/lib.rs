//! Bayesian neural networks whose inference is closed form.

mod backend;
mod builder;
mod checkpoint;
pub mod data;
mod error;
mod gaussian;
mod layer;
pub mod metrics;
pub mod moments;
mod network;
mod output;
pub mod rng;
mod shape;
mod stack;
mod train;
pub mod verify;

pub use backend::{Device, Policy};
pub use builder::NetworkBuilder;
pub use error::{Error, Result};
pub use gaussian::{Gaussian, Input, Matrix};
pub use layer::{Layer, Prior, Scheme};
pub use moments::Activation;
pub use network::{LearnInfo, Network};
pub use output::{Observation, Output, Tree, Wanted};
pub use shape::{Padding, Shape, Window};
pub use train::{Epoch, Fit, FitReport, NoiseSchedule, Progress};
