//! Environments: tasks with continuous actions, in Gymnasium's terms.
//!
//! | task | goal | physics |
//! |---|---|---|
//! | [`HalfCheetah`] | a planar cheetah learns to run | as MuJoCo's, embedded |
//! | [`InvertedPendulum`] | a cart keeps a pole upright | as MuJoCo's, embedded |
//! | [`Pendulum`] | a weak motor swings a rod up | three lines |
//!
//! The first two also run [on a real MuJoCo](mujoco), as does any model of your own (feature `mujoco`).
//!
//! Steps write into the caller's slices and allocate nothing. A time limit is not part of a task:
//! [`TimeLimit`] wraps a task and sets `truncated`, where a task sets `terminated`.

mod half_cheetah;
mod inverted_pendulum;
#[cfg(feature = "mujoco")]
pub mod mujoco;
#[cfg(not(feature = "mujoco"))]
#[path = "no_mujoco.rs"]
mod mujoco;
mod pendulum;
mod physics;
mod space;
mod time_limit;

pub use half_cheetah::HalfCheetah;
pub use inverted_pendulum::{InvertedPendulum, Version};
pub use pendulum::Pendulum;
pub use space::Space;
pub use time_limit::TimeLimit;

use crate::error::{Error, Result};

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

impl Step {
    fn new(reward: f64, terminated: bool) -> Result<Self> {
        if !reward.is_finite() {
            let why =
                format!("the action is so large that its reward is {reward}; stay within the action space");
            return Err(Error::invalid("action", why));
        }
        Ok(Step { reward, terminated, truncated: false })
    }
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

/// Refuses an action of the wrong length or with a number that is not finite.
fn check_action(space: &Space, action: &[f64]) -> Result<()> {
    space.check_len("action", action)?;
    match action.iter().position(|a| !a.is_finite()) {
        None => Ok(()),
        Some(column) => {
            Err(Error::NotFinite { what: "action".into(), row: 0, column, value: action[column] })
        }
    }
}

/// Beyond this, a coordinate or velocity counts as diverged, as in MuJoCo.
const LARGEST: f64 = 1e10;

/// Refuses a state that has diverged.
fn check_state(task: &str, q: &[f64], v: &[f64]) -> Result<()> {
    let broken = |x: &&f64| x.is_nan() || x.abs() > LARGEST;
    match q.iter().chain(v).find(broken) {
        None => Ok(()),
        Some(x) => Err(Error::invalid(
            task,
            format!("the simulation diverged (a coordinate or velocity is {x:e}); reset the environment"),
        )),
    }
}

/// Coordinates and velocities of a stored state.
fn split_state<const N: usize>(task: &str, state: &[f64]) -> Result<([f64; N], [f64; N])> {
    let wrong = || Error::shape(format!("state of {task}"), 2 * N, state.len());
    let (q, v) = state.split_at_checked(N).ok_or_else(wrong)?;
    let both = (q.try_into().map_err(|_| wrong())?, v.try_into().map_err(|_| wrong())?);
    check_state(task, q, v)?;
    Ok(both)
}
