//! One mini-batch: the value network learns returns, better actions are inferred from its derivative, the policy
//! learns them.

use tractable_core::error::Result;
use tractable_core::gaussian::{Gaussian, Input};
use tractable_core::moments::derivative::Gate;
use tractable_network::network::{LearnInfo, Network};
use tractable_network::output::{Observation, Wanted};

/// States and actions side by side, `[rows, ns + na]`.
pub(crate) fn beside(states: &[f64], actions: &[f64], rows: usize, to: &mut Vec<f64>) {
    let (ns, na) = (states.len() / rows, actions.len() / rows);
    to.clear();
    for (s, a) in states.chunks_exact(ns).zip(actions.chunks_exact(na)) {
        to.extend_from_slice(s);
        to.extend_from_slice(a);
    }
}

/// The value network learns the values of states and actions (`x`, side by side): returns with their variance,
/// observed with noise.
pub(crate) fn learn_values(
    value: &mut Network,
    x: &[f64],
    returns: (&[f64], &[f64]),
    noise_std: f64,
) -> Result<LearnInfo> {
    let width = value.input().len();
    let noise: Vec<f64> = returns.1.iter().map(|s| noise_std * noise_std + s).collect();
    value.learn(Input::exact(x, width)?, Observation::values(returns.0, 1)?.noise_var(&noise))
}

/// Actions before and after inference.
#[derive(Debug, Clone)]
pub(crate) struct Inferred {
    /// The policy's actions.
    pub(crate) policy: Gaussian,
    /// Derivative of the value with respect to the action: mean, variance, covariance with it; of the last step.
    pub(crate) slope: [Vec<f64>; 3],
    /// Better ones: where that derivative is zero, uphill.
    pub(crate) better: Gaussian,
}

/// How actions are inferred.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    pub(crate) gate: Gate,
    /// Number of steps, each from the result of the last.
    pub(crate) steps: usize,
    /// Whether the covariance of actions with the slope comes from second derivatives.
    pub(crate) second_order: bool,
    /// Whether the task clips actions at ±1.
    pub(crate) cut: bool,
}

/// T72. Better actions than the policy's, according to the value network: the posterior given a derivative of the
/// value with respect to the action of zero, towards a maximum.
pub(crate) fn infer_actions(value: &Network, policy: &Network, states: &[f64], how: How) -> Result<Inferred> {
    let ns = policy.input().len();
    let own = policy.predict(Input::exact(states, ns)?)?;
    let (rows, na) = (own.rows(), own.width());
    let cut = |a: &mut f64| *a = if how.cut { a.clamp(-1.0, 1.0) } else { *a };
    let (mut actions, mut x, mut x_var) = (own.mean().to_vec(), Vec::new(), Vec::new());
    actions.iter_mut().for_each(cut);
    beside(states, &actions, rows, &mut x);
    beside(&vec![0.0; states.len()], own.var(), rows, &mut x_var);
    // T72: states are known exactly and stay; actions move.
    let wanted = Wanted::maximum().gate(how.gate);
    let wanted = if how.second_order { wanted.second_order() } else { wanted };
    let mut inference = value.searching(Input::uncertain(&x, &x_var, ns + na)?, wanted)?;
    for _ in 0..how.steps {
        inference.round()?;
        if how.cut {
            inference.project(|_, x, _| x[ns..].iter_mut().for_each(cut))?;
        }
    }
    let of_actions = |all: &[f64]| all.chunks_exact(ns + na).flat_map(|row| &row[ns..]).copied().collect();
    let slope =
        inference.slope().map_or_else(Default::default, |d| [d.mean(), d.var(), d.cov()].map(of_actions));
    let x = inference.posterior()?;
    let better = Gaussian::new(of_actions(x.mean()), of_actions(x.var()), na)?;
    Ok(Inferred { policy: own.into(), slope, better })
}

/// The policy learns better actions, as observations with noise and their own variance.
pub(crate) fn learn_actions(
    policy: &mut Network,
    states: &[f64],
    inferred: &Inferred,
    noise_std: f64,
) -> Result<LearnInfo> {
    let (ns, better) = (policy.input().len(), &inferred.better);
    let noise: Vec<f64> = better.var().iter().map(|v| v + noise_std * noise_std).collect();
    let seen = Observation::values(better.mean(), better.width())?.noise_var(&noise);
    policy.learn(Input::exact(states, ns)?, seen)
}
