//! The integration tests, one binary.

mod moments;
mod moments_properties;
