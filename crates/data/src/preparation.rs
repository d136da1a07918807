//! [`Preparation`]: how the columns of a table become the inputs of a network; part of the model.

use super::dates::DateForm;
use super::missing::Joint;
use super::text::{is_missing, number, yes_or_no};
use std::f64::consts::TAU;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Gaussian, Matrix};

/// Variance that a category has at least, of all its levels together.
const LEAST_SPREAD: f64 = 0.1;

/// How the columns of a table become inputs: numbers as they are, categories as one input for each level, dates as days and
/// the time of the year, week and day. A missing cell becomes an uncertain input: its mean and variance given the others.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("flats.csv");
/// # std::fs::write(&path, "rooms,city,price\n2,Bonn,310\n4,Kiel,\"1,450\"\n,Bonn,200\n3,Kiel,600\n")?;
/// let data = tractable::data::csv(&path)?.target("price")?;
/// let preparation = data.preparation().expect("the file decides it");
/// assert_eq!(preparation.columns().collect::<Vec<_>>(), ["rooms", "city"]);
/// assert_eq!(preparation.inputs(), ["rooms", "city=Kiel"]);
/// let (mean, var) = preparation.encode(&["", "Kiel"])?;
/// assert!(mean[0] > 2.0 && var[0] > 0.0 && var[1] == 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Preparation {
    pub(super) columns: Vec<Prepared>,
    /// Columns that identify rows.
    pub(super) ids: Vec<String>,
    pub(super) joint: Joint,
}

/// A column that is used.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub(super) struct Prepared {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// What a column is.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub(super) enum Kind {
    Number {
        decimal_comma: bool,
    },
    YesNo,
    /// With `other`, levels that are not in the list have an input in common. The level "" is that of missing cells, if it is one.
    Category {
        levels: Vec<String>,
        other: bool,
    },
    Date {
        form: DateForm,
        parts: Vec<Part>,
    },
}

/// What a date says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub(super) enum Part {
    /// Days since 1970.
    Days,
    /// The time of the year, of the week and of the day, each as a sine and a cosine.
    Year,
    Week,
    Day,
}

/// What a cell was like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    Known,
    Missing,
    /// There is something, but nothing that the column had in training.
    Unreadable,
}

impl Part {
    fn push(self, days: f64, out: &mut Vec<f64>) {
        let turn = match self {
            Part::Days => return out.push(days),
            Part::Year => days / 365.2425,
            Part::Week => days / 7.0,
            Part::Day => days,
        };
        let angle = TAU * turn.rem_euclid(1.0);
        out.extend([libm::sin(angle), libm::cos(angle)]);
    }

    fn names(self, column: &str) -> Vec<String> {
        let of = match self {
            Part::Days => return vec![format!("{column} (days)")],
            Part::Year => "year",
            Part::Week => "week",
            Part::Day => "day",
        };
        vec![format!("{column} (sine of {of})"), format!("{column} (cosine of {of})")]
    }
}

impl Kind {
    pub(super) fn width(&self) -> usize {
        match self {
            Kind::Number { .. } | Kind::YesNo => 1,
            Kind::Category { levels, other } => match levels.len() + usize::from(*other) {
                2 => 1,
                n => n,
            },
            Kind::Date { parts, .. } => parts.iter().map(|p| if *p == Part::Days { 1 } else { 2 }).sum(),
        }
    }

    pub(super) fn names(&self, column: &str) -> Vec<String> {
        match self {
            Kind::Number { .. } | Kind::YesNo => vec![column.into()],
            Kind::Category { levels, other } => {
                let rest = other.then_some("(other)");
                let all: Vec<&str> = levels.iter().map(String::as_str).chain(rest).collect();
                let shown = if all.len() == 2 { &all[1..] } else { &all[..] };
                let name = |level: &&str| if level.is_empty() { "(missing)" } else { *level }.to_string();
                shown.iter().map(|level| format!("{column}={}", name(level))).collect()
            }
            Kind::Date { parts, .. } => parts.iter().flat_map(|p| p.names(column)).collect(),
        }
    }

    /// In words, for a table of the columns.
    pub(super) fn describe(&self) -> String {
        match self {
            Kind::Number { decimal_comma: false } => "number".into(),
            Kind::Number { decimal_comma: true } => "number, decimal comma".into(),
            Kind::YesNo => "yes or no".into(),
            Kind::Category { levels, other } => {
                let rest = if *other { ", rare ones together" } else { "" };
                let known = levels.iter().filter(|level| !level.is_empty()).count();
                let missing = if known < levels.len() { " and missing" } else { "" };
                let levels = if known == 1 { "level" } else { "levels" };
                format!("category, {known} {levels}{missing}{rest}")
            }
            Kind::Date { form, parts } => {
                let part = |p: &Part| match p {
                    Part::Days => "days",
                    Part::Year => "time of year",
                    Part::Week => "day of week",
                    Part::Day => "time of day",
                };
                let what = if *form == DateForm::TimeOfDay { "time" } else { "date" };
                let parts = parts.iter().map(part).collect::<Vec<_>>().join(", ");
                format!("{what} ({}): {parts}", form.name())
            }
        }
    }

    /// Adds what a cell says as inputs; zeros where it says nothing.
    pub(super) fn push(&self, cell: &str, out: &mut Vec<f64>) -> Cell {
        let width = self.width();
        let mut nothing = |cell: Cell| {
            out.extend(std::iter::repeat_n(0.0, width));
            cell
        };
        let missing = is_missing(cell);
        let is_level = matches!(self, Kind::Category { levels, .. } if levels[0].is_empty());
        if missing && !is_level {
            return nothing(Cell::Missing);
        }
        let cell = if missing { "" } else { cell };
        match self {
            Kind::Number { decimal_comma } => match number(cell, *decimal_comma) {
                Some(value) => out.push(value),
                None => return nothing(Cell::Unreadable),
            },
            Kind::YesNo => match yes_or_no(cell) {
                Some(yes) => out.push(f64::from(u8::from(yes))),
                None => return nothing(Cell::Unreadable),
            },
            Kind::Category { levels, other } => {
                let at = match levels.binary_search_by(|l| l.as_str().cmp(cell)) {
                    Ok(at) => at,
                    Err(_) if *other => levels.len(),
                    Err(_) => return nothing(Cell::Unreadable),
                };
                match width {
                    1 => out.push(at as f64),
                    _ => out.extend((0..width).map(|i| f64::from(u8::from(i == at)))),
                }
            }
            Kind::Date { form, parts } => match form.days(cell) {
                Some(days) => parts.iter().for_each(|p| p.push(days, out)),
                None => return nothing(Cell::Unreadable),
            },
        }
        Cell::Known
    }
}

impl Preparation {
    /// Columns of numbers, of which mean and standard deviation are known: what a missing one becomes.
    ///
    /// ```
    /// let numbers = tractable::data::Preparation::of_numbers(&["a".into()], vec![1.0], vec![2.0]);
    /// assert_eq!(numbers.encode(&["?"])?, (vec![1.0], vec![4.0]));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn of_numbers(names: &[String], mean: Vec<f64>, std: Vec<f64>) -> Self {
        let column =
            |name: &String| Prepared { name: name.clone(), kind: Kind::Number { decimal_comma: false } };
        let joint = Joint::independent(mean, std);
        Preparation { columns: names.iter().map(column).collect(), ids: Vec::new(), joint }
    }

    /// The same columns, with the distribution of these inputs; `None`: all are known.
    pub(super) fn refitted(&self, x: &[f64], known: Option<&[bool]>) -> Self {
        let all = vec![true; if known.is_none() { x.len() } else { 0 }];
        let joint = Joint::fit(x, known.unwrap_or(&all), self.width());
        Preparation { joint, ..self.clone() }
    }

    /// Names of the columns that are read, in their order.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|c| c.name.as_str())
    }

    /// Names of the columns that identify rows and are not inputs.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Names of the inputs that the columns become.
    pub fn inputs(&self) -> Vec<String> {
        self.columns.iter().flat_map(|c| c.kind.names(&c.name)).collect()
    }

    /// Number of inputs.
    pub fn width(&self) -> usize {
        self.columns.iter().map(|c| c.kind.width()).sum()
    }

    /// The inputs of a column, and what its cells are, in words.
    pub fn column(&self, name: &str) -> Option<(std::ops::Range<usize>, String)> {
        let at = self.columns.iter().position(|c| c.name == name)?;
        let from = self.columns[..at].iter().map(|c| c.kind.width()).sum::<usize>();
        let kind = &self.columns[at].kind;
        Some((from..from + kind.width(), kind.describe()))
    }

    /// What the cells of a column with levels can be, in the order of its inputs; `None` for numbers and dates.
    pub fn levels(&self, name: &str) -> Option<Vec<String>> {
        match &self.columns.iter().find(|c| c.name == name)?.kind {
            Kind::YesNo => Some(vec!["no".into(), "yes".into()]),
            Kind::Category { levels, other } => {
                Some(levels.iter().cloned().chain(other.then(|| "(other)".into())).collect())
            }
            Kind::Number { .. } | Kind::Date { .. } => None,
        }
    }

    /// Whether a column is one number, and its input has its name.
    pub fn is_number(&self, name: &str) -> bool {
        self.columns.iter().any(|c| c.name == name && matches!(c.kind, Kind::Number { .. }))
    }

    /// Whether a number of the training data had a decimal comma.
    pub(super) fn has_decimal_commas(&self) -> bool {
        self.columns.iter().any(|c| matches!(c.kind, Kind::Number { decimal_comma: true }))
    }

    /// The inputs of one column as a cell says them; `None` where the cell is missing.
    ///
    /// # Errors
    /// When there is no such column, or the cell is nothing that it had in training.
    pub fn inputs_of(&self, name: &str, cell: &str) -> Result<Option<Vec<f64>>> {
        let column = self.columns.iter().find(|c| c.name == name);
        let column = column.ok_or_else(|| Error::invalid(format!("column `{name}`"), "no such column"))?;
        let mut out = Vec::new();
        match column.kind.push(cell.trim(), &mut out) {
            Cell::Known => Ok(Some(out)),
            Cell::Missing => Ok(None),
            Cell::Unreadable => {
                let why = format!("\"{cell}\" is not what the column has: {}", column.kind.describe());
                Err(Error::invalid(format!("column `{name}`"), why))
            }
        }
    }

    /// Mean and variance of the inputs of one row, whose cells are in the order of [`columns`](Self::columns). A cell that
    /// is missing or cannot be read is uncertain.
    ///
    /// # Errors
    /// When there is not one cell for every column.
    pub fn encode(&self, cells: &[&str]) -> Result<(Vec<f64>, Vec<f64>)> {
        if cells.len() != self.columns.len() {
            return Err(Error::shape("cells", self.columns.len(), cells.len()));
        }
        let (mut mean, mut var) = (Vec::new(), Vec::new());
        self.push_row(|i| cells[i].trim().into(), &mut mean, &mut var, |_, _| {});
        Ok((mean, var))
    }

    /// Rows of inputs of which some are missing, marked in `missing`: mean and variance of all.
    ///
    /// # Errors
    /// When sizes do not agree.
    ///
    /// ```
    /// # use tractable::{Matrix, data::Preparation};
    /// let numbers = Preparation::of_numbers(&["a".into(), "b".into()], vec![1.0, 2.0], vec![2.0, 2.0]);
    /// let x = numbers.fill(&Matrix::new(vec![7.0, 0.0], 2)?, &[false, true])?;
    /// assert_eq!((x.mean(), x.var()), (&[7.0, 2.0][..], &[0.0, 4.0][..]));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn fill(&self, x: &Matrix, missing: &[bool]) -> Result<Gaussian> {
        let width = self.width();
        if x.width() != width {
            return Err(Error::shape("inputs", width, x.width()));
        }
        if missing.len() != x.data().len() {
            return Err(Error::shape("marks", x.data().len(), missing.len()));
        }
        let (mut mean, mut var) = (x.data().to_vec(), vec![0.0; missing.len()]);
        for (row, marks) in missing.chunks_exact(width).enumerate() {
            let gaps: Vec<usize> = (0..width).filter(|&i| marks[i]).collect();
            if !gaps.is_empty() {
                let at = row * width..(row + 1) * width;
                self.joint.fill(&mut mean[at.clone()], &mut var[at], &gaps);
            }
        }
        Gaussian::new(mean, var, width)
    }

    /// Adds one row; `note` hears of every cell that is not known. Says whether there is one.
    pub(super) fn push_row<'c>(
        &self,
        cell: impl Fn(usize) -> std::borrow::Cow<'c, str>,
        mean: &mut Vec<f64>,
        var: &mut Vec<f64>,
        mut note: impl FnMut(usize, Cell),
    ) -> bool {
        let from = mean.len();
        let mut missing = Vec::new();
        for (i, column) in self.columns.iter().enumerate() {
            let at = mean.len();
            let found = column.kind.push(&cell(i), mean);
            if found != Cell::Known {
                missing.extend(at - from..mean.len() - from);
                note(i, found);
            }
        }
        var.resize(mean.len(), 0.0);
        if !missing.is_empty() {
            self.joint.fill(&mut mean[from..], &mut var[from..], &missing);
        }
        !missing.is_empty()
    }

    /// Standard deviations to divide by: the levels of a category have one in common, so that a category counts as much as a
    /// number, and a rare level does not become huge.
    pub(super) fn even_out(&self, std: &mut [f64]) {
        let mut at = 0;
        for column in &self.columns {
            let width = column.kind.width();
            if let Kind::Category { .. } | Kind::YesNo = column.kind {
                let own = &mut std[at..at + width];
                // A level that occurs in no row has a deviation of 1, for want of a better one.
                let all = own.iter().filter(|s| **s < 1.0).map(|s| s * s).sum::<f64>();
                own.fill(if all > 0.0 { all.max(LEAST_SPREAD).sqrt() } else { 1.0 });
            }
            at += width;
        }
    }

    /// Refuses what no table gives; files are hostile.
    pub fn check(&self, inputs: &[String]) -> std::result::Result<(), String> {
        let sound = |kind: &Kind| match kind {
            Kind::Category { levels, .. } => !levels.is_empty() && levels.is_sorted_by(|a, b| a < b),
            Kind::Date { parts, .. } => !parts.is_empty(),
            _ => true,
        };
        if self.columns.is_empty() || !self.columns.iter().all(|c| sound(&c.kind)) {
            return Err("invalid columns".into());
        }
        if self.inputs() != inputs {
            return Err("its columns do not match the network's inputs".into());
        }
        self.joint.check(inputs.len())
    }
}
