//! `tractable reproduce`: results of the literature, computed again; one per file.

mod all;
mod images;
mod markdown;
mod numerics;
mod pictures;
mod regret;
mod table1;
mod table2;
mod table3;
mod tables;
mod toys;
mod uci;

use tractable_program::report::Outcome;
use tractable_program::results::{Clock, machine};

const AFTER_HELP: &str = "\
Examples:
  tractable reproduce all --quick
  tractable reproduce uci --data uci/
  tractable reproduce toys
  tractable reproduce images --data data/ -o runs/
  tractable reproduce table-1 --mnist runs/mnist --cifar10 runs/cifar10
  tractable reproduce table-2 --seeds 5 -o table-2/
  tractable reproduce table-3 --seeds 5 -o table-3/
  tractable reproduce regret --seeds 10
  tractable reproduce tables --check README.md";

/// Recompute published results
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// UCI regression: nine sets by the paper's settings and by the default model, beside the published ones
    Uci(uci::Args),
    /// The default model where the answer is known, beside a Gaussian process; and how long a fit takes
    Toys(toys::Args),
    /// The paper's image classifiers: MNIST and CIFAR-10 trained again, each by one command
    Images(images::Args),
    /// Attacks on MNIST and CIFAR-10: success beside the paper's, distances, the usual budgets beside PGD
    #[command(name = "table-1")]
    Table1(table1::Args),
    /// The paper's second table: optima of x^3 - 3x found while the network learns it
    #[command(name = "table-2")]
    Table2(table2::Args),
    /// The paper's third table: a cheetah that runs and a pole that stands
    #[command(name = "table-3")]
    Table3(table3::Args),
    /// Optimisation against others: regret on four test functions, and the cost of ten thousand evaluations
    Regret(regret::Args),
    /// What the method approximates, and by how much
    Numerics(numerics::Args),
    /// All of it, one after another
    All(all::Args),
    /// The tables of the documentation, made of the result files
    Tables(tables::Args),
    /// The pictures of the documentation
    Pictures(pictures::Args),
}

pub fn run(args: &Args) -> Outcome {
    let clock = Clock::start();
    run_one(&args.what)?;
    if !matches!(args.what, What::Tables(_)) {
        tractable_program::console::note(&format!("{:.0} s on {}", clock.seconds(), machine()));
    }
    Ok(())
}

fn run_one(what: &What) -> Outcome {
    match what {
        What::Uci(args) => uci::run(args),
        What::Toys(args) => toys::run(args),
        What::Images(args) => images::run(args),
        What::Table1(args) => table1::run(args),
        What::Table2(args) => table2::run(args),
        What::Table3(args) => table3::run(args),
        What::Regret(args) => regret::run(args),
        What::Numerics(args) => numerics::run(args),
        What::All(args) => all::run(args),
        What::Tables(args) => tables::run(args),
        What::Pictures(args) => pictures::run(args),
    }
}
