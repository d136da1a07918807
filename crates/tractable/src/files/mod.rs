//! Files that a crash leaves whole, and folders that two processes do not work in at once.
//!
//! A new file is written beside its place under a name of its own, flushed to the disk, renamed into its place, and
//! the folder flushed. Until [`NewFile::keep`] returns, a crash or a power cut leaves the old file; from then on it
//! leaves the new one; never a mixture. What the disk itself garbles after it said that it had stored it is beyond
//! this: files have no checksum.
//!
//! While it is written, the temporary file is locked. One that nobody holds was left by a process that was
//! killed, and goes with the next file made in that folder.

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

/// A file that takes the place of `path` when it is kept, and leaves nothing behind when it is not.
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
    /// Begins a file beside `path`. No two have one name, whichever processes they are of. Temporary files that
    /// killed processes left in the folder are removed.
    ///
    /// ```
    /// assert!(tractable::files::NewFile::beside("no/such/folder/file".as_ref()).is_err());
    /// ```
    pub fn beside(path: &Path) -> io::Result<Self> {
        stale::sweep(folder_of(path));
        Ok(NewFile(Draft::begin(System, path)?))
    }

    /// Where it is until it is kept.
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

    /// Puts the file in its place. When this returns, it is on the disk.
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

/// Opens a plain file of at most so many bytes for reading, and says how long it is.
pub(crate) fn open(path: &Path, most: u64) -> Result<(File, u64)> {
    let fail = |doing| move |source| Error::File { path: path.into(), doing, source };
    // Before it is opened: to open a pipe is to wait for somebody to write to it.
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
            // What went wrong first is what the user should hear of.
            let _ = self.disk.remove(&self.temporary);
        }
    }
}
