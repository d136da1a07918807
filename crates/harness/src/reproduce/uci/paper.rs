//! The benchmark with the settings of the method's authors.
//!
//! For every split: x and y standardised by the training part; one hidden layer of ReLU; weights from
//! N(0, 0.25/inputs), biases from N(0, 0.01); 40 shuffled epochs, one sample at a time. RMSE and mean
//! log-likelihood of the test part are in the target's own units; a prediction's variance is the network's
//! plus the noise.

use super::sets::{Benchmark, Loaded};
use super::{Args, each_split};
use serde::Serialize;
use std::time::Instant;
use tractable::data::Target;
use tractable::{Activation, Device, Fit, Network, Prior, metrics, network::UpdateRule};
use tractable_cli::report::{Exit, Outcome, Report, table};

const EPOCHS: usize = 40;

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
pub(super) struct SetRow {
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

/// Runs every split; one row per set.
pub(super) fn rows(args: &Args, sets: &[Loaded], report: Report) -> Outcome<Vec<SetRow>> {
    let mut results: Vec<Vec<Option<Tested>>> = sets.iter().map(|s| vec![None; s.splits.len()]).collect();
    let all: Vec<(usize, usize)> =
        sets.iter().enumerate().flat_map(|(i, s)| (0..s.splits.len()).map(move |k| (i, k))).collect();
    let train = |set: &Loaded, k: usize| split(set, k, args.seed);
    each_split(sets, all, train, |set, split, result| {
        results[set][split] = Some(result);
        let row = SplitRow { set: sets[set].benchmark.name, split, result };
        report.say("split", &row, String::new)
    })?;
    let rows: Vec<SetRow> = sets.iter().zip(&results).map(|(s, r)| summarise(s.benchmark, r)).collect();
    if args.json {
        rows.iter().try_for_each(|row| report.say("set", row, String::new))?;
    } else {
        report.say("", &(), || text(&rows))?;
    }
    Ok(rows)
}

/// An error if a set is not what is expected.
pub(super) fn check(rows: &[SetRow]) -> Outcome {
    let off = |m: &Mean| m.held != Some(true);
    let outside: Vec<&str> =
        rows.iter().filter(|r| off(&r.rmse) || off(&r.log_likelihood)).map(|r| r.set).collect();
    match outside.is_empty() {
        true => Ok(()),
        false => Err(Exit::CheckFailed(format!("more than two standard errors off: {}", outside.join(", ")))),
    }
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
