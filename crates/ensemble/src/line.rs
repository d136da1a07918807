//! A Bayesian line through one output: exact, and exact again after every row that it learns.
//!
//! `y = w'x + b + noise`, in standardised units, with the prior `w ~ N(0, v/pull)` for noise of variance `v`. The posterior of the weights
//! is normal with covariance `v P`, `P = (X'X + pull)^-1`. The pull is the one with the highest evidence. A row more changes `P` by a
//! matrix of rank one, so learning takes the same memory always.

use tractable_core::cholesky;
use tractable_core::product::{View, product};

/// With more inputs than this a line is a network without hidden layers.
pub(super) const MOST_INPUTS: usize = 512;
/// Pull of the bias: almost none.
const BIAS: f64 = 1e-6;
/// Least variance of the noise.
const LEAST: f64 = 1e-9;

/// Pulls that are tried: from 1e-4 to 1e6.
fn pulls() -> impl Iterator<Item = f64> {
    (-16..=24).map(|k| libm::pow(10.0, 0.25 * f64::from(k)))
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    /// Of the inputs, then the bias.
    pub(super) weights: Vec<f64>,
    /// `P`, row after row.
    pub(super) shape: Vec<f64>,
    pub(super) about: About,
}

/// The numbers of a line that are not weights.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub(super) struct About {
    pub(super) pull: f64,
    /// Squared errors that are left, and of how many rows.
    pub(super) rest: f64,
    pub(super) rows: f64,
}

impl Line {
    /// Through rows of `inputs` numbers each. The noise variance of a row is divided by its weight; without weights all are 1.
    pub(super) fn fit(x: &[f64], y: &[f64], weights: Option<&[f64]>, inputs: usize) -> Self {
        let weight = |row: usize| weights.map_or(1.0, |w| w[row]);
        let (d, n) = (inputs + 1, y.len() as f64);
        let (mut squares, mut products) = (vec![0.0; d * d], vec![0.0; d]);
        for (at, (x, y)) in x.chunks_exact(inputs).zip(y).enumerate() {
            let row = with_bias(x);
            for (i, a) in row.iter().map(|a| weight(at) * a).enumerate() {
                products[i] += a * y;
                squares[i * d..=i * d + i].iter_mut().zip(&row).for_each(|(s, b)| *s += a * b);
            }
        }
        let total: f64 = y.iter().enumerate().map(|(row, y)| weight(row) * y * y).sum();
        let mut best: Option<(f64, About, Vec<f64>)> = None;
        for pull in pulls() {
            let mut factor = squares.clone();
            (0..d).for_each(|i| factor[i * d + i] += if i < inputs { pull } else { BIAS });
            if !cholesky::factor(&mut factor, d) {
                continue;
            }
            let mut half = products.clone();
            cholesky::solve(&factor, d, &mut half);
            let rest = (total - half.iter().map(|v| v * v).sum::<f64>()).max(LEAST * n);
            let evidence = -0.5 * n * libm::log(rest / n) - 0.5 * cholesky::ln_det(&factor, d)
                + 0.5 * inputs as f64 * libm::log(pull);
            if best.as_ref().is_none_or(|b| evidence > b.0) {
                best = Some((evidence, About { pull, rest, rows: n }, factor));
            }
        }
        let (_, about, factor) = best.expect("with the largest pull the matrix is definite");
        let mut weights = products;
        cholesky::solve(&factor, d, &mut weights);
        cholesky::solve_turned(&factor, d, &mut weights);
        Line { weights, shape: cholesky::inverse(&factor, d), about }
    }

    /// Variance of the noise.
    pub(super) fn noise(&self) -> f64 {
        self.about.rest / self.about.rows
    }

    /// Means of rows, and variances by the doubt about the weights.
    pub(super) fn predict(&self, x: &[f64]) -> [Vec<f64>; 2] {
        let d = self.weights.len();
        let rows: Vec<f64> = x.chunks_exact(d - 1).flat_map(with_bias).collect();
        let seen = product(View::rows(&rows, d), View::rows(&self.shape, d), [rows.len() / d, d, d]);
        let each = rows.chunks_exact(d);
        let var = each.clone().zip(seen.chunks_exact(d)).map(|(row, seen)| self.noise() * dot(row, seen));
        [each.map(|row| dot(&self.weights, row)).collect(), var.collect()]
    }

    /// Variance of every weight and of the bias by itself.
    pub(super) fn vars(&self) -> Vec<f64> {
        let d = self.weights.len();
        (0..d).map(|i| self.noise() * self.shape[i * d + i]).collect()
    }

    pub(super) fn learn(&mut self, x: &[f64], y: f64) {
        let row = with_bias(x);
        let gain = self.seen_from(&row);
        let (off, spread) = (y - dot(&self.weights, &row), 1.0 + dot(&row, &gain));
        let d = row.len();
        for (i, g) in gain.iter().enumerate() {
            self.weights[i] += g * off / spread;
            let line = &mut self.shape[i * d..(i + 1) * d];
            line.iter_mut().zip(&gain).for_each(|(p, h)| *p -= g * h / spread);
        }
        self.about.rest += off * off / spread;
        self.about.rows += 1.0;
    }

    /// Counts what was learned less by a factor: the prior takes its place.
    pub(super) fn discount(&mut self, factor: f64) {
        let (d, About { pull, .. }) = (self.weights.len(), self.about);
        let prior = |i: usize| if i + 1 < d { pull } else { BIAS };
        let mut factored = self.shape.clone();
        if !cholesky::factor(&mut factored, d) {
            return;
        }
        let mut squares = cholesky::inverse(&factored, d);
        (0..d).for_each(|i| squares[i * d + i] -= prior(i));
        squares.iter_mut().for_each(|s| *s /= factor);
        let mut products: Vec<f64> = squares.chunks_exact(d).map(|row| dot(row, &self.weights)).collect();
        products
            .iter_mut()
            .zip(&self.weights)
            .enumerate()
            .for_each(|(i, (p, w))| *p += prior(i) * w / factor);
        (0..d).for_each(|i| squares[i * d + i] += prior(i));
        if !cholesky::factor(&mut squares, d) {
            return;
        }
        cholesky::solve(&squares, d, &mut products);
        cholesky::solve_turned(&squares, d, &mut products);
        (self.weights, self.shape) = (products, cholesky::inverse(&squares, d));
        self.about.rest /= factor;
        self.about.rows /= factor;
    }

    fn seen_from(&self, row: &[f64]) -> Vec<f64> {
        self.shape.chunks_exact(row.len()).map(|line| dot(line, row)).collect()
    }

    /// Whether it can be one, in a file.
    #[cfg(feature = "files")]
    pub(super) fn is_sound(&self) -> bool {
        let About { pull, rest, rows } = self.about;
        let d = self.weights.len();
        let diagonal = (0..d).all(|i| self.shape[i * d + i] > 0.0);
        self.shape.len() == d * d && diagonal && [pull, rest, rows].iter().all(|v| *v > 0.0 && v.is_finite())
    }
}

fn with_bias(x: &[f64]) -> Vec<f64> {
    x.iter().copied().chain([1.0]).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tractable_core::rng;

    fn rows(n: usize, noise: f64) -> (Vec<f64>, Vec<f64>) {
        let mut random = rng::stream(5, "line", 0);
        let x: Vec<f64> = (0..3 * n).map(|_| rng::standard_normal(&mut random)).collect();
        let y =
            x.chunks_exact(3).map(|x| 0.5 + x[0] - 0.3 * x[1] + noise * rng::standard_normal(&mut random));
        let y = y.collect();
        (x, y)
    }

    #[test]
    fn learning_row_by_row_is_learning_at_once() {
        let (x, y) = rows(60, 0.2);
        let mut line = Line::fit(&x[..90], &y[..30], None, 3);
        x[90..].chunks_exact(3).zip(&y[30..]).for_each(|(x, y)| line.learn(x, *y));
        let all = Line::fit(&x, &y, None, 3);
        // The same but for the pull, which stays what it was: with 60 rows it hardly matters.
        for (a, b) in line.weights.iter().zip(&all.weights) {
            assert!((a - b).abs() < 2e-3, "{a} {b}");
        }
        assert!((line.noise() / all.noise() - 1.0).abs() < 0.1);
        let [mean, var] = line.predict(&[1.0, 1.0, 0.0]).map(|v| v[0]);
        assert!(
            (mean - 1.2).abs() < 0.15 && (0.2f64.powi(2) / 60.0..0.2f64.powi(2) / 5.0).contains(&var),
            "{mean} {var}"
        );
    }

    /// Rows with whole weights say what rows that are repeated say, except that these are more.
    #[test]
    fn a_weight_is_a_number_of_times() {
        let (x, y) = rows(60, 0.2);
        let weights: Vec<f64> = (0..60).map(|i| f64::from(1 + i % 3)).collect();
        let weighted = Line::fit(&x, &y, Some(&weights), 3);
        let often: Vec<usize> = (0..60).flat_map(|i| std::iter::repeat_n(i, 1 + i % 3)).collect();
        let again: Vec<f64> = often.iter().flat_map(|i| &x[3 * i..3 * i + 3]).copied().collect();
        let repeated = Line::fit(&again, &often.iter().map(|i| y[*i]).collect::<Vec<_>>(), None, 3);
        for (a, b) in weighted.weights.iter().zip(&repeated.weights) {
            assert!((a - b).abs() < 2e-3, "{a} {b}");
        }
        let ratio = weighted.about.rest / repeated.about.rest;
        // They find different pulls, of which little is left.
        assert!((ratio - 1.0).abs() < 3e-2, "{ratio}");
        assert_eq!((weighted.about.rows, repeated.about.rows), (60.0, 120.0));
        let plain = Line::fit(&x, &y, None, 3);
        assert!(weighted.weights.iter().zip(&plain.weights).any(|(a, b)| (a - b).abs() > 5e-3));
    }

    #[test]
    fn noise_pulls_all_weights_to_nothing() {
        let (x, _) = rows(40, 0.0);
        let mut random = rng::stream(6, "noise", 0);
        let y: Vec<f64> = (0..40).map(|_| rng::standard_normal(&mut random)).collect();
        let line = Line::fit(&x, &y, None, 3);
        assert!(line.weights[..3].iter().all(|w| w.abs() < 0.15), "{:?}", line.weights);
        assert!((0.5..1.6).contains(&line.noise()), "{}", line.noise());
    }

    #[test]
    fn what_counts_less_is_less_certain() {
        let (x, y) = rows(60, 0.2);
        let mut line = Line::fit(&x, &y, None, 3);
        let before = line.predict(&[1.0, 1.0, 0.0]).map(|v| v[0]);
        line.discount(2.0);
        let after = line.predict(&[1.0, 1.0, 0.0]).map(|v| v[0]);
        assert!((after[1] / before[1] - 2.0).abs() < 0.1 && (after[0] - before[0]).abs() < 0.01);
    }
}
