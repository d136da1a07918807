//! Results of a verb: return values, exit codes, one-line errors.

use crate::{console, escape};
use std::io::{self, ErrorKind, Write};

/// Why a verb ended early; each has its exit code.
pub enum Exit {
    /// Exit 2: what went wrong and what to do.
    Error(String),
    /// Exit 1: a requested check failed.
    CheckFailed(String),
    /// Exit 130: stopped by a signal; says what was saved.
    Interrupted(String),
    /// Exit 0: the output was closed, as with `| head`.
    PipeClosed,
}

/// What a verb returns.
pub type Outcome<T = ()> = Result<T, Exit>;

impl From<tractable::Error> for Exit {
    fn from(e: tractable::Error) -> Self {
        Exit::Error(e.to_string())
    }
}

/// Only for writing to stdout: errors of files are given their path where they happen.
impl From<io::Error> for Exit {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            ErrorKind::BrokenPipe => Exit::PipeClosed,
            _ => Exit::Error(format!("cannot write to stdout: {e}")),
        }
    }
}

/// An error about a file: `path: cannot DO: reason`.
pub fn file_error(path: &std::path::Path, doing: &str) -> impl Fn(io::Error) -> Exit {
    move |e| Exit::Error(format!("{}: cannot {doing}: {e}", path.display()))
}

/// Runs `f`; a panic becomes a one-line error. Files saved before it are intact.
pub fn catch_panic<T>(f: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<&str>().map(|s| s.to_string());
        let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Exit::Error(format!("a bug in this program ({said}); saved files are intact. Please report it")))
    })
}

/// The process's exit code, after one line on stderr where there is something to say.
pub fn exit_code(outcome: Outcome) -> u8 {
    match outcome {
        // Whoever read our output has seen enough.
        Ok(()) | Err(Exit::PipeClosed) => 0,
        Err(Exit::CheckFailed(why)) => failed("check failed", &why, 1),
        Err(Exit::Error(why)) => failed("error", &why, 2),
        Err(Exit::Interrupted(why)) => failed("interrupted", &why, 130),
    }
}

fn failed(kind: &str, why: &str, code: u8) -> u8 {
    let why = why.replace(['\n', '\r'], " ");
    // Nothing is left to be done if stderr is closed.
    if console::first() {
        let _ = writeln!(io::stderr(), "{kind}: {}", escape::name(&why));
    }
    code
}

/// Help and version as they are; a mistake in the flags as one line.
pub fn usage(e: &clap::Error) -> u8 {
    use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};
    if matches!(e.kind(), DisplayHelp | DisplayVersion) {
        let _ = console::first().then(|| e.print());
        return 0;
    }
    if e.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = console::first().then(|| e.print());
        return 2;
    }
    let text = e.render().to_string();
    let said = text.lines().map(str::trim).filter(|l| !l.is_empty());
    let said = said.take_while(|l| !l.starts_with("Usage:") && !l.starts_with("For more information"));
    let line = said.collect::<Vec<_>>().join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    failed("error", &format!("{line}; see --help"), 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        // The default hook writes to stderr too; not here.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let outcomes =
            [catch_panic(|| -> Outcome { panic!("seventeen") }), catch_panic(|| panic!("n = {}", 18))];
        let through_a_thread =
            catch_panic(|| std::thread::scope(|s| s.spawn(|| -> Outcome { panic!("19") }).join().unwrap()));
        std::panic::set_hook(hook);
        for (outcome, says) in outcomes.into_iter().zip(["seventeen", "n = 18"]) {
            assert!(matches!(outcome, Err(Exit::Error(why)) if why.contains(says)));
        }
        assert!(matches!(through_a_thread, Err(Exit::Error(_))));
        assert!(matches!(catch_panic(|| Ok(5)), Ok(5)));
    }
}
