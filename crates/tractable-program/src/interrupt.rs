//! Ctrl-C and a request to terminate: remembered here, looked at where stopping is safe.

use crate::report::Exit;
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static LISTENING: AtomicBool = AtomicBool::new(false);

/// From here on the first signal is only remembered; the second ends the process at once, which is safe for
/// every file we write. A verb that is called by another listens already.
pub fn listen() -> Result<(), Exit> {
    if LISTENING.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
    ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    })
    .map_err(|e| Exit::Error(format!("cannot listen for Ctrl-C: {e}")))
}

/// Whether the user wants us to stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}
