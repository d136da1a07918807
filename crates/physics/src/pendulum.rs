//! Pendulum: a motor too weak to lift a rod swings it up. The equations of Gymnasium's Pendulum-v1.

use crate::state::{check_action, check_state, split_state, step};
use std::f64::consts::PI;
use tractable_applications::rl::env::{Environment, Segment, Space, Step};
use tractable_core::error::Result;
use tractable_core::rng::{stream, uniform};

const DT: f64 = 0.05;
const GRAVITY: f64 = 10.0;
const MASS: f64 = 1.0;
const LENGTH: f64 = 1.0;
const MAX_TORQUE: f64 = 2.0;
const MAX_SPEED: f64 = 8.0;

/// A rod on a hinge, from any angle, with a motor of at most 2 N m.
///
/// - **Action**: the torque, in [-2, 2]; clamped to it.
/// - **Observation**: cosine and sine of the angle from upright, angular velocity within 8.
/// - **Reward**: -(angle^2 + 0.1 velocity^2 + 0.001 torque^2) before the step, the angle in [-pi, pi).
/// - **Start**: any angle, any velocity in [-1, 1].
/// - **End**: never; Gymnasium stops after 200 steps.
///
/// ```
/// use tractable::rl::env::{Environment, Pendulum};
/// let mut rod = Pendulum::new();
/// rod.restore(&[0.1, 0.0])?; // angle, velocity
/// let step = rod.step(&[0.0], &mut [0.0; 3])?;
/// assert!((step.reward + 0.01).abs() < 1e-15);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pendulum {
    angle: f64,
    velocity: f64,
    observations: Space,
    actions: Space,
}

impl Default for Pendulum {
    fn default() -> Self {
        Self::new()
    }
}

impl Pendulum {
    /// Upright and at rest.
    ///
    /// ```
    /// use tractable::rl::env::{Environment, Pendulum};
    /// assert_eq!(Pendulum::new().observation_space().high(), [1.0, 1.0, 8.0]);
    /// ```
    pub fn new() -> Self {
        let high = vec![1.0, 1.0, MAX_SPEED];
        let low = high.iter().map(|h| -h).collect();
        Pendulum {
            angle: 0.0,
            velocity: 0.0,
            observations: Space::new(low, high).expect("low is minus high"),
            actions: Space::symmetric(1, MAX_TORQUE),
        }
    }

    fn observe(&self, to: &mut [f64]) {
        let (sin, cos) = libm::sincos(self.angle);
        to.copy_from_slice(&[cos, sin, self.velocity]);
    }
}

impl Environment for Pendulum {
    fn observation_space(&self) -> &Space {
        &self.observations
    }

    fn action_space(&self) -> &Space {
        &self.actions
    }

    fn reset(&mut self, seed: u64, observation: &mut [f64]) -> Result<()> {
        self.observations.check_len("observation", observation)?;
        let mut rng = stream(seed, "pendulum", 0);
        self.angle = uniform(-PI, PI, &mut rng);
        self.velocity = uniform(-1.0, 1.0, &mut rng);
        self.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f64], observation: &mut [f64]) -> Result<Step> {
        check_action(&self.actions, action)?;
        self.observations.check_len("observation", observation)?;
        let torque = action[0].clamp(-MAX_TORQUE, MAX_TORQUE);
        let from_upright = (self.angle + PI).rem_euclid(2.0 * PI) - PI;
        let cost =
            from_upright * from_upright + 0.1 * self.velocity * self.velocity + 0.001 * torque * torque;
        let gravity = 3.0 * GRAVITY / (2.0 * LENGTH) * libm::sin(self.angle);
        let acceleration = gravity + 3.0 / (MASS * LENGTH * LENGTH) * torque;
        self.velocity = (self.velocity + acceleration * DT).clamp(-MAX_SPEED, MAX_SPEED);
        self.angle += self.velocity * DT;
        self.observe(observation);
        step(-cost, false)
    }

    fn state(&self) -> Vec<f64> {
        vec![self.angle, self.velocity]
    }

    fn restore(&mut self, state: &[f64]) -> Result<()> {
        let ([angle], [velocity]) = split_state("Pendulum", state)?;
        check_state("Pendulum", &[angle], &[velocity])?;
        (self.angle, self.velocity) = (angle, velocity);
        Ok(())
    }

    fn segments(&self) -> Vec<Segment> {
        let (sin, cos) = libm::sincos(self.angle);
        vec![Segment { from: [0.0, 0.0], to: [LENGTH * sin, LENGTH * cos], radius: 0.1 }]
    }
}
