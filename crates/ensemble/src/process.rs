//! A Gaussian process: what a network with infinitely many hidden units says, in closed form.
//!
//! Up to [`MOST_ROWS`] rows it knows each of them; of more, so many stand for all. It keeps `P` and `pull`: the mean at a row with the
//! covariances `k` is `k'pull`, the variance `k(x, x) - k'Pk`. With `K` of the rows that are kept, `P = K^-1 - C^-1` and `C = K + information`;
//! when all rows are kept this is `(K + noise)^-1`. To the rows that are kept, what they do not say of another row is noise of its own. A row that it learns adds a row to `P` and `pull`, or changes them by rank one when no
//! more are kept, so that memory stays the same.

mod descent;
#[cfg(feature = "files")]
mod file;
mod kernel;
mod readings;

#[cfg(feature = "files")]
pub(super) use file::About;
pub(super) use kernel::Kernel;
pub(super) use readings::Readings;

use kernel::{JITTER, Seen, dot, tuned_on};
use std::sync::{Arc, OnceLock};
use tractable_core::product::{View, product};
use tractable_core::{cholesky, rng, stop};

/// Rows that are kept, at most.
pub(super) const MOST_ROWS: usize = 1600;
/// Steps of a search from nowhere, and from what suits similar rows.
const STEPS: [usize; 2] = [20, 6];
/// Rows that are worked on together.
const AT_ONCE: usize = 256;
const BLOCK: usize = 96;

/// Half the distance over which a slope is measured.
const BESIDE: f64 = 0.1;

/// Rows to learn from, their targets, and by what the noise of each is divided; nothing if they are alike.
#[derive(Default)]
pub(super) struct Told {
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) weights: Option<Vec<f64>>,
}

#[derive(Clone)]
pub(super) struct Process {
    pub(super) readings: Arc<Readings>,
    /// Whether the target is a logarithm.
    pub(super) log: bool,
    pub(super) kernel: Kernel,
    /// Kernels that each fold's rows alone led to.
    pub(super) of_folds: Vec<Kernel>,
    pub(super) mean: f64,
    /// Rows that are kept, standardised.
    pub(super) x: Vec<f64>,
    pub(super) pull: Vec<f64>,
    /// `P`, symmetric.
    pub(super) shape: Vec<f64>,
    seen: Seen,
    /// `K^-1`, for learning when no more rows are kept.
    inverse: OnceLock<Vec<f64>>,
}

impl Told {
    fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| w[row])
    }

    /// The mean target, and what is left.
    fn centred(&self) -> (f64, Vec<f64>) {
        let sum: f64 = (0..self.y.len()).map(|i| self.weight(i)).sum();
        let mean = self.y.iter().enumerate().map(|(i, y)| self.weight(i) * y).sum::<f64>() / sum;
        (mean, self.y.iter().map(|y| y - mean).collect())
    }
}

/// A line, and the variance of the function where it touches it.
pub(super) struct Touching {
    pub(super) slope: Vec<f64>,
    pub(super) bias: f64,
    pub(super) var: f64,
}

impl Process {
    /// How much work one is, in weights of a network times rows that it learns.
    pub(super) fn cost(rows: usize, width: usize, warm: bool) -> u64 {
        let (tuned, kept) = (tuned_on(rows), rows.min(MOST_ROWS));
        let step = tuned * tuned * (tuned + 10 * width + 100);
        let steps = STEPS[usize::from(warm)] + 3;
        ((steps * step + (rows + kept) * kept * kept) / 20) as u64
    }

    /// The kernel that rows alone lead to; `from` suits similar rows.
    pub(super) fn tuned(
        readings: &Readings,
        told: &Told,
        log: bool,
        from: Option<&Kernel>,
        seed: u64,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Kernel {
        let rows = told.y.len();
        let few = some(rows, tuned_on(rows), seed);
        let (x, y) = (chosen(&told.x, &few, told.x.len() / rows), chosen(&told.y, &few, 1));
        let weights = told.weights.as_ref().map(|w| chosen(w, &few, 1));
        let told = Told { x, y, weights };
        let (_, y) = told.centred();
        let steps = STEPS[usize::from(from.is_some())];
        Kernel::tuned(readings, &Told { y, ..told }, log, from, steps, go_on)
    }

    /// Of rows and targets, in standardised units.
    pub(super) fn fit(readings: Arc<Readings>, told: &Told, log: bool, kernel: Kernel, seed: u64) -> Self {
        let (x, rows) = (&told.x[..], told.y.len());
        let (width, (mean, y)) = (x.len() / rows, told.centred());
        let kept = chosen(x, &some(rows, MOST_ROWS, seed), width);
        let seen = kernel.see(&readings, &kept, log);
        let n = seen.rows();
        let prior = with_diagonal(kernel.between(&seen, &seen, log), n, JITTER);
        let (shape, pull);
        if n == rows {
            let mut all = prior;
            (0..n).for_each(|i| all[i * n + i] += kernel.noise() / told.weight(i));
            shape = unless_stopped(n, || definite_inverse(all, n));
            pull = times(&shape, &y);
        } else {
            // With K = LL': information B = L^-1 (sum of kk'/noise) L^-T, and P = L^-T (1 - (1 + B)^-1) L^-1. No large numbers
            // are subtracted from each other, also where rows are alike.
            let half = unless_stopped(n, || cholesky::inverse_factor(&definite_factor(prior, n), n));
            let (mut known, mut sum) = (vec![0.0; n * n], vec![0.0; n]);
            // Once it is to stop, nobody uses the process.
            let parts = x.chunks(AT_ONCE * width).zip(y.chunks(AT_ONCE)).enumerate();
            for (part, (x, y)) in parts.take_while(|_| stop::check().is_ok()) {
                let at = kernel.see(&readings, x, log);
                let mut v = times_turned(&kernel.between(&at, &seen, log), &half, n);
                for (i, ((v, y), own)) in v.chunks_exact_mut(n).zip(y).zip(kernel.own(&at)).enumerate() {
                    // What the rows that are kept do not say of this one is noise to them.
                    let noise = kernel.noise() / told.weight(part * AT_ONCE + i);
                    let noise = noise + (own - dot(v, v)).max(0.0);
                    sum.iter_mut().zip(&*v).for_each(|(s, v)| *s += v * y / noise);
                    v.iter_mut().for_each(|v| *v /= noise.sqrt());
                }
                add_squares(&mut known, &v);
            }
            let rest = unless_stopped(n, || definite_inverse(with_diagonal(known, n, 1.0), n));
            pull = times_of_turned(&half, &times(&rest, &sum));
            let known = with_diagonal(rest.iter().map(|v| -v).collect(), n, 1.0);
            let by_half = || product(View::rows(&known, n), View::rows(&half, n), [n; 3]);
            let right = unless_stopped(n, by_half);
            let both = || product(View::rows(&half, n).turned(), View::rows(&right, n), [n; 3]);
            shape = symmetric(unless_stopped(n, both), n);
        }
        let (of_folds, inverse) = (Vec::new(), OnceLock::new());
        Process { readings, log, kernel, of_folds, mean, x: kept, pull, shape, seen, inverse }
    }

    pub(super) fn rows(&self) -> usize {
        self.pull.len()
    }

    /// Variance of the noise.
    pub(super) fn noise(&self) -> f64 {
        self.kernel.noise()
    }

    /// Means of standardised rows, and variances by the doubt about the function; 0 if they are not asked for.
    pub(super) fn predict(&self, x: &[f64], doubt: bool) -> [Vec<f64>; 2] {
        let width = self.readings.groups.len();
        let (mut mean, mut var) = (Vec::new(), Vec::new());
        // Once it is to stop, nobody uses what is said.
        for x in x.chunks(AT_ONCE * width).take_while(|_| stop::check().is_ok()) {
            let at = self.kernel.see(&self.readings, x, self.log);
            let k = self.kernel.between(&at, &self.seen, self.log);
            mean.extend(k.chunks_exact(self.rows()).map(|k| self.mean + dot(k, &self.pull)));
            if !doubt {
                var.resize(mean.len(), 0.0);
                continue;
            }
            let own = self.kernel.own(&at).into_iter();
            var.extend(own.zip(self.known(&k)).map(|(own, known)| (own - known).max(JITTER)));
        }
        [mean, var].map(|mut said: Vec<f64>| {
            said.resize(x.len() / width, 0.0);
            said
        })
    }

    /// The line that touches it at a place, by differences.
    pub(super) fn touched(&self, at: &[f64]) -> Touching {
        let width = at.len();
        let mut places = at.repeat(2 * width + 1);
        for input in 0..width {
            places[(2 * input + 1) * width + input] += BESIDE;
            places[(2 * input + 2) * width + input] -= BESIDE;
        }
        let [mean, _] = self.predict(&places, false);
        let slope: Vec<f64> = mean[1..].chunks_exact(2).map(|m| (m[0] - m[1]) / (2.0 * BESIDE)).collect();
        let [_, var] = self.predict(at, true);
        Touching { bias: mean[0] - dot(&slope, at), slope, var: var[0] }
    }

    /// `k'Pk` of every row of covariances. Blocks off the diagonal count twice.
    fn known(&self, k: &[f64]) -> Vec<f64> {
        let n = self.rows();
        let rows = k.len() / n;
        let mut sums = vec![0.0; rows];
        for from in (0..n).step_by(BLOCK) {
            let to = n.min(from + BLOCK);
            let block = |top: usize, bottom: usize| {
                let p = View::rows(&self.shape[(top * n + from).min(n * n)..], n);
                product(View::rows(&k[top.min(n - 1)..], n), p, [rows, bottom - top, to - from])
            };
            let (own, below) = (block(from, to), block(to, n));
            for (row, sum) in sums.iter_mut().enumerate() {
                let part = row * (to - from)..(row + 1) * (to - from);
                let with = own[part.clone()].iter().zip(&below[part]).map(|(o, b)| o + 2.0 * b);
                *sum += with.zip(&k[row * n + from..row * n + to]).map(|(p, k)| p * k).sum::<f64>();
            }
        }
        sums
    }

    /// Learns one row, exactly while more rows can be kept.
    pub(super) fn learn(&mut self, x: &[f64], y: f64) {
        let n = self.rows();
        let at = self.kernel.see(&self.readings, x, self.log);
        let k = self.kernel.between(&at, &self.seen, self.log);
        let off = y - self.mean - dot(&k, &self.pull);
        let known = times(&self.shape, &k);
        if n < MOST_ROWS {
            let spread = self.kernel.own(&at)[0] + self.kernel.noise() - dot(&k, &known);
            let mut shape = Vec::with_capacity((n + 1) * (n + 1));
            for (row, g) in self.shape.chunks_exact(n).zip(&known) {
                shape.extend(row.iter().zip(&known).map(|(p, h)| p + g * h / spread));
                shape.push(-g / spread);
            }
            shape.extend(known.iter().map(|g| -g / spread));
            shape.push(1.0 / spread);
            self.pull.iter_mut().zip(&known).for_each(|(p, g)| *p -= g * off / spread);
            self.pull.push(off / spread);
            self.shape = shape;
            self.x.extend(x);
            self.seen.append(&at);
            self.inverse = OnceLock::new();
            return;
        }
        let turned = self.inverse.get_or_init(|| definite_inverse(self.prior(), n));
        let drawn = times(turned, &k);
        let gain: Vec<f64> = drawn.iter().zip(&known).map(|(a, b)| a - b).collect();
        let unsaid = (self.kernel.own(&at)[0] - dot(&k, &drawn)).max(0.0);
        let spread = self.kernel.noise() + unsaid + dot(&k, &gain);
        for (row, g) in self.shape.chunks_exact_mut(n).zip(&gain) {
            row.iter_mut().zip(&gain).for_each(|(p, h)| *p += g * h / spread);
        }
        self.pull.iter_mut().zip(&gain).for_each(|(p, g)| *p += g * off / spread);
    }

    /// Counts what was learned less by a factor: the prior takes its place.
    pub(super) fn discount(&mut self, factor: f64) {
        let n = self.rows();
        let turned = definite_inverse(self.shape.clone(), n);
        let rest = times(&turned, &self.pull);
        let less = turned.iter().zip(self.prior()).map(|(p, k)| factor * p - (factor - 1.0) * k);
        self.shape = definite_inverse(less.collect(), n);
        self.pull = times(&self.shape, &rest);
    }

    /// `K` of the rows that are kept.
    fn prior(&self) -> Vec<f64> {
        with_diagonal(self.kernel.between(&self.seen, &self.seen, self.log), self.rows(), JITTER)
    }
}

/// A matrix, or zeros once it is to stop: then nobody uses it.
fn unless_stopped(n: usize, work: impl FnOnce() -> Vec<f64>) -> Vec<f64> {
    if stop::check().is_ok() { work() } else { vec![0.0; n * n] }
}

/// At most so many of these rows, at random, in their order.
fn some(rows: usize, most: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    if rows > most {
        rng::shuffle(&mut order, &mut rng::stream(seed, "process", 0));
        order.truncate(most);
        order.sort_unstable();
    }
    order
}

fn chosen(of: &[f64], rows: &[usize], width: usize) -> Vec<f64> {
    rows.iter().flat_map(|r| &of[r * width..(r + 1) * width]).copied().collect()
}

fn with_diagonal(mut of: Vec<f64>, n: usize, more: f64) -> Vec<f64> {
    (0..n).for_each(|i| of[i * n + i] += more);
    of
}

/// Adds `k'k` below the diagonal.
fn add_squares(to: &mut [f64], k: &[f64]) {
    let n = to.len().isqrt();
    let rows = k.len() / n;
    for from in (0..n).step_by(BLOCK) {
        let end = n.min(from + BLOCK);
        let own = View::rows(&k[from..], n).turned();
        let sums = product(own, View::rows(k, n), [end - from, rows, end]);
        for (i, sums) in sums.chunks_exact(end).enumerate() {
            let row = &mut to[(from + i) * n..(from + i) * n + end];
            row.iter_mut().zip(sums).for_each(|(v, s)| *v += s);
        }
    }
}

/// `k L'` of rows `k` with a lower triangular `L`.
fn times_turned(k: &[f64], lower: &[f64], n: usize) -> Vec<f64> {
    let rows = k.len() / n;
    let mut out = vec![0.0; k.len()];
    for from in (0..n).step_by(BLOCK) {
        let to = n.min(from + BLOCK);
        let l = View::rows(&lower[from * n..], n).turned();
        let block = product(View::rows(k, n), l, [rows, to, to - from]);
        for (row, block) in block.chunks_exact(to - from).enumerate() {
            out[row * n + from..row * n + to].copy_from_slice(block);
        }
    }
    out
}

/// `L'v`.
fn times_of_turned(lower: &[f64], v: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; v.len()];
    for (row, v) in lower.chunks_exact(v.len()).zip(v) {
        out.iter_mut().zip(row).for_each(|(o, l)| *o += l * v);
    }
    out
}

/// Without the last bits in which a product differs from its transpose.
fn symmetric(mut of: Vec<f64>, n: usize) -> Vec<f64> {
    (0..n).for_each(|i| (0..i).for_each(|j| of[j * n + i] = of[i * n + j]));
    of
}

fn definite_inverse(of: Vec<f64>, n: usize) -> Vec<f64> {
    cholesky::inverse(&definite_factor(of, n), n)
}

/// Of a matrix that is definite but for rounding: if need be, its diagonal is made a little larger.
fn definite_factor(of: Vec<f64>, n: usize) -> Vec<f64> {
    let diagonal = (0..n).map(|i| of[i * n + i].abs()).sum::<f64>() / n as f64;
    let mut more = 0.0;
    loop {
        let mut factor = with_diagonal(of.clone(), n, more * diagonal);
        if cholesky::factor(&mut factor, n) {
            return factor;
        }
        more = if more == 0.0 { 1e-12 } else { 10.0 * more };
        assert!(more < 1e3, "a covariance is finite");
    }
}

fn times(of: &[f64], v: &[f64]) -> Vec<f64> {
    of.chunks_exact(v.len()).map(|row| dot(row, v)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(n: usize) -> (Vec<f64>, Vec<f64>) {
        let mut random = rng::stream(9, "process", 0);
        let x: Vec<f64> = (0..2 * n).map(|_| rng::uniform(-1.7, 1.7, &mut random)).collect();
        let noise = |x: &[f64]| (2.0 * x[0]).sin() + 0.5 * x[1];
        let y = x.chunks_exact(2).map(|x| noise(x) + 0.1 * rng::standard_normal(&mut random)).collect();
        (x, y)
    }

    fn told(x: &[f64], y: &[f64]) -> Told {
        Told { x: x.to_vec(), y: y.to_vec(), weights: None }
    }

    fn fitted(n: usize, log: bool) -> (Vec<f64>, Vec<f64>, Process) {
        let (x, y) = rows(n);
        let readings = Arc::new(Readings::fit(&x, vec![0, 1]));
        let kernel = Process::tuned(&readings, &told(&x, &y), log, None, 0, &mut || true);
        let process = Process::fit(readings, &told(&x, &y), log, kernel, 0);
        (x, y, process)
    }

    /// By the book: `k'(K + noise)^-1 y`, one row, with no matrix but `K + noise`.
    fn by_the_book(p: &Process, y: &[f64], at: &[f64]) -> [f64; 2] {
        let n = p.rows();
        let seen = p.kernel.see(&p.readings, at, p.log);
        let k = p.kernel.between(&seen, &p.seen, p.log);
        let mut factor = with_diagonal(p.prior(), n, p.kernel.noise());
        assert!(cholesky::factor(&mut factor, n));
        let (mut half, mut rest) = (k, y.iter().map(|y| y - p.mean).collect::<Vec<_>>());
        cholesky::solve(&factor, n, &mut half);
        cholesky::solve(&factor, n, &mut rest);
        [p.mean + dot(&half, &rest), p.kernel.own(&seen)[0] - dot(&half, &half)]
    }

    #[test]
    fn predictions_are_those_of_the_textbook() {
        for log in [false, true] {
            let (_, y, process) = fitted(150, log);
            for at in [[0.3, -0.2], [1.5, 1.5], [6.0, 0.0]] {
                let ([mean, var], want) = (process.predict(&at, true), by_the_book(&process, &y, &at));
                assert!(
                    (mean[0] - want[0]).abs() < 1e-8 && (var[0] - want[1]).abs() < 1e-8,
                    "{mean:?} {var:?} {want:?}"
                );
            }
            let [mean, var] = process.predict(&[0.5, 1.0, 0.5, 9.0], true);
            assert!((mean[0] - (1f64.sin() + 0.5)).abs() < 0.1 && var[1] > 10.0 * var[0], "{mean:?} {var:?}");
        }
    }

    #[test]
    fn learning_row_by_row_is_learning_at_once() {
        let (x, y, all) = fitted(200, false);
        let part = told(&x[..300], &y[..150]);
        let mut process = Process::fit(all.readings.clone(), &part, false, all.kernel.clone(), 0);
        process.mean = all.mean;
        // The targets are counted from another mean now.
        let off: Vec<f64> = part.y.iter().map(|y| y - all.mean).collect();
        process.pull = times(&process.shape, &off);
        x[300..].chunks_exact(2).zip(&y[150..]).for_each(|(x, y)| process.learn(x, *y));
        let at = [0.3, -0.2, 2.0, 2.0];
        for (a, b) in process.predict(&at, true).concat().iter().zip(all.predict(&at, true).concat()) {
            assert!((a - b).abs() < 1e-7, "{a} {b}");
        }
    }

    #[test]
    fn a_weight_is_as_many_rows() {
        let (x, y, process) = fitted(60, false);
        let twice: Vec<usize> = (0..60).flat_map(|i| vec![i; 1 + i % 2]).collect();
        let all = told(&chosen(&x, &twice, 2), &chosen(&y, &twice, 1));
        let weights = Some((0..60).map(|i| (1 + i % 2) as f64).collect());
        let fit =
            |told: &Told| Process::fit(process.readings.clone(), told, false, process.kernel.clone(), 0);
        let (weighed, repeated) = (fit(&Told { weights, ..told(&x, &y) }), fit(&all));
        for (a, b) in weighed
            .predict(&[0.3, -0.2, 2.0, 2.0], true)
            .concat()
            .iter()
            .zip(repeated.predict(&[0.3, -0.2, 2.0, 2.0], true).concat())
        {
            assert!((a - b).abs() < 0.01 * b.abs(), "{a} {b}");
        }
    }

    #[test]
    fn few_rows_stand_for_many_and_learn_like_them() {
        let (x, y) = rows(2000);
        let readings = Arc::new(Readings::fit(&x, vec![0, 1]));
        let kernel = Process::tuned(&readings, &told(&x, &y), false, None, 0, &mut || true);
        let fit = |rows: usize| {
            Process::fit(readings.clone(), &told(&x[..2 * rows], &y[..rows]), false, kernel.clone(), 0)
        };
        let (mut less, more) = (fit(1900), fit(2000));
        assert_eq!((less.rows(), more.rows()), (MOST_ROWS, MOST_ROWS));
        x[3800..].chunks_exact(2).zip(&y[1900..]).for_each(|(x, y)| less.learn(x, *y));
        let at = [0.3, -0.2, 1.0, 1.0, 8.0, 8.0];
        let (a, b) = (less.predict(&at, true), more.predict(&at, true));
        for k in 0..2 {
            assert!((a[0][k] - b[0][k]).abs() < 0.02, "{a:?} {b:?}");
            assert!((a[1][k] / b[1][k] - 1.0).abs() < 0.2, "{a:?} {b:?}");
        }
        assert!(a[1][2] > 100.0 * a[1][0]);
    }

    #[test]
    fn copies_of_rows_do_no_harm() {
        let (mut x, mut y) = rows(2000);
        for i in (0..2000).step_by(3) {
            let from = (i + 300) % 2000;
            (x[2 * i], x[2 * i + 1], y[i]) = (x[2 * from], x[2 * from + 1], y[from]);
        }
        let readings = Arc::new(Readings::fit(&x, vec![0, 1]));
        let kernel = Process::tuned(&readings, &told(&x, &y), false, None, 0, &mut || true);
        let mut kernel = kernel;
        kernel.ln[1] = -9.0;
        let process = Process::fit(readings, &told(&x, &y), false, kernel.clone(), 0);
        let n = process.rows();
        assert!((0..n).all(|i| process.shape[i * n + i] > 0.0));
        // By the book: the variance is k(x, x) - k'K^-1 k + k'C^-1 k, by two factors.
        let (mut prior, mut all) = (process.prior(), process.prior());
        assert!(cholesky::factor(&mut prior, n));
        let each = kernel.see(&process.readings, &x, false);
        for (k, own) in kernel.between(&each, &process.seen, false).chunks_exact(n).zip(kernel.own(&each)) {
            let mut half = k.to_vec();
            cholesky::solve(&prior, n, &mut half);
            let noise = kernel.noise() + (own - dot(&half, &half)).max(0.0);
            add_squares(&mut all, &k.iter().map(|k| k / noise.sqrt()).collect::<Vec<_>>());
        }
        assert!(cholesky::factor(&mut all, n));
        for at in [[x[0], x[1]], [0.1, 0.2], [3.0, 3.0]] {
            let seen = kernel.see(&process.readings, &at, false);
            let k = kernel.between(&seen, &process.seen, false);
            let (mut a, mut b) = (k.clone(), k);
            cholesky::solve(&prior, n, &mut a);
            cholesky::solve(&all, n, &mut b);
            let want = kernel.own(&seen)[0] - dot(&a, &a) + dot(&b, &b);
            let got = process.predict(&at, true)[1][0];
            assert!((got - want).abs() < 1e-6 + 0.01 * want, "{got} {want}");
        }
    }

    #[test]
    fn what_counts_less_is_less_certain() {
        let (x, y, mut process) = fitted(150, false);
        let at = [0.3, -0.2];
        let before = process.predict(&at, true)[1][0];
        process.discount(2.0);
        let mut noisier = process.kernel.clone();
        noisier.ln[1] += libm::log(2.0);
        let want =
            Process::fit(process.readings.clone(), &told(&x, &y), false, noisier, 0).predict(&at, true);
        let got = process.predict(&at, true);
        assert!(
            (got[0][0] - want[0][0]).abs() < 1e-4 && (got[1][0] / want[1][0] - 1.0).abs() < 1e-3,
            "{got:?} {want:?}"
        );
        assert!(got[1][0] > 1.3 * before);
    }
}
