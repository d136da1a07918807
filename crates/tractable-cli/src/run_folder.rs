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

use crate::files::{self, FolderLock, NewFile};
use crate::image_sets::ImageSet;
use crate::image_settings::ImageSettings;
use crate::report::{Outcome, Stop, file_error};
use crate::rerun;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use tractable::{Device, Network, fnv};

/// The model in a run's folder, or the file itself.
pub(crate) fn locate(path: &Path) -> Outcome<PathBuf> {
    if !path.is_dir() {
        return Ok(path.into());
    }
    let model = path.join("model.safetensors");
    match model.is_file() {
        true => Ok(model),
        false => Err(Stop::Error(format!(
            "{}: no model.safetensors in this folder; give a run of `tractable train` or a model file",
            path.display()
        ))),
    }
}

/// Loads the model of a run or file for use: it must know its columns.
pub(crate) fn load_trained(path: &Path, device: Device) -> Outcome<Network> {
    let path = locate(path)?;
    let net = Network::load(&path, device)?;
    if net.input_names().is_empty() {
        return Err(Stop::Error(format!(
            "{}: no epoch is finished, so it knows no columns; go on with `tractable train --resume -o RUN`",
            path.display()
        )));
    }
    Ok(net)
}

/// The data file of a run, so that a changed one is noticed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DataFile {
    pub(crate) path: PathBuf,
    bytes: u64,
    /// FNV-1a, 64 bits, in hexadecimal.
    hash: String,
}

impl DataFile {
    pub(crate) fn look(path: &Path) -> Outcome<Self> {
        let fail = file_error(path, "read it");
        let mut file = File::open(path).map_err(file_error(path, "open it"))?;
        let (mut bytes, mut hash) = (0, fnv::EMPTY);
        let mut buffer = vec![0; 1 << 16];
        loop {
            let n = file.read(&mut buffer).map_err(&fail)?;
            if n == 0 {
                break;
            }
            bytes += n as u64;
            hash = fnv::fnv1a_64(hash, buffer[..n].iter().copied());
        }
        let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
        Ok(DataFile { path, bytes, hash: format!("{hash:016x}") })
    }

    pub(crate) fn same_content(&self, other: &Self) -> bool {
        (self.bytes, &self.hash) == (other.bytes, &other.hash)
    }
}

/// `config.json`: what a run was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) version: u32,
    pub(crate) program: String,
    pub(crate) data: DataFile,
    pub(crate) settings: Settings,
}

impl Config {
    const VERSION: u32 = 1;

    pub(crate) fn new(data: DataFile, settings: Settings) -> Self {
        let program = format!("tractable {}", env!("CARGO_PKG_VERSION"));
        Config { version: Self::VERSION, program, data, settings }
    }
}

/// The images of a run, so that changed ones are noticed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImageData {
    pub(crate) set: ImageSet,
    /// Where they were read, if that was said.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) train: usize,
    pub(crate) test: usize,
    /// Of the training images.
    pub(crate) hash: String,
}

/// `config.json` of a run on images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImageConfig {
    version: u32,
    program: String,
    pub(crate) images: ImageData,
    pub(crate) settings: ImageSettings,
}

impl ImageConfig {
    pub(crate) fn new(images: ImageData, settings: ImageSettings) -> Self {
        let program = format!("tractable {}", env!("CARGO_PKG_VERSION"));
        ImageConfig { version: Config::VERSION, program, images, settings }
    }
}

/// What a run was made from.
pub(crate) enum AnyConfig {
    Table(Box<Config>),
    Images(Box<ImageConfig>),
}

/// One finished epoch as a resumed run needs it.
#[derive(Deserialize)]
pub(crate) struct Past {
    pub(crate) epoch: usize,
    pub(crate) validation_nll: Option<f64>,
    #[serde(default)]
    pub(crate) noise_std: f64,
    /// Of runs on images.
    pub(crate) test_error: Option<f64>,
    pub(crate) test_nll: Option<f64>,
    pub(crate) images_per_second: Option<f64>,
}

/// A run's folder.
pub(crate) struct RunFolder {
    path: PathBuf,
    patience: bool,
}

impl RunFolder {
    pub(crate) fn new(path: &Path, patience: bool) -> Self {
        RunFolder { path: path.into(), patience }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Whether the best epoch has a file of its own.
    pub(crate) fn keeps_best(&self) -> bool {
        self.patience
    }

    /// The model to use.
    pub(crate) fn model(&self) -> PathBuf {
        self.file("model.safetensors")
    }

    /// The model training goes on from.
    pub(crate) fn state(&self) -> PathBuf {
        if self.patience { self.file("last.safetensors") } else { self.model() }
    }

    /// Refuses to start over what is there.
    pub(crate) fn check_free(path: &Path) -> Outcome {
        let used = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_some(),
            Err(_) => path.exists(),
        };
        if used {
            return Err(Stop::Error(format!(
                "{}: exists already; choose another folder with -o, go on with --resume, or replace it with --force",
                path.display()
            )));
        }
        Ok(())
    }

    /// Keeps other processes out of a run that is there, as long as what comes back lives.
    pub(crate) fn hold(path: &Path) -> Outcome<Option<FolderLock>> {
        // Where there is none, reading it says so.
        Ok(if path.is_dir() { Some(FolderLock::take(path)?) } else { None })
    }

    /// Makes the folder, keeps other processes out of it, and sees that files can be written there, before hours are
    /// spent on what goes in.
    pub(crate) fn prepare(&self) -> Outcome<FolderLock> {
        let held = files::folder(&self.path)?;
        let probe = NewFile::beside(&self.file("config.json"));
        probe.map(drop).map_err(file_error(&self.path, "create files in this folder"))?;
        Ok(held)
    }

    /// Writes a new run with the metrics it has so far, over an earlier one if `force`d.
    pub(crate) fn begin(
        &self,
        config: &impl Serialize,
        net: &Network,
        metrics: &str,
        force: bool,
    ) -> Outcome {
        let files = ["config.json", "metrics.jsonl", "model.safetensors", "last.safetensors", "curves.csv"];
        // Another run may have begun here meanwhile.
        if !force && files.iter().any(|name| self.file(name).exists()) {
            Self::check_free(&self.path)?;
        }
        // The settings go first and come last: never do they stand beside a model that is not theirs. The
        // old model stays until the new one takes its place.
        self.remove("config.json")?;
        self.remove("curves.csv")?;
        self.write("metrics.jsonl", metrics)?;
        if !self.patience {
            self.remove("last.safetensors")?;
        }
        self.save(net, true)?;
        rerun::note(&self.path, true)?;
        self.write_config(config)
    }

    fn remove(&self, name: &str) -> Outcome {
        let file = self.file(name);
        match fs::remove_file(&file) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(file_error(&file, "remove it")(e)),
            _ => Ok(()),
        }
    }

    /// The settings of a run that goes on, and that it does.
    pub(crate) fn go_on(&self, config: &impl Serialize) -> Outcome {
        self.write_config(config)?;
        rerun::note(&self.path, false)
    }

    fn write_config(&self, config: &impl Serialize) -> Outcome {
        let mut text = serde_json::to_string_pretty(config).expect("settings are plain structures");
        text.push('\n');
        self.write("config.json", &text)
    }

    /// `config.json` as it is: a run on a table or on images.
    pub(crate) fn config(path: &Path) -> Outcome<AnyConfig> {
        let file = path.join("config.json");
        let text = fs::read_to_string(&file).map_err(|e| {
            let hint = "--resume goes on with a run; leave it out to start one";
            Stop::Error(format!("{}: cannot open it: {e}; {hint}", file.display()))
        })?;
        let refuse = |e| Stop::Error(format!("{}: not a run's settings: {e}", file.display()));
        let known = |version: u32| match version {
            Config::VERSION => Ok(()),
            v => Err(Stop::Error(format!("{}: version {v} is not known to this build", file.display()))),
        };
        let any: serde_json::Value = serde_json::from_str(&text).map_err(refuse)?;
        if any.get("images").is_some() {
            let config: ImageConfig = serde_json::from_str(&text).map_err(refuse)?;
            known(config.version)?;
            return Ok(AnyConfig::Images(Box::new(config)));
        }
        let config: Config = serde_json::from_str(&text).map_err(refuse)?;
        known(config.version)?;
        Ok(AnyConfig::Table(Box::new(config)))
    }

    /// Appends a line to the metrics; it may not be on the disk before the next save.
    pub(crate) fn append(&self, line: &str) -> Outcome {
        let path = self.file("metrics.jsonl");
        let file = File::options().append(true).create(true).open(&path);
        let mut file = file.map_err(file_error(&path, "open it"))?;
        file.write_all(format!("{line}\n").as_bytes()).map_err(file_error(&path, "write it"))
    }

    /// Saves the state after a whole epoch; the metrics of that epoch are on the disk before it.
    pub(crate) fn save(&self, net: &Network, best: bool) -> Outcome {
        let path = self.file("metrics.jsonl");
        // Somebody may have removed it meanwhile; the model counts for more.
        let metrics = File::options().append(true).create(true).open(&path).and_then(|f| f.sync_all());
        metrics.map_err(file_error(&path, "flush it to the disk"))?;
        // The best first: should we crash in between, the epoch is done again and is the best again.
        if self.patience && best {
            net.save(self.model())?;
        }
        Ok(net.save(self.state())?)
    }

    /// The first `epochs` epochs of the run; lines after those are removed from the file.
    pub(crate) fn past(&self, epochs: usize) -> Outcome<Vec<Past>> {
        let path = self.file("metrics.jsonl");
        let text = fs::read_to_string(&path).map_err(file_error(&path, "open it"))?;
        let (mut kept, mut past) = (String::new(), Vec::new());
        for line in text.lines() {
            // A crash can leave a torn last line; whatever is not a finished epoch goes.
            match serde_json::from_str::<Past>(line) {
                Ok(p) if p.epoch <= epochs => past.push(p),
                _ => continue,
            }
            kept += line;
            kept.push('\n');
        }
        if kept != text {
            self.write("metrics.jsonl", &kept)?;
        }
        Ok(past)
    }

    /// Writes a small file so that a crash leaves the old one or the new one.
    pub(crate) fn write(&self, name: &str, text: &str) -> Outcome {
        files::write(&self.file(name), text.as_bytes())
    }
}
