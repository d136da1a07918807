//! Tables about streams: one row per method, one column per stream.

use super::{Table, markdown, number, rows, word};
use serde_json::Value;

pub(super) const KNOWN: [&str; 5] = ["streams", "streams-coverage", "streams-river", "latency", "sustained"];
const STREAMS: [&str; 6] =
    ["friedman-still", "friedman-abrupt", "friedman-gradual", "friedman-recurring", "sea", "hyperplane"];
const HEAD: [&str; 7] = ["way", "still", "abrupt", "gradual", "recurring", "SEA", "hyperplane"];

pub(super) fn table(name: &str, file: &Value) -> Table {
    match name {
        "streams-coverage" => coverage(file),
        "latency" => latency(file),
        "sustained" => sustained(file),
        _ => regret(file),
    }
}

fn is_class(stream: &str) -> bool {
    ["sea", "hyperplane"].contains(&stream)
}

/// One line per method, in the order of the file; `cell` makes the text for one stream.
fn by_way(file: &Value, about: &str, cell: impl Fn(&str, &Value) -> Table) -> Table {
    let all = rows(file, "rows")?;
    let mut ways: Vec<&str> = Vec::new();
    for row in all {
        let way = word(row, "way")?;
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    let line = |way: &&str| {
        let mut line = vec![way.to_string()];
        for stream in STREAMS {
            let own = all.iter().find(|r| r["way"] == **way && r["stream"] == stream);
            line.push(own.map_or(Ok("-".into()), |row| cell(stream, row))?);
        }
        Ok(line)
    };
    let lines = ways.iter().map(line).collect::<Result<Vec<_>, String>>()?;
    Ok(markdown(file, &HEAD, lines, about))
}

/// Regret after a change, then over all rows.
fn regret(file: &Value) -> Table {
    by_way(file, "after a change / all rows", |stream, row| {
        let shown = |v: f64| if is_class(stream) { format!("{:.2} %", 100.0 * v) } else { format!("{v:.2}") };
        let all = shown(number(row, &["regret"])?);
        Ok(row["regret_after"].as_f64().map_or(all.clone(), |after| format!("{} / {all}", shown(after))))
    })
}

/// Coverage after a change, and of the worst 500 rows.
fn coverage(file: &Value) -> Table {
    by_way(file, "after a change / worst 500 rows", |stream, row| {
        let digits = usize::from(is_class(stream));
        let shown = |v: f64| format!("{:.digits$} %", 100.0 * v);
        let worst = shown(number(row, &["coverage_worst"])?);
        let all = number(row, &["coverage"])?;
        Ok(format!("{} / {worst}", shown(row["coverage_after"].as_f64().unwrap_or(all))))
    })
}

/// Latency of one update.
fn latency(file: &Value) -> Table {
    let line = |what: &str, name: &str, goal: &str| {
        let us = number(file, &["latency", name])?;
        Ok(vec![what.to_string(), format!("{us:.1} us"), goal.to_string()])
    };
    let lines = [("median", "p50_us", "10 us"), ("99 %", "p99_us", "20 us"), ("99.9 %", "p999_us", "50 us")];
    let lines = lines.map(|(what, name, goal)| line(what, name, goal)).into_iter();
    let network = word(&file["latency"], "network")?;
    let about = format!("{network}, {:.0} updates, one core", number(file, &["latency", "updates"])?);
    Ok(markdown(file, &["one update", "measured", "goal"], lines.collect::<Result<_, String>>()?, &about))
}

/// Memory over many rows.
fn sustained(file: &Value) -> Table {
    let of = |name: &str| number(file, &["sustained", name]);
    let mb = |name: &str| Ok::<_, String>(format!("{:.1} MB", of(name)? / 1024.0));
    let line = vec![
        format!("{:.0}", of("rows")?),
        format!("{:.0}", of("rows_per_second")?),
        mb("early_kb")?,
        mb("end_kb")?,
        mb("most_kb")?,
    ];
    let head = ["rows", "rows/s", "memory after a tenth", "at the end", "at most"];
    Ok(markdown(file, &head, vec![line], ""))
}
