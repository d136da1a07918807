//! Accelerations under soft constraints: a convex problem, solved exactly.
//!
//! With inertia `M`, forces `f` and rows `J`, the accelerations are the minimum of
//!
//! ```text
//! 1/2 a' M a - f' a + sum over rows with J a < wanted of D/2 (J a - wanted)^2
//! ```
//!
//! which is quadratic as long as no row crosses its bound. Newton's method jumps to the minimum of the piece
//! it stands on; where rows cross on the way, the exact minimum along the line is taken instead. A jump that
//! crosses nothing has arrived: not nearly, but up to rounding.

use super::constraint::Row;

/// A symmetric positive definite matrix: the inertia of a mechanism with `N` joints.
pub(crate) trait Inertia<const N: usize>: Copy {
    /// `M x`.
    fn times(&self, x: &[f64; N]) -> [f64; N];
    /// Sum of the diagonal.
    fn trace(&self) -> f64;
    /// Adds `weight * row row'`.
    fn add_outer(&mut self, weight: f64, row: &[f64; N]);
    /// The `x` with `M x = b`.
    fn solve(self, b: &[f64; N]) -> [f64; N];
}

/// Rows below their bounds, as bits.
type Active = u64;

/// Newton steps at most. A handful are enough; the bound is for states where rounding decides.
const STEPS: usize = 50;

/// A minimum to be found. At most 64 rows.
pub(crate) struct Problem<'a, const N: usize, M> {
    pub(crate) inertia: &'a M,
    pub(crate) force: &'a [f64; N],
    pub(crate) rows: &'a [Row<N>],
}

impl<const N: usize, M: Inertia<N>> Problem<'_, N, M> {
    /// The accelerations. Where the search starts changes its length, not its end.
    #[inline]
    pub(crate) fn solve(&self, start: [f64; N]) -> [f64; N] {
        self.solve_until(start, 0.0)
    }

    /// As MuJoCo 4 does it: from the accelerations of the step before, or those without constraints if they
    /// cost less, until a Newton step promises a gain below a tolerance. What is left out is seen in the
    /// seventh digit, rarely.
    pub(crate) fn solve_roughly(&self, before: [f64; N], tolerance: f64) -> [f64; N] {
        let free = self.inertia.solve(self.force);
        let start = if self.cost(&before) < self.cost(&free) { before } else { free };
        self.solve_until(start, tolerance * self.inertia.trace())
    }

    /// Ends early when a step would gain less than `enough`.
    #[inline]
    fn solve_until(&self, start: [f64; N], enough: f64) -> [f64; N] {
        let Problem { inertia, rows, .. } = *self;
        debug_assert!(rows.len() <= 64);
        let mut a = start;
        let (mut short, mut next) = ([0.0; 64], [0.0; 64]);
        let mut active = shortfalls(rows, &a, &mut short);
        for taken in 0..STEPS {
            let target = self.minimum_of_piece(active);
            let reached = shortfalls(rows, &target, &mut next);
            let step: [f64; N] = std::array::from_fn(|i| target[i] - a[i]);
            let line = || Line {
                rows,
                from: &short,
                to: &next,
                active,
                curvature: dot(&step, &inertia.times(&step)),
            };
            if taken > 0 && enough > 0.0 && line().gain() < enough {
                return a;
            }
            if reached == active || small(&step, &target) {
                return target;
            }
            let t = line().minimum(reached);
            a = std::array::from_fn(|i| a[i] + t * step[i]);
            active = shortfalls(rows, &a, &mut short);
        }
        a
    }

    /// The minimum if exactly the rows `active` counted, everywhere.
    #[inline]
    fn minimum_of_piece(&self, active: Active) -> [f64; N] {
        let (mut hessian, mut force) = (*self.inertia, *self.force);
        for (i, row) in self.rows.iter().enumerate() {
            if active >> i & 1 == 1 {
                hessian.add_outer(row.stiffness, &row.jacobian);
                let pull = row.stiffness * row.wanted;
                for (f, j) in force.iter_mut().zip(&row.jacobian) {
                    *f += pull * j;
                }
            }
        }
        hessian.solve(&force)
    }

    /// All forces at these accelerations: what was given and what the constraints add.
    #[inline]
    pub(crate) fn total_force(&self, a: &[f64; N]) -> [f64; N] {
        let mut total = *self.force;
        for row in self.rows {
            let push = -row.stiffness * (dot(&row.jacobian, a) - row.wanted).min(0.0);
            for (f, j) in total.iter_mut().zip(&row.jacobian) {
                *f += push * j;
            }
        }
        total
    }

    fn cost(&self, a: &[f64; N]) -> f64 {
        let mut short = [0.0; 64];
        shortfalls(self.rows, a, &mut short);
        let pay = |(row, s): (&Row<N>, &f64)| 0.5 * row.stiffness * s.min(0.0) * s.min(0.0);
        let push: f64 = self.rows.iter().zip(&short).map(pay).sum();
        0.5 * dot(a, &self.inertia.times(a)) - dot(a, self.force) + push
    }
}

#[inline]
pub(crate) fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    let mut sum = 0.0;
    for i in 0..N {
        sum += a[i] * b[i];
    }
    sum
}

/// A step that rounding could have made.
fn small<const N: usize>(step: &[f64; N], at: &[f64; N]) -> bool {
    let size = |v: &[f64; N]| v.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    size(step) <= 1e-14 * size(at)
}

/// `J a - wanted` of every row; returns those below 0.
#[inline]
fn shortfalls<const N: usize>(rows: &[Row<N>], a: &[f64; N], to: &mut [f64; 64]) -> Active {
    let mut active = 0;
    for (i, (row, to)) in rows.iter().zip(to).enumerate() {
        *to = dot(&row.jacobian, a) - row.wanted;
        active |= u64::from(*to < 0.0) << i;
    }
    active
}

/// The cost on the line from a point (t = 0) to the minimum of its piece (t = 1): convex, piecewise quadratic.
struct Line<'a, const N: usize> {
    rows: &'a [Row<N>],
    /// Shortfalls of the rows at t = 0 and at t = 1.
    from: &'a [f64; 64],
    to: &'a [f64; 64],
    /// Rows that counted when the piece's minimum was found.
    active: Active,
    /// `step' M step`.
    curvature: f64,
}

impl<const N: usize> Line<'_, N> {
    /// What the whole step would gain, did no row cross its bound.
    fn gain(&self) -> f64 {
        let counted = self.each().filter(|(i, ..)| self.active >> i & 1 == 1);
        let rows: f64 = counted.map(|(_, d, from, to)| d * (to - from) * (to - from)).sum();
        0.5 * (self.curvature + rows)
    }

    /// Where the slope is 0. `at_one` are the rows active at t = 1.
    fn minimum(&self, at_one: Active) -> f64 {
        // The slope of the piece vanishes at t = 1; that leaves what the inertia contributes there.
        let inertia_at_one: f64 = self
            .each()
            .filter(|(i, ..)| self.active >> i & 1 == 1)
            .map(|(_, d, from, to)| -d * to * (to - from))
            .sum();
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let (mut t, mut active) = (1.0, at_one);
        for _ in 0..STEPS {
            let (mut slope, mut bend) = (inertia_at_one + (t - 1.0) * self.curvature, self.curvature);
            for (i, d, from, to) in self.each() {
                if active >> i & 1 == 1 {
                    let change = to - from;
                    slope += d * (from + t * change) * change;
                    bend += d * change * change;
                }
            }
            if slope < 0.0 {
                low = t;
            } else {
                high = t;
            }
            let mut next = t - slope / bend;
            if next <= low || next >= high {
                if next == t {
                    return t;
                }
                next = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * t };
            }
            let crossed = self.active_at(next);
            if crossed == active && next == t - slope / bend {
                return next;
            }
            (t, active) = (next, crossed);
        }
        t
    }

    /// Number, stiffness and shortfalls of every row.
    fn each(&self) -> impl Iterator<Item = (usize, f64, f64, f64)> {
        self.rows.iter().enumerate().map(|(i, row)| (i, row.stiffness, self.from[i], self.to[i]))
    }

    fn active_at(&self, t: f64) -> Active {
        self.each().map(|(i, _, from, to)| u64::from(from + t * (to - from) < 0.0) << i).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tractable_core::rng::{standard_normal, stream, uniform};

    /// A diagonal inertia plus outer products: solved by eliminating column after column.
    #[derive(Clone, Copy)]
    struct Full([[f64; 4]; 4]);

    impl Inertia<4> for Full {
        fn trace(&self) -> f64 {
            (0..4).map(|i| self.0[i][i]).sum()
        }
        fn times(&self, x: &[f64; 4]) -> [f64; 4] {
            self.0.map(|row| dot(&row, x))
        }
        fn add_outer(&mut self, weight: f64, row: &[f64; 4]) {
            for i in 0..4 {
                for j in 0..4 {
                    self.0[i][j] += weight * row[i] * row[j];
                }
            }
        }
        fn solve(mut self, b: &[f64; 4]) -> [f64; 4] {
            let mut x = *b;
            for p in 0..4 {
                for i in (0..4).filter(|&i| i != p) {
                    let factor = self.0[i][p] / self.0[p][p];
                    for j in 0..4 {
                        self.0[i][j] -= factor * self.0[p][j];
                    }
                    x[i] -= factor * x[p];
                }
            }
            std::array::from_fn(|i| x[i] / self.0[i][i])
        }
    }

    fn random(seed: u64) -> (Full, [f64; 4], Vec<Row<4>>, [f64; 4]) {
        let mut rng = stream(seed, "problem", 0);
        let mut m = Full([[0.0; 4]; 4]);
        for i in 0..4 {
            m.0[i][i] = uniform(0.1, 5.0, &mut rng);
        }
        for _ in 0..3 {
            m.add_outer(1.0, &std::array::from_fn(|_| standard_normal(&mut rng)));
        }
        let count = 1 + seed as usize % 12;
        let rows = (0..count).map(|_| Row {
            jacobian: std::array::from_fn(|_| standard_normal(&mut rng)),
            wanted: 30.0 * standard_normal(&mut rng),
            stiffness: uniform(0.01, 100.0, &mut rng),
        });
        let rows = rows.collect();
        let force = std::array::from_fn(|_| 20.0 * standard_normal(&mut rng));
        (m, force, rows, std::array::from_fn(|_| 50.0 * standard_normal(&mut rng)))
    }

    /// At the minimum inertia and forces balance; wherever the search starts, it ends there.
    #[test]
    fn accelerations_balance_all_forces() {
        for seed in 0..2000 {
            let (m, force, rows, start) = random(seed);
            let problem = Problem { inertia: &m, force: &force, rows: &rows };
            let a = problem.solve([0.0; 4]);
            let (left, right) = (m.times(&a), problem.total_force(&a));
            for i in 0..4 {
                assert!(
                    (left[i] - right[i]).abs() < 1e-9 * (1.0 + right[i].abs()),
                    "{seed}: {left:?} {right:?}"
                );
            }
            for (x, y) in a.iter().zip(problem.solve(start)) {
                assert!((x - y).abs() < 1e-10 * (1.0 + x.abs()), "{seed}: {x} {y}");
            }
        }
    }

    /// Stopping early costs at most what was promised, and with a tolerance of nothing changes nothing.
    #[test]
    fn stopping_early_is_bounded() {
        let mut early = 0;
        for seed in 0..2000 {
            let (m, force, rows, before) = random(seed);
            let problem = Problem { inertia: &m, force: &force, rows: &rows };
            let best = problem.cost(&problem.solve(before));
            let rough = problem.cost(&problem.solve_roughly(before, 1e-2));
            assert!(rough - best < 1e-1 * m.trace() && rough > best - 1e-9 * best.abs().max(1.0), "{seed}");
            early += u32::from(rough > best + 1e-6);
            let fine = problem.cost(&problem.solve_roughly(before, 1e-300));
            assert!((fine - best).abs() < 1e-9 * best.abs().max(1.0), "{seed}: {fine} {best}");
        }
        assert!(early > 10, "{early} stopped early");
    }
}
