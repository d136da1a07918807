//! `tractable`: Gaussian networks from the command line. The verbs are listed here; what they do is in the packages below.
//!
//! Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 a check did not hold, 2 an error,
//! 130 interrupted.

#[cfg(test)]
mod help;

use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;
use std::time::Instant;
use tractable_program::{cmd, console, report};

const ABOUT: &str = "Bayesian neural networks whose inference is closed form";

const AFTER_HELP: &str = "\
Example:
  tractable train housing.csv --target price -o run/
  tractable evaluate run/ test.csv
  tractable predict run/ new.csv -o prices.csv
  tractable condition run/ --given 'rooms=5,age=20±5' --want 'price=300±10'
  tractable train digits --epochs 3
  tractable optimize --objective 'x^3-3*x' --bounds -2:2 --maximize

`tractable help VERB` has examples of every verb. Results go to stdout, everything else to stderr;
with --json, results are JSON Lines (their fields: docs/book/src/json.md).
Exit codes: 0 done, 1 a check did not hold, 2 an error, 130 interrupted after saving.";

#[derive(Parser)]
#[command(name = "tractable", version, about = ABOUT, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    console: console::Flags,
}

#[derive(Subcommand)]
enum Command {
    /// What it can do, in a minute, with no data: a curve, digits, a pole; pictures and a page
    Demo(cmd::demo::Args),
    /// Fit a model to a CSV file or to images
    Train(Box<cmd::train::Args>),
    /// An interval, or class probabilities, for every row of a CSV file
    Predict(cmd::predict::Args),
    /// What the inputs must be, given what is known of them and what is wanted of the outputs
    Condition(cmd::condition::Args),
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
    /// A run's folder as one page to keep or to send
    Report(cmd::report::Args),
    /// A run's page while the run goes on
    Watch(cmd::watch::Args),
    /// What is in a model file
    Inspect(cmd::inspect::Args),
    /// Recompute golden vectors with this build on this machine
    Verify(cmd::verify::Args),
    /// Results of the literature, computed again
    Reproduce(tractable_reproduce::Args),
    /// MuJoCo's library: fetch it, or see which one is found
    Mujoco(cmd::mujoco::Args),
    /// How long one learn takes on this machine, beside what its arithmetic allows
    Bench(cmd::bench::Args),
    /// Completions for a shell
    Completions(cmd::completions::Args),
    /// Manual pages, one a verb
    Man(cmd::man::Args),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return report::usage(&e),
    };
    let began = Instant::now();
    console::init(cli.console);
    console::say_machine();
    let outcome = report::catch_panic(|| match cli.command {
        Command::Demo(args) => cmd::demo::run(&args),
        Command::Train(args) => cmd::train::run(&args),
        Command::Predict(args) => cmd::predict::run(&args),
        Command::Condition(args) => cmd::condition::run(&args),
        Command::Evaluate(args) => cmd::evaluate::run(&args),
        Command::Optimize(args) => cmd::optimize::run(&args),
        Command::Rl(args) => cmd::rl::run(&args),
        Command::Data(args) => cmd::data::run(&args),
        Command::Attack(args) => cmd::attack::run(&args),
        Command::Report(args) => cmd::report::run(&args),
        Command::Watch(args) => cmd::watch::run(&args),
        Command::Inspect(args) => cmd::inspect::run(&args),
        Command::Verify(args) => cmd::verify::run(&args),
        Command::Reproduce(args) => tractable_reproduce::run(&args),
        Command::Mujoco(args) => cmd::mujoco::run(&args),
        Command::Bench(args) => cmd::bench::run(&args),
        Command::Completions(args) => cmd::completions::run(&args, Cli::command()),
        Command::Man(args) => cmd::man::run(&args, Cli::command()),
    });
    console::say_time(began);
    report::exit_code(outcome)
}
