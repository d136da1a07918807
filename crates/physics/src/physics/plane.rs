//! Vectors in the vertical plane that everything moves in: x forward, z up, angles about the y axis.

use std::ops::{Add, AddAssign, Mul, Neg, Sub};

/// A point or a direction (x, z), in metres.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Vector {
    pub(crate) x: f64,
    pub(crate) z: f64,
}

pub(crate) const fn vector(x: f64, z: f64) -> Vector {
    Vector { x, z }
}

impl Vector {
    pub(crate) fn dot(self, other: Vector) -> f64 {
        self.x * other.x + self.z * other.z
    }

    /// Torque about the y axis of a force that acts at this arm; also `rate().dot(force)`.
    pub(crate) fn torque(self, force: Vector) -> f64 {
        self.z * force.x - self.x * force.z
    }
}

/// An angle about the y axis, by its cosine and sine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    cos: f64,
    sin: f64,
}

impl Turn {
    /// `libm` in Rust rather than the platform's: the same bits everywhere.
    #[inline]
    pub(crate) fn by(angle: f64) -> Self {
        let (sin, cos) = libm::sincos(angle);
        Turn { cos, sin }
    }

    /// A vector of the turned body, seen from outside. Positive angles turn z towards x.
    #[inline]
    pub(crate) fn of(self, v: Vector) -> Vector {
        vector(self.cos * v.x + self.sin * v.z, self.cos * v.z - self.sin * v.x)
    }
}

impl Add for Vector {
    type Output = Vector;
    fn add(self, o: Vector) -> Vector {
        vector(self.x + o.x, self.z + o.z)
    }
}

impl Sub for Vector {
    type Output = Vector;
    fn sub(self, o: Vector) -> Vector {
        vector(self.x - o.x, self.z - o.z)
    }
}

impl Neg for Vector {
    type Output = Vector;
    fn neg(self) -> Vector {
        vector(-self.x, -self.z)
    }
}

impl Mul<Vector> for f64 {
    type Output = Vector;
    fn mul(self, v: Vector) -> Vector {
        vector(self * v.x, self * v.z)
    }
}

impl AddAssign for Vector {
    fn add_assign(&mut self, o: Vector) {
        *self = *self + o;
    }
}
