//! Detects the type of a column from its cells.

use super::dates::{DateForm, FORMS};
use super::preparation::{Kind, Part};
use super::text::{is_missing, number, yes_or_no};
use std::collections::HashMap;

/// Maximum number of distinct texts.
const MOST_TEXTS: usize = 1024;
/// Levels of a category with their own input; rarer ones share one.
const MOST_LEVELS: usize = 256;
/// A category of more levels than this has fewer than half as many as rows.
const FEW_LEVELS: usize = 20;
/// Missing cells of a category are a level of their own if there are so many, and one in a hundred.
const MISSING_LEVEL: usize = 5;
/// A column of numbers may have up to one cell in ten that cannot be read.
const MOST_ODD: usize = 10;

/// A user's choice for the type of a column.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("codes.csv");
/// # std::fs::write(&path, "zip,y\n10115,1\n20095,2\n10115,3\n")?;
/// use tractable::data::{self, As};
/// let data = data::csv(&path)?.treat("zip", As::Category)?.target("y")?;
/// assert_eq!(data.input_names(), ["zip=20095"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum As {
    /// Numbers; cells that cannot be read as one are missing.
    Number,
    /// One input for every level.
    Category,
    /// A date or a time, in the form that most cells have.
    Date,
    /// A date that starts with the day, as in 31/12/2024.
    DayFirst,
    /// A date that starts with the month, as in 12/31/2024.
    MonthFirst,
}

/// Statistics of a column's cells.
#[derive(Debug, Clone, Default)]
pub(super) struct Look {
    cells: usize,
    missing: usize,
    /// Cells that are a number with a decimal point, and with a decimal comma.
    point: usize,
    comma: usize,
    yes_no: usize,
    forms: [usize; FORMS.len()],
    /// Days of the first and the last date of every form, and whether one has a time.
    span: [(f64, f64, bool); FORMS.len()],
    /// How often every text occurs, until there are too many.
    texts: HashMap<Box<str>, usize>,
    too_many: bool,
    /// The numbers go up by one from row to row.
    counts: bool,
    last: f64,
    /// The first cell that is not a number, with its line.
    odd: Option<(usize, String)>,
}

/// What a column is taken for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    Use(Kind),
    /// With the reason.
    Leave(String),
}

impl Look {
    pub(super) fn see(&mut self, cell: &str, line: usize) {
        self.cells += 1;
        if is_missing(cell) {
            self.missing += 1;
            return;
        }
        let (point, comma) = (number(cell, false), number(cell, true));
        self.point += usize::from(point.is_some());
        self.comma += usize::from(comma.is_some());
        if let Some(value) = point {
            let next = self.cells - self.missing == 1 || value == self.last + 1.0;
            self.counts = next && (self.counts || self.cells == 1);
            self.last = value;
        } else {
            self.counts = false;
            if self.odd.is_none() {
                self.odd = Some((line, cell.chars().take(40).collect()));
            }
            self.yes_no += usize::from(yes_or_no(cell).is_some());
            self.see_date(cell);
        }
        if !self.too_many {
            let room = self.texts.len() < MOST_TEXTS;
            match self.texts.get_mut(cell) {
                Some(n) => *n += 1,
                None if room => {
                    self.texts.insert(cell.into(), 1);
                }
                None => {
                    self.too_many = true;
                    self.texts = HashMap::new();
                }
            }
        }
    }

    fn see_date(&mut self, cell: &str) {
        for (i, form) in FORMS.iter().enumerate() {
            if let Some(days) = form.days(cell) {
                let (first, last, timed) = &mut self.span[i];
                (*first, *last) = match self.forms[i] {
                    0 => (days, days),
                    _ => (first.min(days), last.max(days)),
                };
                *timed |= days.fract() != 0.0;
                self.forms[i] += 1;
            }
        }
    }

    pub(super) fn known(&self) -> usize {
        self.cells - self.missing
    }

    pub(super) fn missing_share(&self) -> f64 {
        self.missing as f64 / self.cells.max(1) as f64
    }

    /// Whether commas are decimal here, which the other columns of a file may not tell.
    pub(super) fn has_decimal_commas(&self) -> bool {
        self.comma > self.point
    }

    fn decimal_comma(&self, file_has_commas: bool) -> bool {
        self.comma > self.point || (self.comma == self.point && file_has_commas)
    }

    /// Texts and how often they occur; `None` where there are too many to tell apart.
    pub(super) fn texts(&self) -> Option<&HashMap<Box<str>, usize>> {
        (!self.too_many).then_some(&self.texts)
    }

    /// Cells that are not missing and not numbers: how many, and the first with its line.
    pub(super) fn odd(&self) -> (usize, Option<&(usize, String)>) {
        (self.known() - self.point.max(self.comma), self.odd.as_ref())
    }

    /// What the column is.
    pub(super) fn verdict(&self, name: &str, file_has_commas: bool) -> Verdict {
        let (known, numbers) = (self.known(), self.point.max(self.comma));
        if known == 0 {
            return Verdict::Leave("empty".into());
        }
        if self.counts && known > 2 && is_index_name(name) {
            return Verdict::Leave("row numbers".into());
        }
        let dates = self.best_form();
        if known > 1
            && let Some(texts) = self.texts()
            && texts.len() == 1
        {
            if self.missing_is_a_level() {
                return Verdict::Use(self.as_category());
            }
            let rest = if known < self.cells { " that have one" } else { "" };
            return Verdict::Leave(format!("one value in all rows{rest}"));
        }
        let mostly = |n: usize| n > 0 && (known - n) * MOST_ODD <= known;
        if numbers == known {
            return Verdict::Use(self.as_number(file_has_commas));
        }
        if self.yes_no == known {
            return Verdict::Use(Kind::YesNo);
        }
        if self.forms[dates] == known {
            return Verdict::Use(self.as_date(dates));
        }
        if mostly(numbers) && known > MOST_ODD {
            return Verdict::Use(self.as_number(file_has_commas));
        }
        if mostly(self.forms[dates]) && known > MOST_ODD {
            return Verdict::Use(self.as_date(dates));
        }
        match self.texts() {
            Some(texts) if texts.len() == 1 && known == 1 => Verdict::Leave("one value in all rows".into()),
            Some(texts) if texts.len() <= FEW_LEVELS || 2 * texts.len() <= known => {
                Verdict::Use(self.as_category())
            }
            Some(texts) if texts.len() == self.cells => {
                Verdict::Leave("text that is different in every row".into())
            }
            Some(texts) => Verdict::Leave(format!("text, {} different ones in {known} rows", texts.len())),
            None => Verdict::Leave(format!("text, more than {MOST_TEXTS} different ones")),
        }
    }

    /// What the column is if a user says so.
    pub(super) fn forced(&self, kind: As, file_has_commas: bool) -> Result<Kind, String> {
        let known = self.known();
        let form = |form: DateForm| FORMS.iter().position(|f| *f == form).expect("a form of the list");
        let date = |i: usize| match self.forms[i] {
            0 => Err("no cell is a date in that form".to_string()),
            _ => Ok(self.as_date(i)),
        };
        match kind {
            As::Number if self.point.max(self.comma) == 0 => Err("no cell is a number".into()),
            As::Number => Ok(self.as_number(file_has_commas)),
            As::Category if self.too_many => Err(format!("more than {MOST_TEXTS} levels")),
            As::Category if known == 0 => Err("all cells are missing".into()),
            As::Category => Ok(self.as_category()),
            As::Date => date(self.best_form()),
            As::DayFirst => date(form(DateForm::DayFirst)),
            As::MonthFirst => date(form(DateForm::MonthFirst)),
        }
    }

    fn as_number(&self, file_has_commas: bool) -> Kind {
        Kind::Number { decimal_comma: self.decimal_comma(file_has_commas) }
    }

    /// The most frequent levels, in the order of their names.
    fn as_category(&self) -> Kind {
        let mut levels: Vec<(&str, usize)> = self.texts.iter().map(|(t, n)| (&**t, *n)).collect();
        levels.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        // Levels that occur once say little, unless all do.
        let rare = |n: usize| n == 1 && levels.len() > FEW_LEVELS && levels[0].1 > 1;
        let kept = levels.iter().take(MOST_LEVELS).filter(|(_, n)| !rare(*n)).count();
        let other = kept < levels.len();
        let mut levels: Vec<String> = levels[..kept].iter().map(|(t, _)| t.to_string()).collect();
        levels.extend(self.missing_is_a_level().then(String::new));
        levels.sort();
        Kind::Category { levels, other }
    }

    /// Whether what is missing says something.
    fn missing_is_a_level(&self) -> bool {
        self.missing >= MISSING_LEVEL.max(self.cells / 100)
    }

    /// The form that most cells have; the first of several.
    fn best_form(&self) -> usize {
        (0..FORMS.len()).rev().max_by_key(|&i| self.forms[i]).expect("there are forms")
    }

    /// Whether day and month could be swapped.
    pub(super) fn ambiguous_date(&self) -> bool {
        let [_, month, day, ..] = self.forms;
        // Dots are in days first alone, so equal numbers mean that none is in doubt by them.
        month > 0 && month == day
    }

    fn as_date(&self, form: usize) -> Kind {
        let ((first, last, timed), form) = (self.span[form], FORMS[form]);
        let mut parts = Vec::new();
        if form != DateForm::TimeOfDay {
            parts.push(Part::Days);
            parts.extend((last - first >= 300.0).then_some(Part::Year));
            parts.extend((last - first >= 14.0).then_some(Part::Week));
        }
        parts.extend((timed || form == DateForm::TimeOfDay).then_some(Part::Day));
        Kind::Date { form, parts }
    }
}

/// Names that programs give to the numbers of rows.
fn is_index_name(name: &str) -> bool {
    let name = name.to_lowercase();
    let whole =
        ["id", "index", "idx", "row", "rowid", "row_id", "nr", "no", "no.", "#", "column 1", "unnamed: 0"];
    whole.contains(&name.as_str()) || name.ends_with("_id") || name.ends_with(" id")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(cells: &[&str]) -> Look {
        let mut look = Look::default();
        cells.iter().enumerate().for_each(|(i, cell)| look.see(cell, i + 2));
        look
    }

    fn used(cells: &[&str]) -> Kind {
        match look(cells).verdict("x", false) {
            Verdict::Use(kind) => kind,
            Verdict::Leave(why) => panic!("{cells:?}: {why}"),
        }
    }

    #[test]
    fn missing_cells_of_a_category_are_a_level_if_there_are_several() {
        let cells = |missing: usize| [vec!["pool", "shed", "pool"], vec![""; missing]].concat();
        assert!(matches!(used(&cells(4)), Kind::Category { levels, .. } if levels == ["pool", "shed"]));
        let kind = used(&cells(5));
        assert!(matches!(&kind, Kind::Category { levels, .. } if *levels == ["", "pool", "shed"]));
        assert_eq!(kind.names("x"), ["x=(missing)", "x=pool", "x=shed"]);
        let mut inputs = Vec::new();
        assert_eq!(kind.push("NA", &mut inputs), super::super::preparation::Cell::Known);
        assert_eq!(inputs, [1.0, 0.0, 0.0]);
        // Where all that is known is alike, that it is known says something.
        assert!(
            matches!(used(&[vec!["shed"; 3], vec![""; 9]].concat()), Kind::Category { levels, .. } if levels == ["", "shed"])
        );
        for flag in ["1", "yes"] {
            let cells = [vec![flag; 3], vec![""; 9]].concat();
            assert!(matches!(used(&cells), Kind::Category { levels, .. } if levels == ["", flag]));
        }
    }

    #[test]
    fn columns_are_what_their_cells_are() {
        assert_eq!(used(&["1", "", "NA", "2.5"]), Kind::Number { decimal_comma: false });
        assert_eq!(used(&["1,5", "2", "3"]), Kind::Number { decimal_comma: true });
        assert_eq!(used(&["1,500", "2,000"]), Kind::Number { decimal_comma: false });
        assert_eq!(used(&["yes", "No", "?"]), Kind::YesNo);
        let category = Kind::Category { levels: vec!["a".into(), "b".into()], other: false };
        assert_eq!(used(&["b", "a", "b", ""]), category);
        let date = |form, parts: &[Part]| Kind::Date { form, parts: parts.to_vec() };
        assert_eq!(used(&["2024-01-01", "2024-01-05"]), date(DateForm::YearFirst, &[Part::Days]));
        let year = [Part::Days, Part::Year, Part::Week];
        assert_eq!(used(&["31/01/2023", "01/06/2024"]), date(DateForm::DayFirst, &year));
        assert_eq!(used(&["12:30", "1:15"]), date(DateForm::TimeOfDay, &[Part::Day]));
    }

    #[test]
    fn one_odd_cell_does_not_make_a_category_of_numbers() {
        let mut cells: Vec<String> = (0..30).map(|i| format!("{}.5", i * 7 % 30)).collect();
        cells.push("abc".into());
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        assert_eq!(used(&cells), Kind::Number { decimal_comma: false });
        assert_eq!(look(&cells).odd(), (1, Some(&(32, "abc".into()))));
    }

    #[test]
    fn what_cannot_help_is_left_out() {
        let leave = |cells: &[&str], name: &str| look(cells).verdict(name, false);
        let because = |why: &str| Verdict::Leave(why.into());
        assert_eq!(leave(&["", "NA"], "x"), because("empty"));
        assert_eq!(leave(&["0", "1", "2", "3"], "id"), because("row numbers"));
        assert!(matches!(leave(&["1", "2", "3", "4"], "year"), Verdict::Use(_)));
        assert_eq!(leave(&["a", "a", "a"], "x"), because("one value in all rows"));
        assert_eq!(leave(&["a", "", "a"], "x"), because("one value in all rows that have one"));
        assert_eq!(leave(&["7", "7", "7"], "x"), because("one value in all rows"));
        assert_eq!(leave(&["yes", "", "yes"], "x"), because("one value in all rows that have one"));
        let names: Vec<String> = (0..2000).map(|i| format!("person {i}")).collect();
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(leave(&names[..30], "x"), because("text that is different in every row"));
        assert_eq!(leave(&names, "x"), because("text, more than 1024 different ones"));
        names[29] = "person 0";
        assert_eq!(leave(&names[..30], "x"), because("text, 29 different ones in 30 rows"));
        names[29] = "";
        assert_eq!(leave(&names[..30], "x"), because("text, 29 different ones in 29 rows"));
        // As often as twice each they are levels.
        names[..58].copy_within(..29, 29);
        assert!(matches!(leave(&names[..58], "x"), Verdict::Use(Kind::Category { .. })));
        assert_eq!(leave(&names[..57], "x"), because("text, 29 different ones in 57 rows"));
    }
}
