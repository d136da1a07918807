//! Two readings of each row: its numbers, as they are or squashed, and their ranks.
//!
//! Distances between ranks do not depend on how a column is spread; what is learned on a logarithm runs away with numbers that are not
//! squashed. Columns that are several inputs (categories, dates) are always read as they are.

/// Places at which the share of smaller numbers is kept.
const KNOTS: usize = 65;
/// Quartiles of a normal variable are so many standard deviations apart,
const QUARTILES: f64 = 1.349;
/// and so much of a range stands in for one where they are equal.
const RANGE: f64 = 0.25;
/// Squashed numbers end here, in such deviations.
const END: f64 = 3.0;

/// How rows of standardised inputs are read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Readings {
    /// The column of every input, counted from 0 without a gap.
    pub(super) groups: Vec<usize>,
    /// [`NUMBERS`] of every input: median, spread, mean and standard deviation of squashed numbers, the same of ranks; then knots; then
    /// the shares there.
    pub(super) numbers: Vec<f64>,
}

/// Numbers kept of one input.
pub(super) const NUMBERS: usize = 6 + 2 * KNOTS;

impl Readings {
    /// From all rows, standardised.
    pub(crate) fn fit(x: &[f64], groups: Vec<usize>) -> Self {
        let width = groups.len();
        let numbers = (0..width).flat_map(|input| {
            let mut sorted: Vec<f64> = x.iter().skip(input).step_by(width).copied().collect();
            sorted.sort_by(f64::total_cmp);
            of_sorted(&sorted)
        });
        Readings { numbers: numbers.collect(), groups }
    }

    pub(super) fn columns(&self) -> usize {
        self.groups.iter().max().map_or(0, |last| last + 1)
    }

    fn is_number(&self, input: usize) -> bool {
        let own = |at: &usize| self.groups[*at] == self.groups[input];
        (0..self.groups.len()).filter(own).count() == 1
    }

    /// Both readings of rows; the first one squashed or not.
    pub(super) fn of(&self, x: &[f64], squashed: bool) -> [Vec<f64>; 2] {
        let mut read = [x.to_vec(), x.to_vec()];
        let width = self.groups.len();
        for (input, numbers) in self.numbers.chunks_exact(NUMBERS).enumerate() {
            if !self.is_number(input) {
                continue;
            }
            let (about, knots) = numbers.split_at(6);
            let (values, shares) = knots.split_at(KNOTS);
            for at in (input..x.len()).step_by(width) {
                if squashed {
                    read[0][at] = (squash(x[at], about) - about[2]) / about[3];
                }
                read[1][at] = (share(x[at], values, shares) - about[4]) / about[5];
            }
        }
        read
    }

    /// Whether it can be one, in a file.
    #[cfg(feature = "files")]
    pub(super) fn is_sound(&self) -> bool {
        let width = self.groups.len();
        let mut next = 0;
        let counted = self.groups.iter().all(|&group| {
            let follows = group == next || (next > 0 && group == next - 1);
            next += usize::from(group == next);
            follows
        });
        let input = |of: &[f64]| {
            let (values, shares) = of[6..].split_at(KNOTS);
            of[1] > 0.0 && of[3] > 0.0 && of[5] > 0.0 && values.is_sorted() && shares.is_sorted()
        };
        counted
            && self.numbers.len() == width * NUMBERS
            && self.numbers.iter().all(|v| v.is_finite())
            && self.numbers.chunks_exact(NUMBERS).all(input)
    }
}

fn of_sorted(sorted: &[f64]) -> Vec<f64> {
    let n = sorted.len();
    let quantile = |p: f64| {
        let at = p * (n - 1) as f64;
        let (low, share) = (at as usize, at.fract());
        sorted[low] + share * (sorted[(low + 1).min(n - 1)] - sorted[low])
    };
    let middle = (quantile(0.75) - quantile(0.25)) / QUARTILES;
    let spread = if middle > 0.0 { middle } else { RANGE * (sorted[n - 1] - sorted[0]) };
    let mut about = vec![quantile(0.5), if spread > 0.0 { spread } else { 1.0 }];
    // Equal numbers share their mean rank.
    let mut ranks: Vec<(f64, f64)> = Vec::new();
    let mut below = 0;
    for equal in sorted.chunk_by(|a, b| a == b) {
        ranks.extend(equal.iter().map(|v| (*v, (below as f64 + 0.5 * equal.len() as f64) / n as f64)));
        below += equal.len();
    }
    let squashed: Vec<f64> = sorted.iter().map(|v| squash(*v, &about)).collect();
    for of in [squashed, ranks.iter().map(|r| r.1).collect()] {
        let mean = of.iter().sum::<f64>() / n as f64;
        let std = (of.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
        about.extend([mean, if std > 0.0 { std } else { 1.0 }]);
    }
    let distinct: Vec<(f64, f64)> = ranks.chunk_by(|a, b| a.0 == b.0).map(|equal| equal[0]).collect();
    let from = if distinct.len() <= KNOTS { &distinct } else { &ranks };
    let at = |k: usize| match from.len() <= KNOTS {
        true => k.min(from.len() - 1),
        false => k * (from.len() - 1) / (KNOTS - 1),
    };
    about.extend((0..KNOTS).map(|k| from[at(k)].0));
    about.extend((0..KNOTS).map(|k| from[at(k)].1));
    about
}

fn squash(x: f64, about: &[f64]) -> f64 {
    let z = (x - about[0]) / about[1];
    z / (1.0 + (z / END) * (z / END)).sqrt()
}

/// The share of smaller numbers: linear between knots, constant outside.
fn share(x: f64, values: &[f64], shares: &[f64]) -> f64 {
    match values.partition_point(|v| *v <= x) {
        0 => shares[0],
        KNOTS => shares[KNOTS - 1],
        k => {
            let part = (x - values[k - 1]) / (values[k] - values[k - 1]);
            shares[k - 1] + part * (shares[k] - shares[k - 1])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tractable_core::rng;

    #[cfg(feature = "files")]
    #[test]
    fn columns_of_a_file_have_no_gaps() {
        let sound = |groups: &[usize]| {
            let groups = groups.to_vec();
            Readings {
                numbers: Readings::fit(&vec![0.5; groups.len()], vec![0; groups.len()]).numbers,
                groups,
            }
            .is_sound()
        };
        assert!(sound(&[0, 0, 1]) && sound(&[0, 1, 1, 2]));
        for groups in [&[1][..], &[0, 2], &[0, 1, 0], &[usize::MAX], &[usize::MAX - 1]] {
            assert!(!sound(groups), "{groups:?}");
        }
    }

    #[test]
    fn ranks_are_shares_of_smaller_numbers() {
        // Few distinct numbers: exact, with the mean rank of equal ones.
        let readings = Readings::fit(&[1.0, 1.0, 2.0, 5.0], vec![0]);
        let [_, ranks] = readings.of(&[0.0, 1.0, 1.5, 2.0, 5.0, 9.0], false);
        let std = readings.numbers[5];
        let share = |k: usize| ranks[k] * std + readings.numbers[4];
        for (k, want) in [0.25, 0.25, 0.4375, 0.625, 0.875, 0.875].into_iter().enumerate() {
            assert!((share(k) - want).abs() < 1e-12, "{k}: {}", share(k));
        }
        // Many: close to the distribution function.
        let mut random = rng::stream(3, "readings", 0);
        let x: Vec<f64> = (0..3000).map(|_| rng::standard_normal(&mut random)).collect();
        let readings = Readings::fit(&x, vec![0]);
        let [squashed, ranks] = readings.of(&x, true);
        for read in [&squashed, &ranks] {
            let mean = read.iter().sum::<f64>() / 3000.0;
            let var = read.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 3000.0;
            assert!(mean.abs() < 0.01 && (var - 1.0).abs() < 0.01, "{mean} {var}");
        }
        let off = |i: usize| {
            let below = x.iter().filter(|v| **v < x[i]).count() as f64 / 3000.0;
            (ranks[i] * readings.numbers[5] + readings.numbers[4] - below).abs()
        };
        assert!((0..3000).map(off).fold(0.0, f64::max) < 0.02);
        assert!(readings.of(&[1e9], true)[0][0] < 5.0);
    }

    #[test]
    fn columns_of_several_inputs_are_read_as_they_are() {
        let x = [0.0, 1.0, 7.0, 1.0, 0.0, 8.0, 1.0, 0.0, 30.0];
        let readings = Readings::fit(&x, vec![0, 0, 1]);
        let [first, second] = readings.of(&x, true);
        for row in 0..3 {
            assert_eq!(first[row * 3..row * 3 + 2], x[row * 3..row * 3 + 2]);
            assert_eq!(second[row * 3..row * 3 + 2], x[row * 3..row * 3 + 2]);
            assert_ne!(first[row * 3 + 2], x[row * 3 + 2]);
        }
        assert_eq!(readings.columns(), 2);
    }
}
