//! [`Joint`]: the joint distribution of the inputs, so that missing entries follow from the rest of a row.

use tractable_core::cholesky;

/// A Gaussian of all inputs: means and standard deviations, and the precision of the standardised inputs.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub(super) struct Joint {
    mean: Vec<f64>,
    std: Vec<f64>,
    /// Row after row; empty where the inputs are taken as independent.
    precision: Vec<f64>,
}

/// With more inputs than this they are treated as independent.
const MOST_INPUTS: usize = 64;
/// Rows that the covariance is estimated from.
const MOST_ROWS: usize = 5000;
/// Steps of expectation and maximisation.
const STEPS: usize = 10;
/// Added to the variances, as if so many rows in a hundred had nothing to do with each other.
const RIDGE: f64 = 0.01;

impl Joint {
    pub(super) fn independent(mean: Vec<f64>, std: Vec<f64>) -> Self {
        Joint { mean, std, precision: Vec::new() }
    }

    /// Fits to rows of inputs with missing entries, by expectation-maximisation: a missing entry has its
    /// conditional distribution given the others.
    pub(super) fn fit(x: &[f64], known: &[bool], width: usize) -> Self {
        let rows = x.len() / width;
        let (mut mean, mut std) = (vec![0.0; width], vec![1.0; width]);
        for column in 0..width {
            let own = || (0..rows).map(|r| r * width + column).filter(|&i| known[i]).map(|i| x[i]);
            let n = own().count().max(1) as f64;
            mean[column] = own().sum::<f64>() / n;
            let var = own().map(|v| (v - mean[column]).powi(2)).sum::<f64>() / n;
            // A column that never changes says that it will not.
            std[column] = if var.sqrt() > 1e-10 * mean[column].abs() { var.sqrt() } else { 0.0 };
        }
        let mut joint = Joint::independent(mean, std);
        if (2..=MOST_INPUTS).contains(&width) && rows > 2 {
            joint.estimate(x, known, width);
        }
        joint
    }

    fn estimate(&mut self, x: &[f64], known: &[bool], width: usize) {
        let rows = x.len() / width;
        let every = rows.div_ceil(MOST_ROWS);
        let chosen: Vec<usize> = (0..rows).step_by(every).collect();
        let scale = |column: usize| if self.std[column] > 0.0 { self.std[column] } else { 1.0 };
        let standard: Vec<f64> = chosen
            .iter()
            .flat_map(|r| (0..width).map(move |c| (r * width + c, c)))
            .map(|(i, c)| if known[i] { (x[i] - self.mean[c]) / scale(c) } else { 0.0 })
            .collect();
        let gaps: Vec<Vec<usize>> =
            chosen.iter().map(|r| (0..width).filter(|c| !known[r * width + c]).collect()).collect();
        let steps = if gaps.iter().all(Vec::is_empty) { 1 } else { STEPS };
        for _ in 0..steps {
            let mut sums = vec![0.0; width * width];
            for (row, gap) in standard.chunks_exact(width).zip(&gaps) {
                let mut z = row.to_vec();
                if !gap.is_empty() {
                    let cov = conditional(&self.precision, width, gap, &mut z);
                    for (i, &a) in gap.iter().enumerate() {
                        gap.iter()
                            .enumerate()
                            .for_each(|(j, &b)| sums[a * width + b] += cov[i * gap.len() + j]);
                    }
                }
                for a in 0..width {
                    (0..width).for_each(|b| sums[a * width + b] += z[a] * z[b]);
                }
            }
            let n = chosen.len() as f64;
            sums.iter_mut().for_each(|s| *s /= n);
            (0..width).for_each(|c| sums[c * width + c] += RIDGE);
            match inverse(sums, width) {
                Some(precision) => self.precision = precision,
                None => return,
            }
        }
    }

    /// Puts mean and variance of the `missing` inputs of a row in their places, given the others.
    pub(super) fn fill(&self, mean: &mut [f64], var: &mut [f64], missing: &[usize]) {
        let width = self.mean.len();
        let mut z: Vec<f64> = (0..width)
            .map(|i| if self.std[i] > 0.0 { (mean[i] - self.mean[i]) / self.std[i] } else { 0.0 })
            .collect();
        missing.iter().for_each(|&i| z[i] = 0.0);
        let cov = conditional(&self.precision, width, missing, &mut z);
        for (k, &i) in missing.iter().enumerate() {
            mean[i] = self.mean[i] + self.std[i] * z[i];
            var[i] = (self.std[i] * self.std[i] * cov[k * missing.len() + k]).max(0.0);
        }
    }

    /// Variances of the inputs by themselves.
    #[cfg(test)]
    fn std(&self) -> &[f64] {
        &self.std
    }

    pub(super) fn check(&self, inputs: usize) -> Result<(), String> {
        let finite = |v: &[f64]| v.iter().all(|v| v.is_finite());
        let sized = self.mean.len() == inputs
            && self.std.len() == inputs
            && (self.precision.is_empty() || self.precision.len() == inputs * inputs);
        match sized
            && finite(&self.mean)
            && finite(&self.precision)
            && self.std.iter().all(|s| *s >= 0.0 && s.is_finite())
        {
            true => Ok(()),
            false => Err("an invalid distribution of the inputs".into()),
        }
    }
}

/// Puts the means of the `missing` entries into `z`, which is standardised, and returns their covariance. Without a precision
/// they are independent with a variance of 1.
fn conditional(precision: &[f64], width: usize, missing: &[usize], z: &mut [f64]) -> Vec<f64> {
    let n = missing.len();
    let independent = || (0..n * n).map(|i| f64::from(u8::from(i / n == i % n))).collect::<Vec<f64>>();
    missing.iter().for_each(|&i| z[i] = 0.0);
    if precision.is_empty() {
        return independent();
    }
    let own = missing.iter().flat_map(|a| missing.iter().map(move |b| precision[a * width + b])).collect();
    let Some(cov) = inverse(own, n) else { return independent() };
    // The others pull by their precision; entries that are missing are 0 here.
    let pull: Vec<f64> =
        missing.iter().map(|a| -(0..width).map(|b| precision[a * width + b] * z[b]).sum::<f64>()).collect();
    for (i, &at) in missing.iter().enumerate() {
        z[at] = (0..n).map(|j| cov[i * n + j] * pull[j]).sum();
    }
    cov
}

/// The inverse of a positive definite matrix.
fn inverse(mut a: Vec<f64>, n: usize) -> Option<Vec<f64>> {
    if !cholesky::factor(&mut a, n) {
        return None;
    }
    Some(cholesky::inverse(&a, n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tractable_core::rng;

    /// Pairs with a correlation of 0.8, a third of the second entries missing.
    fn pairs(n: usize) -> (Vec<f64>, Vec<bool>) {
        let mut rng = rng::stream(3, "pairs", 0);
        let (mut x, mut known) = (Vec::new(), Vec::new());
        for row in 0..n {
            let (a, b) = (rng::standard_normal(&mut rng), rng::standard_normal(&mut rng));
            x.extend([10.0 + 2.0 * a, -5.0 + 0.5 * (0.8 * a + 0.6 * b)]);
            known.extend([true, row % 3 > 0]);
        }
        (x, known)
    }

    #[test]
    fn what_is_missing_is_regressed_on_the_rest() {
        let (mut x, known) = pairs(3000);
        // What is not known does not count, whatever stands there.
        x.iter_mut().zip(&known).for_each(|(x, known)| *x = if *known { *x } else { 1e6 });
        let joint = Joint::fit(&x, &known, 2);
        let (mut mean, mut var) = ([14.0, 0.0], [0.0; 2]);
        joint.fill(&mut mean, &mut var, &[1]);
        // Two deviations above the mean: -5 + 0.5 * 0.8 * 2, and 0.5 * 0.6 is left open.
        assert!((mean[1] + 4.2).abs() < 0.05, "{mean:?}");
        assert!((var[1].sqrt() - 0.3).abs() < 0.02, "{var:?}");
        assert_eq!((mean[0], var[0]), (14.0, 0.0));
        let (mut mean, mut var) = ([0.0; 2], [0.0; 2]);
        joint.fill(&mut mean, &mut var, &[0, 1]);
        assert!((mean[0] - 10.0).abs() < 0.1 && (mean[1] + 5.0).abs() < 0.03, "{mean:?}");
        assert!((var[0].sqrt() - 2.0).abs() < 0.06 && (var[1].sqrt() - 0.5).abs() < 0.02, "{var:?}");
        assert!((joint.std()[1] - 0.5).abs() < 0.02);
    }

    #[test]
    fn a_column_that_never_changes_is_known() {
        let joint = Joint::fit(&[1.0, 7.0, 2.0, 7.0, 4.0, 7.0], &[true; 6], 2);
        let (mut mean, mut var) = ([1.0, 0.0], [0.0; 2]);
        joint.fill(&mut mean, &mut var, &[1]);
        assert_eq!((mean[1], var[1]), (7.0, 0.0));
    }
}
