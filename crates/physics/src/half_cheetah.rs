//! HalfCheetah: a trunk with two legs learns to run. The same physics, rewards and rules as Gymnasium's.

mod arrow;
mod contact;
mod mechanism;
#[cfg(feature = "mujoco")]
mod mjcf;
mod model;

#[cfg(feature = "mujoco")]
use super::mujoco::Mujoco;
use super::mujoco::Simulator;
use super::physics::constraint::Row;
use super::physics::solver::{Inertia, Problem};
use crate::state::{check_action, check_state, split_state, step};
use model::{Model, TIMESTEP};
use tractable_applications::rl::env::{Environment, Segment, Space, Step};
use tractable_core::error::Result;
use tractable_core::rng::{standard_normal, stream, uniform};

/// Steps of the physics in one step of the task.
const FRAME_SKIP: usize = 5;
/// Seconds in one step of the task.
const DT: f64 = 0.05;

/// A planar cheetah with six motors, running along x.
///
/// - **Action**: six numbers in [-1, 1], the torques of back hip, knee and ankle and the same in front. Motors
///   clamp what is beyond, but the cost counts the action as given.
/// - **Observation**: 17 numbers: height, pitch and six joint angles, then the velocities of x, height, pitch
///   and joints. The position x itself is left out.
/// - **Reward**: forward velocity over the step, minus 0.1 times the sum of squares of the action.
/// - **Start**: every coordinate uniform within 0.1 of 0, every velocity normal with deviation 0.1.
/// - **End**: never; Gymnasium stops after 1000 steps ([`TimeLimit`](tractable_applications::rl::env::TimeLimit)).
///
/// One step is five steps of 0.01 s. The outcome depends only on state and action. Versions 2 to 5 of
/// the task are the same.
///
/// ```
/// use tractable::rl::env::{Environment, HalfCheetah};
/// let mut cheetah = HalfCheetah::new();
/// let mut observation = [0.0; 17];
/// cheetah.reset(0, &mut observation)?;
/// let step = cheetah.step(&[0.0, 0.5, 0.0, 0.0, -0.5, 0.0], &mut observation)?;
/// assert!(step.reward.abs() < 10.0 && !step.terminated);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct HalfCheetah {
    model: Model,
    q: [f64; 9],
    v: [f64; 9],
    /// Accelerations of the last step of the physics that met a constraint.
    accelerations: [f64; 9],
    /// Of the solver; 0 is exact.
    tolerance: f64,
    /// Where a real MuJoCo moves the body; `None` is the embedded engine.
    mujoco: Option<Simulator>,
    observations: Space,
    actions: Space,
}

impl Default for HalfCheetah {
    fn default() -> Self {
        Self::new()
    }
}

impl HalfCheetah {
    /// Standing with all coordinates at 0.
    ///
    /// ```
    /// use tractable::rl::env::{Environment, HalfCheetah};
    /// assert_eq!(HalfCheetah::new().action_space().len(), 6);
    /// ```
    pub fn new() -> Self {
        HalfCheetah {
            model: Model::new(),
            q: [0.0; 9],
            v: [0.0; 9],
            accelerations: [0.0; 9],
            tolerance: 0.0,
            mujoco: None,
            observations: Space::unbounded(17),
            actions: Space::symmetric(6, 1.0),
        }
    }

    /// The same task on a real MuJoCo, for comparison: it moves the bodies, the rules are ours. Outcomes
    /// also depend on the last accelerations, which are part of [`state`](Environment::state).
    ///
    /// ```no_run
    /// use tractable::rl::env::{HalfCheetah, mujoco::Mujoco};
    /// let cheetah = HalfCheetah::on(&Mujoco::open(None)?)?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    #[cfg(feature = "mujoco")]
    pub fn on(mujoco: &Mujoco) -> Result<Self> {
        let simulator = mujoco.load_text("half-cheetah", &mjcf::text())?;
        Ok(HalfCheetah { mujoco: Some(simulator), ..Self::new() })
    }

    /// Solves constraints no better than MuJoCo 4 with this tolerance does. For comparisons: outcomes then
    /// depend on the step before, too.
    pub fn with_tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    fn observe(&self, to: &mut [f64]) {
        to[..8].copy_from_slice(&self.q[1..]);
        to[8..].copy_from_slice(&self.v);
    }

    /// One step of the task by the embedded engine.
    fn simulate(&mut self, action: &[f64]) {
        let torque = std::array::from_fn(|i| self.model.joints[i].gear * action[i].clamp(-1.0, 1.0));
        if self.tolerance == 0.0 {
            // So that the result depends only on state and action, to the last bit.
            self.accelerations = [0.0; 9];
        }
        for _ in 0..FRAME_SKIP {
            self.advance(&torque);
        }
    }

    /// One step of the physics under these torques: forces, constraints, and the semi-implicit Euler method
    /// with the joints' damping taken at the end of the step.
    fn advance(&mut self, torque: &[f64; 6]) {
        let (model, q, v) = (&self.model, &mut self.q, &mut self.v);
        let pose = mechanism::pose(model, q);
        let (mut inertia, bias) = mechanism::inertia_and_bias(model, &pose, v);
        let mut force = bias.map(|b| -b);
        for (j, joint) in model.joints.iter().enumerate() {
            force[3 + j] += torque[j] - joint.stiffness * q[3 + j] - joint.damping * v[3 + j];
        }

        let mut rows = [Row::NONE; 6 + contact::MOST_ROWS];
        let mut count = 0;
        let mut add = |row| {
            rows[count] = row;
            count += 1;
        };
        for (j, joint) in model.joints.iter().enumerate() {
            if let Some(row) = joint.limit.row(&model.limit_softness, 3 + j, q[3 + j], v[3 + j]) {
                add(row);
            }
        }
        contact::rows(model, &pose, v, &mut add);
        let problem = Problem { inertia: &inertia, force: &force, rows: &rows[..count] };
        let before = self.accelerations;
        if self.tolerance > 0.0 {
            self.accelerations = problem.solve_roughly(before, self.tolerance);
        } else if count > 0 {
            self.accelerations = problem.solve(before);
        }
        let force = problem.total_force(&self.accelerations);

        inertia.add_diagonal(&model.damping_step);
        let a = inertia.solve(&force);
        for i in 0..9 {
            v[i] += TIMESTEP * a[i];
            q[i] += TIMESTEP * v[i];
        }
    }
}

impl Environment for HalfCheetah {
    fn observation_space(&self) -> &Space {
        &self.observations
    }

    fn action_space(&self) -> &Space {
        &self.actions
    }

    fn reset(&mut self, seed: u64, observation: &mut [f64]) -> Result<()> {
        self.observations.check_len("observation", observation)?;
        let mut rng = stream(seed, "half-cheetah", 0);
        self.q = std::array::from_fn(|_| uniform(-0.1, 0.1, &mut rng));
        self.v = std::array::from_fn(|_| 0.1 * standard_normal(&mut rng));
        if let Some(simulator) = &mut self.mujoco {
            simulator.restore(&[self.q, self.v].concat())?;
        }
        self.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f64], observation: &mut [f64]) -> Result<Step> {
        check_action(&self.actions, action)?;
        self.observations.check_len("observation", observation)?;
        let before = self.q[0];
        match &mut self.mujoco {
            None => self.simulate(action),
            Some(simulator) => {
                simulator.step(action, FRAME_SKIP)?;
                (self.q, self.v) = simulator.positions_and_velocities();
            }
        }
        check_state("HalfCheetah", &self.q, &self.v)?;
        self.observe(observation);
        let cost = 0.1 * action.iter().map(|a| a * a).sum::<f64>();
        step((self.q[0] - before) / DT - cost, false)
    }

    fn state(&self) -> Vec<f64> {
        match &self.mujoco {
            None => [self.q, self.v].concat(),
            Some(simulator) => simulator.state(),
        }
    }

    fn restore(&mut self, state: &[f64]) -> Result<()> {
        (self.q, self.v) = match &mut self.mujoco {
            None => split_state("HalfCheetah", state)?,
            Some(simulator) => {
                simulator.restore(state)?;
                simulator.positions_and_velocities()
            }
        };
        Ok(())
    }

    fn segments(&self) -> Vec<Segment> {
        let pose = mechanism::pose(&self.model, &self.q);
        let bodies = self.model.capsules.iter().zip(contact::BODY);
        let place = |body, at| pose.origin + pose.point(body, at);
        bodies
            .map(|(c, body)| {
                let [a, b] = c.ends().map(|end| place(body, end));
                Segment { from: [a.x, a.z], to: [b.x, b.z], radius: c.radius }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
