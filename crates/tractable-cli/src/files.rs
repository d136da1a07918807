//! Files that are whole or not there: written under a name of their own, then renamed.

use crate::report::{Outcome, file_error};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A file that takes the place of `path` when it is kept, and leaves nothing behind when it is not.
pub(crate) struct NewFile {
    path: PathBuf,
    temporary: PathBuf,
    file: File,
    kept: bool,
}

impl NewFile {
    /// Begins a file beside `path`. No two have one name, whichever processes they are of.
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        // Not made from the path's name: that may be as long as names can be.
        for n in 0.. {
            let temporary = path.with_file_name(format!(".tractable-{}-{n}.tmp", std::process::id()));
            match File::create_new(&temporary) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
                file => return Ok(NewFile { path: path.into(), temporary, file: file?, kept: false }),
            }
        }
        unreachable!("some number is free")
    }

    /// Where it is until it is kept.
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Puts the file in its place; after a crash the old or the new one is there.
    pub(crate) fn keep(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.temporary, &self.path)?;
        self.kept = true;
        crate::voice::detail(|| format!("wrote {}", self.path.display()));
        let folder = self.path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Folders cannot be opened for flushing everywhere (Windows), nor by everyone (no right to list them).
        match File::open(folder) {
            Ok(folder) if cfg!(unix) => folder.sync_all(),
            _ => Ok(()),
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.kept {
            // What went wrong first is what the user should hear of.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Writes a whole file, or leaves what was there.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Outcome {
    let fail = file_error(path, "write it");
    let mut file = NewFile::beside(path).map_err(&fail)?;
    file.write_all(bytes).map_err(&fail)?;
    file.keep().map_err(&fail)
}
