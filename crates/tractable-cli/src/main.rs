//! Command line of tractable.
fn main() {}
