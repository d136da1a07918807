//! Playing episodes without exploration.

use super::agent::check_finite;
use super::env::Environment;
use super::{Agent, Episode};
use serde::Serialize;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Input;
use tractable_core::rng::{Rng, stream};

/// Episodes played without exploration.
///
/// ```
/// # use tractable::rl::{Agent, Settings, env::{Pendulum, TimeLimit}};
/// # let mut env = TimeLimit::new(Pendulum::new(), 10)?;
/// # let agent = Agent::new(&env, Settings::default())?;
/// let played = agent.evaluate(&mut env, 3, 7)?;
/// assert_eq!(played.episodes.len(), 3);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize)]
pub struct Evaluation {
    /// One after another.
    pub episodes: Vec<Episode>,
}

impl Agent {
    /// The policy's action for an observation, without exploration, in the task's units.
    ///
    /// ```
    /// # use tractable::rl::{Agent, Settings, env::HalfCheetah};
    /// let agent = Agent::new(&HalfCheetah::new(), Settings::default())?;
    /// let mut action = [0.0; 6];
    /// agent.act(&[0.0; 17], &mut action)?;
    /// assert!(action.iter().all(|a| a.abs() <= 1.0));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn act(&self, observation: &[f64], action: &mut [f64]) -> Result<()> {
        let ns = self.policy.input().len();
        if observation.len() != ns || action.len() != self.range.len() {
            let expected = format!("{ns} and {}", self.range.len());
            return Err(Error::shape(
                "observation and action",
                expected,
                format!("{} and {}", observation.len(), action.len()),
            ));
        }
        check_finite("observation", observation, self.life.steps)?;
        let mut state = observation.to_vec();
        self.life.observations.normalize(&mut state);
        let mut mean = self.policy.predict(Input::exact(&state, ns)?)?.mean().to_vec();
        mean.iter_mut().for_each(|a| *a = self.squashed(*a));
        self.in_range(&mean, action);
        Ok(())
    }

    /// Plays this many episodes without exploration or learning; `seed` is for their starts.
    ///
    /// ```
    /// # use tractable::rl::{Agent, Settings, env::{Pendulum, TimeLimit}};
    /// # let mut env = TimeLimit::new(Pendulum::new(), 10)?;
    /// # let agent = Agent::new(&env, Settings::default())?;
    /// assert_eq!(agent.evaluate(&mut env, 2, 0)?.episodes[1].length, 10);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn evaluate(
        &self,
        env: &mut (impl Environment + ?Sized),
        episodes: u64,
        seed: u64,
    ) -> Result<Evaluation> {
        let episode = |i| self.watch(env, stream(seed, "evaluate", i).next_u64(), |_| true);
        Ok(Evaluation { episodes: (0..episodes).map(episode).collect::<Result<_>>()? })
    }

    /// Plays one episode without exploration, with this seed; `look` sees the task before every step and returns whether
    /// to continue.
    ///
    /// ```
    /// # use tractable::rl::{Agent, Settings, env::{Environment, Pendulum, TimeLimit}};
    /// # let mut env = TimeLimit::new(Pendulum::new(), 10)?;
    /// # let agent = Agent::new(&env, Settings::default())?;
    /// let mut pictures = Vec::new();
    /// agent.watch(&mut env, 0, |env| {
    ///     pictures.push(env.segments());
    ///     pictures.len() < 5
    /// })?;
    /// assert_eq!(pictures.len(), 5);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn watch<E: Environment + ?Sized>(
        &self,
        env: &mut E,
        seed: u64,
        mut look: impl FnMut(&E) -> bool,
    ) -> Result<Episode> {
        let mut observation = vec![0.0; env.observation_space().len()];
        let mut action = vec![0.0; self.range.len()];
        env.reset(seed, &mut observation)?;
        let mut episode = Episode { step: self.life.steps, length: 0, total: 0.0 };
        while look(env) {
            self.act(&observation, &mut action)?;
            let step = env.step(&action, &mut observation)?;
            episode.total += step.reward;
            episode.length += 1;
            if step.terminated || step.truncated {
                break;
            }
        }
        Ok(episode)
    }
}
