//! Weights of rows and of classes.
//!
//! **A row** of weight `w` is one whose noise variance is that of the others divided by `w`. Only the ratios of weights count: they are divided
//! by the mean of those that are not 0, and predictions have the noise of a row of mean weight. Lines and Gaussian processes weigh rows exactly. Networks learn rows in proportion to their
//! weights, which comes to the same: a row seen `w` times with noise `v` says as much of the weights as one seen once with noise `v / w`.
//! Calibration and the weights of candidates expect left-out rows to be so noisy. Rows of weight 0 are
//! not learned. Of classes, whose rows have
//! no noise variance, a row counts as often as its weight says, in learning and in calibration.
//!
//! **A class** of weight `w` is `w` times as frequent where the model will be used as among the rows: a shift of the prior. By Bayes' rule
//! `p'(k | x) = w_k p(k | x) / sum_j w_j p(j | x)`, which is exact; nothing is fitted anew.

use tractable_core::error::{Error, Result};
use tractable_core::rng;
use tractable_data::Dataset;
use tractable_network::output::Parts;

/// Small tables are repeated until they have so many rows, so that weights are not rounded too much,
const ROWS: usize = 8000;
/// but not more often than this.
const MOST_TIMES: usize = 8;

/// The rows in proportion to their weights; as they are without weights.
pub(super) fn in_proportion(data: Dataset, seed: u64) -> Result<Dataset> {
    let Some(weights) = data.weights() else { return Ok(data) };
    let times = (ROWS / data.rows()).clamp(1, MOST_TIMES);
    let mut rows = often(weights, times as f64, seed);
    // All weight may lie on rows that were left out.
    if rows.is_empty() {
        rows = (0..data.rows()).filter(|row| weights[*row] > 0.0).collect();
    }
    data.select(&rows)
}

/// Each row `times` its weight, rounded up or down so that all together are right.
pub(super) fn often(weights: &[f64], times: f64, seed: u64) -> Vec<usize> {
    let mut reached = rng::uniform(0.0, 1.0, &mut rng::stream(seed, "weights", 0));
    let mut rows = Vec::new();
    for (row, weight) in weights.iter().enumerate() {
        let before = reached.floor();
        reached += times * weight;
        rows.extend(std::iter::repeat_n(row, (reached.floor() - before) as usize));
    }
    rows
}

/// What is said of rows, `[rows, width]`, with the noise of their weights.
pub(super) fn as_noisy(parts: &mut [Parts], weights: impl Iterator<Item = f64>, width: usize) {
    for (parts, weight) in parts.chunks_exact_mut(width).zip(weights) {
        if weight > 0.0 {
            parts.iter_mut().for_each(|p| p.noise = p.noise.map(|noise| noise / weight));
        }
    }
}

/// Probabilities, `[rows, classes]`, where the classes are so many times as frequent.
pub(super) fn shifted(p: &mut [f64], weights: &[f64]) {
    if weights.is_empty() {
        return;
    }
    for row in p.chunks_exact_mut(weights.len()) {
        row.iter_mut().zip(weights).for_each(|(p, w)| *p *= w);
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= sum);
    }
}

/// Refuses weights that are not one positive number for each class.
pub(super) fn check_classes(weights: &[f64], classes: usize) -> Result<()> {
    match weights.len() {
        0 => Ok(()),
        _ if classes == 0 => Err(Error::invalid("class weights", "the target is a number")),
        n if n != classes => Err(Error::shape("class weights", classes, n)),
        _ => match weights.iter().find(|w| !(**w > 0.0 && w.is_finite())) {
            Some(bad) => Err(Error::invalid("class weights", format!("{bad} is not a positive number"))),
            None => Ok(()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_as_often_as_they_weigh() {
        let weights = [0.0, 0.25, 0.5, 1.25, 3.0];
        let mut count = [0.0; 5];
        for seed in 0..400 {
            let rows = often(&weights, 2.0, seed);
            assert_eq!(rows.len(), 10);
            rows.iter().for_each(|&row| count[row] += 1.0 / 400.0);
        }
        for (count, weight) in count.iter().zip(weights) {
            assert!((count - 2.0 * weight).abs() < 0.1, "{count} {weight}");
        }
    }

    #[test]
    fn a_shift_is_that_of_bayes() {
        let mut p = [0.9, 0.1, 0.5, 0.5];
        shifted(&mut p, &[1.0, 9.0]);
        assert!([0.5, 0.5, 0.1, 0.9].iter().zip(p).all(|(a, b)| (a - b).abs() < 1e-15), "{p:?}");
    }
}
