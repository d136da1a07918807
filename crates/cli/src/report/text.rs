//! Tables and numbers as text.

use crate::escape;

/// Rows of cells as aligned text: the columns `left` to the left, the others to the right.
pub fn table(rows: &[Vec<String>], left: &[usize]) -> String {
    let shown = |row: &Vec<String>| row.iter().map(|cell| escape::name(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(shown).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            line += if c == 0 { "" } else { "  " };
            line += &if left.contains(&c) {
                format!("{cell:<w$}", w = widths[c])
            } else {
                format!("{cell:>w$}", w = widths[c])
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// How many of something: `1 row`, `2 rows`.
pub fn count(n: impl Into<u64>, one: &str) -> String {
    let n = n.into();
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

/// A number with about five significant digits.
pub fn short(v: f64) -> String {
    let size = v.abs();
    if v == 0.0 || !v.is_finite() {
        format!("{v}")
    } else if !(1e-4..1e7).contains(&size) {
        format!("{v:.4e}")
    } else {
        let digits = (4 - size.log10().floor() as i32).max(0) as usize;
        format!("{v:.digits$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_at_every_size() {
        let said = [0.0, 1.0, 1234.5678, 0.012345678, 1e-9, 2.5e12, -3.25].map(short);
        assert_eq!(said, ["0", "1.0000", "1234.6", "0.012346", "1.0000e-9", "2.5000e12", "-3.2500"]);
    }

    #[test]
    fn tables_align() {
        let rows = [vec!["a".to_string(), "1".to_string()], vec!["long".to_string(), "100".to_string()]];
        assert_eq!(table(&rows, &[0]), "a       1\nlong  100\n");
    }
}
