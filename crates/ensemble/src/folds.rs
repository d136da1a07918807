//! Which rows which network does not learn from.

use tractable_core::rng;
use tractable_data::Target;

/// Parts that the rows are cut into; every network leaves one out.
pub(super) const FOLDS: usize = 5;

/// The fold of every row: at random, and of classes as many of each in every fold as can be.
pub(super) fn folds(target: &Target, rows: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    rng::shuffle(&mut order, &mut rng::stream(seed, "folds", 0));
    if let Target::Labels { labels, .. } = target {
        order.sort_by_key(|&row| labels[row]);
    }
    let mut fold = vec![0; rows];
    order.iter().enumerate().for_each(|(i, &row)| fold[row] = i % FOLDS);
    fold
}

/// The rows of a fold, or all others.
pub(super) fn rows_of(folds: &[usize], fold: usize, left_out: bool) -> Vec<usize> {
    (0..folds.len()).filter(|&row| (folds[row] == fold) == left_out).collect()
}
