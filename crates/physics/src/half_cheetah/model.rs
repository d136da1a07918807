//! The numbers of the cheetah: links, joints, motors and floor, as in Gymnasium's HalfCheetah model.

use super::arrow::Arrow;
use super::mechanism;
use crate::physics::capsule::Capsule;
use crate::physics::constraint::{Limit, Softness};
use crate::physics::plane::{Vector, vector};
use crate::physics::solver::{Inertia, dot};

/// Seconds per step of the physics.
pub(super) const TIMESTEP: f64 = 0.01;
/// Radius of every link's capsule, in metres.
pub(super) const RADIUS: f64 = 0.046;
/// Sliding friction of the floor.
pub(super) const FRICTION: f64 = 0.4;
/// Height of the trunk's origin above the floor when all coordinates are 0.
pub(super) const HEIGHT: f64 = 0.7;
/// Links are scaled to this mass together, in kilograms.
const MASS: f64 = 14.0;
/// Rotor inertia felt at every leg joint.
pub(super) const ARMATURE: f64 = 0.1;

/// A link of a leg, and the joint that carries it.
pub(super) struct LegLink {
    /// Where the joint sits on the link above.
    pub(super) joint: Vector,
    pub(super) centre: Vector,
    pub(super) tilt: f64,
    pub(super) half_length: f64,
    pub(super) range: [f64; 2],
    pub(super) damping: f64,
    pub(super) stiffness: f64,
    pub(super) gear: f64,
}

/// Back leg, front leg; hip, knee, ankle.
#[rustfmt::skip]
pub(super) const LEGS: [[LegLink; 3]; 2] = [
    [
        LegLink { joint: vector(-0.5, 0.0), centre: vector(0.1, -0.13), tilt: -3.8, half_length: 0.145,
                  range: [-0.52, 1.05], damping: 6.0, stiffness: 240.0, gear: 120.0 },
        LegLink { joint: vector(0.16, -0.25), centre: vector(-0.14, -0.07), tilt: -2.03, half_length: 0.15,
                  range: [-0.785, 0.785], damping: 4.5, stiffness: 180.0, gear: 90.0 },
        LegLink { joint: vector(-0.28, -0.14), centre: vector(0.03, -0.097), tilt: -0.27, half_length: 0.094,
                  range: [-0.4, 0.785], damping: 3.0, stiffness: 120.0, gear: 60.0 },
    ],
    [
        LegLink { joint: vector(0.5, 0.0), centre: vector(-0.07, -0.12), tilt: 0.52, half_length: 0.133,
                  range: [-1.0, 0.7], damping: 4.5, stiffness: 180.0, gear: 120.0 },
        LegLink { joint: vector(-0.14, -0.24), centre: vector(0.065, -0.09), tilt: -0.6, half_length: 0.106,
                  range: [-1.2, 0.87], damping: 3.0, stiffness: 120.0, gear: 60.0 },
        LegLink { joint: vector(0.13, -0.18), centre: vector(0.045, -0.07), tilt: -0.6, half_length: 0.07,
                  range: [-0.5, 0.5], damping: 1.5, stiffness: 60.0, gear: 30.0 },
    ],
];

/// A link with everything that hangs below it, in its own frame; origin at its joint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// The joint's place on the link above.
    pub(super) joint: Vector,
    /// Its own centre of mass.
    pub(super) com: Vector,
    /// First moment about its joint: its own mass at `com`, the mass of what hangs below at the joints below.
    pub(super) moment: Vector,
    /// Second moment likewise, with the inertia about its own centre.
    pub(super) second: f64,
    /// Mass of the link and all below it.
    pub(super) mass: f64,
    /// Acceleration for a unit of force on the link, at rest: the mean over three directions.
    pub(super) mobility: f64,
}

/// A motor with its joint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Joint {
    pub(super) limit: Limit,
    pub(super) damping: f64,
    pub(super) stiffness: f64,
    pub(super) gear: f64,
}

/// The whole mechanism.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) trunk: Link,
    pub(super) legs: [[Link; 3]; 2],
    /// Leg joints, back leg first.
    pub(super) joints: [Joint; 6],
    /// Back, head, then the links of the legs.
    pub(super) capsules: [Capsule; 8],
    pub(super) armature: [f64; 9],
    /// Damping times the time step: what the implicit integrator adds to the inertia.
    pub(super) damping_step: [f64; 9],
    pub(super) limit_softness: Softness,
    pub(super) contact_softness: Softness,
}

/// Back, head, then the links of the legs.
fn capsules() -> [Capsule; 8] {
    let back = Capsule::between(vector(-0.5, 0.0), vector(0.5, 0.0), RADIUS);
    let head = Capsule::tilted(vector(0.6, 0.1), 0.87, 0.15, RADIUS);
    let shape = |l: &LegLink| Capsule::tilted(l.centre, l.tilt, l.half_length, RADIUS);
    let [[b0, b1, b2], [f0, f1, f2]] = LEGS.each_ref().map(|leg| leg.each_ref().map(shape));
    [back, head, b0, b1, b2, f0, f1, f2]
}

/// Kilograms per cubic metre of every link.
pub(super) fn density() -> f64 {
    MASS / capsules().iter().map(Capsule::volume).sum::<f64>()
}

impl Model {
    pub(super) fn new() -> Self {
        let capsules = capsules();
        let density = density();
        let legs: [[Link; 3]; 2] = std::array::from_fn(|p| {
            let mut below: Vec<Link> = Vec::new();
            let mut links = [None; 3];
            for i in (0..3).rev() {
                let link = Link::new(LEGS[p][i].joint, &capsules[2 + 3 * p + i..][..1], density, &below);
                links[i] = Some(link);
                below = vec![link];
            }
            links.map(|l| l.expect("each was made"))
        });
        let trunk = Link::new(vector(0.0, HEIGHT), &capsules[..2], density, &[legs[0][0], legs[1][0]]);

        let mut armature = [0.0; 9];
        armature[3..].fill(ARMATURE);
        let mut damping_step = [0.0; 9];
        let mut model = Model {
            trunk,
            legs,
            joints: std::array::from_fn(|j| {
                let LegLink { range: [low, high], damping, stiffness, gear, .. } = LEGS[j / 3][j % 3];
                damping_step[3 + j] = TIMESTEP * damping;
                Joint { limit: Limit { low, high, mobility: 0.0 }, damping, stiffness, gear }
            }),
            capsules,
            armature,
            damping_step,
            limit_softness: Softness::new(0.02, TIMESTEP, [0.0, 0.8, 0.03]),
            contact_softness: Softness::new(0.02, TIMESTEP, [0.0, 0.8, 0.01]),
        };
        model.measure_mobility();
        model
    }

    /// The mobilities, from the inertia with all coordinates at 0.
    fn measure_mobility(&mut self) {
        let pose = mechanism::pose(self, &[0.0; 9]);
        let inertia = mechanism::inertia(self, &pose);
        let quadratic = |row: &[f64; 9], inertia: &Arrow| dot(row, &inertia.solve(row));
        for j in 0..6 {
            let mut row = [0.0; 9];
            row[3 + j] = 1.0;
            self.joints[j].limit.mobility = quadratic(&row, &inertia);
        }
        let mobility = |body: usize, com: Vector| {
            let at = pose.point(body, com);
            // The third direction is out of the plane, where nothing moves.
            (quadratic(&pose.row_x(body, at), &inertia) + quadratic(&pose.row_z(body, at), &inertia)) / 3.0
        };
        self.trunk.mobility = mobility(0, self.trunk.com);
        for body in 1..7 {
            let link = &mut self.legs[(body - 1) / 3][(body - 1) % 3];
            link.mobility = mobility(body, link.com);
        }
    }

    /// Mobility of a body: 0 the trunk, 1 to 3 the back leg, 4 to 6 the front leg.
    pub(super) fn mobility(&self, body: usize) -> f64 {
        match body {
            0 => self.trunk.mobility,
            _ => self.legs[(body - 1) / 3][(body - 1) % 3].mobility,
        }
    }
}

impl Link {
    fn new(joint: Vector, shapes: &[Capsule], density: f64, below: &[Link]) -> Self {
        let masses: Vec<f64> = shapes.iter().map(|s| density * s.volume()).collect();
        let own: f64 = masses.iter().sum();
        let mut moment = vector(0.0, 0.0);
        let mut second = 0.0;
        for (shape, &m) in shapes.iter().zip(&masses) {
            moment += m * shape.centre;
            second += shape.inertia(m) + m * shape.centre.dot(shape.centre);
        }
        let com = (1.0 / own) * moment;
        let mut mass = own;
        for link in below {
            mass += link.mass;
            moment += link.mass * link.joint;
            second += link.mass * link.joint.dot(link.joint);
        }
        Link { joint, com, moment, second, mass, mobility: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(ours: &[f64], theirs: &[f64]) {
        for (a, b) in ours.iter().zip(theirs) {
            assert!((a - b).abs() <= 1e-14 * b.abs(), "{a} is not {b}");
        }
    }

    /// Values of MuJoCo 3.3.7 for the same model.
    #[test]
    fn derived_numbers_are_mujocos() {
        let m = Model::new();
        let [b, f] = m.legs;
        let own = |l: &Link, below: f64| l.mass - below;
        close(&[m.trunk.mass], &[14.0]);
        close(
            &[own(&b[0], b[1].mass), own(&b[1], b[2].mass), b[2].mass, f[2].mass],
            &[1.5435146443514645, 1.5874476987447697, 1.0953974895397491, 0.8845188284518829],
        );
        close(&[m.trunk.com.x, m.trunk.com.z], &[0.15238987816307403, 0.02539831302717901]);
        close(&[b[2].second - b[2].mass * b[2].com.dot(b[2].com)], &[0.0063524232635983275]);
        let bodies: Vec<f64> = (0..7).map(|b| m.mobility(b)).collect();
        close(
            &bodies,
            &[
                0.06415751945610272,
                0.09691101560963138,
                0.12720922534654555,
                0.24374928349017175,
                0.08148379481367073,
                0.1319968179007737,
                0.2661441029233887,
            ],
        );
        let joints = m.joints.map(|j| j.limit.mobility);
        close(
            &joints,
            &[
                2.729788644884893,
                5.893248984162904,
                8.894877004054676,
                3.0813926054768768,
                6.882795962275771,
                9.468134962769764,
            ],
        );
    }
}
