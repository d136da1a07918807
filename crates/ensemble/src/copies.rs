//! Rows that stand in a table more than once.
//!
//! A row has a twin if another is the same in all inputs, in what is missing, and in the target. Rows can coincide by chance where
//! columns have few values, and natural tables have twins too: left-out rows then stand for new rows, which have twins as often. But
//! where rows were copied, a left-out row whose copy was learned says nothing of new rows.
//!
//! A table counts as plainly repeated if at least half of its rows have a twin, and if chance does not explain it: of its different
//! rows fewer than a quarter differ from another in one column alone, a column whose values recur. Where chance makes rows the same,
//! it makes many more of them almost the same; a copy is the same or altogether different. So where inputs were rounded to be
//! compared, rounding to twice as much leaves as many different rows; and of a single column that varies nothing is said.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use tractable_data::{Dataset, Target};

/// Share of rows with a twin from which on a table was repeated,
const TWINS: f64 = 0.5;
/// unless this share of the different rows differs from another in one column alone.
const BY_CHANCE: f64 = 0.25;
/// Of fewer different rows nothing is said.
const LEAST_DIFFERENT: usize = 20;
/// Inputs count as nearly the same if they are when rounded to this part of their standard deviation.
const NEARLY: f64 = 0.01;
/// Share of the different rows that remain different when rounded to twice as much, where rows are near copies.
const STAY_DIFFERENT: f64 = 0.8;

/// Where a table was plainly repeated, the group of every row: copies are in the same.
pub(super) fn copies(data: &Dataset) -> Option<Vec<usize>> {
    let table = Cells::of(data);
    let rows = table.all();
    table.is_repeated(&rows).then(|| {
        let mut known = HashMap::new();
        let number = |hash: &u64| {
            let next = known.len();
            *known.entry(*hash).or_insert(next)
        };
        rows.iter().map(number).collect()
    })
}

/// The share of rows whose inputs are nearly those of another row, where this is as plain as with copies.
pub(super) fn nearly_copied(data: &Dataset) -> Option<f64> {
    let [table, coarser] = [NEARLY, 2.0 * NEARLY].map(|part| Cells::rounded(data, part));
    let rows = table.all();
    let remain = || different(&coarser.all()) as f64 >= STAY_DIFFERENT * different(&rows) as f64;
    (table.is_repeated(&rows) && remain()).then(|| twins(&rows))
}

/// The cells of a table, to compare rows by.
struct Cells<'a> {
    /// Numbers of every row, and which of them are one column.
    numbers: Vec<(&'a [f64], usize)>,
    columns: Vec<(usize, Range<usize>)>,
    labels: Option<&'a [usize]>,
    /// What numbers of the first part are rounded to.
    steps: Vec<f64>,
    rows: usize,
}

impl<'a> Cells<'a> {
    /// Of inputs and targets, as they are.
    fn of(data: &'a Dataset) -> Self {
        let mut cells = Self::inputs(data);
        match data.target() {
            Target::Values { y, .. } => {
                let part = cells.numbers.len();
                cells.numbers.push((y.data(), y.width()));
                cells.columns.extend((0..y.width()).map(|i| (part, i..i + 1)));
            }
            Target::Labels { labels, .. } => cells.labels = Some(labels),
        }
        cells
    }

    /// Of inputs, rounded to this part of their standard deviations.
    fn rounded(data: &'a Dataset, part: f64) -> Self {
        let steps = data.input_scaler().std().iter().map(|std| part * std).collect();
        Cells { steps, ..Self::inputs(data) }
    }

    fn inputs(data: &'a Dataset) -> Self {
        let (width, input) = (data.width(), data.input());
        let columns = columns(data).into_iter().map(|inputs| (0, inputs)).collect();
        let mut numbers = vec![(data.x().data(), width)];
        // What is missing has a variance.
        numbers.extend(input.var().map(|var| (var, width)));
        let mut cells = Cells { numbers, columns, labels: None, steps: Vec::new(), rows: data.rows() };
        if input.var().is_some() {
            cells.columns.push((1, 0..width));
        }
        cells
    }

    fn count(&self) -> usize {
        self.columns.len() + usize::from(self.labels.is_some())
    }

    /// A number for what a row has in a column.
    fn cell(&self, row: usize, column: usize) -> u64 {
        let start = mixed(column as u64 + 1);
        let Some((part, inputs)) = self.columns.get(column) else {
            let label = self.labels.map_or(0, |labels| labels[row]);
            return mixed(start ^ label as u64);
        };
        let (numbers, width) = self.numbers[*part];
        numbers[row * width..][inputs.clone()].iter().zip(inputs.clone()).fold(start, |hash, (value, i)| {
            let value = match self.steps.get(i) {
                Some(step) if *part == 0 => (value / step).round(),
                _ => *value,
            };
            // No difference between zeros.
            mixed(hash ^ (value + 0.0).to_bits())
        })
    }

    /// A number for every row.
    fn all(&self) -> Vec<u64> {
        let of_row = |row| (0..self.count()).fold(0u64, |sum, c| sum.wrapping_add(self.cell(row, c)));
        (0..self.rows).map(of_row).collect()
    }

    fn is_repeated(&self, rows: &[u64]) -> bool {
        twins(rows) >= TWINS && self.coarse(rows) < BY_CHANCE
    }

    /// The share of the different rows that differ from another in one column alone, a column whose values recur.
    fn coarse(&self, rows: &[u64]) -> f64 {
        let mut different: Vec<(u64, usize)> = rows.iter().copied().zip(0..).collect();
        different.sort_unstable();
        different.dedup_by_key(|(hash, _)| *hash);
        if different.len() < LEAST_DIFFERENT {
            return 1.0;
        }
        let (mut close, mut vary) = (vec![false; different.len()], 0);
        for column in 0..self.count() {
            let cells: Vec<u64> = different.iter().map(|&(_, row)| self.cell(row, column)).collect();
            let mut values = cells.clone();
            values.sort_unstable();
            values.dedup();
            vary += usize::from(values.len() > 1);
            if 2 * values.len() > cells.len() {
                continue;
            }
            let rest = different.iter().zip(&cells).map(|((hash, _), cell)| hash.wrapping_sub(*cell));
            let mut rest: Vec<(u64, usize)> = rest.zip(0..).collect();
            rest.sort_unstable();
            for pair in rest.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
                (close[pair[0].1], close[pair[1].1]) = (true, true);
            }
        }
        if vary < 2 {
            return 1.0;
        }
        close.iter().filter(|close| **close).count() as f64 / close.len() as f64
    }
}

/// The inputs of every column of the table.
fn columns(data: &Dataset) -> Vec<Range<usize>> {
    #[cfg(feature = "csv")]
    if let Some(preparation) = data.preparation() {
        return preparation.columns().filter_map(|name| Some(preparation.column(name)?.0)).collect();
    }
    (0..data.width()).map(|i| i..i + 1).collect()
}

/// The share of rows that are the same as another.
fn twins(rows: &[u64]) -> f64 {
    let mut sorted = rows.to_vec();
    sorted.sort_unstable();
    let same = |i: &usize| (*i > 0 && sorted[i - 1] == sorted[*i]) || sorted.get(i + 1) == Some(&sorted[*i]);
    (0..sorted.len()).filter(same).count() as f64 / rows.len().max(1) as f64
}

/// How many of the rows are different.
fn different(rows: &[u64]) -> usize {
    rows.iter().collect::<HashSet<_>>().len()
}

/// Every bit of the result depends on every bit (the finaliser of SplitMix64).
fn mixed(v: u64) -> u64 {
    let v = (v ^ (v >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let v = (v ^ (v >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    v ^ (v >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tractable_core::gaussian::Matrix;
    use tractable_core::rng;

    /// Inputs and a target, rounded to so many values for every unit.
    fn rows(count: usize, inputs: usize, per_unit: f64) -> Dataset {
        let mut random = rng::stream(1, "copies", 0);
        let mut number = || (rng::standard_normal(&mut random) * per_unit).round() / per_unit;
        let x = (0..count * inputs).map(|_| number()).collect();
        let y = (0..count).map(|_| number()).collect();
        Dataset::new(Matrix::new(x, inputs).unwrap(), Matrix::column(y).unwrap()).unwrap()
    }

    #[test]
    fn rows_that_stand_ten_times_are_ten_copies() {
        let one = rows(60, 3, 1e6);
        assert_eq!(copies(&one), None);
        let ten = one.select(&(0..600).map(|row| row % 60).collect::<Vec<_>>()).unwrap();
        assert_eq!(copies(&ten).unwrap(), (0..600).map(|row| row % 60).collect::<Vec<_>>());
        let labels = (0..60).map(|row| row % 2).collect();
        let classes = Target::Labels { labels, names: vec!["a".into(), "b".into()] };
        let ten = one.with_target(classes).unwrap().select(&(0..600).map(|row| row / 10).collect::<Vec<_>>());
        assert_eq!(copies(&ten.unwrap()).unwrap(), (0..600).map(|row| row / 10).collect::<Vec<_>>());
    }

    #[test]
    fn rows_drawn_with_repetition_are_copies() {
        let mut random = rng::stream(2, "drawn", 0);
        let drawn: Vec<usize> = (0..500).map(|_| rng::below(500, &mut random) as usize).collect();
        let groups = copies(&rows(500, 4, 1e6).select(&drawn).unwrap()).unwrap();
        let same = |a: usize, b: usize| (drawn[a] == drawn[b]) == (groups[a] == groups[b]);
        assert!((0..500).all(|a| (0..a).all(|b| same(a, b))));
    }

    #[test]
    fn a_few_twins_are_not_copies() {
        let mut some: Vec<usize> = (0..300).collect();
        some.extend(0..60);
        assert_eq!(copies(&rows(300, 4, 1e6).select(&some).unwrap()), None);
    }

    #[test]
    fn rows_of_a_few_values_are_the_same_by_chance() {
        for (count, inputs, per_unit) in
            [(500, 2, 1.0), (2000, 3, 1.0), (20_000, 4, 1.0), (5000, 6, 0.4), (300, 1, 1.0), (20_000, 2, 5.0)]
        {
            let data = rows(count, inputs, per_unit);
            assert_eq!(copies(&data), None, "{count} {inputs} {per_unit}");
            assert_eq!(nearly_copied(&data), None, "{count} {inputs} {per_unit}");
        }
    }

    #[test]
    fn one_column_makes_rows_nearly_the_same_by_chance() {
        for (count, per_unit) in [(300, 1e6), (2000, 1e6), (20_000, 1e6), (20_000, 20.0), (1000, 5.0)] {
            assert_eq!(nearly_copied(&rows(count, 1, per_unit)), None, "{count} {per_unit}");
        }
        // Two that say the same are one.
        for count in [300, 2000, 20_000] {
            let one = rows(count, 1, 1e6);
            let twice = one.x().data().iter().flat_map(|x| [*x, 32.0 + 1.8 * x]).collect();
            let data =
                Dataset::new(Matrix::new(twice, 2).unwrap(), Matrix::column(vec![0.5; count]).unwrap());
            assert_eq!(nearly_copied(&data.unwrap()), None, "{count}");
        }
    }

    #[test]
    fn inputs_that_differ_a_little_are_nearly_copied() {
        let (one, mut random) = (rows(200, 4, 1e6), rng::stream(3, "near", 0));
        let x = (0..2000 * 4).map(|i| one.x().data()[i % 800] + 1e-4 * rng::standard_normal(&mut random));
        let x = Matrix::new(x.collect(), 4).unwrap();
        let y = Matrix::column((0..2000).map(|_| rng::standard_normal(&mut random)).collect()).unwrap();
        let data = Dataset::new(x, y).unwrap();
        assert_eq!(copies(&data), None);
        assert!(nearly_copied(&data).unwrap() > 0.9);
        assert_eq!(nearly_copied(&one), None);
    }
}
