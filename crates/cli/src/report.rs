//! How results and errors are printed: text for people, JSON Lines for programs, one line for an error.

mod exit;
mod text;

pub use exit::{Exit, Outcome, catch_panic, exit_code, file_error, usage};
pub use text::{count, short, table};

use crate::{console, escape};
use serde::Serialize;
use std::io::{self, ErrorKind, Write};

/// The program and its version, as files name it.
pub const PROGRAM: &str = concat!("tractable ", env!("CARGO_PKG_VERSION"));

/// Results on stdout, in one of two forms.
#[derive(Clone, Copy)]
pub struct Report {
    json: bool,
    /// Whether work continues after the output is closed.
    ignore_closed_pipe: bool,
}

impl Report {
    pub fn new(json: bool) -> Self {
        Report { json, ignore_closed_pipe: false }
    }

    /// Continues after the output is closed.
    pub fn ignoring_closed_pipe(self) -> Self {
        Report { ignore_closed_pipe: true, ..self }
    }

    /// One result: with `--json` a line `{"type": kind, ...body}`, otherwise the text.
    pub fn say(self, kind: &str, body: &impl Serialize, text: impl FnOnce() -> String) -> Outcome {
        let mut line = if self.json { json_line(kind, body) } else { escape::lines(&text()).into_owned() };
        if !line.is_empty() && !line.ends_with('\n') {
            line.push('\n');
        }
        if !console::first() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        match out.write_all(line.as_bytes()).and_then(|()| out.flush()) {
            Err(e) if self.ignore_closed_pipe && e.kind() == ErrorKind::BrokenPipe => Ok(()),
            result => Ok(result?),
        }
    }

    /// Several results of one kind: with `--json` a line for each, otherwise one text for all.
    pub fn say_all(self, kind: &str, bodies: &[impl Serialize], text: impl FnOnce() -> String) -> Outcome {
        match self.json {
            true => bodies.iter().try_for_each(|body| self.say(kind, body, String::new)),
            false => self.say(kind, &(), text),
        }
    }

    /// What only people are told.
    pub(crate) fn text(self, text: &str) -> Outcome {
        self.say_all("", &[(); 0], || text.into())
    }
}

/// A value as JSON on one line, for files and terminals.
pub(crate) fn json_text(value: &impl Serialize) -> String {
    escape::json(serde_json::to_string(value).expect("results are plain structures"))
}

/// `{"type": kind, ...body}`; a number that is not finite becomes null.
pub(crate) fn json_line(kind: &str, body: &impl Serialize) -> String {
    #[derive(Serialize)]
    struct Line<'a, T> {
        r#type: &'a str,
        #[serde(flatten)]
        body: T,
    }
    json_text(&Line { r#type: kind, body })
}
