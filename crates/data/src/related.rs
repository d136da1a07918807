//! Rows that are not independent of each other.

use super::dataset::Dataset;
use std::collections::HashMap;
use tractable_core::error::{Error, Result};

/// How the rows of a [`Dataset`] are related. A model that leaves rows out to learn about new ones takes it into account.
///
/// ```
/// use tractable::{Matrix, data::{Dataset, Related}};
/// let x = Matrix::column((0..10).map(f64::from).collect())?;
/// let data = Dataset::new(x.clone(), x)?.with_groups((0..10).map(|row| row / 2).collect())?;
/// assert!(matches!(data.related(), Some(Related::Groups(_))));
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Related {
    /// Rows with the same number belong together: to one patient, one house, one experiment.
    Groups(Vec<usize>),
    /// When a row was observed: a model is to predict later rows.
    Time(Vec<f64>),
}

impl Related {
    fn len(&self) -> usize {
        match self {
            Related::Groups(groups) => groups.len(),
            Related::Time(time) => time.len(),
        }
    }

    pub(super) fn select(&self, rows: &[usize]) -> Self {
        match self {
            Related::Groups(groups) => Related::Groups(rows.iter().map(|&row| groups[row]).collect()),
            Related::Time(time) => Related::Time(rows.iter().map(|&row| time[row]).collect()),
        }
    }

    /// The rows of a random `order`, sorted so that those behind the `first` are fit to test with: of other groups, or later; and how
    /// many are in front then.
    pub(super) fn order(&self, mut order: Vec<usize>, first: usize) -> (Vec<usize>, usize) {
        match self {
            Related::Time(time) => order.sort_by(|a, b| time[*a].total_cmp(&time[*b])),
            Related::Groups(groups) => {
                let mut place = HashMap::new();
                for &row in &order {
                    let next = place.len();
                    place.entry(groups[row]).or_insert(next);
                }
                order.sort_by_key(|row| place[&groups[*row]]);
            }
        }
        let same = |a: usize, b: usize| match self {
            Related::Groups(groups) => groups[a] == groups[b],
            Related::Time(time) => time[a] == time[b],
        };
        let first = (first..order.len()).find(|&i| !same(order[i - 1], order[i])).unwrap_or(order.len());
        (order, first)
    }
}

impl Dataset {
    /// Rows with the same number belong together: none of a group is left out while others are learned, and
    /// [`split`](Dataset::split) puts whole groups into a part.
    ///
    /// # Errors
    /// When there is not one number for every row.
    ///
    /// ```
    /// # use tractable::{Matrix, data::Dataset};
    /// # let x = Matrix::column((0..10).map(f64::from).collect())?;
    /// let patients = (0..10).map(|row| row / 2).collect();
    /// let (train, test) = Dataset::new(x.clone(), x)?.with_groups(patients)?.split(0.5, 0)?;
    /// assert_eq!((train.rows(), test.rows()), (6, 4));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn with_groups(self, groups: Vec<usize>) -> Result<Self> {
        // As small numbers, in the order in which they occur.
        let mut known = HashMap::new();
        let number = |group: usize| {
            let next = known.len();
            *known.entry(group).or_insert(next)
        };
        let groups = groups.into_iter().map(number).collect();
        self.with_related("groups", Related::Groups(groups))
    }

    /// When every row was observed, in any unit: rows that are left out are later than those that were learned, and
    /// [`split`](Dataset::split) tests with the last rows.
    ///
    /// # Errors
    /// When there is not one finite number for every row.
    ///
    /// ```
    /// # use tractable::{Matrix, data::Dataset};
    /// let x = Matrix::column((0..10).map(f64::from).collect())?;
    /// let (train, test) = Dataset::new(x.clone(), x.clone())?.with_time(x.data().to_vec())?.split(0.8, 0)?;
    /// assert_eq!(test.x().data(), [8.0, 9.0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn with_time(self, time: Vec<f64>) -> Result<Self> {
        if let Some(row) = time.iter().position(|t| !t.is_finite()) {
            return Err(Error::invalid("time", format!("row {row} has {}, counted from 0", time[row])));
        }
        self.with_related("time", Related::Time(time))
    }

    fn with_related(mut self, what: &str, related: Related) -> Result<Self> {
        if related.len() != self.rows() {
            return Err(Error::shape(what, format!("{} entries, one a row", self.rows()), related.len()));
        }
        self.related = Some(related);
        Ok(self)
    }

    /// How the rows are related; `None`: they are independent.
    ///
    /// ```
    /// # use tractable::{Matrix, data::Dataset};
    /// # let data = Dataset::new(Matrix::column(vec![1.0, 2.0])?, Matrix::column(vec![3.0, 4.0])?)?;
    /// assert!(data.related().is_none());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn related(&self) -> Option<&Related> {
        self.related.as_ref()
    }
}
