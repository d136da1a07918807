//! Dates and times as people write them.

use chrono::{NaiveDate, NaiveTime, Timelike};

/// How a column writes its dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub(crate) enum DateForm {
    /// 2024-01-31 or 2024/01/31.
    YearFirst,
    /// 01/31/2024, 1-31-24.
    MonthFirst,
    /// 31/01/2024, 31.01.2024, 31-1-24.
    DayFirst,
    /// 31 Jan 2024, Jan 31, 2024, 31-Jan-2024.
    MonthName,
    /// 12:30, 12:30:15, 1:05 pm: no date.
    TimeOfDay,
}

pub(super) const FORMS: [DateForm; 5] =
    [DateForm::YearFirst, DateForm::MonthFirst, DateForm::DayFirst, DateForm::MonthName, DateForm::TimeOfDay];

impl DateForm {
    fn patterns(self) -> &'static [&'static str] {
        match self {
            DateForm::YearFirst => &["%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d"],
            DateForm::MonthFirst => &["%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y", "%m-%d-%y"],
            DateForm::DayFirst => &["%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%d.%m.%y", "%d/%m/%y", "%d-%m-%y"],
            DateForm::MonthName => &["%d %B %Y", "%d-%B-%Y", "%B %d, %Y", "%B %d %Y", "%d. %B %Y"],
            DateForm::TimeOfDay => &[],
        }
    }

    /// In words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            DateForm::YearFirst => "year first",
            DateForm::MonthFirst => "month first",
            DateForm::DayFirst => "day first",
            DateForm::MonthName => "month by name",
            DateForm::TimeOfDay => "time of day",
        }
    }

    /// Days since the start of 1970, with their fraction; `None` where the cell is not of this form.
    pub(super) fn days(self, cell: &str) -> Option<f64> {
        if cell.len() > 40 || !cell.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return None;
        }
        if self == DateForm::TimeOfDay {
            return time(cell);
        }
        self.patterns().iter().find_map(|pattern| {
            let (date, rest) = NaiveDate::parse_and_remainder(cell, pattern).ok()?;
            let year = chrono::Datelike::year(&date);
            // Four digits are asked for where the pattern has a whole year.
            if !(1000..=9999).contains(&year) || rest.starts_with(|c: char| c.is_ascii_digit()) {
                return None;
            }
            let days = (date - NaiveDate::default()).num_days() as f64;
            let rest = rest.strip_prefix(['T', 't']).unwrap_or_else(|| rest.trim_start_matches([' ', ',']));
            if rest.is_empty() { Some(days) } else { Some(days + time(rest)?) }
        })
    }
}

/// A time of day, and where it was measured, as a part of a day.
fn time(text: &str) -> Option<f64> {
    const PATTERNS: [&str; 5] = ["%I:%M:%S %p", "%I:%M %p", "%I:%M%p", "%H:%M:%S%.f", "%H:%M"];
    PATTERNS.iter().find_map(|pattern| {
        let (time, rest) = NaiveTime::parse_and_remainder(text, pattern).ok()?;
        let seconds = f64::from(time.num_seconds_from_midnight()) + f64::from(time.nanosecond()) * 1e-9;
        Some((seconds - offset(rest.trim())?) / 86400.0)
    })
}

/// Seconds that a clock is ahead of UTC; 0 where nothing is said.
fn offset(zone: &str) -> Option<f64> {
    if ["", "Z", "z", "UTC", "GMT"].contains(&zone) {
        return Some(0.0);
    }
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", rest) => (1.0, rest),
        ("-", rest) => (-1.0, rest),
        _ => return None,
    };
    let digits: Vec<f64> =
        digits.chars().filter(|c| *c != ':').map(|c| c.to_digit(10).map(f64::from)).collect::<Option<_>>()?;
    match digits[..] {
        [a, b] => Some(sign * 3600.0 * (10.0 * a + b)),
        [a, b, c, d] => Some(sign * (3600.0 * (10.0 * a + b) + 60.0 * (10.0 * c + d))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_day_in_many_forms() {
        // 31 January 2024 is day 19753.
        let cases = [
            (DateForm::YearFirst, "2024-01-31"),
            (DateForm::YearFirst, "2024/1/31"),
            (DateForm::MonthFirst, "01/31/2024"),
            (DateForm::MonthFirst, "1/31/24"),
            (DateForm::DayFirst, "31.01.2024"),
            (DateForm::DayFirst, "31/1/2024"),
            (DateForm::MonthName, "31 Jan 2024"),
            (DateForm::MonthName, "Jan 31, 2024"),
            (DateForm::MonthName, "January 31, 2024"),
        ];
        for (form, cell) in cases {
            assert_eq!(form.days(cell), Some(19753.0), "{cell}");
            assert_eq!(form.days(&format!("{cell} 06:00")), Some(19753.25), "{cell}");
        }
        assert_eq!(DateForm::YearFirst.days("2024-01-31T12:00:00Z"), Some(19753.5));
        assert_eq!(DateForm::YearFirst.days("2024-01-31 12:00:00.000+02:00"), Some(19753.5 - 2.0 / 24.0));
        assert_eq!(DateForm::TimeOfDay.days("6:00 pm"), Some(0.75));
        for cell in ["2024-13-01", "31/31/2024", "x", "20240131", "1.5", "2024-01-31 x", "99-01-2024"] {
            assert!(FORMS.iter().all(|f| f.days(cell).is_none()), "{cell}");
        }
    }
}
