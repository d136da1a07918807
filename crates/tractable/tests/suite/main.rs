//! The integration tests, in one binary: one link instead of one a file.

mod architecture;
mod attack;
mod cases;
mod checkpoint;
mod data;
mod derivative;
mod determinism;
mod environments;
mod errors;
mod exact;
mod examples;
mod golden;
mod images;
mod metrics;
mod moments;
mod moments_properties;
mod mujoco;
mod optimize;
mod physics;
mod properties;
mod rl;
mod rng;
mod verbs;
