//! Reads a run folder: only known names, regular files and complete lines, up to a limit.

use crate::report::{Exit, Outcome};
use crate::run::commands;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// No more of a file is read than this.
const MOST: u64 = 64 << 20;

/// A run's folder, and what was odd in it.
pub(super) struct Folder {
    path: PathBuf,
    pub(super) notes: Vec<String>,
}

impl Folder {
    pub(super) fn open(path: &Path) -> Outcome<Self> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Ok(Folder { path: path.into(), notes: Vec::new() }),
            Ok(_) => Err(Exit::Error(format!("{}: not a folder; give a run folder", path.display()))),
            Err(e) => Err(Exit::Error(format!("{}: cannot open it: {e}", path.display()))),
        }
    }

    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    pub(super) fn holds(&self, name: &str) -> bool {
        self.path.join(name).is_file()
    }

    /// A text file; `None` where there is none. What is not UTF-8 is replaced.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        let path = self.path.join(name);
        // A pipe would be waited for.
        let length = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?.len();
        let mut bytes = Vec::new();
        match File::open(&path).and_then(|f| f.take(MOST).read_to_end(&mut bytes)) {
            Ok(_) => {}
            Err(e) => {
                self.notes.push(format!("{name} cannot be read: {e}"));
                return None;
            }
        }
        if length > MOST {
            self.notes.push(format!(
                "{name} has {} MiB; only the first {} are shown",
                length >> 20,
                MOST >> 20
            ));
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(super) fn json(&mut self, name: &str) -> Option<Value> {
        let text = self.text(name)?;
        serde_json::from_str(&text).map_err(|e| self.notes.push(format!("{name} is not JSON: {e}"))).ok()
    }

    /// The lines of a JSON Lines file. A last line without an end is still being written and left out.
    pub(super) fn lines(&mut self, name: &str) -> Vec<Value> {
        let Some(text) = self.text(name) else { return Vec::new() };
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let lines = text[..whole].lines().filter(|l| !l.trim().is_empty());
        let (mut read, mut bad) = (Vec::new(), 0);
        for line in lines {
            match serde_json::from_str::<Value>(line) {
                Ok(value) => read.push(value),
                Err(_) => bad += 1,
            }
        }
        if bad > 0 {
            self.notes.push(format!("{name}: skipped {bad} lines that are not JSON"));
        }
        read
    }

    /// What was typed to make it.
    pub(super) fn commands(&mut self) -> Vec<String> {
        self.lines(commands::FILE).iter().filter_map(commands::as_typed).collect()
    }
}
