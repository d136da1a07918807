//! Tasks for agents, with the physics they need. HalfCheetah and InvertedPendulum move in a vertical plane and need only a small part of
//! MuJoCo, which is embedded; they also run [on a real MuJoCo](mujoco), as does any model of your own (feature `mujoco`).
//!
//! | task | goal | physics |
//! |---|---|---|
//! | [`HalfCheetah`] | a planar cheetah learns to run | as MuJoCo's, embedded |
//! | [`InvertedPendulum`] | a cart keeps a pole upright | as MuJoCo's, embedded |
//! | [`Pendulum`] | a weak motor swings a rod up | three lines |

// HalfCheetah and InvertedPendulum move in a vertical plane, and they need only a small part of MuJoCo:
// `env/physics/constraint.rs` (limits and contacts as soft constraints), `solver.rs` (accelerations,
// the minimum of a convex, piecewise quadratic cost), and for the cheetah `mechanism.rs`, `arrow.rs`
// and `contact.rs`. Newton's method with an exact line search ends when a step crosses no bound, at the
// minimum up to rounding. A step depends only on state and action, so a stored state continues with
// bit-identical results. A real MuJoCo is optional: `mujoco/library.rs` opens its library at run time
// without using its structures, and `screen.rs` checks a model before MuJoCo reads it.

mod half_cheetah;
mod inverted_pendulum;
#[cfg(feature = "mujoco")]
pub mod mujoco;
#[cfg(not(feature = "mujoco"))]
#[path = "no_mujoco.rs"]
mod mujoco;
mod pendulum;
mod physics;
mod state;

pub use half_cheetah::HalfCheetah;
pub use inverted_pendulum::{InvertedPendulum, Version};
pub use pendulum::Pendulum;
