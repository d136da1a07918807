//! Files that are whole or not there, as the library writes them; failures with their path.

pub(crate) use tractable::files::{FolderLock, NewFile};

use crate::console;
use crate::report::{Exit, Outcome, file_error};
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// Writes a whole file, or leaves what was there.
pub fn write(path: &Path, bytes: &[u8]) -> Outcome {
    let fail = file_error(path, "write it");
    let mut file = NewFile::beside(path).map_err(&fail)?;
    file.write_all(bytes).map_err(&fail)?;
    keep(file, path).map_err(&fail)
}

/// Writes a whole file of JSON.
pub fn write_json(path: &Path, value: &impl Serialize) -> Outcome {
    let text = serde_json::to_string_pretty(value).expect("plain structures") + "\n";
    write(path, text.as_bytes())
}

/// Puts a new file in its place at `path`.
pub(crate) fn keep(file: NewFile, path: &Path) -> io::Result<()> {
    file.keep()?;
    console::detail(|| format!("wrote {}", path.display()));
    Ok(())
}

/// Makes a folder where there is none and keeps other processes out of it.
pub(crate) fn folder(path: &Path) -> Outcome<FolderLock> {
    std::fs::create_dir_all(path).map_err(file_error(path, "create this folder"))?;
    FolderLock::take(path).map_err(Exit::from)
}
