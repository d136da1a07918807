//! The cart and the pole: numbers, inertia, limits, and the Runge-Kutta step.

use crate::physics::GRAVITY;
use crate::physics::capsule::Capsule;
use crate::physics::constraint::{Limit, Row, Softness};
use crate::physics::plane::{Turn, Vector, vector};
use crate::physics::solver::{Inertia, Problem};
use std::f64::consts::FRAC_PI_2;

/// Seconds per step of the physics.
pub(super) const TIMESTEP: f64 = 0.02;
/// Kilograms per cubic metre.
pub(super) const DENSITY: f64 = 1000.0;
/// Of both joints.
pub(super) const DAMPING: f64 = 1.0;
/// How far the cart may slide either way, in metres.
pub(super) const RAIL: f64 = 1.0;
/// How far the pole may turn either way.
pub(super) const SWING: f64 = FRAC_PI_2;
/// The free end of the pole when upright, seen from the hinge.
pub(super) const TIP: Vector = vector(0.001, 0.6);

/// The mechanism. Joints are the slide along x and the hinge.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) cart: Capsule,
    pub(super) pole: Capsule,
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
    pub(super) tolerance: f64,
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
    pub(super) fn new() -> Self {
        let cart = Capsule::between(vector(-0.1, 0.0), vector(0.1, 0.0), 0.1);
        let pole = Capsule::between(vector(0.0, 0.0), TIP, 0.049);
        let of_pole = DENSITY * pole.volume();
        let mut model = Model {
            cart,
            pole,
            mass: DENSITY * cart.volume() + of_pole,
            moment: of_pole * pole.centre,
            second: pole.inertia(of_pole) + of_pole * pole.centre.dot(pole.centre),
            limits: [RAIL, SWING].map(|bound| Limit { low: -bound, high: bound, mobility: 0.0 }),
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
    pub(super) fn advance(
        &self,
        q: &mut [f64; 2],
        v: &mut [f64; 2],
        push: f64,
        before: [f64; 2],
    ) -> [f64; 2] {
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
