//! Tables about training on a GPU.

use super::{Table, markdown, number, or_dash, rows, word};
use serde_json::Value;

/// Images per second of cuTAGI on an H200: network, batch.
const CUTAGI: [(&str, f64, f64); 4] = [
    ("MNIST", 1024.0, 13.3e3),
    ("CIFAR-10", 1024.0, 8.7e3),
    ("784-128-128-11", 4096.0, 1.8e6),
    ("784-4096-4096-11", 1024.0, 101e3),
];

/// Images per second for whole training steps, with PyTorch in the same run.
pub(super) fn training(file: &Value) -> Table {
    let rate = |v: f64| match v {
        _ if v >= 1e6 => format!("{:.2} M", v / 1e6),
        _ => format!("{:.0} k", v / 1e3),
    };
    let one = |row: &Value| {
        let of = |name: &str| number(row, &[name]).map(rate);
        let (network, batch) = (word(row, "network")?, number(row, &["batch"])?);
        let cutagi = CUTAGI.iter().find(|(name, of, _)| *name == network && *of == batch);
        let cutagi = cutagi.map_or("-".into(), |(.., images)| rate(*images));
        let ours = [network.to_string(), format!("{batch:.0}"), of("fast")?, of("precise")?];
        Ok(ours.into_iter().chain([of("torch")?, cutagi]).collect())
    };
    let lines = rows(file, "rows")?.iter().map(one).collect::<Result<_, String>>()?;
    let head = ["network", "batch", "`cuda-fast`", "`cuda`", "PyTorch", "cuTAGI"];
    let about = format!("{}; cuTAGI: measured earlier, on such a GPU", word(file, "device")?);
    Ok(markdown(file, &head, lines, &about))
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
