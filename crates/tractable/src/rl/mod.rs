//! Reinforcement learning: environments to act in.

pub mod env;
