//! Parses a cell of a table: missing, a number as people write it, yes or no.

/// Cells that stand for a value nobody knows: what pandas reads so, a question mark and dashes.
pub(super) fn is_missing(cell: &str) -> bool {
    const MISSING: [&str; 15] = [
        "", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None", "?", "-",
    ];
    MISSING.contains(&cell) || cell == "--"
}

/// Yes is true, no is false, whatever the case; `None` where it is neither.
pub(super) fn yes_or_no(cell: &str) -> Option<bool> {
    const YES: [&str; 5] = ["true", "yes", "y", "t", "on"];
    const NO: [&str; 5] = ["false", "no", "n", "f", "off"];
    let is = |words: [&str; 5]| words.iter().any(|w| w.eq_ignore_ascii_case(cell));
    if is(YES) { Some(true) } else { is(NO).then_some(false) }
}

/// The number in a cell. A currency sign or a percent sign is dropped and the number stays as it is written; thousands
/// may be set apart; parentheses mean a negative amount.
pub(super) fn number(cell: &str, decimal_comma: bool) -> Option<f64> {
    let finite = |text: &str| text.parse::<f64>().ok().filter(|v| v.is_finite());
    // Most cells need nothing more. A point may set thousands apart where commas are decimal.
    if !decimal_comma || !cell.contains('.') {
        match cell.parse::<f64>() {
            Ok(v) if v.is_finite() => return Some(v),
            // `inf`, or too large: not a number to learn from.
            Ok(_) => return None,
            Err(_) => {}
        }
    }
    if cell.len() > 64 || !cell.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (negative, text) = match cell.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(inner) => (true, inner),
        None => (false, cell),
    };
    let (minus, text) = match text.trim().strip_prefix(['-', '\u{2212}']) {
        Some(rest) => (true, rest),
        None => (false, text.trim()),
    };
    let text = text.trim_start_matches(SIGNS).trim_end_matches(SIGNS).trim_end_matches('%').trim();
    // The sign of a price may stand behind the currency.
    let (minus, text) = match text.strip_prefix(['-', '\u{2212}']) {
        Some(rest) if !minus => (true, rest.trim_start()),
        _ => (minus, text),
    };
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == ',') {
        return None;
    }
    let decimal = if decimal_comma { ',' } else { '.' };
    let (whole, rest) = text.split_at(text.find([decimal, 'e', 'E']).unwrap_or(text.len()));
    let plain = ungrouped(whole, decimal)? + &rest.replacen(decimal, ".", 1);
    let value = finite(&plain)?;
    Some(if negative != minus { -value } else { value })
}

/// Currencies, and the spaces beside them.
const SIGNS: [char; 8] = ['$', '€', '£', '¥', '₹', ' ', '\u{a0}', '+'];

/// A whole number without what sets its thousands apart; `None` where the groups are not of three digits.
fn ungrouped(whole: &str, decimal: char) -> Option<String> {
    let mark = whole.chars().find(|c| !c.is_ascii_digit());
    let Some(mark) = mark else { return Some(whole.into()) };
    if mark == decimal || ![',', '.', ' ', '\'', '\u{2019}', '_', '\u{a0}', '\u{202f}'].contains(&mark) {
        return None;
    }
    let mut groups = whole.split(mark);
    let first = groups.next().is_some_and(|g| (1..=3).contains(&g.len()));
    let rest = groups.all(|g| g.len() == 3 && g.bytes().all(|b| b.is_ascii_digit()));
    (first && rest).then(|| whole.replace(mark, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_write_them() {
        let point = [
            ("1.5", 1.5),
            ("-3e-2", -0.03),
            ("1,234", 1234.0),
            ("12,345,678.90", 12345678.9),
            ("$1,200.50", 1200.5),
            ("€ 5", 5.0),
            ("5 €", 5.0),
            ("-$3", -3.0),
            ("$-3", -3.0),
            ("(1,200)", -1200.0),
            ("12 %", 12.0),
            ("12.5%", 12.5),
            ("1 234.5", 1234.5),
            ("1'234", 1234.0),
            ("\u{2212}7", -7.0),
            (".5", 0.5),
            ("+4", 4.0),
        ];
        for (cell, value) in point {
            assert_eq!(number(cell, false), Some(value), "{cell}");
        }
        let comma = [
            ("3,25", 3.25),
            ("1.234,56", 1234.56),
            ("1.234", 1234.0),
            ("7", 7.0),
            ("-0,5 %", -0.5),
            ("1 234,5", 1234.5),
        ];
        for (cell, value) in comma {
            assert_eq!(number(cell, true), Some(value), "{cell}");
        }
        for cell in [
            "",
            "x",
            "1,23",
            "12,34,567",
            "1.2.3",
            "inf",
            "1e999",
            "12abc",
            "0x10",
            "1-2",
            "2024-01-31",
            "1 2",
        ] {
            assert_eq!(number(cell, false), None, "{cell}");
        }
        assert_eq!(number("1,2,3", true), None);
        assert_eq!(number("3.14", true), None);
    }

    #[test]
    fn words_for_yes_no_and_nothing() {
        assert_eq!((yes_or_no("Yes"), yes_or_no("FALSE"), yes_or_no("1")), (Some(true), Some(false), None));
        assert!(
            is_missing("") && is_missing("NaN") && is_missing("?") && !is_missing("none") && !is_missing("0")
        );
    }
}
