//! The files that rows are read from. What can be read only once, a pipe or the standard input, is copied to a file first.

use crate::interrupt::Draft;
use crate::report::{Outcome, file_error};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tractable::data::CsvCells;

/// Files to read rows from, as often as needed.
pub(crate) struct DataFiles {
    names: Vec<PathBuf>,
    paths: Vec<PathBuf>,
    /// Copies that are removed at the end.
    copies: Vec<(PathBuf, Draft)>,
}

/// Whether a name stands for the standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Where the standard input can be opened; other names are as they are.
pub(crate) fn readable(path: &Path) -> &Path {
    if is_stdin(path) { Path::new("/dev/stdin") } else { path }
}

impl DataFiles {
    pub(crate) fn open(names: &[PathBuf]) -> Outcome<Self> {
        let mut files = DataFiles { names: names.to_vec(), paths: Vec::new(), copies: Vec::new() };
        for name in names {
            let path = readable(name);
            match is_stdin(name) || is_pipe(path) {
                true => files.copy(name)?,
                false => {
                    // Refuses what is not a table before anything else reads it, for ever perhaps.
                    CsvCells::open(name)?;
                    files.paths.push(name.clone());
                }
            }
        }
        Ok(files)
    }

    /// As they were given.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Path> {
        self.names.iter().map(PathBuf::as_path)
    }

    /// Where they can be read.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// How large they are together.
    pub(crate) fn bytes(&self) -> u64 {
        self.paths.iter().map(|path| fs::metadata(path).map_or(0, |m| m.len())).sum()
    }

    fn copy(&mut self, name: &Path) -> Outcome {
        let unique = format!("tractable-{}-{}.csv", std::process::id(), self.copies.len());
        let path = std::env::temp_dir().join(unique);
        let fail = file_error(&path, "copy the rows to it");
        let mut from: Box<dyn Read> = match is_stdin(name) {
            true => Box::new(io::stdin().lock()),
            false => Box::new(File::open(name).map_err(file_error(name, "open it"))?),
        };
        let mut to = File::options().write(true).create_new(true).open(&path).map_err(&fail)?;
        self.copies.push((path.clone(), Draft::new(&path)));
        let mut buffer = vec![0; 1 << 16];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => to.write_all(&buffer[..n]).map_err(&fail)?,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(file_error(name, "read it")(e)),
            }
        }
        self.paths.push(path.clone());
        Ok(())
    }
}

impl Drop for DataFiles {
    fn drop(&mut self) {
        for (copy, _) in &self.copies {
            let _ = fs::remove_file(copy);
        }
    }
}

/// A pipe that a shell opened for this process, as in `<(command)`.
#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let given = path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd");
    given && fs::metadata(path).is_ok_and(|m| m.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}
