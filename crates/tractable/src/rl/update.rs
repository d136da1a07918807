//! One mini-batch: the value network learns returns, better actions are inferred from its derivative, the policy
//! learns them.

use super::settings::Teach;
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

/// The policy learns better actions: as observations with noise and their own variance, or by smoothing.
pub(crate) fn learn_actions(
    policy: &mut Network,
    states: &[f64],
    inferred: &Inferred,
    noise_std: f64,
    teach: Teach,
) -> Result<LearnInfo> {
    let (ns, better) = (policy.input().len(), &inferred.better);
    let (mut y, mut noise) = (better.mean().to_vec(), better.var().to_vec());
    match teach {
        Teach::Observe => noise.iter_mut().for_each(|v| *v += noise_std * noise_std),
        Teach::Weigh => {
            let [slope, slope_var, _] = &inferred.slope;
            for i in 0..y.len() {
                // T75
                let doubt = 1.0 + (slope_var[i] / (slope[i] * slope[i]).max(f64::MIN_POSITIVE)).min(1e9);
                noise[i] += doubt * noise_std * noise_std;
            }
        }
        Teach::Smooth(part) => {
            let own = &inferred.policy;
            for i in 0..y.len() {
                let moved = (better.mean()[i] - own.mean()[i], better.var()[i] - own.var()[i]);
                (y[i], noise[i]) = smoothed(own.mean()[i], own.var()[i], moved, part);
            }
        }
    }
    let seen = Observation::checked(&y, better.width(), None).noise_var(&noise);
    policy.learn(Input::checked(states, ns), seen)
}

/// T74. The observation (mean, noise variance) that moves an action N(`mean`, `var`) by this part of what conditioning on
/// its derivative did to its mean and variance: where the derivative is uncertain it says next to nothing.
fn smoothed(mean: f64, var: f64, (d_mean, d_var): (f64, f64), part: f64) -> (f64, f64) {
    // T74
    let told = -d_var / var.max(f64::MIN_POSITIVE);
    if part * told <= 1e-12 {
        return (mean, 1e12);
    }
    (mean + d_mean / told, (var / (part * told) - var).max(0.1 * var).max(1e-12))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `part` 1 the observation is the conditioning itself; with less, that part of both its moves.
    #[test]
    fn smoothing_passes_on_what_conditioning_says() {
        let (mean, var) = (0.3, 0.04);
        let (d_mean, d_var) = stationary(-0.5, 2.0, 0.01, 1.0);
        for part in [1.0, 0.1] {
            let (y, noise) = smoothed(mean, var, (d_mean, d_var), part);
            let gain = var / (var + noise);
            assert!((gain * (y - mean) - part * d_mean).abs() < 1e-12);
            assert!((-gain * var - part * d_var).abs() < 1e-12);
        }
        assert_eq!(smoothed(mean, var, (0.0, 0.0), 1.0), (mean, 1e12));
    }

    /// The same better action, by a derivative that is sure and by one that is not.
    #[test]
    fn doubt_keeps_the_policy_open() {
        let learned = |slope_var: f64| {
            let mut policy = Network::mlp([1, 4, 1], crate::moments::Activation::Relu).build().unwrap();
            let own = policy.predict(Input::checked(&[0.5], 1)).unwrap();
            let better = Gaussian::computed(vec![own.mean()[0] + 0.1], own.var().to_vec(), 1);
            let slope = [vec![1.0], vec![slope_var], vec![0.1]];
            let inferred = Inferred { policy: own.clone(), slope, better };
            learn_actions(&mut policy, &[0.5], &inferred, 1.0, Teach::Weigh).unwrap();
            let after = policy.predict(Input::checked(&[0.5], 1)).unwrap();
            (after.mean()[0] - own.mean()[0], own.var()[0] - after.var()[0])
        };
        let (sure, unsure) = (learned(1e-3), learned(1e3));
        assert!(sure.0 > 100.0 * unsure.0 && sure.1 > 100.0 * unsure.1 && unsure.0 > 0.0);
    }
}
