//! The contents of a run folder, possibly still being written: the data behind `report`.
//!
//! Files are read as found: an incomplete last line, a missing file or unexpected content
//! leaves a gap or a note, never an error. Only files with known names are opened, and only up to a limit.

mod attack;
mod chart;
mod files;
mod insight;
mod optimize;
mod page;
mod rl;
mod score;
mod stream;
mod train;

use crate::page::{Picture, Section};
use crate::plot::{Line, Panel};
use crate::report::{Exit, Outcome, short};
use crate::run::settle;
use files::Folder;
pub(crate) use insight::Insights;
use score::Headline;
use serde_json::Value;
use std::path::Path;

/// A run as its page shows it.
#[derive(Default)]
pub(crate) struct View {
    title: String,
    lead: String,
    /// What counts, and what it means; several where there are several targets.
    scores: Vec<Headline>,
    /// Key numbers by name.
    facts: Vec<(String, String)>,
    /// What they show, and the curves.
    charts: Vec<(String, Panel)>,
    tables: Vec<Section>,
    /// Pictures that the run has written.
    pictures: Vec<Picture>,
    settings: Vec<(String, String)>,
    /// What was typed to make it, oldest first.
    commands: Vec<String>,
    /// What one can do with it.
    next: Vec<String>,
    notes: Vec<String>,
}

impl View {
    fn fact(&mut self, name: &str, value: impl ToString) {
        self.facts.push((name.into(), value.to_string()));
    }

    fn number(&mut self, name: &str, value: Option<f64>) {
        if let Some(v) = value {
            self.fact(name, neat(v));
        }
    }

    /// Curves that have points.
    fn curves(&mut self, title: &str, x_label: &str, y_label: &str, mut lines: Vec<Line>) {
        lines.retain(|l| !l.x.is_empty());
        if let [one] = &mut lines[..] {
            // One curve needs no name.
            one.name.clear();
        }
        if !lines.is_empty() {
            self.charts.push((title.into(), chart::panel(x_label, y_label, &lines)));
        }
    }

    /// A curve that does not stay where it is.
    fn curve(&mut self, title: &str, x_label: &str, y_label: &str, line: Line) {
        if line.band.is_some() || line.y.len() == 1 || line.y.iter().any(|y| *y != line.y[0]) {
            self.curves(title, x_label, y_label, vec![line]);
        }
    }

    fn score(&mut self, name: &str, value: String, meaning: String) {
        self.scores.push(Headline { name: name.into(), value, meaning });
    }

    fn table(&mut self, title: &str, head: &[&str], rows: &[Vec<String>]) {
        let id = format!("table-{}", self.tables.len() + 1);
        self.tables.push(Section::new(&id, title).table(head, rows));
    }

    fn shot(&mut self, folder: &mut Folder, name: &str, caption: &str) {
        if let Some(svg) = folder.text(name).filter(|t| t.trim_start().starts_with("<svg")) {
            self.pictures.push(Picture::new(caption, svg).wide());
        }
    }
}

/// The run in a folder.
///
/// # Errors
/// If there is none that is known.
pub(crate) fn read(path: &Path) -> Outcome<View> {
    let mut folder = Folder::open(path)?;
    settle(path);
    let config = folder.json("config.json");
    let has = |key: &str| config.as_ref().is_some_and(|c| c.get(key).is_some());
    let mut view = if has("world") {
        rl::view(&mut folder, config.unwrap_or_default())
    } else if has("settings") || folder.holds("metrics.jsonl") {
        train::view(&mut folder, config.unwrap_or_default())
    } else if folder.holds("attacks.jsonl") || folder.holds(crate::attack::LIVE) {
        attack::view(&mut folder)
    } else if folder.holds("search.json") || folder.holds("optimize.json") {
        optimize::view(&mut folder)
    } else {
        let why = "no run in this folder; give a folder written by train, attack, optimize or rl with -o";
        return Err(Exit::Error(format!("{}: {why}", path.display())));
    };
    view.commands = folder.commands();
    view.notes.append(&mut folder.notes);
    Ok(view)
}

/// A number at a path of keys.
fn number(value: &Value, path: &[&str]) -> Option<f64> {
    path.iter().try_fold(value, |v, key| v.get(key))?.as_f64().filter(|v| v.is_finite())
}

fn text<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(value, |v, key| v.get(key))?.as_str()
}

/// A number as short as it can be said in five digits.
fn neat(v: f64) -> String {
    let whole = v.fract() == 0.0 && v.abs() < 1e9;
    let text = if whole { format!("{v:.0}") } else { short(v) };
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// Settings as names and values; what lies deeper has its path as its name.
fn settings(value: &Value) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    flatten("", value, 0, &mut pairs);
    pairs
}

fn flatten(name: &str, value: &Value, depth: usize, to: &mut Vec<(String, String)>) {
    const MOST: usize = 500;
    if to.len() >= MOST {
        return;
    }
    match value {
        Value::Object(fields) if depth < 8 => {
            for (key, value) in fields {
                // Under their own name they are what the flags are called.
                let plain = name.is_empty() || name == "settings";
                let name = if plain { key.clone() } else { format!("{name}.{key}") };
                flatten(&name, value, depth + 1, to);
            }
        }
        // Not given.
        Value::Null => {}
        Value::String(text) => to.push((name.into(), text.clone())),
        other => to.push((name.into(), other.to_string())),
    }
}
