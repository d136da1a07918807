//! `tractable`: Gaussian networks from the command line. Flags here, one verb a file in `cmd/`.
//!
//! Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 a check did not hold, 2 an error,
//! 130 interrupted.

mod attack_pictures;
mod attacks;
mod cmd;
mod fetch;
mod files;
mod image_scores;
mod image_sets;
mod image_settings;
mod interrupt;
mod npy;
mod objective;
#[allow(dead_code, unused_imports, reason = "verbs come to use all of it")]
mod plot;
mod progress;
mod report;
mod run_folder;
mod scores;
mod settings;

use clap::{Parser, Subcommand};
use report::Stop;
use std::process::ExitCode;

const ABOUT: &str = "Bayesian neural networks whose inference is closed form";

const AFTER_HELP: &str = "\
Example:
  tractable train housing.csv --target price -o run/
  tractable evaluate run/ test.csv
  tractable predict run/ new.csv -o prices.csv
  tractable train digits --epochs 3
  tractable optimize --objective 'x^3-3*x' --bounds -2:2 --maximize

Results go to stdout, everything else to stderr. With --json, results are JSON Lines.
Exit codes: 0 done, 1 a check did not hold, 2 an error, 130 interrupted (train and optimize -o have saved).";

#[derive(Parser)]
#[command(name = "tractable", version, about = ABOUT, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The three verbs on a noisy curve, in a second, with no data
    Demo(cmd::demo::Args),
    /// Fit a network to a CSV file or to images
    Train(Box<cmd::train::Args>),
    /// Mean and standard deviation, or class probabilities, for every row of a CSV file
    Predict(cmd::predict::Args),
    /// How good a model's predictions are on a CSV file with targets, or on images
    Evaluate(cmd::evaluate::Args),
    /// Find where a function, a model or data are largest or smallest
    Optimize(Box<cmd::optimize::Args>),
    /// Agents that learn to act: a cheetah that runs, a pole that stands
    Rl(cmd::rl::Args),
    /// Get the public image sets
    Data(cmd::data::Args),
    /// Change images until a network takes them for something else
    Attack(Box<cmd::attack::Args>),
    /// What is in a model file
    Inspect(cmd::inspect::Args),
    /// Recompute golden vectors with this build on this machine
    Verify(cmd::verify::Args),
    /// Results of the literature, computed again
    Reproduce(cmd::reproduce::Args),
    /// MuJoCo's library: fetch it, or see which one is found
    Mujoco(cmd::mujoco::Args),
    /// How long one learn takes on this machine, beside what its arithmetic allows
    Bench(cmd::bench::Args),
    /// Completions for a shell
    Completions(cmd::completions::Args),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return report::usage(&e),
    };
    let outcome = report::guarded(|| match cli.command {
        Command::Demo(args) => cmd::demo::run(&args),
        Command::Train(args) => cmd::train::run(&args),
        Command::Predict(args) => cmd::predict::run(&args),
        Command::Evaluate(args) => cmd::evaluate::run(&args),
        Command::Optimize(args) => cmd::optimize::run(&args),
        Command::Rl(args) => cmd::rl::run(&args),
        Command::Data(args) => cmd::data::run(&args),
        Command::Attack(args) => cmd::attack::run(&args),
        Command::Inspect(args) => cmd::inspect::run(&args),
        Command::Verify(args) => cmd::verify::run(&args),
        Command::Reproduce(args) => cmd::reproduce::run(&args),
        Command::Mujoco(args) => cmd::mujoco::run(&args),
        Command::Bench(args) => cmd::bench::run(&args),
        Command::Completions(args) => cmd::completions::run(&args),
    });
    match outcome {
        // Whoever read our output has seen enough.
        Ok(()) | Err(Stop::PipeClosed) => ExitCode::SUCCESS,
        Err(Stop::NotHeld(why)) => report::complain("check failed", &why, 1),
        Err(Stop::Error(why)) => report::complain("error", &why, 2),
        Err(Stop::Interrupted(why)) => report::complain("interrupted", &why, 130),
    }
}
