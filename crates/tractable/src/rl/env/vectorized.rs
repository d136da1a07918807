//! Many environments of one kind, stepped together.

use super::{Environment, Step};
use crate::error::{Error, Result};

/// Environments side by side: actions and observations are rows of one slice.
///
/// Nothing restarts by itself. After a step the observation of an environment that ended is its last one,
/// which is what a truncated episode's value is computed from; [`reset`](Self::reset) then starts the next.
///
/// ```
/// use tractable::rl::env::{Pendulum, Step, Vectorized};
/// let mut all = Vectorized::new(vec![Pendulum::new(); 4])?;
/// let mut observations = [0.0; 4 * 3];
/// for i in 0..all.len() {
///     all.reset(i, i as u64, &mut observations)?;
/// }
/// let steps = all.step(&[0.0, 0.1, 0.2, 0.3], &mut observations)?;
/// assert!(steps.iter().all(|s| s.reward < 0.0));
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Vectorized<E> {
    all: Vec<E>,
    steps: Vec<Step>,
}

impl<E: Environment> Vectorized<E> {
    /// At least one environment; all must have spaces of the same size.
    ///
    /// ```
    /// use tractable::rl::env::{Pendulum, Vectorized};
    /// assert!(Vectorized::<Pendulum>::new(vec![]).is_err());
    /// ```
    pub fn new(all: Vec<E>) -> Result<Self> {
        let sizes = |e: &E| (e.observation_space().len(), e.action_space().len());
        let Some(first) = all.first().map(sizes) else {
            return Err(Error::invalid("environments", "at least one is needed"));
        };
        if let Some(other) = all.iter().map(sizes).find(|s| *s != first) {
            let (expected, got) = (format!("{first:?}"), format!("{other:?}"));
            return Err(Error::shape("sizes of observation and action of an environment", expected, got));
        }
        let steps = vec![Step { reward: 0.0, terminated: false, truncated: false }; all.len()];
        Ok(Vectorized { all, steps })
    }

    /// How many environments.
    ///
    /// ```
    /// # use tractable::rl::env::{Pendulum, Vectorized};
    /// assert_eq!(Vectorized::new(vec![Pendulum::new(); 3]).unwrap().len(), 3);
    /// ```
    #[expect(clippy::len_without_is_empty, reason = "there is at least one")]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The environments themselves.
    ///
    /// ```
    /// # use tractable::rl::env::{Environment, Pendulum, Vectorized};
    /// let all = Vectorized::new(vec![Pendulum::new(); 3])?;
    /// assert_eq!(all.environments()[0].action_space().len(), 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn environments(&self) -> &[E] {
        &self.all
    }

    /// Starts an episode in environment `which` and writes its row of the observations.
    ///
    /// ```
    /// # use tractable::rl::env::{Pendulum, Vectorized};
    /// let mut all = Vectorized::new(vec![Pendulum::new(); 2])?;
    /// assert!(all.reset(2, 0, &mut [0.0; 6]).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn reset(&mut self, which: usize, seed: u64, observations: &mut [f64]) -> Result<()> {
        let width = self.width(observations)?;
        let count = self.all.len();
        let Some(env) = self.all.get_mut(which) else {
            return Err(Error::invalid("environment", format!("there is no number {which}, only {count}")));
        };
        env.reset(seed, &mut observations[which * width..(which + 1) * width])
    }

    /// Acts once in every environment, in order; the first error ends it there.
    ///
    /// ```
    /// # use tractable::rl::env::{Pendulum, Vectorized};
    /// let mut all = Vectorized::new(vec![Pendulum::new(); 2])?;
    /// assert!(all.step(&[0.0, f64::NAN], &mut [0.0; 6]).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn step(&mut self, actions: &[f64], observations: &mut [f64]) -> Result<&[Step]> {
        let width = self.width(observations)?;
        let action = self.all[0].action_space().len();
        if actions.len() != self.all.len() * action {
            return Err(Error::shape("actions", self.all.len() * action, actions.len()));
        }
        for (i, env) in self.all.iter_mut().enumerate() {
            let own = &mut observations[i * width..(i + 1) * width];
            self.steps[i] = env.step(&actions[i * action..(i + 1) * action], own)?;
        }
        Ok(&self.steps)
    }

    /// Numbers in one observation; refuses a slice that is not all rows.
    fn width(&self, observations: &[f64]) -> Result<usize> {
        let width = self.all[0].observation_space().len();
        if observations.len() != self.all.len() * width {
            return Err(Error::shape("observations", self.all.len() * width, observations.len()));
        }
        Ok(width)
    }
}
