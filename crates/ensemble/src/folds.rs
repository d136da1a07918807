//! Which rows which network does not learn from.
//!
//! Rows are cut into five folds at random, and of classes as many of each are in every fold as can be. What belongs together stays
//! together: the rows of one group, or the copies of a row where a table was plainly repeated (`copies.rs`). The largest groups come
//! first, each into the fold that has the fewest rows.
//!
//! Where rows have a time, they are cut by it into six parts of about as many rows, and rows of the same time stay together. The
//! first part is left out by no network; each of the others by one that has learned only what was before it. Those five say how good
//! predictions of later rows are. A sixth, which has learned all rows, predicts.

use tractable_core::error::{Error, Result};
use tractable_core::rng;
use tractable_data::{Dataset, Related, Target};

/// Parts that the rows are cut into; every network leaves one out.
pub(super) const FOLDS: usize = 5;
/// In the place of a fold: of a network, that it leaves out nothing; of a row, that no network leaves it out.
pub(super) const NONE: usize = FOLDS;

/// The fold of every row.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub(super) struct Folds {
    /// Left-out rows are later than those that were learned.
    later: bool,
    /// A model's file has one digit for every row.
    #[cfg_attr(feature = "files", serde(with = "digits"))]
    of_row: Vec<u8>,
}

impl Folds {
    /// Of rows that are related in this way.
    pub(super) fn of(data: &Dataset, related: Option<&Related>, seed: u64) -> Result<Self> {
        let folds = match related {
            None => Self::plain(data.target(), data.rows(), seed)?,
            Some(Related::Groups(groups)) => together(data.target(), groups, seed)?,
            Some(Related::Time(time)) => by_time(time)?,
        };
        folds.check_known(data)?;
        Ok(folds)
    }

    /// Every network learns something about every output.
    fn check_known(&self, data: &Dataset) -> Result<()> {
        let Target::Values { y, observed: Some(observed) } = data.target() else { return Ok(()) };
        let width = y.width();
        let counts = |row: usize| data.weights().is_none_or(|w| w[row] > 0.0);
        for fold in self.networks(false) {
            let learned = self.rows(fold, false);
            for output in 0..width {
                if !learned.iter().any(|row| counts(*row) && observed[row * width + output]) {
                    let why = match self.later {
                        true => {
                            "it is known in no row of the first sixth by time, from which the first networks learn"
                        }
                        false => "the rows where it is known are too few, or belong to too few groups",
                    };
                    let name = data.output_names().get(output).map_or("", String::as_str);
                    return Err(Error::invalid(format!("target `{name}`"), why));
                }
            }
        }
        Ok(())
    }

    /// Of rows that are independent.
    pub(super) fn plain(target: &Target, rows: usize, seed: u64) -> Result<Self> {
        together(target, &(0..rows).collect::<Vec<_>>(), seed)
    }

    /// All rows in the first fold.
    pub(super) fn one(rows: usize) -> Self {
        Folds { later: false, of_row: vec![0; rows] }
    }

    /// What the networks of one kind leave out; with `single`, as few of them as can be.
    pub(super) fn networks(&self, single: bool) -> std::ops::Range<usize> {
        match (self.later, single) {
            (false, false) => 0..FOLDS,
            (false, true) => 0..1,
            (true, false) => 0..FOLDS + 1,
            (true, true) => FOLDS - 1..FOLDS + 1,
        }
    }

    /// The one whose network comes first: what it leaves out tells which kinds are promising.
    pub(super) fn lead(&self) -> usize {
        if self.later { FOLDS - 1 } else { 0 }
    }

    pub(super) fn of_row(&self, row: usize) -> usize {
        usize::from(self.of_row[row])
    }

    /// Whether these can be the folds of so many rows.
    pub(super) fn check(&self, rows: usize) -> Result<()> {
        match self.of_row.len() == rows {
            true => Ok(()),
            false => Err(Error::shape("data", format!("{} rows", self.of_row.len()), rows)),
        }
    }

    /// The rows that a network leaves out, or those that it learns.
    pub(super) fn rows(&self, fold: usize, left_out: bool) -> Vec<usize> {
        let is = |&row: &usize| match (left_out, self.of_row(row)) {
            (true, own) => own == fold && fold != NONE,
            (false, own) if self.later => own == NONE || own < fold,
            (false, own) => own != fold,
        };
        (0..self.of_row.len()).filter(is).collect()
    }
}

/// Groups in folds of about as many rows.
fn together(target: &Target, groups: &[usize], seed: u64) -> Result<Folds> {
    let mut order: Vec<usize> = (0..groups.len()).collect();
    rng::shuffle(&mut order, &mut rng::stream(seed, "folds", 0));
    if let Target::Labels { labels, .. } = target {
        order.sort_by_key(|&row| labels[row]);
    }
    let mut sizes = vec![0; groups.iter().max().map_or(0, |most| most + 1)];
    groups.iter().for_each(|&group| sizes[group] += 1);
    let (mut seen, mut units) = (vec![false; sizes.len()], Vec::new());
    for row in order {
        if !std::mem::replace(&mut seen[groups[row]], true) {
            units.push(groups[row]);
        }
    }
    if units.len() < FOLDS {
        let why = format!(
            "there are {}, each of which stays together; at least {FOLDS} are needed to leave some out",
            units.len()
        );
        return Err(Error::invalid("groups", why));
    }
    units.sort_by_key(|&group| std::cmp::Reverse(sizes[group]));
    let (mut rows, mut fold) = ([0; FOLDS], vec![0; sizes.len()]);
    for group in units {
        let least = (0..FOLDS).min_by_key(|&f| rows[f]).expect("there are folds");
        rows[least] += sizes[group];
        fold[group] = least as u8;
    }
    Ok(Folds { later: false, of_row: groups.iter().map(|&group| fold[group]).collect() })
}

fn by_time(time: &[f64]) -> Result<Folds> {
    let (parts, rows) = (FOLDS + 1, time.len());
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by(|a, b| time[*a].total_cmp(&time[*b]));
    let (mut of_row, mut sizes, mut part) = (vec![0; rows], vec![0; parts], 0);
    for (i, &row) in order.iter().enumerate() {
        if i == 0 || time[row] > time[order[i - 1]] {
            part = i * parts / rows;
        }
        sizes[part] += 1;
        of_row[row] = match part {
            0 => NONE as u8,
            part => part as u8 - 1,
        };
    }
    match sizes.contains(&0) {
        false => Ok(Folds { later: true, of_row }),
        true => {
            let why = format!("too many rows have the same: they cannot be cut into {parts} parts by it");
            Err(Error::invalid("time", why))
        }
    }
}

#[cfg(feature = "files")]
mod digits {
    use super::NONE;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(of_row: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&of_row.iter().map(|fold| char::from(b'0' + fold)).collect::<String>())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let fold = |digit: u8| match digit.checked_sub(b'0') {
            Some(fold) if usize::from(fold) <= NONE => Ok(fold),
            _ => Err(D::Error::custom("is no fold")),
        };
        String::deserialize(from)?.bytes().map(fold).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tractable_core::gaussian::Matrix;

    fn numbers(rows: usize) -> Dataset {
        let x = Matrix::column((0..rows).map(|i| (i as f64).sin()).collect()).unwrap();
        Dataset::new(x.clone(), x).unwrap()
    }

    #[test]
    fn rows_by_themselves_are_dealt_out_in_turn() {
        let (data, seed) = (numbers(103), 4);
        let folds = Folds::plain(data.target(), 103, seed).unwrap();
        let mut order: Vec<usize> = (0..103).collect();
        rng::shuffle(&mut order, &mut rng::stream(seed, "folds", 0));
        assert!(order.iter().enumerate().all(|(i, &row)| folds.of_row(row) == i % FOLDS));
    }

    #[test]
    fn a_group_is_in_one_fold_and_folds_are_about_as_large() {
        let groups: Vec<usize> = (0..200).map(|row| (row * row) % 23).collect();
        let data = numbers(200).with_groups(groups.clone()).unwrap();
        let folds = Folds::of(&data, data.related(), 0).unwrap();
        for fold in 0..FOLDS {
            let (out, learned) = (folds.rows(fold, true), folds.rows(fold, false));
            assert!((25..60).contains(&out.len()) && out.len() + learned.len() == 200, "{}", out.len());
            assert!(out.iter().all(|&a| learned.iter().all(|&b| groups[a] != groups[b])));
        }
        let few = numbers(200).with_groups((0..200).map(|row| row % 4).collect()).unwrap();
        assert!(Folds::of(&few, few.related(), 0).unwrap_err().to_string().contains("there are 4"));
    }

    #[test]
    fn rows_that_are_left_out_are_later_than_those_learned() {
        let time: Vec<f64> = (0..60).map(|row| f64::from(row * 7 % 60 / 2)).collect();
        let data = numbers(60).with_time(time.clone()).unwrap();
        let folds = Folds::of(&data, data.related(), 0).unwrap();
        assert_eq!(folds.networks(false), 0..6);
        let mut left_out = 0;
        for fold in 0..FOLDS {
            let (out, learned) = (folds.rows(fold, true), folds.rows(fold, false));
            assert!(learned.len() >= 10 && out.iter().all(|&a| learned.iter().all(|&b| time[b] < time[a])));
            left_out += out.len();
        }
        assert_eq!((left_out, folds.rows(NONE, false).len(), folds.rows(NONE, true).len()), (50, 60, 0));
        let late = Target::Values {
            y: data.y().unwrap().clone(),
            observed: Some(time.iter().map(|t| *t > 12.0).collect()),
        };
        let late = data.clone().with_target(late).unwrap();
        let error = Folds::of(&late, late.related(), 0).unwrap_err().to_string();
        assert!(error.contains("`y0`") && error.contains("first sixth by time"), "{error}");
        let same = numbers(60).with_time(vec![1.0; 60]).unwrap();
        assert!(Folds::of(&same, same.related(), 0).unwrap_err().to_string().contains("the same"));
    }
}
