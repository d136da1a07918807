//! The files that rows are read from. What can be read only once, a pipe or the standard input, is copied to a file first, and
//! Parquet files are copied as CSV.

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

impl DataFiles {
    pub(crate) fn open(names: &[PathBuf]) -> Outcome<Self> {
        let mut files = DataFiles { names: names.to_vec(), paths: Vec::new(), copies: Vec::new() };
        for name in names {
            if is_stdin(name) || is_pipe(name) {
                files.copy(name)?;
            } else if is_parquet(name) {
                files.unpack(name)?;
            } else {
                // Refuses what is not a table before anything else reads it, for ever perhaps.
                CsvCells::open(name)?;
                files.paths.push(name.clone());
            }
        }
        Ok(files)
    }

    /// One file that is read once: the standard input and pipes as they come.
    pub(crate) fn once(name: &Path) -> Outcome<Self> {
        let mut files = DataFiles { names: vec![name.into()], paths: Vec::new(), copies: Vec::new() };
        match is_parquet(name) {
            true => files.unpack(name)?,
            false => files.paths.push(if is_stdin(name) { "/dev/stdin".into() } else { name.into() }),
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

    #[cfg(feature = "parquet")]
    fn unpack(&mut self, name: &Path) -> Outcome {
        let (path, file) = self.new_copy()?;
        super::parquet::to_csv(name, file)?;
        self.paths.push(path);
        Ok(())
    }

    #[cfg(not(feature = "parquet"))]
    fn unpack(&mut self, name: &Path) -> Outcome {
        let why = "a Parquet file; this program was built without the feature `parquet`";
        Err(crate::report::Exit::Error(format!("{}: {why}", name.display())))
    }

    /// A file that goes away at the end.
    fn new_copy(&mut self) -> Outcome<(PathBuf, File)> {
        let unique = format!("tractable-{}-{}.csv", std::process::id(), self.copies.len());
        let path = std::env::temp_dir().join(unique);
        let new = File::options().write(true).create_new(true).open(&path);
        let file = new.map_err(file_error(&path, "copy the rows to it"))?;
        self.copies.push((path.clone(), Draft::new(&path)));
        Ok((path, file))
    }

    fn copy(&mut self, name: &Path) -> Outcome {
        let mut from: Box<dyn Read> = match is_stdin(name) {
            true => Box::new(io::stdin().lock()),
            false => Box::new(File::open(name).map_err(file_error(name, "open it"))?),
        };
        let (path, mut to) = self.new_copy()?;
        let fail = file_error(&path, "copy the rows to it");
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

/// Files are told apart by what is in them: names lie.
fn is_parquet(path: &Path) -> bool {
    let mut start = [0; 4];
    if !fs::metadata(path).is_ok_and(|m| m.is_file()) {
        return false;
    }
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"PAR1"
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
