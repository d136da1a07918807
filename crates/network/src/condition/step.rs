//! One step of a search with known weights: how far every entry of a state moves to correct the output.

use tractable_core::cholesky;

/// Maximum number of times that entries are clamped to their limits and the rest recomputed.
const AGAIN: usize = 10;
/// Initial damping, relative to the mean variance of the outputs, and its growth factor.
const DAMPED: f64 = 1e-6;
const MORE: f64 = 4.0;

/// `k` outputs, their slopes with respect to a state, `[k, width]`, their errors, and the noise they may have.
pub(super) struct Step<'s> {
    pub(super) slopes: &'s [f64],
    pub(super) off: &'s [f64],
    pub(super) noise: &'s [f64],
}

impl Step<'_> {
    /// T51. `P A' (A P A' + R + r I)^-1 off`, with the smallest `r` for which the step is no longer than a draw of the
    /// prior, `P = diag var`. Entries that would leave their limits are clamped.
    pub(super) fn within(&self, var: &[f64], room: &[[f64; 2]]) -> Vec<f64> {
        let d = var.len();
        let (mut var, mut held, mut step) = (var.to_vec(), vec![0.0; d], vec![0.0; d]);
        for _ in 0..=AGAIN {
            let mut off = self.off.to_vec();
            for (off, slopes) in off.iter_mut().zip(self.slopes.chunks_exact(d)) {
                *off -= slopes.iter().zip(&held).map(|(a, h)| a * h).sum::<f64>();
            }
            step = self.solved(&var, &off);
            let leaves = |u: usize| var[u] > 0.0 && !(room[u][0]..=room[u][1]).contains(&step[u]);
            let out: Vec<usize> = (0..d).filter(|&u| leaves(u)).collect();
            if out.is_empty() {
                break;
            }
            for u in out {
                held[u] = step[u].clamp(room[u][0].min(0.0), room[u][1].max(0.0));
                (var[u], step[u]) = (0.0, 0.0);
            }
        }
        step.iter().zip(&held).map(|(s, h)| s + h).collect()
    }

    fn solved(&self, var: &[f64], off: &[f64]) -> Vec<f64> {
        let (d, k) = (var.len(), off.len());
        let line = |i: usize| &self.slopes[i * d..][..d];
        let product = |i: usize| (0..d).map(|u| line(i / k)[u] * var[u] * line(i % k)[u]).sum();
        let mut v: Vec<f64> = (0..k * k).map(product).collect();
        let size = (0..k).map(|i| v[i * k + i]).sum::<f64>() / k as f64;
        if size <= 0.0 {
            return vec![0.0; d];
        }
        (0..k).for_each(|i| v[i * k + i] += self.noise[i]);
        let free = var.iter().filter(|&&v| v > 0.0).count() as f64;
        let mut damped = DAMPED * size;
        loop {
            let mut c = v.clone();
            (0..k).for_each(|i| c[i * k + i] += damped);
            let last = damped > 1e30 * size;
            if cholesky::factor(&mut c, k) || last {
                let mut gain = off.to_vec();
                cholesky::solve(&c, k, &mut gain);
                cholesky::solve_turned(&c, k, &mut gain);
                let pull = |u: usize| (0..k).map(|i| line(i)[u] * gain[i]).sum::<f64>();
                let pull: Vec<f64> = (0..d).map(pull).collect();
                let square: f64 = pull.iter().zip(var).map(|(g, v)| g * g * v).sum();
                if square <= free || last {
                    return pull.iter().zip(var).map(|(g, v)| g * v).collect();
                }
            }
            damped *= MORE;
        }
    }
}
