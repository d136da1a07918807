//! What a user names with `-o`: a file that is there is kept unless forced, a file of a run always, and a run is replaced by
//! its own verb only.

use crate::files;
use crate::report::{Exit, Outcome};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A file to be written.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) path: &'a Path,
    /// Replace a file that is there.
    pub(crate) force: bool,
}

impl<'a> Target<'a> {
    /// Refuses a file that must stay. A pipe or a device is written into, so that nothing is lost.
    pub(crate) fn new(path: &'a Path, force: bool) -> Outcome<Self> {
        let target = Target { path, force };
        target.check()?;
        Ok(target)
    }

    /// Again, before it takes its place: it may have come to be there meanwhile.
    pub(crate) fn check(self) -> Outcome {
        let name = self.path.display();
        let Ok(place) = pointed_to(self.path) else { return Ok(()) };
        if is_of_a_run(&place) {
            return Err(Exit::Error(format!("{name}: is a file of a run; choose another name")));
        }
        if !self.force && place.is_file() {
            let cure = "choose another name, or replace it with --force";
            return Err(Exit::Error(format!("{name}: already exists; {cure}")));
        }
        Ok(())
    }
}

/// Where symbolic links lead; there need not be a file yet.
pub(crate) fn pointed_to(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    // As many as the system follows.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Names that runs give their files, without the ending.
const NAMES: [&str; 21] = [
    "config",
    "commands",
    "metrics",
    "model",
    "last",
    "best",
    "curves",
    "reliability",
    "optimize",
    "search",
    "history",
    "optimum",
    "attack",
    "attacks",
    "adversarial",
    "grid",
    "strip",
    "result",
    "curve",
    "agent",
    "episodes",
];
const ENDINGS: [&str; 7] = ["json", "jsonl", "safetensors", "csv", "svg", "png", "npy"];

/// Whether a path is a file that a run has, or may come to have.
fn is_of_a_run(path: &Path) -> bool {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let lower = |part: Option<&std::ffi::OsStr>| part.map(|p| p.to_string_lossy().to_lowercase());
    let (Some(name), ending) = (lower(path.file_stem()), lower(path.extension())) else { return false };
    let known = NAMES.contains(&&name[..]) && ending.is_some_and(|e| ENDINGS.contains(&&e[..]));
    let log = name == "progress" || name.starts_with("events.out.");
    (known || log) && (verb_of(folder).is_some() || folder.join("agent.safetensors").exists())
}

/// The verb whose run is in a folder.
fn verb_of(folder: &Path) -> Option<&'static str> {
    let has = |name: &str| folder.join(name).exists();
    if has("attack.json") || has("attacks.jsonl") {
        return Some("attack");
    }
    if has("optimize.json") {
        return Some("optimize");
    }
    let config = folder.join("config.json");
    has("config.json").then(|| {
        let text = files::read_text(&config).unwrap_or_default();
        let read: Value = serde_json::from_str(&text).unwrap_or_default();
        if read.get("world").is_some() { "rl" } else { "train" }
    })
}

/// Refuses the folder of another verb's run, forced or not.
pub(crate) fn check_folder(folder: &Path, own: &str) -> Outcome {
    match verb_of(folder).filter(|verb| *verb != own) {
        None => Ok(()),
        Some(verb) => {
            let why = format!("contains a run of `tractable {verb}`; choose another folder with -o");
            Err(Exit::Error(format!("{}: {why}", folder.display())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_runs_are_known() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        assert!(!is_of_a_run(&at("model.safetensors")), "there is no run yet");
        fs::write(at("config.json"), "{\"world\": {}}").unwrap();
        for name in ["config.json", "Model.safetensors", "metrics.jsonl", "curve.png", "progress.jsonl"] {
            assert!(is_of_a_run(&at(name)), "{name}");
        }
        for name in ["report.html", "prices.csv", "model", "my-config.json"] {
            assert!(!is_of_a_run(&at(name)), "{name}");
        }
        assert_eq!(verb_of(dir.path()), Some("rl"));
        assert!(check_folder(dir.path(), "rl").is_ok() && check_folder(dir.path(), "train").is_err());
    }
}
