//! Available memory, checked before large allocations: systems overcommit and kill the process later.

use crate::error::{Error, Result};
use std::fs::read_to_string;

/// Smaller allocations are not checked.
const LITTLE: u64 = 64 << 20;

/// Refuses what does not fit into memory. If the amount is unknown, everything is allowed.
pub fn check(bytes: u64) -> Result<()> {
    match bytes > LITTLE && available().is_some_and(|there| bytes > there) {
        true => Err(Error::Memory { bytes }),
        false => Ok(()),
    }
}

/// Bytes that this process can still take: of the machine, of its group, and of its own limit, whichever is least.
fn available() -> Option<u64> {
    [of_machine(), of_group(), of_process()].into_iter().flatten().min()
}

/// The number behind a name in lines such as `MemAvailable:   23283152 kB`.
fn number(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    line.split_whitespace().find_map(|word| word.parse().ok())
}

fn of_machine() -> Option<u64> {
    let text = read_to_string("/proc/meminfo").ok()?;
    Some((number(&text, "MemAvailable:")? + number(&text, "SwapFree:").unwrap_or(0)) << 10)
}

fn of_group() -> Option<u64> {
    let read = |name: &str| read_to_string(format!("/sys/fs/cgroup/{name}")).ok();
    let value = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let most = value("memory.max").or_else(|| value("memory/memory.limit_in_bytes"))?;
    let used = value("memory.current").or_else(|| value("memory/memory.usage_in_bytes"))?;
    // Files that are kept in memory make room.
    let stat = read("memory.stat").or_else(|| read("memory/memory.stat")).unwrap_or_default();
    let files = number(&stat, "inactive_file").unwrap_or(0) + number(&stat, "active_file").unwrap_or(0);
    Some(most.saturating_sub(used.saturating_sub(files)))
}

fn of_process() -> Option<u64> {
    let most = number(&read_to_string("/proc/self/limits").ok()?, "Max address space")?;
    let used = number(&read_to_string("/proc/self/status").ok()?, "VmSize:")? << 10;
    Some(most.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_a_pebibyte() {
        assert!(check(LITTLE).is_ok());
        if cfg!(target_os = "linux") {
            assert!(matches!(check(1 << 50), Err(Error::Memory { bytes }) if bytes == 1 << 50));
        }
    }

    #[test]
    fn numbers_are_found_by_name() {
        let limits = "Max cpu time   unlimited  seconds\nMax address space   4096   unlimited  bytes\n";
        assert_eq!(number(limits, "Max address space"), Some(4096));
        assert_eq!(number("Max address space  unlimited  unlimited  bytes", "Max address space"), None);
    }
}
