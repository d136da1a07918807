//! The view of agents that learn to act.

use super::files::Folder;
use super::{View, neat, number, settings, text};
use crate::report::count;
use crate::rl::over_seeds;
use serde_json::Value;

/// Seeds that are looked at.
const MOST: u64 = 100;

pub(super) fn view(folder: &mut Folder, config: Value) -> View {
    let task = text(&config, &["world", "task"]).unwrap_or("unknown task");
    let whole = |key: &str| config.get(key).and_then(Value::as_u64);
    let (first, seeds) = (whole("first_seed").unwrap_or(0), whole("seeds").unwrap_or(1));
    let mut view = View {
        title: format!("Agents on {task}"),
        lead: format!("Actions inferred by conditioning, not by gradients. Folder: {}", folder.name()),
        settings: settings(&config),
        ..View::default()
    };
    if seeds > MOST {
        view.notes.push(format!("only the first {MOST} of {seeds} seeds are shown"));
    }
    let logs: Vec<(u64, Vec<Value>)> = (first..first.saturating_add(seeds.min(MOST)))
        .map(|seed| (seed, folder.lines(&format!("seed-{seed}/progress.jsonl"))))
        .filter(|(_, log)| !log.is_empty())
        .collect();
    let last = |key: &str| logs.iter().filter_map(|(_, l)| number(l.last()?, &[key])).collect::<Vec<f64>>();
    let averages = last("average");
    view.fact("seeds", format!("{} of {seeds}", logs.len()));
    let mean = |v: &[f64]| (!v.is_empty()).then(|| v.iter().sum::<f64>() / v.len() as f64);
    view.number("steps per seed", mean(&last("step")));
    view.number("average return, mean of seeds", mean(&averages));
    view.number("lowest seed", averages.iter().copied().reduce(f64::min));
    view.number("highest seed", averages.iter().copied().reduce(f64::max));
    if let Some(mean) = mean(&averages) {
        let spread = match (averages.len(), logs.len()) {
            (1, 1) => "One seed proves little: others may differ.".into(),
            _ => format!(
                "Seeds range from {} to {}.",
                neat(averages.iter().copied().fold(f64::INFINITY, f64::min)),
                neat(averages.iter().copied().fold(f64::NEG_INFINITY, f64::max))
            ),
        };
        let meaning = format!(
            "Average return of an episode, over the last 100 episodes and {}. {spread}",
            count(averages.len() as u64, "seed")
        );
        view.score("average return", neat(mean), meaning);
    }
    view.fact("variances repaired", last("repaired").iter().sum::<f64>());
    let mut add = |title: &str, label: &str, key: &str| {
        let curve = |log: &Vec<Value>| -> Vec<(f64, f64)> {
            log.iter().filter_map(|l| Some((number(l, &["step"])?, number(l, &[key])?))).collect()
        };
        let curves: Vec<Vec<(f64, f64)>> = logs.iter().map(|(_, log)| curve(log)).collect();
        let curves: Vec<&[(f64, f64)]> = curves.iter().map(Vec::as_slice).collect();
        if let Some(line) = over_seeds(title, &curves) {
            view.curve(title, "steps", label, line);
        }
    };
    add(
        "Average return: mean of the seeds, shaded from the lowest to the highest",
        "return, last 100 episodes",
        "average",
    );
    add("Exploration", "standard deviation of the action", "action_std");
    add("Size of the action", "mean absolute value", "action_size");
    add("How far inference moves the action", "mean absolute value", "inferred_move");
    let result = folder.json("result.json").unwrap_or_default();
    let ended = result.get("seeds").and_then(Value::as_array).cloned().unwrap_or_default();
    let row = |(seed, log): &(u64, Vec<Value>)| {
        let cell = |key: &str| log.last().and_then(|l| number(l, &[key])).map_or("-".into(), neat);
        let end = ended.iter().find(|s| s.get("seed").and_then(Value::as_u64) == Some(*seed));
        let speed =
            end.and_then(|s| number(s, &["steps_per_second"])).map_or("-".into(), |s| format!("{s:.0}"));
        let why = end.and_then(|s| text(s, &["error"])).unwrap_or("").to_string();
        vec![
            seed.to_string(),
            cell("step"),
            cell("episodes"),
            cell("average"),
            cell("action_std"),
            speed,
            why,
        ]
    };
    let head = ["seed", "steps", "episodes", "average return", "action std", "steps/s", ""];
    view.table("Seeds", &head, &logs.iter().map(row).collect::<Vec<_>>());
    view.next.push(format!(
        "tractable rl play {} --picture run.svg",
        crate::run::commands::quoted(&folder.name())
    ));
    view
}
