//! Downloads one file over HTTP or HTTPS with `curl`, which knows the system's certificates and
//! proxies; a TLS library would need a C compiler to build.

use super::checksum::Digest;
use crate::interrupt;
use crate::progress::ProgressDisplay;
use crate::report::Exit;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// Why a source failed: a message, or a reason to stop altogether.
pub(super) enum Failed {
    Source(String),
    Exit(Exit),
}

impl From<Exit> for Failed {
    fn from(stop: Exit) -> Self {
        Failed::Exit(stop)
    }
}

/// Downloads `url` to `part`, continuing an earlier attempt, and verifies its checksum.
/// `part` is then complete and right, or an error says what is wrong.
pub(super) fn download(
    url: &str,
    part: &Path,
    bytes: u64,
    digest: Digest,
    progress: &mut ProgressDisplay,
) -> Result<(), Failed> {
    let failed = |what: String| Failed::Source(format!("{url}: {what}"));
    let right = || part.is_file() && digest.holds_for(part).unwrap_or(false);
    let size = || std::fs::metadata(part).map_or(0, |m| m.len());
    if right() {
        return Ok(());
    }
    if size() >= bytes {
        // As long as it should be, and wrong: nothing to go on from.
        let _ = std::fs::remove_file(part);
    }
    let resumed = size() > 0;
    let mut said = curl(url, part, bytes, progress)?;
    if said.is_err() && resumed && !interrupt::requested() {
        // The server may not know how to go on; from the start it does.
        let _ = std::fs::remove_file(part);
        said = curl(url, part, bytes, progress)?;
    }
    said.map_err(failed)?;
    if right() {
        return Ok(());
    }
    let size = size();
    let _ = std::fs::remove_file(part);
    Err(failed(format!("its checksum differs from the published one ({size} bytes received); not used")))
}

/// Runs curl; the inner error is what it says.
fn curl(
    url: &str,
    part: &Path,
    bytes: u64,
    progress: &mut ProgressDisplay,
) -> Result<Result<(), String>, Failed> {
    let mut command = Command::new("curl");
    command
        .args([
            "--fail",
            "--silent",
            "--show-error",
            "--location",
            "--proto",
            "=http,https",
            "--connect-timeout",
            "15",
        ])
        .args(["--speed-limit", "1000", "--speed-time", "30", "--continue-at", "-", "--output"])
        .arg(part)
        .args(["--", url]);
    let name = url.rsplit('/').next().unwrap_or(url);
    let (status, err) = match watched(&mut command, || {
        let done = std::fs::metadata(part).map_or(0, |m| m.len());
        progress.at(done, || format!("{name}  {} of {}", megabytes(done), megabytes(bytes)));
    })? {
        Ok(ended) => ended,
        Err(e) => return Ok(Err(format!("curl cannot be run ({e}); install it"))),
    };
    Ok(if status.success() { Ok(()) } else { Err(err.trim().trim_start_matches("curl: ").to_string()) })
}

/// Runs a program to its end, looking at things now and then; what it said on stderr. Ctrl-C ends it.
pub(super) fn watched(
    command: &mut Command,
    mut look: impl FnMut(),
) -> Result<std::io::Result<(ExitStatus, String)>, Failed> {
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(e) => return Ok(Err(e)),
    };
    // Read beside, so that a program that says much does not wait for us.
    let mut stderr = child.stderr.take().expect("it was asked for");
    let said = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stderr.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    loop {
        match child.try_wait() {
            Ok(Some(status)) if interrupt::requested() => {
                let _ = status;
                break;
            }
            Ok(Some(status)) => return Ok(Ok((status, said.join().unwrap_or_default()))),
            Ok(None) if interrupt::requested() => {
                let _ = child.kill();
                let _ = child.wait();
                break;
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(50)),
            Err(e) => return Ok(Err(e)),
        }
        look();
    }
    let why = "what was downloaded is kept; run the same command to continue";
    Err(Failed::Exit(Exit::Interrupted(why.into())))
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
