//! Progress on stderr: a bar on a terminal, occasional lines elsewhere, nothing with `--quiet`.

use crate::console::{self, note};
use crate::escape;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Seconds between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// How far a long job is.
pub struct ProgressDisplay {
    mode: Mode,
}

enum Mode {
    Bar(ProgressBar),
    Lines { last: Option<Instant> },
    Quiet,
}

impl ProgressDisplay {
    /// `total` steps of work; without it the bar only counts.
    pub fn new(total: Option<u64>) -> Self {
        let mode = if console::quiet() {
            Mode::Quiet
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
            let template = match total {
                Some(_) => "{wide_bar} {percent:>3} %  {msg}  eta {eta}",
                None => "{spinner} {msg}  {elapsed}",
            };
            bar.set_style(ProgressStyle::with_template(template).expect("a template of known fields"));
            Mode::Bar(bar)
        } else {
            Mode::Lines { last: None }
        };
        ProgressDisplay { mode }
    }

    /// Says nothing: for a part of a job that has its own.
    pub(crate) fn none() -> Self {
        ProgressDisplay { mode: Mode::Quiet }
    }

    /// `done` steps are done; `text` says what that means.
    pub fn at(&mut self, done: u64, text: impl FnOnce() -> String) {
        match &mut self.mode {
            Mode::Bar(bar) => {
                bar.set_position(done);
                bar.set_message(escape::name(&text()).into_owned());
            }
            Mode::Lines { last } => {
                if console::verbose() || last.is_none_or(|t| t.elapsed() >= LINE_EVERY) {
                    *last = Some(Instant::now());
                    note(&text());
                }
            }
            Mode::Quiet => {}
        }
    }

    /// Whether a bar is drawn, which says how long it will take.
    pub(crate) fn is_bar(&self) -> bool {
        matches!(self.mode, Mode::Bar(_))
    }

    /// A line that stays, above the bar if there is one.
    pub(crate) fn say(&mut self, text: &str) {
        match &mut self.mode {
            Mode::Bar(bar) => bar.println(escape::name(text)),
            Mode::Lines { last } => {
                *last = Some(Instant::now());
                note(text);
            }
            Mode::Quiet => {}
        }
    }

    /// Moves a bar without a new text; says nothing elsewhere.
    pub(crate) fn moved(&self, done: u64) {
        if let Mode::Bar(bar) = &self.mode {
            bar.set_position(done);
        }
    }

    /// Ends with a line that stays.
    pub fn done(self, text: &str) {
        self.clear();
        if !matches!(self.mode, Mode::Quiet) {
            note(text);
        }
    }

    fn clear(&self) {
        if let Mode::Bar(bar) = &self.mode {
            bar.finish_and_clear();
        }
    }
}

/// Where an error ends the job, its line must not stand beside a bar.
impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        self.clear();
    }
}
