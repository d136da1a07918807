//! Tests that take long, or need the examples to be built. Leave out these and the other modules called `slow`:
//! `cargo test -p tractable --lib --test suite -- --skip slow::`.

#[cfg(unix)]
#[path = "crash.rs"]
mod crash;
#[path = "examples.rs"]
mod examples;
#[path = "long.rs"]
mod long;
#[path = "moments_properties.rs"]
mod moments_properties;
#[path = "optimize/mod.rs"]
mod optimize;
#[path = "properties.rs"]
mod properties;
