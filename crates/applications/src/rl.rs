//! Reinforcement learning with continuous actions, by inference: environments, and an agent that conditions
//! its actions on a derivative of the value of zero.
//!
//! ```
//! use tractable::rl::{Agent, Settings, env::{InvertedPendulum, TimeLimit, Version}};
//! let mut env = TimeLimit::new(InvertedPendulum::new(Version::V5), 1000)?;
//! let mut agent = Agent::new(&env, Settings { horizon: 128, ..Settings::default() })?;
//! let rollout = agent.rollout(&mut env)?; // acts 128 times, then learns from it
//! assert_eq!(agent.steps(), 128);
//! assert!(rollout.episodes.iter().all(|e| e.total > 0.0));
//! # Ok::<(), tractable::Error>(())
//! ```

mod agent;
pub mod env;
mod file;
mod normalize;
mod play;
mod record;
mod settings;
mod targets;
mod update;
#[cfg(feature = "verify")]
pub mod verify;

pub use agent::Agent;
pub use normalize::Running;
pub use play::Evaluation;
pub use record::{Episode, Rollout};
pub use settings::{AtTimeLimit, Decay, Settings, Squash};
pub(crate) use targets::{After, targets};
pub(crate) use update::{How, beside, infer_actions, learn_actions, learn_values};
