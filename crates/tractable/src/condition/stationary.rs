//! The posterior of a state given a maximum, a minimum or a stationary point of the output: a derivative of zero.

use super::linear::{self, Linearised, Wish};
use super::{Answer, EXACTLY, Found, Posterior, Prior, Priors, points};
use crate::cholesky;
use crate::engine::Slope;
use crate::error::Result;
use crate::gaussian::Input;
use crate::moments::derivative::{shrunk, stationary};
use crate::network::Network;
use crate::output::{Extremum, Wanted};

/// T50. The derivative `D` is linear in the state to first order, with slope `H`, the second derivative; given the state it
/// varies by its weights, independently by entry: `cov(x, D) = P H`, `var D = H P H' + V + R`.
pub(super) fn condition(net: &Network, x: Input<'_>, at: usize, wanted: &Wanted<'_>) -> Result<Posterior> {
    let aim = Extremum::of(wanted).expect("a stationary point is wanted");
    let slope = net.slope(wanted.layer.unwrap_or("input"), aim.output, aim.gate)?;
    let priors = Priors::new(net, x, at, wanted)?;
    let mut answers = Vec::with_capacity(x.rows());
    for sample in 0..x.rows() {
        let one = x.rows_between(sample, sample + 1);
        let prior = priors.of(net, x, sample)?;
        if prior.free().is_empty() {
            answers.push(Answer::nothing(prior));
            continue;
        }
        if at == 0 && prior.free().len() <= points::MOST {
            let places = Places { net, slope, aim, noise_var: wanted.noise_var, known: wanted.known_weights };
            if let Some(answer) = places.answer(&prior)? {
                answers.push(answer);
                continue;
            }
        }
        let (d, [mean, mut var, second]) = (prior.width(), net.curvature(one, &prior.mean, slope)?);
        if wanted.known_weights {
            var.fill(0.0);
        }
        let noise: Vec<f64> =
            net.in_derivative_units(slope, d).iter().map(|unit| wanted.noise_var / (unit * unit)).collect();
        let spread: Vec<f64> = (0..d * d).map(|i| if i / d == i % d { var[i / d] } else { 0.0 }).collect();
        let out = Linearised { at: &prior.mean, mean: &mean, slopes: &second, spread: &spread };
        let mut updated = linear::condition_on(&prior, &out, &Wish { y: &vec![0.0; d], noise: &noise });
        if aim.towards != 0.0 && !bends(&second, d, aim.towards) {
            // The curvature has the wrong sign: move every entry the other way by the same amount.
            let (p, times) = (prior.var(), prior.times(&second));
            for i in 0..d {
                let by_state: f64 = (0..d).map(|j| second[i * d + j] * times[i * d + j]).sum();
                let (d_mean, d_var) =
                    stationary(mean[i], by_state + var[i] + noise[i], times[i * d + i], aim.towards);
                (updated.mean[i], updated.var[i]) = (prior.mean[i] + d_mean, shrunk(p[i], d_var));
            }
        }
        // Reached if the remaining slope is small, or smaller than its uncertainty.
        let [left, _, _] = net.curvature(one, &updated.mean, slope)?;
        let size = |d: &[f64]| d.iter().zip(&prior.var()).map(|(d, p)| d * d * p).sum::<f64>();
        let unknown: f64 = var.iter().zip(&prior.var()).map(|(v, p)| v * p).sum();
        let converged = size(&left) <= (0.01 * size(&mean)).max(unknown);
        answers.push(Answer::linear(prior, updated, Found::Linearised { steps: 1, converged }));
    }
    net.posterior(answers, at)
}

/// Weights of points: T52, `ln N(0; D(x), V(x) + R)` summed over the unknown entries, if the curvature has the
/// right sign.
struct Places<'n> {
    net: &'n Network,
    slope: Slope,
    aim: Extremum<'n>,
    noise_var: f64,
    known: bool,
}

impl Places<'_> {
    /// `None` if there is no such point within the prior, or too few points count.
    fn answer(&self, prior: &Prior) -> Result<Option<Answer>> {
        let free = prior.free();
        // A slope counts as zero if it is below a thousandth of the range of slopes.
        let drawn = prior.draws(64);
        let [mean, ..] = self.derivatives(&drawn, prior.width())?;
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
            let [mean, var, second] = self.derivatives(places, d)?;
            let ln = |row: usize| {
                let entry = |(&i, least): (&usize, &f64)| {
                    let i = row * d + i;
                    if self.aim.towards * second[i] > 0.0 {
                        return f64::NEG_INFINITY;
                    }
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

    /// Mean and variance of the derivative, and the second derivative, at known inputs.
    fn derivatives(&self, places: &[f64], d: usize) -> Result<[Vec<f64>; 3]> {
        let mut all = [const { Vec::new() }; 3];
        for places in places.chunks(d * self.net.rows_at_once()) {
            let rows = places.len() / d;
            let mut pass = self.net.pass();
            pass.write(0, places, None)?;
            pass.run(&self.net.forward, None)?;
            let [mean, var, _] = pass.derivative(self.slope)?;
            let second = match self.aim.towards == 0.0 {
                true => vec![0.0; mean.len()],
                false => self.net.second_derivative_in(&*pass, self.slope, rows)?,
            };
            all.iter_mut().zip([mean, var, second]).for_each(|(all, part)| all.extend(part));
        }
        Ok(all)
    }
}

/// Whether a second derivative is that of a maximum (1) or a minimum (-1) in all directions.
fn bends(second: &[f64], d: usize, towards: f64) -> bool {
    let mut turned: Vec<f64> = second.iter().map(|v| -towards * v).collect();
    cholesky::factor(&mut turned, d)
}
