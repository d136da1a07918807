//! `cargo xtask verify`: recomputes golden vectors, or recorded physics, with this build on this machine.

use super::{Checked, Status};
use serde::Serialize;
use std::path::PathBuf;
use tractable_cli::DeviceName;
use tractable_cli::console::{self, note};
use tractable_cli::report::{Exit, Outcome, Report, table};

const AFTER_HELP: &str = "\
Example:
  cargo xtask verify --golden golden/ --device reference --tolerance 1e-12
  cargo xtask verify --physics physics/

Exits 1 if a file exceeds the tolerance. Files of a kind this build cannot compute are
listed as skipped; if all are, stderr says that nothing was checked.";

/// Recompute every file of a folder and print the worst error of each
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["golden", "physics"])))]
pub struct Args {
    /// Folder of golden vectors (*.json)
    #[arg(long, value_name = "DIR")]
    golden: Option<PathBuf>,
    /// Folder of steps (*.csv) and trajectories (*.json) recorded from MuJoCo
    #[arg(long, value_name = "DIR")]
    physics: Option<PathBuf>,
    /// Largest error accepted: relative for --golden [default: 1e-5], absolute for --physics [default: 1e-9]
    #[arg(long, value_name = "ERROR")]
    tolerance: Option<f64>,
    /// Where to compute; cuda-fast is less precise
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    device: DeviceName,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// How a file did.
#[derive(Serialize)]
struct Verdict<'a> {
    file: &'a str,
    result: &'static str,
    /// Largest error; null where it is not a number or nothing was computed.
    worst: Option<f64>,
    at: &'a str,
    reason: Option<&'a str>,
}

#[derive(Serialize, Default)]
struct Summary {
    passed: usize,
    failed: usize,
    skipped: usize,
    tolerance: f64,
}

pub fn run(args: &Args) -> Outcome {
    let tolerance = args.tolerance.unwrap_or(if args.golden.is_some() { 1e-5 } else { 1e-9 });
    if tolerance.is_nan() || tolerance < 0.0 {
        return Err(Exit::Error(format!("--tolerance: {tolerance} is not a positive number or 0")));
    }
    let report = Report::new(args.json);
    let files = match (&args.golden, &args.physics) {
        (Some(dir), _) => super::golden(dir, args.device.with(console::threads())?)?,
        (None, Some(dir)) => super::physics(dir)?,
        (None, None) => unreachable!("clap asks for one of the two"),
    };
    let verdicts: Vec<Verdict<'_>> = files.iter().map(|f| judge(f, tolerance)).collect();
    let count = |result| verdicts.iter().filter(|v| v.result == result).count();
    let summary =
        Summary { passed: count("ok"), failed: count("FAIL"), skipped: count("skipped"), tolerance };
    if args.json {
        for v in &verdicts {
            report.say("file", v, String::new)?;
        }
    }
    report.say("summary", &summary, || {
        let rows: Vec<Vec<String>> = verdicts.iter().map(row).collect();
        let Summary { passed, failed, skipped, .. } = summary;
        format!("{}{passed} passed, {failed} failed, {skipped} skipped", table(&rows, &[0, 1, 3]))
    })?;
    if summary.passed + summary.failed == 0 {
        note("nothing was checked: every file was skipped");
    }
    match summary.failed {
        0 => Ok(()),
        n => Err(Exit::CheckFailed(format!("{n} files differ by more than {tolerance:e}"))),
    }
}

fn judge(checked: &Checked, tolerance: f64) -> Verdict<'_> {
    let Checked { file, status, worst, at } = checked;
    match status {
        Status::Skipped(why) => Verdict { file, result: "skipped", worst: None, at: "", reason: Some(why) },
        // Not "above": NaN must fail.
        Status::Checked if *worst <= tolerance => {
            Verdict { file, result: "ok", worst: Some(*worst), at, reason: None }
        }
        Status::Checked => Verdict { file, result: "FAIL", worst: Some(*worst), at, reason: None },
    }
}

fn row(v: &Verdict<'_>) -> Vec<String> {
    let mut cells = vec![v.file.to_string(), v.result.to_string()];
    match (v.worst, v.reason) {
        (Some(worst), _) => cells.extend([format!("{worst:.1e}"), format!("at {}", v.at)]),
        (None, reason) => cells.extend([String::new(), reason.unwrap_or_default().to_string()]),
    }
    cells
}
