//! Tasks for agents, with the physics they need. HalfCheetah and InvertedPendulum move in a vertical plane and need only a small part of
//! MuJoCo, which is embedded; they also run [on a real MuJoCo](mujoco), as does any model of your own (feature `mujoco`).
//!
//! | task | goal | physics |
//! |---|---|---|
//! | [`HalfCheetah`] | a planar cheetah learns to run | as MuJoCo's, embedded |
//! | [`InvertedPendulum`] | a cart keeps a pole upright | as MuJoCo's, embedded |
//! | [`Pendulum`] | a weak motor swings a rod up | three lines |

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
