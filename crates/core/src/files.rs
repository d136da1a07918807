//! Crash-safe files, and folders locked to one process.
//!
//! A new file is written next to its target under a temporary name, flushed to the disk and renamed, and
//! the folder is flushed. Until [`NewFile::keep`] returns, a crash or a power cut leaves the old file; afterwards
//! the new one; never a mixture. What the disk itself corrupts is not detected here; models and agents have a checksum.
//!
//! The temporary file is locked while it is written. An unlocked one was left by a killed process
//! and is removed when the next file is created in that folder.

// Every file is written by `files::NewFile`: a temporary file next to the target is flushed and renamed
// over it, and the folder is flushed. The temporary file is locked while it is written, so the next
// save can recognise and remove what a killed process left behind. Calls to the disk go through one
// small trait (`files/disk.rs`), where a test makes each of them fail. Run folders are protected by a
// lock on the folder itself.

mod disk;
#[cfg(test)]
mod faults;
mod lock;
mod stale;

pub use lock::FolderLock;

use crate::error::{Error, Result};
use disk::{Disk, System};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that replaces `path` when it is kept, and leaves nothing behind otherwise.
///
/// ```
/// use std::io::Write;
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("numbers");
/// let mut file = tractable::files::NewFile::beside(&path)?;
/// file.write_all(b"1 2 3")?;
/// assert!(!path.exists()); // not yet
/// file.keep()?;
/// assert_eq!(std::fs::read(&path)?, b"1 2 3");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct NewFile(Draft<System>);

impl NewFile {
    /// Creates a temporary file next to `path`, with a name that is unique across processes. Temporary files that
    /// killed processes left in the folder are removed.
    ///
    /// ```
    /// assert!(tractable::files::NewFile::beside("no/such/folder/file".as_ref()).is_err());
    /// ```
    pub fn beside(path: &Path) -> io::Result<Self> {
        stale::sweep(folder_of(path));
        Ok(NewFile(Draft::begin(System, path)?))
    }

    /// Its temporary path.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let file = tractable::files::NewFile::beside(&dir.path().join("numbers"))?;
    /// assert!(file.temporary().exists());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn temporary(&self) -> &Path {
        &self.0.temporary
    }

    /// Moves the file to its target. When this returns, it is on the disk.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("nothing");
    /// tractable::files::NewFile::beside(&path)?.keep()?;
    /// assert_eq!(std::fs::metadata(&path)?.len(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn keep(self) -> io::Result<()> {
        self.0.keep()
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens a regular file of at most this many bytes for reading, and returns its length.
pub fn open(path: &Path, most: u64) -> Result<(File, u64)> {
    let fail = |doing| move |source| Error::File { path: path.into(), doing, source };
    // Before it is opened: opening a pipe waits for a writer.
    let about = std::fs::metadata(path).map_err(fail("open it"))?;
    let why = match about.is_file() {
        true if about.len() <= most => {
            let file = File::open(path).map_err(fail("open it"))?;
            let length = file.metadata().map_err(fail("read its size"))?.len();
            return Ok((file, length.min(most)));
        }
        true => format!("is larger than {} MiB", most >> 20),
        false => "is not a file".into(),
    };
    Err(Error::Model { path: path.into(), at: "file".into(), why })
}

/// Writes a whole file, or leaves what was there.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// let path = dir.path().join("notes.txt");
/// tractable::files::write(&path, b"whole")?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"whole");
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if path.file_name().is_none() {
        return Err(Error::invalid("path", format!("{} is not a file name", path.display())));
    }
    let fail = |doing| move |source| Error::File { path: path.into(), doing, source };
    let mut file = NewFile::beside(path).map_err(fail("create a temporary file beside it"))?;
    file.write_all(bytes).map_err(fail("write it"))?;
    file.keep().map_err(fail("put it in its place"))
}

/// The folder a path is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// [`NewFile`] on any disk.
#[derive(Debug)]
struct Draft<D: Disk> {
    disk: D,
    path: PathBuf,
    temporary: PathBuf,
    file: D::File,
    kept: bool,
}

impl<D: Disk> Draft<D> {
    fn begin(disk: D, path: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let temporary = path.with_file_name(stale::name(NEXT.fetch_add(1, Ordering::Relaxed)));
            match disk.create(&temporary) {
                // Left by another process that had this number.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
                file => {
                    let file = file?;
                    return Ok(Draft { disk, path: path.into(), temporary, file, kept: false });
                }
            }
        }
    }

    fn keep(mut self) -> io::Result<()> {
        self.disk.sync(&mut self.file)?;
        self.disk.rename(&self.temporary, &self.path)?;
        self.kept = true;
        self.disk.sync_folder(folder_of(&self.path))
    }
}

impl<D: Disk> Write for Draft<D> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.write(&mut self.file, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<D: Disk> Drop for Draft<D> {
    fn drop(&mut self) {
        if !self.kept {
            // Report the first error.
            let _ = self.disk.remove(&self.temporary);
        }
    }
}
