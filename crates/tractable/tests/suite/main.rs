//! The integration tests, in one binary: one link instead of one a file.

mod cases;
mod data;
mod exact;
mod golden;
mod metrics;
mod moments;
mod moments_properties;
mod rng;
