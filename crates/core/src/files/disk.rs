//! The file operations of the operating system, behind a trait so that tests can make every call fail.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

pub(super) trait Disk {
    type File;
    /// Creates a new, empty, locked file; an existing one is an error.
    fn create(&self, path: &Path) -> io::Result<Self::File>;
    /// Returns how many bytes were written.
    fn write(&self, file: &mut Self::File, bytes: &[u8]) -> io::Result<usize>;
    /// Flushes data, so that it survives a power cut.
    fn sync(&self, file: &mut Self::File) -> io::Result<()>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Flushes the folder, so that file names survive a power cut.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The real one.
#[derive(Debug)]
pub(super) struct System;

impl Disk for System {
    type File = File;

    fn create(&self, path: &Path) -> io::Result<File> {
        let file = File::create_new(path)?;
        match file.try_lock() {
            Ok(()) if path.symlink_metadata().is_ok() => Ok(file),
            // A file system without locks.
            Err(TryLockError::Error(_)) => Ok(file),
            // Another process removed it before it was locked.
            Ok(()) | Err(TryLockError::WouldBlock) => Err(ErrorKind::AlreadyExists.into()),
        }
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    fn sync(&self, file: &mut File) -> io::Result<()> {
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        // Folders cannot be opened for flushing everywhere (Windows), nor by everyone (no right to list them).
        match File::open(folder) {
            Ok(folder) if cfg!(unix) => folder.sync_all(),
            _ => Ok(()),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}
