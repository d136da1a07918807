//! Verification on this machine: recomputes reference vectors with this build and returns the errors.
//!
//! [`physics`] does the same for the simulators of [`rl::env`](crate::rl::env).
//!
//! A folder of golden files (JSON; inputs and every intermediate number of a pass, in f64) is read, each file
//! is recomputed on a [`Device`], and the worst relative error of every file is returned. Errors are
//! measured array by array, as the largest absolute difference over the largest absolute value.

mod derivative;
mod json;
mod pass;
mod physics;
mod rl;
mod rows;
mod tree;

pub use physics::physics;

use crate::backend::Device;
use crate::error::{Error, Result};
use crate::moments::Activation;
use json::Golden;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The outcome for one golden file.
///
/// ```no_run
/// use tractable::{Device, verify};
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

/// Whether a golden file was recomputed.
///
/// ```
/// let skipped = tractable::verify::Status::Skipped("layers of kind lstm are not built".into());
/// assert_ne!(skipped, tractable::verify::Status::Checked);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Every array of results in the file that this build knows how to compute was recomputed.
    Checked,
    /// Not recomputed, and why.
    Skipped(String),
}

/// Recomputes every `.json` file of a folder, in the order of their names.
///
/// ```
/// # use tractable::{Device, verify};
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
    let has = |keys: &[&str]| keys.iter().all(|key| golden.has(key));
    let mut status = Status::Checked;
    match unknown_part(&golden)? {
        Some(why) => status = Status::Skipped(why),
        None if has(&["encodings"]) => tree::check(&golden, &mut worst)?,
        None if has(&["iterations", "sigma_x"]) => pass::attack(&golden, device, &mut worst)?,
        None if has(&["states", "backward"]) => pass::check(&golden, device, &mut worst)?,
        None if has(&["variants"]) => derivative::check(&golden, device, &mut worst)?,
        None if has(&["runs"]) => derivative::trajectory(&golden, device, &mut worst)?,
        None if has(&["Q", "A"]) => rl::minibatch(&golden, device, &mut worst)?,
        None if has(&["cases"]) => rl::returns(&golden, &mut worst)?,
        None if has(&["adjoint"]) => rows::check(&golden, device, &mut worst)?,
        None if has(&["rows"]) => rl::running(&golden, &mut worst)?,
        None => status = Status::Skipped("this build cannot compute this kind".into()),
    }
    if status == Status::Checked && worst.at.is_empty() {
        return Err(golden.error("contains nothing to compare"));
    }
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Checked { file, status, worst: worst.error, at: worst.at })
}

/// A layer or an activation of the file's network that this build does not have.
fn unknown_part(golden: &Golden) -> Result<Option<String>> {
    if !golden.has("net") {
        return Ok(None);
    }
    for layer in golden.get("net")?.list()? {
        let (kind, act) = (layer.get("kind")?, layer.get("act")?);
        if !pass::KINDS.contains(&kind.text()?) {
            return Ok(Some(format!("layers of kind {} are not supported", kind.text()?)));
        }
        if act.text()?.parse::<Activation>().is_err() {
            return Ok(Some(format!("the activation {} is not supported", act.text()?)));
        }
    }
    Ok(None)
}

/// The largest error so far. NaN beats everything.
#[derive(Debug, Default, PartialEq)]
struct Worst {
    error: f64,
    at: String,
}

impl Worst {
    /// Compares an array with the file's entry of that name.
    fn check(&mut self, golden: &Golden, key: &str, ours: &[f64]) -> Result<()> {
        let reference = golden.get(key)?;
        self.compare(reference.at(), ours, &reference.numbers()?);
        Ok(())
    }

    /// Compares an array with its reference, relative to the reference's largest number.
    fn compare(&mut self, at: impl Into<String>, ours: &[f64], reference: &[f64]) {
        let scale = reference.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let error = difference(ours, reference) / if scale == 0.0 { 1.0 } else { scale };
        self.include(Worst { error, at: at.into() });
    }

    /// Compares number by number, in their own units.
    fn compare_absolute(&mut self, at: impl Into<String>, ours: &[f64], reference: &[f64]) {
        self.include(Worst { error: difference(ours, reference), at: at.into() });
    }

    /// The one with the smaller error; any number is better than NaN.
    fn better([a, b]: [Worst; 2]) -> Worst {
        if b.error < a.error || a.error.is_nan() { b } else { a }
    }

    /// Keeps the larger error.
    fn include(&mut self, other: Worst) {
        let beaten = other.error.is_nan() || other.error > self.error;
        if self.at.is_empty() || (beaten && !self.error.is_nan()) {
            *self = other;
        }
    }
}

/// The largest absolute difference: NaN where one is NaN, infinite where the lengths differ.
fn difference(ours: &[f64], reference: &[f64]) -> f64 {
    if ours.len() != reference.len() {
        return f64::INFINITY;
    }
    let off = ours.iter().zip(reference).map(|(a, b)| (a - b).abs());
    off.fold(0.0, |m: f64, d| if d.is_nan() || d > m { d } else { m })
}

#[cfg(test)]
mod tests;
