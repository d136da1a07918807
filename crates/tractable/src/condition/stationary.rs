//! The posterior of a state where the output is to have a maximum, a minimum or either: its derivative is zero.

use super::linear::{self, Linearised, Wish};
use super::{Answer, Found, Posterior, Priors};
use crate::cholesky;
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
        let (d, [mean, mut var, second]) = (prior.width(), net.curvature(one, &prior.mean, slope)?);
        if wanted.known_weights {
            var.fill(0.0);
        }
        let noise: Vec<f64> =
            net.in_derivative_units(slope, d).iter().map(|unit| wanted.noise_var / (unit * unit)).collect();
        let spread: Vec<f64> = (0..d * d).map(|i| if i / d == i % d { var[i / d] } else { 0.0 }).collect();
        let out = Linearised { at: &prior.mean, mean: &mean, slopes: &second, spread: &spread };
        let mut updated = linear::update(&prior, &out, &Wish { y: &vec![0.0; d], noise: &noise });
        if aim.towards != 0.0 && !bends(&second, d, aim.towards) {
            // The curve bends the other way: every entry goes up or down by as much as it would go to the other kind.
            let (p, times) = (prior.var(), prior.times(&second));
            for i in 0..d {
                let by_state: f64 = (0..d).map(|j| second[i * d + j] * times[i * d + j]).sum();
                let (d_mean, d_var) =
                    stationary(mean[i], by_state + var[i] + noise[i], times[i * d + i], aim.towards);
                (updated.mean[i], updated.var[i]) = (prior.mean[i] + d_mean, shrunk(p[i], d_var));
            }
        }
        answers.push(Answer::linear(prior, updated, Found::Linearised { steps: 1, converged: true }));
    }
    net.posterior(answers, at)
}

/// Whether a second derivative is that of a maximum (1) or a minimum (-1) in all directions.
fn bends(second: &[f64], d: usize, towards: f64) -> bool {
    let mut turned: Vec<f64> = second.iter().map(|v| -towards * v).collect();
    cholesky::factor(&mut turned, d)
}
