//! The integration tests, in one binary: one link instead of one a file.

mod architecture;
mod attack;
mod branches;
mod cases;
mod checkpoint;
mod corpora;
#[cfg(unix)]
mod crash;
mod data;
mod dependencies;
mod derivative;
mod determinism;
mod devices;
mod environments;
mod errors;
mod exact;
mod examples;
mod golden;
mod hostile_state;
mod images;
mod long;
mod metrics;
mod moments;
mod moments_edges;
mod moments_properties;
mod mujoco;
mod mujoco_files;
mod optimize;
mod physics;
mod properties;
mod rl;
mod rng;
mod verbs;
