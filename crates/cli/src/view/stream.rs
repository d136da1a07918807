//! The part of a view about rows that a model learned after training: their scores over time.

use super::files::Folder;
use super::score::Headline;
use super::{View, neat, number, percent, text};
use crate::plot::Line;
use crate::run::STREAM;
use serde_json::Value;

pub(super) fn add(view: &mut View, folder: &mut Folder) {
    let log = folder.lines(STREAM);
    let mut targets: Vec<&str> = log.iter().filter_map(|l| text(l, &["target"])).collect();
    targets.sort_unstable();
    targets.dedup();
    let Some(last) = log.last() else { return };
    view.number("rows learned from streams", number(last, &["rows"]));
    let first = |l: &&Value| text(l, &["target"]) == targets.first().copied();
    let forgot: f64 = log.iter().filter(first).filter_map(|l| number(l, &["forgot"])).sum();
    view.fact("times it forgot", forgot);
    for target in &targets {
        if let Some(line) = log.iter().rev().find(|l| text(l, &["target"]) == Some(target)) {
            view.scores.extend(headline(target, line));
        }
    }
    let mut chart = |title: &str, label: &str, key: &str, factor: f64| {
        let line = |target: &&str| {
            let own: Vec<Value> =
                log.iter().filter(|l| text(l, &["target"]) == Some(target)).cloned().collect();
            Line::of(target, &own, "rows", key).scaled(factor)
        };
        view.curves(title, "rows learned from streams", label, targets.iter().map(line).collect());
    };
    chart("New rows: error before they are learned", "root mean squared error", "rmse", 1.0);
    chart("New rows: wrong before they are learned", "wrong [%]", "error_rate", 100.0);
    chart("New rows: inside their 90 % interval", "inside [%]", "coverage_90", 100.0);
    chart("New rows: negative log-likelihood", "negative log-likelihood [nats]", "nll", 1.0);
    chart(
        "New rows: surprise, 1 if errors are as large as predicted",
        "observed over expected",
        "surprise",
        1.0,
    );
    let times =
        log.iter().filter(first).filter_map(|l| Some((number(l, &["rows"])?, number(l, &["forgot"])?)));
    let title = "New rows: how often the model forgot";
    view.curve(title, "rows learned from streams", "times in a window", Line::new("", times));
}

/// The last window.
fn headline(target: &str, line: &Value) -> Option<Headline> {
    let of = number(line, &["of"])?;
    let (value, off) = match (number(line, &["rmse"]), number(line, &["error_rate"])) {
        (Some(rmse), _) => (neat(rmse), format!("were off by about {}", neat(rmse))),
        (_, Some(wrong)) => (percent(wrong), format!("were wrong in {}", percent(wrong))),
        _ => return None,
    };
    let inside = number(line, &["coverage_90"])
        .map_or(String::new(), |share| format!(" {} lay inside their 90 % interval.", percent(share)));
    Some(Headline {
        name: format!("error of {target} on the newest rows"),
        value,
        meaning: format!(
            "Each of the last {of} rows was predicted before it was learned. Predictions {off}.{inside}"
        ),
    })
}
