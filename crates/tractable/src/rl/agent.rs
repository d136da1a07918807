//! [`Agent`]: continuous actions through inference, the paper's algorithm from top to bottom.
//!
//! A rollout: act with actions sampled from the policy, note what came of it. Then, a mini-batch at a time: the value
//! network learns the returns; the action is inferred that its derivative says is better; the policy learns that
//! action. Nothing is kept for later. No gradient, no learning rate.

use super::env::{Environment, Space, Step};
use super::forget::forget;
use super::{After, AtTimeLimit, Running, Settings, Squash};
use super::{How, beside, infer_actions, learn_actions, learn_values, targets};
use crate::backend::Device;
use crate::error::{Error, Result};
use crate::gaussian::Input;
use crate::layer::{Layer, Prior};
use crate::moments::Activation;
use crate::network::{LearnInfo, Network};
use crate::rng::{ChaCha8Rng, shuffle, standard_normal, stream};
use crate::shape::Shape;
use rand::Rng;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Episodes over which returns are averaged.
const RECENT: usize = 100;

/// An agent that learns to act.
///
/// ```
/// use tractable::rl::{Agent, Settings, env::{Pendulum, TimeLimit}};
/// let mut env = TimeLimit::new(Pendulum::new(), 200)?;
/// let mut agent = Agent::new(&env, Settings { horizon: 64, ..Settings::default() })?;
/// agent.rollout(&mut env)?;
/// let mut torque = [0.0];
/// agent.act(&[1.0, 0.0, 0.0], &mut torque)?;
/// assert!(torque[0].abs() <= 2.0);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug)]
pub struct Agent {
    pub(super) settings: Settings,
    pub(super) value: Network,
    pub(super) policy: Network,
    pub(super) life: Life,
    /// The task's state where `life` stands.
    pub(super) world: Vec<f64>,
    /// Middle and half width of every action's range.
    range: Vec<(f64, f64)>,
    memory: Memory,
}

/// Where an agent stands in its life, but for its networks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Life {
    pub(super) observations: Running,
    pub(super) returns: Running,
    pub(super) steps: u64,
    pub(super) rollouts: u64,
    pub(super) episodes: u64,
    /// The state it is in, normalised, and the action it is about to take; empty before the first step.
    pub(super) state: Vec<f64>,
    pub(super) action: Vec<f64>,
    /// Of the episode under way: rewards so far, steps, discounted return.
    total: f64,
    length: u64,
    discounted: f64,
    /// Totals of the last episodes.
    pub(super) recent: VecDeque<f64>,
}

/// A rollout.
#[derive(Debug, Default)]
struct Memory {
    states: Vec<f64>,
    actions: Vec<f64>,
    rewards: Vec<f64>,
    after: Vec<After>,
}

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
    /// The agent's step it ended with, from 1.
    pub step: u64,
    /// Steps it took.
    pub length: u64,
    /// Sum of its rewards, as the task paid them.
    pub total: f64,
}

/// What a rollout and learning from it came to.
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
    /// Standard deviation of the policy's actions, in units of half their range: how much is explored.
    pub action_std: f64,
    /// Mean size of the policy's actions, in the same units.
    pub action_size: f64,
    /// Mean of |dq/da| over its standard deviation: how sure the agent is of which way is better.
    pub slope_to_noise: f64,
    /// Mean move from an action to a better one.
    pub inferred_move: f64,
    /// What learning had to limit or mend, value network.
    pub value: LearnInfo,
    /// The same of the policy.
    pub policy: LearnInfo,
}

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
    /// An agent for tasks like this one, that has learned nothing yet. Networks use one thread: agents of several
    /// seeds are best trained side by side.
    ///
    /// ```
    /// use tractable::rl::{Agent, Settings, env::HalfCheetah};
    /// let agent = Agent::new(&HalfCheetah::new(), Settings::default())?;
    /// assert_eq!(agent.steps(), 0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn new(env: &(impl Environment + ?Sized), settings: Settings) -> Result<Self> {
        Agent::on(env, settings, Device::cpu(1))
    }

    /// [`new`](Agent::new) with networks on another device. What is learned does not depend on the number of threads.
    ///
    /// ```
    /// use tractable::{Device, rl::{Agent, Settings, env::Pendulum}};
    /// let agent = Agent::on(&Pendulum::new(), Settings::default(), Device::Reference)?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn on(env: &(impl Environment + ?Sized), settings: Settings, device: Device) -> Result<Self> {
        settings.check()?;
        let (ns, na) = (env.observation_space().len(), env.action_space().len());
        let s = &settings;
        let value = network(ns + na, &s.value_layers, Activation::Tanh, s.activation, 1)
            .prior(Prior::he().gain(s.value_gain))
            .seed(stream(s.seed, "value network", 0).next_u64())
            .policy(s.update)
            .device(device)
            .build()?;
        let policy = network(ns, &s.policy_layers, s.activation, s.activation, na)
            .layer(s.policy_output)
            .prior(Prior::he().gain(s.policy_gain))
            .seed(stream(s.seed, "policy", 0).next_u64())
            .policy(s.update)
            .device(device)
            .build()?;
        let life = Life {
            observations: Running::new(ns),
            returns: Running::new(1),
            steps: 0,
            rollouts: 0,
            episodes: 0,
            state: Vec::new(),
            action: Vec::new(),
            total: 0.0,
            length: 0,
            discounted: 0.0,
            recent: VecDeque::new(),
        };
        Agent::with(settings, value, policy, life, Vec::new(), env.action_space())
    }

    pub(super) fn with(
        settings: Settings,
        value: Network,
        policy: Network,
        life: Life,
        world: Vec<f64>,
        actions: &Space,
    ) -> Result<Self> {
        let range: Vec<(f64, f64)> =
            actions.low().iter().zip(actions.high()).map(|(l, h)| ((l + h) / 2.0, (h - l) / 2.0)).collect();
        if range.iter().any(|(middle, half)| !(middle.is_finite() && half.is_finite())) {
            return Err(Error::invalid("action space", "actions need bounds, which their range is made from"));
        }
        Ok(Agent { settings, value, policy, life, world, range, memory: Memory::default() })
    }

    /// Acts for a horizon and learns from it. An environment that fails or panics is an error and leaves the agent as it
    /// was before this rollout; so does anything it returns that is not a finite number.
    ///
    /// ```
    /// # use tractable::rl::{Agent, Settings, env::{Pendulum, TimeLimit}};
    /// # let mut env = TimeLimit::new(Pendulum::new(), 200)?;
    /// let mut agent = Agent::new(&env, Settings { horizon: 32, ..Settings::default() })?;
    /// for _ in 0..3 {
    ///     agent.rollout(&mut env)?;
    /// }
    /// assert_eq!(agent.steps(), 96);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn rollout(&mut self, env: &mut (impl Environment + ?Sized)) -> Result<Rollout> {
        let mut rollout = Rollout::default();
        let before = self.life.clone();
        let collected = self.collect(env, &mut rollout);
        let (returns, vars) = collected.inspect_err(|_| self.life = before)?;
        self.learn(&returns, &vars, &mut rollout)?;
        self.life.rollouts += 1;
        self.world = env.state();
        Ok(rollout)
    }

    /// Acts for a horizon; the returns of its steps and their variances.
    fn collect(
        &mut self,
        env: &mut (impl Environment + ?Sized),
        rollout: &mut Rollout,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let mut rng = stream(self.settings.seed, "explore", self.life.rollouts);
        let mut observation = vec![0.0; env.observation_space().len()];
        let mut torque = vec![0.0; self.range.len()];
        self.memory = Memory::default();
        if self.life.state.is_empty() {
            self.begin(env, &mut observation)?;
            self.life.action = self.sample(&self.life.state, &mut rng)?;
        }
        for _ in 0..self.settings.horizon {
            self.memory.states.extend(&self.life.state);
            self.memory.actions.extend(&self.life.action);
            self.in_range(&self.life.action, &mut torque);
            let Step { reward, terminated, truncated } =
                guarded("step", self.life.steps, || env.step(&torque, &mut observation))?;
            check_finite("reward", &[reward], self.life.steps)?;
            self.life.steps += 1;
            self.life.length += 1;
            self.life.total += reward;
            self.life.discounted = self.settings.discount * self.life.discounted + reward;
            self.life.returns.update(&[self.life.discounted]);
            self.memory.rewards.push(self.life.returns.scale(reward));
            self.life.state = self.seen(&observation)?;
            let after = match (terminated, truncated) {
                (false, false) => After::GoesOn,
                (false, true) if self.settings.at_time_limit == AtTimeLimit::Bootstrap => {
                    let action = self.sample(&self.life.state, &mut rng)?;
                    let (mean, var) = self.worth(&self.life.state, &action)?;
                    After::Ended { mean, var }
                }
                _ => After::Ended { mean: 0.0, var: 0.0 },
            };
            self.memory.after.push(after);
            if after != After::GoesOn {
                rollout.episodes.push(self.end_episode());
                self.begin(env, &mut observation)?;
            }
            self.life.action = self.sample(&self.life.state, &mut rng)?;
        }
        let beyond = self.worth(&self.life.state, &self.life.action)?;
        let (trace, discount) = (self.settings.trace, self.settings.discount);
        let values = if trace < 1.0 { self.worth_of_all()? } else { Vec::new() };
        let values = (trace < 1.0).then_some((trace, &values[..]));
        Ok(targets(&self.memory.rewards, &self.memory.after, beyond, discount, values))
    }

    /// Goes through the rollout in random mini-batches.
    fn learn(&mut self, returns: &[f64], vars: &[f64], rollout: &mut Rollout) -> Result<()> {
        let s = &self.settings;
        let (ns, na, n) = (self.policy.input().len(), self.range.len(), returns.len());
        let (value_noise, policy_noise) =
            (s.value_noise.at(self.life.rollouts), s.policy_noise.at(self.life.rollouts));
        let how = How {
            gate: s.gate,
            steps: s.inference_steps,
            least_var: s.least_action_std * s.least_action_std,
            cut: s.squash == Squash::Once,
        };
        let (mut order, mut count): (Vec<usize>, f64) = ((0..n).collect(), 0.0);
        let [mut states, mut actions, mut x, mut y, mut y_var] = [const { Vec::new() }; 5];
        for epoch in 0..s.epochs {
            let index = self.life.rollouts * s.epochs as u64 + epoch as u64;
            shuffle(&mut order, &mut stream(s.seed, "shuffle", index));
            for batch in order.chunks(s.batch) {
                gather(&self.memory.states, ns, batch, &mut states);
                gather(&self.memory.actions, na, batch, &mut actions);
                gather(returns, 1, batch, &mut y);
                gather(vars, 1, batch, &mut y_var);
                beside(&states, &actions, batch.len(), &mut x);
                rollout.value += learn_values(&mut self.value, &x, (&y, &y_var), value_noise)?;
                let inferred = infer_actions(&self.value, &self.policy, &states, how)?;
                if self.life.rollouts >= s.policy_waits {
                    rollout.policy +=
                        learn_actions(&mut self.policy, &states, &inferred, policy_noise, s.teach)?;
                }
                let own = &inferred.policy;
                let [slope, slope_var, _] = &inferred.slope;
                count += own.mean().len() as f64;
                for i in 0..own.mean().len() {
                    rollout.action_std += own.var()[i].sqrt();
                    rollout.action_size += own.mean()[i].abs();
                    rollout.inferred_move += (inferred.better.mean()[i] - own.mean()[i]).abs();
                    rollout.slope_to_noise += slope[i].abs() / slope_var[i].sqrt().max(f64::MIN_POSITIVE);
                }
            }
        }
        for sum in [
            &mut rollout.action_std,
            &mut rollout.action_size,
            &mut rollout.inferred_move,
            &mut rollout.slope_to_noise,
        ] {
            *sum /= count;
        }
        forget(&mut self.value, self.settings.value_forgets)?;
        forget(&mut self.policy, self.settings.policy_forgets)
    }

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
        let mut mean = self.policy.predict(Input::checked(&state, ns))?.mean().to_vec();
        mean.iter_mut().for_each(|a| *a = self.squashed(*a));
        self.in_range(&mean, action);
        Ok(())
    }

    /// Plays so many episodes without exploration and without learning; `seed` starts them.
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

    /// Plays one episode without exploration, started by `seed`; `look` sees the task before every step and says whether
    /// to go on.
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

    /// Starts the next episode.
    fn begin(&mut self, env: &mut (impl Environment + ?Sized), observation: &mut [f64]) -> Result<()> {
        let seed = stream(self.settings.seed, "episode", self.life.episodes).next_u64();
        guarded("reset", self.life.steps, || env.reset(seed, observation))?;
        self.life.state = self.seen(observation)?;
        (self.life.total, self.life.length, self.life.discounted) = (0.0, 0, 0.0);
        Ok(())
    }

    fn end_episode(&mut self) -> Episode {
        let life = &mut self.life;
        life.episodes += 1;
        if life.recent.len() == RECENT {
            life.recent.pop_front();
        }
        life.recent.push_back(life.total);
        Episode { step: life.steps, length: life.length, total: life.total }
    }

    /// An observation as the networks see it, counted in.
    fn seen(&mut self, observation: &[f64]) -> Result<Vec<f64>> {
        check_finite("observation", observation, self.life.steps)?;
        self.life.observations.update(observation);
        let mut state = observation.to_vec();
        self.life.observations.normalize(&mut state);
        Ok(state)
    }

    /// An action for a state, sampled from the policy, as the value network sees it: within ±1.
    fn sample(&self, state: &[f64], rng: &mut ChaCha8Rng) -> Result<Vec<f64>> {
        let policy = self.policy.predict(Input::checked(state, state.len()))?;
        let drawn = |(mean, var): (&f64, &f64)| {
            self.squashed(mean + var.sqrt().max(self.settings.least_action_std) * standard_normal(rng))
        };
        Ok(policy.mean().iter().zip(policy.var()).map(drawn).collect())
    }

    fn squashed(&self, u: f64) -> f64 {
        match self.settings.squash {
            Squash::Once => u.clamp(-1.0, 1.0),
            Squash::Twice => libm::tanh(u),
        }
    }

    /// What a state and an action are worth: mean and variance.
    fn worth(&self, state: &[f64], action: &[f64]) -> Result<(f64, f64)> {
        let x = [state, action].concat();
        let value = self.value.predict(Input::checked(&x, x.len()))?;
        Ok((value.mean()[0], value.var()[0]))
    }

    /// What every step of the rollout is worth.
    fn worth_of_all(&self) -> Result<Vec<(f64, f64)>> {
        let mut x = Vec::new();
        beside(&self.memory.states, &self.memory.actions, self.memory.rewards.len(), &mut x);
        let value = self.value.predict(Input::checked(&x, self.value.input().len()))?;
        Ok(value.mean().iter().copied().zip(value.var().iter().copied()).collect())
    }

    /// From ±1 to the task's units.
    fn in_range(&self, action: &[f64], to: &mut [f64]) {
        for ((to, a), (middle, half)) in to.iter_mut().zip(action).zip(&self.range) {
            *to = middle + half * a;
        }
    }

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

    /// Mean total reward of the last 100 episodes, or of those there are; none before the first has ended.
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

/// Dense layers: the first activation, then the others, and a linear output.
fn network(
    inputs: usize,
    hidden: &[usize],
    first: Activation,
    others: Activation,
    outputs: usize,
) -> crate::builder::NetworkBuilder {
    let mut net = Network::builder(Shape::flat(inputs));
    for (i, &width) in hidden.iter().enumerate() {
        net = net.layer(Layer::linear(width)).layer(if i == 0 { first } else { others });
    }
    net.layer(Layer::linear(outputs))
}

/// Rows of a batch.
fn gather(all: &[f64], width: usize, rows: &[usize], to: &mut Vec<f64>) {
    to.clear();
    rows.iter().for_each(|&r| to.extend_from_slice(&all[r * width..(r + 1) * width]));
}

/// Calls an environment; a panic in it is an error of its own.
fn guarded<T>(what: &str, step: u64, call: impl FnOnce() -> Result<T>) -> Result<T> {
    let at = |why: String| Error::invalid("environment", format!("{what} after {step} steps {why}"));
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(e)) => Err(at(format!("failed: {e}"))),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
            Err(at(format!("panicked: {text}")))
        }
    }
}

fn check_finite(what: &str, values: &[f64], step: u64) -> Result<()> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(column) => Err(Error::NotFinite {
            what: format!("{what} after {step} steps"),
            row: 0,
            column,
            value: values[column],
        }),
    }
}
