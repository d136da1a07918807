//! The floor: the round ends of the links that have sunk into it push back and rub.
//!
//! Friction is a pyramid, as in MuJoCo: each contact is four soft constraints along the edges `n + mu t` and
//! `n - mu t` of the two tangents. The tangent out of the plane moves with no joint, so its two edges are both
//! just `n`; they are one row of twice the stiffness.

use super::mechanism::Pose;
use super::model::{FRICTION, Model, RADIUS};
use crate::physics::constraint::Row;
use crate::physics::plane::vector;
use crate::physics::solver::dot;

/// The body of each capsule: back and head are the trunk's.
pub(super) const BODY: [usize; 8] = [0, 0, 1, 2, 3, 4, 5, 6];

/// Three rows for each of the sixteen ends.
pub(super) const MOST_ROWS: usize = 3 * 16;

/// Calls `add` with the rows of every end below the floor.
#[inline]
pub(super) fn rows(model: &Model, pose: &Pose, v: &[f64; 9], mut add: impl FnMut(Row<9>)) {
    for (capsule, body) in model.capsules.iter().zip(BODY) {
        let centre = pose.point(body, capsule.centre);
        let half = pose.turns[body].of(capsule.half);
        // Most capsules are well above the floor.
        if pose.origin.z + centre.z - half.z.abs() > RADIUS {
            continue;
        }
        for end in [centre + half, centre - half] {
            let depth = RADIUS - pose.origin.z - end.z;
            if depth <= 0.0 {
                continue;
            }
            // Between the deepest point and the floor.
            let at = vector(end.x, -0.5 * depth - pose.origin.z);
            let (normal, slide) = (pose.row_z(body, at), pose.row_x(body, at));
            let (sink, slip) = (dot(&normal, v), dot(&slide, v));
            // The edges share the stiffness that makes the normal force right.
            let mobility = 2.0 * FRICTION * FRICTION * (1.0 + FRICTION * FRICTION) * model.mobility(body);
            let mut reply = model.contact_softness.at(depth, mobility);
            for mu in [FRICTION, -FRICTION] {
                let edge = std::array::from_fn(|i| normal[i] + mu * slide[i]);
                add(reply.row(edge, sink + mu * slip));
            }
            reply.stiffness *= 2.0;
            add(reply.row(normal, sink));
        }
    }
}
