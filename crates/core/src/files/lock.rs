//! Locks a folder to one process at a time.

use crate::error::{Error, Result};
use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

/// A folder locked by this process. The lock is released when this is dropped and when the process ends in any way;
/// nothing is written to disk.
///
/// It works between processes of one machine, and on network file systems if they support it. Where
/// folders cannot be locked (Windows, some network file systems) it has no effect.
///
/// ```
/// use tractable::{Error, files::FolderLock};
/// # let dir = tempfile::tempdir().unwrap();
/// let held = FolderLock::take(dir.path())?;
/// # if cfg!(unix) {
/// assert!(matches!(FolderLock::take(dir.path()), Err(Error::InUse { .. })));
/// # }
/// drop(held);
/// drop(FolderLock::take(dir.path())?);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
#[must_use = "the folder is unlocked at once"]
pub struct FolderLock {
    /// The locked folder; none if folders cannot be locked.
    _folder: Option<File>,
}

impl FolderLock {
    /// Locks a folder, or fails at once if another process holds it.
    ///
    /// ```
    /// assert!(tractable::files::FolderLock::take("no/such/folder".as_ref()).is_err());
    /// ```
    pub fn take(folder: &Path) -> Result<Self> {
        let fail = |source| Error::File { path: folder.into(), doing: "work in this folder", source };
        if !std::fs::metadata(folder).map_err(fail)?.is_dir() {
            return Err(fail(std::io::ErrorKind::NotADirectory.into()));
        }
        let Ok(open) = File::open(folder) else { return Ok(FolderLock { _folder: None }) };
        match open.try_lock() {
            Ok(()) => Ok(FolderLock { _folder: Some(open) }),
            Err(TryLockError::WouldBlock) => Err(Error::InUse { path: folder.into() }),
            Err(TryLockError::Error(_)) => Ok(FolderLock { _folder: None }),
        }
    }

    /// Waits for a folder and locks it, or gives up after a while: for short operations.
    ///
    /// ```
    /// use std::time::Duration;
    /// # let dir = tempfile::tempdir().unwrap();
    /// let _held = tractable::files::FolderLock::wait(dir.path(), Duration::from_secs(1))?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn wait(folder: &Path, most: Duration) -> Result<Self> {
        let began = Instant::now();
        loop {
            match FolderLock::take(folder) {
                Err(Error::InUse { .. }) if began.elapsed() < most => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                outcome => return outcome,
            }
        }
    }
}
