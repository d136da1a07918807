//! How loud the program is and how many threads it uses: flags that every verb takes, said once in a process.

use std::num::NonZero;
use std::sync::OnceLock;
use std::time::Instant;

/// Flags of every verb, before its name or after it.
#[derive(clap::Args, Clone, Copy, Default, Debug)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Flags {
    /// No progress and no notes: results and errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Say more on stderr: the machine, every step of the progress, files as they are written, the time
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Threads; 0 is one a core. Results do not depend on it
    #[arg(long, value_name = "N", global = true, default_value_t = 0, hide_default_value = true)]
    threads: usize,
}

static FLAGS: OnceLock<Flags> = OnceLock::new();

fn flags() -> Flags {
    FLAGS.get().copied().unwrap_or_default()
}

/// Holds for the rest of the process.
pub(crate) fn begin(flags: Flags) {
    let _ = FLAGS.set(flags);
}

/// No progress and no notes.
pub(crate) fn quiet() -> bool {
    flags().quiet
}

/// As `--threads` was given: 0 is one a core.
pub(crate) fn threads() -> usize {
    flags().threads
}

/// Jobs to do side by side, each on one thread.
pub(crate) fn side_by_side() -> usize {
    match threads() {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        n => n,
    }
}

/// Every step is worth a line.
pub(crate) fn verbose() -> bool {
    flags().verbose
}

/// A line on stderr that only `--verbose` asks for.
pub(crate) fn detail(text: impl FnOnce() -> String) {
    if verbose() {
        crate::progress::note(&text());
    }
}

/// What runs where.
pub(crate) fn say_machine() {
    detail(|| {
        let vectors = format!("{:?}", pulp::Arch::new());
        let vectors = vectors.split('(').next().unwrap_or_default();
        format!(
            "tractable {}, {} {}, vectors {vectors}, {} threads",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::OS,
            std::env::consts::ARCH,
            side_by_side()
        )
    });
}

/// How long it took.
pub(crate) fn say_time(began: Instant) {
    detail(|| format!("{:.2} s", began.elapsed().as_secs_f64()));
}
