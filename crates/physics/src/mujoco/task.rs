//! A task from any MuJoCo model, with your own reward and termination.

use super::Simulator;
use super::geoms::Geom;
use crate::state::{check_action, step};
use std::sync::OnceLock;
use tractable_applications::rl::env::{Environment, Segment, Space, Step};
use tractable_core::error::{Error, Result};
use tractable_core::rng::{standard_normal, stream, uniform};

/// A step, for the reward.
///
/// ```
/// use tractable::rl::env::mujoco::Moment;
/// let forward = |m: &Moment<'_>| (m.after[0] - m.before[0]) / m.seconds;
/// let moment = Moment { before: &[0.0, 1.0], action: &[0.5], after: &[0.1, 1.0], seconds: 0.05 };
/// assert_eq!(forward(&moment), 2.0);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// Coordinates, then velocities, before the step.
    pub before: &'a [f64],
    /// The action as given.
    pub action: &'a [f64],
    /// Coordinates, then velocities, after the step.
    pub after: &'a [f64],
    /// Length of the step in seconds.
    pub seconds: f64,
}

type Judge<T> = Box<dyn Fn(&Moment<'_>) -> T + Send + Sync>;

/// Any model as a task: observations are all coordinates and velocities, actions the controls.
///
/// ```no_run
/// use tractable::rl::env::{Environment, mujoco::{ModelTask, Mujoco}};
/// let arm = Mujoco::open(None)?.load("arm.xml".as_ref())?;
/// let mut task = ModelTask::new(arm, 5, |m| -m.after[0].abs())?
///     .ends_when(|m| m.after[0].abs() > 2.0)
///     .start_noise(0.01);
/// let mut seen = vec![0.0; task.observation_space().len()];
/// task.reset(0, &mut seen)?;
/// # Ok::<(), tractable::Error>(())
/// ```
pub struct ModelTask {
    simulator: Simulator,
    /// As the model describes it: coordinates, then velocities.
    start: Vec<f64>,
    frame_skip: usize,
    reward: Judge<f64>,
    ends: Judge<bool>,
    noise: f64,
    before: Vec<f64>,
    observations: Space,
    actions: Space,
    /// Shapes for pictures, once somebody asks.
    geoms: OnceLock<Vec<Geom>>,
}

impl std::fmt::Debug for ModelTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ModelTask on {:?}", self.simulator)
    }
}

impl ModelTask {
    /// Steps the physics `frame_skip` times per action and returns `reward`; never terminates. Actions are
    /// expected in [-1, 1]: see [`action_bound`](Self::action_bound).
    ///
    /// ```no_run
    /// # use tractable::rl::env::mujoco::{ModelTask, Mujoco};
    /// let arm = Mujoco::open(None)?.load("arm.xml".as_ref())?;
    /// let task = ModelTask::new(arm, 5, |m| -m.after[0].powi(2))?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn new(
        simulator: Simulator,
        frame_skip: usize,
        reward: impl Fn(&Moment<'_>) -> f64 + Send + Sync + 'static,
    ) -> Result<Self> {
        if frame_skip == 0 {
            return Err(Error::invalid("frame skip", "must be at least 1"));
        }
        let size = simulator.positions() + simulator.velocities();
        let mut start = vec![0.0; size];
        simulator.observe(&mut start);
        Ok(ModelTask {
            before: start.clone(),
            start,
            frame_skip,
            reward: Box::new(reward),
            ends: Box::new(|_| false),
            noise: 0.0,
            observations: Space::unbounded(size),
            actions: Space::symmetric(simulator.controls(), 1.0),
            geoms: OnceLock::new(),
            simulator,
        })
    }

    /// Terminates after a step for which this holds.
    ///
    /// ```no_run
    /// # use tractable::rl::env::mujoco::ModelTask;
    /// # fn example(task: ModelTask) {
    /// let task = task.ends_when(|m| m.after[1] < 0.3); // it fell
    /// # }
    /// ```
    pub fn ends_when(mut self, ends: impl Fn(&Moment<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.ends = Box::new(ends);
        self
    }

    /// Starts with coordinates uniform within `noise` of the model's own and velocities of this deviation.
    ///
    /// ```no_run
    /// # use tractable::rl::env::mujoco::ModelTask;
    /// # fn example(task: ModelTask) {
    /// let task = task.start_noise(0.1);
    /// # }
    /// ```
    pub fn start_noise(mut self, noise: f64) -> Self {
        self.noise = noise;
        self
    }

    /// Actions lie within `bound` of 0. Motors with a control range clamp to it in any case.
    ///
    /// ```no_run
    /// # use tractable::rl::env::mujoco::ModelTask;
    /// # fn example(task: ModelTask) {
    /// let task = task.action_bound(3.0);
    /// # }
    /// ```
    pub fn action_bound(mut self, bound: f64) -> Self {
        self.actions = Space::symmetric(self.actions.len(), bound);
        self
    }
}

impl Environment for ModelTask {
    fn observation_space(&self) -> &Space {
        &self.observations
    }

    fn action_space(&self) -> &Space {
        &self.actions
    }

    fn reset(&mut self, seed: u64, observation: &mut [f64]) -> Result<()> {
        self.observations.check_len("observation", observation)?;
        let mut rng = stream(seed, "mujoco-model", 0);
        let mut state = self.start.clone();
        let (positions, velocities) = state.split_at_mut(self.simulator.positions());
        if self.noise != 0.0 {
            positions.iter_mut().for_each(|q| *q += uniform(-self.noise, self.noise, &mut rng));
            velocities.iter_mut().for_each(|v| *v += self.noise * standard_normal(&mut rng));
        }
        self.simulator.restore(&state)?;
        self.simulator.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f64], observation: &mut [f64]) -> Result<Step> {
        check_action(&self.actions, action)?;
        self.observations.check_len("observation", observation)?;
        self.simulator.observe(&mut self.before);
        self.simulator.step(action, self.frame_skip)?;
        self.simulator.observe(observation);
        let seconds = self.frame_skip as f64 * self.simulator.timestep();
        let moment = Moment { before: &self.before, action, after: observation, seconds };
        step((self.reward)(&moment), (self.ends)(&moment))
    }

    fn state(&self) -> Vec<f64> {
        self.simulator.state()
    }

    fn restore(&mut self, state: &[f64]) -> Result<()> {
        self.simulator.restore(state)
    }

    fn segments(&self) -> Vec<Segment> {
        self.simulator.seen(self.geoms.get_or_init(|| self.simulator.geoms()))
    }
}
