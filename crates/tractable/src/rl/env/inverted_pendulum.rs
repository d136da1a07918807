//! InvertedPendulum: a cart on a rail keeps a pole upright. The same physics and rules as Gymnasium's.

use super::physics::GRAVITY;
use super::physics::capsule::Capsule;
use super::physics::constraint::{Limit, Row, Softness};
use super::physics::plane::{Turn, Vector, vector};
use super::physics::solver::{Inertia, Problem};
use super::{Environment, Segment, Space, Step, check_action, check_state, split_state};
use crate::error::Result;
use crate::rng::{stream, uniform};
use std::f64::consts::FRAC_PI_2;

/// Seconds per step of the physics.
const TIMESTEP: f64 = 0.02;
/// Steps of the physics in one step of the task.
const FRAME_SKIP: usize = 2;
/// Newtons per unit of action.
const GEAR: f64 = 100.0;
/// The motor clamps what is beyond.
const MAX_ACTION: f64 = 3.0;
/// Kilograms per cubic metre.
const DENSITY: f64 = 1000.0;
/// Of both joints.
const DAMPING: f64 = 1.0;
/// A pole that leans further has fallen, in radians.
const FALLEN: f64 = 0.2;

/// Which of Gymnasium's rules pay the reward.
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
    /// v2 and v4: 1 for every step, the one that falls too.
    V4,
    /// v5: 1 while upright, 0 for the step that falls.
    #[default]
    V5,
}

/// A pole hinged on a cart that a motor pushes along a rail.
///
/// - **Action**: one number in [-3, 3], clamped to it; 100 N each.
/// - **Observation**: cart's position, pole's angle, and their velocities.
/// - **Reward**: 1 a step, see [`Version`].
/// - **Start**: all four numbers uniform within 0.01 of 0.
/// - **End**: terminated when the pole leans by more than 0.2; Gymnasium stops after 1000 steps.
///
/// One step is two Runge-Kutta steps of 0.02 s. The outcome depends on nothing but state and action.
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
            observations: Space::unbounded(4),
            actions: Space::symmetric(1, MAX_ACTION),
        }
    }

    /// Solves constraints no better than MuJoCo 4 with this tolerance does. For comparisons: outcomes then
    /// depend on the step before, too.
    pub(crate) fn with_tolerance(mut self, tolerance: f64) -> Self {
        self.model.tolerance = tolerance;
        self
    }

    fn observe(&self, to: &mut [f64]) {
        to.copy_from_slice(&[self.q[0], self.q[1], self.v[0], self.v[1]]);
    }
}

/// The mechanism. Joints are the slide along x and the hinge.
#[derive(Debug, Clone)]
struct Model {
    cart: Capsule,
    pole: Capsule,
    /// Of both.
    mass: f64,
    /// Pole's mass times its centre of mass, seen from the hinge. The centre is half a millimetre off the
    /// middle, so that upright is not quite at rest.
    moment: Vector,
    /// Pole's inertia about the hinge.
    second: f64,
    limits: [Limit; 2],
    softness: Softness,
    /// Of the solver; 0 is exact.
    tolerance: f64,
}

/// The inertia matrix of the two joints.
#[derive(Clone, Copy)]
struct Two {
    slide: f64,
    hinge: f64,
    both: f64,
}

impl Inertia<2> for Two {
    fn trace(&self) -> f64 {
        self.slide + self.hinge
    }

    fn times(&self, x: &[f64; 2]) -> [f64; 2] {
        [self.slide * x[0] + self.both * x[1], self.both * x[0] + self.hinge * x[1]]
    }

    fn add_outer(&mut self, weight: f64, row: &[f64; 2]) {
        self.slide += weight * row[0] * row[0];
        self.hinge += weight * row[1] * row[1];
        self.both += weight * row[0] * row[1];
    }

    fn solve(self, b: &[f64; 2]) -> [f64; 2] {
        let over = 1.0 / (self.slide * self.hinge - self.both * self.both);
        [over * (self.hinge * b[0] - self.both * b[1]), over * (self.slide * b[1] - self.both * b[0])]
    }
}

impl Model {
    fn new() -> Self {
        let cart = Capsule::between(vector(-0.1, 0.0), vector(0.1, 0.0), 0.1);
        let pole = Capsule::between(vector(0.0, 0.0), vector(0.001, 0.6), 0.049);
        let of_pole = DENSITY * pole.volume();
        let mut model = Model {
            cart,
            pole,
            mass: DENSITY * cart.volume() + of_pole,
            moment: of_pole * pole.centre,
            second: pole.inertia(of_pole) + of_pole * pole.centre.dot(pole.centre),
            limits: [1.0, FRAC_PI_2].map(|bound| Limit { low: -bound, high: bound, mobility: 0.0 }),
            softness: Softness::new(0.02, TIMESTEP, [0.9, 0.95, 0.001]),
            tolerance: 0.0,
        };
        let at_rest = model.inertia(model.moment);
        model.limits[0].mobility = at_rest.solve(&[1.0, 0.0])[0];
        model.limits[1].mobility = at_rest.solve(&[0.0, 1.0])[1];
        model
    }

    /// The inertia matrix, with the moment of the pole as it stands.
    fn inertia(&self, moment: Vector) -> Two {
        Two { slide: self.mass, hinge: self.second, both: moment.z }
    }

    /// Accelerations of both joints under a push on the cart. `before` are those of the last step.
    fn accelerate(&self, q: &[f64; 2], v: &[f64; 2], push: f64, before: [f64; 2]) -> [f64; 2] {
        let moment = Turn::by(q[1]).of(self.moment);
        let inertia = self.inertia(moment);
        let force = [
            push - DAMPING * v[0] + v[1] * v[1] * moment.x,
            -DAMPING * v[1] - moment.torque(vector(0.0, GRAVITY)),
        ];
        let mut rows = [Row::NONE; 2];
        let mut count = 0;
        for (joint, limit) in self.limits.iter().enumerate() {
            if let Some(row) = limit.row(&self.softness, joint, q[joint], v[joint]) {
                rows[count] = row;
                count += 1;
            }
        }
        let problem = Problem { inertia: &inertia, force: &force, rows: &rows[..count] };
        match count {
            0 => inertia.solve(&force),
            _ if self.tolerance > 0.0 => problem.solve_roughly(before, self.tolerance),
            _ => problem.solve([0.0; 2]),
        }
    }

    /// One step of the classic Runge-Kutta method; returns the accelerations at its end.
    fn advance(&self, q: &mut [f64; 2], v: &mut [f64; 2], push: f64, before: [f64; 2]) -> [f64; 2] {
        let after = |x: &[f64; 2], rate: &[f64; 2], h: f64| [x[0] + h * rate[0], x[1] + h * rate[1]];
        let mean = |k: [[f64; 2]; 4], i: usize| (k[0][i] + 2.0 * (k[1][i] + k[2][i]) + k[3][i]) / 6.0;
        let half = 0.5 * TIMESTEP;
        let a0 = self.accelerate(q, v, push, before);
        let v1 = after(v, &a0, half);
        let a1 = self.accelerate(&after(q, v, half), &v1, push, before);
        let v2 = after(v, &a1, half);
        let a2 = self.accelerate(&after(q, &v1, half), &v2, push, before);
        let v3 = after(v, &a2, TIMESTEP);
        let a3 = self.accelerate(&after(q, &v2, TIMESTEP), &v3, push, before);
        for i in 0..2 {
            q[i] += TIMESTEP * mean([*v, v1, v2, v3], i);
            v[i] += TIMESTEP * mean([a0, a1, a2, a3], i);
        }
        a3
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
        self.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f64], observation: &mut [f64]) -> Result<Step> {
        check_action(&self.actions, action)?;
        self.observations.check_len("observation", observation)?;
        let push = GEAR * action[0].clamp(-MAX_ACTION, MAX_ACTION);
        for _ in 0..FRAME_SKIP {
            self.accelerations = self.model.advance(&mut self.q, &mut self.v, push, self.accelerations);
        }
        check_state("InvertedPendulum", &self.q, &self.v)?;
        self.observe(observation);
        let terminated = self.q[1].abs() > FALLEN;
        let reward = if terminated && self.version == Version::V5 { 0.0 } else { 1.0 };
        Step::new(reward, terminated)
    }

    fn state(&self) -> Vec<f64> {
        [self.q, self.v].concat()
    }

    fn restore(&mut self, state: &[f64]) -> Result<()> {
        (self.q, self.v) = split_state("InvertedPendulum", state)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of MuJoCo 3.3.7 for the same model.
    #[test]
    fn derived_numbers_are_mujocos() {
        let m = Model::new();
        let com = m.pole.centre;
        let of_pole = m.moment.z / com.z;
        let ours = [
            m.mass - of_pole,
            of_pole,
            m.second - of_pole * com.dot(com),
            m.limits[0].mobility,
            m.limits[1].mobility,
        ];
        let theirs = [
            10.47197551196598,
            5.018591641363306,
            0.1887497668730885,
            0.08367433805859587,
            2.023912919848819,
        ];
        for (a, b) in ours.iter().zip(theirs) {
            assert!((a - b).abs() < 1e-14 * b, "{a} {b}");
        }
    }
}
