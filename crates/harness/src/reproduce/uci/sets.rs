//! The nine sets, what others got on them, and how they are split.

use super::Args;
use serde::Deserialize;
use std::path::Path;
use tractable::data::{self, Dataset};
use tractable_cli::report::{Exit, Outcome, file_error};

/// RMSE and mean log-likelihood of the test parts.
type Pair = (f64, f64);

/// A data set, the authors' noise (standard deviation on standardised targets) and what others got:
/// an independent check of this method, MC dropout (Gal and Ghahramani 2016), deep ensembles
/// (Lakshminarayanan et al. 2017), the highest log-likelihood published of a neural network, and the same on gap splits.
pub(super) struct Benchmark {
    pub(super) name: &'static str,
    pub(super) hidden: usize,
    pub(super) noise_std: f64,
    /// As printed there: the digits say how well it is known.
    pub(super) expected: (&'static str, &'static str),
    pub(super) dropout: Pair,
    pub(super) ensembles: Pair,
    pub(super) best_neural: f64,
    pub(super) best_gap: f64,
}

#[rustfmt::skip]
const BENCHMARKS: [Benchmark; 9] = {
    const fn set(
        name: &'static str, hidden: usize, noise_std: f64, expected: (&'static str, &'static str), dropout: Pair,
        ensembles: Pair, [best_neural, best_gap]: [f64; 2],
    ) -> Benchmark {
        Benchmark { name, hidden, noise_std, expected, dropout, ensembles, best_neural, best_gap }
    }
    [
        set("boston",    50, 0.32,  ("3.07", "-2.58"),   (2.97, -2.46), (3.28, -2.41), [-2.35, -2.70]),
        set("concrete",  50, 0.33,  ("5.88", "-3.20"),   (5.23, -3.04), (6.03, -3.06), [-2.89, -3.46]),
        set("energy",    50, 0.15,  ("1.56", "-1.88"),   (1.66, -1.99), (2.09, -1.38), [-0.61, -5.42]),
        set("kin8nm",    50, 0.35,  ("0.103", "0.84"),   (0.10, 0.95),  (0.09, 1.20),  [ 1.24,  1.22]),
        set("naval",     50, 0.31,  ("0.0062", "3.54"),  (0.01, 3.80),  (0.00, 5.63),  [ 6.33, -4.57]),
        set("power",     50, 0.24,  ("4.15", "-2.84"),   (4.02, -2.80), (4.11, -2.79), [-2.66, -2.90]),
        set("protein",  100, 0.72,  ("4.64", "-2.96"),   (4.36, -2.89), (4.71, -2.83), [-2.56, -3.07]),
        set("wine_red",  50, 0.75,  ("0.631", "-0.960"), (0.62, -0.93), (0.64, -0.94), [-0.89, -0.965]),
        set("yacht",     50, 0.063, ("0.865", "-1.303"), (1.11, -1.55), (1.58, -1.18), [-0.73, -2.11]),
    ]
};

/// Where a set stands in the list.
pub(super) fn place(name: &str) -> usize {
    BENCHMARKS.iter().position(|b| b.name == name).unwrap_or(BENCHMARKS.len())
}

#[derive(Deserialize)]
struct Splits {
    splits: Vec<Split>,
}

#[derive(Deserialize)]
pub(super) struct Split {
    pub(super) train: Vec<usize>,
    pub(super) test: Vec<usize>,
}

pub(super) struct Loaded {
    pub(super) benchmark: &'static Benchmark,
    pub(super) data: Dataset,
    /// Those that are asked for,
    pub(super) splits: Vec<Split>,
    /// of so many.
    pub(super) of_splits: usize,
}

impl Loaded {
    /// How long a split takes, in some unit.
    pub(super) fn work(&self, split: usize) -> u64 {
        (self.splits[split].train.len() * self.benchmark.hidden * self.data.width()) as u64
    }
}

pub(super) fn chosen(names: &[String]) -> Outcome<Vec<&'static Benchmark>> {
    if names.is_empty() {
        return Ok(BENCHMARKS.iter().collect());
    }
    let find = |name: &String| {
        BENCHMARKS.iter().find(|b| b.name == name).ok_or_else(|| {
            let known: Vec<&str> = BENCHMARKS.iter().map(|b| b.name).collect();
            Exit::Error(format!("--sets: `{name}` is not known; there are {}", known.join(", ")))
        })
    };
    names.iter().map(find).collect()
}

pub(super) fn load(benchmark: &'static Benchmark, args: &Args) -> Outcome<Loaded> {
    let file = |end: &str| args.data.join(format!("{}{end}", benchmark.name));
    let csv = data::csv(file(".csv"))?;
    let target = csv.names().last().cloned().unwrap_or_default();
    let data = csv.target(&target)?;
    let mut splits = if args.gaps { gaps(&data) } else { read_splits(&file("_splits.json"))? };
    let of_splits = splits.len();
    splits.truncate(args.splits.unwrap_or(usize::MAX));
    Ok(Loaded { benchmark, data, splits, of_splits })
}

/// One split per input: its middle third is the test part (Foong et al. 2019). For a constant input, the middle
/// third of the file.
fn gaps(data: &Dataset) -> Vec<Split> {
    let one = |input: usize| {
        let mut order: Vec<usize> = (0..data.rows()).collect();
        order.sort_by(|&a, &b| data.x().row(a)[input].total_cmp(&data.x().row(b)[input]));
        let third = order.len() / 3;
        let test = order[third..order.len() - third].to_vec();
        Split { train: [&order[..third], &order[order.len() - third..]].concat(), test }
    };
    (0..data.width()).map(one).collect()
}

fn read_splits(path: &Path) -> Outcome<Vec<Split>> {
    let text = std::fs::read_to_string(path).map_err(file_error(path, "open it"))?;
    let splits: Splits = serde_json::from_str(&text)
        .map_err(|e| Exit::Error(format!("{}: not a list of splits: {e}", path.display())))?;
    match splits.splits {
        s if s.is_empty() => Err(Exit::Error(format!("{}: there are no splits", path.display()))),
        s => Ok(s),
    }
}
