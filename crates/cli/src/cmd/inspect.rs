//! `tractable inspect`: shows the contents of a model file: networks, layers, parameters, settings, columns.

mod ensemble;

use crate::console;
use crate::escape;
use crate::report::{Exit, Outcome, Report, file_error, short, table};
use crate::run::locate;
use safetensors::{Dtype, SafeTensors};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tractable::data::Scaler;
use tractable::{
    Device, Ensemble, Network, Prior, Shape,
    network::{Head, Output, UpdateRule},
};

const AFTER_HELP: &str = "\
Example:
  tractable inspect run/

For a model of several networks: how many of each kind, the weight of each kind, the calibration of intervals, and scores
on left-out rows. For one network: its layers. |mean| is the average absolute mean of a layer's weights, std the average of their
standard deviations. Learning reduces std; if it is far above |mean|, little was learned.";

/// Show the contents of a model file: networks, layers, parameters, settings, columns
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Folder of a run, or a model file
    #[arg(value_name = "RUN|MODEL")]
    model: PathBuf,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// Line `model` of `inspect`.
#[derive(Serialize)]
struct Model<'a> {
    /// Of the file.
    path: &'a Path,
    /// Of the file.
    format_version: &'a str,
    /// Version that wrote it.
    library: &'a str,
    /// `f32` or `f64`.
    precision: &'a str,
    /// Shape.
    input: Shape,
    /// Numbers or classes, and how many.
    output: Output,
    /// Weights and biases.
    parameters: usize,
    /// Learned.
    epochs: usize,
    /// One, or one per output; none of a softmax.
    noise_std: &'a [f64],
    /// How the updates of a batch are combined.
    update_rule: UpdateRule,
    /// Scheme, gain, variance of the biases.
    prior: Prior,
    /// Of the weights and the order of rows.
    seed: u64,
    /// Names.
    inputs: &'a [String],
    /// Names.
    outputs: &'a [String],
    /// Names.
    classes: &'a [String],
    /// Means and standard deviations, or null.
    input_scaler: Option<&'a Scaler>,
    /// Means and standard deviations, or null.
    output_scaler: Option<&'a Scaler>,
}

/// Line `layer` of `inspect`.
#[derive(Serialize)]
struct LayerRow<'a> {
    /// Of the layer.
    name: &'a str,
    /// What it computes.
    kind: &'a str,
    /// Names of the layers it takes as input.
    reads: Vec<&'a str>,
    /// Shape.
    output: Shape,
    /// Weights and biases.
    parameters: usize,
    /// Average size of the weights' means and of their standard deviations.
    #[serde(flatten)]
    weights: Option<Weights>,
}

#[derive(Serialize)]
struct Weights {
    /// Average size of the weights' means.
    mean_abs: f64,
    /// Average of the weights' standard deviations.
    mean_std: f64,
}

pub fn run(args: &Args) -> Outcome {
    let path = locate(&args.model)?;
    // Checks the whole file; what follows reads the tensors of a file that is known to be good.
    let model = Ensemble::load_on(&path, console::device())?;
    let bytes = std::fs::read(&path).map_err(file_error(&path, "read it"))?;
    let file = Opened::new(&path, &bytes)?;
    let report = Report::new(args.json);
    let net = model.first();
    if file.entry("format") != ensemble::FORMAT {
        one_network(net, &path, &file, report)?;
        return devices(report);
    }
    if model.models() == 1 && model.networks().count() == 1 {
        let inside = file.tensors.tensor("network0").map_err(|e| broken(&path, e))?;
        one_network(net, &path, &Opened::new(&path, inside.data())?, report)?;
        report.text("\n")?;
    }
    ensemble::describe(&model, &path, &file, report)?;
    devices(report)
}

/// Line `devices` of `inspect`.
#[derive(Serialize)]
struct Devices {
    /// Devices on this machine that can run it.
    devices: Vec<String>,
}

/// Devices of this machine that can run the model.
fn devices(report: Report) -> Outcome {
    let gpus = Device::gpus().into_iter().enumerate().map(|(n, name)| format!("cuda:{n}, {name}"));
    let devices: Vec<String> = std::iter::once("cpu".to_string()).chain(gpus).collect();
    report.say("devices", &Devices { devices: devices.clone() }, || {
        format!("\navailable devices: {}\n", devices.join("; "))
    })
}

/// A file of tensors, with what is written before them.
struct Opened<'a> {
    tensors: SafeTensors<'a>,
    metadata: HashMap<String, String>,
}

impl<'a> Opened<'a> {
    fn new(path: &Path, bytes: &'a [u8]) -> Outcome<Self> {
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| broken(path, e))?;
        let metadata = header.metadata().clone().unwrap_or_default();
        Ok(Opened { tensors: SafeTensors::deserialize(bytes).map_err(|e| broken(path, e))?, metadata })
    }

    fn entry(&self, name: &str) -> &str {
        self.metadata.get(name).map_or("", String::as_str)
    }
}

fn broken(path: &Path, e: safetensors::SafeTensorError) -> Exit {
    Exit::Error(format!("{}: {e}", path.display()))
}

fn one_network(net: &Network, path: &Path, file: &Opened<'_>, report: Report) -> Outcome {
    let double = file.tensors.iter().any(|(n, t)| n.ends_with(".weight.mean") && t.dtype() == Dtype::F64);
    let model = Model {
        path,
        format_version: file.entry("version"),
        library: file.entry("library"),
        precision: if double { "f64" } else { "f32" },
        input: net.input(),
        output: net.output(),
        parameters: net.parameters(),
        epochs: net.epochs(),
        noise_std: if is_softmax(net) { &[] } else { net.noise_std() },
        update_rule: net.update_rule(),
        prior: net.prior(),
        seed: net.seed(),
        inputs: net.input_names(),
        outputs: net.output_names(),
        classes: net.class_names(),
        input_scaler: net.input_scaler(),
        output_scaler: net.output_scaler(),
    };
    let layers = layers(net, &file.tensors)?;
    report.say("model", &model, || summary(&model))?;
    report.say_all("layer", &layers, || format!("\n{}{}", layer_table(&layers), scaler_table(&model)))
}

fn layers<'a>(net: &'a Network, tensors: &SafeTensors<'_>) -> Outcome<Vec<LayerRow<'a>>> {
    let (mut shapes, mut rows) = (vec![net.input()], Vec::new());
    for ((layer, name), inputs) in net.layers().iter().zip(net.layer_names()).zip(net.layer_inputs()) {
        let reads =
            inputs.iter().map(|&s| s.checked_sub(1).map_or("input", |i| &net.layer_names()[i])).collect();
        let output = layer.output(shapes[inputs[0]])?;
        shapes.push(output);
        let tensor = |what: &str| tensors.tensor(&format!("{name}.{what}")).ok();
        let count = |what: &str| tensor(what).map_or(0, |t| t.shape().iter().product());
        let average = |what: &str, f: fn(f64) -> f64| {
            let values = numbers(&tensor(what)?);
            Some(values.iter().map(|v| f(*v)).sum::<f64>() / values.len() as f64)
        };
        let weights = average("weight.mean", f64::abs)
            .zip(average("weight.var", f64::sqrt))
            .map(|(mean_abs, mean_std)| Weights { mean_abs, mean_std });
        let parameters = count("weight.mean") + count("bias.mean");
        rows.push(LayerRow { name, kind: layer.kind(), reads, output, parameters, weights });
    }
    Ok(rows)
}

fn numbers(tensor: &safetensors::tensor::TensorView<'_>) -> Vec<f64> {
    match tensor.dtype() {
        Dtype::F64 => tensor.data().as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        _ => tensor.data().as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
    }
}

/// Names as a line has room for them.
fn list(names: &[String]) -> String {
    match names {
        [] => "(none yet)".to_string(),
        _ if names.len() > 12 => format!("{} and {} more", list(&names[..10]), names.len() - 10),
        _ => names.iter().map(|n| escape::name(n)).collect::<Vec<_>>().join(", "),
    }
}

/// Whether its classes have no noise.
fn is_softmax(net: &Network) -> bool {
    matches!(net.output(), Output::Classes { head: Head::Softmax, .. })
}

fn summary(m: &Model<'_>) -> String {
    let bias = m.prior.bias_var.map_or("as the weights".into(), |v| v.to_string());
    let noise: Vec<String> = m.noise_std.iter().map(|v| short(*v)).collect();
    let mut lines = vec![
        format!(
            "{}: model version {}, {}, tractable {}",
            m.path.display(),
            escape::name(m.format_version),
            m.precision,
            escape::name(m.library)
        ),
        format!("inputs      {} ({})", list(m.inputs), m.input),
        format!("targets     {}", list(m.outputs)),
    ];
    if !m.classes.is_empty() {
        lines.push(format!("classes     {}", list(m.classes)));
    }
    lines.push(format!("parameters  {}", m.parameters));
    lines.push(format!("epochs      {}", m.epochs));
    if !noise.is_empty() {
        lines.push(format!("noise       {} (standard deviation, network units)", noise.join(", ")));
    }
    lines.push(format!("update rule {}", name(&m.update_rule)));
    lines.push(format!("prior       {}, gain {}, bias variance {bias}", name(&m.prior.scheme), m.prior.gain));
    lines.push(format!("seed        {}", m.seed));
    lines.join("\n")
}

/// The name a value has in files.
fn name(value: &impl Serialize) -> String {
    match serde_json::to_value(value).unwrap_or_default() {
        Value::String(name) => name,
        // A rule that has numbers.
        Value::Object(fields) => fields.keys().next().cloned().unwrap_or_default(),
        other => other.to_string(),
    }
}

fn layer_table(layers: &[LayerRow<'_>]) -> String {
    let mut rows =
        vec![["layer", "kind", "reads", "output", "parameters", "|mean|", "std"].map(String::from).to_vec()];
    for l in layers {
        let (output, parameters) = (l.output.to_string(), l.parameters.to_string());
        let mut row = vec![l.name.into(), l.kind.into(), l.reads.join(" + "), output, parameters];
        if let Some(w) = &l.weights {
            row.extend([short(w.mean_abs), short(w.mean_std)]);
        }
        rows.push(row);
    }
    table(&rows, &[0, 1, 2])
}

fn scaler_table(m: &Model<'_>) -> String {
    let mut rows = Vec::new();
    for (names, scaler) in [(m.inputs, m.input_scaler), (m.outputs, m.output_scaler)] {
        let Some(scaler) = scaler else { continue };
        let columns = names.iter().zip(scaler.mean().iter().zip(scaler.std()));
        rows.extend(columns.map(|(n, (mean, std))| vec![n.clone(), short(*mean), short(*std)]));
    }
    if rows.is_empty() {
        return String::new();
    }
    rows.insert(0, ["standardised column", "mean", "std"].map(String::from).to_vec());
    format!("\n{}", table(&rows, &[0]))
}
