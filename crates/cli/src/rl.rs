//! Training agents: tasks, seeds in parallel, and their files.

mod config;
mod curve;
mod events;
mod log;
mod model;
mod seeds;
mod task;

pub use config::AgentConfig;
pub(crate) use curve::over_seeds;
pub use curve::{Returns, draw_curves};
pub(crate) use log::Log;
pub(crate) use model::OwnModel;
pub use seeds::{Plan, Seed, train};
pub use task::{Engine, Task, World};

/// A whole number that may be written as 2e6.
pub fn steps(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(n) if (1.0..=1e15).contains(&n) && n.fract() == 0.0 => Ok(n as u64),
        _ => Err("is not a whole number of steps, such as 2e6".into()),
    }
}
