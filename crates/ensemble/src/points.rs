//! Rows whose inputs are not known exactly, as points: candidates predict exact inputs only.
//!
//! A row with uncertain inputs becomes a few dozen points of their distribution, each with a weight. What a candidate says of the points
//! is pooled: its means and variances are averaged, and the variance of its means over the points is what the input leaves open. For one
//! or two uncertain inputs the points are a grid weighted by the normal density (the trapezoidal rule, exact to many digits where the
//! function is smooth); for more they are a Faure net: every pair of inputs takes all pairs of levels.

use super::AT_ONCE;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use tractable_core::error::Result;
use tractable_core::gaussian::{Input, Matrix};
use tractable_core::metrics::Tails;
use tractable_network::output::Parts;

/// Points per input of a grid, and where it ends, in standard deviations: for one input, and for two.
const GRIDS: [(usize, f64); 2] = [(20, 5.0), (8, 4.0)];
/// Levels of a net, which is as good for as many inputs; there are as many points as pairs of levels.
const LEVELS: [usize; 2] = [7, 11];

/// Some rows of a batch, as exact points.
pub(super) struct Points<'a> {
    x: Cow<'a, [f64]>,
    width: usize,
    /// Weights of the points of each row; none where all rows are exact.
    weights: Vec<Arc<[f64]>>,
}

/// Points of so many standard normal variables.
struct Normal {
    z: Vec<f64>,
    weights: Arc<[f64]>,
}

/// A batch in parts, so that no part has many more points than [`AT_ONCE`].
pub(super) fn parts<'a>(x: Input<'a>) -> impl Iterator<Item = Points<'a>> {
    let mut normals: BTreeMap<usize, Normal> = BTreeMap::new();
    let mut from = 0;
    std::iter::from_fn(move || {
        let (first, mut points) = (from, 0);
        while from < x.rows() && points < AT_ONCE {
            points += count(uncertain(x, from).count());
            from += 1;
        }
        (first < from).then(|| Points::of(x.rows_between(first, from), points, &mut normals))
    })
}

fn uncertain<'a>(x: Input<'a>, row: usize) -> impl Iterator<Item = usize> + 'a {
    let width = x.width();
    let var = x.var().map_or(&[][..], |var| &var[row * width..(row + 1) * width]);
    var.iter().enumerate().filter(|(_, v)| **v > 0.0).map(|(i, _)| i)
}

impl<'a> Points<'a> {
    fn of(x: Input<'a>, points: usize, normals: &mut BTreeMap<usize, Normal>) -> Self {
        let width = x.width();
        if points == x.rows() {
            return Points { x: Cow::Borrowed(x.mean()), width, weights: Vec::new() };
        }
        let (mut all, mut weights) = (Vec::with_capacity(points * width), Vec::with_capacity(x.rows()));
        for (row, mean) in x.mean().chunks_exact(width).enumerate() {
            let free: Vec<(usize, f64)> =
                uncertain(x, row).map(|i| (i, x.var().map_or(0.0, |v| v[row * width + i].sqrt()))).collect();
            let normal = normals.entry(free.len()).or_insert_with(|| Normal::of(free.len()));
            for point in 0..normal.weights.len() {
                let at = all.len();
                all.extend_from_slice(mean);
                let z = &normal.z[point * free.len()..];
                free.iter().zip(z).for_each(|((i, std), z)| all[at + i] += std * z);
            }
            weights.push(normal.weights.clone());
        }
        Points { x: Cow::Owned(all), width, weights }
    }

    /// Whether no row is uncertain, so that the points are the rows.
    pub(super) fn are_exact(&self) -> bool {
        self.weights.is_empty()
    }

    pub(super) fn rows(&self) -> usize {
        self.x.len() / self.width
    }

    /// All points, which are known exactly.
    pub(super) fn input(&self) -> Result<Input<'_>> {
        Input::exact(&self.x, self.width)
    }

    /// For every row, averages of `width` numbers each.
    fn average(&self, of: &[f64], width: usize) -> Vec<f64> {
        let mut rest = of;
        let mut all = Vec::with_capacity(self.weights.len() * width);
        for weights in &self.weights {
            let (own, after) = rest.split_at(weights.len() * width);
            rest = after;
            all.extend((0..width).map(|i| {
                weights.iter().zip(own[i..].iter().step_by(width)).map(|(w, v)| w * v).sum::<f64>()
            }));
        }
        all
    }

    /// What is said of rows, from what is said of their points.
    pub(super) fn pooled(&self, said: Vec<Parts>, width: usize) -> Vec<Parts> {
        if self.are_exact() {
            return said;
        }
        let average =
            |f: &dyn Fn(&Parts) -> f64| self.average(&said.iter().map(f).collect::<Vec<_>>(), width);
        let mean = average(&|p| p.mean);
        let (between, doubt) = (average(&|p| p.between), average(&|p| p.doubt));
        let noise = [average(&|p| p.noise[0]), average(&|p| p.noise[1])];
        let mut off = Vec::with_capacity(said.len());
        for (row, weights) in self.weights.iter().enumerate() {
            let mean = &mean[row * width..(row + 1) * width];
            let own = &said[off.len()..off.len() + weights.len() * width];
            off.extend(own.iter().enumerate().map(|(i, p)| (p.mean - mean[i % width]).powi(2)));
        }
        let open = self.average(&off, width);
        let row = |i: usize| Parts {
            mean: mean[i],
            between: between[i],
            doubt: doubt[i],
            noise: [noise[0][i], noise[1][i]],
            open: open[i],
        };
        (0..mean.len()).map(row).collect()
    }

    /// Class probabilities of rows, from those of their points; or other numbers that are averaged.
    pub(super) fn averaged(&self, p: Matrix) -> Result<Matrix> {
        match self.are_exact() {
            true => Ok(p),
            false => Matrix::new(self.average(p.data(), p.width()), p.width()),
        }
    }
}

/// Points of so many uncertain inputs.
fn count(uncertain: usize) -> usize {
    match uncertain {
        0 => 1,
        n if n <= GRIDS.len() => GRIDS[n - 1].0.pow(n as u32),
        n => levels(n).pow(2),
    }
}

fn levels(uncertain: usize) -> usize {
    *LEVELS.iter().find(|l| **l >= uncertain).unwrap_or(&LEVELS[LEVELS.len() - 1])
}

impl Normal {
    fn of(uncertain: usize) -> Self {
        let n = count(uncertain);
        match uncertain {
            0 => Normal { z: Vec::new(), weights: [1.0].into() },
            _ if uncertain <= GRIDS.len() => {
                let (each, end) = GRIDS[uncertain - 1];
                let at = |i: usize| (2.0 * (i as f64 + 0.5) / each as f64 - 1.0) * end;
                let point = |k: usize| (0..uncertain).map(move |j| at(k / each.pow(j as u32) % each));
                let density = |k: usize| libm::exp(-0.5 * point(k).map(|z| z * z).sum::<f64>());
                let sum = (0..n).map(density).sum::<f64>();
                Normal {
                    z: (0..n).flat_map(point).collect(),
                    weights: (0..n).map(|k| density(k) / sum).collect(),
                }
            }
            _ => {
                let p = levels(uncertain);
                let quantile = |k: usize| Tails::Normal.quantile((k as f64 + 0.5) / n as f64);
                let std = ((0..n).map(|k| quantile(k).powi(2)).sum::<f64>() / n as f64).sqrt();
                // Digits are counted from the middle one, so that with every point there is its opposite.
                let digit = |d: usize| (d + p / 2) % p;
                let entry = |point: usize, j: usize| {
                    let (a, b) = (point / p, point % p);
                    quantile(digit(3usize.pow((j / p % 5) as u32) * (b + j % p * a)) * p + digit(a)) / std
                };
                Normal {
                    z: (0..n)
                        .flat_map(|k| (0..uncertain).map(move |j| (k, j)))
                        .map(|(k, j)| entry(k, j))
                        .collect(),
                    weights: vec![1.0 / n as f64; n].into(),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(inputs: usize, f: impl Fn(&[f64]) -> f64) -> [f64; 2] {
        let normal = Normal::of(inputs);
        let said: Vec<f64> = normal.z.chunks_exact(inputs).map(f).collect();
        let sum =
            |f: &dyn Fn(f64) -> f64| normal.weights.iter().zip(&said).map(|(w, v)| w * f(*v)).sum::<f64>();
        let mean = sum(&|v| v);
        [mean, sum(&|v| (v - mean).powi(2))]
    }

    #[test]
    fn points_have_the_moments_of_normal_variables() {
        // Exact: a^2 + b^2 has the mean 2 and the variance 4, a b the variance 1, a^3 the variance 15.
        for (inputs, close) in [(1, 0.01), (2, 0.03)] {
            let last = inputs - 1;
            let [mean, var] = moments(inputs, |z| z[0] * z[0] + z[last] * z[last]);
            assert!((mean - 2.0).abs() < 2.0 * close && (var / [8.0, 4.0][last] - 1.0).abs() < close);
            let [mean, var] = moments(inputs, |z| z[0].powi(3));
            assert!(mean.abs() < 1e-12 && (var / 15.0 - 1.0).abs() < 2.0 * close, "{var}");
        }
        let [mean, var] = moments(2, |z| z[0] * z[1]);
        assert!(mean.abs() < 1e-12 && (var - 1.0).abs() < 0.01);
        for inputs in [3, 7, 8, 11, 20] {
            for j in 0..inputs {
                let [mean, var] = moments(inputs, |z| z[j]);
                assert!(mean.abs() < 1e-12 && (var - 1.0).abs() < 1e-9, "{inputs} {j}: {mean} {var}");
                let with = |k: usize| moments(inputs, move |z| z[j] * z[k])[0];
                let most = (0..j).map(|k| with(k).abs()).fold(0.0, f64::max);
                assert!(most < if inputs <= 11 { 0.03 } else { 0.25 }, "{inputs} {j}: {most}");
            }
            let [_, var] = moments(inputs, |z| z[0] * z[2]);
            assert!((var - 1.0).abs() < 0.3, "{var}");
        }
    }

    #[test]
    fn a_row_does_not_depend_on_its_neighbours() {
        let (mean, var) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0, 0.0, 0.25, 0.0, 1.0, 4.0]);
        let x = Input::uncertain(&mean, &var, 2).unwrap();
        let together: Vec<f64> = parts(x).flat_map(|p| p.x.to_vec()).collect();
        let alone: Vec<f64> = (0..3)
            .flat_map(|r| parts(x.rows_between(r, r + 1)).flat_map(|p| p.x.to_vec()).collect::<Vec<_>>())
            .collect();
        assert_eq!(together, alone);
        assert_eq!(together.len(), 2 * (1 + 20 + 64));
        let pooled: Vec<Parts> = parts(x)
            .flat_map(|p| {
                let said =
                    p.x.chunks_exact(2).map(|x| Parts { mean: x[0] + 10.0 * x[1], ..Parts::default() });
                p.pooled(said.collect(), 1)
            })
            .collect();
        for (own, (mean, open)) in pooled.iter().zip([(21.0, 0.0), (43.0, 0.25), (65.0, 401.0)]) {
            assert!((own.mean - mean).abs() < 1e-9 && (own.open - open).abs() <= 0.01 * open, "{own:?}");
        }
    }
}
