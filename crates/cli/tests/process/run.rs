//! Running the program in a folder of its own, and data to feed it.

use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A temporary folder with data, where the program is run.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

/// What a run of the program left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    /// With `data.csv`, 60 rows of two features and a number, and `classes.csv`, three classes.
    pub(crate) fn new() -> Self {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        let mut numbers = String::from("a,b,y\n");
        let mut classes = String::from("a,b,kind\n");
        for i in 0..60 {
            let (a, b) = ((i % 10) as f64 / 10.0, (i / 10) as f64 / 6.0);
            writeln!(numbers, "{a},{b},{}", 30.0 + 4.0 * a - 2.0 * b).unwrap();
            let kind = ["low", "middle", "top, high"][((a + b) * 1.6) as usize % 3];
            writeln!(classes, "{a},{b},\"{kind}\"").unwrap();
        }
        place.write("data.csv", &numbers);
        place.write("classes.csv", &classes);
        place
    }

    /// With a trained `run/` too: one small network, calibrated.
    pub(crate) fn trained() -> Self {
        let place = Place::new();
        place.ok(&["train", "data.csv", "--target", "y", "-o", "run", "--epochs", "5", "--hidden", "8"]);
        place
    }

    /// With a `run/` whose model is a network, and not calibrated.
    pub(crate) fn network() -> Self {
        let place = Place::new();
        let small = ["--epochs", "5", "--hidden", "8", "--calibration", "0"];
        place.ok(&[&["train", "data.csv", "--target", "y", "-o", "run"], &small[..]].concat());
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(crate::PROGRAM);
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs with these bytes as its standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: &str) -> Ran {
        let output =
            self.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = output.unwrap();
        let (mut pipe, bytes) = (child.stdin.take().unwrap(), input.as_bytes().to_vec());
        let writer = std::thread::spawn(move || std::io::Write::write_all(&mut pipe, &bytes));
        let output = child.wait_with_output().unwrap();
        // It need not be read to its end.
        let _ = writer.join().unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs and expects success; what came on stdout.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran.out
    }

    /// Runs with `--json` and expects success and lines as the book has them; the lines of stdout.
    pub(crate) fn json(&self, args: &[&str]) -> Vec<Value> {
        let lines = json_lines(&self.ok(&[args, &["--json"]].concat()));
        crate::json::as_documented(args[0], &lines);
        lines
    }

    /// Runs and expects an error: exit 2, one line on stderr that holds all of `says`, nothing on stdout,
    /// and every file as it was.
    #[track_caller]
    pub(crate) fn refused(&self, args: &[&str], says: &[&str]) {
        let before = snapshot(self.folder.path());
        let ran = self.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.err.starts_with("error: "), "{args:?}: {ran:?}");
        assert_eq!(ran.err.trim_end().lines().count(), 1, "{args:?}: {ran:?}");
        for part in says {
            assert!(ran.err.contains(part), "{args:?} does not say {part:?}: {}", ran.err);
        }
        assert_eq!(ran.out, "", "{args:?}");
        assert!(snapshot(self.folder.path()) == before, "{args:?} changed files");
    }
}

/// Waits until something is so. The limit is for what never happens: a machine may be slow.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < Duration::from_secs(300), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    text.lines().map(parse).collect()
}

/// Every file below a folder, with its content.
fn snapshot(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.push((path.clone(), Vec::new()));
            files.extend(snapshot(&path));
        } else {
            files.push((path.clone(), std::fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}
