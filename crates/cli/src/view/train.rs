//! The view of a training, on a table or on images.

use super::files::Folder;
use super::{View, chart, neat, number, percent, score, settings, stream, text};
use crate::plot::{Color, Line};
use serde_json::Value;

pub(super) fn view(folder: &mut Folder, config: Value) -> View {
    let log = folder.lines("metrics.jsonl");
    let kind = |line: &&Value, kind: &str| text(line, &["type"]) == Some(kind);
    let epochs: Vec<Value> = log.iter().filter(|l| kind(l, "epoch")).cloned().collect();
    let judged = |l: &&Value| kind(l, "test") || kind(l, "left_out");
    let judged: Vec<&Value> = log.iter().filter(judged).collect();
    let what = match (text(&config, &["images", "set"]), text(&config, &["data", "path"])) {
        (Some(set), _) => set.to_string(),
        (_, Some(path)) => file_name(path),
        _ => "unknown data".into(),
    };
    let mut view = View {
        title: format!("Training on {what}"),
        lead: format!("A network trained by closed-form inference. Folder: {}", folder.name()),
        settings: settings(&config),
        ..View::default()
    };
    for note in log.iter().filter(|l| kind(l, "note")) {
        view.fact("noticed", text(note, &["text"]).unwrap_or_default());
    }
    view.scores = score::of_training(&judged);
    for line in judged.iter().filter(|l| l.get("surest").is_some()) {
        surest(&mut view, line);
    }
    let (last, done) = (epochs.last(), epochs.len());
    let of = number(&config, &["settings", "epochs"]).or(last.and_then(|l| number(l, &["of"])));
    // The usual model has no epochs of its own to show.
    if of.is_some() || done > 0 {
        view.fact("epochs", of.map_or(done.to_string(), |of| format!("{done} of {of}")));
    } else {
        usual(&mut view, &judged);
    }
    let sum = |path: &[&str]| epochs.iter().filter_map(|e| number(e, path)).sum::<f64>();
    if let Some(last) = last {
        view.number("noise, last epoch (std)", number(last, &["noise_std"]));
        view.number("validation nll", number(last, &["validation_nll"]));
        if let Some(error) = number(last, &["test_error"]) {
            view.fact("test error", percent(error));
        }
        view.number("test nll", number(last, &["test_nll"]));
        let (rows, seconds) = (sum(&["learned", "rows"]), sum(&["seconds"]));
        view.fact("seconds of training", neat(seconds));
        view.number("samples per second", Some(rows / seconds).filter(|s| s.is_finite()));
        view.fact("variances repaired", sum(&["learned", "repaired"]));
    }
    let mut add = |title: &str, label: &str, key: &str, factor: f64| {
        let line = Line::of(title, &epochs, "epoch", key).scaled(factor);
        view.curve(title, "epoch", label, line);
    };
    add("Validation negative log-likelihood", "negative log-likelihood [nats]", "validation_nll", 1.0);
    add("Error on the test images", "error [%]", "test_error", 100.0);
    add("Test negative log-likelihood", "negative log-likelihood [nats]", "test_nll", 1.0);
    add("Noise of the observations", "standard deviation [standardised units]", "noise_std", 1.0);
    let capped =
        epochs.iter().filter_map(|e| Some((number(e, &["epoch"])?, number(e, &["learned", "capped"])?)));
    view.curve("Limited weight steps", "epoch", "steps", Line::new("", capped));
    for test in judged {
        scores(&mut view, test);
    }
    stream::add(&mut view, folder);
    view.next.push(format!("tractable inspect {}", crate::run::commands::quoted(&folder.name())));
    view
}

/// What is known of a model of several networks: how good it is on rows that were left out, once there are some.
fn usual(view: &mut View, judged: &[&Value]) {
    view.lead = view.lead.replacen(
        "A network trained",
        "Models trained, and calibrated on rows that they left out,",
        1,
    );
    let left_out = judged.iter().find(|l| text(l, &["type"]) == Some("left_out"));
    let Some(line) = left_out else {
        view.fact("model", "not trained yet");
        return;
    };
    view.number("rows left out", number(line, &["rows"]));
    view.number("rmse", number(line, &["rmse"]));
    for (name, field) in [("wrong", "error_rate"), ("inside their 90 % interval", "coverage_90")] {
        if let Some(share) = number(line, &[field]) {
            view.fact(name, percent(share));
        }
    }
}

/// The error of the rows that it is surest of.
fn surest(view: &mut View, line: &Value) {
    let list = |key: &str| -> Vec<f64> {
        let all = line["surest"][key].as_array();
        all.into_iter().flatten().map(|v| v.as_f64().unwrap_or(f64::NAN)).collect()
    };
    let classes = number(line, &["error_rate"]).is_some();
    let (label, factor) = if classes { ("wrong [%]", 100.0) } else { ("root mean squared error", 1.0) };
    let target = text(line, &["target"]).unwrap_or("the class");
    let of = if text(line, &["type"]) == Some("test") { "test rows" } else { "rows left out" };
    let points = list("share").into_iter().zip(list("error"));
    let line = Line::new("error", points.map(|(share, error)| (100.0 * share, error))).scaled(factor);
    let title = format!("Error of {target} on {of}: most certain rows first, then all");
    // Also where it is the same for all of them.
    view.curves(&title, "share of the rows, most certain first [%]", label, vec![line]);
}

fn file_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_string()
}

/// The scores on the rows or images that were kept apart.
fn scores(view: &mut View, test: &Value) {
    let target = text(test, &["target"]).map_or("images".into(), String::from);
    let shares = ["error_rate", "coverage_50", "coverage_90", "coverage_95"];
    let mut rows = Vec::new();
    for (name, value) in test.as_object().into_iter().flatten() {
        let Some(v) = value.as_f64() else { continue };
        let cell = match name.as_str() {
            "rows" | "images" => format!("{v}"),
            name if shares.contains(&name) => percent(v),
            _ => neat(v),
        };
        let name = match name.strip_prefix("coverage_") {
            Some(level) => format!("inside {level} %"),
            None => name.replace('_', " "),
        };
        rows.push(vec![name, cell]);
    }
    if let Some(ece) = number(test, &["reliability", "ece"]) {
        rows.push(vec!["expected calibration error".into(), percent(ece)]);
    }
    if let Some(class) = text(test, &["rarer", "class"]) {
        rows.push(vec!["rarer class".into(), class.into()]);
        for (name, key, share) in [
            ("rows of the rarer class", "rows", false),
            ("auc", "auc", false),
            ("average precision", "average_precision", false),
            ("predicted from a probability of", "threshold", false),
            ("found of its rows", "recall", true),
            ("right of what is found", "precision", true),
            ("f1", "f1", false),
        ] {
            let value = number(test, &["rarer", key]);
            rows.extend(value.map(|v| vec![name.into(), if share { percent(v) } else { neat(v) }]));
        }
    }
    let of = if text(test, &["type"]) == Some("left_out") { "Rows left out" } else { "Test" };
    view.table(&format!("{of}: {target}"), &["score", "value"], &rows);
    let pairs = |a: Option<&Value>, b: Option<&Value>| -> Vec<(f64, f64)> {
        let list = |v: Option<&Value>| v.and_then(Value::as_array).cloned().unwrap_or_default();
        list(a).iter().zip(&list(b)).filter_map(|(a, b)| Some((a.as_f64()?, b.as_f64()?))).collect()
    };
    let (label, points) = match (test.get("calibration"), test.get("reliability")) {
        (Some(c), _) => {
            (["expected share inside", "observed share inside"], pairs(c.get("levels"), c.get("observed")))
        }
        (_, Some(r)) => {
            let bins = r.get("bins").and_then(Value::as_array).cloned().unwrap_or_default();
            let point = |b: &Value| Some((number(b, &["confidence"])?, number(b, &["accuracy"])?));
            (["confidence", "accuracy"], bins.iter().filter_map(point).collect())
        }
        _ => return,
    };
    let observed = Line::new("observed", points);
    if !observed.x.is_empty() {
        let panel = chart::panel(label[0], label[1], &[observed]);
        let panel = panel.dashed_line("perfect", Color::Ink, &[0.0, 1.0], &[0.0, 1.0]);
        let panel = panel.x_limits(0.0, 1.0).y_limits(0.0, 1.0);
        view.charts.push((format!("Calibration of {target}"), panel));
    }
}
