//! Paths between two points of a posterior that avoid valleys: straight, or bent back onto the ridge.

use super::modes::DEEP;
use tractable_core::error::Result;

/// Points checked on a straight part.
const BETWEEN: usize = 9;
/// A path is halved at most this many times.
const BENDS: usize = 4;
/// Steps of a middle point back onto the ridge, and step lengths tried in each.
const CLIMBS: usize = 4;
const LENGTHS: usize = 8;
/// Length over which a slope is measured, as a share of the path's length.
const NEAR: f64 = 1e-2;
/// Evaluations of the density in total.
const MOST: usize = 1 << 15;

/// `ln` of a density, for a list of points.
type Density<'d> = dyn FnMut(&[f64]) -> Result<Vec<f64>> + 'd;

pub(super) struct Paths<'d> {
    ln_density: &'d mut Density<'d>,
    left: usize,
}

impl<'d> Paths<'d> {
    pub(super) fn new(ln_density: &'d mut Density<'d>) -> Self {
        Paths { ln_density, left: MOST }
    }

    /// Whether a path connects two points on which the log-density falls by less than [`DEEP`] below both. Also true if there is
    /// no time left to look for one: points count as separate only if that was checked.
    pub(super) fn connect(&mut self, a: &[f64], b: &[f64]) -> Result<bool> {
        if self.left == 0 {
            return Ok(true);
        }
        let ends = self.ln(&[a, b].concat(), a.len())?;
        self.connect_above(ends[0].min(ends[1]) - DEEP, a, b, BENDS)
    }

    fn connect_above(&mut self, least: f64, a: &[f64], b: &[f64], bends: usize) -> Result<bool> {
        let along = |step: usize| step as f64 / (BETWEEN - 1) as f64;
        let way: Vec<f64> = (0..BETWEEN).flat_map(|step| between(a, b, along(step))).collect();
        if self.ln(&way, a.len())?.iter().all(|&ln| ln > least) {
            return Ok(true);
        }
        if bends == 0 {
            return Ok(false);
        }
        let (ln, middle) = self.onto_the_ridge(a, b)?;
        Ok(ln > least
            && self.connect_above(least, a, &middle, bends - 1)?
            && self.connect_above(least, &middle, b, bends - 1)?)
    }

    /// The middle of two points, moved uphill at right angles to the line between them; with its log-density.
    fn onto_the_ridge(&mut self, a: &[f64], b: &[f64]) -> Result<(f64, Vec<f64>)> {
        let d = a.len();
        let line: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
        let length = norm(&line);
        let near = NEAR * length;
        let mut at = between(a, b, 0.5);
        let mut ln = self.ln(&at, d)?[0];
        for _ in 0..CLIMBS {
            let unit = |i: usize| (0..d).map(|j| f64::from(u8::from(i == j))).collect::<Vec<_>>();
            let steps: Vec<f64> =
                (0..d).flat_map(|i| [-near, near].map(|s| moved(&at, &unit(i), s))).flatten().collect();
            let around = self.ln(&steps, d)?;
            let mut uphill: Vec<f64> = around.chunks_exact(2).map(|ln| ln[1] - ln[0]).collect();
            let slope = uphill.iter().zip(&line).map(|(u, l)| u * l).sum::<f64>() / (length * length);
            uphill.iter_mut().zip(&line).for_each(|(u, l)| *u -= slope * l);
            let steepness = norm(&uphill);
            // Nothing is uphill, or nothing is known of it.
            if steepness.is_nan() || steepness.is_infinite() || steepness == 0.0 {
                break;
            }
            uphill.iter_mut().for_each(|u| *u /= steepness);
            // Newton's step along this direction, and lengths of every size.
            let sides = self.ln(&[moved(&at, &uphill, -near), moved(&at, &uphill, near)].concat(), d)?;
            let newton = 0.5 * near * (sides[1] - sides[0]) / (2.0 * ln - sides[0] - sides[1]);
            let known = newton.is_finite() && newton > 0.0 && newton <= length;
            let lengths = (0..LENGTHS as i32).map(|k| length * 0.5f64.powi(k + 1));
            let lengths: Vec<f64> = lengths.chain(known.then_some(newton)).collect();
            let tried: Vec<f64> = lengths.iter().flat_map(|&s| moved(&at, &uphill, s)).collect();
            let heights = self.ln(&tried, d)?;
            let best = (0..heights.len()).max_by(|&i, &j| heights[i].total_cmp(&heights[j]));
            match best.filter(|&i| heights[i] > ln) {
                Some(i) => (ln, at) = (heights[i], tried[i * d..][..d].to_vec()),
                None => break,
            }
        }
        Ok((ln, at))
    }

    fn ln(&mut self, points: &[f64], d: usize) -> Result<Vec<f64>> {
        self.left = self.left.saturating_sub(points.len() / d);
        (self.ln_density)(points)
    }
}

fn between(a: &[f64], b: &[f64], share: f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + share * (b - a)).collect()
}

fn moved(at: &[f64], direction: &[f64], by: f64) -> Vec<f64> {
    at.iter().zip(direction).map(|(x, u)| x + by * u).collect()
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}
