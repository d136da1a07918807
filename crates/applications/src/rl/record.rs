//! Reports of rollouts, and an agent's properties.

use super::{Agent, Settings};
use serde::Serialize;
use tractable_network::network::{LearnInfo, Network};

/// An episode that ended.
///
/// ```
/// # use tractable::rl::{Agent, Settings, env::{Pendulum, TimeLimit}};
/// # let mut env = TimeLimit::new(Pendulum::new(), 10)?;
/// # let mut agent = Agent::new(&env, Settings { horizon: 16, ..Settings::default() })?;
/// let first = agent.rollout(&mut env)?.episodes[0];
/// assert_eq!((first.step, first.length), (10, 10));
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Episode {
    /// The agent's step at its end, from 1.
    pub step: u64,
    /// Its length in steps.
    pub length: u64,
    /// Sum of its rewards, not normalised.
    pub total: f64,
}

/// Results of a rollout and of learning from it.
///
/// ```
/// # use tractable::rl::{Agent, Settings, env::{Pendulum, TimeLimit}};
/// # let mut env = TimeLimit::new(Pendulum::new(), 10)?;
/// # let mut agent = Agent::new(&env, Settings { horizon: 16, ..Settings::default() })?;
/// assert!(agent.rollout(&mut env)?.action_std > 0.0);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Rollout {
    /// Episodes that ended in it.
    pub episodes: Vec<Episode>,
    /// Standard deviation of the policy's actions, in units of half their range: the exploration.
    pub action_std: f64,
    /// Mean size of the policy's actions, in the same units.
    pub action_size: f64,
    /// Mean of |dq/da| over its standard deviation: how certain the agent is about the direction of improvement.
    pub slope_to_noise: f64,
    /// Mean move from an action to a better one.
    pub inferred_move: f64,
    /// Limited steps and repaired variances of the value network.
    pub value: LearnInfo,
    /// The same for the policy.
    pub policy: LearnInfo,
}

impl Agent {
    /// Settings it was made with.
    ///
    /// ```
    /// # use tractable::rl::{Agent, Settings, env::Pendulum};
    /// assert_eq!(Agent::new(&Pendulum::new(), Settings::default())?.settings().batch, 16);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Steps taken.
    ///
    /// ```
    /// # use tractable::rl::{Agent, Settings, env::Pendulum};
    /// assert_eq!(Agent::new(&Pendulum::new(), Settings::default())?.steps(), 0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn steps(&self) -> u64 {
        self.life.steps
    }

    /// Episodes that ended.
    ///
    /// ```
    /// # use tractable::rl::{Agent, Settings, env::Pendulum};
    /// assert_eq!(Agent::new(&Pendulum::new(), Settings::default())?.episodes(), 0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn episodes(&self) -> u64 {
        self.life.episodes
    }

    /// Mean total reward of the last 100 episodes, or of fewer at the start; none before the first has ended.
    ///
    /// ```
    /// # use tractable::rl::{Agent, Settings, env::Pendulum};
    /// assert_eq!(Agent::new(&Pendulum::new(), Settings::default())?.average(), None);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn average(&self) -> Option<f64> {
        let n = self.life.recent.len();
        (n > 0).then(|| self.life.recent.iter().sum::<f64>() / n as f64)
    }

    /// The value network: state and action (±1) to return, in normalised units.
    ///
    /// ```
    /// # use tractable::rl::{Agent, Settings, env::Pendulum};
    /// assert_eq!(Agent::new(&Pendulum::new(), Settings::default())?.value().input().len(), 4);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn value(&self) -> &Network {
        &self.value
    }

    /// The policy: state to action (±1).
    ///
    /// ```
    /// # use tractable::rl::{Agent, Settings, env::Pendulum};
    /// assert_eq!(Agent::new(&Pendulum::new(), Settings::default())?.policy().output().units(), 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn policy(&self) -> &Network {
        &self.policy
    }
}
