//! Result files: results with their command, duration and machine.

use crate::files;
use crate::report::{Outcome, file_error};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// One file of `docs/results`.
#[derive(Serialize)]
struct Results<'a, T> {
    command: &'a str,
    version: &'static str,
    machine: String,
    /// Processes that wanted a core, on average over the minute before: times mean little where this is not near 0.
    load_before: Option<f64>,
    seconds: f64,
    #[serde(flatten)]
    body: T,
}

/// Started before the work, so that it knows what else the machine was doing.
pub struct Clock {
    began: Instant,
    load: Option<f64>,
}

impl Clock {
    pub fn start() -> Self {
        Clock { began: Instant::now(), load: load() }
    }

    pub fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Writes `NAME.json` into a folder, which is made. `body` has fields, `rows` among them.
    pub fn write(&self, folder: &Path, name: &str, command: &str, body: impl Serialize) -> Outcome {
        std::fs::create_dir_all(folder).map_err(file_error(folder, "make this folder"))?;
        files::write_json(&folder.join(format!("{name}.json")), &self.with(command, body))
    }

    /// What [`write`](Clock::write) writes, to be a part of a file.
    pub fn results(&self, command: &str, body: impl Serialize) -> serde_json::Value {
        serde_json::to_value(self.with(command, body)).expect("plain structures")
    }

    fn with<'a, T: Serialize>(&self, command: &'a str, body: T) -> Results<'a, T> {
        Results {
            command,
            version: env!("CARGO_PKG_VERSION"),
            machine: machine(),
            load_before: self.load,
            seconds: self.seconds(),
            body,
        }
    }
}

/// Rows and nothing else.
#[derive(Serialize)]
pub struct Rows<'a, T> {
    pub rows: &'a [T],
}

/// The processor, its cores and the system, in words.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|l| l.strip_prefix("model name")?.split_once(": ").map(|p| p.1));
    match model {
        Some(model) => format!("{}, {cores} cores, {os} {arch}", model.trim()),
        None => format!("{cores} cores, {os} {arch}"),
    }
}

fn load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}
