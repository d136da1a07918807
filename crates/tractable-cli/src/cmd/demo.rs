//! `tractable demo`: the three verbs on a noisy curve made on the spot, in a second, with no data.

use crate::report::{Outcome, Report, table};
use serde::Serialize;
use std::time::Instant;
use tractable::data::Dataset;
use tractable::{Activation, Fit, Gaussian, Matrix, Network, Wanted, metrics, rng};

const AFTER_HELP: &str = "\
Example:
  tractable demo

Learns 400 noisy points of y = x^3 - 3x, shows what comes out with its uncertainty, and asks which
input gives a wanted output.";

/// Learn a noisy curve, predict with uncertainty, and ask which input gives a wanted output
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Seed of the data and of the network
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

const POINTS: usize = 400;
const NOISE: f64 = 0.1;
const ROUNDS: usize = 100;

fn truth(x: f64) -> f64 {
    x.powi(3) - 3.0 * x
}

#[derive(Serialize)]
struct Learned {
    points: usize,
    parameters: usize,
    seconds: f64,
    capped: u64,
    repaired: u64,
}

#[derive(Serialize)]
struct Predicted {
    /// Against the curve without noise, on fresh points.
    rmse: f64,
    /// Share of fresh noisy points inside their 90 % interval.
    inside_90: f64,
}

#[derive(Serialize)]
struct Conditioned {
    wanted: f64,
    prior_mean: f64,
    prior_std: f64,
    mean: f64,
    std: f64,
    /// The curve itself at the answer.
    truth: f64,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let report = Report::new(args.json);
    let (x, y) = noisy(args.seed, 0)?;
    let mut net = Network::mlp([1, 64, 64, 1], Activation::Tanh).seed(args.seed).build()?;
    let start = Instant::now();
    let fit = net.fit(&Dataset::new(x, y)?.standardize(), &Fit::new().epochs(50).batch(1).noise_std(0.08))?;
    let learned = Learned {
        points: POINTS,
        parameters: net.parameters(),
        seconds: start.elapsed().as_secs_f64(),
        capped: fit.epochs.iter().map(|e| e.learned.capped).sum(),
        repaired: fit.epochs.iter().map(|e| e.learned.repaired).sum(),
    };
    report.say("learn", &learned, || {
        format!(
            "learn: what do the data say about the weights?\n  {} noisy points of y = x^3 - 3x, one at a time, 50 \
             times over: {} weights, {:.2} s\n",
            learned.points, learned.parameters, learned.seconds
        )
    })?;

    let (x, y) = noisy(args.seed, 1)?;
    let out = net.predict(&x)?.with_noise(&net.noise_var())?;
    let curve: Vec<f64> = x.data().iter().map(|&x| truth(x)).collect();
    let predicted = Predicted {
        rmse: metrics::rmse(&curve, out.mean())?,
        inside_90: metrics::coverage(y.data(), out.mean(), out.var(), 0.9)?,
    };
    let picture = picture(&net)?;
    report.say("predict", &predicted, || {
        format!(
            "predict: what comes out?\n{picture}  off by {:.3} (rmse; the noise was {NOISE}); {:.0} % of fresh \
             points are inside their 90 % interval\n  where there are no data the std is far too small: do not trust it there\n",
            predicted.rmse,
            100.0 * predicted.inside_90
        )
    })?;

    let (wanted, prior_mean, prior_std) = (-1.0, 0.6, 0.1);
    let prior = Gaussian::new(vec![prior_mean], vec![prior_std * prior_std], 1)?;
    let y = Matrix::column(vec![wanted])?;
    // Many gentle rounds instead of one: together they observe y with a variance of NOISE^2.
    let wish = Wanted::from(&y).noise_var(NOISE * NOISE * ROUNDS as f64).rounds(ROUNDS);
    let x = net.condition(&prior, wish)?;
    let answer = Conditioned {
        wanted,
        prior_mean,
        prior_std,
        mean: x.mean()[0],
        std: x.std()[0],
        truth: truth(x.mean()[0]),
    };
    report.say("condition", &answer, || {
        format!(
            "condition: what must the input be, given what I want at the output?\n  I want y = {wanted} and believe x \
             is {prior_mean} +- {prior_std}: then x is {:.3} +- {:.3}\n  there the curve is {:.3}\n",
            answer.mean, answer.std, answer.truth
        )
    })
}

/// Inputs in [-2, 2] and noisy values of the curve.
fn noisy(seed: u64, part: u64) -> tractable::Result<(Matrix, Matrix)> {
    let mut rng = rng::stream(seed, "demo", part);
    let x: Vec<f64> = (0..POINTS).map(|i| 4.0 * (i as f64 + 0.5) / POINTS as f64 - 2.0).collect();
    let y = x.iter().map(|&x| truth(x) + NOISE * rng::standard_normal(&mut rng)).collect();
    Ok((Matrix::column(x)?, Matrix::column(y)?))
}

/// The prediction and its 95 % band over and beyond the data, as text.
fn picture(net: &Network) -> tractable::Result<String> {
    let x: Vec<f64> = (-13..=13).map(|i| i as f64 / 5.0).collect();
    let out = net.predict(&Matrix::column(x.clone())?)?;
    let column = |y: f64| ((y + 4.0) / 8.0 * 48.0).round().clamp(0.0, 48.0) as usize;
    let mut rows = vec![
        ["x", "truth", "mean", "std", "-4 ................. y ................. +4"]
            .map(String::from)
            .to_vec(),
    ];
    for ((&x, &mean), std) in x.iter().zip(out.mean()).zip(out.std()) {
        let mut line = [' '; 49];
        line[column(mean - 2.0 * std)..=column(mean + 2.0 * std)].fill('-');
        line[column(mean)] = 'o';
        let beyond = if x.abs() > 2.0 { " no data here" } else { "" };
        let line: String = line.iter().collect();
        rows.push(vec![
            format!("{x:.1}"),
            format!("{:.2}", truth(x)),
            format!("{mean:.2}"),
            format!("{std:.2}"),
            format!("{line}{beyond}"),
        ]);
    }
    Ok(table(&rows, &[4]))
}
