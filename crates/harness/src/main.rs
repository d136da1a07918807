//! `cargo xtask`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tractable_harness::run(std::env::args_os()).into()
}
