//! What `condition` is good for: attacks, optimisation and reinforcement learning. Users depend on the crate `tractable`, which shows what is
//! theirs.

#[cfg(feature = "attack")]
pub mod attack;
#[cfg(feature = "optimize")]
pub mod optimize;
#[cfg(feature = "rl")]
pub mod rl;
