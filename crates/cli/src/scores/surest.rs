//! The error among the rows a model is most certain of, against their share: whether its uncertainty shows which predictions to trust.

use serde::Serialize;

/// Shares that are looked at.
const SHARES: usize = 50;

/// From few rows to all of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Surest {
    share: Vec<f64>,
    /// Of so many rows: the root of the mean squared error, or the share that is wrong.
    error: Vec<f64>,
}

impl Surest {
    /// Of rows with a doubt and a loss each; `total` makes an error of a mean loss.
    fn new(doubt: &[f64], loss: &[f64], total: fn(f64) -> f64) -> Self {
        let mut order: Vec<usize> = (0..doubt.len()).collect();
        order.sort_by(|&a, &b| doubt[a].total_cmp(&doubt[b]));
        let (mut sum, mut known) = (0.0, Surest { share: Vec::new(), error: Vec::new() });
        let rows = order.len();
        // The error of a handful of rows says nothing.
        let first = rows.min(rows.div_ceil(20).max(5));
        for (i, &row) in order.iter().enumerate() {
            sum += loss[row];
            let (n, step) = (i + 1, |n: usize| n * SHARES / rows);
            if n == rows || (n >= first && step(n) > step(n - 1)) {
                known.share.push(n as f64 / rows as f64);
                known.error.push(total(sum / n as f64));
            }
        }
        known
    }

    /// Of numbers, by the variance of what is predicted.
    pub(super) fn of_values(y: &[f64], mean: &[f64], var: &[f64]) -> Self {
        let loss: Vec<f64> = y.iter().zip(mean).map(|(y, m)| (y - m).powi(2)).collect();
        Surest::new(var, &loss, f64::sqrt)
    }

    /// Of classes, by the probability of the class that is predicted.
    pub(super) fn of_classes(p: &[f64], labels: &[usize]) -> Self {
        let classes = p.len() / labels.len().max(1);
        let (mut doubt, mut loss) = (Vec::new(), Vec::new());
        for (p, label) in p.chunks_exact(classes.max(1)).zip(labels) {
            let own = tractable::metrics::argmax(p);
            doubt.push(-p[own]);
            loss.push(f64::from(u8::from(own != *label)));
        }
        Surest::new(&doubt, &loss, |share| share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_share_is_all_rows() {
        let (mean, var): (Vec<f64>, Vec<f64>) = (0..200).map(|i| (0.0, f64::from(i))).unzip();
        let y: Vec<f64> = var.iter().map(|v| v.sqrt()).collect();
        let surest = Surest::of_values(&y, &mean, &var);
        assert!(surest.share.len() <= SHARES && surest.share.last() == Some(&1.0));
        assert!(surest.error.is_sorted(), "less sure, more wrong: {:?}", surest.error);
        assert!((surest.error.last().unwrap() - 99.5f64.sqrt()).abs() < 1e-9);
        let classes = Surest::of_classes(&[0.9, 0.1, 0.4, 0.6, 0.2, 0.8], &[0, 0, 1]);
        assert_eq!((classes.share, classes.error), (vec![1.0], vec![1.0 / 3.0]));
        assert!(Surest::of_classes(&[], &[]).share.is_empty());
    }
}
