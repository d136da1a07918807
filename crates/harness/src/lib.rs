//! What is not the product: results of the literature, golden vectors and recorded physics, computed again. `cargo xtask` runs it.

mod reproduce;
pub mod verify;

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::time::Instant;
use tractable_cli::{console, report};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Recompute what the documents and the tests of tractable claim")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    console: console::Flags,
}

#[derive(Subcommand)]
enum Command {
    /// Recompute golden vectors with this build on this machine
    Verify(verify::Args),
    /// Recompute published results
    Reproduce(reproduce::Args),
}

/// Runs the command in `args`, the program's name first, and returns the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(e) => return report::usage(&e),
    };
    let began = Instant::now();
    console::init(cli.console, args.iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect());
    console::say_machine();
    let outcome = report::catch_panic(|| match cli.command {
        Command::Verify(args) => verify::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
    });
    console::say_time(began);
    report::exit_code(outcome)
}
