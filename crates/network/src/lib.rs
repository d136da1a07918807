//! Networks: predict, learn, condition. Users depend on the crate `tractable`, which shows what is theirs.

pub mod builder;
#[cfg(feature = "files")]
pub mod checkpoint;
pub mod condition;
pub mod derivative;
mod drift;
pub mod engine;
pub mod graph;
pub mod layer;
pub mod network;
pub mod output;
mod plan;
pub mod recipes;
pub mod train;
#[cfg(feature = "verify")]
pub mod verify;

pub use builder::NetworkBuilder;
pub use condition::{Found, Mode, Posterior, Search, SearchStart, Searches};
pub use derivative::{Derivative, Wrt};
pub use drift::Drift;
pub use layer::{Layer, Node, Prior, Scheme};
pub use network::{Increment, LearnInfo, Mark, Network, Sums};
pub use output::{
    ClassUnits, Extremum, Head, Noise, Observation, Output, Prediction, Softmax, Spread, Surprise, Tree,
    Wanted,
};
pub use tractable_devices::UpdateRule;
pub use train::{EarlyStopping, Epoch, Fit, FitReport, NoiseSchedule, Progress, Samples, Sync};
