//! A local model that passes through every value: a Gaussian process, the closed form of a network with one infinitely wide
//! layer.

use super::Bounds;
use super::near::Near;
use super::surrogate::Warp;
use tractable_core::cholesky;
use tractable_core::rng::ChaCha8Rng;

/// Maximum number of observations: the cost grows with its cube.
const MOST_POINTS: usize = 100;
/// Maximum number of coordinates, likewise.
const MOST_COORDINATES: usize = 20;
/// Variance, relative to that of the function, that keeps the arithmetic stable.
const JITTER: f64 = 1e-12;
/// Standard deviation of the prior of the logarithm of a length.
const LENGTHS_STD: f64 = 0.5;
/// Points compared, the best of which are refined, and steps of each.
const DRAWN: usize = 300;
const REFINED: usize = 4;
const STEPS: usize = 40;

/// The mean of a function given its values, T53. Values are counted in distances of the median from the best.
pub(super) struct Smooth {
    near: Near,
    /// Places, `[points, coordinates]`.
    x: Vec<f64>,
    fit: Fit,
}

/// What the values say about one choice of lengths.
struct Fit {
    /// Of every coordinate: how far to go for the function to change.
    lengths: Vec<f64>,
    mean: f64,
    /// `K^-1 (y - mean)`.
    pull: Vec<f64>,
    evidence: f64,
}

/// The mean at a place, its gradient and its second derivatives.
struct Local {
    value: f64,
    gradient: Vec<f64>,
    second: Vec<f64>,
}

impl Smooth {
    /// Fits the nearest of `points` (place, value; small is good). `None` if there are many coordinates, all values are
    /// alike, or the arithmetic fails.
    pub(super) fn fit(
        points: &[(&[f64], f64)],
        bounds: &Bounds,
        center: &[f64],
        radius: f64,
    ) -> Option<Self> {
        if bounds.len() > MOST_COORDINATES {
            return None;
        }
        let near = Near::new(points, bounds, center, radius, MOST_POINTS);
        let x: Vec<f64> = near.chosen.iter().flat_map(|&i| near.scaled(points[i].0)).collect();
        let values: Vec<f64> = near.chosen.iter().map(|&i| points[i].1).collect();
        let warp = Warp::new(values.clone());
        let shares: Vec<f64> = values.iter().map(|&v| warp.share(v)).collect();
        // Values as they are, or with cliffs made flat: whichever is more probable.
        let warped = values.iter().map(|&v| warp.apply(v)).collect();
        let rates: f64 = shares.iter().map(|t| libm::log(t.max(1.0))).sum();
        let ways: [(Vec<f64>, f64); 2] = [(shares, 0.0), (warped, rates)];
        let fits = ways.into_iter().filter_map(|(y, rates)| {
            let fit = likeliest(&x, &y, bounds.len())?;
            Some(Fit { evidence: fit.evidence - rates, ..fit })
        });
        let fit = fits.max_by(|a, b| a.evidence.total_cmp(&b.evidence))?;
        Some(Smooth { near, x, fit })
    }

    /// The least point in a part of the box, and how much it is below the best value.
    pub(super) fn least(&self, region: &Bounds, center: &[f64], rng: &mut ChaCha8Rng) -> (Vec<f64>, f64) {
        let ends: (Vec<f64>, Vec<f64>) = region.pairs().iter().copied().unzip();
        let sides = [self.near.scaled(&ends.0), self.near.scaled(&ends.1)];
        let start = self.near.scaled(center);
        let draw = |i: usize| {
            // Half of them anywhere, the others ever nearer to the best point.
            let drawn = self.near.scaled(&region.random(rng));
            let share = if i.is_multiple_of(2) { 1.0 } else { 0.5f64.powi((i / 2 % 10) as i32) };
            let x: Vec<f64> = drawn.iter().zip(&start).map(|(x, c)| c + share * (x - c)).collect();
            (self.mean(&x), x)
        };
        let mut starts: Vec<(f64, Vec<f64>)> = (0..DRAWN).map(draw).collect();
        starts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let starts = starts.into_iter().take(REFINED).map(|s| s.1).chain([start.clone()]);
        let refined = starts.map(|x| self.refined(x, &sides));
        let (value, x) = refined.min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are starts");
        let x = self.near.unscaled(&x);
        (x.iter().enumerate().map(|(i, &x)| region.clamp(i, x)).collect(), -value)
    }

    /// Damped Newton steps between the sides.
    fn refined(&self, mut x: Vec<f64>, [low, high]: &[Vec<f64>; 2]) -> (f64, Vec<f64>) {
        let d = x.len();
        let (mut here, mut damped) = (self.local(&x), 1e-6);
        for _ in 0..STEPS {
            let Local { gradient, second, .. } = &here;
            let held =
                |k: usize| (x[k] <= low[k] && gradient[k] > 0.0) || (x[k] >= high[k] && gradient[k] < 0.0);
            let size = (0..d).map(|k| second[k * d + k].abs()).fold(f64::MIN_POSITIVE, f64::max);
            let (mut step, mut a): (Vec<f64>, _) = (gradient.iter().map(|g| -g).collect(), second.clone());
            for k in 0..d {
                a[k * d + k] += damped * size;
                if held(k) {
                    (0..d).for_each(|j| (a[k * d + j], a[j * d + k]) = (0.0, 0.0));
                    (a[k * d + k], step[k]) = (1.0, 0.0);
                }
            }
            damped *= 10.0;
            if !cholesky::factor(&mut a, d) {
                continue;
            }
            cholesky::solve(&a, d, &mut step);
            cholesky::solve_turned(&a, d, &mut step);
            let moved: Vec<f64> = (0..d).map(|k| (x[k] + step[k]).clamp(low[k], high[k])).collect();
            let there = self.local(&moved);
            if there.value < here.value {
                (x, here, damped) = (moved, there, (damped / 100.0).max(1e-12));
            }
        }
        (here.value, x)
    }

    fn mean(&self, x: &[f64]) -> f64 {
        let pulls = self.x.chunks_exact(x.len()).zip(&self.fit.pull);
        self.fit.mean + pulls.map(|(p, pull)| kernel(p, x, &self.fit.lengths) * pull).sum::<f64>()
    }

    fn local(&self, x: &[f64]) -> Local {
        let (d, lengths) = (x.len(), &self.fit.lengths);
        let (mut value, mut gradient, mut second) = (self.fit.mean, vec![0.0; d], vec![0.0; d * d]);
        for (p, pull) in self.x.chunks_exact(d).zip(&self.fit.pull) {
            let part = kernel(p, x, lengths) * pull;
            let by: Vec<f64> = (0..d).map(|j| (p[j] - x[j]) / lengths[j].powi(2)).collect();
            value += part;
            for a in 0..d {
                gradient[a] += part * by[a];
                (0..d).for_each(|b| second[a * d + b] += part * by[a] * by[b]);
                second[a * d + a] -= part / lengths[a].powi(2);
            }
        }
        Local { value, gradient, second }
    }
}

/// `exp(-r^2/2)`, with lengths as the units of `r`.
fn kernel(a: &[f64], b: &[f64], lengths: &[f64]) -> f64 {
    let r2: f64 = a.iter().zip(b).zip(lengths).map(|((a, b), l)| ((a - b) / l).powi(2)).sum();
    libm::exp(-0.5 * r2)
}

/// The most probable lengths: first alike for all coordinates, then one coordinate after another.
fn likeliest(x: &[f64], y: &[f64], d: usize) -> Option<Fit> {
    let alike = |factor: f64| fit(x, y, vec![factor * (d as f64).sqrt(); d]);
    let fits = [0.25, 0.5, 1.0, 2.0, 4.0].into_iter().filter_map(alike);
    let mut best = fits.max_by(|a, b| a.evidence.total_cmp(&b.evidence))?;
    for factor in [2.0, 2.0, 1.4] {
        for k in 0..d {
            for factor in [factor, 1.0 / factor] {
                let mut lengths = best.lengths.clone();
                lengths[k] *= factor;
                let other = fit(x, y, lengths);
                if let Some(other) = other.filter(|o| o.evidence > best.evidence) {
                    best = other;
                    break;
                }
            }
        }
    }
    Some(best)
}

/// T53, for given lengths.
fn fit(x: &[f64], y: &[f64], lengths: Vec<f64>) -> Option<Fit> {
    let (n, d) = (y.len(), lengths.len());
    let row = |i: usize| &x[i * d..(i + 1) * d];
    let mut factor = vec![0.0; n * n];
    for i in 0..n {
        (0..i).for_each(|j| factor[i * n + j] = kernel(row(i), row(j), &lengths));
        factor[i * n + i] = 1.0 + JITTER;
    }
    if !cholesky::factor(&mut factor, n) {
        return None;
    }
    let (mut ones, mut values) = (vec![1.0; n], y.to_vec());
    [&mut ones, &mut values].into_iter().for_each(|v| cholesky::solve(&factor, n, v));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mean = dot(&ones, &values) / dot(&ones, &ones);
    let mut pull: Vec<f64> = values.iter().zip(&ones).map(|(v, o)| v - mean * o).collect();
    let var = dot(&pull, &pull) / n as f64;
    cholesky::solve_turned(&factor, n, &mut pull);
    let usual = 0.5 * libm::log(d as f64);
    let prior: f64 = lengths.iter().map(|l| ((libm::log(*l) - usual) / LENGTHS_STD).powi(2)).sum();
    let evidence = -0.5 * (n as f64 * libm::log(var) + cholesky::ln_det(&factor, n) + prior);
    evidence.is_finite().then_some(Fit { lengths, mean, pull, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tractable_core::rng;

    fn bowl() -> (Vec<[f64; 2]>, Vec<f64>, Bounds) {
        let bounds = Bounds::new([(-1.0, 1.0), (0.0, 4.0)]).unwrap();
        let places = bounds.spread(20, &mut rng::stream(1, "test", 0));
        let places: Vec<[f64; 2]> = places.chunks_exact(2).map(|p| [p[0], p[1]]).collect();
        let values = places.iter().map(|p| (p[0] - 0.3).powi(2) + (p[1] - 1.0).cosh()).collect();
        (places, values, bounds)
    }

    #[test]
    fn it_passes_through_the_values_and_knows_its_derivatives() {
        let (places, values, bounds) = bowl();
        let points: Vec<(&[f64], f64)> = places.iter().map(|p| &p[..]).zip(values.iter().copied()).collect();
        let smooth = Smooth::fit(&points, &bounds, &[0.0, 2.0], 0.8).unwrap();
        let warp = Warp::new(values.clone());
        for (place, value) in &points {
            let mean = smooth.mean(&smooth.near.scaled(place));
            assert!((mean - warp.share(*value)).abs() < 1e-4 || (mean - warp.apply(*value)).abs() < 1e-4);
        }
        let (x, h) = ([0.2, -0.3], 1e-5);
        let Local { value, gradient, second } = smooth.local(&x);
        assert!((value - smooth.mean(&x)).abs() < 1e-8);
        for k in 0..2 {
            let beside = [h, -h].map(|h| {
                let mut x = x;
                x[k] += h;
                smooth.local(&x)
            });
            assert!((gradient[k] - (beside[0].value - beside[1].value) / (2.0 * h)).abs() < 1e-5);
            for j in 0..2 {
                let by = (beside[0].gradient[j] - beside[1].gradient[j]) / (2.0 * h);
                assert!((second[k * 2 + j] - by).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn the_least_point_is_found_inside_and_on_the_edge() {
        let (places, values, bounds) = bowl();
        let points: Vec<(&[f64], f64)> = places.iter().map(|p| &p[..]).zip(values.iter().copied()).collect();
        let smooth = Smooth::fit(&points, &bounds, &[0.0, 2.0], 0.8).unwrap();
        let mut rng = rng::stream(2, "test", 0);
        let (x, gain) = smooth.least(&bounds, &[0.0, 2.0], &mut rng);
        assert!((x[0] - 0.3).abs() < 0.02 && (x[1] - 1.0).abs() < 0.02 && gain > 0.0, "{x:?}");
        let part = Bounds::new([(0.5, 1.0), (2.0, 4.0)]).unwrap();
        assert_eq!(smooth.least(&part, &[0.7, 3.0], &mut rng).0, [0.5, 2.0]);
    }

    #[test]
    fn values_that_are_all_alike_and_many_coordinates_have_no_model() {
        let bounds = Bounds::new([(0.0, 1.0)]).unwrap();
        let points: Vec<(&[f64], f64)> = vec![(&[0.1], 3.0), (&[0.5], 3.0), (&[0.9], 3.0)];
        assert!(Smooth::fit(&points, &bounds, &[0.5], 0.8).is_none());
        let wide = Bounds::new([(0.0, 1.0); 21]).unwrap();
        let points: Vec<(&[f64], f64)> = vec![(&[0.1; 21], 3.0), (&[0.5; 21], 4.0)];
        assert!(Smooth::fit(&points, &wide, &[0.5; 21], 0.8).is_none());
    }
}
