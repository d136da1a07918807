//! Gross outliers among targets, which are set aside before anything learns from them.
//!
//! A price that was entered a hundred times too high is far from the prices of similar rows, not only from the average one. So rows
//! are put into groups of similar ones by a tree, which splits inputs where the ranks of the targets differ most: on ranks an outlier
//! counts no more than another row. In every leaf the distance of a target from the median is measured in robust standard deviations
//! (1.4826 times the median distance, of the leaf or of all rows, whichever is more): a target is not an outlier where all scatter.
//!
//! Tails may be heavy. What is set aside lies beyond ten deviations and beyond three times what Student's t with two degrees of freedom,
//! which has no variance any more, has at its rank: .83 sqrt(n/k) deviations for the k-th of n. Targets that are not negative are
//! measured as they are or by their logarithm, ln(1 + y/median) if there are zeros: on the scale on which the middle four fifths of
//! the distances are more even. Tails of logarithms are exponential at most, and the limit is 2 ln(n/k) deviations. If more than a
//! fiftieth of the targets would be set aside, none is: that is what the data are like.

use tractable_core::error::Result;
use tractable_core::gaussian::Matrix;
use tractable_data::{Dataset, Target};

/// Robust deviations that are never too many.
const USUAL: f64 = 10.0;
/// Share of the targets that may be set aside.
const MOST: f64 = 0.02;
/// Targets among which outliers are looked for, at least: of fewer, one would be more than may be set aside.
const LEAST_ROWS: usize = 50;
/// Rows in a leaf of the tree, at least.
const LEAF: usize = 32;
/// Values of an input that a split is looked for between, and rows that they are taken from.
const BINS: usize = 32;
const SAMPLED: usize = 20_000;
/// A split must explain as much as so many rows vary.
const WORTH: f64 = 10.0;
/// A normal standard deviation in median distances.
const NORMAL: f64 = 1.4826;

/// Targets of one output that were set aside.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outliers {
    pub(super) output: usize,
    pub(super) rows: Vec<usize>,
}

/// The same rows, where outliers are not observed; `None` if there are none.
pub(super) fn set_aside(data: &Dataset) -> Result<Option<(Dataset, Vec<Outliers>)>> {
    let Target::Values { y, observed } = data.target() else { return Ok(None) };
    let width = y.width();
    let mut seen = observed.clone().unwrap_or_else(|| vec![true; y.data().len()]);
    let inputs = Binned::new(data.x());
    let mut all = Vec::new();
    for output in 0..width {
        let known: Vec<usize> = (0..data.rows()).filter(|row| seen[row * width + output]).collect();
        let values: Vec<f64> = known.iter().map(|row| y.row(*row)[output]).collect();
        let rows: Vec<usize> = outliers(&inputs, &known, &values).into_iter().map(|i| known[i]).collect();
        rows.iter().for_each(|row| seen[row * width + output] = false);
        if !rows.is_empty() {
            all.push(Outliers { output, rows });
        }
    }
    if all.is_empty() {
        return Ok(None);
    }
    let values = y.data().iter().zip(&seen).map(|(y, seen)| if *seen { *y } else { 0.0 });
    let target = Target::Values { y: Matrix::new(values.collect(), width)?, observed: Some(seen) };
    Ok(Some((data.clone().with_target(target)?, all)))
}

/// Places among the targets of those that are outliers.
fn outliers(inputs: &Binned, rows: &[usize], y: &[f64]) -> Vec<usize> {
    if y.len() < LEAST_ROWS {
        return Vec::new();
    }
    let leaves = leaves(inputs, rows, y);
    let raw = Distances::new(&leaves, y);
    let found = match logarithms(y).map(|ln| Distances::new(&leaves, &ln)) {
        Some(ln) if ln.skew().abs() < raw.skew().abs() => ln.beyond(|share| -2.0 * share.ln()),
        _ => raw.beyond(|share| 2.5 / share.sqrt()),
    };
    if found.len() as f64 > MOST * y.len() as f64 { Vec::new() } else { found }
}

/// Of targets that are not negative.
fn logarithms(y: &[f64]) -> Option<Vec<f64>> {
    if y.iter().any(|y| *y < 0.0) {
        return None;
    }
    let positive: Vec<f64> = y.iter().copied().filter(|y| *y > 0.0).collect();
    match positive.len() == y.len() {
        true => Some(y.iter().map(|y| libm::log(*y)).collect()),
        false if positive.is_empty() => None,
        false => {
            let middle = median(positive);
            Some(y.iter().map(|y| libm::log1p(y / middle)).collect())
        }
    }
}

/// How far targets are from those of similar rows.
struct Distances {
    /// Signed, and in robust deviations.
    off: Vec<f64>,
    scaled: Vec<f64>,
}

impl Distances {
    fn new(leaves: &[Vec<usize>], y: &[f64]) -> Self {
        let (mut off, mut own) = (vec![0.0; y.len()], vec![0.0; y.len()]);
        for leaf in leaves {
            let middle = median(leaf.iter().map(|&i| y[i]).collect());
            leaf.iter().for_each(|&i| off[i] = y[i] - middle);
            let spread = NORMAL * median(leaf.iter().map(|&i| off[i].abs()).collect());
            leaf.iter().for_each(|&i| own[i] = spread);
        }
        let usual = NORMAL * median(off.iter().map(|v| v.abs()).collect());
        // Where most targets are exactly those of similar rows, nothing says how far another may be.
        let scale = |(off, own): (&f64, &f64)| if usual > 0.0 { off.abs() / own.max(usual) } else { 0.0 };
        let scaled = off.iter().zip(&own).map(scale).collect();
        Distances { off, scaled }
    }

    /// How uneven the middle four fifths are.
    fn skew(&self) -> f64 {
        let mut sorted = self.off.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| sorted[(share * (sorted.len() - 1) as f64).round() as usize];
        let (low, middle, high) = (at(0.1), at(0.5), at(0.9));
        if high > low { (high + low - 2.0 * middle) / (high - low) } else { 0.0 }
    }

    /// Those beyond what is usual and beyond the limit of their rank, as a share of all.
    fn beyond(&self, limit: impl Fn(f64) -> f64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.scaled.len()).collect();
        order.sort_by(|a, b| self.scaled[*b].total_cmp(&self.scaled[*a]));
        let limit = |k: usize| USUAL.max(limit(k as f64 / order.len() as f64));
        let count = (1..=order.len()).rev().find(|&k| self.scaled[order[k - 1]] > limit(k)).unwrap_or(0);
        order.truncate(count);
        order.sort_unstable();
        order
    }
}

/// Inputs by the bins that they are in.
struct Binned {
    bins: Vec<u8>,
    width: usize,
}

impl Binned {
    fn new(x: &Matrix) -> Self {
        let (rows, width) = (x.rows(), x.width());
        let step = rows.div_ceil(SAMPLED);
        let edges = |column: usize| {
            let mut values: Vec<f64> =
                x.data().iter().skip(column).step_by(width).step_by(step).copied().collect();
            values.sort_by(f64::total_cmp);
            let mut edges: Vec<f64> = (1..BINS).map(|bin| values[bin * (values.len() - 1) / BINS]).collect();
            edges.dedup();
            edges
        };
        let edges: Vec<Vec<f64>> = (0..width).map(edges).collect();
        let bin = |(i, value): (usize, &f64)| edges[i % width].partition_point(|edge| edge < value) as u8;
        Binned { bins: x.data().iter().enumerate().map(bin).collect(), width }
    }
}

/// The leaves of a tree of rows whose targets have similar ranks, as places among the targets.
fn leaves(inputs: &Binned, rows: &[usize], y: &[f64]) -> Vec<Vec<usize>> {
    let ranks = ranks(y);
    let bin = |i: usize, column: usize| usize::from(inputs.bins[rows[i] * inputs.width + column]);
    let (mut open, mut done) = (vec![(0..y.len()).collect::<Vec<usize>>()], Vec::new());
    while let Some(node) = open.pop() {
        let n = node.len() as f64;
        let sum: f64 = node.iter().map(|&i| ranks[i]).sum();
        let var = node.iter().map(|&i| (ranks[i] - sum / n).powi(2)).sum::<f64>() / n;
        let mut best = (WORTH * var, None);
        for column in (0..inputs.width).filter(|_| node.len() >= 2 * LEAF) {
            let (mut count, mut sums) = ([0usize; BINS + 1], [0.0; BINS + 1]);
            for &i in &node {
                count[bin(i, column)] += 1;
                sums[bin(i, column)] += ranks[i];
            }
            let (mut left, mut left_sum) = (0, 0.0);
            for at in 0..BINS {
                left += count[at];
                left_sum += sums[at];
                let right = node.len() - left;
                if left < LEAF || right < LEAF {
                    continue;
                }
                let between = left_sum / left as f64 - (sum - left_sum) / right as f64;
                let gain = between * between * left as f64 * right as f64 / n;
                if gain > best.0 {
                    best = (gain, Some((column, at)));
                }
            }
        }
        match best.1 {
            None => done.push(node),
            Some((column, at)) => {
                let (low, high) = node.into_iter().partition(|&i| bin(i, column) <= at);
                open.extend([low, high]);
            }
        }
    }
    done
}

/// From 0 to 1, the same for the same targets.
fn ranks(y: &[f64]) -> Vec<f64> {
    let mut sorted = y.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = |y: &f64| (sorted.partition_point(|v| v < y) + sorted.partition_point(|v| v <= y)) as f64;
    y.iter().map(|y| 0.5 * rank(y) / sorted.len() as f64).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use tractable_core::rng::{self, ChaCha8Rng};

    /// Rows with five inputs, and targets by a function of these and of a random stream.
    fn made(rows: usize, seed: u64, y: impl Fn(&[f64], &mut ChaCha8Rng) -> f64) -> Dataset {
        let mut random = rng::stream(seed, "outliers", 0);
        let x: Vec<f64> = (0..5 * rows).map(|_| rng::uniform(0.0, 1.0, &mut random)).collect();
        let y = x.chunks_exact(5).map(|x| y(x, &mut random)).collect();
        Dataset::new(Matrix::new(x, 5).unwrap(), Matrix::column(y).unwrap()).unwrap()
    }

    fn friedman(x: &[f64], random: &mut ChaCha8Rng) -> f64 {
        let wave = 10.0 * (std::f64::consts::PI * x[0] * x[1]).sin();
        wave + 20.0 * (x[2] - 0.5).powi(2) + 10.0 * x[3] + 5.0 * x[4] + rng::standard_normal(random)
    }

    /// Prices over three orders of magnitude, as of diamonds.
    fn price(x: &[f64], random: &mut ChaCha8Rng) -> f64 {
        (5.0 + 3.5 * x[0] + 0.5 * x[1] * x[2] + 0.15 * rng::standard_normal(random)).exp()
    }

    fn found(data: &Dataset) -> Vec<usize> {
        set_aside(data).unwrap().map_or(Vec::new(), |(_, all)| all[0].rows.clone())
    }

    /// With every so many-th target a hundred times as large, or a hundredth.
    fn spoiled(data: Dataset, every: usize, factor: f64) -> Dataset {
        let spoil = |(row, y): (usize, &f64)| if row % every == every - 1 { factor * y } else { *y };
        let y = data.y().unwrap().data().iter().enumerate().map(spoil).collect();
        data.with_target(Target::Values { y: Matrix::column(y).unwrap(), observed: None }).unwrap()
    }

    #[test]
    fn targets_that_are_a_hundred_times_too_large_are_found_and_no_others() {
        for seed in 0..10 {
            let data = spoiled(made(400, seed, friedman), 100, 100.0);
            assert_eq!(found(&data), [99, 199, 299, 399], "{seed}");
        }
        for factor in [100.0, 0.01] {
            let data = spoiled(made(20_000, 1, price), 500, factor);
            assert_eq!(found(&data), (0..40).map(|i| 500 * i + 499).collect::<Vec<_>>());
        }
    }

    #[test]
    fn heavy_tails_counts_and_rare_events_are_not_outliers() {
        let normal = |random: &mut ChaCha8Rng| rng::standard_normal(random);
        let uniform = |random: &mut ChaCha8Rng| rng::uniform(1e-12, 1.0, random);
        let student = |random: &mut ChaCha8Rng| {
            let square: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
            normal(random) / (square / 3.0).sqrt()
        };
        let poisson = |mean: f64, random: &mut ChaCha8Rng| {
            let (mut product, mut count) = (uniform(random), 0.0);
            while product > (-mean).exp() {
                product *= uniform(random);
                count += 1.0;
            }
            count
        };
        type Law<'a> = (&'a str, Box<dyn Fn(&[f64], &mut ChaCha8Rng) -> f64 + 'a>);
        let laws: [Law<'_>; 12] = [
            ("normal", Box::new(|x, r| x[0] + normal(r))),
            ("Student, three degrees of freedom", Box::new(|x, r| x[0] + student(r))),
            ("log-normal", Box::new(|x, r| (x[0] + normal(r)).exp())),
            ("log-normal, wide", Box::new(|x, r| (x[0] + 2.0 * normal(r)).exp())),
            (
                "log-normal or 0",
                Box::new(|x, r| if uniform(r) < 0.3 { 0.0 } else { (x[0] + normal(r)).exp() }),
            ),
            ("log-normal with a sign", Box::new(|x, r| (x[0] + 0.8 * normal(r)).exp() - 0.5)),
            ("exponential", Box::new(|x, r| -(1.0 + x[0]) * uniform(r).ln())),
            ("uniform", Box::new(|_, r| uniform(r))),
            ("square", Box::new(|_, r| normal(r).powi(2))),
            ("counts", Box::new(|x, r| poisson(3.0 * x[0], r))),
            ("few counts", Box::new(|x, r| poisson(0.3 * x[0], r))),
            ("rare events", Box::new(|x, r| f64::from(u8::from(uniform(r) < 0.02 * x[0])))),
        ];
        for (name, law) in laws {
            for rows in [100, 1000, 10_000] {
                let seeds = if rows < 5000 { 20 } else { 2 };
                let set = (0..seeds).map(|seed| found(&made(rows, seed, &law)).len()).sum::<usize>();
                assert!(set <= 1, "{name}: {set} of {seeds} times {rows}");
            }
        }
    }

    #[test]
    fn what_is_set_aside_is_not_observed_in_its_output_alone() {
        let one = spoiled(made(400, 3, friedman), 200, 100.0);
        let two = made(400, 3, friedman);
        let both = one.y().unwrap().data().iter().zip(two.y().unwrap().data());
        let y = Matrix::new(both.flat_map(|(a, b)| [*a, *b]).collect(), 2).unwrap();
        let data = Dataset::new(one.x().clone(), y).unwrap();
        let (clean, all) = set_aside(&data).unwrap().unwrap();
        assert_eq!(all, [Outliers { output: 0, rows: vec![199, 399] }]);
        let Target::Values { y, observed: Some(observed) } = clean.target() else { panic!() };
        let missing: Vec<usize> = (0..800).filter(|&i| !observed[i]).collect();
        assert_eq!((missing, y.data()[398]), (vec![398, 798], 0.0));
        assert_eq!(y.data()[399], data.y().unwrap().data()[399]);
    }

    #[test]
    fn if_many_targets_are_far_off_none_is_an_outlier() {
        assert!(found(&spoiled(made(400, 3, friedman), 10, 100.0)).is_empty());
    }
}
