//! The files of a run, written so that they stay intact and consistent after a crash.

use super::commands;
use super::config::{AnyConfig, ImageConfig, TableConfig, VERSION};
use crate::files::{self, FolderLock, NewFile};
use crate::report::{Exit, Outcome, file_error};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write;
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
const FILES: [&str; 6] = [
    "config.json",
    "metrics.jsonl",
    "model.safetensors",
    "last.safetensors",
    "best.safetensors",
    "curves.csv",
];

/// A run's folder.
pub(crate) struct RunFolder {
    path: PathBuf,
    /// The best epoch is kept beside the last one.
    best: bool,
    /// The model is made of the network once all epochs are done.
    calibrated: bool,
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
        let used = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_some(),
            Err(_) => path.exists(),
        };
        if used {
            return Err(Exit::Error(format!(
                "{}: already exists; choose another folder with -o, continue with --resume, or replace it with --force",
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

    /// Writes a new run with the metrics it has so far, over an earlier one if `force`d; `save` writes the networks or the
    /// model that there are by now.
    pub(crate) fn begin(
        &self,
        config: &impl Serialize,
        save: impl FnOnce() -> Outcome,
        metrics: &str,
        force: bool,
    ) -> Outcome {
        // Another run may have begun here meanwhile.
        if !force && FILES.iter().any(|name| self.file(name).exists()) {
            Self::check_free(&self.path)?;
        }
        // The settings go first and come last: never do they stand beside a model that is not theirs. The
        // old model stays until the new one takes its place.
        self.remove("config.json")?;
        self.remove("curves.csv")?;
        self.write("metrics.jsonl", metrics)?;
        save()?;
        let own = [self.state(), self.network()];
        for name in ["model.safetensors", "last.safetensors", "best.safetensors"] {
            if !own.contains(&self.file(name)) {
                self.remove(name)?;
            }
        }
        commands::note(&self.path, true)?;
        self.write_config(config)
    }

    fn remove(&self, name: &str) -> Outcome {
        let file = self.file(name);
        match fs::remove_file(&file) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(file_error(&file, "remove it")(e)),
            _ => Ok(()),
        }
    }

    /// The settings of a resumed run; records the command.
    pub(crate) fn resume(&self, config: &impl Serialize) -> Outcome {
        self.write_config(config)?;
        commands::note(&self.path, false)
    }

    fn write_config(&self, config: &impl Serialize) -> Outcome {
        files::write_json(&self.file("config.json"), config)
    }

    /// `config.json` as it is: a run on a table or on images.
    pub(crate) fn config(path: &Path) -> Outcome<AnyConfig> {
        let file = path.join("config.json");
        let text = fs::read_to_string(&file).map_err(|e| {
            let hint = "--resume continues a run; leave it out to start one";
            Exit::Error(format!("{}: cannot open it: {e}; {hint}", file.display()))
        })?;
        let refuse = |e| Exit::Error(format!("{}: not the settings of a run: {e}", file.display()));
        let known = |version: u32| match version {
            VERSION => Ok(()),
            v => Err(Exit::Error(format!("{}: version {v} is unknown to this build", file.display()))),
        };
        let any: serde_json::Value = serde_json::from_str(&text).map_err(refuse)?;
        if any.get("images").is_some() {
            let config: ImageConfig = serde_json::from_str(&text).map_err(refuse)?;
            known(config.version)?;
            return Ok(AnyConfig::Images(Box::new(config)));
        }
        // Only the usual model can be single.
        if any.get("settings").is_some_and(|s| s.get("single").is_some()) {
            let config: TableConfig<_> = serde_json::from_str(&text).map_err(refuse)?;
            known(config.version)?;
            return Ok(AnyConfig::Ensemble(Box::new(config)));
        }
        let config: TableConfig<_> = serde_json::from_str(&text).map_err(refuse)?;
        known(config.version)?;
        Ok(AnyConfig::Network(Box::new(config)))
    }

    /// The settings of a run on images; `None` for other runs and for model files.
    pub(crate) fn images(path: &Path) -> Outcome<Option<Box<ImageConfig>>> {
        if !path.join("config.json").is_file() {
            return Ok(None);
        }
        Ok(if let AnyConfig::Images(config) = Self::config(path)? { Some(config) } else { None })
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
        if self.best && best {
            net.save(self.network())?;
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
