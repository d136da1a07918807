//! What every room of `tractable` stands on: errors, random streams, crash-safe files, workers, threads, shapes, Gaussians, and the
//! mathematics. Users depend on the crate `tractable`, which shows what is theirs.

pub mod cholesky;
pub mod error;
#[cfg(feature = "files")]
pub mod files;
pub mod fnv;
pub mod gaussian;
pub mod memory;
pub mod metrics;
pub mod moments;
pub mod product;
pub mod rng;
pub mod shape;
pub mod stop;
#[allow(unsafe_code, reason = "work that a round does not outlive")]
pub mod team;
pub mod workers;
