//! How the cheetah moves: where its links are, its inertia, and the forces of its own motion.
//!
//! Everything turns about the y axis, so a link is an angle, and the matrices follow from three moments a
//! link, summed from the feet up: with `c` the places of the masses `m` carried by joint `j` at `o_j`,
//!
//! ```text
//! mass_j = sum m        S_j = sum m (c - o_j)        J_j = sum m |c - o_j|^2 + inertia
//! M_jk = J_j + S_j . (o_j - o_k)   for k above j,    M_jx = S_j.z,    M_jz = -S_j.x
//! ```

use super::arrow::Arrow;
use super::model::{HEIGHT, Link, Model};
use crate::physics::GRAVITY;
use crate::physics::plane::{Turn, Vector, vector};

/// Where everything is. Places are seen from the trunk's origin, in directions of the world.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pose {
    /// The trunk's origin: x, and z above the floor.
    pub(super) origin: Vector,
    /// Angle of each body: trunk, back leg, front leg.
    pub(super) turns: [Turn; 7],
    /// Place of each body's joint.
    pub(super) joints: [Vector; 7],
    /// From the joint of the link above to this joint.
    arms: [Vector; 7],
}

/// Bodies of a leg.
const LEG: [[usize; 3]; 2] = [[1, 2, 3], [4, 5, 6]];

#[inline]
pub(super) fn pose(model: &Model, q: &[f64; 9]) -> Pose {
    let trunk = Turn::by(q[2]);
    let mut pose = Pose {
        origin: vector(q[0], q[1] + HEIGHT),
        turns: [trunk; 7],
        joints: [vector(0.0, 0.0); 7],
        arms: [vector(0.0, 0.0); 7],
    };
    for (links, bodies) in model.legs.iter().zip(LEG) {
        let (mut angle, mut above) = (q[2], 0);
        for (link, body) in links.iter().zip(bodies) {
            pose.arms[body] = pose.turns[above].of(link.joint);
            pose.joints[body] = pose.joints[above] + pose.arms[body];
            angle += q[2 + body];
            pose.turns[body] = Turn::by(angle);
            above = body;
        }
    }
    pose
}

impl Pose {
    /// A point of a body, seen from the trunk's origin.
    #[inline]
    pub(super) fn point(&self, body: usize, at: Vector) -> Vector {
        self.joints[body] + self.turns[body].of(at)
    }

    /// How every joint moves a point of a body forward.
    #[inline]
    pub(super) fn row_x(&self, body: usize, at: Vector) -> [f64; 9] {
        let mut row = [1.0, 0.0, at.z, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        for b in leg_down_to(body) {
            row[2 + b] = at.z - self.joints[b].z;
        }
        row
    }

    /// How every joint moves a point of a body up.
    #[inline]
    pub(super) fn row_z(&self, body: usize, at: Vector) -> [f64; 9] {
        let mut row = [0.0, 1.0, -at.x, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        for b in leg_down_to(body) {
            row[2 + b] = self.joints[b].x - at.x;
        }
        row
    }
}

/// Bodies of a leg from the hip to this one; none for the trunk.
#[inline]
fn leg_down_to(body: usize) -> std::ops::Range<usize> {
    match body {
        0 => 1..1,
        1..=3 => 1..body + 1,
        _ => 4..body + 1,
    }
}

/// Moments of everything that a joint carries, about that joint.
#[derive(Clone, Copy)]
struct Carried {
    /// S, first moment.
    first: Vector,
    /// J, second moment.
    second: f64,
}

/// The moments of `link` turned by `turn`, with what it carries at `arm` from its joint.
#[inline]
fn carry(link: &Link, turn: Turn, below: Option<(Carried, Vector)>) -> Carried {
    let own = Carried { first: turn.of(link.moment), second: link.second };
    match below {
        None => own,
        Some((below, arm)) => Carried {
            first: own.first + below.first,
            second: own.second + below.second + 2.0 * below.first.dot(arm),
        },
    }
}

/// Moments of everything that each joint carries.
#[inline]
fn carried(model: &Model, pose: &Pose) -> [Carried; 7] {
    let mut all = [Carried { first: vector(0.0, 0.0), second: 0.0 }; 7];
    let mut trunk = carry(&model.trunk, pose.turns[0], None);
    for (links, [hip, knee, ankle]) in model.legs.iter().zip(LEG) {
        all[ankle] = carry(&links[2], pose.turns[ankle], None);
        all[knee] = carry(&links[1], pose.turns[knee], Some((all[ankle], pose.arms[ankle])));
        all[hip] = carry(&links[0], pose.turns[hip], Some((all[knee], pose.arms[knee])));
        trunk.first += all[hip].first;
        trunk.second += all[hip].second + 2.0 * all[hip].first.dot(pose.arms[hip]);
    }
    all[0] = trunk;
    all
}

/// The inertia matrix, with the armature of the motors.
pub(super) fn inertia(model: &Model, pose: &Pose) -> Arrow {
    inertia_of(model, pose, &carried(model, pose))
}

#[inline]
fn inertia_of(model: &Model, pose: &Pose, carried: &[Carried; 7]) -> Arrow {
    let (mut m, mass, trunk) = (Arrow::default(), model.trunk.mass, carried[0]);
    m.trunk = [[mass, 0.0, 0.0], [0.0, mass, 0.0], [trunk.first.z, -trunk.first.x, trunk.second]];
    for (block, bodies) in m.legs.iter_mut().zip(LEG) {
        for (i, body) in bodies.into_iter().enumerate() {
            let Carried { first, second } = carried[body];
            let at = pose.joints[body];
            block.trunk[i] = [first.z, -first.x, second + first.dot(at)];
            for (entry, above) in block.own[i].iter_mut().zip(&bodies[..i]) {
                *entry = second + first.dot(at - pose.joints[*above]);
            }
            block.own[i][i] = second;
        }
    }
    m.add_diagonal(&model.armature);
    m
}

/// The inertia matrix and the forces that hold the motion against gravity and centripetal acceleration, if no
/// joint accelerates.
#[inline]
pub(super) fn inertia_and_bias(model: &Model, pose: &Pose, v: &[f64; 9]) -> (Arrow, [f64; 9]) {
    let carried = carried(model, pose);
    let mut bias = [0.0; 9];
    let gravity = vector(0.0, GRAVITY);
    let square = v[2] * v[2];
    // Mass times centripetal acceleration of everything carried, and its torque about the joint.
    let mut force = -square * pose.turns[0].of(model.trunk.moment);
    let mut torque = 0.0;
    for (links, [hip, knee, ankle]) in model.legs.iter().zip(LEG) {
        let rate_hip = v[2] + v[2 + hip];
        let rate_knee = rate_hip + v[2 + knee];
        let rate_ankle = rate_knee + v[2 + ankle];
        let squares = [rate_hip * rate_hip, rate_knee * rate_knee, rate_ankle * rate_ankle];
        // Accelerations of the joints, from the hip down; gravity is an upward acceleration of the world.
        let at_hip = gravity - square * pose.arms[hip];
        let at_knee = at_hip - squares[0] * pose.arms[knee];
        let at_ankle = at_knee - squares[1] * pose.arms[ankle];
        // Forces of what each joint carries, from the foot up.
        let f2 = -squares[2] * pose.turns[ankle].of(links[2].moment);
        bias[2 + ankle] = carried[ankle].first.torque(at_ankle);
        let arm = pose.arms[ankle];
        let t1 = arm.torque(f2) - squares[1] * carried[ankle].first.torque(arm);
        let f1 = f2 - squares[1] * pose.turns[knee].of(links[1].moment);
        bias[2 + knee] = carried[knee].first.torque(at_knee) + t1;
        let arm = pose.arms[knee];
        let t0 = t1 + arm.torque(f1) - squares[0] * carried[knee].first.torque(arm);
        let f0 = f1 - squares[0] * pose.turns[hip].of(links[0].moment);
        bias[2 + hip] = carried[hip].first.torque(at_hip) + t0;
        let arm = pose.arms[hip];
        torque += t0 + arm.torque(f0) - square * carried[hip].first.torque(arm);
        force += f0;
    }
    bias[0] = force.x;
    bias[1] = force.z + model.trunk.mass * GRAVITY;
    bias[2] = torque + carried[0].first.torque(gravity);
    (inertia_of(model, pose, &carried), bias)
}
