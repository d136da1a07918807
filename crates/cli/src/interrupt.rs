//! Ctrl-C and a request to terminate: they end the process at once where nothing would be lost, and are remembered where work
//! has to be put away first.

use crate::report::Exit;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Signals that come together are one request: `timeout` sends one to the process and one to its group.
const ONE_REQUEST: Duration = Duration::from_millis(200);
static REQUESTED: AtomicBool = AtomicBool::new(false);
/// When the first signal came.
static FIRST: Mutex<Option<Instant>> = Mutex::new(None);
static LISTENING: AtomicBool = AtomicBool::new(false);
/// What is said by a process that a signal ends at once; none where signals are remembered.
static AT_ONCE: Mutex<Option<String>> = Mutex::new(None);
/// Files that are not whole yet.
static DRAFTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn locked<T>(of: &'static Mutex<T>) -> MutexGuard<'static, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From here on the first signal is only remembered; the second ends the process at once, which is safe for
/// every file we write. A verb that is called by another listens already.
pub fn listen() -> Result<(), Exit> {
    *locked(&AT_ONCE) = None;
    if LISTENING.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
    ctrlc::set_handler(|| {
        let says = locked(&AT_ONCE).clone();
        let first = *locked(&FIRST).get_or_insert_with(Instant::now);
        REQUESTED.store(true, Ordering::SeqCst);
        if says.is_some() || first.elapsed() > ONE_REQUEST {
            leave(says.as_deref());
        }
    })
    .map_err(|e| Exit::Error(format!("cannot listen for Ctrl-C: {e}")))
}

/// From here to the next [`listen`] a signal ends the process at once, with this line: for reading, and for whatever else takes
/// long and has nothing to put away.
pub fn leave_at_once(says: &str) -> Result<(), Exit> {
    listen()?;
    *locked(&AT_ONCE) = Some(says.into());
    Ok(())
}

/// Ends the process as an error of a verb would.
fn leave(says: Option<&str>) -> ! {
    for draft in locked(&DRAFTS).iter() {
        let _ = std::fs::remove_file(draft);
    }
    if let Some(says) = says {
        // Below a bar, if there is one.
        let line = if std::io::stderr().is_terminal() { "\n" } else { "" };
        let _ = writeln!(std::io::stderr(), "{line}interrupted: {says}");
    }
    std::process::exit(130)
}

/// Whether the user wants us to stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// A file that goes with a process that a signal ends at once.
pub(crate) struct Draft(PathBuf);

impl Draft {
    pub(crate) fn new(path: &Path) -> Self {
        locked(&DRAFTS).push(path.into());
        Draft(path.into())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        locked(&DRAFTS).retain(|draft| *draft != self.0);
    }
}
