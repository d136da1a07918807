//! Modes of a posterior: regions that explain the wanted output, separated by unlikely ones.

use super::paths::Paths;
use super::points::{Around, Cloud};
use tractable_core::cholesky;
use tractable_core::error::Result;

/// Between two modes the log-density falls by at least this much below that of both.
pub(super) const DEEP: f64 = 1.0;
/// Minimum weight of a mode.
pub(super) const LEAST: f64 = 0.02;
/// Representative points, and paths tried between two groups of them before they count as separate.
const STAND: usize = 64;
const TRIES: usize = 4;

/// Weight, mean and covariance of every mode, the heaviest first. `ln_density` is that of the posterior.
pub(crate) fn lumps(
    cloud: &Cloud,
    ln_density: &mut dyn FnMut(&[f64]) -> Result<Vec<f64>>,
) -> Result<Vec<(f64, Around)>> {
    let mut parts = if cloud.width == 1 { on_a_line(cloud) } else { in_space(cloud, ln_density)? };
    parts.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(parts)
}

/// Splits a grid at deep valleys of its density.
fn on_a_line(cloud: &Cloud) -> Vec<(f64, Around)> {
    let deep = libm::exp(-DEEP);
    // Where modes start; the peak of the current one, and the lowest point since.
    let mut cuts = vec![0];
    let (mut peak, mut lowest) = (0.0, (f64::INFINITY, 0));
    for (i, w) in (0..cloud.u.len()).map(|i| (i, cloud.density(i))) {
        if w < lowest.0 {
            lowest = (w, i);
        }
        if lowest.0 < deep * peak && lowest.0 < deep * w {
            cuts.push(lowest.1);
            peak = 0.0;
        }
        if w > peak {
            (peak, lowest) = (w, (w, i));
        }
    }
    cuts.push(cloud.u.len());
    let mut lumps: Vec<_> =
        cuts.windows(2).map(|c| cloud.moments(&(c[0]..c[1]).collect::<Vec<_>>())).collect();
    // Modes that are too light are ignored.
    lumps.retain(|l| l.0 >= LEAST);
    lumps
}

/// Joins representative points that a path connects without a valley.
fn in_space(
    cloud: &Cloud,
    ln_density: &mut dyn FnMut(&[f64]) -> Result<Vec<f64>>,
) -> Result<Vec<(f64, Around)>> {
    let d = cloud.width;
    let chosen = representatives(cloud);
    let place = |i: usize| &cloud.u[i * d..][..d];
    let apart = |a: usize, b: usize| place(a).iter().zip(place(b)).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let mut lump: Vec<usize> = (0..chosen.len()).collect();
    let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
    for a in 0..chosen.len() {
        pairs.extend((0..a).map(|b| (apart(chosen[a], chosen[b]), a, b)));
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Paths that failed between two groups.
    let (n, mut paths) = (chosen.len(), Paths::new(ln_density));
    let mut failed = vec![0; n * n];
    for (_, a, b) in pairs {
        let (gone, stays) = (lump[a], lump[b]);
        if gone == stays || failed[gone * n + stays] >= TRIES {
            continue;
        }
        if paths.connect(place(chosen[a]), place(chosen[b]))? {
            lump.iter_mut().filter(|l| **l == gone).for_each(|l| *l = stays);
            for other in 0..n {
                let fewest = failed[gone * n + other].min(failed[stays * n + other]);
                (failed[stays * n + other], failed[other * n + stays]) = (fewest, fewest);
            }
        } else {
            failed[gone * n + stays] += 1;
            failed[stays * n + gone] += 1;
        }
    }
    // Modes that are too light are merged into their neighbours.
    let every = 1.0 / chosen.len() as f64;
    let heavy = |l: usize| lump.iter().filter(|&&m| m == l).count() as f64 * every >= LEAST;
    let standing: Vec<usize> = (0..chosen.len()).filter(|&c| heavy(lump[c])).collect();
    if standing.iter().all(|&c| lump[c] == lump[standing[0]]) {
        return Ok(vec![cloud.moments(&cloud.all())]);
    }
    let mut parts = vec![Vec::new(); chosen.len()];
    for i in (0..cloud.weights.len()).filter(|&i| cloud.weights[i] > 0.0) {
        let nearest = standing.iter().min_by(|&&a, &&b| apart(i, chosen[a]).total_cmp(&apart(i, chosen[b])));
        parts[nearest.map_or(0, |&c| lump[c])].push(i);
    }
    let mut lumps: Vec<_> = parts.iter().filter(|p| !p.is_empty()).map(|p| cloud.moments(p)).collect();
    for _ in 0..3 {
        lumps.retain(|l| l.0 >= LEAST);
        if lumps.len() < 2 {
            return Ok(vec![cloud.moments(&cloud.all())]);
        }
        lumps = by_density(cloud, &lumps);
    }
    Ok(lumps)
}

/// Assigns every point to the mode that is densest there, with modes as normal distributions.
fn by_density(cloud: &Cloud, lumps: &[(f64, Around)]) -> Vec<(f64, Around)> {
    let d = cloud.width;
    let factors: Vec<Option<Vec<f64>>> = lumps
        .iter()
        .map(|(_, (_, cov))| {
            let mut factor = cov.clone();
            cholesky::factor(&mut factor, d).then_some(factor)
        })
        .collect();
    let mut parts = vec![Vec::new(); lumps.len()];
    for i in (0..cloud.weights.len()).filter(|&i| cloud.weights[i] > 0.0) {
        let density = |l: usize| {
            let ((weight, (mean, _)), Some(factor)) = (&lumps[l], &factors[l]) else {
                return f64::NEG_INFINITY;
            };
            let mut off: Vec<f64> = cloud.u[i * d..][..d].iter().zip(mean).map(|(u, m)| u - m).collect();
            cholesky::solve(factor, d, &mut off);
            let square: f64 = off.iter().map(|v| v * v).sum();
            libm::log(*weight) - 0.5 * (square + cholesky::ln_det(factor, d))
        };
        let best = (0..lumps.len()).max_by(|&a, &b| density(a).total_cmp(&density(b)));
        parts[best.expect("there are lumps")].push(i);
    }
    parts.iter().filter(|p| !p.is_empty()).map(|p| cloud.moments(p)).collect()
}

/// Representative points, each for the same weight; from different positions of their shares, because lattice points
/// at even distances in the order are neighbours in space.
fn representatives(cloud: &Cloud) -> Vec<usize> {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let mut chosen = Vec::with_capacity(STAND);
    let mut sum = 0.0;
    for (i, w) in cloud.weights.iter().enumerate() {
        sum += w;
        while chosen.len() < STAND
            && sum * STAND as f64 > chosen.len() as f64 + (GOLDEN * (chosen.len() + 1) as f64).fract()
        {
            chosen.push(i);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::super::points::sample;
    use super::*;

    /// Weighs by a mixture of two normals with standard deviation `s` at `+-at` in the first direction.
    fn two(at: f64, s: f64, share: f64) -> impl FnMut(&[f64]) -> f64 {
        move |u: &[f64]| {
            let bump = |c: f64| libm::exp(-0.5 * ((u[0] - c) / s).powi(2));
            (share * bump(-at) + (1.0 - share) * bump(at)).ln()
        }
    }

    fn found(width: usize, mut weigh: impl FnMut(&[f64]) -> f64) -> Vec<(f64, Around)> {
        let mut each = |u: &[f64]| Ok(u.chunks_exact(width).map(&mut weigh).collect::<Vec<_>>());
        let cloud = sample(width, &mut each, &mut || Ok(None)).unwrap();
        let mut density = |u: &[f64]| {
            let prior = u.chunks_exact(width).map(|u| -0.5 * u.iter().map(|u| u * u).sum::<f64>());
            Ok(each(u)?.iter().zip(prior).map(|(l, p)| l + p).collect())
        };
        lumps(&cloud, &mut density).unwrap()
    }

    #[test]
    fn two_lumps_are_two_and_one_is_one() {
        for width in [1, 2, 5] {
            let lumps = found(width, two(1.0, 0.2, 0.25));
            assert_eq!(lumps.len(), 2, "{width}");
            assert!(
                (lumps[0].0 - 0.75).abs() < 0.02 && (lumps[1].0 - 0.25).abs() < 0.02,
                "{width}: {lumps:?}"
            );
            // A normal of std 0.2 at 1 times the prior: mean 1/1.04, variance 0.04/1.04.
            let (mean, cov) = &lumps[0].1;
            assert!((mean[0] - 1.0 / 1.04).abs() < 0.01, "{width}: {mean:?}");
            assert!((cov[0] - 0.04 / 1.04).abs() < 0.004, "{width}: {cov:?}");
            assert_eq!(found(width, two(0.2, 0.5, 0.5)).len(), 1, "{width}");
            assert_eq!(found(width, |_| 0.0).len(), 1, "{width}");
            // Too light.
            assert_eq!(found(width, two(1.0, 0.2, 0.005)).len(), 1, "{width}");
        }
    }

    /// A sphere is one answer, however thin; without its belt it is two.
    #[test]
    fn a_thin_curved_shell_is_one() {
        for (width, noise) in [(2, 0.03), (2, 0.01), (3, 0.03), (3, 0.01), (5, 0.03)] {
            let shell = move |u: &[f64]| {
                let square: f64 = u.iter().map(|u| 0.49 * u * u).sum();
                -0.5 * ((square - 1.0) / noise).powi(2)
            };
            let lumps = found(width, shell);
            assert_eq!(lumps.len(), 1, "{width}, {noise}: {lumps:?}");
            let lumps = found(width, move |u: &[f64]| shell(u) - if u[0].abs() < 0.5 { 20.0 } else { 0.0 });
            assert_eq!(lumps.len(), 2, "{width}, {noise}: {lumps:?}");
            assert!((lumps[0].0 - 0.5).abs() < 0.1, "{width}, {noise}: {lumps:?}");
        }
    }

    #[test]
    fn three_lumps_are_three() {
        for width in [1, 3] {
            let lumps = found(width, |u: &[f64]| {
                let bump = |c: f64| libm::exp(-0.5 * ((u[0] - c) / 0.1).powi(2));
                (bump(-1.0) + bump(0.0) + bump(1.0)).ln()
            });
            assert_eq!(lumps.len(), 3, "{width}");
        }
    }
}
