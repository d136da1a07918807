//! The view of a search for an optimum.

use super::files::Folder;
use super::{View, neat, number, settings, text};
use crate::plot::Line;
use crate::report::count;
use serde_json::Value;

/// Rows of a table of points.
const SHOWN: usize = 10;

pub(super) fn view(folder: &mut Folder) -> View {
    let kept = folder.json("optimize.json").unwrap_or_default();
    let search = folder.json("search.json").unwrap_or_default();
    let asked = |key: &str| text(&kept, &["settings", key]);
    let what = match (asked("objective"), asked("data"), asked("model")) {
        (Some(f), _, _) => f.to_string(),
        (_, Some(path), _) | (_, _, Some(path)) => format!("the model learned from {path}"),
        _ => "a function".into(),
    };
    let goal = text(&search, &["optimizer", "goal"]).or(text(&kept, &["goal"])).unwrap_or("optimum");
    let mut view = View {
        title: format!("The {goal} of {what}"),
        lead: format!("Found by conditioning on a derivative of zero. Folder: {}", folder.name()),
        settings: settings(&kept["settings"]),
        ..View::default()
    };
    let trials = search["optimizer"]["trials"].as_array().cloned().unwrap_or_default();
    let point = |t: &Value| -> Option<(Vec<f64>, f64)> {
        Some((t.get("x")?.as_array()?.iter().filter_map(Value::as_f64).collect(), number(t, &["y"])?))
    };
    let told: Vec<(usize, Vec<f64>, f64)> =
        trials.iter().enumerate().filter_map(|(i, t)| point(t).map(|(x, y)| (i + 1, x, y))).collect();
    let better = |a: f64, b: f64| if goal == "maximum" { a > b } else { a < b };
    if !trials.is_empty() {
        let of = number(&kept, &["settings", "evaluations"]);
        view.fact(
            "evaluations",
            of.map_or(trials.len().to_string(), |of| format!("{} of {of}", trials.len())),
        );
        view.fact("without a value", trials.len() - told.len());
        let mut best: Option<f64> = None;
        let so_far = told.iter().map(|(i, _, y)| {
            let lowest = best.filter(|b| !better(*y, *b)).unwrap_or(*y);
            best = Some(lowest);
            (*i as f64, lowest)
        });
        let so_far = Line::new("best so far", so_far.collect::<Vec<_>>());
        view.number("best value", so_far.y.last().copied());
        if let Some(best) = so_far.y.last() {
            let meaning =
                format!("The {goal} among {} that were evaluated.", count(told.len() as u64, "point"));
            view.score("best value", neat(*best), meaning);
        }
        view.curve("The best value so far", "evaluation", "value", so_far);
        let mut order = told;
        let sign = if goal == "maximum" { -1.0 } else { 1.0 };
        order.sort_by(|a, b| (sign * a.2).total_cmp(&(sign * b.2)));
        let rows: Vec<Vec<String>> =
            order.iter().take(SHOWN).map(|(i, x, y)| vec![i.to_string(), neat(*y), place(x)]).collect();
        view.table("Best values", &["evaluation", "value", "at"], &rows);
    }
    let optima = kept["optima"].as_array().cloned().unwrap_or_default();
    let rows: Vec<Vec<String>> = optima
        .iter()
        .map(|o| {
            let list = |key: &str| -> Vec<f64> {
                o[key].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
            };
            let with_std = list("x")
                .iter()
                .zip(list("x_std"))
                .map(|(x, s)| format!("{} ± {}", neat(*x), neat(s)))
                .collect::<Vec<_>>();
            let value = |key: &str| number(o, &[key]).map_or("-".into(), neat);
            vec![with_std.join(", "), format!("{} ± {}", value("value"), value("value_std"))]
        })
        .collect();
    if let (true, Some(first)) = (view.scores.is_empty(), rows.first()) {
        let meaning = format!("What the model expects at its {goal}, at {}. Both are inferred.", first[0]);
        view.score("value expected", first[1].clone(), meaning);
    }
    if !rows.is_empty() {
        let title = "Optima by inference (standard deviations are rough)";
        view.table(title, &["location", "expected value"], &rows);
    }
    view.shot(folder, "optimum.svg", "How the optimum was found");
    view
}

fn place(x: &[f64]) -> String {
    x.iter().map(|v| neat(*v)).collect::<Vec<_>>().join(", ")
}
