//! `cargo xtask` as a developer meets it.

mod ordinary;
#[path = "../../../cli/tests/process/run.rs"]
#[allow(dead_code, reason = "the program's tests use all of it")]
mod run;
mod small;
mod tables;
mod uci;
mod verify;

const PROGRAM: &str = env!("CARGO_BIN_EXE_xtask");

/// Lines of the program have a page in the book; those of the harness do not.
mod json {
    pub(crate) fn as_documented(_: &str, lines: &[serde_json::Value]) {
        assert!(lines.iter().all(|l| l["type"].is_string()), "{lines:?}");
    }
}
