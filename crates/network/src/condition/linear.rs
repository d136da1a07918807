//! The posterior of a state for a linear output: one update by rows.

use super::prior::Prior;
use crate::output::AsObserved;
use tractable_core::cholesky;

/// Share of the mean variance to add to a covariance without a Cholesky factor.
const JITTER: f64 = 1e-6;
/// No variance falls below this share of what it was.
const LEAST: f64 = 1.0 / 1024.0;

/// The wanted outputs of one sample, for a linearised output.
pub(crate) struct Wish<'w> {
    pub(crate) y: &'w [f64],
    pub(crate) noise: &'w [f64],
}

/// The outputs of one sample to first order: `mean + slopes (x - at)`, with covariance `spread` given `x`.
pub(crate) struct Linearised<'l> {
    pub(crate) at: &'l [f64],
    pub(crate) mean: &'l [f64],
    pub(crate) slopes: &'l [f64],
    pub(crate) spread: &'l [f64],
}

/// Mean, variances, and the factor `B` of what was learned, `[k, width]`: the covariance is `P - B' B`.
#[derive(Debug, Clone)]
pub(crate) struct Updated {
    pub(crate) mean: Vec<f64>,
    pub(crate) var: Vec<f64>,
    pub(crate) factor: Vec<f64>,
}

/// T47. `V = A P A' + Om + R = C C'`, `B = C^-1 A P`, `mean = m0 + B' C^-1 (y - ybar - A (m0 - m))`, `cov = P - B' B`.
pub(crate) fn condition_on(prior: &Prior, out: &Linearised<'_>, wish: &Wish<'_>) -> Updated {
    let (d, k) = (prior.width(), wish.y.len());
    let var = prior.var();
    let mut factor = prior.times(out.slopes);
    let mut v = out.spread.to_vec();
    for i in 0..k {
        for j in 0..k {
            v[i * k + j] += dot(&out.slopes[i * d..][..d], &factor[j * d..][..d]);
        }
        v[i * k + i] += wish.noise[i];
    }
    let Some(c) = with_factor(v, k) else {
        // The outputs do not depend on the state, and are known.
        return Updated { mean: prior.mean.clone(), var, factor: vec![0.0; k * d] };
    };
    let mut off: Vec<f64> = (0..k)
        .map(|i| {
            let slopes = &out.slopes[i * d..][..d];
            let back: f64 = (0..d).map(|u| slopes[u] * (prior.mean[u] - out.at[u])).sum();
            wish.y[i] - out.mean[i] - back
        })
        .collect();
    cholesky::solve(&c, k, &mut off);
    // Row by row: `C B = A P`.
    for i in 0..k {
        let (done, rest) = factor.split_at_mut(i * d);
        let row = &mut rest[..d];
        for (j, known) in done.chunks_exact(d).enumerate() {
            row.iter_mut().zip(known).for_each(|(b, known)| *b -= c[i * k + j] * known);
        }
        row.iter_mut().for_each(|b| *b /= c[i * k + i]);
    }
    let mean = (0..d).map(|u| prior.mean[u] + (0..k).map(|i| factor[i * d + u] * off[i]).sum::<f64>());
    let left = |u: usize| var[u] - (0..k).map(|i| factor[i * d + u].powi(2)).sum::<f64>();
    Updated { mean: mean.collect(), var: (0..d).map(|u| left(u).max(LEAST * var[u])).collect(), factor }
}

/// T92, with the outputs of a softmax to first order: their weights' uncertainty is in what is observed.
pub(crate) fn condition_on_class(prior: &Prior, out: &Linearised<'_>, seen: &AsObserved) -> Updated {
    let (d, k) = (prior.width(), seen.off.len());
    let mut slopes = vec![0.0; k * d];
    for (to, of) in slopes.chunks_exact_mut(d).zip(seen.of_outputs.chunks_exact(k)) {
        for (line, of) in out.slopes.chunks_exact(d).zip(of) {
            to.iter_mut().zip(line).for_each(|(to, slope)| *to += of * slope);
        }
    }
    let out = Linearised { at: out.at, mean: &vec![0.0; k], slopes: &slopes, spread: &vec![0.0; k * k] };
    condition_on(prior, &out, &Wish { y: &seen.off, noise: &vec![1.0; k] })
}

/// T48. `ln N(y; ybar, Om + R)`: log-likelihood of the wanted output at a known input.
pub(crate) fn ln_likelihood(mean: &[f64], spread: &[f64], wish: &Wish<'_>) -> f64 {
    let k = mean.len();
    let mut v = spread.to_vec();
    (0..k).for_each(|i| v[i * k + i] += wish.noise[i]);
    let mut off: Vec<f64> = wish.y.iter().zip(mean).map(|(y, m)| y - m).collect();
    match with_factor(v, k) {
        None if off.iter().all(|&v| v == 0.0) => 0.0,
        None => f64::NEG_INFINITY,
        Some(c) => {
            cholesky::solve(&c, k, &mut off);
            let square: f64 = off.iter().map(|v| v * v).sum();
            -0.5 * (square + cholesky::ln_det(&c, k) + k as f64 * (2.0 * std::f64::consts::PI).ln())
        }
    }
}

/// The Cholesky factor, with a little added to the diagonal if needed; `None` if all is zero.
fn with_factor(v: Vec<f64>, k: usize) -> Option<Vec<f64>> {
    let mut c = v.clone();
    if cholesky::factor(&mut c, k) {
        return Some(c);
    }
    let mean = (0..k).map(|i| v[i * k + i]).sum::<f64>() / k as f64;
    [JITTER, 1e3 * JITTER].into_iter().find_map(|share| {
        let mut c = v.clone();
        (0..k).for_each(|i| c[i * k + i] += share * mean);
        cholesky::factor(&mut c, k).then_some(c)
    })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
