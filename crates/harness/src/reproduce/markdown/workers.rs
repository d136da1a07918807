//! Tables about several workers.

use super::{Table, markdown, number, or_dash, rows, word};
use serde_json::Value;

fn list(row: &Value, name: &str) -> Result<Vec<f64>, String> {
    let all = row[name].as_array().ok_or(format!("no list `{name}`"))?;
    Ok(all.iter().filter_map(Value::as_f64).collect())
}

/// Mean, and the least and the greatest.
fn spread(of: &[f64]) -> String {
    let mean = of.iter().sum::<f64>() / of.len() as f64;
    let (low, high) = of.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    format!("{:.2} % ({:.2} to {:.2})", 100.0 * mean, 100.0 * low, 100.0 * high)
}

/// Accuracy of simulated workers.
pub(super) fn simulated(file: &Value) -> Table {
    let one = |row: &Value| {
        let left_out = match row["rejected"].as_array().map(Vec::as_slice) {
            Some([wrong, others])
                if row["trouble"] != "none"
                    && row["trouble"].as_str().is_some_and(|t| t.starts_with("one")) =>
            {
                format!(
                    "{:.0} % of its increments, {:.1} % of the others'",
                    100.0 * wrong.as_f64().unwrap_or(f64::NAN),
                    100.0 * others.as_f64().unwrap_or(f64::NAN)
                )
            }
            _ => "-".into(),
        };
        Ok(vec![
            format!("{:.0}", number(row, &["workers"])?),
            match number(row, &["every"])? {
                0.0 => "every batch is shared".into(),
                every => format!("{every:.0}"),
            },
            word(row, "trouble")?.to_string(),
            if row["checked"] == true { "yes" } else { "no" }.into(),
            spread(&list(row, "errors")?),
            left_out,
        ])
    };
    let lines = rows(file, "rows")?.iter().map(one).collect::<Result<_, String>>()?;
    let head = ["workers", "batches between merges", "trouble", "surprise checked", "test error", "left out"];
    Ok(markdown(file, &head, lines, "mean, least and greatest over the seeds"))
}

fn ms(seconds: f64) -> String {
    if seconds < 1e-3 { format!("{:.0} us", 1e6 * seconds) } else { format!("{:.1} ms", 1e3 * seconds) }
}

fn bytes(n: f64) -> String {
    if n < 1e6 { format!("{:.0} kB", n / 1e3) } else { format!("{:.1} MB", n / 1e6) }
}

/// Time and bytes of one merge.
pub(super) fn costs(file: &Value) -> Table {
    let one = |row: &Value| {
        let of = |name: &str| number(row, &[name]);
        let (since, merge, floor) = (of("since_seconds")?, of("merge_seconds")?, of("floor_seconds")?);
        Ok(vec![
            word(row, "network")?.to_string(),
            format!("{:.0}", of("weights")?),
            bytes(of("bytes")?),
            ms(since),
            ms(merge),
            format!("{}, x {:.0}", ms(floor), (since + merge) / floor),
            ms(of("batch_seconds")?),
        ])
    };
    let lines = rows(file, "costs")?.iter().map(one).collect::<Result<_, String>>()?;
    let speed = number(file, &["memory_bytes_per_second"])? / 1e9;
    let about = format!("one thread, best of three; memory moves {speed:.1} GB/s");
    let head =
        ["network", "weights", "increment", "making it", "merging it", "memory alone", "a batch of 128"];
    Ok(markdown(file, &head, lines, &about))
}

/// A kind of network between machines: its name, bytes per second, seconds until a message arrives.
const LINKS: [(&str, f64, f64); 3] = [
    ("data centre, 25 Gbit/s, 50 us", 25e9 / 8.0, 50e-6),
    ("office, 1 Gbit/s, 0.5 ms", 1e9 / 8.0, 0.5e-3),
    ("internet, 100 Mbit/s, 50 ms", 1e8 / 8.0, 50e-3),
];
/// Processor time for one message, whatever its size.
const MESSAGE: f64 = 10e-6;

/// Seconds to add up a message over all machines: two exchanges, one slice per machine.
fn exchange(bytes: f64, machines: f64, speed: f64, latency: f64) -> f64 {
    2.0 * (latency + (machines - 1.0) * MESSAGE + bytes * (machines - 1.0) / machines / speed)
}

/// Where machines stop helping, from measured times and sizes.
pub(super) fn machines(file: &Value) -> Table {
    let mut lines = Vec::new();
    for row in rows(file, "costs")? {
        let of = |name: &str| number(row, &[name]);
        let (size, batch) = (of("bytes")?, of("batch_seconds")?);
        let merge = of("since_seconds")? + of("merge_seconds")?;
        for (link, speed, latency) in LINKS {
            // A batch of 128 rows can be shared by at most 128 machines.
            let gain =
                |p: f64| if p == 1.0 { 1.0 } else { batch / (batch / p + exchange(size, p, speed, latency)) };
            let best = (1..=128).map(f64::from).max_by(|a, b| gain(*a).total_cmp(&gain(*b))).unwrap_or(1.0);
            // Merging every n batches of 128: the n at which 1000 machines spend a tenth of their time on it.
            let pause = merge + exchange(size, 1000.0, speed, latency);
            let every = (9.0 * pause / batch).ceil();
            lines.push(vec![
                word(row, "network")?.to_string(),
                link.to_string(),
                if best == 1.0 {
                    "never helps".into()
                } else {
                    format!("{best:.0} machines, x {:.1}", gain(best))
                },
                format!("x {:.0}", 1000.0 * batch / (batch + pause)),
                format!("{every:.0} batches, {:.1} s", every * batch),
            ]);
        }
    }
    let head = [
        "network",
        "link",
        "`--sync batch`: most that helps",
        "1000 machines, `--sync 1`",
        "N for 1000 machines to be x 900",
    ];
    Ok(markdown(
        &Value::Null,
        &head,
        lines,
        "computed from the table above; 10 us of processor time for a message",
    ))
}

/// Speed of two processes.
pub(super) fn speed(file: &Value) -> Table {
    let best = number(file, &["speed", "images_per_second", "1"])?;
    // Least and median time of the blocks.
    let times = |blocks: &Value, name: &str| -> Result<[f64; 2], String> {
        let mut seconds = list(blocks, name)?;
        seconds.sort_by(f64::total_cmp);
        let middle = seconds.len() / 2;
        let upper = *seconds.get(middle).ok_or("no blocks")?;
        let median = if seconds.len() % 2 == 0 { (upper + seconds[middle - 1]) / 2.0 } else { upper };
        Ok([seconds[0], median])
    };
    let (speed, together) = (&file["speed"], &file["speed"]["seconds"]);
    let one = times(together, "1")?;
    let line = |what: &str, times: [f64; 2], share: f64| -> Vec<String> {
        let [best_ratio, median_ratio] = [0, 1].map(|i| share * one[i] / times[i]);
        let images = format!("{:.0}", best * best_ratio);
        vec![what.into(), images, format!("x {best_ratio:.2}"), format!("x {median_ratio:.2}")]
    };
    let lines = vec![
        line("1", one, 1.0),
        line("2, `--sync batch`", times(together, "2")?, 1.0),
        // Each of them learns all images.
        line("2 that share nothing, batches of 64", times(speed, "seconds_apart")?, 2.0),
    ];
    let head = ["processes, one thread each", "images/s", "relative", "relative, medians"];
    let n = number(file, &["speed", "blocks"])?;
    Ok(markdown(file, &head, lines, &format!("MNIST CNN, batch 128, best of {n:.0} blocks")))
}

/// Error for each number of processes and merging interval.
pub(super) fn errors(file: &Value) -> Table {
    let [images, batch, weights] = ["images", "batch", "weights"].map(|name| number(file, &[name]));
    let (batches, size) = (images? / batch?, 8.0 * weights?);
    let one = |row: &Value| {
        let (sync, ranks) = (word(row, "sync")?, number(row, &["ranks"])?);
        let (said, merges) = match sync.parse::<f64>() {
            Ok(every) => (format!("`--sync {sync}`"), (batches / ranks).ceil() / every),
            Err(_) => ("every batch is shared".into(), batches),
        };
        // Two exchanges, one slice per process.
        let sent = merges.ceil() * 2.0 * size * (ranks - 1.0) / ranks;
        let sent = if sent > 0.0 { bytes(sent) } else { "-".into() };
        Ok(vec![format!("{ranks:.0}"), said, spread(&list(row, "errors")?), sent])
    };
    let lines = rows(file, "rows")?.iter().map(one).collect::<Result<_, String>>()?;
    let n = |name: &str| or_dash(file, &[name], |v| format!("{v:.0}"));
    let seeds = rows(file, "rows")?.first().map_or(0, |r| r["errors"].as_array().map_or(0, Vec::len));
    let about = format!(
        "{} of MNIST's images, network `{}`, {} epochs; mean, least and greatest of {seeds} seeds",
        n("images"),
        word(file, "network")?,
        n("epochs")
    );
    Ok(markdown(
        &Value::Null,
        &["processes", "exchange", "test error", "sent by each, per epoch"],
        lines,
        &about,
    ))
}
