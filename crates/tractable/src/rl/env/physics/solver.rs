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
    /// Adds `weight * row row'`.
    fn add_outer(&mut self, weight: f64, row: &[f64; N]);
    /// The `x` with `M x = b`.
    fn solve(self, b: &[f64; N]) -> [f64; N];
}

/// Rows below their bounds, as bits.
type Active = u64;

/// Newton steps at most. A handful are enough; the bound is for states where rounding decides.
const STEPS: usize = 50;

/// The accelerations, from any `start`. At most 64 rows.
pub(crate) fn accelerations<const N: usize, M: Inertia<N>>(
    inertia: &M,
    force: &[f64; N],
    rows: &[Row<N>],
    start: [f64; N],
) -> [f64; N] {
    debug_assert!(rows.len() <= 64);
    let mut a = start;
    let (mut short, mut next) = ([0.0; 64], [0.0; 64]);
    let mut active = shortfalls(rows, &a, &mut short);
    for _ in 0..STEPS {
        let target = minimum_of_piece(inertia, force, rows, active);
        let reached = shortfalls(rows, &target, &mut next);
        let step: [f64; N] = std::array::from_fn(|i| target[i] - a[i]);
        if reached == active || small(&step, &target) {
            return target;
        }
        let line = Line {
            rows,
            from: &short,
            to: &next,
            active,
            curvature: dot(&step, &inertia.times(&step)),
        };
        let t = line.minimum(reached);
        a = std::array::from_fn(|i| a[i] + t * step[i]);
        active = shortfalls(rows, &a, &mut short);
    }
    a
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

/// The minimum if exactly the rows `active` counted, everywhere.
#[inline]
fn minimum_of_piece<const N: usize, M: Inertia<N>>(
    inertia: &M,
    force: &[f64; N],
    rows: &[Row<N>],
    active: Active,
) -> [f64; N] {
    let (mut hessian, mut force) = (*inertia, *force);
    for (i, row) in rows.iter().enumerate() {
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
