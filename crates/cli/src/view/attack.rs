//! The view of images that were changed until a network took them for something else.

use super::files::Folder;
use super::{View, neat, number, percent, settings, text};
use crate::attack::LIVE;
use crate::plot::Line;
use crate::report::count;
use serde_json::Value;

/// Points of a curve of shares.
const PLACES: usize = 100;

pub(super) fn view(folder: &mut Folder) -> View {
    // Attacks in progress, or finished ones.
    let live = folder.holds(LIVE);
    let lines = folder.lines(if live { LIVE } else { "attacks.jsonl" });
    let config = if live { None } else { folder.json("attack.json") }.unwrap_or_default();
    let kind = |kind: &'static str| lines.iter().filter(move |l| text(l, &["type"]) == Some(kind));
    let summary = kind(if live { "start" } else { "summary" }).next().cloned().unwrap_or_default();
    let attacks: Vec<&Value> = kind("attack").collect();
    let method = match text(&summary, &["method"]) {
        Some("infer") => "inference".to_string(),
        Some(other) => other.to_uppercase(),
        None => "an unknown method".into(),
    };
    let mut view = View {
        title: format!("Attack by {method}"),
        lead: format!("Images changed until a network misclassifies them. Folder: {}", folder.name()),
        settings: settings(&config),
        ..View::default()
    };
    view.fact(if live { "attacks so far" } else { "attacks" }, attacks.len());
    if let Some(images) = number(&summary, &["images"]) {
        let done = attacks.last().and_then(|a| number(a, &["image"])).map_or(0.0, |i| i + 1.0);
        view.fact("images", format!("{done} of {images}"));
        let won = attacks.iter().filter(|a| succeeded(a)).count();
        view.fact("success", percent(won as f64 / attacks.len().max(1) as f64));
    }
    let won = attacks.iter().filter(|a| succeeded(a)).count();
    if !attacks.is_empty() {
        let meaning = format!(
            "The share of {} that made the network predict the target instead of the true class.",
            count(attacks.len() as u64, "attack")
        );
        let value = percent(won as f64 / attacks.len() as f64);
        view.score("of attacks succeed", value, meaning);
    }
    let mut share = |name: &str, key: &str| {
        if let Some(v) = number(&summary, &[key]) {
            view.fact(name, percent(v));
        }
    };
    share("wrong before", "error_before");
    share("success", "success");
    share("label changed", "changed");
    view.number("median L-inf", number(&summary, &["l_inf", "median"]));
    view.number("median L2", number(&summary, &["l2", "median"]));
    view.number("iterations, mean", number(&summary, &["iterations", "mean"]));
    view.number("ms per attack", number(&summary, &["ms_an_attack"]));
    for (key, name) in [("l_inf", "L-inf"), ("l2", "L2")] {
        let (label, line) = (format!("{name}, pixels from 0 to 1"), within(&attacks, key));
        let title = format!("How far images had to be changed, {name}");
        view.curve(&title, &label, "share of attacks that succeed within", line);
    }
    let mut of_label: std::collections::BTreeMap<u64, (f64, f64, f64)> = Default::default();
    for a in &attacks {
        let Some(label) = a.get("label").and_then(Value::as_u64).filter(|l| *l < 1000) else { continue };
        let won = succeeded(a);
        let entry = of_label.entry(label).or_default();
        entry.0 += 1.0;
        entry.1 += f64::from(u8::from(won));
        entry.2 += if won { number(a, &["l2"]).unwrap_or(0.0) } else { 0.0 };
    }
    let rows: Vec<Vec<String>> = of_label
        .iter()
        .map(|(label, (all, won, l2))| {
            let distance = if *won > 0.0 { neat(l2 / won) } else { "-".into() };
            vec![label.to_string(), all.to_string(), percent(won / all), distance]
        })
        .collect();
    view.table("By class", &["true class", "attacks", "success", "mean L2"], &rows);
    if !live {
        view.shot(folder, "strip.svg", "The change and its standard deviation");
        view.shot(folder, "grid.svg", "True class (rows) and predicted class (columns)");
        view.shot(folder, "curves.svg", "Success against budget");
    }
    view
}

fn succeeded(attack: &Value) -> bool {
    attack.get("success").and_then(Value::as_bool).unwrap_or(false)
}

/// The share of all attacks that succeed within a distance, over the distance.
fn within(attacks: &[&Value], key: &str) -> Line {
    let won = attacks.iter().filter(|a| succeeded(a));
    let mut distances: Vec<f64> = won.filter_map(|a| number(a, &[key])).collect();
    distances.sort_by(f64::total_cmp);
    let n = distances.len();
    let step = n.div_ceil(PLACES).max(1);
    let last = n.checked_sub(1);
    let shown = (0..n).filter(|i| i % step == 0 || Some(*i) == last);
    Line::new("within", shown.map(|i| (distances[i], (i + 1) as f64 / attacks.len() as f64)))
}
