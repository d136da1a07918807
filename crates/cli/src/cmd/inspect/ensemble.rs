//! What is in the file of a calibrated model.

use super::{Opened, list};
use crate::escape;
use crate::report::{Outcome, Report, count, short, table};
use crate::scores;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use tractable::ensemble::LeftOut;
use tractable::{Ensemble, Layer, Network, Shape, network::Output};

/// What the library calls such files.
pub(super) const FORMAT: &str = "tractable-ensemble";

/// Line `ensemble` of `inspect`.
#[derive(Serialize)]
struct Model<'a> {
    /// Of the file.
    path: &'a Path,
    /// Of the file.
    format_version: &'a str,
    /// Version that wrote it.
    library: &'a str,
    /// Shape.
    input: Shape,
    /// Numbers or classes, and how many.
    output: Output,
    /// How many.
    networks: usize,
    /// In all networks.
    parameters: usize,
    /// Training rows.
    rows: usize,
    /// Names.
    inputs: &'a [String],
    /// Names.
    outputs: &'a [String],
    /// Names.
    classes: &'a [String],
    /// For each its `name`; `weights`, one per target; `calibration`: factors on noise and model uncertainty, and the shape of the tails, or
    /// for classes how probabilities are changed; and its `members`.
    candidates: Value,
    /// Scores as in `left_out` of `train`, one per target.
    left_out: &'a [LeftOut],
}

/// Line `network` of `inspect`.
#[derive(Serialize)]
struct Member {
    /// From 0.
    network: usize,
    /// Name of its candidate.
    candidate: Value,
    /// How much the candidate weighs, over all targets.
    weight: Option<f64>,
    /// The part of the rows it left out, from 0; 5: it left out none.
    fold: Value,
    /// Units of the hidden layers.
    hidden: Vec<usize>,
    /// Weights and biases.
    parameters: usize,
    /// Learned.
    epochs: usize,
    /// One, or one per output.
    noise_std: Vec<f64>,
}

pub(super) fn describe(model: &Ensemble, path: &Path, file: &Opened<'_>, report: Report) -> Outcome {
    let candidates = serde_json::to_value(model.entries()).unwrap_or_default();
    let about = Model {
        path,
        format_version: file.entry("version"),
        library: file.entry("library"),
        input: model.input(),
        output: model.output(),
        networks: model.models(),
        parameters: model.networks().map(Network::parameters).sum(),
        rows: model.rows(),
        inputs: model.input_names(),
        outputs: model.output_names(),
        classes: model.class_names(),
        candidates,
        left_out: model.scores(),
    };
    let places = about.candidates.as_array().into_iter().flatten();
    let places =
        places.flat_map(|c| c["members"].as_array().into_iter().flatten().map(move |place| (c, place)));
    let mut networks = model.networks();
    let members: Vec<Member> = places
        .enumerate()
        .map(|(i, place)| match place.1["processes"].is_array() {
            true => process(i, place),
            false => member(i, networks.next().expect("one for every place"), place),
        })
        .collect();
    // One network has been described already.
    let alone = about.networks == 1 && model.networks().count() == 1;
    report.say("ensemble", &about, || summary(&about, alone))?;
    let rows = members.iter().map(row);
    let head = ["model", "candidate", "hidden", "counts", "leaves out", "parameters", "epochs", "noise"]
        .map(String::from);
    let rows: Vec<Vec<String>> = std::iter::once(head.to_vec()).chain(rows).collect();
    let text = || if alone { String::new() } else { format!("\n{}", table(&rows, &[0, 1, 2])) };
    report.say_all("network", &members, text)
}

fn member(network: usize, net: &Network, (candidate, place): (&Value, &Value)) -> Member {
    let width = |layer: &Layer| match layer {
        Layer::Linear { outputs, .. } => Some(*outputs),
        _ => None,
    };
    // Without the output, and the layer beside it that infers the noise.
    let layers = net.layers().iter().zip(net.layer_names()).filter(|(_, name)| *name != "noise");
    let mut hidden: Vec<usize> = layers.filter_map(|(layer, _)| width(layer)).collect();
    hidden.pop();
    Member {
        network,
        candidate: candidate["name"].clone(),
        weight: weight(candidate),
        fold: place["fold"].clone(),
        hidden,
        parameters: net.parameters(),
        epochs: net.epochs(),
        noise_std: net.noise_std().to_vec(),
    }
}

/// A Gaussian process has rows and a few numbers instead of layers.
fn process(network: usize, (candidate, place): (&Value, &Value)) -> Member {
    let each: Vec<&Value> = place["processes"].as_array().into_iter().flatten().collect();
    let count = |p: &&Value| p["rows"].as_u64().unwrap_or(0) as usize;
    let ln_noise = |p: &&Value| p["kernel"][1].as_f64().unwrap_or(f64::NAN);
    Member {
        network,
        candidate: candidate["name"].clone(),
        weight: weight(candidate),
        fold: place["fold"].clone(),
        hidden: Vec::new(),
        parameters: each.iter().map(count).sum(),
        epochs: 1,
        noise_std: each.iter().map(|p| (0.5 * ln_noise(p)).exp()).collect(),
    }
}

/// Over all outputs.
fn weight(candidate: &Value) -> Option<f64> {
    let weights: Vec<f64> = candidate["weights"].as_array()?.iter().filter_map(Value::as_f64).collect();
    Some(weights.iter().sum::<f64>() / weights.len() as f64)
}

fn row(m: &Member) -> Vec<String> {
    let hidden: Vec<String> = m.hidden.iter().map(usize::to_string).collect();
    let noise: Vec<String> = m.noise_std.iter().map(|v| short(*v)).collect();
    vec![
        m.network.to_string(),
        m.candidate.as_str().unwrap_or("?").into(),
        hidden.join("-"),
        m.weight.map_or("?".into(), |w| format!("{:.0} %", 100.0 * w)),
        match m.fold.as_u64() {
            Some(fold @ 0..5) => format!("fold {}", fold + 1),
            Some(_) => "nothing".into(),
            None => "?".into(),
        },
        m.parameters.to_string(),
        m.epochs.to_string(),
        noise.join(", "),
    ]
}

fn summary(m: &Model<'_>, alone: bool) -> String {
    let mut lines = Vec::new();
    if !alone {
        let models = count(m.networks as u64, "model");
        lines.push(format!(
            "{}: calibrated model of {models}, tractable {}",
            m.path.display(),
            escape::name(m.library)
        ));
        lines.push(format!("inputs      {} ({})", list(m.inputs), m.input));
        lines.push(format!("targets     {}", list(m.outputs)));
        if !m.classes.is_empty() {
            lines.push(format!("classes     {}", list(m.classes)));
        }
        lines.push(format!("parameters  {}", m.parameters));
    }
    lines.push(format!("rows        {}", m.rows));
    for (i, name) in m.outputs.iter().map(|n| escape::name(n)).enumerate() {
        for c in m.candidates.as_array().into_iter().flatten() {
            let weight = 100.0 * c["weights"][i].as_f64().unwrap_or(0.0);
            let (who, how) = (c["name"].as_str().unwrap_or("?"), calibration(&c["calibration"], i));
            lines.push(format!("calibrated  {name}: {weight:.0} % {who}, {how}"));
        }
        if let Some(score) = m.left_out.get(i) {
            lines.push(format!("left out    {name}: {}", scores::left_out(score)));
        }
    }
    lines.join("\n")
}

/// What was done to an output's intervals or to probabilities, in words.
fn calibration(all: &Value, output: usize) -> String {
    let c = all["values"].get(output).unwrap_or(&all["classes"]);
    let number = |name: &str| c[name].as_f64().map_or("?".into(), short);
    if let Some(even) = c["even"].as_f64() {
        let even = short(100.0 * even);
        return format!("temperature {}, {even} % shared evenly by all classes", number("temperature"));
    }
    let tails = match c["tails"]["student"].as_f64() {
        Some(freedom) => format!("Student's tails with {freedom} degrees of freedom"),
        None => "normal tails".into(),
    };
    format!(
        "noise variance x {}, {:.0} % of it by input; model uncertainty x {}; {tails}",
        number("noise"),
        100.0 * c["local"].as_f64().unwrap_or(0.0),
        number("doubt")
    )
}
