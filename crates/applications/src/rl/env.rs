//! Environments: tasks with continuous actions, in Gymnasium's terms.
//!
//! Steps write into the caller's slices and allocate nothing. A time limit is not part of a task:
//! [`TimeLimit`] wraps a task and sets `truncated`, where a task sets `terminated`.

mod space;
mod time_limit;

pub use space::Space;
pub use time_limit::TimeLimit;

use tractable_core::error::Result;

/// A task: takes an action, returns an observation and a reward.
///
/// ```
/// use tractable::rl::env::{Environment, InvertedPendulum, TimeLimit, Version};
/// let mut env = TimeLimit::new(InvertedPendulum::new(Version::V5), 1000)?;
/// let mut observation = vec![0.0; env.observation_space().len()];
/// env.reset(0, &mut observation)?;
/// let mut total = 0.0;
/// loop {
///     let force = 2.0 * observation[1] + 0.5 * observation[3];
///     let step = env.step(&[force], &mut observation)?;
///     total += step.reward;
///     if step.terminated || step.truncated {
///         break;
///     }
/// }
/// assert!(total > 10.0);
/// # Ok::<(), tractable::Error>(())
/// ```
pub trait Environment {
    /// The space of observations.
    fn observation_space(&self) -> &Space;

    /// The space of actions. Tasks accept actions beyond these bounds and treat them as Gymnasium's do.
    fn action_space(&self) -> &Space;

    /// Starts an episode and writes the first observation. The same seed gives the same start.
    fn reset(&mut self, seed: u64, observation: &mut [f64]) -> Result<()>;

    /// Takes one step and writes the next observation. An action that is not finite is an error and changes
    /// nothing.
    fn step(&mut self, action: &[f64], observation: &mut [f64]) -> Result<Step>;

    /// The complete state, as numbers for [`restore`](Self::restore).
    fn state(&self) -> Vec<f64>;

    /// Returns to a [`state`](Self::state); what follows is bit-identical.
    fn restore(&mut self, state: &[f64]) -> Result<()>;

    /// The current bodies, for drawing; empty if a task has no picture.
    fn segments(&self) -> Vec<Segment> {
        Vec::new()
    }
}

/// The result of an action.
///
/// ```
/// use tractable::rl::env::{Environment, Pendulum};
/// let step = Pendulum::new().step(&[0.0], &mut [0.0; 3])?;
/// assert!(!step.terminated && !step.truncated);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Reward.
    pub reward: f64,
    /// The task ended: no further rewards.
    pub terminated: bool,
    /// The episode was cut off; its future rewards still count.
    pub truncated: bool,
}

/// A body for drawing: a thick line with round ends, in metres, x to the right and z up.
///
/// ```
/// use tractable::rl::env::{Environment, HalfCheetah};
/// let lowest = HalfCheetah::new().segments().iter().map(|s| s.from[1].min(s.to[1])).fold(1.0, f64::min);
/// assert!(lowest > 0.0, "feet are above the floor at z = 0");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// Centre of one end, (x, z).
    pub from: [f64; 2],
    /// Centre of the other end, (x, z).
    pub to: [f64; 2],
    /// Half its thickness.
    pub radius: f64,
}
