//! How far a run's model has followed a stream: what `learn --resume` continues from after a crash.

use crate::files;
use crate::report::{Outcome, file_error};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tractable::{fnv, network::Drift};

/// Where a model was in a stream when it was saved.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Followed {
    /// Hash of the model's file.
    model: String,
    /// The stream: a file, or `-`.
    pub(crate) file: PathBuf,
    /// Rows of this file that were read: learned, skipped, or without a target.
    pub(crate) read: u64,
    /// Rows learned from all streams.
    pub(crate) rows: u64,
    pub(crate) drift: Drift,
}

impl Followed {
    pub(crate) fn new(file: &Path, read: u64, rows: u64, drift: &Drift) -> Self {
        Followed { model: String::new(), file: file.into(), read, rows, drift: drift.clone() }
    }

    /// What is known about the model in this file: where it is in every stream it was given, the last one last. Nothing if it never followed
    /// one, or was trained again since.
    pub(crate) fn of(run: &Path, model: &Path) -> Vec<Self> {
        let read = || {
            let kept: Vec<Followed> = serde_json::from_str(&files::read_text(&place(run)).ok()?).ok()?;
            let hash = hash(&std::fs::read(model).ok()?);
            Some(kept.into_iter().filter(|one| one.model == hash).collect())
        };
        read().unwrap_or_default()
    }

    /// Notes where the model is in a stream of which it has learned nothing yet, after its places in others.
    pub(crate) fn begin(mut self, run: &Path, model: &Path, mut others: Vec<Self>) -> Outcome<Vec<Self>> {
        self.model = hash(&std::fs::read(model).map_err(file_error(model, "read it"))?);
        others.retain(|other| other.file != self.file);
        others.push(self);
        files::write_json(&place(run), &others)?;
        Ok(others)
    }

    /// Replaces the model. Its place in the stream is written first, after those of the model before: whichever of the two a crash leaves,
    /// its place is known.
    pub(crate) fn save(
        mut self,
        run: &Path,
        model: &Path,
        bytes: &[u8],
        mut before: Vec<Self>,
    ) -> Outcome<Vec<Self>> {
        self.model = hash(bytes);
        before.push(self);
        files::write_json(&place(run), &before)?;
        files::write(model, bytes)?;
        Ok(before.split_off(before.len() - 1))
    }
}

fn place(run: &Path) -> PathBuf {
    run.join(super::FOLLOWED)
}

fn hash(bytes: &[u8]) -> String {
    format!("{:016x}", fnv::fnv1a_64(fnv::EMPTY, bytes.iter().copied()))
}
