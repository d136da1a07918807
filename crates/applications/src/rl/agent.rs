//! [`Agent`]: continuous actions through inference, the paper's algorithm from top to bottom.
//!
//! A rollout: act with actions sampled from the policy and record the results. Then, for every mini-batch: the value
//! network learns the returns; a better action is inferred from its derivative; the policy learns that
//! action. There is no replay buffer, no gradient and no learning rate.

// Read `rl/agent.rs` from top to bottom: `rollout` is `collect` (act, normalise, record) then `learn`
// (mini-batches of `update.rs`: the value network learns returns, `infer_actions` conditions on dq/da =
// 0, the policy learns). If a rollout fails while acting, agent and task return to their previous
// state. Random numbers have no state: every rollout and every episode has its own stream, so a file
// holds only networks, normalisation, counters and the task's state, and continues with bit-identical
// results.

use super::env::{Environment, Space, Step};
use super::{After, AtTimeLimit, Episode, Rollout, Running, Settings, Squash};
use super::{How, beside, infer_actions, learn_actions, learn_values, targets};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Input;
use tractable_core::memory;
use tractable_core::moments::Activation;
use tractable_core::rng::{ChaCha8Rng, Rng, shuffle, standard_normal, stream};
use tractable_core::shape::Shape;
use tractable_devices::Device;
use tractable_network::layer::{Layer, Prior};
use tractable_network::network::Network;

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
    /// The task's state that belongs to `life`.
    pub(super) world: Vec<f64>,
    /// Centre and half-width of every action's range.
    pub(super) range: Vec<(f64, f64)>,
    memory: Memory,
}

/// The state of an agent, except its networks.
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
    /// Of the current episode: rewards so far, steps, discounted return.
    total: f64,
    length: u64,
    discounted: f64,
    /// Totals of the last episodes.
    pub(super) recent: VecDeque<f64>,
}

/// Bytes that a pass over as many rows as a network takes at once holds.
const PASS: u64 = 1 << 26;

/// A rollout.
#[derive(Debug, Default)]
struct Memory {
    states: Vec<f64>,
    actions: Vec<f64>,
    rewards: Vec<f64>,
    after: Vec<After>,
}

impl Agent {
    /// A new agent for tasks like this one. Networks use one thread: train several
    /// seeds in parallel instead.
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

    /// Like [`new`](Agent::new), with networks on another device. Results do not depend on the number of threads. A GPU is slower:
    /// an agent acts one row at a time.
    ///
    /// ```
    /// use tractable::{Device, rl::{Agent, Settings, env::Pendulum}};
    /// let agent = Agent::on(&Pendulum::new(), Settings::default(), Device::reference())?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn on(env: &(impl Environment + ?Sized), settings: Settings, device: Device) -> Result<Self> {
        settings.check()?;
        let (ns, na) = (env.observation_space().len(), env.action_space().len());
        // A rollout as it was, and as the networks read it.
        memory::check(settings.horizon as u64 * 8 * (3 * (ns + na) as u64 + 8))?;
        let s = &settings;
        let value = network(ns + na, &s.value_layers, Activation::Tanh, s.activation, 1)
            .prior(Prior::he().gain(s.value_gain))
            .seed(stream(s.seed, "value network", 0).next_u64())
            .update_rule(s.update)
            .device(device.clone())
            .build()?;
        let policy = network(ns, &s.policy_layers, s.activation, s.activation, na)
            .layer(s.policy_output)
            .prior(Prior::he().gain(s.policy_gain))
            .seed(stream(s.seed, "policy", 0).next_u64())
            .update_rule(s.update)
            .device(device)
            .build()?;
        let batch = settings.batch.min(settings.horizon) as u64;
        memory::check(batch * (PASS / value.rows_at_once() as u64 + PASS / policy.rows_at_once() as u64))?;
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
            return Err(Error::invalid("action space", "actions need finite bounds"));
        }
        Ok(Agent { settings, value, policy, life, world, range, memory: Memory::default() })
    }

    /// Acts for a horizon and learns from it. It is an error if the environment fails, panics or returns
    /// a value that is not finite. The agent and the environment then return to their previous state, the latter by its own
    /// [`restore`](Environment::restore), so that the rollout can be repeated. If that fails
    /// too, the error says so; restore or replace the environment before continuing.
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
        let (before, world) = (self.life.clone(), env.state());
        let (returns, vars) = match self.collect(env, &mut rollout) {
            Ok(collected) => collected,
            Err(e) => return Err(self.go_back(before, env, &world, e)),
        };
        self.learn(&returns, &vars, &mut rollout)?;
        if self.settings.forget > 0.0 {
            self.value.forget(self.settings.forget)?;
            self.policy.forget(self.settings.forget)?;
        }
        self.life.rollouts += 1;
        self.world = env.state();
        Ok(rollout)
    }

    /// After an error: agent and environment are as before the rollout. Returns the error, and one of the environment if it cannot go back.
    fn go_back(
        &mut self,
        before: Life,
        env: &mut (impl Environment + ?Sized),
        world: &[f64],
        error: Error,
    ) -> Error {
        self.life = before;
        match guarded("restore", self.life.steps, || env.restore(world)) {
            Ok(()) => error,
            Err(r) => Error::invalid("environment", format!("{error}; then {r}")),
        }
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
            second_order: s.second_order,
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
                rollout.policy += learn_actions(&mut self.policy, &states, &inferred, policy_noise)?;
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
        Ok(())
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

    /// Normalises an observation and updates the statistics.
    fn seen(&mut self, observation: &[f64]) -> Result<Vec<f64>> {
        check_finite("observation", observation, self.life.steps)?;
        self.life.observations.update(observation);
        let mut state = observation.to_vec();
        self.life.observations.normalize(&mut state);
        Ok(state)
    }

    /// An action for a state, sampled from the policy, as the value network sees it: within ±1.
    fn sample(&self, state: &[f64], rng: &mut ChaCha8Rng) -> Result<Vec<f64>> {
        let policy = self.policy.predict(Input::exact(state, state.len())?)?;
        let drawn = |(mean, var): (&f64, &f64)| self.squashed(mean + var.sqrt() * standard_normal(rng));
        Ok(policy.mean().iter().zip(policy.var()).map(drawn).collect())
    }

    pub(super) fn squashed(&self, u: f64) -> f64 {
        match self.settings.squash {
            Squash::Once => u.clamp(-1.0, 1.0),
            Squash::Twice => libm::tanh(u),
        }
    }

    /// The value of a state and an action: mean and variance.
    fn worth(&self, state: &[f64], action: &[f64]) -> Result<(f64, f64)> {
        let x = [state, action].concat();
        let value = self.value.predict(Input::exact(&x, x.len())?)?;
        Ok((value.mean()[0], value.var()[0]))
    }

    /// The value of every step of the rollout.
    fn worth_of_all(&self) -> Result<Vec<(f64, f64)>> {
        let mut x = Vec::new();
        beside(&self.memory.states, &self.memory.actions, self.memory.rewards.len(), &mut x);
        let value = self.value.predict(Input::exact(&x, self.value.input().len())?)?;
        Ok(value.mean().iter().copied().zip(value.var().iter().copied()).collect())
    }

    /// From ±1 to the task's units.
    pub(super) fn in_range(&self, action: &[f64], to: &mut [f64]) {
        for ((to, a), (middle, half)) in to.iter_mut().zip(action).zip(&self.range) {
            *to = middle + half * a;
        }
    }
}

/// Dense layers: the first activation, then the others, and a linear output.
fn network(
    inputs: usize,
    hidden: &[usize],
    first: Activation,
    others: Activation,
    outputs: usize,
) -> tractable_network::builder::NetworkBuilder {
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

/// Calls an environment; a panic in it becomes an error.
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

pub(super) fn check_finite(what: &str, values: &[f64], step: u64) -> Result<()> {
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
