//! The folder of a run: what `train` keeps in it and where others find the model.
//!
//! | file | content |
//! |---|---|
//! | `model.safetensors` | the model to use: of the last epoch or, with `--patience`, of the best |
//! | `last.safetensors` | with `--patience` only: the last finished epoch, where `--resume` goes on |
//! | `metrics.jsonl` | one line an epoch, and one of the test at the end |
//! | `config.json` | settings and data of the run |
//! | `commands.jsonl` | what was typed to begin it and to go on with it |
//! | `curves.csv` | of a run on images: noise, error, nll and speed of every epoch |
//!
//! Model files only ever hold whole epochs. An epoch's line is written before its model, so the lines are
//! never behind the model; a resumed run drops those that are ahead. A new run's files are written when its
//! first epoch is done: until then those of an earlier run are untouched.

pub(crate) mod commands;
mod config;
mod curves;
mod folder;
mod session;

pub(crate) use config::{AnyConfig, DataFile, ImageConfig, ImageData, TableConfig};
pub(crate) use folder::RunFolder;
pub(crate) use session::Training;

use crate::report::{Exit, Outcome};
use std::path::{Path, PathBuf};
use tractable::{Device, Network};

/// The model in a run's folder, or the file itself.
pub(crate) fn locate(path: &Path) -> Outcome<PathBuf> {
    if !path.is_dir() {
        return Ok(path.into());
    }
    let model = path.join("model.safetensors");
    match model.is_file() {
        true => Ok(model),
        false if path.join("config.json").is_file() && path.join("metrics.jsonl").is_file() => {
            Err(untrained(path))
        }
        false => Err(Exit::Error(format!(
            "{}: no model.safetensors in this folder; give a run of `tractable train` or a model file",
            path.display()
        ))),
    }
}

/// Loads the model of a run or file for use: an epoch of it is finished.
pub fn load_trained(path: &Path, device: Device) -> Outcome<Network> {
    let path = locate(path)?;
    match Network::load(&path, device)? {
        net if net.epochs() == 0 || net.input_names().is_empty() => Err(untrained(&path)),
        net => Ok(net),
    }
}

fn untrained(path: &Path) -> Exit {
    let why = "no epoch is finished, the model is untrained; go on with `tractable train --resume -o RUN`";
    Exit::Error(format!("{}: {why}", path.display()))
}
