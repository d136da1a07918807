//! The part of a view about the model itself: predicted against true, which columns count, how the prediction moves with them, and
//! what the model is made of. It asks the model about the run's rows; where these are gone, it says so.

use super::{View, neat};
use crate::cmd::importance;
use crate::page::Section;
use crate::plot::{Color, Panel};
use crate::report::{Exit, Outcome};
use crate::run::{
    RunFolder,
    asked::{self, Asked},
    load_any,
};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::SystemTime;
use tractable::Ensemble;
use tractable::data::{ColumnAbout, Target};
use tractable::ensemble::{Cells, Effect, EffectSettings, Importance, ImportanceSettings};

/// Rows that are shown with their intervals, and that importance is asked of.
const SHOWN: usize = 150;
const ASKED: usize = 400;
/// Columns that the effect of is shown, and that importance is listed for.
const LEADING: usize = 4;
const LISTED: usize = 30;
/// Outputs or classes that share a picture.
const TOGETHER: usize = 4;

/// What the model of a run showed of itself, as long as the model stays the same: asking again takes seconds.
#[derive(Default)]
pub(crate) struct Insights {
    of: Option<SystemTime>,
    /// Once it was asked.
    known: Option<Option<Insight>>,
}

impl Insights {
    /// Adds it to the view of a run that has its model. What keeps it from being known is a note.
    pub(crate) fn add(&mut self, view: &mut View, run: &Path, follows: bool) {
        let changed = fs::metadata(RunFolder::new(run).model()).and_then(|m| m.modified()).ok();
        if changed != self.of {
            (self.of, self.known) = (changed, None);
            // A run in progress may write another one in a moment.
            if follows {
                return;
            }
        }
        if self.known.is_none() {
            self.known = Some(match Insight::of(run) {
                Ok(known) => known,
                Err(Exit::Error(why)) => return view.notes.push(why),
                Err(_) => None,
            });
        }
        if let Some(Some(known)) = &self.known {
            known.show(view);
        }
    }
}

/// What a model shows of itself.
struct Insight {
    weights: String,
    outputs: Vec<String>,
    classes: Vec<String>,
    columns: Vec<ColumnAbout>,
    /// Of each output: true values, means, and both ends of 90 % intervals.
    predicted: Vec<[Vec<f64>; 4]>,
    left_out: bool,
    importance: Option<Importance>,
    effects: Vec<Effect>,
    /// Why there is nothing about rows.
    gone: Option<String>,
}

impl Insight {
    /// Of the finished run in a folder on a table; `None` for other runs.
    fn of(run: &Path) -> Outcome<Option<Self>> {
        if asked::config(run).is_none() || !RunFolder::new(run).model().is_file() {
            return Ok(None);
        }
        let model = load_any(run)?;
        let mut insight = Insight {
            weights: weights(&model),
            outputs: model.output_names().to_vec(),
            classes: model.class_names().to_vec(),
            columns: Vec::new(),
            predicted: Vec::new(),
            left_out: false,
            importance: None,
            effects: Vec::new(),
            gone: None,
        };
        match Asked::of(run, &model, None) {
            Ok(asked) => insight.ask(&model, asked)?,
            Err(Exit::Error(why)) => insight.gone = Some(why),
            Err(other) => return Err(other),
        }
        Ok(Some(insight))
    }

    fn ask(&mut self, model: &Ensemble, asked: Asked) -> Outcome {
        if let Target::Values { y, observed } = asked.rows.target() {
            let (rows, out) = match asked.left_out {
                true => model.some_left_out(&asked.rows, SHOWN, 0)?,
                false => {
                    let rows: Vec<usize> = (0..asked.rows.rows().min(SHOWN)).collect();
                    let out = model.predict(asked.rows.select(&rows)?.input())?;
                    (rows, out)
                }
            };
            let (lower, upper) = out.interval(0.9)?;
            let width = y.width();
            for output in 0..width {
                let seen = |i: &usize| observed.as_ref().is_none_or(|o| o[rows[*i] * width + output]);
                let at: Vec<usize> = (0..rows.len()).filter(seen).collect();
                let of = |all: &[f64]| at.iter().map(|i| all[i * width + output]).collect::<Vec<f64>>();
                let truth = at.iter().map(|&i| y.row(rows[i])[output]).collect();
                self.predicted.push([truth, of(out.mean()), of(&lower), of(&upper)]);
            }
        }
        let found =
            importance::of(model, &asked, &ImportanceSettings::default().repeats(3).most_rows(ASKED))?;
        for i in importance::ordered(&found, 0).into_iter().take(LEADING) {
            let (name, settings) = (&found.columns[i].name, EffectSettings::default());
            // A column that is missing in every row has no effect to show.
            if let Ok(effect) = model.effect(&asked.rows, name, &settings, |_| ControlFlow::Continue(())) {
                self.effects.extend(effect);
            }
        }
        (self.left_out, self.columns, self.importance) = (asked.left_out, asked.columns, Some(found));
        Ok(())
    }

    fn show(&self, view: &mut View) {
        view.tables.push(Section::new("model", "What the prediction is made of").text(&self.weights));
        if let Some(why) = &self.gone {
            view.notes.push(format!("Nothing is said of the columns: {why}"));
        }
        for (name, [truth, mean, lower, upper]) in self.outputs.iter().zip(&self.predicted) {
            view.charts.extend(predicted(truth, mean, lower, upper).map(|panel| {
                let rows = if self.left_out { "rows left out" } else { "rows it had not learned from" };
                (
                    format!("{name}, predicted with 90 % intervals against true, of {} {rows}", truth.len()),
                    panel,
                )
            }));
        }
        self.effects.iter().for_each(|effect| self.effect(view, effect));
        if let Some(found) = &self.importance {
            for (output, name) in self.outputs.iter().enumerate() {
                let row = |i: usize| {
                    let column = &found.columns[i];
                    let (increase, std) = (column.increase[output], column.std[output]);
                    vec![column.name.clone(), neat(increase), format!("± {}", neat(std))]
                };
                let rows: Vec<_> =
                    importance::ordered(found, output).into_iter().take(LISTED).map(row).collect();
                let title = format!("What counts for {name}");
                let head = ["column", "nll grows without it by", "standard error"];
                view.table(&title, &head, &rows);
            }
        }
        if !self.columns.is_empty() {
            let share = |v: f64| if v > 0.0 { format!("{:.1} %", 100.0 * v) } else { String::new() };
            let row = |c: &ColumnAbout| {
                vec![c.name.clone(), c.what.clone(), share(c.missing), c.problem.clone().unwrap_or_default()]
            };
            let rows: Vec<_> = self.columns.iter().map(row).collect();
            view.table("Columns", &["column", "taken for", "missing", ""], &rows);
        }
    }

    /// Of what the numbers of a column are, where its cells are dates.
    fn unit(&self, column: &str) -> &'static str {
        let what = self.columns.iter().find(|c| c.name == column).map_or("", |c| &c.what[..]);
        match what.starts_with("date") || what.starts_with("time") {
            false => "",
            true if what.contains("days") => " [days since 1970]",
            true => " [share of the turn]",
        }
    }

    fn effect(&self, view: &mut View, effect: &Effect) {
        let classes = !self.classes.is_empty();
        let names = if classes { &self.classes } else { &self.outputs };
        // Of two classes one says it all.
        let shown: Vec<usize> = match (classes, names.len()) {
            (true, 2) => vec![1],
            (_, n) => (0..n.min(TOGETHER)).collect(),
        };
        let of = |all: &tractable::Matrix, k: usize| -> Vec<f64> {
            all.data().iter().skip(k).step_by(all.width()).copied().collect()
        };
        let what = if classes { "mean probability" } else { "mean prediction" };
        let (column, one) = (&effect.column, shown.len() == 1);
        match &effect.at {
            Cells::Numbers(at) => {
                let label = if one { format!("{what} of {}", names[shown[0]]) } else { what.into() };
                // A probability stays one.
                let ends = if classes { [0.0, 1.0] } else { [f64::NEG_INFINITY, f64::INFINITY] };
                let across = format!("{column}{}", self.unit(column));
                let panel =
                    shown.iter().enumerate().fold(Panel::new("", &across, &label), |panel, (i, &k)| {
                        let name = if one { "" } else { &names[k][..] };
                        let (mean, std) = (of(&effect.mean, k), of(&effect.std, k));
                        let side = |sign: f64| -> Vec<f64> {
                            mean.iter()
                                .zip(&std)
                                .map(|(m, s)| (m + sign * 2.0 * s).clamp(ends[0], ends[1]))
                                .collect()
                        };
                        panel.band(name, Color::nth(i), at, &side(-1.0), &side(1.0)).line(
                            name,
                            Color::nth(i),
                            at,
                            &mean,
                        )
                    });
                view.charts.push((
                    format!("How the {what} moves with {column}, ± 2 std of what the model does not know"),
                    panel,
                ));
            }
            Cells::Levels(at) => {
                let mut head = vec![column.clone()];
                head.extend(shown.iter().map(|&k| format!("{what} of {}", names[k])));
                let cell = |i: usize, k: usize| {
                    let [mean, std] = [&effect.mean, &effect.std].map(|m| m.row(i)[k]);
                    format!("{} ± {}", neat(mean), neat(2.0 * std))
                };
                let row = |(i, level): (usize, &String)| {
                    std::iter::once(level.clone()).chain(shown.iter().map(|&k| cell(i, k))).collect()
                };
                let rows: Vec<Vec<String>> = at.iter().enumerate().map(row).collect();
                let head: Vec<&str> = head.iter().map(String::as_str).collect();
                view.table(&format!("How the {what} moves with {column}, ± 2 std"), &head, &rows);
            }
        }
    }
}

/// Every row with its interval, and the line on which they would be perfect.
fn predicted(truth: &[f64], mean: &[f64], lower: &[f64], upper: &[f64]) -> Option<Panel> {
    let all = || truth.iter().chain(mean);
    if truth.is_empty() || !all().chain(lower).chain(upper).all(|v| v.is_finite()) {
        return None;
    }
    let ends =
        [all().copied().fold(f64::INFINITY, f64::min), all().copied().fold(f64::NEG_INFINITY, f64::max)];
    let mut panel = Panel::new("", "true", "predicted").dashed_line("", Color::Ink, &ends, &ends);
    for i in 0..truth.len() {
        panel = panel.line("", Color::Sky, &[truth[i]; 2], &[lower[i], upper[i]]);
    }
    Some(panel.points("", Color::Blue, truth, mean))
}

/// Which candidates weigh how much, in a sentence.
fn weights(model: &Ensemble) -> String {
    let mut all: Vec<(&str, f64)> = model.candidates().collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let said: Vec<String> = all.iter().map(|(name, w)| format!("{:.0} % {name}", 100.0 * w)).collect();
    match &said[..] {
        [_] if model.output().classes() > 0 => format!("The probabilities are averages over: {}.", all[0].0),
        [_] => format!("The prediction is that of one candidate: {}.", all[0].0),
        [rest @ .., last] => format!("The prediction is a mixture: {} and {last}.", rest.join(", ")),
        [] => String::new(),
    }
}
