//! Small symmetric matrices in f64, row-major: the Cholesky factor, and solving with it.

/// The lower Cholesky factor in place; returns whether there is one. Entries above the diagonal are unchanged.
pub fn factor(a: &mut [f64], n: usize) -> bool {
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

/// The inverse of `L L'`.
pub fn inverse(factor: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    for (column, line) in out.chunks_exact_mut(n).enumerate() {
        line[column] = 1.0;
        solve(factor, n, line);
        solve_turned(factor, n, line);
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
}
