//! `config.json`: the settings and the data of a run.

use super::data_files::{self as files, DataFiles};
use crate::image_sets::ImageSet;
use crate::report::{Exit, Outcome, PROGRAM, file_error};
use crate::settings::RunSettings;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use tractable::fnv;

/// The rows of a run, so that changed ones are noticed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DataFile {
    /// `-` is the standard input.
    pub(crate) path: PathBuf,
    /// Files after the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) more: Vec<PathBuf>,
    bytes: u64,
    /// FNV-1a, 64 bits, in hexadecimal, of all files one after the other.
    hash: String,
}

impl DataFile {
    pub(crate) fn read(files: &DataFiles) -> Outcome<Self> {
        let (mut bytes, mut hash) = (0, fnv::EMPTY);
        let mut buffer = vec![0; 1 << 16];
        for path in files.paths() {
            let fail = file_error(path, "read it");
            let mut file = File::open(path).map_err(file_error(path, "open it"))?;
            loop {
                let n = file.read(&mut buffer).map_err(&fail)?;
                if n == 0 {
                    break;
                }
                bytes += n as u64;
                hash = fnv::fnv1a_64(hash, buffer[..n].iter().copied());
            }
        }
        let mut names = files.names().map(|path| match files::is_stdin(path) {
            true => path.into(),
            false => std::path::absolute(path).unwrap_or_else(|_| path.into()),
        });
        let path = names.next().expect("there is a file");
        Ok(DataFile { path, more: names.collect(), bytes, hash: format!("{hash:016x}") })
    }

    /// Size and hash.
    pub(crate) fn content(&self) -> (u64, &str) {
        (self.bytes, &self.hash)
    }

    pub(crate) fn same_content(&self, other: &Self) -> bool {
        self.content() == other.content()
    }

    /// Whether a file is one of several that the run learned from.
    pub(crate) fn is_one_of_several(&self, file: &Path) -> bool {
        let place = |path: &Path| path.canonicalize().ok();
        !self.more.is_empty()
            && std::iter::once(&self.path)
                .chain(&self.more)
                .any(|own| place(own).is_some_and(|own| Some(own) == place(file)))
    }

    /// The files again.
    pub(crate) fn open(&self) -> Outcome<DataFiles> {
        let all: Vec<PathBuf> = std::iter::once(&self.path).chain(&self.more).cloned().collect();
        if all.iter().any(|path| files::is_stdin(path)) {
            return Err(Exit::Error(
                "--resume: the run read its rows from standard input; pipe them in again: `tractable train - --resume -o RUN`".into(),
            ));
        }
        DataFiles::open(&all)
    }
}

pub(super) const VERSION: u32 = 1;

/// `config.json` of a run on a table: of the default model, or of a single network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableConfig {
    pub(crate) version: u32,
    pub(crate) program: String,
    pub(crate) data: DataFile,
    pub(crate) settings: RunSettings,
}

impl TableConfig {
    pub(crate) fn new(data: DataFile, settings: RunSettings) -> Self {
        TableConfig { version: VERSION, program: PROGRAM.into(), data, settings }
    }

    /// Refuses another file than the run began with.
    pub(crate) fn check_same(&self, old: Option<&Self>) -> Outcome {
        match old.is_some_and(|old| !self.data.same_content(&old.data)) {
            false => Ok(()),
            true => {
                let why = "has changed since the run started; start a new run";
                Err(Exit::Error(format!("{}: {why}", self.data.path.display())))
            }
        }
    }
}

/// The images of a run, to detect changes.
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
    pub(super) version: u32,
    program: String,
    pub(crate) images: ImageData,
    pub(crate) settings: RunSettings,
}

impl ImageConfig {
    pub(crate) fn new(images: ImageData, settings: RunSettings) -> Self {
        ImageConfig { version: VERSION, program: PROGRAM.into(), images, settings }
    }
}

/// What a run was made from.
pub(crate) enum AnyConfig {
    Table(Box<TableConfig>),
    Images(Box<ImageConfig>),
}
