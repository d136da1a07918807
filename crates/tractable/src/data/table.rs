//! A CSV file in memory, whose columns become features and targets once the target is named.

use std::collections::HashMap;
use std::path::PathBuf;

use super::cell::{FEATURE, TARGET, find, number};
use super::data_error::{data_error, printable};
use super::dataset::{Dataset, Target};
use crate::error::{Error, Result};
use crate::gaussian::Matrix;

/// Distinct values up to which a column may still be used as classes.
const MAX_CLASSES: usize = 1024;

/// One column as it is read: its numbers until a cell is none, its distinct texts until there are too many.
#[derive(Debug, Clone, Default)]
pub(super) struct Column {
    /// One a row; NaN marks an empty cell (a cell "nan" is refused). Empty as soon as `not_number` is set.
    numbers: Vec<f64>,
    not_number: Option<(usize, String)>,
    first_empty: Option<usize>,
    /// The class of each row, as the position of its text in order of appearance. Empty as soon as
    /// `no_classes`.
    codes: Vec<u16>,
    texts: HashMap<Box<str>, u16>,
    no_classes: bool,
}

impl Column {
    /// Takes the trimmed cell of the next row, which stands on `line`.
    pub(super) fn push(&mut self, cell: &str, line: usize) {
        if cell.is_empty() {
            self.first_empty.get_or_insert(line);
        }
        if self.not_number.is_none() {
            match number(cell) {
                Ok(value) => self.numbers.push(value),
                Err(_) if cell.is_empty() => self.numbers.push(f64::NAN),
                Err(why) => {
                    self.not_number = Some((line, why));
                    self.numbers = Vec::new();
                }
            }
        }
        if !self.no_classes {
            self.push_class(cell);
        }
    }

    /// Makes room for so many rows more.
    pub(super) fn reserve(&mut self, rows: usize) {
        if self.not_number.is_none() {
            self.numbers.reserve_exact(rows);
        }
        if !self.no_classes {
            self.codes.reserve_exact(rows);
        }
    }

    fn push_class(&mut self, cell: &str) {
        let next = self.texts.len();
        let code = match self.texts.get(cell) {
            Some(&code) => code,
            None if !cell.is_empty() && next < MAX_CLASSES => {
                self.texts.insert(cell.into(), next as u16);
                next as u16
            }
            None => {
                self.no_classes = true;
                (self.codes, self.texts) = (Vec::new(), HashMap::new());
                return;
            }
        };
        self.codes.push(code);
    }
}

/// The columns of a file, before it is said which of them is the target. Made by [`csv`](super::csv).
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("t.csv");
/// std::fs::write(&path, "a,b\n1,2\n3,4\n")?;
/// let data = tractable::data::csv(&path)?.target("b")?;
/// assert_eq!(data.x().data(), [1.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Table {
    path: PathBuf,
    names: Vec<String>,
    columns: Vec<Column>,
    rows: usize,
}

impl Table {
    pub(super) fn new(path: PathBuf, names: Vec<String>, columns: Vec<Column>, rows: usize) -> Self {
        Self { path, names, columns, rows }
    }

    /// Number of rows, the header not counted.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("t.csv");
    /// # std::fs::write(&path, "a,b\n1,2\n3,4\n")?;
    /// assert_eq!(tractable::data::csv(&path)?.rows(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Column names, in the order of the file.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("t.csv");
    /// # std::fs::write(&path, "a,b\n1,2\n3,4\n")?;
    /// assert_eq!(tractable::data::csv(&path)?.names(), ["a", "b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The table without a column, such as a row number that says nothing about the target.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("t.csv");
    /// # std::fs::write(&path, "id,a,b\n7,1,2\n8,3,4\n")?;
    /// assert_eq!(tractable::data::csv(&path)?.drop("id")?.names(), ["a", "b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drop(mut self, name: &str) -> Result<Self> {
        self.take(name)?;
        Ok(self)
    }

    /// Regression: the numbers of one column are the target, all other columns are features.
    ///
    /// An **empty target cell means that this value was not observed**: the row is kept and nothing is
    /// learned from the missing value. A feature may not be empty.
    ///
    /// # Errors
    /// When there is no such column (the nearest name is suggested), or a cell is not a finite number or a
    /// feature is empty (its line and column are named).
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("t.csv");
    /// use tractable::data::{self, Target};
    /// std::fs::write(&path, "size,price\n1,2.5\n2,\n3,7.5\n")?;
    /// let data = data::csv(&path)?.target("price")?;
    /// let Target::Values { y, observed } = data.target() else { unreachable!() };
    /// assert_eq!(y.data(), [2.5, 0.0, 7.5]);
    /// assert_eq!(observed.as_deref(), Some(&[true, false, true][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn target(self, name: &str) -> Result<Dataset> {
        self.targets(&[name])
    }

    /// Regression with several targets, in the order given; otherwise as [`target`](Self::target).
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("t.csv");
    /// # std::fs::write(&path, "heating,size,cooling\n1,2,3\n4,5,6\n")?;
    /// let data = tractable::data::csv(&path)?.targets(&["cooling", "heating"])?;
    /// assert_eq!(data.output_names(), ["cooling", "heating"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn targets(mut self, names: &[&str]) -> Result<Dataset> {
        if names.is_empty() {
            return Err(Error::invalid("targets", "at least one target column is needed"));
        }
        if let Some(twice) = names.iter().enumerate().find_map(|(i, n)| names[..i].contains(n).then_some(n)) {
            return Err(Error::invalid("targets", format!("`{twice}` is given twice")));
        }
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let column = self.take(name)?;
            if let Some((line, why)) = column.not_number {
                let why = format!("{why}; {TARGET}");
                return Err(data_error(&self.path, line, Some(name), why));
            }
            if column.numbers.iter().all(|v| v.is_nan()) {
                return Err(data_error(&self.path, 0, Some(name), "every cell of the target is empty"));
            }
            columns.push(column.numbers);
        }
        let mut y = interleave(&columns, self.rows);
        let observed: Vec<bool> = y.iter().map(|v| !v.is_nan()).collect();
        y.iter_mut().filter(|v| v.is_nan()).for_each(|v| *v = 0.0);
        let observed = observed.contains(&false).then_some(observed);
        let target = Target::Values { y: Matrix::new(y, names.len())?, observed };
        let outputs = names.iter().map(|n| n.to_string()).collect();
        self.into_dataset(target, outputs)
    }

    /// Classification: the distinct values of one column are the classes, all other columns are features.
    ///
    /// The classes are sorted, as numbers if every value is a whole number and as texts otherwise, and keep
    /// their values as names. No cell may be empty; there may be 2 to 1024 classes.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("t.csv");
    /// use tractable::data::{self, Target};
    /// std::fs::write(&path, "length,species\n5.1,setosa\n7.0,versicolor\n6.3,setosa\n")?;
    /// let data = data::csv(&path)?.classes("species")?;
    /// let Target::Labels { labels, names } = data.target() else { unreachable!() };
    /// assert_eq!(labels, &[0, 1, 0]);
    /// assert_eq!(names, &["setosa", "versicolor"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn classes(mut self, name: &str) -> Result<Dataset> {
        let column = self.take_classes(name)?;
        let refuse = |line, why: String| Err(data_error(&self.path, line, Some(name), why));
        if column.texts.len() < 2 {
            return refuse(0, "only one class; there is nothing to tell apart".into());
        }
        let mut sorted: Vec<(Box<str>, u16)> = column.texts.into_iter().collect();
        let whole: Option<HashMap<u16, f64>> =
            sorted.iter().map(|(text, code)| Some((*code, whole_number(text)?))).collect();
        match whole {
            None => sorted.sort(),
            Some(value) => {
                sorted.sort_by(|a, b| value[&a.1].total_cmp(&value[&b.1]).then_with(|| a.0.cmp(&b.0)));
                if let Some(pair) = sorted.windows(2).find(|p| value[&p[0].1] == value[&p[1].1]) {
                    let (a, b) = (printable(&pair[0].0), printable(&pair[1].0));
                    return refuse(
                        0,
                        format!("`{a}` and `{b}` are the same number; write a class in one way"),
                    );
                }
            }
        }
        let mut class = vec![0; sorted.len()];
        for (at, (_, code)) in sorted.iter().enumerate() {
            class[usize::from(*code)] = at;
        }
        let labels = column.codes.iter().map(|&code| class[usize::from(code)]).collect();
        let names = sorted.into_iter().map(|(text, _)| text.into()).collect();
        self.into_dataset(Target::Labels { labels, names }, vec![name.to_string()])
    }

    /// Classification with classes that are known, such as those of a trained network: the values of one
    /// column are among `known`, not necessarily all of them.
    ///
    /// # Errors
    /// As for [`classes`](Self::classes); and when a value is not among them.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("t.csv");
    /// use tractable::data::{self, Target};
    /// std::fs::write(&path, "length,species\n7.0,versicolor\n")?;
    /// let data = data::csv(&path)?.labels("species", &["setosa".into(), "versicolor".into()])?;
    /// assert!(matches!(data.target(), Target::Labels { labels, .. } if labels == &[1]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn labels(mut self, name: &str, known: &[String]) -> Result<Dataset> {
        let column = self.take_classes(name)?;
        let mut class = vec![None; column.texts.len()];
        for (text, code) in &column.texts {
            class[usize::from(*code)] = known.iter().position(|k| **k == **text);
        }
        if let Some(first) = class.iter().position(Option::is_none) {
            let text = column.texts.iter().find(|(_, code)| usize::from(**code) == first);
            let text = text.map_or(String::new(), |(text, _)| printable(text));
            let some: Vec<String> = known.iter().take(20).map(|k| printable(k)).collect();
            let why = format!("`{text}` is not among the {} classes: {}", known.len(), some.join(", "));
            return Err(data_error(&self.path, 0, Some(name), why));
        }
        let labels = column.codes.iter().filter_map(|&code| class[usize::from(code)]).collect();
        self.into_dataset(Target::Labels { labels, names: known.to_vec() }, vec![name.to_string()])
    }

    /// Takes out a column that can be read as classes.
    fn take_classes(&mut self, name: &str) -> Result<Column> {
        let column = self.take(name)?;
        let refuse = |line, why: String| Err(data_error(&self.path, line, Some(name), why));
        if let Some(line) = column.first_empty {
            return refuse(line, "the class is missing; remove the row".into());
        }
        if column.no_classes {
            let why = "distinct values; as numbers they are a target of regression";
            return refuse(0, format!("more than {MAX_CLASSES} {why}"));
        }
        Ok(column)
    }

    fn take(&mut self, name: &str) -> Result<Column> {
        let at = find(&self.path, &self.names, name)?;
        self.names.remove(at);
        Ok(self.columns.remove(at))
    }

    /// What is left are the features.
    fn into_dataset(self, target: Target, outputs: Vec<String>) -> Result<Dataset> {
        if self.columns.is_empty() {
            return Err(data_error(&self.path, 1, None, "no column is left as a feature"));
        }
        for (name, column) in self.names.iter().zip(&self.columns) {
            let empty = column.first_empty.map(|line| (line, "the cell is empty".to_string()));
            if let Some((line, why)) = [column.not_number.clone(), empty].into_iter().flatten().min() {
                return Err(data_error(&self.path, line, Some(name), format!("{why}; {FEATURE}")));
            }
        }
        let columns: Vec<Vec<f64>> = self.columns.into_iter().map(|c| c.numbers).collect();
        let x = Matrix::new(interleave(&columns, self.rows), columns.len())?;
        Ok(Dataset::from_parts(x, target, self.names, outputs))
    }
}

/// Columns to one row-major array.
fn interleave(columns: &[Vec<f64>], rows: usize) -> Vec<f64> {
    let mut all = Vec::with_capacity(rows * columns.len());
    (0..rows).for_each(|r| all.extend(columns.iter().map(|c| c[r])));
    all
}

/// A number without fraction, small enough that `f64` holds it exactly.
fn whole_number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|v: &f64| v.fract() == 0.0 && v.abs() <= 9007199254740992.0)
}
