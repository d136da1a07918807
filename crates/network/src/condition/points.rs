//! The posterior of a few unknowns by points of their prior, weighted by how well each explains the wanted output.
//!
//! Unknowns are counted in standard deviations of their prior, `u`, in directions that are independent there.

use super::lattice;
use tractable_core::cholesky;
use tractable_core::error::{Error, Result};
use tractable_core::metrics::Tails;

/// Maximum number of unknowns for points.
pub const MOST: usize = lattice::MOST;

// Chosen on the 135 cases of `cargo xtask reproduce numerics --networks 3 --seed 1000`; networks with other seeds judge. Right
// there (mean and standard deviation of every input within 10 %): 96 %; twice MANY: 98 %, with 1.7 times the points at worst;
// ENOUGH 256, looking around below 64 with half of AROUND: 90 %.

/// Points of a line, how far they reach, the effective number required, and how many peaks are
/// refined.
const LINE: usize = 512;
const REACH: f64 = 6.0;
const ENOUGH_OF_LINE: f64 = 64.0;
const PEAKS: usize = 32;
/// Parts that a cell is divided into, and the maximum depth.
const PARTS: usize = 8;
const LEVELS: usize = 5;
/// Points of a space: initial and maximum number.
const FEW: usize = 2048;
const MANY: usize = 1 << 14;
/// Sufficient effective number of points.
const ENOUGH: f64 = 1024.0;
/// With fewer, linearising is better.
pub(crate) const NEXT_TO_NONE: f64 = 8.0;
/// Points around an answer, how much wider than it, and how many times.
const AROUND: usize = 2048;
const WIDER: f64 = 1.3;
const AGAIN: usize = 4;

/// `ln p(wanted | u)` for a list of points.
pub(crate) type Weigh<'w> = dyn FnMut(&[f64]) -> Result<Vec<f64>> + 'w;

/// A Gaussian in `u`: mean, covariance.
pub(crate) type Around = (Vec<f64>, Vec<f64>);

/// Weighted points.
#[derive(Debug, Clone)]
pub(crate) struct Cloud {
    pub(crate) width: usize,
    pub(crate) u: Vec<f64>,
    /// The weights sum to 1.
    pub(crate) weights: Vec<f64>,
    /// For a line: the length that every point represents.
    pub(crate) widths: Vec<f64>,
}

impl Cloud {
    /// Effective number of points.
    pub(crate) fn effective(&self) -> f64 {
        1.0 / self.weights.iter().map(|w| w * w).sum::<f64>()
    }

    /// Mean, covariance and total weight of some points.
    pub(crate) fn moments(&self, which: &[usize]) -> (f64, Around) {
        let d = self.width;
        let total: f64 = which.iter().map(|&i| self.weights[i]).sum();
        let (mut mean, mut cov) = (vec![0.0; d], vec![0.0; d * d]);
        for &i in which {
            (0..d).for_each(|a| mean[a] += self.weights[i] / total * self.u[i * d + a]);
        }
        for &i in which {
            let u = &self.u[i * d..][..d];
            for a in 0..d {
                for b in 0..d {
                    cov[a * d + b] += self.weights[i] / total * (u[a] - mean[a]) * (u[b] - mean[b]);
                }
            }
        }
        (total, (mean, cov))
    }

    /// The density at a point of a line.
    pub(crate) fn density(&self, i: usize) -> f64 {
        self.weights[i] / self.widths[i]
    }

    pub(crate) fn all(&self) -> Vec<usize> {
        (0..self.weights.len()).collect()
    }
}

/// Weights points until enough of them count. If few do, `start` gives an answer to sample around.
pub(crate) fn sample(
    width: usize,
    weigh: &mut Weigh<'_>,
    start: &mut dyn FnMut() -> Result<Option<Around>>,
) -> Result<Cloud> {
    if width == 1 {
        return line(weigh);
    }
    let (mut u, mut ln) = (Vec::new(), Vec::new());
    let mut n = FEW;
    let mut cloud = loop {
        let more: Vec<f64> = (ln.len()..n).flat_map(|i| normal_point(i as u32, width)).collect();
        ln.extend(weigh(&more)?);
        u.extend(more);
        let cloud = Cloud { width, u: u.clone(), weights: relative(&ln)?, widths: Vec::new() };
        if cloud.effective() >= ENOUGH || n >= MANY {
            break cloud;
        }
        n *= 2;
    };
    if cloud.effective() >= ENOUGH {
        return Ok(cloud);
    }
    // Sample around an answer too: all points are weighted by the mixture of their proposals.
    let mut proposals: Vec<Proposal> = Vec::new();
    let mut next = start()?;
    for _ in 0..AGAIN {
        let around = next.take().unwrap_or_else(|| estimate(&cloud, proposals.first()));
        let Some(proposal) = Proposal::new(around, width) else { break };
        let more = proposal.points();
        ln.extend(weigh(&more)?);
        u.extend(more);
        proposals.push(proposal);
        let drawn = (n as f64 / (n + AROUND * proposals.len()) as f64).ln();
        let each = (AROUND as f64 / (n + AROUND * proposals.len()) as f64).ln();
        let corrected: Vec<f64> = (0..ln.len())
            .map(|i| {
                let u = &u[i * width..][..width];
                let prior = ln_normal(u);
                let from = proposals.iter().map(|p| each + p.ln_density(u));
                ln[i] + prior - ln_sum([drawn + prior].into_iter().chain(from))
            })
            .collect();
        cloud = Cloud { width, u: u.clone(), weights: relative(&corrected)?, widths: Vec::new() };
        if cloud.effective() >= ENOUGH {
            break;
        }
    }
    Ok(cloud)
}

/// Cells of one unknown, initially even; cells with much weight are divided.
fn line(weigh: &mut Weigh<'_>) -> Result<Cloud> {
    let mut widths = vec![2.0 * REACH / LINE as f64; LINE];
    let mut u: Vec<f64> = (0..LINE).map(|i| widths[0] * (i as f64 + 0.5) - REACH).collect();
    let mut ln = posterior(weigh, &u)?;
    for level in 0..=LEVELS {
        let weights =
            relative(&ln.iter().zip(&widths).map(|(ln, w)| ln + libm::log(*w)).collect::<Vec<_>>())?;
        let cloud = Cloud { width: 1, u, weights, widths };
        if level == LEVELS || cloud.effective() >= ENOUGH_OF_LINE {
            return Ok(within_reach(cloud));
        }
        // A narrow peak may lie between two points: the highest cells are always divided, with their neighbours.
        let near = |i: usize| i.saturating_sub(1)..(i + 2).min(ln.len());
        let is_peak = |i: &usize| ln[*i].is_finite() && near(*i).all(|j| ln[j] <= ln[*i]);
        let mut peaks: Vec<usize> = (0..ln.len()).filter(is_peak).collect();
        peaks.sort_by(|&a, &b| ln[b].total_cmp(&ln[a]));
        peaks.truncate(PEAKS);
        let mut divided: Vec<bool> = cloud.weights.iter().map(|w| w * ENOUGH_OF_LINE > 0.1).collect();
        peaks.iter().for_each(|&i| near(i).for_each(|j| divided[j] = true));
        let parts = |i: usize| if divided[i] { PARTS } else { 1 };
        let cells = (0..ln.len()).flat_map(|i| (0..parts(i)).map(move |part| (i, part)));
        let place = |(i, part): (usize, usize)| {
            let width = cloud.widths[i] / parts(i) as f64;
            (cloud.u[i] - 0.5 * cloud.widths[i] + width * (part as f64 + 0.5), width)
        };
        (u, widths) = cells.clone().map(place).unzip();
        let fresh: Vec<f64> =
            cells.clone().zip(&u).filter(|((i, _), _)| divided[*i]).map(|(_, u)| *u).collect();
        let mut fresh = posterior(weigh, &fresh)?.into_iter();
        let known = |(i, _)| if divided[i] { fresh.next().unwrap_or(f64::NAN) } else { ln[i] };
        ln = cells.map(known).collect();
    }
    unreachable!("the last line is returned")
}

/// `ln` of likelihood times prior, up to a constant.
fn posterior(weigh: &mut Weigh<'_>, u: &[f64]) -> Result<Vec<f64>> {
    Ok(weigh(u)?.iter().zip(u).map(|(ln, u)| ln - 0.5 * u * u).collect())
}

/// A line whose likeliest point is its end says almost nothing: the wanted output is beyond the reach of the prior.
fn within_reach(cloud: Cloud) -> Cloud {
    let likeliest = (0..cloud.u.len()).max_by(|&a, &b| cloud.density(a).total_cmp(&cloud.density(b)));
    match likeliest.map(|i| (cloud.u[i], cloud.widths[i])) {
        Some((end, width)) if end.abs() > REACH - width => {
            Cloud { width: 1, u: vec![end], weights: vec![1.0], widths: vec![width] }
        }
        _ => cloud,
    }
}

/// Weights from their logarithms, relative to the largest, normalised to 1.
fn relative(ln: &[f64]) -> Result<Vec<f64>> {
    let highest = ln.iter().fold(f64::NEG_INFINITY, |m, &v| m.max(v));
    if !highest.is_finite() || ln.iter().any(|v| v.is_nan()) {
        let why = "no input that the prior allows gives exactly this, and neither noise nor the weights leave room; want it \
                   less exactly";
        return Err(Error::invalid("wanted output", why));
    }
    let weights: Vec<f64> = ln.iter().map(|v| libm::exp(v - highest)).collect();
    let total: f64 = weights.iter().sum();
    Ok(weights.iter().map(|w| w / total).collect())
}

pub(super) fn normal_point(i: u32, width: usize) -> impl Iterator<Item = f64> {
    lattice::point(i, width).map(|p| Tails::Normal.quantile(p))
}

fn ln_normal(u: &[f64]) -> f64 {
    -0.5 * u.iter().map(|u| u * u).sum::<f64>() - 0.5 * u.len() as f64 * (2.0 * std::f64::consts::PI).ln()
}

fn ln_sum(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let highest = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    highest + libm::log(terms.map(|t| libm::exp(t - highest)).sum::<f64>())
}

/// Mean and covariance of the points that count. If they are few, it is stabilised by an earlier proposal, or widened by the distance
/// between points of the prior.
fn estimate(cloud: &Cloud, first: Option<&Proposal>) -> Around {
    let (_, (mean, mut cov)) = cloud.moments(&cloud.all());
    let held = cloud.width as f64 + 1.0;
    let share = held / (held + cloud.effective());
    let apart = 4.0 * (cloud.weights.len() as f64).powf(-1.0 / cloud.width as f64);
    for (i, c) in cov.iter_mut().enumerate() {
        match first {
            Some(first) => *c += share * (first.covariance[i] / (WIDER * WIDER) - *c),
            None if i % (cloud.width + 1) == 0 => *c += (apart * apart).min(1.0),
            None => {}
        }
    }
    (mean, cov)
}

/// A normal proposal distribution.
struct Proposal {
    mean: Vec<f64>,
    covariance: Vec<f64>,
    factor: Vec<f64>,
}

impl Proposal {
    fn new((mean, mut covariance): Around, width: usize) -> Option<Self> {
        covariance.iter_mut().for_each(|c| *c *= WIDER * WIDER);
        (0..width).for_each(|i| covariance[i * (width + 1)] += 1e-9);
        let mut factor = covariance.clone();
        cholesky::factor(&mut factor, width).then_some(Proposal { mean, covariance, factor })
    }

    fn points(&self) -> Vec<f64> {
        let width = self.mean.len();
        (0..AROUND as u32)
            .flat_map(|i| {
                let mut u: Vec<f64> = normal_point(i, width).collect();
                cholesky::times(&self.factor, width, &mut u);
                u.iter_mut().zip(&self.mean).for_each(|(u, m)| *u += m);
                u
            })
            .collect()
    }

    fn ln_density(&self, u: &[f64]) -> f64 {
        let mut off: Vec<f64> = u.iter().zip(&self.mean).map(|(u, m)| u - m).collect();
        cholesky::solve(&self.factor, off.len(), &mut off);
        ln_normal(&off) - 0.5 * cholesky::ln_det(&self.factor, off.len())
    }
}
