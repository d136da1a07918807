//! The covariance of a function's values at two rows: a line, a smooth part and a rough one.
//!
//! `k(x, y) = a x'y / G + b1 s(r1) + b2 exp(-r2)`. The first reading of the rows gives `x'y` and `r1`, their ranks give `r2`; `r^2` is a sum
//! over the G columns of the table, each with a weight of its own. `s` is `exp(-r^2/2)`, or the Matern kernel of 3/2 where the target is a
//! logarithm. Rows are observed with noise of variance `v`.

use super::readings::Readings;
use super::{Told, descent};
use tractable_core::cholesky;
use tractable_core::product::{View, product};
use tractable_core::stop;

/// The numbers of a kernel are chosen on a fifth of the rows, but on no fewer than the first number if there are so many, and on no more
/// than the second.
const TUNED_ON: [usize; 2] = [500, 1500];
/// What every variance of the function has in addition, so that the arithmetic is stable.
pub(super) const JITTER: f64 = 1e-5;
/// Mean and standard deviation of the logarithms of `a`, `v`, `b` before there are data, and of a column's weight relative to `1/G`.
const LINE: [f64; 2] = [0.0, 2.0];
const NOISE: [f64; 2] = [-1.2, 1.5];
const PART: [f64; 2] = [-0.7, 2.0];
const WEIGHT_STD: f64 = 1.0;
/// Where the search starts: `a` and `v`, and both parts.
const START: [f64; 3] = [-1.2, -1.2, -1.4];

/// Logarithms of `a`, `v`, then for each part of `b` and its weights.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub(crate) struct Kernel {
    pub(super) ln: Vec<f64>,
}

/// Rows as a kernel sees them.
#[derive(Clone)]
pub(super) struct Seen {
    width: usize,
    /// The first reading, and both with the weights of their columns.
    line: Vec<f64>,
    parts: [Vec<f64>; 2],
}

impl Seen {
    pub(super) fn rows(&self) -> usize {
        self.line.len() / self.width
    }

    /// With more rows.
    pub(super) fn append(&mut self, other: &Seen) {
        self.line.extend(&other.line);
        self.parts.iter_mut().zip(&other.parts).for_each(|(own, other)| own.extend(other));
    }
}

impl Kernel {
    /// Where the search starts.
    fn start(columns: usize) -> Self {
        let mut ln = START[..2].to_vec();
        for _ in 0..2 {
            ln.push(START[2]);
            ln.extend(vec![-libm::log(columns as f64); columns]);
        }
        Kernel { ln }
    }

    /// The mean of several, in logarithms.
    pub(crate) fn mean(of: &[Kernel]) -> Self {
        let each = |i: usize| of.iter().map(|k| k.ln[i]).sum::<f64>() / of.len() as f64;
        Kernel { ln: (0..of[0].ln.len()).map(each).collect() }
    }

    pub(super) fn columns(&self) -> usize {
        (self.ln.len() - 4) / 2
    }

    pub(super) fn noise(&self) -> f64 {
        libm::exp(self.ln[1])
    }

    /// A part's variance, and the weights of its columns.
    fn part(&self, part: usize) -> (f64, Vec<f64>) {
        let from = 2 + part * (1 + self.columns());
        let weights = self.ln[from + 1..=from + self.columns()].iter().map(|w| libm::exp(*w));
        (libm::exp(self.ln[from]), weights.collect())
    }

    pub(super) fn see(&self, readings: &Readings, x: &[f64], log: bool) -> Seen {
        let [line, ranks] = readings.of(x, log);
        let width = readings.groups.len();
        let weighted = |of: &[f64], part: usize| {
            let roots: Vec<f64> = self.part(part).1.into_iter().map(f64::sqrt).collect();
            of.iter().enumerate().map(|(i, v)| v * roots[readings.groups[i % width]]).collect()
        };
        Seen { width, parts: [weighted(&line, 0), weighted(&ranks, 1)], line }
    }

    /// Covariances of the function at `a` (rows) and `b` (columns).
    pub(super) fn between(&self, a: &Seen, b: &Seen, log: bool) -> Vec<f64> {
        let sizes = [a.rows(), a.width, b.rows()];
        let mut all = product(View::rows(&a.line, a.width), View::rows(&b.line, b.width).turned(), sizes);
        let line = libm::exp(self.ln[0]) / self.columns() as f64;
        all.iter_mut().for_each(|v| *v *= line);
        for part in 0..2 {
            let (var, _) = self.part(part);
            let squares = distances(&a.parts[part], &b.parts[part], a.width);
            all.iter_mut().zip(squares).for_each(|(v, r2)| *v += var * shape(part, log, r2)[0]);
        }
        all
    }

    /// Variances of the function at these rows.
    pub(super) fn own(&self, at: &Seen) -> Vec<f64> {
        let line = libm::exp(self.ln[0]) / self.columns() as f64;
        let parts = self.part(0).0 + self.part(1).0 + JITTER;
        at.line.chunks_exact(at.width).map(|x| line * dot(x, x) + parts).collect()
    }

    /// The most probable one given rows and targets, from so many steps: starting from one that suits similar rows, or from nowhere.
    pub(super) fn tuned(
        readings: &Readings,
        told: &Told,
        log: bool,
        from: Option<&Kernel>,
        steps: usize,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Self {
        let start = from.cloned().unwrap_or_else(|| Kernel::start(readings.columns()));
        let evidence = Evidence::new(readings, told, log);
        let of_part = std::iter::once([-12.0, 4.0]).chain(vec![[-12.0, 5.0]; readings.columns()]);
        let bounds: Vec<[f64; 2]> =
            [[-12.0, 4.0], [-9.0, 2.0]].into_iter().chain(of_part.clone()).chain(of_part).collect();
        let ln = descent::minimum(start.ln, &bounds, steps, |ln| match go_on() {
            true => evidence.of(&Kernel { ln: ln.to_vec() }),
            false => (f64::INFINITY, vec![0.0; ln.len()]),
        });
        Kernel { ln }
    }

    #[cfg(feature = "files")]
    pub(super) fn is_sound(&self, columns: usize) -> bool {
        self.ln.len() == 4 + 2 * columns && self.ln.iter().all(|v| v.abs() <= 20.0)
    }
}

/// On how many of these rows a kernel is chosen.
pub(super) fn tuned_on(rows: usize) -> usize {
    rows.min((rows / 5).clamp(TUNED_ON[0], TUNED_ON[1]))
}

/// A part's shape at a squared distance, and its slope there.
fn shape(part: usize, log: bool, r2: f64) -> [f64; 2] {
    match (part, log) {
        (0, false) => {
            let k = libm::exp(-0.5 * r2);
            [k, -0.5 * k]
        }
        (0, true) => {
            let r = (3.0 * r2).sqrt();
            let k = libm::exp(-r);
            [(1.0 + r) * k, -1.5 * k]
        }
        _ => {
            let k = libm::exp(-r2.sqrt());
            [k, -0.5 * k / (r2 + 1e-6).sqrt()]
        }
    }
}

/// Squared distances of rows.
fn distances(a: &[f64], b: &[f64], width: usize) -> Vec<f64> {
    let squares = |of: &[f64]| of.chunks_exact(width).map(|x| dot(x, x)).collect::<Vec<f64>>();
    let (own, other) = (squares(a), squares(b));
    let sizes = [own.len(), width, other.len()];
    let mut all = product(View::rows(a, width), View::rows(b, width).turned(), sizes);
    for (row, own) in all.chunks_exact_mut(other.len()).zip(own) {
        row.iter_mut().zip(&other).for_each(|(v, other)| *v = (own + other - 2.0 * *v).max(0.0));
    }
    all
}

/// How unlikely targets are, and how that changes with a kernel.
struct Evidence<'a> {
    readings: &'a Readings,
    told: &'a Told,
    log: bool,
    read: [Vec<f64>; 2],
    /// `x'y / G`.
    line: Vec<f64>,
}

impl<'a> Evidence<'a> {
    fn new(readings: &'a Readings, told: &'a Told, log: bool) -> Self {
        let read = readings.of(&told.x, log);
        let (width, n) = (readings.groups.len(), told.y.len());
        let rows = View::rows(&read[0], width);
        let mut line = product(rows, rows.turned(), [n, width, n]);
        line.iter_mut().for_each(|v| *v /= readings.columns() as f64);
        Evidence { readings, told, log, read, line }
    }

    /// Minus the logarithm of the posterior density of a kernel, and its gradient.
    fn of(&self, kernel: &Kernel) -> (f64, Vec<f64>) {
        let (n, width, columns) = (self.told.y.len(), self.readings.groups.len(), kernel.columns());
        let (line, noise) = (libm::exp(kernel.ln[0]), kernel.noise());
        let parts = [0, 1].map(|part| kernel.part(part));
        let weighted = [0, 1].map(|part| {
            let roots: Vec<f64> = parts[part].1.iter().map(|w| w.sqrt()).collect();
            let scaled = |(i, v): (usize, &f64)| v * roots[self.readings.groups[i % width]];
            self.read[part].iter().enumerate().map(scaled).collect::<Vec<f64>>()
        });
        // Shapes and slopes below the diagonal.
        let mut shapes = [0, 1].map(|part| distances(&weighted[part], &weighted[part], width));
        let mut slopes = [vec![0.0; n * n], vec![0.0; n * n]];
        let mut factor = vec![0.0; n * n];
        for i in 0..n {
            for (part, (shapes, slopes)) in shapes.iter_mut().zip(&mut slopes).enumerate() {
                for j in i * n..i * n + i {
                    [shapes[j], slopes[j]] = shape(part, self.log, shapes[j]);
                }
                [shapes[i * n + i], slopes[i * n + i]] = [1.0, 0.0];
            }
            for j in i * n..=i * n + i {
                factor[j] = line * self.line[j] + parts[0].0 * shapes[0][j] + parts[1].0 * shapes[1][j];
            }
            factor[i * n + i] += noise / self.told.weight(i) + JITTER;
        }
        // Once it is to stop, nobody uses it.
        let none = (f64::INFINITY, vec![0.0; kernel.ln.len()]);
        if stop::check().is_err() || !cholesky::factor(&mut factor, n) || stop::check().is_err() {
            return none;
        }
        let mut pull = self.told.y.clone();
        cholesky::solve(&factor, n, &mut pull);
        let mut value = 0.5 * (dot(&pull, &pull) + cholesky::ln_det(&factor, n));
        cholesky::solve_turned(&factor, n, &mut pull);
        let mut w = cholesky::inverse(&factor, n);
        if stop::check().is_err() {
            return none;
        }
        let mut trace = 0.0;
        let mut sums = [0.0; 3];
        for i in 0..n {
            for j in 0..=i {
                let at = i * n + j;
                w[at] -= pull[i] * pull[j];
                // Entries below the diagonal count twice.
                let own = if i == j { 0.5 * w[at] } else { w[at] };
                sums[0] += own * self.line[at];
                sums[1] += own * shapes[0][at];
                sums[2] += own * shapes[1][at];
            }
            trace += w[i * n + i] / self.told.weight(i);
        }
        let mut gradient = vec![line * sums[0], 0.5 * noise * trace];
        for part in 0..2 {
            let (var, weights) = &parts[part];
            gradient.push(var * sums[1 + part]);
            let slopes = &mut slopes[part];
            for i in 0..n {
                for j in 0..i {
                    let v = slopes[i * n + j] * w[i * n + j] * var;
                    (slopes[i * n + j], slopes[j * n + i]) = (v, v);
                }
            }
            let x = &self.read[part];
            let mixed = product(View::rows(slopes, n), View::rows(x, width), [n, n, width]);
            let mut of_columns = vec![0.0; columns];
            for (i, slopes) in slopes.chunks_exact(n).enumerate() {
                let sum: f64 = slopes.iter().sum();
                for input in 0..width {
                    let at = i * width + input;
                    of_columns[self.readings.groups[input]] += x[at] * (sum * x[at] - mixed[at]);
                }
            }
            gradient.extend(of_columns.iter().zip(weights).map(|(sum, w)| w * sum));
        }
        let usual = -libm::log(columns as f64);
        for (i, (g, ln)) in gradient.iter_mut().zip(&kernel.ln).enumerate() {
            let [mean, std] = match i {
                0 => LINE,
                1 => NOISE,
                i if (i - 2) % (1 + columns) == 0 => PART,
                _ => [usual, WEIGHT_STD],
            };
            value += 0.5 * ((ln - mean) / std).powi(2);
            *g += (ln - mean) / (std * std);
        }
        (value, gradient)
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tractable_core::rng;

    fn rows(n: usize) -> Told {
        let mut random = rng::stream(8, "kernel", 0);
        let x: Vec<f64> = (0..4 * n).map(|_| rng::standard_normal(&mut random)).collect();
        let y = x
            .chunks_exact(4)
            .map(|x| (2.0 * x[0]).sin() + 0.5 * x[1] + 0.1 * rng::standard_normal(&mut random));
        let (y, weights) = (y.collect(), Some((0..n).map(|i| 1.0 + 0.1 * i as f64 / n as f64).collect()));
        Told { x, y, weights }
    }

    #[test]
    fn the_gradient_is_that_of_the_value() {
        let told = rows(30);
        let readings = Readings::fit(&told.x, vec![0, 1, 2, 2]);
        for log in [false, true] {
            let evidence = Evidence::new(&readings, &told, log);
            let mut kernel = Kernel::start(3);
            kernel.ln.iter_mut().enumerate().for_each(|(i, v)| *v += 0.3 * (i as f64).sin());
            let (_, gradient) = evidence.of(&kernel);
            for (i, slope) in gradient.iter().enumerate() {
                let beside = |h: f64| {
                    let mut moved = kernel.clone();
                    moved.ln[i] += h;
                    evidence.of(&moved).0
                };
                let measured = (beside(1e-4) - beside(-1e-4)) / 2e-4;
                // The rough part's slope is bounded where rows coincide.
                assert!(
                    (slope - measured).abs() < 1e-4 * (1.0 + measured.abs()),
                    "{log} {i}: {slope} {measured}"
                );
            }
        }
    }

    #[test]
    fn columns_that_say_nothing_lose_their_weight() {
        let told = rows(150);
        let readings = Readings::fit(&told.x, vec![0, 1, 2, 2]);
        let kernel = Kernel::tuned(&readings, &told, false, None, 40, &mut || true);
        let weights = kernel.part(0).1;
        assert!(weights[0] > 20.0 * weights[2], "{kernel:?}");
        assert!((0.003..0.05).contains(&kernel.noise()), "{}", kernel.noise());
    }
}
