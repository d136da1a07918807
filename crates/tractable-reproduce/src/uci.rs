//! `tractable reproduce uci`: the UCI regression benchmark with the settings of the method's authors.
//!
//! For every split: x and y standardised by the training part; one hidden layer of ReLU; weights from
//! N(0, 0.25/inputs), biases from N(0, 0.01); 40 shuffled epochs, one sample at a time. RMSE and mean
//! log-likelihood of the test part are in the target's own units; a prediction's variance is the network's
//! plus the noise.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tractable::data::{self, Dataset, Target};
use tractable::{Activation, Device, Fit, Network, Prior, UpdateRule, metrics};
use tractable_program::progress::ProgressDisplay;
use tractable_program::report::{Exit, Outcome, Report, file_error, table};
use tractable_program::results::{Clock, Rows};
use tractable_program::{interrupt, jobs};

const AFTER_HELP: &str = "\
Example:
  tractable reproduce uci --data uci/ --check

DIR holds NAME.csv (target in the last column) and NAME_splits.json for boston, concrete, energy,
kin8nm, naval, power, protein, wine_red and yacht. `expected` is an independent implementation of
the same method, known to the digits shown. `off by` is the difference in standard errors over the
splits; --check allows for two of them and for half of the last digit shown.";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Folder of the data
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Only these sets
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    sets: Vec<String>,
    /// Only the first splits
    #[arg(long, value_name = "N")]
    splits: Option<usize>,
    /// Seed of the first split; each further one has the next
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Folder for uci.json
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Exit 1 if a set is more than two standard errors off (and half of the last digit known)
    #[arg(long)]
    check: bool,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// RMSE and mean log-likelihood of the test parts.
type Pair = (f64, f64);

/// A data set, the authors' noise (standard deviation on standardised targets) and what others got:
/// an independent check of this method, MC dropout (Gal and Ghahramani 2016), deep ensembles
/// (Lakshminarayanan et al. 2017).
struct Benchmark {
    name: &'static str,
    hidden: usize,
    noise_std: f64,
    /// As printed there: the digits say how well it is known.
    expected: (&'static str, &'static str),
    dropout: Pair,
    ensembles: Pair,
}

#[rustfmt::skip]
const BENCHMARKS: [Benchmark; 9] = {
    const fn set(
        name: &'static str, hidden: usize, noise_std: f64, expected: (&'static str, &'static str), dropout: Pair,
        ensembles: Pair,
    ) -> Benchmark {
        Benchmark { name, hidden, noise_std, expected, dropout, ensembles }
    }
    [
        set("boston",    50, 0.32,  ("3.07", "-2.58"),   (2.97, -2.46), (3.28, -2.41)),
        set("concrete",  50, 0.33,  ("5.88", "-3.20"),   (5.23, -3.04), (6.03, -3.06)),
        set("energy",    50, 0.15,  ("1.56", "-1.88"),   (1.66, -1.99), (2.09, -1.38)),
        set("kin8nm",    50, 0.35,  ("0.103", "0.84"),   (0.10, 0.95),  (0.09, 1.20)),
        set("naval",     50, 0.31,  ("0.0062", "3.54"),  (0.01, 3.80),  (0.00, 5.63)),
        set("power",     50, 0.24,  ("4.15", "-2.84"),   (4.02, -2.80), (4.11, -2.79)),
        set("protein",  100, 0.72,  ("4.64", "-2.96"),   (4.36, -2.89), (4.71, -2.83)),
        set("wine_red",  50, 0.75,  ("0.631", "-0.960"), (0.62, -0.93), (0.64, -0.94)),
        set("yacht",     50, 0.063, ("0.865", "-1.303"), (1.11, -1.55), (1.58, -1.18)),
    ]
};

const EPOCHS: usize = 40;

#[derive(Deserialize)]
struct Splits {
    splits: Vec<Split>,
}

#[derive(Deserialize)]
struct Split {
    train: Vec<usize>,
    test: Vec<usize>,
}

struct Loaded {
    benchmark: &'static Benchmark,
    data: Dataset,
    splits: Vec<Split>,
}

#[derive(Serialize, Clone, Copy)]
struct Tested {
    rmse: f64,
    log_likelihood: f64,
    seconds: f64,
}

/// Mean over the splits, its standard error, and how far that is from what is expected.
#[derive(Serialize)]
struct Mean {
    mean: f64,
    standard_error: Option<f64>,
    expected: &'static str,
    /// `(mean - expected) / standard_error`
    off_by: Option<f64>,
    /// Within two standard errors and half of the last digit of `expected`.
    held: Option<bool>,
    mc_dropout: f64,
    deep_ensembles: f64,
}

#[derive(Serialize)]
struct SetRow {
    set: &'static str,
    splits: usize,
    rmse: Mean,
    log_likelihood: Mean,
    /// Of one core, all splits together.
    core_seconds: f64,
}

#[derive(Serialize)]
struct SplitRow {
    set: &'static str,
    split: usize,
    #[serde(flatten)]
    result: Tested,
}

pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::listen()?;
    if args.splits == Some(0) || (args.check && args.splits == Some(1)) {
        return Err(Exit::Error("--splits: one is the least, two with --check".into()));
    }
    let sets = chosen(&args.sets)?.into_iter().map(|b| load(b, args)).collect::<Outcome<Vec<_>>>()?;
    let report = Report::new(args.json);
    let clock = Clock::start();
    let mut results: Vec<Vec<Option<Tested>>> = sets.iter().map(|s| vec![None; s.splits.len()]).collect();
    in_parallel(args, &sets, |set, split, result| {
        results[set][split] = Some(result);
        let row = SplitRow { set: sets[set].benchmark.name, split, result };
        report.say("split", &row, String::new)
    })?;
    let rows: Vec<SetRow> = sets.iter().zip(&results).map(|(s, r)| summarise(s.benchmark, r)).collect();
    if args.json {
        rows.iter().try_for_each(|row| report.say("set", row, String::new))?;
    } else {
        let seconds = clock.seconds();
        report.say("", &(), || format!("{}\n{seconds:.0} s in all", text(&rows)))?;
    }
    if let Some(dir) = &args.out {
        clock.write(dir, "uci", "tractable reproduce uci --data DIR", Rows { rows: &rows })?;
    }
    let off = |m: &Mean| m.held != Some(true);
    let outside: Vec<&str> =
        rows.iter().filter(|r| off(&r.rmse) || off(&r.log_likelihood)).map(|r| r.set).collect();
    if args.check && !outside.is_empty() {
        return Err(Exit::CheckFailed(format!("more than two standard errors off: {}", outside.join(", "))));
    }
    Ok(())
}

fn chosen(names: &[String]) -> Outcome<Vec<&'static Benchmark>> {
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

fn load(benchmark: &'static Benchmark, args: &Args) -> Outcome<Loaded> {
    let file = |end: &str| args.data.join(format!("{}{end}", benchmark.name));
    let csv = data::csv(file(".csv"))?;
    let target = csv.names().last().cloned().unwrap_or_default();
    let data = csv.target(&target)?;
    let mut splits = read_splits(&file("_splits.json"))?;
    splits.truncate(args.splits.unwrap_or(usize::MAX));
    Ok(Loaded { benchmark, data, splits })
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

/// Every split of every set, the longest first, each on one thread.
fn in_parallel(
    args: &Args,
    sets: &[Loaded],
    mut done: impl FnMut(usize, usize, Tested) -> Outcome,
) -> Outcome {
    let work = |s: &Loaded, k: usize| (s.splits[k].train.len() * s.benchmark.hidden * s.data.width()) as u64;
    let mut jobs: Vec<(usize, usize)> =
        sets.iter().enumerate().flat_map(|(i, s)| (0..s.splits.len()).map(move |k| (i, k))).collect();
    jobs.sort_by_key(|&(i, k)| std::cmp::Reverse(work(&sets[i], k)));
    let total = jobs.iter().map(|&(i, k)| work(&sets[i], k)).sum();
    let mut progress = ProgressDisplay::new(Some(total));
    let (mut finished, mut sum) = (0, 0);
    let train = |&(i, k): &(usize, usize)| split(&sets[i], k, args.seed);
    jobs::each(&jobs, train, |job, result| {
        let (i, k) = jobs[job];
        done(i, k, result?)?;
        (finished, sum) = (finished + 1, sum + work(&sets[i], k));
        progress.at(sum, || format!("{finished} of {} splits, last {}", jobs.len(), sets[i].benchmark.name));
        Ok(())
    })?;
    if interrupt::requested() {
        return Err(Exit::Interrupted(format!("after {finished} of {} splits", jobs.len())));
    }
    progress.done(&format!("{finished} splits"));
    Ok(())
}

/// Trains on one split and looks at its test part.
fn split(set: &Loaded, k: usize, seed: u64) -> tractable::Result<Tested> {
    let began = Instant::now();
    let Benchmark { hidden, noise_std, .. } = *set.benchmark;
    let train = set.data.select(&set.splits[k].train)?.standardize();
    let test = set.data.select(&set.splits[k].test)?;
    let mut net = Network::mlp([set.data.width(), hidden, 1], Activation::Relu)
        .prior(Prior::he().gain(0.25).bias_var(0.01))
        .update_rule(UpdateRule::Plain)
        .seed(seed.wrapping_add(k as u64))
        .device(Device::cpu(1))
        .build()?;
    net.fit(&train, &Fit::new().epochs(EPOCHS).batch(1).noise_std(noise_std))?;
    let out = net.predict(test.x())?;
    let Target::Values { y, .. } = test.target() else { unreachable!("the target is a number") };
    Ok(Tested {
        rmse: metrics::rmse(y.data(), out.mean())?,
        log_likelihood: -metrics::gaussian_nll(y.data(), out.mean(), &out.total_var())?,
        seconds: began.elapsed().as_secs_f64(),
    })
}

fn summarise(benchmark: &'static Benchmark, results: &[Option<Tested>]) -> SetRow {
    let results: Vec<Tested> = results.iter().flatten().copied().collect();
    let Benchmark { expected, dropout, ensembles, .. } = benchmark;
    let of = |value: fn(&Tested) -> f64, expected, others| {
        let values: Vec<f64> = results.iter().map(value).collect();
        mean(&values, expected, others)
    };
    SetRow {
        set: benchmark.name,
        splits: results.len(),
        rmse: of(|r| r.rmse, expected.0, [dropout.0, ensembles.0]),
        log_likelihood: of(|r| r.log_likelihood, expected.1, [dropout.1, ensembles.1]),
        core_seconds: results.iter().map(|r| r.seconds).sum(),
    }
}

fn mean(values: &[f64], expected: &'static str, [mc_dropout, deep_ensembles]: [f64; 2]) -> Mean {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    let standard_error = (n > 1.0).then(|| (squares / (n - 1.0) / n).sqrt());
    let (known, decimals) = (expected.parse::<f64>(), expected.split('.').nth(1).map_or(0, str::len));
    let off = mean - known.expect("the numbers above are numbers");
    let half_a_digit = 0.5 * 0.1f64.powi(decimals as i32);
    let held = standard_error.map(|e| off.abs() <= 2.0 * e + half_a_digit);
    let off_by = standard_error.map(|e| off / e);
    Mean { mean, standard_error, expected, off_by, held, mc_dropout, deep_ensembles }
}

fn text(rows: &[SetRow]) -> String {
    let one = |title: &str, pick: fn(&SetRow) -> &Mean| {
        let head = [title, "ours", "expected", "off by", "MC dropout", "ensembles", "splits", "core s"];
        let mut lines = vec![head.map(String::from).to_vec()];
        for row in rows {
            let m = pick(row);
            let digits = if m.mean.abs() < 0.1 { 5 } else { 3 };
            let error = m.standard_error.map_or("-".into(), |e| format!("{e:.digits$}"));
            lines.push(vec![
                row.set.into(),
                format!("{:.digits$} ± {error}", m.mean),
                m.expected.into(),
                m.off_by.map_or("-".into(), |o| format!("{o:+.1}")),
                format!("{:.2}", m.mc_dropout),
                format!("{:.2}", m.deep_ensembles),
                row.splits.to_string(),
                format!("{:.1}", row.core_seconds),
            ]);
        }
        table(&lines, &[0])
    };
    format!("{}\n{}", one("RMSE", |r| &r.rmse), one("log-likelihood", |r| &r.log_likelihood))
}
