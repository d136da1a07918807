//! The file of attacks in progress, which `report` reads.

use super::{Method, Record};
use crate::report::json_line;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Its name.
pub(crate) const LIVE: &str = "attacks.part.jsonl";
/// What was done so far, for a report; gone when the attacks are over, however they end.
pub(crate) struct Live {
    path: PathBuf,
    /// None where it cannot be written: no report shows them then, and nothing else is lost.
    file: Option<std::fs::File>,
}

impl Live {
    pub(crate) fn new(out: &Path, method: Method, images: usize) -> Self {
        #[derive(Serialize)]
        struct Start {
            method: Method,
            images: usize,
        }
        let path = out.join(LIVE);
        let mut live = Live { file: std::fs::File::create(&path).ok(), path };
        live.write(json_line("start", &Start { method, images }));
        live
    }

    pub(crate) fn add(&mut self, record: &Record) {
        self.write(json_line("attack", record));
    }

    fn write(&mut self, line: String) {
        self.file = self.file.take().filter(|mut file| file.write_all((line + "\n").as_bytes()).is_ok());
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
