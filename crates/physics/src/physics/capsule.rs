//! Capsules: cylinders with round ends, the shape of every link. Their mass, inertia and ends.

use super::plane::{Vector, vector};
use std::f64::consts::PI;

/// A capsule of even density in the frame of its body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capsule {
    pub(crate) centre: Vector,
    /// From the centre to the centre of one round end.
    pub(crate) half: Vector,
    pub(crate) radius: f64,
}

impl Capsule {
    /// Around `centre`, its axis the body's z axis turned by `tilt`.
    pub(crate) fn tilted(centre: Vector, tilt: f64, half_length: f64, radius: f64) -> Self {
        let (sin, cos) = libm::sincos(tilt);
        Capsule { centre, half: half_length * vector(sin, cos), radius }
    }

    /// From one end's centre to the other's.
    pub(crate) fn between(from: Vector, to: Vector, radius: f64) -> Self {
        Capsule { centre: 0.5 * (from + to), half: 0.5 * (to - from), radius }
    }

    /// Centres of the two round ends.
    pub(crate) fn ends(&self) -> [Vector; 2] {
        [self.centre + self.half, self.centre - self.half]
    }

    fn half_length(&self) -> f64 {
        self.half.dot(self.half).sqrt()
    }

    pub(crate) fn volume(&self) -> f64 {
        let r = self.radius;
        PI * r * r * (2.0 * self.half_length() + 4.0 / 3.0 * r)
    }

    /// Inertia about the y axis through the centre, for this mass: a cylinder, and two half balls whose own
    /// centres lie 3/8 r beyond the cylinder's ends.
    pub(crate) fn inertia(&self, mass: f64) -> f64 {
        let (r, h) = (self.radius, self.half_length());
        let in_balls = mass * (4.0 / 3.0 * r) / (2.0 * h + 4.0 / 3.0 * r);
        let in_cylinder = mass - in_balls;
        in_cylinder * (r * r / 4.0 + h * h / 3.0) + in_balls * (0.4 * r * r + h * h + 0.75 * h * r)
    }
}
