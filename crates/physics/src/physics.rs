//! The part of MuJoCo's physics that mechanisms in a vertical plane need: capsules, soft constraints, and the
//! convex problem that gives accelerations. What one mechanism is made of stands with its task.

pub(super) mod capsule;
pub(super) mod constraint;
pub(super) mod plane;
pub(super) mod solver;

/// Downward acceleration of everything, in m/s^2.
pub(super) const GRAVITY: f64 = 9.81;
