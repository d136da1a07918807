//! Files that are whole or not there, as the library writes them; failures with their path.

pub(crate) use tractable::files::{FolderLock, NewFile};

use crate::console;
use crate::report::{Exit, Outcome, file_error};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, Read, Write};
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

/// No text of a run is longer.
const MOST: u64 = 1 << 30;

/// A whole text file. What is not a file, or has no end, is refused at once.
pub(crate) fn read_text(path: &Path) -> Outcome<String> {
    // Before it is opened: to open a pipe is to wait for somebody to write to it.
    let about = fs::metadata(path).map_err(file_error(path, "open it"))?;
    if !about.is_file() {
        return Err(Exit::Error(format!("{}: is not a file", path.display())));
    }
    let mut text = String::new();
    let read = File::open(path).and_then(|f| f.take(MOST + 1).read_to_string(&mut text));
    match read.map_err(file_error(path, "read it"))? as u64 > MOST {
        true => Err(Exit::Error(format!("{}: is larger than {} MiB", path.display(), MOST >> 20))),
        false => Ok(text),
    }
}

/// Appends to a file, which is made where there is none.
pub(crate) fn append(path: &Path, bytes: &[u8]) -> Outcome<File> {
    if fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        return Err(Exit::Error(format!("{}: is not a file", path.display())));
    }
    let mut file =
        File::options().append(true).create(true).open(path).map_err(file_error(path, "open it"))?;
    file.write_all(bytes).map_err(file_error(path, "write it"))?;
    Ok(file)
}

/// Makes a folder where there is none and keeps other processes out of it.
pub(crate) fn folder(path: &Path) -> Outcome<FolderLock> {
    std::fs::create_dir_all(path).map_err(file_error(path, "create this folder"))?;
    FolderLock::take(path).map_err(Exit::from)
}
