//! The posterior of many unknowns: linearise the network at the answer and update the prior, until the answer converges.

use super::Task;
use super::linear::{self, Linearised, Updated};
use super::points::Around;
use super::prior::Prior;
use crate::engine::ActivePass;
use crate::network::{Ask, Chosen, Network};
use tractable_core::error::Result;

/// Maximum number of steps.
const STEPS: usize = 10;
/// The answer has converged when a step would move it by at most this share of its own standard deviation.
pub(crate) const ENOUGH: f64 = 0.02;
/// And its variances by at most this share. The last ones are half a step behind the factor: no more than that after convergence.
const SETTLED: f64 = 0.1;

/// Where it ended.
#[derive(Debug, Clone)]
pub(crate) struct Iterated {
    pub(crate) updated: Updated,
    pub(crate) steps: usize,
    pub(crate) converged: bool,
}

impl Iterated {
    /// In standard deviations of the prior.
    pub(super) fn around(&self, prior: &Prior, free: &[usize]) -> Around {
        let step: Vec<f64> = self.updated.mean.iter().zip(&prior.mean).map(|(m, m0)| m - m0).collect();
        let (d, f) = (prior.width(), free.len());
        let mut cov: Vec<f64> = (0..f * f).map(|i| f64::from(u8::from(i / f == i % f))).collect();
        for b in self.updated.factor.chunks_exact(d) {
            let b = prior.unscaled(free, b);
            (0..f * f).for_each(|i| cov[i] -= b[i / f] * b[i % f]);
        }
        (prior.unscaled(free, &step), cov)
    }
}

/// T49. Samples in parallel: a full step, then half steps. For a hidden state, `whole` is a pass with complete
/// samples.
pub(crate) fn iterate<'n>(
    net: &'n Network,
    tasks: &[Task],
    whole: Option<Box<dyn ActivePass + 'n>>,
    enough: f64,
) -> Result<Vec<Iterated>> {
    let (at, d) = (tasks[0].at, tasks[0].prior.width());
    let k = tasks.iter().map(|t| t.chosen.k).max().unwrap_or(0);
    let padded = |t: &Task| {
        let all = t.chosen.outputs.iter().copied().chain(std::iter::repeat(None));
        all.take(k).collect::<Vec<_>>()
    };
    let chosen = Chosen { k, outputs: tasks.iter().flat_map(padded).collect() };
    let mut pass = match whole {
        Some(mut pass) => {
            pass.run(&net.graph.forward(0, tractable_devices::Purpose::Rows), None)?;
            pass
        }
        None => net.pass(),
    };
    let ask = if tasks.iter().all(|t| t.known_weights) { Ask::Slopes } else { Ask::Both };
    let mut mean: Vec<f64> = tasks.iter().flat_map(|t| t.prior.mean.clone()).collect();
    let mut var: Vec<f64> = tasks.iter().flat_map(|t| t.prior.var()).collect();
    let mut found: Vec<Option<Iterated>> = vec![None; tasks.len()];
    for step in 1..=STEPS {
        pass.write(at, &mean, Some(&var))?;
        let rows = net.rows_in(&mut *pass, (at, at), &chosen, ask)?;
        for (i, (task, found)) in tasks.iter().zip(&mut found).enumerate() {
            if enough > 0.0 && step > 2 && found.as_ref().is_some_and(|f| f.converged) {
                continue;
            }
            let own = task.chosen.k;
            let entry = |e: usize| rows.spread_of(i)[e / own * k + e % own];
            let spread = (0..own * own).map(|e| if task.known_weights { 0.0 } else { entry(e) });
            let out = Linearised {
                at: &mean[i * d..][..d],
                mean: &rows.mean_of(i)[..own],
                slopes: &rows.slopes_of(i)[..own * d],
                spread: &spread.collect::<Vec<_>>(),
            };
            let mut updated = match task.class {
                None => linear::condition_on(&task.prior, &out, &task.wish()),
                Some((softmax, class)) => {
                    let seen = softmax.as_observed(class, out.mean, &task.by_weights(out.spread));
                    linear::condition_on_class(&task.prior, &out, &seen)
                }
            };
            let share = if step == 1 { 1.0 } else { 0.5 };
            let mut converged = true;
            for u in 0..d {
                let (mean, var) = (&mut mean[i * d + u], &mut var[i * d + u]);
                converged &= (updated.mean[u] - *mean).powi(2) <= enough * enough * updated.var[u];
                converged &= (updated.var[u] - *var).abs() <= SETTLED * updated.var[u];
                *mean += share * (updated.mean[u] - *mean);
                *var += share * (updated.var[u] - *var);
                (updated.mean[u], updated.var[u]) = (*mean, *var);
            }
            *found = Some(Iterated { updated, steps: step, converged });
        }
        if step > 1 && enough > 0.0 && found.iter().flatten().all(|f| f.converged) {
            break;
        }
    }
    Ok(found.into_iter().map(|f| f.expect("there is at least one step")).collect())
}
