//! CSV files in memory, whose columns become features and targets once the target is named.

use std::collections::HashMap;
use std::path::PathBuf;

use super::cell::{TARGET, find, quoted};
use super::data_error::{data_error, printable};
use super::dataset::{Dataset, Target};
use super::look::{As, Look, Verdict};
use super::missing::Joint;
use super::preparation::{Cell, Kind, Preparation, Prepared};
use super::related::Related;
use super::text::{is_missing, number};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Matrix;

/// Most classes that a target may have.
const MAX_CLASSES: usize = 1024;

/// The cells of a column, and a look at them.
#[derive(Debug, Clone, Default)]
pub(super) struct Column {
    text: String,
    ends: Vec<u32>,
    look: Look,
}

impl Column {
    /// Whether there is room for it.
    pub(super) fn push(&mut self, cell: &str, line: usize) -> bool {
        self.text.push_str(cell);
        self.look.see(cell, line);
        match u32::try_from(self.text.len()) {
            Ok(end) => self.ends.push(end),
            Err(_) => return false,
        }
        true
    }

    pub(super) fn reserve(&mut self, rows: usize) {
        self.ends.reserve_exact(rows);
        self.text.reserve_exact(self.text.len() / self.ends.len().max(1) * rows);
    }

    fn cell(&self, row: usize) -> &str {
        let from = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.text[from..self.ends[row] as usize]
    }

    fn cells(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|row| self.cell(row))
    }
}

/// The type of a column, in words.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("t.csv");
/// # std::fs::write(&path, "id,a,b,y\n1,5,low,3\n2,,high,4\n3,6,low,5\n")?;
/// let table = tractable::data::csv(&path)?;
/// let about = table.columns(&["y"]);
/// assert_eq!(about[0].what, "left out: row numbers");
/// assert_eq!((&about[1].what[..], about[1].missing), ("number", 1.0 / 3.0));
/// assert_eq!(about[2].what, "category, 2 levels");
/// assert_eq!(about[3].what, "target");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ColumnAbout {
    /// The column's name.
    pub name: String,
    /// Its type and what is done with it.
    pub what: String,
    /// Share of its cells that are missing.
    pub missing: f64,
    /// What is unusual about it, and how to change its type.
    pub problem: Option<String>,
}

/// CSV files in memory. Naming the target turns it into a [`Dataset`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("housing.csv");
/// # std::fs::write(&path, "id,rooms,price\n7,2,310\n8,4,450\n")?;
/// let data = tractable::data::csv(&path)?.drop("id")?.target("price")?;
/// assert_eq!(data.input_names(), ["rooms"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Table {
    path: PathBuf,
    names: Vec<String>,
    columns: Vec<Column>,
    rows: usize,
    /// A number in doubt has a decimal comma.
    commas: bool,
    said: Vec<(String, As)>,
    ids: Vec<String>,
    /// How rows are related, and by which column.
    related: Option<(String, Related)>,
    /// How a trained network takes the features.
    trained: Option<Box<Preparation>>,
}

impl Table {
    pub(super) fn new(
        path: PathBuf,
        names: Vec<String>,
        columns: Vec<Column>,
        rows: usize,
        semicolons: bool,
    ) -> Self {
        let commas = columns.iter().any(|c| c.look.has_decimal_commas())
            || (semicolons && columns.iter().any(|c| c.text.contains(',')));
        let (said, ids) = (Vec::new(), Vec::new());
        Self { path, names, columns, rows, commas, said, ids, related: None, trained: None }
    }

    /// A table from columns of cells, as texts; an empty one is missing.
    ///
    /// # Errors
    /// When there is no column or no row, columns differ in length, or a name occurs twice.
    ///
    /// ```
    /// use tractable::data::Table;
    /// let columns = [("city", vec!["Ulm", "Kiel", ""]), ("y", vec!["1", "2", "3"])];
    /// let data = Table::of_columns(columns)?.target("y")?;
    /// assert_eq!(data.input_names(), ["city=Ulm"]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn of_columns<N, C>(columns: impl IntoIterator<Item = (N, C)>) -> Result<Self>
    where
        N: Into<String>,
        C: IntoIterator<Item: AsRef<str>>,
    {
        let (mut names, mut all): (Vec<String>, Vec<Column>) = (Vec::new(), Vec::new());
        for (name, cells) in columns {
            let name = name.into();
            if names.contains(&name) {
                return Err(Error::invalid(
                    "table",
                    format!("two columns are called `{}`", printable(&name)),
                ));
            }
            let mut column = Column::default();
            for (row, cell) in cells.into_iter().enumerate() {
                if !column.push(cell.as_ref().trim(), row + 1) {
                    let why = format!("more than 4 GiB of text in column `{}`", printable(&name));
                    return Err(Error::invalid("table", why));
                }
            }
            let rows = all.first().map_or(column.ends.len(), |first| first.ends.len());
            if rows != column.ends.len() {
                let what = format!("column `{}`", printable(&name));
                return Err(Error::shape(what, format!("{rows} cells"), column.ends.len()));
            }
            names.push(name);
            all.push(column);
        }
        match all.first().map_or(0, |first| first.ends.len()) {
            0 => Err(Error::invalid("table", "at least one column and one row are needed")),
            rows => Ok(Self::new("table".into(), names, all, rows, false)),
        }
    }

    /// Number of rows.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.csv");
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
    /// # let path = dir.path().join("a.csv");
    /// # std::fs::write(&path, "a,b\n1,2\n")?;
    /// assert_eq!(tractable::data::csv(&path)?.names(), ["a", "b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Excludes a column.
    ///
    /// # Errors
    /// When there is no such column.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.csv");
    /// # std::fs::write(&path, "a,b\n1,2\n")?;
    /// assert_eq!(tractable::data::csv(&path)?.drop("a")?.names(), ["b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drop(mut self, name: &str) -> Result<Self> {
        self.take(name)?;
        Ok(self)
    }

    /// Excludes a column that identifies rows; a [`Preparation`] remembers its name.
    ///
    /// # Errors
    /// When there is no such column.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.csv");
    /// # std::fs::write(&path, "who,b,y\nx,2,1\nz,3,2\n")?;
    /// let data = tractable::data::csv(&path)?.id("who")?.target("y")?;
    /// assert_eq!(data.preparation().unwrap().ids(), ["who"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn id(mut self, name: &str) -> Result<Self> {
        self.take(name)?;
        self.ids.push(name.into());
        Ok(self)
    }

    /// Rows with the same cell in this column belong together: none of them is left out while others are learned. The column is
    /// not an input, unless [`treat`](Self::treat) gives it a type.
    ///
    /// # Errors
    /// When there is no such column, one of its cells is missing, or rows are related already.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.csv");
    /// # std::fs::write(&path, "who,b,y\nx,2,1\nx,3,2\nz,1,3\n")?;
    /// use tractable::data::{self, Related};
    /// let data = data::csv(&path)?.groups("who")?.target("y")?;
    /// assert_eq!(data.related(), Some(&Related::Groups(vec![0, 0, 1])));
    /// assert_eq!(data.input_names(), ["b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn groups(self, name: &str) -> Result<Self> {
        let mut known = HashMap::new();
        let column = self.related_by(name)?;
        let number = |cell| {
            let next = known.len();
            *known.entry(cell).or_insert(next)
        };
        let related = Related::Groups(column.cells().map(number).collect());
        Ok(Table { related: Some((name.into(), related)), ..self })
    }

    /// Rows have a time, a number or a date in this column: a model is to predict later rows, so rows that are left out are later than
    /// those that were learned. The column stays the input that it is; [`drop`](Self::drop) leaves it out.
    ///
    /// # Errors
    /// When there is no such column, one of its cells is missing or no time, or rows are related already.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.csv");
    /// # std::fs::write(&path, "day,b,y\n2024-01-02,2,1\n2024-01-01,3,2\n")?;
    /// use tractable::data::{self, Related};
    /// let data = data::csv(&path)?.time("day")?.drop("day")?.target("y")?;
    /// assert_eq!(data.related(), Some(&Related::Time(vec![19724.0, 19723.0])));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn time(self, name: &str) -> Result<Self> {
        let column = self.related_by(name)?;
        let kind = match self.kind(name, column) {
            Ok(Verdict::Use(kind)) => Ok(kind),
            _ => column.look.forced(As::Number, self.commas),
        };
        let of = |cell: &str| match &kind {
            Ok(Kind::Number { decimal_comma }) => number(cell, *decimal_comma),
            Ok(Kind::Date { form, .. }) => form.days(cell),
            _ => None,
        };
        let time = |cell: &str| {
            let why = || format!("{} is no number and no date, and every row needs a time", quoted(cell));
            of(cell).ok_or_else(|| data_error(&self.path, 0, Some(name), why()))
        };
        let related = Related::Time(column.cells().map(time).collect::<Result<_>>()?);
        Ok(Table { related: Some((name.into(), related)), ..self })
    }

    /// A column with a cell in every row.
    fn related_by(&self, name: &str) -> Result<&Column> {
        let column = &self.columns[find(&self.path, &self.names, name)?];
        if let Some((other, _)) = &self.related {
            let why = format!("rows are related by `{}` already", printable(other));
            return Err(data_error(&self.path, 0, Some(name), why));
        }
        let why = |row| format!("row {} has none, and every row needs one", row + 1);
        match column.cells().position(is_missing) {
            Some(row) => Err(data_error(&self.path, 0, Some(name), why(row))),
            None => Ok(column),
        }
    }

    /// Sets the type of a column.
    ///
    /// # Errors
    /// When there is no such column.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.csv");
    /// # std::fs::write(&path, "month,y\n1,2\n2,3\n3,1\n")?;
    /// use tractable::data::{self, As};
    /// assert_eq!(data::csv(&path)?.treat("month", As::Category)?.target("y")?.width(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn treat(mut self, name: &str, kind: As) -> Result<Self> {
        find(&self.path, &self.names, name)?;
        self.said.retain(|(n, _)| n != name);
        self.said.push((name.into(), kind));
        Ok(self)
    }

    /// The type of every column except the targets.
    pub fn columns(&self, targets: &[&str]) -> Vec<ColumnAbout> {
        let about = |(name, column): (&String, &Column)| {
            let missing = column.look.missing_share();
            if targets.contains(&name.as_str()) {
                return ColumnAbout { name: name.clone(), what: "target".into(), missing, problem: None };
            }
            let (what, problem) = match self.kind(name, column) {
                Ok(Verdict::Use(kind)) => (kind.describe(), problem(&kind, column)),
                Ok(Verdict::Leave(why)) => (format!("left out: {why}"), None),
                Err(e) => ("left out".into(), Some(e)),
            };
            ColumnAbout { name: name.clone(), what, missing, problem }
        };
        self.names.iter().zip(&self.columns).map(about).collect()
    }

    /// Whether the values of a column are classes rather than numbers.
    ///
    /// # Errors
    /// When there is no such column.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.csv");
    /// # std::fs::write(&path, "a,kind\n1,low\n2,high\n")?;
    /// let table = tractable::data::csv(&path)?;
    /// assert!(table.has_classes("kind")? && !table.has_classes("a")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn has_classes(&self, name: &str) -> Result<bool> {
        let at = find(&self.path, &self.names, name)?;
        let kind = self.kind(name, &self.columns[at]);
        Ok(matches!(kind, Ok(Verdict::Use(Kind::YesNo | Kind::Category { .. }))))
    }

    fn kind(&self, name: &str, column: &Column) -> std::result::Result<Verdict, String> {
        match self.said.iter().find(|(n, _)| n == name) {
            Some((_, kind)) => column.look.forced(*kind, self.commas).map(Verdict::Use),
            None => match &self.related {
                Some((by, Related::Groups(_))) if by == name => Ok(Verdict::Leave("groups of rows".into())),
                _ => Ok(column.look.verdict(name, self.commas)),
            },
        }
    }

    /// Names the target; the other columns become features.
    ///
    /// The type of a column follows from most of its cells: numbers (thousands separators, and currency and percent
    /// signs are dropped), yes or no, dates and times, or categories, which get one input per level. Useless columns
    /// are excluded: empty ones, row numbers, and texts that hardly repeat.
    /// [`columns`](Self::columns) lists the decisions and [`treat`](Self::treat) changes them. Cells that are empty, `NA`,
    /// `nan`, `null` or `?` are missing, and so are cells that cannot be read. A missing feature is uncertain: it has the mean
    /// and variance that the rest of its row gives it. A missing target is not observed.
    ///
    /// # Errors
    /// When there is no such column, no feature is left, a target is not a number, or a column is not what
    /// [`treat`](Self::treat) says.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("housing.csv");
    /// # std::fs::write(&path, "rooms,price\n2,310\n4,\n3,280\n")?;
    /// let data = tractable::data::csv(&path)?.target("price")?;
    /// assert_eq!(data.rows(), 3); // one of them has no price
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn target(self, name: &str) -> Result<Dataset> {
        self.targets(&[name])
    }

    /// Several targets at once; otherwise like [`target`](Self::target).
    ///
    /// # Errors
    /// As for [`target`](Self::target), or when a name is given twice.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.csv");
    /// # std::fs::write(&path, "x,u,v\n1,2,3\n4,5,\n")?;
    /// let data = tractable::data::csv(&path)?.targets(&["u", "v"])?;
    /// assert_eq!(data.output_names(), ["u", "v"]);
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
            let (odd, first) = column.look.odd();
            if let (1.., Some((line, cell))) = (odd, first) {
                let why = format!("{} is not a number; {TARGET}", quoted(cell));
                return Err(data_error(&self.path, *line, Some(name), why));
            }
            if column.look.known() == 0 {
                return Err(data_error(&self.path, 0, Some(name), "every cell of the target is empty"));
            }
            let Ok(Kind::Number { decimal_comma }) = column.look.forced(As::Number, self.commas) else {
                return Err(data_error(&self.path, 0, Some(name), "no cell is a number"));
            };
            columns.push((column, decimal_comma));
        }
        let mut y = Vec::with_capacity(self.rows * columns.len());
        for row in 0..self.rows {
            y.extend(columns.iter().map(|(c, comma)| number(c.cell(row), *comma).unwrap_or(f64::NAN)));
        }
        drop(columns);
        let missing = y.iter().any(|v| v.is_nan());
        let observed = missing.then(|| y.iter().map(|v| !v.is_nan()).collect());
        y.iter_mut().filter(|v| v.is_nan()).for_each(|v| *v = 0.0);
        let target = Target::Values { y: Matrix::new(y, names.len())?, observed };
        let outputs = names.iter().map(|n| n.to_string()).collect();
        self.features(None)?.dataset(target, outputs)
    }

    /// Names a target whose values are classes: texts, or numbers as labels. Rows without a class are
    /// excluded.
    ///
    /// Classes are sorted: by value if all of them are whole numbers, as texts otherwise.
    ///
    /// # Errors
    /// When there is no such column, no feature is left, there is only one class, or there are more than 1024.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("iris.csv");
    /// # std::fs::write(&path, "length,species\n5.1,virginica\n4.9,setosa\n6,virginica\n")?;
    /// use tractable::data::Target;
    /// let data = tractable::data::csv(&path)?.classes("species")?;
    /// let Target::Labels { labels, names } = data.target() else { panic!() };
    /// assert_eq!(names, &["setosa", "virginica"]);
    /// assert_eq!(labels, &[1, 0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn classes(mut self, name: &str) -> Result<Dataset> {
        let column = self.take(name)?;
        let refuse = |why: String| Err(data_error(&self.path, 0, Some(name), why));
        let Some(texts) = column.look.texts().filter(|t| t.len() <= MAX_CLASSES) else {
            let why = "distinct values; as numbers they are a target of regression";
            return refuse(format!("more than {MAX_CLASSES} {why}"));
        };
        if texts.len() < 2 {
            return refuse("only one class; at least two are needed".into());
        }
        let mut sorted: Vec<&str> = texts.keys().map(|t| &**t).collect();
        sorted.sort_unstable();
        let value: Option<HashMap<&str, f64>> = sorted.iter().map(|t| Some((*t, whole_number(t)?))).collect();
        if let Some(value) = value {
            sorted.sort_by(|a, b| value[a].total_cmp(&value[b]));
            if let Some(pair) = sorted.windows(2).find(|p| value[p[0]] == value[p[1]]) {
                let (a, b) = (printable(pair[0]), printable(pair[1]));
                return refuse(format!("`{a}` and `{b}` are the same number; write a class in one way"));
            }
        }
        let names: Vec<String> = sorted.into_iter().map(String::from).collect();
        self.labelled(name, &column, names)
    }

    /// Names a target with known classes in a given order, as in a trained network.
    ///
    /// # Errors
    /// As for [`classes`](Self::classes), and when a class is not among them.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("iris.csv");
    /// # std::fs::write(&path, "length,species\n5.1,virginica\n6,virginica\n")?;
    /// let known = ["setosa".to_string(), "virginica".to_string()];
    /// assert!(tractable::data::csv(&path)?.labels("species", &known).is_ok());
    /// assert!(tractable::data::csv(&path)?.labels("species", &known[..1]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn labels(mut self, name: &str, known: &[String]) -> Result<Dataset> {
        let column = self.take(name)?;
        self.labelled(name, &column, known.to_vec())
    }

    /// Names the targets of a trained network and prepares the features for it.
    ///
    /// # Errors
    /// As for [`targets`](Self::targets) or, with classes, [`labels`](Self::labels), and when a column is not there.
    pub fn as_trained(
        mut self,
        preparation: &Preparation,
        targets: &[String],
        classes: &[String],
    ) -> Result<Dataset> {
        let wanted: Vec<&str> = preparation.columns().collect();
        wanted.iter().try_for_each(|name| find(&self.path, &self.names, name).map(drop))?;
        let mut keep: Vec<&str> = targets.iter().map(String::as_str).collect();
        keep.extend(&wanted);
        let others: Vec<String> =
            self.names.iter().filter(|n| !keep.contains(&n.as_str())).cloned().collect();
        for name in others {
            self.take(&name)?;
        }
        self.trained = Some(Box::new(preparation.clone()));
        match classes.is_empty() {
            true => self.targets(&targets.iter().map(String::as_str).collect::<Vec<_>>()),
            false => self.labels(&targets[0], classes),
        }
    }

    fn labelled(self, name: &str, column: &Column, names: Vec<String>) -> Result<Dataset> {
        let class: HashMap<&str, usize> = names.iter().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
        let (mut labels, mut rows) = (Vec::new(), Vec::new());
        for (row, cell) in column.cells().enumerate().filter(|(_, cell)| !is_missing(cell)) {
            let Some(&label) = class.get(cell) else {
                let some: Vec<String> = names.iter().take(20).map(|k| printable(k)).collect();
                let (text, n) = (printable(cell), names.len());
                let why = format!("`{text}` is not among the {n} classes: {}", some.join(", "));
                return Err(data_error(&self.path, 0, Some(name), why));
            };
            labels.push(label);
            rows.push(row);
        }
        if rows.is_empty() {
            return Err(data_error(&self.path, 0, Some(name), "the class is missing in every row"));
        }
        let rows = (rows.len() < self.rows).then_some(rows);
        self.features(rows)?.dataset(Target::Labels { labels, names }, vec![name.to_string()])
    }

    fn take(&mut self, name: &str) -> Result<Column> {
        let at = find(&self.path, &self.names, name)?;
        self.names.remove(at);
        self.said.retain(|(n, _)| n != name);
        Ok(self.columns.remove(at))
    }

    /// The columns that are used, as inputs; of some rows, or of all.
    fn features(self, rows: Option<Vec<usize>>) -> Result<Features> {
        let (preparation, new) = match &self.trained {
            Some(trained) => ((**trained).clone(), false),
            None => (self.preparation()?, true),
        };
        let places: Vec<usize> =
            preparation.columns().map(|n| find(&self.path, &self.names, n)).collect::<Result<_>>()?;
        let width = preparation.width();
        let count = rows.as_ref().map_or(self.rows, Vec::len);
        let (mut x, mut missing) = (Vec::with_capacity(count * width), Vec::new());
        for i in 0..count {
            let row = rows.as_ref().map_or(i, |r| r[i]);
            for (column, &place) in preparation.columns.iter().zip(&places) {
                let from = x.len();
                if column.kind.push(self.columns[place].cell(row), &mut x) != Cell::Known {
                    // Most tables have all cells: then there is no list.
                    missing.resize(count * width, false);
                    missing[from..x.len()].fill(true);
                }
            }
        }
        let related = self.related.map(|(_, all)| rows.map_or(all.clone(), |rows| all.select(&rows)));
        Ok(Features { x: Matrix::new(x, width)?, missing, preparation, new, related })
    }

    /// What every column becomes; all that is wrong at once.
    fn preparation(&self) -> Result<Preparation> {
        let (mut columns, mut wrong) = (Vec::new(), Vec::new());
        for (name, column) in self.names.iter().zip(&self.columns) {
            match self.kind(name, column) {
                Ok(Verdict::Use(kind)) => columns.push(Prepared { name: name.clone(), kind }),
                Ok(Verdict::Leave(_)) => {}
                Err(why) => wrong.push(format!("`{}`: {why}", printable(name))),
            }
        }
        if !wrong.is_empty() {
            return Err(data_error(&self.path, 0, None, wrong.join("; ")));
        }
        if columns.is_empty() {
            let left =
                self.columns(&[]).into_iter().map(|c| format!("`{}` is {}", printable(&c.name), c.what));
            let left = left.take(5).collect::<Vec<_>>().join(", ");
            let left = if left.is_empty() { left } else { format!(": {left}") };
            return Err(data_error(&self.path, 1, None, format!("no column is left as a feature{left}")));
        }
        let joint = Joint::independent(Vec::new(), Vec::new());
        Ok(Preparation { columns, ids: self.ids.clone(), joint })
    }
}

/// Inputs of a network, with zeros where something is missing.
struct Features {
    x: Matrix,
    missing: Vec<bool>,
    preparation: Preparation,
    /// The rows say how inputs are distributed.
    new: bool,
    related: Option<Related>,
}

impl Features {
    fn dataset(self, target: Target, outputs: Vec<String>) -> Result<Dataset> {
        let mut data = Dataset::from_parts(self.x, target, self.preparation.inputs(), outputs);
        data.related = self.related;
        Ok(data.with_gaps(self.missing, self.preparation, self.new))
    }
}

/// What a user may want to look at.
fn problem(kind: &Kind, column: &Column) -> Option<String> {
    let (odd, first) = column.look.odd();
    match (kind, first) {
        (Kind::Number { .. }, Some((line, cell))) if odd > 0 => {
            let are = if odd == 1 { "cell is not a number" } else { "cells are not numbers" };
            Some(format!("{odd} {are} and counted as missing: {} in line {line}", quoted(cell)))
        }
        (Kind::Date { .. }, _) if column.look.ambiguous_date() => {
            Some("month or day first? use day-first or month-first".into())
        }
        _ => None,
    }
}

/// The value of a text that spells a whole number which an `f64` holds exactly, so that equal values are
/// equal classes.
fn whole_number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|v: &f64| v.fract() == 0.0 && v.abs() <= 9007199254740992.0)
}
