//! A time limit around any task: ends episodes with `truncated`.

use super::{Environment, Segment, Space, Step};
use tractable_core::error::{Error, Result};

/// An environment whose episodes are truncated after a number of steps.
///
/// ```
/// use tractable::rl::env::{Environment, Pendulum, TimeLimit};
/// let mut env = TimeLimit::new(Pendulum::new(), 2)?;
/// let mut seen = [0.0; 3];
/// env.reset(0, &mut seen)?;
/// assert!(!env.step(&[0.0], &mut seen)?.truncated);
/// assert!(env.step(&[0.0], &mut seen)?.truncated);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TimeLimit<E> {
    inner: E,
    limit: u64,
    taken: u64,
}

impl<E: Environment> TimeLimit<E> {
    /// At most `limit` steps per episode; 0 is an error.
    ///
    /// ```
    /// use tractable::rl::env::{Pendulum, TimeLimit};
    /// assert!(TimeLimit::new(Pendulum::new(), 0).is_err());
    /// ```
    pub fn new(inner: E, limit: u64) -> Result<Self> {
        if limit == 0 {
            return Err(Error::invalid("time limit", "an episode needs at least one step"));
        }
        Ok(TimeLimit { inner, limit, taken: 0 })
    }
}

impl<E: Environment> Environment for TimeLimit<E> {
    fn observation_space(&self) -> &Space {
        self.inner.observation_space()
    }

    fn action_space(&self) -> &Space {
        self.inner.action_space()
    }

    fn reset(&mut self, seed: u64, observation: &mut [f64]) -> Result<()> {
        self.inner.reset(seed, observation)?;
        self.taken = 0;
        Ok(())
    }

    fn step(&mut self, action: &[f64], observation: &mut [f64]) -> Result<Step> {
        let step = self.inner.step(action, observation)?;
        self.taken += 1;
        Ok(Step { truncated: step.truncated || self.taken >= self.limit, ..step })
    }

    /// The task's state, then the steps taken.
    fn state(&self) -> Vec<f64> {
        let mut state = self.inner.state();
        state.push(self.taken as f64);
        state
    }

    fn restore(&mut self, state: &[f64]) -> Result<()> {
        let Some((&taken, inner)) = state.split_last() else {
            return Err(Error::shape("state of a time limit", "at least 1", 0));
        };
        if !(taken >= 0.0 && taken < 2f64.powi(53) && taken.fract() == 0.0) {
            return Err(Error::invalid("state of a time limit", format!("{taken} is not a number of steps")));
        }
        self.inner.restore(inner)?;
        self.taken = taken as u64;
        Ok(())
    }

    fn segments(&self) -> Vec<Segment> {
        self.inner.segments()
    }
}
