//! The run folder: what `train` writes to it, and where others find the model.
//!
//! | file | content |
//! |---|---|
//! | `model.safetensors` | the model to use |
//! | `last.safetensors` | for a single network: the last finished epoch, from which `--resume` continues |
//! | `best.safetensors` | the best epoch, with `--patience` |
//! | `metrics.jsonl` | one line per epoch, and the scores on left-out rows and on the test at the end |
//! | `config.json` | settings and data of the run |
//! | `commands.jsonl` | the commands that started and resumed it |
//! | `stream.jsonl` | scores of rows that were learned later, by `tractable learn --score` |
//! | `stream.json` | how far the model has followed a stream |
//! | `curves.csv` | for images: noise, error, nll and speed of every epoch |
//!
//! Without calibration, the model is the network of the best or the last epoch, in that file.
//!
//! Model files only ever hold whole epochs. An epoch's line is written before its model, so the lines are
//! never behind the model; a resumed run drops those that are ahead. A new run begins with `config.json`, so that it can be
//! resumed from then on. With `--force`, an earlier run stays whole until the new one has its first epoch, or its model
//! (`replace`).

pub(crate) mod asked;
pub(crate) mod commands;
mod config;
mod curves;
mod data_files;
mod folder;
mod followed;
mod incoming;
#[cfg(feature = "parquet")]
mod parquet;
mod replace;
mod rows;
mod session;

pub(crate) use config::{AnyConfig, DataFile, ImageConfig, ImageData, TableConfig};
pub(crate) use data_files::DataFiles;
pub(crate) use folder::RunFolder;
pub(crate) use followed::Followed;
pub(crate) use incoming::{Incoming, Next};
pub(crate) use replace::settle;
pub(crate) use rows::Rows;
pub(crate) use session::Training;

use crate::console::{self, note};
use crate::report::{Exit, Outcome};
use crate::settings::{DeviceName, gpu_or_cpu};
use std::path::{Path, PathBuf};
use tractable::{Device, Ensemble, Network, network::Output};

/// Scores of rows that a run learned after its training, oldest first.
pub(crate) const STREAM: &str = "stream.jsonl";
/// How far the model has followed a stream.
pub(crate) const FOLLOWED: &str = "stream.json";

/// The model in a run's folder, or the file itself.
pub(crate) fn locate(path: &Path) -> Outcome<PathBuf> {
    if !path.is_dir() {
        return Ok(path.into());
    }
    replace::settle(path);
    // Of a run that is not finished, what there is by now.
    let names = ["model", "best", "last"].map(|name| path.join(format!("{name}.safetensors")));
    match names.into_iter().find(|model| model.is_file()) {
        Some(model) => Ok(model),
        None if path.join("config.json").exists() && RunFolder::config(path).is_ok() => Err(untrained(path)),
        None => Err(Exit::Error(format!(
            "{}: no model.safetensors in this folder; give a run folder or a model file",
            path.display()
        ))),
    }
}

/// Puts a model and a table in their order, where they were given the other way round.
pub(crate) fn model_first(model: &mut PathBuf, table: &mut PathBuf) {
    let is_model = |path: &Path| path.is_dir() || path.extension().is_some_and(|e| e == "safetensors");
    if is_model(table) && !is_model(model) && model.is_file() {
        std::mem::swap(model, table);
        note(&format!("the model is {}, the table {}", model.display(), table.display()));
    }
}

/// Loads the model of a run or file to predict with: an epoch of it is finished.
pub(crate) fn load_model(path: &Path) -> Outcome<Ensemble> {
    let model = load_any(path)?;
    if !model.is_calibrated() {
        let path = locate(path)?;
        note(&format!("{}: the model is not calibrated; its intervals may be wrong", path.display()));
    }
    Ok(model)
}

/// The same, for what does not ask for intervals.
pub(crate) fn load_any(path: &Path) -> Outcome<Ensemble> {
    let path = locate(path)?;
    let model = Ensemble::load_on(&path, console::device())?;
    check_trained(model.first(), &path)?;
    Ok(model)
}

/// A trained network for passes of up to this many rows, on a device by its name.
pub(crate) fn load_for(path: &Path, device: DeviceName, rows: usize) -> Outcome<Network> {
    let threads = console::threads();
    let net = load_trained(path, device.with(threads)?)?;
    if device.moves(&net, rows)? { load_trained(path, gpu_or_cpu(threads)) } else { Ok(net) }
}

/// Loads the network of a run or file, for what asks more of it than predictions: an epoch of it is finished.
pub fn load_trained(path: &Path, device: Device) -> Outcome<Network> {
    let path = locate(path)?;
    let net = match Network::load(&path, &device) {
        Ok(net) => net,
        // A calibrated model may contain one network; other files give their own error.
        Err(_) => {
            let model = Ensemble::load_on(&path, console::device())?;
            match (model.networks().next(), model.models()) {
                (Some(net), 1) => Network::from_bytes(&net.to_bytes()?, device)?,
                (None, 1) => {
                    let why = "is a Gaussian process, but a network is needed; train one with --hidden";
                    return Err(Exit::Error(format!("{}: {why}", path.display())));
                }
                (_, models) => {
                    let why = format!("has {models} models, but one network is needed; train with --single");
                    return Err(Exit::Error(format!("{}: {why}", path.display())));
                }
            }
        }
    };
    check_trained(&net, &path)?;
    Ok(net)
}

/// A name for every class: a network may have more than its data had names for. The others get their number.
pub(crate) fn class_names(model: &Ensemble) -> Vec<String> {
    let names = model.class_names();
    let numbered = |k: usize| {
        let mut name = k.to_string();
        while names.contains(&name) {
            name.insert(0, '#');
        }
        name
    };
    let classes = if let Output::Classes { classes, .. } = model.output() { classes } else { 0 };
    (0..classes).map(|k| names.get(k).cloned().unwrap_or_else(|| numbered(k))).collect()
}

fn check_trained(net: &Network, path: &Path) -> Outcome {
    match net.epochs() == 0 || net.input_names().is_empty() {
        true => Err(untrained(path)),
        false => Ok(()),
    }
}

fn untrained(path: &Path) -> Exit {
    let why = "no epoch finished; the model is untrained; continue with `tractable train --resume -o RUN`";
    Exit::Error(format!("{}: {why}", path.display()))
}
