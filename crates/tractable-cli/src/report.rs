//! How results and failures are said: text for people, JSON Lines for programs, one line for an error.

use serde::Serialize;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// Why a verb ended early; each has its exit code.
pub(crate) enum Stop {
    /// Exit 2: what went wrong and what to do.
    Error(String),
    /// Exit 1: a check that was asked for does not hold.
    NotHeld(String),
    /// Exit 130: stopped by a signal; says what was saved.
    Interrupted(String),
    /// Exit 0: nobody reads our output any more, as with `| head`.
    PipeClosed,
}

/// What a verb returns.
pub(crate) type Outcome<T = ()> = Result<T, Stop>;

impl From<tractable::Error> for Stop {
    fn from(e: tractable::Error) -> Self {
        Stop::Error(e.to_string())
    }
}

/// Only for writing to stdout: errors of files are given their path where they happen.
impl From<io::Error> for Stop {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            ErrorKind::BrokenPipe => Stop::PipeClosed,
            _ => Stop::Error(format!("cannot write to stdout: {e}")),
        }
    }
}

/// An error about a file: `path: cannot DO: reason`.
pub(crate) fn file_error(path: &std::path::Path, doing: &str) -> impl Fn(io::Error) -> Stop {
    move |e| Stop::Error(format!("{}: cannot {doing}: {e}", path.display()))
}

/// Results on stdout, in one of two forms.
#[derive(Clone, Copy)]
pub(crate) struct Report {
    json: bool,
    /// Going on where nobody reads any more.
    unheard: bool,
}

impl Report {
    pub(crate) fn new(json: bool) -> Self {
        Report { json, unheard: false }
    }

    /// For work that is worth more than its output: a closed pipe does not end it.
    pub(crate) fn unheard(self) -> Self {
        Report { unheard: true, ..self }
    }

    /// One result: with `--json` a line `{"type": kind, ...body}`, otherwise the text.
    pub(crate) fn say(self, kind: &str, body: &impl Serialize, text: impl FnOnce() -> String) -> Outcome {
        let mut line = if self.json { json_line(kind, body) } else { text() };
        if !line.is_empty() && !line.ends_with('\n') {
            line.push('\n');
        }
        let mut out = io::stdout().lock();
        match out.write_all(line.as_bytes()).and_then(|()| out.flush()) {
            Err(e) if self.unheard && e.kind() == ErrorKind::BrokenPipe => Ok(()),
            result => Ok(result?),
        }
    }
}

/// `{"type": kind, ...body}`; a number that is not finite becomes null.
pub(crate) fn json_line(kind: &str, body: &impl Serialize) -> String {
    #[derive(Serialize)]
    struct Line<'a, T> {
        r#type: &'a str,
        #[serde(flatten)]
        body: T,
    }
    serde_json::to_string(&Line { r#type: kind, body }).expect("results are plain structures")
}

/// Rows of cells as aligned text: the columns `left` to the left, the others to the right.
pub(crate) fn table(rows: &[Vec<String>], left: &[usize]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            line += if c == 0 { "" } else { "  " };
            line += &if left.contains(&c) {
                format!("{cell:<w$}", w = widths[c])
            } else {
                format!("{cell:>w$}", w = widths[c])
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A number with about five significant digits.
pub(crate) fn short(v: f64) -> String {
    let size = v.abs();
    if v == 0.0 || !v.is_finite() {
        format!("{v}")
    } else if !(1e-4..1e7).contains(&size) {
        format!("{v:.4e}")
    } else {
        let digits = (4 - size.log10().floor() as i32).max(0) as usize;
        format!("{v:.digits$}")
    }
}

/// What `f` returns; a panic becomes an error of one line. What was saved before it is whole.
pub(crate) fn guarded<T>(f: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<&str>().map(|s| s.to_string());
        let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Stop::Error(format!(
            "a mistake in this program ({said}); files that were saved are whole. Please report it"
        )))
    })
}

/// One line on stderr and the exit code.
pub(crate) fn complain(kind: &str, why: &impl Display, code: u8) -> ExitCode {
    let why = why.to_string().replace(['\n', '\r'], " ");
    // Nothing is left to be done if stderr is closed.
    let _ = writeln!(io::stderr(), "{kind}: {why}");
    ExitCode::from(code)
}

/// Help and version as they are; a mistake in the flags as one line.
pub(crate) fn usage(e: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};
    if matches!(e.kind(), DisplayHelp | DisplayVersion) {
        let _ = e.print();
        return ExitCode::SUCCESS;
    }
    if e.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = e.print();
        return ExitCode::from(2);
    }
    let text = e.render().to_string();
    let said = text.lines().map(str::trim).filter(|l| !l.is_empty());
    let said = said.take_while(|l| !l.starts_with("Usage:") && !l.starts_with("For more information"));
    let line = said.collect::<Vec<_>>().join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    complain("error", &format!("{line}; see --help"), 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_at_every_size() {
        let said = [0.0, 1.0, 1234.5678, 0.012345678, 1e-9, 2.5e12, -3.25].map(short);
        assert_eq!(said, ["0", "1.0000", "1234.6", "0.012346", "1.0000e-9", "2.5000e12", "-3.2500"]);
    }

    #[test]
    fn a_panic_is_an_error() {
        // The default hook writes to stderr too; not here.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let outcomes = [guarded(|| -> Outcome { panic!("seventeen") }), guarded(|| panic!("n = {}", 18))];
        let through_a_thread =
            guarded(|| std::thread::scope(|s| s.spawn(|| -> Outcome { panic!("19") }).join().unwrap()));
        std::panic::set_hook(hook);
        for (outcome, says) in outcomes.into_iter().zip(["seventeen", "n = 18"]) {
            assert!(matches!(outcome, Err(Stop::Error(why)) if why.contains(says)));
        }
        assert!(matches!(through_a_thread, Err(Stop::Error(_))));
        assert!(matches!(guarded(|| Ok(5)), Ok(5)));
    }

    #[test]
    fn tables_align() {
        let rows = [vec!["a".to_string(), "1".to_string()], vec!["long".to_string(), "100".to_string()]];
        assert_eq!(table(&rows, &[0]), "a       1\nlong  100\n");
    }
}
