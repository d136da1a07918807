//! Messages on stderr, and the common flags: verbosity and threads.

use crate::escape;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tractable::Device;

/// Flags of every verb, before its name or after it.
#[derive(clap::Args, Clone, Copy, Default, Debug)]
#[command(next_help_heading = "Everywhere")]
pub struct Flags {
    /// Print only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more on stderr: the machine, every step, files written, the time
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Number of threads; 0 means one per core. Results do not depend on it
    #[arg(long, value_name = "N", global = true, default_value_t = 0, hide_default_value = true)]
    threads: usize,
}

static FLAGS: OnceLock<Flags> = OnceLock::new();
/// Among several processes only the first prints.
static FIRST: AtomicBool = AtomicBool::new(true);
static ARGS: OnceLock<Vec<String>> = OnceLock::new();

fn flags() -> Flags {
    FLAGS.get().copied().unwrap_or_default()
}

/// Holds for the rest of the process.
pub fn init(flags: Flags, args: Vec<String>) {
    let _ = FLAGS.set(flags);
    let _ = ARGS.set(args);
}

/// What was typed after the program's name.
pub(crate) fn args() -> &'static [String] {
    ARGS.get().map_or(&[], Vec::as_slice)
}

/// Whether this process prints for all.
pub(crate) fn first() -> bool {
    FIRST.load(Ordering::Relaxed)
}

#[cfg_attr(not(feature = "mpi"), allow(dead_code))]
pub(crate) fn set_first(first: bool) {
    FIRST.store(first, Ordering::Relaxed);
}

/// No progress and no notes.
pub fn quiet() -> bool {
    flags().quiet || !first()
}

/// The value of `--threads`: 0 means one per core.
pub fn threads() -> usize {
    flags().threads
}

/// The processor, with the threads of `--threads`.
pub fn device() -> Device {
    Device::cpu(threads())
}

/// Every step is worth a line.
pub(crate) fn verbose() -> bool {
    flags().verbose && first()
}

/// A line on stderr, unless `--quiet`.
pub fn note(text: &str) {
    if !quiet() {
        always(text);
    }
}

/// A line on stderr that belongs to an error. A closed stderr does not stop the work.
pub(crate) fn always(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", escape::name(text));
}

/// A line on stderr that only `--verbose` asks for.
pub(crate) fn detail(text: impl FnOnce() -> String) {
    if verbose() {
        always(&text());
    }
}

/// What runs where.
pub fn say_machine() {
    detail(|| {
        let vectors = format!("{:?}", pulp::Arch::new());
        let vectors = vectors.split('(').next().unwrap_or_default();
        format!(
            "tractable {}, {} {}, vectors {vectors}, {} threads",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::OS,
            std::env::consts::ARCH,
            device().team().size()
        )
    });
}

/// How long it took.
pub fn say_time(began: Instant) {
    detail(|| format!("{:.2} s", began.elapsed().as_secs_f64()));
}
