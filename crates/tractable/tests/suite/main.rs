//! The integration tests, in one binary: one link instead of one a file.

mod architecture;
mod cases;
mod checkpoint;
mod data;
mod derivative;
mod determinism;
mod errors;
mod exact;
mod golden;
mod metrics;
mod moments;
mod moments_properties;
mod optimize;
mod properties;
mod rng;
mod verbs;
