//! `cargo xtask`: the harness. A package of its own, so that `cargo run` means the program.

use std::process::ExitCode;

fn main() -> ExitCode {
    tractable_harness::run(std::env::args_os()).into()
}
