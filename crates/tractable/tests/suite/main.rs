//! The integration tests, in one binary: one link instead of one per file.

mod architecture;
mod attack;
mod cases;
mod checkpoint;
mod corpora;
mod data;
mod dependencies;
mod derivative;
mod determinism;
mod environments;
mod errors;
mod exact;
mod golden;
mod hostile_state;
mod images;
mod metrics;
mod moments;
mod moments_edges;
mod mujoco;
mod mujoco_files;
mod physics;
mod rl;
mod rng;
mod slow;
mod verbs;
