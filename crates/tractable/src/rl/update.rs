//! One mini-batch: the value network learns returns, better actions are inferred from its derivative, the policy
//! learns them.

use crate::derivative::Wrt;
use crate::error::Result;
use crate::gaussian::{Gaussian, Input};
use crate::moments::derivative::{Gate, shrunk, stationary};
use crate::network::{LearnInfo, Network};
use crate::output::Observation;

/// States and actions side by side, `[rows, ns + na]`.
pub(crate) fn beside(states: &[f64], actions: &[f64], rows: usize, to: &mut Vec<f64>) {
    let (ns, na) = (states.len() / rows, actions.len() / rows);
    to.clear();
    for (s, a) in states.chunks_exact(ns).zip(actions.chunks_exact(na)) {
        to.extend_from_slice(s);
        to.extend_from_slice(a);
    }
}

/// The value network learns what states and actions are worth (`x`, side by side): returns with their variance,
/// seen with noise.
pub(crate) fn learn_values(
    value: &mut Network,
    x: &[f64],
    returns: (&[f64], &[f64]),
    noise_std: f64,
) -> Result<LearnInfo> {
    let width = value.input().len();
    let noise: Vec<f64> = returns.1.iter().map(|s| noise_std * noise_std + s).collect();
    value.learn(Input::checked(x, width), Observation::checked(returns.0, 1, None).noise_var(&noise))
}

/// What inference makes of the policy's actions.
#[derive(Debug, Clone)]
pub(crate) struct Inferred {
    /// The policy's own.
    pub(crate) policy: Gaussian,
    /// Derivative of the value by the action: mean, variance, covariance with it; of the last step.
    pub(crate) slope: [Vec<f64>; 3],
    /// Better ones: where that derivative is zero, uphill.
    pub(crate) better: Gaussian,
}

/// How actions are inferred.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    pub(crate) gate: Gate,
    /// Steps, each from where the last one ended.
    pub(crate) steps: usize,
    /// Whether the task cuts actions off at ±1, so that there is nothing beyond.
    pub(crate) cut: bool,
}

/// T72. Actions that the value network thinks better than the policy's: the posterior given that the derivative of the
/// value by the action is zero, towards a maximum.
pub(crate) fn infer_actions(value: &Network, policy: &Network, states: &[f64], how: How) -> Result<Inferred> {
    let ns = policy.input().len();
    let own = policy.predict(Input::checked(states, ns))?;
    let (rows, na) = (own.rows(), own.width());
    let (mut mean, mut var) = (own.mean().to_vec(), own.var().to_vec());
    let cut = |a: f64| if how.cut { a.clamp(-1.0, 1.0) } else { a };
    mean.iter_mut().for_each(|a| *a = cut(*a));
    let mut slope = [const { Vec::new() }; 3];
    let (mut x, mut x_var) = (Vec::new(), Vec::new());
    for _ in 0..how.steps {
        beside(states, &mean, rows, &mut x);
        x_var.clear();
        for v in var.chunks_exact(na) {
            x_var.resize(x_var.len() + ns, 0.0);
            x_var.extend_from_slice(v);
        }
        let d = value.derivative(Input::unsure(&x, &x_var, ns + na), Wrt::input().gate(how.gate))?;
        let actions = |all: &[f64]| all.chunks_exact(ns + na).flat_map(|row| &row[ns..]).copied().collect();
        slope = [d.mean(), d.var(), d.cov()].map(actions);
        for i in 0..mean.len() {
            // T72
            let (d_mean, d_var) = stationary(slope[0][i], slope[1][i], slope[2][i], 1.0);
            mean[i] = cut(mean[i] + d_mean);
            var[i] = shrunk(var[i], d_var);
        }
    }
    Ok(Inferred { policy: own, slope, better: Gaussian::computed(mean, var, na) })
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
    let seen = Observation::checked(better.mean(), better.width(), None).noise_var(&noise);
    policy.learn(Input::checked(states, ns), seen)
}
