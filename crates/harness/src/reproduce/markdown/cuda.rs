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

/// Whole tasks, from files to a model or a table, with one error and one time per seed. A result of an earlier form has one error, on
/// held-out training images.
pub(super) fn tasks(file: &Value) -> Table {
    let one = |row: &Value| {
        let held_out = or_dash(row, &["error_percent"], |v| format!("{v:.2} %, held out"));
        let error =
            if row["errors_percent"].is_null() { held_out } else { list(&row["errors_percent"], 2, "%")? };
        let success = or_dash(row, &["success_percent"], |v| format!("{v:.2} %"));
        let time = list(&row["seconds"], 1, "s")?;
        let command = format!("`{}`", word(row, "command")?);
        Ok(vec![word(row, "task")?.to_string(), error, success, time, command])
    };
    if file["tasks"].is_null() {
        return Ok(MISSING.into());
    }
    let lines = rows(file, "tasks")?.iter().map(one).collect::<Result<_, String>>()?;
    Ok(markdown(file, &["task", "error", "success", "time", "command"], lines, word(file, "device")?))
}

/// Test errors after the same training on every device, one per seed.
pub(super) fn agreement(file: &Value) -> Table {
    let one = |row: &Value| {
        let errors = |device| list(&row["errors_percent"][device], 2, "%");
        let command = format!("`{}`", word(row, "command")?);
        let network = word(row, "network")?.to_string();
        Ok(vec![network, errors("cpu")?, errors("cuda")?, errors("cuda-fast")?, command])
    };
    if file["agreement"].is_null() {
        return Ok(MISSING.into());
    }
    let lines = rows(file, "agreement")?.iter().map(one).collect::<Result<_, String>>()?;
    Ok(markdown(
        file,
        &["network", "`cpu`", "`cuda`", "`cuda-fast`", "command"],
        lines,
        word(file, "device")?,
    ))
}

const MISSING: &str = "*Not measured yet.*\n";

/// Numbers with a unit: one, or one per seed.
fn list(values: &Value, digits: usize, unit: &str) -> Table {
    let values = values.as_array().map_or(std::slice::from_ref(values), Vec::as_slice);
    let shown =
        values.iter().map(|v| v.as_f64().map(|v| format!("{v:.digits$}"))).collect::<Option<Vec<_>>>();
    Ok(format!("{} {unit}", shown.ok_or("there are no numbers of seeds")?.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tasks_of_three_seeds_and_of_one_run_are_shown() {
        let file = json!({"device": "G", "tasks": [
            {"task": "a", "command": "x", "errors_percent": [0.5, 0.25, 1], "seconds": [1, 2.25, 3]},
            {"task": "b", "command": "y", "error_percent": 20.0, "seconds": 4.0},
            {"task": "c", "command": "z", "success_percent": 99.0, "seconds": [5.0]},
        ]});
        let table = tasks(&file).unwrap();
        assert!(table.contains("| a | 0.50, 0.25, 1.00 % | - | 1.0, 2.2, 3.0 s | `x` |"), "{table}");
        assert!(table.contains("| b | 20.00 %, held out | - | 4.0 s | `y` |"), "{table}");
        assert!(table.contains("| c | - | 99.00 % | 5.0 s | `z` |"), "{table}");
        let broken = json!({"device": "G", "tasks": [{"task": "a", "command": "x", "seconds": ["soon"]}]});
        assert!(tasks(&broken).is_err());
    }

    #[test]
    fn a_part_that_was_not_measured_is_named() {
        let none = json!({"device": "G"});
        assert_eq!([tasks(&none).unwrap(), agreement(&none).unwrap()], [MISSING; 2]);
        let errors = json!({"cpu": [9, 8, 7], "cuda": [9, 8, 7], "cuda-fast": [9.5, 8, 7]});
        let file =
            json!({"device": "G", "agreement": [{"network": "n", "command": "x", "errors_percent": errors}]});
        let line = "| n | 9.00, 8.00, 7.00 % | 9.00, 8.00, 7.00 % | 9.50, 8.00, 7.00 % | `x` |";
        assert!(agreement(&file).unwrap().contains(line));
    }
}
