//! How far a run's model has followed a stream: what `learn --resume` continues from after a crash.

use crate::files;
use crate::report::Outcome;
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

    /// What is known about the model in this file; `None` if it never followed a stream, or was trained again since.
    pub(crate) fn of(run: &Path, model: &Path) -> Option<Self> {
        let kept: Vec<Followed> = serde_json::from_str(&files::read_text(&place(run)).ok()?).ok()?;
        let hash = hash(&std::fs::read(model).ok()?);
        kept.into_iter().find(|one| one.model == hash)
    }

    /// Replaces the model. The place in the stream is written first, beside that of the model before: whichever of the two a crash leaves,
    /// its place is known.
    pub(crate) fn save(
        mut self,
        run: &Path,
        model: &Path,
        bytes: &[u8],
        before: &Option<Self>,
    ) -> Outcome<Self> {
        self.model = hash(bytes);
        let kept: Vec<&Followed> = before.iter().chain([&self]).collect();
        files::write_json(&place(run), &kept)?;
        files::write(model, bytes)?;
        Ok(self)
    }
}

fn place(run: &Path) -> PathBuf {
    run.join(super::FOLLOWED)
}

fn hash(bytes: &[u8]) -> String {
    format!("{:016x}", fnv::fnv1a_64(fnv::EMPTY, bytes.iter().copied()))
}
