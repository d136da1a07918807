//! InvertedPendulum: a cart on a rail keeps a pole upright. The same physics and rules as Gymnasium's.

#[cfg(feature = "mujoco")]
mod mjcf;
mod model;

#[cfg(feature = "mujoco")]
use super::mujoco::Mujoco;
use super::mujoco::Simulator;
use super::physics::capsule::Capsule;
use super::physics::plane::{Turn, Vector, vector};
use crate::state::{check_action, check_state, split_state, step};
use model::Model;
use tractable_applications::rl::env::{Environment, Segment, Space, Step};
use tractable_core::error::Result;
use tractable_core::rng::{stream, uniform};

/// Steps of the physics in one step of the task.
const FRAME_SKIP: usize = 2;
/// Newtons per unit of action.
const GEAR: f64 = 100.0;
/// The motor clamps what is beyond.
const MAX_ACTION: f64 = 3.0;
/// A pole that leans further has fallen, in radians.
const FALLEN: f64 = 0.2;

/// Version of Gymnasium's reward rule.
///
/// ```
/// use tractable::rl::env::{Environment, InvertedPendulum, Version};
/// for (version, pay) in [(Version::V4, 1.0), (Version::V5, 0.0)] {
///     let mut env = InvertedPendulum::new(version);
///     env.restore(&[0.0, 0.3, 0.0, 0.0])?; // the pole has fallen
///     let step = env.step(&[0.0], &mut [0.0; 4])?;
///     assert!(step.terminated && step.reward == pay);
/// }
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// v2 and v4: 1 for every step, including the one in which it falls.
    V4,
    /// v5: 1 while upright, 0 for the step in which it falls.
    #[default]
    V5,
}

/// A pole hinged on a cart that a motor pushes along a rail.
///
/// - **Action**: one number in [-3, 3], clamped to it; 100 N each.
/// - **Observation**: cart's position, pole's angle, and their velocities.
/// - **Reward**: 1 per step, see [`Version`].
/// - **Start**: all four numbers uniform within 0.01 of 0.
/// - **End**: terminated when the pole leans by more than 0.2; Gymnasium stops after 1000 steps.
///
/// One step is two Runge-Kutta steps of 0.02 s. The outcome depends only on state and action.
///
/// ```
/// use tractable::rl::env::{Environment, InvertedPendulum, Version};
/// let mut env = InvertedPendulum::new(Version::V5);
/// let mut seen = [0.0; 4];
/// env.reset(3, &mut seen)?;
/// assert!(seen.iter().all(|x| x.abs() < 0.01));
/// assert_eq!(env.step(&[0.1], &mut seen)?.reward, 1.0);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct InvertedPendulum {
    version: Version,
    model: Model,
    q: [f64; 2],
    v: [f64; 2],
    /// Accelerations at the end of the last step of the physics.
    accelerations: [f64; 2],
    /// Where a real MuJoCo moves the bodies; `None` is the embedded engine.
    mujoco: Option<Simulator>,
    observations: Space,
    actions: Space,
}

impl InvertedPendulum {
    /// Upright, in the middle of the rail.
    ///
    /// ```
    /// use tractable::rl::env::{Environment, InvertedPendulum, Version};
    /// assert_eq!(InvertedPendulum::new(Version::V5).action_space().high(), [3.0]);
    /// ```
    pub fn new(version: Version) -> Self {
        InvertedPendulum {
            version,
            model: Model::new(),
            q: [0.0; 2],
            v: [0.0; 2],
            accelerations: [0.0; 2],
            mujoco: None,
            observations: Space::unbounded(4),
            actions: Space::symmetric(1, MAX_ACTION),
        }
    }

    /// The same task on a real MuJoCo, for comparison: it moves the bodies, the rules are ours. Outcomes
    /// also depend on the last accelerations, which are part of [`state`](Environment::state).
    ///
    /// ```no_run
    /// use tractable::rl::env::{InvertedPendulum, Version, mujoco::Mujoco};
    /// let pole = InvertedPendulum::on(&Mujoco::open(None)?, Version::V5)?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    #[cfg(feature = "mujoco")]
    pub fn on(mujoco: &Mujoco, version: Version) -> Result<Self> {
        let simulator = mujoco.load_text("inverted-pendulum", &mjcf::text())?;
        Ok(InvertedPendulum { mujoco: Some(simulator), ..Self::new(version) })
    }

    /// Solves constraints no better than MuJoCo 4 with this tolerance does. For comparisons: outcomes then
    /// depend on the step before, too.
    pub fn with_tolerance(mut self, tolerance: f64) -> Self {
        self.model.tolerance = tolerance;
        self
    }

    /// One step of the task by the embedded engine.
    fn simulate(&mut self, action: f64) {
        let push = GEAR * action.clamp(-MAX_ACTION, MAX_ACTION);
        for _ in 0..FRAME_SKIP {
            self.accelerations = self.model.advance(&mut self.q, &mut self.v, push, self.accelerations);
        }
    }

    fn observe(&self, to: &mut [f64]) {
        to.copy_from_slice(&[self.q[0], self.q[1], self.v[0], self.v[1]]);
    }
}

impl Environment for InvertedPendulum {
    fn observation_space(&self) -> &Space {
        &self.observations
    }

    fn action_space(&self) -> &Space {
        &self.actions
    }

    fn reset(&mut self, seed: u64, observation: &mut [f64]) -> Result<()> {
        self.observations.check_len("observation", observation)?;
        let mut rng = stream(seed, "inverted-pendulum", 0);
        self.q = std::array::from_fn(|_| uniform(-0.01, 0.01, &mut rng));
        self.v = std::array::from_fn(|_| uniform(-0.01, 0.01, &mut rng));
        if let Some(simulator) = &mut self.mujoco {
            simulator.restore(&[self.q, self.v].concat())?;
        }
        self.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f64], observation: &mut [f64]) -> Result<Step> {
        check_action(&self.actions, action)?;
        self.observations.check_len("observation", observation)?;
        match &mut self.mujoco {
            None => self.simulate(action[0]),
            Some(simulator) => {
                simulator.step(action, FRAME_SKIP)?;
                (self.q, self.v) = simulator.positions_and_velocities();
            }
        }
        check_state("InvertedPendulum", &self.q, &self.v)?;
        self.observe(observation);
        let terminated = self.q[1].abs() > FALLEN;
        let reward = if terminated && self.version == Version::V5 { 0.0 } else { 1.0 };
        step(reward, terminated)
    }

    fn state(&self) -> Vec<f64> {
        match &self.mujoco {
            None => [self.q, self.v].concat(),
            Some(simulator) => simulator.state(),
        }
    }

    fn restore(&mut self, state: &[f64]) -> Result<()> {
        (self.q, self.v) = match &mut self.mujoco {
            None => split_state("InvertedPendulum", state)?,
            Some(simulator) => {
                simulator.restore(state)?;
                simulator.positions_and_velocities()
            }
        };
        Ok(())
    }

    fn segments(&self) -> Vec<Segment> {
        let (at, turn) = (vector(self.q[0], 0.0), Turn::by(self.q[1]));
        let draw = |c: &Capsule, place: &dyn Fn(Vector) -> Vector| {
            let [a, b] = c.ends().map(|end| at + place(end));
            Segment { from: [a.x, a.z], to: [b.x, b.z], radius: c.radius }
        };
        vec![draw(&self.model.cart, &|v| v), draw(&self.model.pole, &|v| turn.of(v))]
    }
}
