//! The binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    tractable_cli::run(std::env::args_os()).into()
}
