//! Tables about training on a GPU.

use super::{Table, markdown, number, or_dash, rows, word};
use serde_json::Value;

/// Images per second for whole training steps, with PyTorch in the same run.
pub(super) fn training(file: &Value) -> Table {
    let rate = |v: f64| match v {
        _ if v >= 1e6 => format!("{:.2} M", v / 1e6),
        _ => format!("{:.0} k", v / 1e3),
    };
    let one = |row: &Value| {
        let of = |name: &str| number(row, &[name]).map(rate);
        let batch = format!("{:.0}", number(row, &["batch"])?);
        Ok(vec![word(row, "network")?.to_string(), batch, of("fast")?, of("precise")?, of("torch")?])
    };
    let lines = rows(file, "rows")?.iter().map(one).collect::<Result<_, String>>()?;
    let head = ["network", "batch", "`cuda-fast`", "`cuda`", "PyTorch"];
    Ok(markdown(file, &head, lines, word(file, "device")?))
}

/// Whole tasks, from files to a model or a table.
pub(super) fn tasks(file: &Value) -> Table {
    let one = |row: &Value| {
        let percent = |name: &str| or_dash(row, &[name], |v| format!("{v:.2} %"));
        let seconds = format!("{:.1} s", number(row, &["seconds"])?);
        let command = format!("`{}`", word(row, "command")?);
        let task = word(row, "task")?.to_string();
        Ok(vec![task, percent("error_percent"), percent("success_percent"), seconds, command])
    };
    let lines = rows(file, "tasks")?.iter().map(one).collect::<Result<_, String>>()?;
    Ok(markdown(file, &["task", "error", "success", "time", "command"], lines, word(file, "device")?))
}
