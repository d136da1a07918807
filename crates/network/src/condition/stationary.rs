//! The posterior of a state given a maximum, a minimum or a stationary point of the output: a derivative of zero.

use super::linear::{self, Linearised, Wish};
use super::posterior::Learned;
use super::{Answer, EXACTLY, Found, Mode, Posterior, Prior, Priors, points};
use crate::engine::Slope;
use crate::network::Network;
use crate::output::{Extremum, Wanted};
use tractable_core::cholesky;
use tractable_core::error::Result;
use tractable_core::gaussian::Input;
use tractable_core::moments::derivative::{shrunk, stationary};

/// T50. The derivative `D` is linear in the state to first order, with slope `H`, the second derivative; given the state it
/// varies by its weights, independently by entry: `cov(x, D) = P H`, `var D = H P H' + V + R`.
pub(super) fn condition(net: &Network, x: Input<'_>, at: usize, wanted: &Wanted<'_>) -> Result<Posterior> {
    let aim = Extremum::of(wanted).expect("a stationary point is wanted");
    let slope = net.slope(wanted.layer.unwrap_or("input"), aim.output, aim.gate)?;
    let priors = Priors::new(net, x, at, wanted)?;
    let goal = Goal { net, slope, aim, noise_var: wanted.noise_var, known: wanted.known_weights };
    let mut answers = Vec::with_capacity(x.rows());
    for sample in 0..x.rows() {
        let one = x.rows_between(sample, sample + 1);
        let prior = priors.of(net, x, sample)?;
        if prior.free().is_empty() {
            answers.push(Answer::nothing(prior));
            continue;
        }
        let few = at == 0 && prior.free().len() <= points::MOST;
        let answer = if few { goal.by_points(&prior)? } else { None };
        answers.push(answer.map_or_else(|| goal.by_a_step(one, prior), Ok)?);
    }
    net.posterior(answers, at)
}

/// A slope of zero in every unknown entry, and the right curvature.
struct Goal<'n> {
    net: &'n Network,
    slope: Slope,
    aim: Extremum<'n>,
    noise_var: f64,
    known: bool,
}

impl Goal<'_> {
    /// One step by second derivatives, for many unknown entries, and where no point has the right curvature.
    fn by_a_step(&self, x: Input<'_>, prior: Prior) -> Result<Answer> {
        let (d, free) = (prior.width(), prior.free());
        let [mean, var, second] = self.net.curvature(x, &prior.mean, self.slope)?;
        let units = self.net.in_derivative_units(self.slope, d);
        let of_free = |all: &[f64]| free.iter().map(|&i| all[i]).collect::<Vec<f64>>();
        let start = of_free(&mean);
        let var = if self.known { vec![0.0; free.len()] } else { of_free(&var) };
        let noise: Vec<f64> = free.iter().map(|&i| self.noise_var / units[i].powi(2)).collect();
        let slopes: Vec<f64> = free.iter().flat_map(|&i| &second[i * d..][..d]).copied().collect();
        let bends = |second: &[f64]| {
            let square: Vec<f64> = free.iter().flat_map(|&i| of_free(&second[i * d..][..d])).collect();
            self.aim.towards == 0.0 || bends(&square, free.len(), self.aim.towards)
        };
        let mut answer = if bends(&second) {
            let f = free.len();
            let spread: Vec<f64> =
                (0..f * f).map(|i| if i / f == i % f { var[i / f] } else { 0.0 }).collect();
            let out = Linearised { at: &prior.mean, mean: &start, slopes: &slopes, spread: &spread };
            let updated = linear::condition_on(&prior, &out, &Wish { y: &vec![0.0; f], noise: &noise });
            Answer::linear(prior.clone(), updated, Found::Linearised { steps: 1, converged: true })
        } else {
            // The curvature has the wrong sign: move every entry the other way by the same amount.
            let times = prior.times(&slopes);
            let moved = free.iter().enumerate().map(|(row, &i)| {
                let by_state: f64 = (0..d).map(|j| slopes[row * d + j] * times[row * d + j]).sum();
                let all = by_state + var[row] + noise[row];
                stationary(start[row], all, times[row * d + i], self.aim.towards)
            });
            Answer::by_entries(&prior, &free, moved)
        };
        // Reached if the remaining slope is small, or smaller than its uncertainty, and the curvature is right.
        let [left, _, second] = self.net.curvature(x, &answer.mean, self.slope)?;
        let prior_var = of_free(&prior.var());
        let size = |d: &[f64]| d.iter().zip(&prior_var).map(|(d, p)| d * d * p).sum::<f64>();
        let unknown: f64 = var.iter().zip(&prior_var).map(|(v, p)| v * p).sum();
        let converged = size(&of_free(&left)) <= (0.01 * size(&start)).max(unknown) && bends(&second);
        answer.found = Found::Linearised { steps: 1, converged };
        Ok(answer)
    }
}

impl Answer {
    /// Changes of mean and variance of the free entries, each by itself: correlations stay as they were.
    fn by_entries(prior: &Prior, free: &[usize], moved: impl Iterator<Item = (f64, f64)>) -> Self {
        let (d, before) = (prior.width(), prior.var());
        let (mut mean, mut var) = (prior.mean.clone(), before.clone());
        for (&i, (d_mean, d_var)) in free.iter().zip(moved) {
            (mean[i], var[i]) = (prior.mean[i] + d_mean, shrunk(before[i], d_var));
        }
        let narrower: Vec<f64> =
            before.iter().zip(&var).map(|(p, v)| if *p > 0.0 { (v / p).sqrt() } else { 1.0 }).collect();
        let covariance = (0..d * d).map(|i| prior.entry(i / d, i % d) * narrower[i / d] * narrower[i % d]);
        Answer {
            covariance: Learned::Full(covariance.collect()),
            modes: vec![Mode { weight: 1.0, mean: mean.clone(), var: var.clone() }],
            found: Found::Linearised { steps: 1, converged: true },
            mean,
            var,
        }
    }
}

impl Goal<'_> {
    /// T52. A point weighs `ln N(0; D(x), V(x) + R)`, summed over the unknown entries, if the curvature has the right
    /// sign in every direction. `None` if there is no such point within the prior, or too few points count.
    fn by_points(&self, prior: &Prior) -> Result<Option<Answer>> {
        let free = prior.free();
        // A slope counts as zero if it is below a thousandth of the range of slopes.
        let drawn = prior.draws(64);
        let Derivatives { mean, .. } = self.derivatives(&drawn, prior.width(), &free)?;
        let units = self.net.in_derivative_units(self.slope, prior.width());
        let least: Vec<f64> = free
            .iter()
            .map(|&i| {
                let size = mean.iter().skip(i).step_by(prior.width()).map(|d| d * d).sum::<f64>() / 64.0;
                (self.noise_var / units[i].powi(2)).max(EXACTLY * EXACTLY * size)
            })
            .collect();
        let mut weigh = |places: &[f64]| {
            let d = prior.width();
            let Derivatives { mean, var, bends } = self.derivatives(places, d, &free)?;
            let ln = |row: usize| {
                if !bends[row] {
                    return f64::NEG_INFINITY;
                }
                let entry = |(&i, least): (&usize, &f64)| {
                    let i = row * d + i;
                    let var = if self.known { *least } else { var[i] + least };
                    -0.5 * (mean[i] * mean[i] / var + libm::log(var))
                };
                free.iter().zip(&least).map(entry).sum::<f64>()
            };
            Ok((0..places.len() / d).map(ln).collect::<Vec<f64>>())
        };
        // It is not an error if no point has the right curvature: then the slope decides.
        if weigh(&drawn)?.iter().all(|&ln| ln == f64::NEG_INFINITY) {
            return Ok(None);
        }
        Answer::by_points(prior, &mut weigh, &mut || Ok(None))
    }

    /// At known inputs, with the curvature of the free entries.
    fn derivatives(&self, places: &[f64], d: usize, free: &[usize]) -> Result<Derivatives> {
        let (mut all, f) = (Derivatives::default(), free.len());
        for places in places.chunks(d * self.net.rows_at_once()) {
            let rows = places.len() / d;
            let mut pass = self.net.pass();
            pass.write(0, places, None)?;
            pass.run(&self.net.forward, None)?;
            let [mean, var, _] = pass.derivative(self.slope)?;
            all.mean.extend(mean);
            all.var.extend(var);
            if self.aim.towards == 0.0 {
                all.bends.extend(vec![true; rows]);
                continue;
            }
            let second = self.net.second_derivatives_in(&*pass, self.slope, free, rows)?;
            if let Some(bad) = second.iter().position(|v| !v.is_finite()) {
                return Err(self.net.diverged(0, bad / (f * f), second[bad]));
            }
            all.bends.extend(second.chunks_exact(f * f).map(|second| bends(second, f, self.aim.towards)));
        }
        Ok(all)
    }
}

/// The derivative at every place, `[places, width]`, and whether the curvature there is that of the wanted extremum.
#[derive(Default)]
struct Derivatives {
    mean: Vec<f64>,
    var: Vec<f64>,
    bends: Vec<bool>,
}

/// Smallest curvature that counts as flat, as a share of the mean one: a direction may be flat, but not curved the other way.
const FLAT: f64 = 1e-9;

/// Whether second derivatives are those of a maximum (1) or a minimum (-1) in all directions.
fn bends(second: &[f64], d: usize, towards: f64) -> bool {
    let mut turned: Vec<f64> = second.iter().map(|v| -towards * v).collect();
    let size = (0..d).map(|i| turned[i * (d + 1)].abs()).sum::<f64>() / d as f64;
    (0..d).for_each(|i| turned[i * (d + 1)] += FLAT * size);
    second.iter().all(|&v| v == 0.0) || cholesky::factor(&mut turned, d)
}
