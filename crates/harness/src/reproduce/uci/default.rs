//! The benchmark by the default model: one setting for all sets, and it knows none of them.

use super::sets::{self, Loaded};
use super::{Args, each_split, keep, kept};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;
use tractable::data::Target;
use tractable::ensemble::Settings;
use tractable::{Ensemble, metrics};
use tractable_cli::interrupt;
use tractable_cli::report::{Outcome, Report, table};
use tractable_cli::results::{Clock, Rows};

#[derive(Serialize, Deserialize, Clone, Copy)]
struct Tested {
    /// From 0; of gap splits, the input.
    split: usize,
    rmse: f64,
    log_likelihood: f64,
    /// Share of the test rows inside their 90 % interval.
    coverage_90: f64,
    /// Of the fit, on one thread.
    seconds: f64,
}

#[derive(Serialize)]
struct SplitRow<'a> {
    kind: &'static str,
    set: &'a str,
    #[serde(flatten)]
    result: Tested,
}

#[derive(Serialize)]
struct Mean {
    mean: f64,
    standard_error: Option<f64>,
}

#[derive(Serialize)]
struct SetRow {
    kind: &'static str,
    set: &'static str,
    seed: u64,
    splits: usize,
    of_splits: usize,
    rmse: Mean,
    log_likelihood: Mean,
    coverage_90: Mean,
    /// Of one fit, on one thread.
    seconds: f64,
    /// Log-likelihoods of others.
    published: BTreeMap<&'static str, f64>,
    each: Vec<Tested>,
}

/// As much of a row as is needed to go on with it.
#[derive(Deserialize)]
struct OldRow {
    set: String,
    seed: u64,
    each: Vec<Tested>,
}

pub(super) fn run(args: &Args, sets: &[Loaded], report: Report) -> Outcome {
    let clock = Clock::start();
    let kind = if args.gaps { "gaps" } else { "default" };
    let command = format!("cargo xtask reproduce uci --data DIR{}", if args.gaps { " --gaps" } else { "" });
    let mut results: Vec<Vec<Tested>> = sets.iter().map(|_| Vec::new()).collect();
    let mut others: Vec<Value> = Vec::new();
    if let Some(dir) = &args.out {
        let old =
            kept(dir)?.get(kind).and_then(|section| section["rows"].as_array().cloned()).unwrap_or_default();
        for row in old {
            let Ok(known) = serde_json::from_value::<OldRow>(row.clone()) else { continue };
            match sets.iter().position(|s| s.benchmark.name == known.set) {
                None => others.push(row),
                Some(i) if args.resume && known.seed == args.seed => results[i] = known.each,
                Some(_) => {}
            }
        }
    }
    let missing = |i: usize, k: usize| results[i].iter().all(|r| r.split != k);
    let splits = sets.iter().enumerate().flat_map(|(i, s)| (0..s.splits.len()).map(move |k| (i, k)));
    let splits: Vec<(usize, usize)> = splits.filter(|&(i, k)| missing(i, k)).collect();
    let work = |set: &Loaded, k: usize| split(set, k, args.seed);
    each_split(sets, splits, work, |i, _, result| {
        let Some(result) = result else { return Ok(()) };
        results[i].push(result);
        results[i].sort_by_key(|r| r.split);
        report.say("split", &SplitRow { kind, set: sets[i].benchmark.name, result }, String::new)?;
        let Some(dir) = &args.out else { return Ok(()) };
        let rows = rows(args, kind, sets, &results);
        let rows = rows.iter().map(|r| serde_json::to_value(r).expect("plain structures"));
        let mut rows: Vec<Value> = rows.chain(others.iter().cloned()).collect();
        rows.sort_by_key(|r| sets::place(r["set"].as_str().unwrap_or_default()));
        keep(dir, Some(kind), clock.results(&command, Rows { rows: &rows }))
    })?;
    let rows = rows(args, kind, sets, &results);
    match args.json {
        true => rows.iter().try_for_each(|row| report.say("set", row, String::new)),
        false => report.say("", &(), || text(&rows)),
    }
}

/// Fits a model to one split and looks at its test part; nothing if it was interrupted.
fn split(set: &Loaded, k: usize, seed: u64) -> tractable::Result<Option<Tested>> {
    let train = set.data.select(&set.splits[k].train)?;
    let test = set.data.select(&set.splits[k].test)?;
    let settings = Settings::default().seed(seed.wrapping_add(k as u64)).threads(1);
    let began = Instant::now();
    let go_on = |_| if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let Some(model) = Ensemble::fit_with(&train, &settings, go_on)? else { return Ok(None) };
    let seconds = began.elapsed().as_secs_f64();
    let out = model.predict(test.x())?;
    let Target::Values { y, .. } = test.target() else { unreachable!("the target is a number") };
    let (lower, upper) = out.interval(0.9)?;
    let inside = y.data().iter().zip(lower.iter().zip(&upper)).filter(|(y, (l, u))| l <= y && y <= u).count();
    let rows = y.data().len() as f64;
    Ok(Some(Tested {
        split: k,
        rmse: metrics::rmse(y.data(), out.mean())?,
        log_likelihood: out.log_density(y)?.iter().sum::<f64>() / rows,
        coverage_90: inside as f64 / rows,
        seconds,
    }))
}

/// One row for every set that has results.
fn rows(args: &Args, kind: &'static str, sets: &[Loaded], results: &[Vec<Tested>]) -> Vec<SetRow> {
    let row = |(set, each): (&Loaded, &Vec<Tested>)| {
        let b = set.benchmark;
        let of = |value: fn(&Tested) -> f64| mean(&each.iter().map(value).collect::<Vec<_>>());
        let published = match args.gaps {
            true => BTreeMap::from([("best", b.best_gap)]),
            false => BTreeMap::from([("deep_ensembles", b.ensembles.1), ("best_neural", b.best_neural)]),
        };
        SetRow {
            kind,
            set: b.name,
            seed: args.seed,
            splits: each.len(),
            of_splits: set.of_splits,
            rmse: of(|r| r.rmse),
            log_likelihood: of(|r| r.log_likelihood),
            coverage_90: of(|r| r.coverage_90),
            seconds: of(|r| r.seconds).mean,
            published,
            each: each.clone(),
        }
    };
    sets.iter().zip(results).filter(|(_, each)| !each.is_empty()).map(row).collect()
}

fn mean(values: &[f64]) -> Mean {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    Mean { mean, standard_error: (n > 1.0).then(|| (squares / (n - 1.0) / n).sqrt()) }
}

fn text(rows: &[SetRow]) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for row in rows {
        if lines.is_empty() {
            let mut head =
                ["default model", "RMSE", "log-likelihood", "90 % covers"].map(String::from).to_vec();
            head.extend(row.published.keys().map(|who| who.replace('_', " ")));
            head.extend(["splits", "s a fit"].map(String::from));
            lines.push(head);
        }
        let both = |m: &Mean| {
            let digits = if m.mean.abs() < 0.1 { 5 } else { 3 };
            let error = m.standard_error.map_or("-".into(), |e| format!("{e:.digits$}"));
            format!("{:.digits$} ± {error}", m.mean)
        };
        let mut line = vec![row.set.into(), both(&row.rmse), both(&row.log_likelihood)];
        line.push(format!("{:.1} %", 100.0 * row.coverage_90.mean));
        line.extend(row.published.values().map(|v| format!("{v:.2}")));
        line.extend([row.splits.to_string(), format!("{:.1}", row.seconds)]);
        lines.push(line);
    }
    table(&lines, &[0])
}
