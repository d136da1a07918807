//! The files of a run, written so that they stay intact and consistent after a crash.

use super::config::{AnyConfig, ImageConfig, TableConfig, VERSION};
use super::{commands, replace};
use crate::files::{self, FolderLock, NewFile};
use crate::report::{Exit, Outcome, file_error};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use tractable::Network;

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

/// Every file that a run may have.
pub(super) const FILES: [&str; 13] = [
    "config.json",
    "commands.jsonl",
    "metrics.jsonl",
    super::STREAM,
    super::FOLLOWED,
    "model.safetensors",
    "last.safetensors",
    "best.safetensors",
    "curves.csv",
    "curves.svg",
    "curves.png",
    "reliability.svg",
    "reliability.png",
];

/// A run's folder.
#[derive(Clone)]
pub(crate) struct RunFolder {
    path: PathBuf,
    /// The best epoch is kept beside the last one.
    best: bool,
    /// The model is made of the network once all epochs are done.
    calibrated: bool,
}

/// A folder that is ready for a run, and held for it.
pub(crate) struct Prepared {
    /// There was no such folder.
    new: bool,
    /// There is an earlier run, which stays until the new one takes its place.
    pub(crate) replaces: bool,
    _held: FolderLock,
}

/// Whether a file was left by a process that was killed while it wrote.
fn is_leftover(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name == replace::NEXT || (name.starts_with(".tractable-") && name.ends_with(".tmp"))
}

impl RunFolder {
    /// Of a run whose model is the last epoch's, or made at the end.
    pub(crate) fn new(path: &Path) -> Self {
        RunFolder { path: path.into(), best: false, calibrated: false }
    }

    /// Keeps the `best` epoch too; with `calibrated`, the model is none of them, but made at the end.
    pub(crate) fn keeping(path: &Path, best: bool, calibrated: bool) -> Self {
        RunFolder { path: path.into(), best, calibrated }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The model to use.
    pub(crate) fn model(&self) -> PathBuf {
        self.file("model.safetensors")
    }

    /// The model to resume from.
    pub(crate) fn state(&self) -> PathBuf {
        if self.best || self.calibrated { self.file("last.safetensors") } else { self.model() }
    }

    /// The network of the epoch to use: the best, or the last.
    pub(crate) fn network(&self) -> PathBuf {
        match (self.best, self.calibrated) {
            (true, true) => self.file("best.safetensors"),
            (true, false) => self.model(),
            (false, _) => self.state(),
        }
    }

    /// Whether an epoch is finished and its model saved. A crash may have left the line of the first epoch without it;
    /// of more than that the model is missed.
    pub(crate) fn has_epochs(&self) -> Outcome<bool> {
        Ok(self.state().exists() || self.past(usize::MAX)?.len() > 1)
    }

    /// Refuses to start over what is there.
    pub(crate) fn check_free(path: &Path) -> Outcome {
        let used = |entries: fs::ReadDir| entries.flatten().any(|e| !is_leftover(&e.file_name()));
        let why = match fs::read_dir(path).map(used) {
            Ok(false) => return Ok(()),
            Ok(true) if path.join("config.json").exists() => {
                "contains a run; choose another folder with -o, continue with --resume, or replace it with --force"
            }
            Ok(true) => {
                "is not empty and contains no run; choose another folder with -o, or use it with --force"
            }
            Err(_) if !path.exists() => return Ok(()),
            Err(_) => "is not a folder; choose another name with -o",
        };
        Err(Exit::Error(format!("{}: already exists: {why}", path.display())))
    }

    /// Keeps other processes out of a run that is there, as long as what comes back lives.
    pub(crate) fn hold(path: &Path) -> Outcome<Option<FolderLock>> {
        // Where there is none, reading it says so.
        Ok(if path.is_dir() { Some(FolderLock::take(path)?) } else { None })
    }

    /// Makes the folder, keeps other processes out of it, and sees that files can be written there, before hours are
    /// spent on what goes in. Another run may have begun here meanwhile.
    pub(crate) fn prepare(&self, force: bool) -> Outcome<Prepared> {
        let new = !self.path.exists();
        let held = files::folder(&self.path)?;
        if !force {
            Self::check_free(&self.path)?;
        }
        replace::finish(&self.path).map_err(file_error(&self.path, "change files in this folder"))?;
        let probe = NewFile::beside(&self.file("config.json"));
        probe.map(drop).map_err(file_error(&self.path, "create files in this folder"))?;
        let replaces = FILES.iter().any(|name| self.file(name).exists());
        Ok(Prepared { new, replaces, _held: held })
    }

    /// A run where there was none: its settings first, so that it can be resumed from then on.
    pub(crate) fn start(&self, config: &impl Serialize) -> Outcome {
        self.write_config(config)?;
        commands::note(&self.path, true)?;
        self.write("metrics.jsonl", "")
    }

    /// Takes back a start of which nothing came.
    pub(crate) fn forget(&self, prepared: &Prepared) {
        for name in ["commands.jsonl", "metrics.jsonl", "config.json"] {
            let _ = fs::remove_file(self.file(name));
        }
        if prepared.new {
            let _ = fs::remove_dir(&self.path);
        }
    }

    /// Puts a run in the place of an earlier one, with the metrics it has so far; `save` writes the networks or the model that
    /// there are by now. Until all of it is on the disk the earlier one stays.
    pub(crate) fn replace(
        &self,
        config: &impl Serialize,
        metrics: &str,
        save: impl FnOnce(&Self) -> Outcome,
    ) -> Outcome {
        replace::replace(&self.path, |next| {
            let staged = RunFolder { path: next.into(), ..self.clone() };
            staged.write("metrics.jsonl", metrics)?;
            save(&staged)?;
            commands::note(next, true)?;
            staged.write_config(config)
        })
    }

    /// The settings of a resumed run; records the command.
    pub(crate) fn resume(&self, config: &impl Serialize) -> Outcome {
        replace::finish(&self.path).map_err(file_error(&self.path, "change files in this folder"))?;
        self.write_config(config)?;
        commands::note(&self.path, false)
    }

    fn write_config(&self, config: &impl Serialize) -> Outcome {
        files::write_json(&self.file("config.json"), config)
    }

    /// `config.json` as it is: a run on a table or on images.
    pub(crate) fn config(path: &Path) -> Outcome<AnyConfig> {
        replace::settle(path);
        let file = path.join("config.json");
        if !file.exists() {
            let name = path.display();
            return Err(Exit::Error(match Self::check_free(path).is_ok() {
                true => format!("{name}: no run yet; leave out --resume to start it"),
                false => format!("{name}: contains no run to resume; start one in another folder"),
            }));
        }
        let text = files::read_text(&file)?;
        let refuse = |e| Exit::Error(format!("{}: not the settings of a run: {e}", file.display()));
        let known = |version: u32| match version {
            VERSION => Ok(()),
            v => Err(Exit::Error(format!("{}: version {v} is unknown to this build", file.display()))),
        };
        let any: serde_json::Value = serde_json::from_str(&text).map_err(refuse)?;
        if any.get("images").is_some() {
            let config: ImageConfig = serde_json::from_value(any).map_err(refuse)?;
            known(config.version)?;
            return Ok(AnyConfig::Images(Box::new(config)));
        }
        let config: TableConfig = serde_json::from_value(any).map_err(refuse)?;
        known(config.version)?;
        Ok(AnyConfig::Table(Box::new(config)))
    }

    /// The settings of a run on images; `None` for other runs and for model files.
    pub(crate) fn images(path: &Path) -> Outcome<Option<Box<ImageConfig>>> {
        replace::settle(path);
        if !path.join("config.json").exists() {
            return Ok(None);
        }
        Ok(if let AnyConfig::Images(config) = Self::config(path)? { Some(config) } else { None })
    }

    /// Appends a line to the metrics; it may not be on the disk before the next save.
    pub(crate) fn append(&self, line: &str) -> Outcome {
        files::append(&self.file("metrics.jsonl"), format!("{line}\n").as_bytes()).map(drop)
    }

    /// Whether the scores of a finished model are there.
    pub(crate) fn is_scored(&self) -> Outcome<bool> {
        let path = self.file("metrics.jsonl");
        let text = if path.exists() { files::read_text(&path)? } else { String::new() };
        Ok(["\"left_out\"", "\"test\""].iter().any(|kind| text.contains(kind)))
    }

    /// Saves the state after a whole epoch; the metrics of that epoch are on the disk before it.
    pub(crate) fn save(&self, net: &Network, best: bool) -> Outcome {
        let path = self.file("metrics.jsonl");
        // Somebody may have removed it meanwhile; the model counts for more.
        let metrics = files::append(&path, b"")?;
        metrics.sync_all().map_err(file_error(&path, "flush it to the disk"))?;
        // The best first: should we crash in between, the epoch is done again and is the best again.
        if self.best && best {
            net.save(self.network())?;
        }
        Ok(net.save(self.state())?)
    }

    /// The first `epochs` epochs of the run; lines after those are removed from the file.
    pub(crate) fn past(&self, epochs: usize) -> Outcome<Vec<Past>> {
        let path = self.file("metrics.jsonl");
        // A run that was stopped in its first moment has none yet.
        let text = if path.exists() { files::read_text(&path)? } else { String::new() };
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
