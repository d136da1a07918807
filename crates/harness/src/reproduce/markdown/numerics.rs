//! Tables about numerical checks.

use super::{Table, markdown, number, or_dash, percent, rows, word};
use serde_json::Value;

/// Where conditioning is right.
pub(super) fn cases(file: &Value) -> Table {
    let one = |row: &Value| {
        let count = number(row, &["cases"]).map(|v| format!("{v:.0}"))?;
        Ok(vec![word(row, "of")?.to_string(), percent(row, "right"), count])
    };
    let rows = rows(file, "parts")?.iter().map(one).collect::<Result<_, String>>()?;
    Ok(markdown(&Value::Null, &["condition, where", "both within 10 %", "cases"], rows, ""))
}

/// Goals and whether they are met.
pub(super) fn goals(file: &Value) -> Table {
    let one = |row: &Value| {
        let met = if row["met"] == true { "met" } else { "missed" };
        let measured = or_dash(row, &["measured"], |v| format!("{v:.3}"));
        Ok(vec![word(row, "what")?.to_string(), word(row, "goal")?.to_string(), measured, met.into()])
    };
    let rows = rows(file, "goals")?.iter().map(one).collect::<Result<_, String>>()?;
    Ok(markdown(&Value::Null, &["", "goal", "measured", ""], rows, ""))
}

/// Golden vectors, recomputed.
pub(super) fn precision(file: &Value) -> Table {
    let one = |row: &Value| {
        let worst = number(row, &["worst"])?;
        Ok(vec![
            word(row, "what")?.to_string(),
            format!("{:.0}", number(row, &["files"])?),
            format!("{worst:.1e}"),
        ])
    };
    let rows = rows(file, "precision")?.iter().map(one).collect::<Result<_, String>>()?;
    Ok(markdown(&Value::Null, &["recomputed", "files", "worst error"], rows, ""))
}
