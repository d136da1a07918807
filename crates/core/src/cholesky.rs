//! Symmetric matrices in f64, row-major: the Cholesky factor, and solving with it.

use crate::product::{View, product};

/// Columns that are worked on together: everything but the blocks on the diagonal is products of matrices.
const BLOCK: usize = 48;

/// The lower Cholesky factor in place; returns whether there is one. Entries above the diagonal are unchanged.
pub fn factor(a: &mut [f64], n: usize) -> bool {
    for from in (0..n).step_by(BLOCK) {
        let to = n.min(from + BLOCK);
        let (wide, rest) = (to - from, n - to);
        let before = View::rows(&a[from * n..], n);
        let known = product(before, before.turned(), [n - from, from, wide]);
        for (i, known) in known.chunks_exact(wide).enumerate() {
            let row = &mut a[(from + i) * n + from..(from + i) * n + to];
            row.iter_mut().zip(known).for_each(|(v, k)| *v -= k);
        }
        let mut own: Vec<f64> = (from..to).flat_map(|i| a[i * n + from..i * n + to].to_vec()).collect();
        if !factor_block(&mut own, wide) {
            return false;
        }
        own.chunks_exact(wide).enumerate().for_each(|(i, own)| {
            a[(from + i) * n + from..=(from + i) * n + from + i].copy_from_slice(&own[..=i]);
        });
        if rest > 0 {
            let turned = inverse_block(&own, wide);
            let below = product(
                View::rows(&a[to * n + from..], n),
                View::rows(&turned, wide).turned(),
                [rest, wide, wide],
            );
            for (i, below) in below.chunks_exact(wide).enumerate() {
                a[(to + i) * n + from..(to + i) * n + to].copy_from_slice(below);
            }
        }
    }
    true
}

fn factor_block(a: &mut [f64], n: usize) -> bool {
    for i in 0..n {
        for j in 0..=i {
            let (above, own) = a.split_at(i * n);
            let (row_i, row_j) = (&own[..j], if i == j { &own[..j] } else { &above[j * n..j * n + j] });
            let rest = own[j] - row_i.iter().zip(row_j).map(|(a, b)| a * b).sum::<f64>();
            if i != j {
                a[i * n + j] = rest / a[j * n + j];
            } else if rest > 0.0 {
                a[i * n + i] = rest.sqrt();
            } else {
                return false;
            }
        }
    }
    true
}

/// Solves `L x = v` in place.
pub fn solve(factor: &[f64], n: usize, v: &mut [f64]) {
    for i in 0..n {
        let known: f64 = factor[i * n..i * n + i].iter().zip(&v[..i]).map(|(a, b)| a * b).sum();
        v[i] = (v[i] - known) / factor[i * n + i];
    }
}

/// Solves `L' x = v` in place.
pub fn solve_turned(factor: &[f64], n: usize, v: &mut [f64]) {
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| factor[j * n + i] * v[j]).sum();
        v[i] = (v[i] - known) / factor[i * n + i];
    }
}

/// `L^-1` of a small factor.
fn inverse_block(factor: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    for column in 0..n {
        let mut v = vec![0.0; n];
        v[column] = 1.0;
        solve(factor, n, &mut v);
        v.iter().enumerate().for_each(|(row, v)| out[row * n + column] = *v);
    }
    out
}

/// `L^-1`.
pub fn inverse_factor(factor: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    for from in (0..n).step_by(BLOCK) {
        let to = n.min(from + BLOCK);
        let wide = to - from;
        let mut block = product(View::rows(&factor[from * n..], n), View::rows(&out, n), [wide, from, to]);
        block.iter_mut().for_each(|v| *v = -*v);
        (0..wide).for_each(|i| block[i * to + from + i] += 1.0);
        let own: Vec<f64> = (from..to).flat_map(|i| factor[i * n + from..i * n + to].to_vec()).collect();
        let solved =
            product(View::rows(&inverse_block(&own, wide), wide), View::rows(&block, to), [wide, wide, to]);
        for (i, solved) in solved.chunks_exact(to).enumerate() {
            out[(from + i) * n..(from + i) * n + to].copy_from_slice(solved);
        }
    }
    out
}

/// The inverse of `L L'`.
pub fn inverse(factor: &[f64], n: usize) -> Vec<f64> {
    let l = inverse_factor(factor, n);
    let mut out = vec![0.0; n * n];
    for from in (0..n).step_by(BLOCK) {
        let to = n.min(from + BLOCK);
        let rows = View::rows(&l[from * n..], n);
        let own = View::rows(&l[from * n + from..], n).turned();
        let block = product(own, rows, [to - from, n - from, to]);
        for (i, block) in block.chunks_exact(to).enumerate() {
            block[..=from + i].iter().enumerate().for_each(|(j, &v)| {
                (out[(from + i) * n + j], out[j * n + from + i]) = (v, v);
            });
        }
    }
    out
}

/// `L v`, in place.
pub fn times(factor: &[f64], n: usize, v: &mut [f64]) {
    for i in (0..n).rev() {
        v[i] = factor[i * n..=i * n + i].iter().zip(&v[..=i]).map(|(a, b)| a * b).sum();
    }
}

/// `ln det(L L')`.
pub fn ln_det(factor: &[f64], n: usize) -> f64 {
    2.0 * (0..n).map(|i| libm::log(factor[i * n + i])).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_times_itself_is_the_matrix() {
        let a = [4.0, 2.0, 0.6, 2.0, 5.0, 1.0, 0.6, 1.0, 3.0];
        let mut l = a;
        assert!(factor(&mut l, 3));
        for column in 0..3 {
            let mut v: Vec<f64> = (0..3).map(|row| a[row * 3 + column]).collect();
            solve(&l, 3, &mut v);
            times(&l, 3, &mut v);
            (0..3).for_each(|row| assert!((v[row] - a[row * 3 + column]).abs() < 1e-14));
            // A column of the matrix, solved, is a column of one.
            solve(&l, 3, &mut v);
            solve_turned(&l, 3, &mut v);
            (0..3).for_each(|row| assert!((v[row] - f64::from(u8::from(row == column))).abs() < 1e-14));
        }
        // 4 (15 - 1) - 2 (6 - 0.6) + 0.6 (2 - 3)
        assert!((ln_det(&l, 3) - (44.6f64).ln()).abs() < 1e-14);
        assert!(
            !factor(&mut [1.0, 2.0, 2.0, 1.0], 2) && !factor(&mut [0.0], 1) && !factor(&mut [f64::NAN], 1)
        );
    }

    #[test]
    fn large_matrices_have_factors_and_inverses_too() {
        for n in [BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            let mut random = crate::rng::stream(2, "large", n as u64);
            let b: Vec<f64> = (0..n * n).map(|_| crate::rng::standard_normal(&mut random)).collect();
            let mut a = product(View::rows(&b, n), View::rows(&b, n).turned(), [n, n, n]);
            (0..n).for_each(|i| a[i * n + i] += 1.0);
            let mut l = a.clone();
            assert!(factor(&mut l, n));
            let turned = inverse(&l, n);
            let one = product(View::rows(&a, n), View::rows(&turned, n), [n, n, n]);
            for (i, v) in one.iter().enumerate() {
                assert!((v - f64::from(u8::from(i / n == i % n))).abs() < 1e-8, "{n} {i}: {v}");
            }
            let mut v = a[..n].to_vec();
            solve(&l, n, &mut v);
            times(&l, n, &mut v);
            (0..n).for_each(|i| assert!((v[i] - a[i]).abs() < 1e-9 * a[0]));
            a[n * n - 1] = -1.0;
            assert!(!factor(&mut a, n));
        }
    }
}
