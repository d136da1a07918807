//! One run takes another's place: all files of the new one, or none.
//!
//! The new run is written into `.next` inside the folder. Once it is whole, `.next` becomes `.ready`, in one step: up to here the
//! old run counts, from here on the new one. What is left to do is names only and needs no room on the disk: files that the new run
//! does not have are removed, `.ready` becomes `.moving`, and its files move into their places. Whoever opens the folder after a
//! crash does what is left first, so that nobody meets half of each.

use super::folder::FILES;
use crate::files::FolderLock;
use crate::report::{Outcome, file_error};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) const NEXT: &str = ".next";
const READY: &str = ".ready";
const MOVING: &str = ".moving";

/// Puts the run that `write` writes in the place of the one in `folder`, which is held by this process.
pub(super) fn replace(folder: &Path, write: impl FnOnce(&Path) -> Outcome) -> Outcome {
    finish(folder).map_err(file_error(folder, "change files in this folder"))?;
    let next = folder.join(NEXT);
    fs::create_dir(&next).map_err(file_error(&next, "create this folder"))?;
    let written = write(&next).and_then(|()| {
        let commit = flush(&next).and_then(|()| fs::rename(&next, folder.join(READY)));
        commit.map_err(file_error(&next, "rename it"))
    });
    if written.is_err() {
        // What went wrong first is what the user should hear of.
        let _ = fs::remove_dir_all(&next);
    }
    written?;
    finish(folder).map_err(file_error(folder, "change files in this folder"))
}

/// Does what a crash left to be done, before a folder is read. Whoever may not write there reads it as it is.
pub(crate) fn settle(folder: &Path) {
    if [READY, MOVING].iter().any(|name| folder.join(name).is_dir())
        && let Ok(_held) = FolderLock::wait(folder, Duration::from_secs(2))
    {
        let _ = finish(folder);
    }
}

/// Ends a replacement that is whole, and removes one that is not. Each step may be done again.
pub(super) fn finish(folder: &Path) -> io::Result<()> {
    let [next, ready, moving] = [NEXT, READY, MOVING].map(|name| folder.join(name));
    if ready.is_dir() {
        flush(folder)?;
        let gone = FILES.iter().filter(|name| !ready.join(name).exists());
        gone.map(|name| folder.join(name)).try_for_each(|old| missing_is_fine(fs::remove_file(old)))?;
        fs::rename(&ready, &moving)?;
    }
    if moving.is_dir() {
        // The settings last: what looks for a run finds one whose files are there.
        let names = FILES.iter().filter(|name| **name != "config.json").chain(&["config.json"]);
        let moves = names.map(|name| (moving.join(name), folder.join(name)));
        moves.clone().try_for_each(|(from, to): (PathBuf, PathBuf)| missing_is_fine(fs::rename(from, to)))?;
        flush(folder)?;
        fs::remove_dir_all(&moving)?;
    }
    missing_is_fine(fs::remove_dir_all(&next))
}

fn missing_is_fine(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Names in a folder survive a power cut from here on.
fn flush(folder: &Path) -> io::Result<()> {
    match File::open(folder) {
        Ok(folder) if cfg!(unix) => folder.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Exit;

    const OLD: [&str; 4] = ["config.json", "metrics.jsonl", "model.safetensors", "best.safetensors"];
    const NEW: [&str; 3] = ["config.json", "metrics.jsonl", "model.safetensors"];

    fn fill(folder: &Path, names: &[&str], text: &str) {
        fs::create_dir_all(folder).unwrap();
        names.iter().for_each(|name| fs::write(folder.join(name), text).unwrap());
    }

    /// What the files of a run hold, by name.
    fn held(folder: &Path) -> Vec<(String, String)> {
        let mut all: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
        all.sort();
        let name = |p: &Path| p.file_name().unwrap().to_string_lossy().into_owned();
        all.iter().map(|p| (name(p), fs::read_to_string(p).unwrap_or_default())).collect()
    }

    #[test]
    fn whatever_step_is_the_last_one_run_is_there() {
        let new: Vec<_> = NEW.iter().map(|n| (n.to_string(), "new".to_string())).collect();
        let mut notes = new.clone();
        notes.push(("notes.txt".into(), "mine".into()));
        notes.sort();
        // Stopped after `.ready`, after what is not needed went, and after so many files moved.
        for step in 0..=NEW.len() + 1 {
            let dir = tempfile::tempdir().unwrap();
            fill(dir.path(), &OLD, "old");
            fill(dir.path(), &["notes.txt"], "mine");
            let from = if step == 0 { READY } else { MOVING };
            fill(&dir.path().join(from), &NEW, "new");
            if step > 0 {
                fs::remove_file(dir.path().join("best.safetensors")).unwrap();
            }
            for name in NEW.iter().take(step.saturating_sub(1)) {
                fs::rename(dir.path().join(MOVING).join(name), dir.path().join(name)).unwrap();
            }
            settle(dir.path());
            assert_eq!(held(dir.path()), notes, "step {step}");
        }
    }

    #[test]
    fn what_is_not_whole_leaves_the_old_run() {
        let dir = tempfile::tempdir().unwrap();
        fill(dir.path(), &OLD, "old");
        let before = held(dir.path());
        let failed = replace(dir.path(), |next| {
            fill(next, &["metrics.jsonl"], "new");
            Err(Exit::Error("the disk is full".into()))
        });
        assert!(matches!(failed, Err(Exit::Error(why)) if why == "the disk is full"));
        assert_eq!(held(dir.path()), before);
        // Killed while it was written.
        fill(&dir.path().join(NEXT), &["metrics.jsonl"], "new");
        assert!(finish(dir.path()).is_ok());
        assert_eq!(held(dir.path()), before);
        let whole = |next: &Path| {
            fill(next, &NEW, "new");
            Ok(())
        };
        assert!(replace(dir.path(), whole).is_ok());
        assert_eq!(held(dir.path()).len(), NEW.len());
    }
}
