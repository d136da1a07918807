//! The points that a local model learns: those around one, in units of their distance.

use super::Bounds;

#[derive(Debug, Clone)]
pub(super) struct Near {
    /// Numbers of the points, nearest first.
    pub(super) chosen: Vec<usize>,
    center: Vec<f64>,
    /// Length of a unit of every coordinate: the farthest point has distance 1.
    pub(super) units: Vec<f64>,
}

impl Near {
    /// The nearest of `points` around `center`, at least those within two `radius`, but not more than `most`.
    pub(super) fn new(
        points: &[(&[f64], f64)],
        bounds: &Bounds,
        center: &[f64],
        radius: f64,
        most: usize,
    ) -> Self {
        let half = bounds.half_widths();
        let distance = |x: &[f64]| {
            x.iter().zip(center).zip(&half).map(|((x, c), h)| (x - c).abs() / h).fold(0.0, f64::max)
        };
        let mut near: Vec<(f64, usize)> =
            points.iter().enumerate().map(|(i, p)| (distance(p.0), i)).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let inside = near.iter().filter(|(d, _)| *d <= 2.0 * radius).count();
        near.truncate(inside.max(3 * bounds.len() + 4).min(most));
        let reach = near.last().map_or(radius, |n| n.0.max(radius));
        let units = half.iter().map(|h| h * reach).collect();
        Near { chosen: near.into_iter().map(|n| n.1).collect(), center: center.to_vec(), units }
    }

    pub(super) fn scaled(&self, x: &[f64]) -> Vec<f64> {
        (0..x.len()).map(|k| (x[k] - self.center[k]) / self.units[k]).collect()
    }

    pub(super) fn unscaled(&self, z: &[f64]) -> Vec<f64> {
        (0..z.len()).map(|k| self.center[k] + z[k] * self.units[k]).collect()
    }
}
