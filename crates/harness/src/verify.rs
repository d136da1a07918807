//! Verification on this machine: recomputes reference vectors with this build and returns the errors.
//!
//! A folder of golden files (JSON; inputs and every intermediate number of a pass, in f64) is read, each file
//! is recomputed on a [`Device`], and the worst relative error of every file is returned. [`physics`] does the same for the simulators of
//! [`rl::env`](tractable::rl::env).

mod command;
mod physics;

pub use command::{Args, run};
pub use physics::physics;
pub use tractable_network::verify::Status;

use serde::Serialize;
use std::path::{Path, PathBuf};
use tractable::{Device, Error, Result};
use tractable_network::verify::{self, Worst, json::Golden};

/// The outcome for one golden file.
///
/// ```no_run
/// use tractable::Device;
/// use tractable_harness::verify;
/// for file in verify::golden("golden".as_ref(), Device::default())? {
///     println!("{}: {:.1e} at {}", file.file, file.worst, file.at);
/// }
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checked {
    /// Name of the file.
    pub file: String,
    /// Whether it was recomputed.
    pub status: Status,
    /// Largest relative error of any array; NaN if a result is NaN.
    pub worst: f64,
    /// The array with that error.
    pub at: String,
}

/// Recomputes every `.json` file of a folder, in the order of their names.
///
/// ```
/// # use tractable::Device;
/// use tractable_harness::verify;
/// let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/golden");
/// let files = verify::golden(folder.as_ref(), Device::reference())?;
/// assert!(files.iter().all(|f| f.worst < 1e-12));
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn golden(dir: &Path, device: Device) -> Result<Vec<Checked>> {
    let files = files_of(dir, "golden folder", &["json"])?;
    files.iter().map(|path| file(path, device.clone())).collect()
}

/// Files of a folder with one of these endings, in the order of their names; none is an error.
fn files_of(dir: &Path, what: &str, endings: &[&str]) -> Result<Vec<PathBuf>> {
    let fail = |source| Error::File { path: dir.into(), doing: "read the folder", source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.extension().is_some_and(|e| endings.iter().any(|ending| e == *ending)) {
            files.push(path);
        }
    }
    if files.is_empty() {
        let endings = endings.join(" or .");
        return Err(Error::invalid(what, format!("{} holds no .{endings} file", dir.display())));
    }
    files.sort();
    Ok(files)
}

fn file(path: &Path, device: Device) -> Result<Checked> {
    let golden = Golden::open(path)?;
    let mut worst = Worst::default();
    let mut status = verify::check(&golden, device.clone(), &mut worst)?;
    if status.is_none() && tractable_applications::rl::verify::check(&golden, device, &mut worst)? {
        status = Some(Status::Checked);
    }
    let status = status.unwrap_or_else(|| Status::Skipped("this build cannot compute this kind".into()));
    if status == Status::Checked && worst.at.is_empty() {
        return Err(golden.error("contains nothing to compare"));
    }
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Checked { file, status, worst: worst.error, at: worst.at })
}
