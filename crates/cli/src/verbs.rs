//! The verbs of the program, and what happens before and after each.
//!
//! Results go to stdout, everything else to stderr. Exit codes: 0 success, 1 a check failed, 2 an error,
//! 130 interrupted.

#[cfg(test)]
mod help;

use crate::{cmd, console, report, team};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::time::Instant;

const ABOUT: &str = "Bayesian neural networks with closed-form inference";

const AFTER_HELP: &str = "\
Example:
  tractable train housing.csv --target price -o run/
  tractable evaluate run/ test.csv
  tractable predict run/ new.csv -o prices.csv
  tractable condition run/ --given 'rooms=5,age=20±5' --want 'price=300±10'
  tractable train digits --epochs 3
  tractable optimize --objective 'x^3-3*x' --bounds -2:2 --maximize

`tractable help VERB` shows examples of a verb. Results go to stdout, everything else to stderr;
with --json, results are JSON Lines (their fields: docs/book/src/json.md).
Exit codes: 0 success, 1 a check failed, 2 an error, 130 interrupted after saving.";

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
    /// Show what it can do in a minute, without data: a curve, digits, a pole; pictures and a page
    Demo(cmd::demo::Args),
    /// Fit a model to a CSV file or to images
    Train(Box<cmd::train::Args>),
    /// Predict an interval, or class probabilities, for every row of a CSV file
    Predict(cmd::predict::Args),
    /// Keep learning from new rows
    Learn(cmd::learn::Args),
    /// Find the inputs that give the wanted outputs
    Condition(cmd::condition::Args),
    /// Score a model on a CSV file with targets, or on images
    Evaluate(cmd::evaluate::Args),
    /// Say which columns count
    Importance(cmd::importance::Args),
    /// Find the maximum or minimum of a function, a model or data
    Optimize(Box<cmd::optimize::Args>),
    /// Train agents: a running cheetah, a balanced pole, your own MuJoCo model
    Rl(cmd::rl::Args),
    /// Download public image sets
    Data(cmd::data::Args),
    /// Change images until a network misclassifies them
    Attack(Box<cmd::attack::Args>),
    /// Write a self-contained page about a run
    Report(cmd::report::Args),
    /// Show the contents of a model file
    Inspect(cmd::inspect::Args),
    /// Download MuJoCo's library, or show which one is found
    Mujoco(cmd::mujoco::Args),
    /// Measure the speed on this machine, compared with its peak arithmetic
    Bench(cmd::bench::Args),
    /// Print completions for a shell
    Completions(cmd::completions::Args),
    /// Write manual pages, one per verb
    Man(cmd::man::Args),
}

/// Runs the command in `args`, the program's name first, and returns the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Err(alone) = team::join() {
        return report::exit_code(Err(alone));
    }
    let code = run_here(&args);
    team::part();
    code
}

fn run_here(args: &[OsString]) -> u8 {
    let matches = Cli::command().try_get_matches_from(args);
    let verb = matches.as_ref().ok().and_then(|m| m.subcommand_name()).unwrap_or("none").to_string();
    if let Err(differ) = team::agree_on_verb(&verb) {
        return report::exit_code(Err(differ));
    }
    let cli = match matches.and_then(|mut m| Cli::from_arg_matches_mut(&mut m)) {
        Ok(cli) => cli,
        Err(e) => return report::usage(&e),
    };
    let began = Instant::now();
    console::init(cli.console, args.iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect());
    console::say_machine();
    let shares =
        matches!(cli.command, Command::Train(_) | Command::Predict(_) | Command::Attack(_) | Command::Rl(_));
    if let Some(refused) = (!shares).then(|| team::needs_one_process(&verb)).and_then(Result::err) {
        // All processes say the same, the first one aloud.
        return report::exit_code(Err(refused));
    }
    let outcome = report::catch_panic(|| match cli.command {
        Command::Demo(args) => cmd::demo::run(&args),
        Command::Train(args) => cmd::train::run(&args),
        Command::Predict(args) => cmd::predict::run(&args),
        Command::Learn(args) => cmd::learn::run(&args),
        Command::Condition(args) => cmd::condition::run(&args),
        Command::Evaluate(args) => cmd::evaluate::run(&args),
        Command::Importance(args) => cmd::importance::run(&args),
        Command::Optimize(args) => cmd::optimize::run(&args),
        Command::Rl(args) => cmd::rl::run(&args),
        Command::Data(args) => cmd::data::run(&args),
        Command::Attack(args) => cmd::attack::run(&args),
        Command::Report(args) => cmd::report::run(&args),
        Command::Inspect(args) => cmd::inspect::run(&args),
        Command::Mujoco(args) => cmd::mujoco::run(&args),
        Command::Bench(args) => cmd::bench::run(&args),
        Command::Completions(args) => cmd::completions::run(&args, Cli::command()),
        Command::Man(args) => cmd::man::run(&args, Cli::command()),
    });
    console::say_time(began);
    report::exit_code(team::end(outcome))
}
