//! Products of matrices in f64, with the vectors at hand. Every entry of a result is one sum in the order of the terms.

use pulp::{Arch, Simd, WithSimd};

/// Rows of a result that are worked on together; with two vectors of columns they fill the registers.
const ROWS: usize = 6;
/// Two of the longest vectors.
const MOST_COLUMNS: usize = 16;

/// A part of a matrix: from which entry on, and how far apart rows and columns are.
#[derive(Clone, Copy)]
pub struct View<'a> {
    data: &'a [f64],
    row: usize,
    column: usize,
}

impl<'a> View<'a> {
    /// A matrix that is stored row after row, `width` numbers each, from its first entry on.
    pub fn rows(data: &'a [f64], width: usize) -> Self {
        View { data, row: width, column: 1 }
    }

    /// Rows and columns exchanged.
    pub fn turned(self) -> Self {
        View { row: self.column, column: self.row, ..self }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.data[row * self.row + column * self.column]
    }
}

/// `a b`, row after row, of `[m, k]` and `[k, n]`.
pub fn product(a: View<'_>, b: View<'_>, [m, k, n]: [usize; 3]) -> Vec<f64> {
    let mut out = vec![0.0; m * n];
    if m * n * k > 0 {
        Arch::new().dispatch(Product { a, b, m, k, n, out: &mut out });
    }
    out
}

struct Product<'a> {
    a: View<'a>,
    b: View<'a>,
    m: usize,
    k: usize,
    n: usize,
    out: &'a mut [f64],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Product { a, b, m, k, n, out } = self;
        let lanes = S::F64_LANES;
        let columns = 2 * lanes;
        // Some columns of b, side by side, and some rows of a: what is missing at the edges is zero.
        let (mut right, mut left) = (vec![0.0; k * columns], vec![0.0; k * ROWS]);
        let mut sums = [[0.0; MOST_COLUMNS]; ROWS];
        for from in (0..n).step_by(columns) {
            let wide = columns.min(n - from);
            for (i, row) in right.chunks_exact_mut(columns).enumerate() {
                row[..wide].iter_mut().enumerate().for_each(|(j, v)| *v = b.at(i, from + j));
                row[wide..].fill(0.0);
            }
            for top in (0..m).step_by(ROWS) {
                let high = ROWS.min(m - top);
                for (i, part) in left.chunks_exact_mut(ROWS).enumerate() {
                    part[..high].iter_mut().enumerate().for_each(|(r, v)| *v = a.at(top + r, i));
                    part[high..].fill(0.0);
                }
                let mut acc = [[simd.splat_f64s(0.0); 2]; ROWS];
                for (l, r) in left.chunks_exact(ROWS).zip(right.chunks_exact(columns)) {
                    let (first, second) = r.split_at(lanes);
                    let (r0, r1) = (simd.partial_load_f64s(first), simd.partial_load_f64s(second));
                    for (acc, &l) in acc.iter_mut().zip(l) {
                        let l = simd.splat_f64s(l);
                        acc[0] = simd.mul_add_e_f64s(l, r0, acc[0]);
                        acc[1] = simd.mul_add_e_f64s(l, r1, acc[1]);
                    }
                }
                for (sums, acc) in sums.iter_mut().zip(acc) {
                    simd.partial_store_f64s(&mut sums[..lanes], acc[0]);
                    simd.partial_store_f64s(&mut sums[lanes..columns], acc[1]);
                }
                for (r, sums) in sums[..high].iter().enumerate() {
                    let at = (top + r) * n + from;
                    out[at..at + wide].copy_from_slice(&sums[..wide]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    #[test]
    fn entries_are_sums_of_products_for_all_shapes_and_orders() {
        let mut random = rng::stream(1, "product", 0);
        for [m, k, n] in [[1, 1, 1], [3, 5, 2], [6, 7, 16], [13, 31, 37], [0, 3, 2], [2, 0, 3]] {
            let mut draw = |n: usize| (0..n).map(|_| rng::standard_normal(&mut random)).collect::<Vec<f64>>();
            let (a, b) = (draw(m * k), draw(k * n));
            let turned = |v: &[f64], h: usize, w: usize| {
                (0..h * w).map(|i| v[i % h * w + i / h]).collect::<Vec<f64>>()
            };
            let (at, bt) = (turned(&a, m, k), turned(&b, k, n));
            let plain = product(View::rows(&a, k), View::rows(&b, n), [m, k, n]);
            let other = product(View::rows(&at, m).turned(), View::rows(&bt, k).turned(), [m, k, n]);
            assert_eq!(plain, other);
            for (i, got) in plain.iter().enumerate() {
                let want: f64 = (0..k).map(|j| a[i / n * k + j] * b[j * n + i % n]).sum();
                assert!((got - want).abs() < 1e-12, "{m} {k} {n} {i}: {got} {want}");
            }
        }
    }
}
