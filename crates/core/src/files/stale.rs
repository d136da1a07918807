//! Names of temporary files, and removal of those that a killed process left behind.

use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

const START: &str = ".tractable-";
const END: &str = ".tmp";

/// Age after which a file of another machine is abandoned: locks may not work across machines.
const OLD: Duration = Duration::from_secs(600);

/// Which run of which machine this is: locks hold within it.
fn machine() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let id: String = id.chars().filter(char::is_ascii_hexdigit).take(12).collect();
        if id.is_empty() { "unknown".into() } else { id }
    })
}

/// The name of a process's `n`-th temporary file. It does not depend on the name the file will have: that may be
/// as long as names can be.
pub(super) fn name(n: u64) -> String {
    format!("{START}{}-{}-{n}{END}", machine(), std::process::id())
}

/// Removes abandoned temporary files in a folder.
pub(super) fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let inner = name.to_str().and_then(|n| n.strip_prefix(START)?.strip_suffix(END));
        let Some(inner) = inner else { continue };
        let here = inner.split('-').next() == Some(machine()) && machine() != "unknown";
        // A clock that went backwards makes a file new, not old.
        let age = entry.metadata().and_then(|m| m.modified()).map(|t| t.elapsed().unwrap_or_default());
        if !here && !age.is_ok_and(|age| age > OLD) {
            continue;
        }
        // The writer holds its lock; a killed process holds none.
        let Ok(file) = File::options().write(true).open(entry.path()) else { continue };
        if file.try_lock().is_ok() {
            // Another save may have been quicker; a file that stays does no harm.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
