//! The cheetah's inertia matrix: a trunk and two legs that do not couple with each other.
//!
//! Joints in MuJoCo's order are trunk (x, z, angle), back leg (hip, knee, ankle), front leg. Legs meet only in
//! the trunk, and the floor touches one leg at a time, so every matrix here has the shape
//!
//! ```text
//! | T  B' F' |
//! | B  b  0  |      T, b, f symmetric 3 x 3, B and F any 3 x 3
//! | F  0  f  |
//! ```
//!
//! Eliminating the legs first fills no zero.

use crate::physics::solver::Inertia;

/// Three by three, `[row][column]`.
pub(super) type Block = [[f64; 3]; 3];

/// A leg's rows: with the trunk, and with itself (lower half).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LegBlock {
    pub(super) trunk: Block,
    pub(super) own: Block,
}

/// A symmetric matrix of that shape. Above the diagonals of `trunk` and `own` nothing is read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Arrow {
    pub(super) trunk: Block,
    pub(super) legs: [LegBlock; 2],
}

impl Arrow {
    /// Adds to the diagonal.
    pub(super) fn add_diagonal(&mut self, add: &[f64; 9]) {
        for i in 0..3 {
            self.trunk[i][i] += add[i];
            self.legs[0].own[i][i] += add[3 + i];
            self.legs[1].own[i][i] += add[6 + i];
        }
    }
}

/// The three numbers of part `p`: 0 the trunk, 1 and 2 the legs.
#[inline]
fn part(x: &[f64; 9], p: usize) -> [f64; 3] {
    [x[3 * p], x[3 * p + 1], x[3 * p + 2]]
}

/// `L D L'` of a symmetric block (lower half): L below the diagonal, 1/D on it.
#[inline]
fn factor(a: &Block) -> Block {
    let d0 = 1.0 / a[0][0];
    let (l10, l20) = (a[1][0] * d0, a[2][0] * d0);
    let d1 = 1.0 / (a[1][1] - l10 * a[1][0]);
    let rest = a[2][1] - l20 * a[1][0];
    let l21 = rest * d1;
    let d2 = 1.0 / (a[2][2] - l20 * a[2][0] - l21 * rest);
    [[d0, 0.0, 0.0], [l10, d1, 0.0], [l20, l21, d2]]
}

/// `L^-1 b`.
#[inline]
fn forward(l: &Block, b: [f64; 3]) -> [f64; 3] {
    let y1 = b[1] - l[1][0] * b[0];
    [b[0], y1, b[2] - l[2][0] * b[0] - l[2][1] * y1]
}

/// `L'^-1 b`.
#[inline]
fn backward(l: &Block, b: [f64; 3]) -> [f64; 3] {
    let x1 = b[1] - l[2][1] * b[2];
    [b[0] - l[1][0] * x1 - l[2][0] * b[2], x1, b[2]]
}

/// `D^-1 b`.
#[inline]
fn scale(l: &Block, b: [f64; 3]) -> [f64; 3] {
    [b[0] * l[0][0], b[1] * l[1][1], b[2] * l[2][2]]
}

/// Adds `weight u w'`; `lower` leaves out what lies above the diagonal.
#[inline]
fn add_outer(to: &mut Block, weight: f64, u: [f64; 3], w: [f64; 3], lower: bool) {
    for i in 0..3 {
        let scaled = weight * u[i];
        for j in 0..if lower { i + 1 } else { 3 } {
            to[i][j] += scaled * w[j];
        }
    }
}

impl Inertia<9> for Arrow {
    fn trace(&self) -> f64 {
        let [back, front] = &self.legs;
        (0..3).map(|i| self.trunk[i][i] + back.own[i][i] + front.own[i][i]).sum()
    }

    #[inline]
    fn times(&self, x: &[f64; 9]) -> [f64; 9] {
        let symmetric = |a: &Block, v: [f64; 3]| {
            [
                a[0][0] * v[0] + a[1][0] * v[1] + a[2][0] * v[2],
                a[1][0] * v[0] + a[1][1] * v[1] + a[2][1] * v[2],
                a[2][0] * v[0] + a[2][1] * v[1] + a[2][2] * v[2],
            ]
        };
        let trunk = part(x, 0);
        let mut y = [0.0; 9];
        y[..3].copy_from_slice(&symmetric(&self.trunk, trunk));
        for (p, leg) in self.legs.iter().enumerate() {
            let v = part(x, p + 1);
            let own = symmetric(&leg.own, v);
            for i in 0..3 {
                let row = leg.trunk[i];
                y[3 * p + 3 + i] = own[i] + row[0] * trunk[0] + row[1] * trunk[1] + row[2] * trunk[2];
                for j in 0..3 {
                    y[j] += row[j] * v[i];
                }
            }
        }
        y
    }

    #[inline]
    fn add_outer(&mut self, weight: f64, row: &[f64; 9]) {
        let trunk = part(row, 0);
        add_outer(&mut self.trunk, weight, trunk, trunk, true);
        for (p, leg) in self.legs.iter_mut().enumerate() {
            let own = part(row, p + 1);
            // A row touches one leg or none.
            if own != [0.0; 3] {
                add_outer(&mut leg.trunk, weight, own, trunk, false);
                add_outer(&mut leg.own, weight, own, own, true);
            }
        }
    }

    #[inline]
    fn solve(self, b: &[f64; 9]) -> [f64; 9] {
        let (mut trunk, mut rest) = (self.trunk, part(b, 0));
        let mut own = [[[0.0; 3]; 3]; 2];
        let mut columns = [[[0.0; 3]; 3]; 2];
        let mut reduced = [[0.0; 3]; 2];
        for (p, leg) in self.legs.iter().enumerate() {
            own[p] = factor(&leg.own);
            let y = forward(&own[p], part(b, p + 1));
            reduced[p] = scale(&own[p], y);
            let column = |j: usize| [leg.trunk[0][j], leg.trunk[1][j], leg.trunk[2][j]];
            columns[p] = [0, 1, 2].map(|j| forward(&own[p], column(j)));
            for i in 0..3 {
                let scaled = scale(&own[p], columns[p][i]);
                for j in 0..=i {
                    let c = columns[p][j];
                    trunk[i][j] -= scaled[0] * c[0] + scaled[1] * c[1] + scaled[2] * c[2];
                }
                rest[i] -= scaled[0] * y[0] + scaled[1] * y[1] + scaled[2] * y[2];
            }
        }
        let l = factor(&trunk);
        let x = backward(&l, scale(&l, forward(&l, rest)));
        let mut all = [x[0], x[1], x[2], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        for p in 0..2 {
            let c = &columns[p];
            let through: [f64; 3] = std::array::from_fn(|i| c[0][i] * x[0] + c[1][i] * x[1] + c[2][i] * x[2]);
            let through = scale(&own[p], through);
            let y: [f64; 3] = std::array::from_fn(|i| reduced[p][i] - through[i]);
            all[3 * p + 3..3 * p + 6].copy_from_slice(&backward(&own[p], y));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(a: &Arrow) -> [[f64; 9]; 9] {
        let mut m = [[0.0; 9]; 9];
        for i in 0..3 {
            for j in 0..3 {
                m[i][j] = a.trunk[i.max(j)][i.min(j)];
                for (p, leg) in a.legs.iter().enumerate() {
                    let at = 3 * p + 3;
                    m[at + i][at + j] = leg.own[i.max(j)][i.min(j)];
                    m[at + i][j] = leg.trunk[i][j];
                    m[j][at + i] = leg.trunk[i][j];
                }
            }
        }
        m
    }

    fn example() -> Arrow {
        let mut a = Arrow::default();
        a.add_diagonal(&[3.0, 4.0, 5.0, 2.0, 1.5, 1.0, 2.5, 1.25, 1.0]);
        a.add_outer(0.7, &[1.0, -2.0, 0.5, 0.3, -0.8, 1.1, 0.0, 0.0, 0.0]);
        a.add_outer(1.3, &[-0.4, 0.9, 1.5, 0.0, 0.0, 0.0, 0.6, 0.2, -1.7]);
        a
    }

    #[test]
    fn products_and_outer_products_are_those_of_the_full_matrix() {
        let (a, x) = (example(), [1.0, -2.0, 3.0, 0.5, 0.25, -1.0, 2.0, 1.5, -0.75]);
        let m = full(&a);
        assert_eq!(m[3][1], 0.7 * 0.3 * -2.0);
        assert_eq!((m[3][6], m[8][8]), (0.0, 1.0 + 1.3 * -1.7 * -1.7));
        for (row, y) in m.iter().zip(a.times(&x)) {
            let sum: f64 = row.iter().zip(&x).map(|(m, x)| m * x).sum();
            assert!((sum - y).abs() < 1e-14, "{sum} {y}");
        }
    }

    #[test]
    fn solving_undoes_the_product() {
        let (a, x) = (example(), [1.0, -2.0, 3.0, 0.5, 0.25, -1.0, 2.0, 1.5, -0.75]);
        for (x, y) in x.iter().zip(a.solve(&a.times(&x))) {
            assert!((x - y).abs() < 1e-14, "{x} {y}");
        }
    }
}
