//! What is not the product: results of the literature, golden vectors and recorded physics, computed again. `cargo xtask` runs it.

pub mod json;
mod lines;
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
    /// Write the book's page about JSON Lines from the types of the lines
    Json,
    /// Recompute published results
    Reproduce(reproduce::Args),
    /// Count lines of code by package
    Lines,
    /// The program itself, for measurements that start it as a process
    #[command(hide = true)]
    Program {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

/// Runs the command in `args`, the program's name first, and returns the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(e) => return report::usage(&e),
    };
    let words = args.iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    match cli.command {
        Command::Program { args } => tractable_cli::run(std::iter::once("tractable".into()).chain(args)),
        Command::Json => report::exit_code(json::run()),
        Command::Lines => report::exit_code(lines::run()),
        Command::Verify(args) => timed(cli.console, words, || verify::run(&args)),
        Command::Reproduce(args) => timed(cli.console, words, || reproduce::run(&args)),
    }
}

fn timed(flags: console::Flags, words: Vec<String>, work: impl FnOnce() -> report::Outcome) -> u8 {
    let began = Instant::now();
    console::init(flags, words);
    console::say_machine();
    let outcome = report::catch_panic(work);
    console::say_time(began);
    report::exit_code(outcome)
}
