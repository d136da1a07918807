//! One process at a time in a folder.

use crate::error::{Error, Result};
use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

/// A folder held by this process. It is let go when this is dropped and when the process ends, however it ends;
/// nothing is written for it.
///
/// It holds between the processes of one machine, and on network file systems as far as those support it. Where a
/// folder cannot be locked at all (Windows, some network file systems) nobody is kept out.
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
#[must_use = "the folder is let go at once"]
pub struct FolderLock {
    /// Its lock is the lock; none where folders cannot be locked.
    _folder: Option<File>,
}

impl FolderLock {
    /// Holds a folder, or says at once that another process does.
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

    /// Holds a folder as soon as nobody else does, or gives up after a while: for work that takes a moment.
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
