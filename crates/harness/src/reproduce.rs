//! `cargo xtask reproduce`: results of the literature, computed again; one per file.

mod all;
mod images;
mod markdown;
mod missing;
mod numerics;
mod ordinary;
mod pictures;
mod regret;
mod streams;
mod sustained;
mod table1;
mod table2;
mod table3;
mod tables;
mod toys;
mod uci;
mod workers;

use tractable_cli::report::Outcome;
use tractable_cli::results::{Clock, machine};

const AFTER_HELP: &str = "\
Examples:
  cargo xtask reproduce all --quick
  cargo xtask reproduce uci --data uci/
  cargo xtask reproduce toys
  cargo xtask reproduce missing --data uci/
  cargo xtask reproduce images --data data/ -o runs/
  cargo xtask reproduce table-1 --mnist runs/mnist --cifar10 runs/cifar10
  cargo xtask reproduce table-2 --seeds 5 -o table-2/
  cargo xtask reproduce table-3 --seeds 5 -o table-3/
  cargo xtask reproduce regret --seeds 10
  cargo xtask reproduce streams --seeds 10
  cargo xtask reproduce sustained --rows 1000000
  cargo xtask reproduce workers
  cargo xtask reproduce tables --check README.md";

/// Recompute published results
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// UCI regression: nine sets with the paper's settings and the default model, compared with published results
    Uci(uci::Args),
    /// The default model on cases with a known answer, compared with a Gaussian process; training time
    Toys(toys::Args),
    /// The default model on ordinary tables, compared with eight other methods
    Ordinary(ordinary::Args),
    /// Tables with missing cells: uncertain inputs compared with filling in numbers
    Missing(missing::Args),
    /// Retrain the paper's image classifiers on MNIST and CIFAR-10, one command each
    Images(images::Args),
    /// Attacks on MNIST and CIFAR-10: success compared with the paper, distances, usual budgets compared with PGD
    #[command(name = "table-1")]
    Table1(table1::Args),
    /// The paper's second table: optima of x^3 - 3x found while the network learns it
    #[command(name = "table-2")]
    Table2(table2::Args),
    /// The paper's third table: HalfCheetah and InvertedPendulum
    #[command(name = "table-3")]
    Table3(table3::Args),
    /// Compare optimisers: regret on four test functions, and the cost of ten thousand evaluations
    Regret(regret::Args),
    /// Compare ways to forget on streams that change
    Streams(streams::Args),
    /// Latency of one update, and memory over ten million rows
    Sustained(sustained::Args),
    /// Measure what merging costs, and what it does to accuracy
    Workers(workers::Args),
    /// Measure the approximations of the method
    Numerics(numerics::Args),
    /// Run everything, one part after another
    All(all::Args),
    /// Generate the documentation's tables from the result files
    Tables(tables::Args),
    /// Draw the documentation's pictures
    Pictures(pictures::Args),
}

pub(crate) fn run(args: &Args) -> Outcome {
    let clock = Clock::start();
    run_one(&args.what)?;
    if !matches!(args.what, What::Tables(_)) {
        tractable_cli::console::note(&format!("{:.0} s on {}", clock.seconds(), machine()));
    }
    Ok(())
}

fn run_one(what: &What) -> Outcome {
    match what {
        What::Uci(args) => uci::run(args),
        What::Toys(args) => toys::run(args),
        What::Ordinary(args) => ordinary::run(args),
        What::Missing(args) => missing::run(args),
        What::Images(args) => images::run(args),
        What::Table1(args) => table1::run(args),
        What::Table2(args) => table2::run(args),
        What::Table3(args) => table3::run(args),
        What::Regret(args) => regret::run(args),
        What::Streams(args) => streams::run(args),
        What::Sustained(args) => sustained::run(args),
        What::Workers(args) => workers::run(args),
        What::Numerics(args) => numerics::run(args),
        What::All(args) => all::run(args),
        What::Tables(args) => tables::run(args),
        What::Pictures(args) => pictures::run(args),
    }
}
