//! Tables about the Python package.

use super::{Table, markdown, micro, number, rows, word};
use serde_json::Value;

pub(super) fn table(name: &str, file: &Value) -> Table {
    match name {
        "python-updates" => updates(file),
        "python-rl" => steps(file),
        "head" => heads(file),
        _ => costs(file),
    }
}

/// What a call costs, with the limit that was set for it.
fn costs(file: &Value) -> Table {
    let rust = |name: &str| number(file, &["beside_rust", name]);
    let line = |what: &str, measured: String, goal: &str| vec![what.to_string(), measured, goal.to_string()];
    let million = |verb: &str| -> Result<String, String> {
        let of = |name: &str| number(file, &["million_rows", verb, name]);
        let (rust, python) = (of("rust_seconds")?, of("python_seconds")?);
        Ok(format!("{rust:.2} s / {python:.2} s, x {:.3}", of("ratio")?))
    };
    let many = number(file, &["million_rows", "rows"])?;
    let rows = vec![
        line(
            "`learn`, 23-128-128-128-1, 16 rows: Rust / Python",
            format!("{} / {}", micro(rust("learn_rust_us")?), micro(rust("learn_python_us")?)),
            "15 us more",
        ),
        line("`predict`, one row, the same network", micro(rust("predict_one_row_us")?), "10 us"),
        line(&format!("`fit`, one epoch over {many:.0} rows: Rust / Python"), million("fit")?, "x 1.05"),
        line(&format!("`predict` for {many:.0} rows: Rust / Python"), million("predict")?, "x 1.05"),
        line(
            "two threads on two networks, over one on one",
            format!("x {:.2}", number(file, &["threads", "two_threads_over_one"])?),
            "x 1.2",
        ),
        line("`import tractable`", format!("{:.1} ms", 1e3 * number(file, &["import_seconds"])?), "100 ms"),
        line(
            &format!("memory over {:.0} calls", number(file, &["leak", "calls"])?),
            format!("{:.0} kB more", number(file, &["leak", "grown_kb"])?),
            "nothing",
        ),
    ];
    Ok(markdown(file, &["what", "measured", "goal"], rows, "best of several blocks"))
}

/// The same update by other packages.
fn updates(file: &Value) -> Table {
    let mut ours = (String::new(), f64::NAN);
    let mut lines = Vec::new();
    for row in rows(file, "updates")? {
        let (what, who, us) = (word(row, "what")?, word(row, "who")?, number(row, &["median_us"])?);
        if ours.0 != what {
            ours = (what.to_string(), us);
        }
        lines.push(vec![what.to_string(), who.to_string(), micro(us), format!("x {:.1}", us / ours.1)]);
    }
    Ok(markdown(file, &["update", "package", "median", "relative to ours"], lines, ""))
}

/// Steps of training per second.
fn steps(file: &Value) -> Table {
    let line = |row: &Value| {
        Ok(vec![word(row, "who")?.to_string(), format!("{:.0}", number(row, &["steps_per_second"])?)])
    };
    let lines = rows(file, "rl")?.iter().map(line).collect::<Result<_, String>>()?;
    Ok(markdown(file, &["InvertedPendulum, training", "steps/s"], lines, ""))
}

/// Heads on frozen features.
fn heads(file: &Value) -> Table {
    let sets = file["sets"].as_object().ok_or("no `sets`")?;
    let mut lines = Vec::new();
    for (set, heads) in sets {
        for (name, scores) in heads.as_object().ok_or("no heads")? {
            let mean = |what: &str| scores[what][0].as_f64().ok_or(format!("no `{what}` of {name}"));
            let spread = |what: &str| scores[what][1].as_f64().ok_or(format!("no `{what}` of {name}"));
            lines.push(vec![
                set.clone(),
                name.clone(),
                format!("{:.2} ± {:.2} %", 100.0 * mean("error")?, 100.0 * spread("error")?),
                format!("{:.3} ± {:.3}", mean("nll")?, spread("nll")?),
                format!("{:.2} %", 100.0 * mean("ece")?),
                format!("{:.1} s", mean("seconds")?),
            ]);
        }
    }
    let about = format!("mean ± standard deviation over {:.0} backbones", number(file, &["seeds"])?);
    Ok(markdown(file, &["set", "head", "error", "NLL", "ECE", "time"], lines, &about))
}
