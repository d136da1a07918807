//! Checks of actions and of states that all tasks share.

use tractable_applications::rl::env::{Space, Step};
use tractable_core::error::{Error, Result};

/// A step with this reward, unless the action was too large for one.
pub(crate) fn step(reward: f64, terminated: bool) -> Result<Step> {
    if !reward.is_finite() {
        let why = format!("the action is so large that its reward is {reward}; stay within the action space");
        return Err(Error::invalid("action", why));
    }
    Ok(Step { reward, terminated, truncated: false })
}

/// Refuses an action of the wrong length or with a number that is not finite.
pub(crate) fn check_action(space: &Space, action: &[f64]) -> Result<()> {
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
pub(crate) fn check_state(task: &str, q: &[f64], v: &[f64]) -> Result<()> {
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
pub(crate) fn split_state<const N: usize>(task: &str, state: &[f64]) -> Result<([f64; N], [f64; N])> {
    let wrong = || Error::shape(format!("state of {task}"), 2 * N, state.len());
    let (q, v) = state.split_at_checked(N).ok_or_else(wrong)?;
    let both = (q.try_into().map_err(|_| wrong())?, v.try_into().map_err(|_| wrong())?);
    check_state(task, q, v)?;
    Ok(both)
}
