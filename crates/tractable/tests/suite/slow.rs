//! Tests that take long, or need the examples to be built. Leave out these and the other modules called `slow`:
//! `cargo test -p tractable --lib --test suite -- --skip slow::`.

#[cfg(unix)]
mod crash;
mod examples;
mod long;
mod moments_properties;
mod optimize;
mod properties;
