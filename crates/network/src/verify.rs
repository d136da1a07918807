//! Golden vectors of networks: every intermediate number of a pass, recomputed. Only the harness turns this on.
//!
//! Errors are measured array by array, as the largest absolute difference over the largest absolute value.

mod derivative;
pub mod json;
pub mod pass;
mod rows;
mod tree;

use json::Golden;
use tractable_core::error::Result;
use tractable_core::moments::Activation;
use tractable_devices::Device;

/// Whether a golden file was recomputed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Every array of results in the file that this build knows how to compute was recomputed.
    Checked,
    /// Not recomputed, and why.
    Skipped(String),
}

/// Recomputes a golden file of a network; `None` if it is of another kind.
pub fn check(golden: &Golden, device: Device, worst: &mut Worst) -> Result<Option<Status>> {
    let has = |keys: &[&str]| keys.iter().all(|key| golden.has(key));
    match unknown_part(golden)? {
        Some(why) => return Ok(Some(Status::Skipped(why))),
        None if has(&["encodings"]) => tree::check(golden, worst)?,
        None if has(&["iterations", "sigma_x"]) => pass::attack(golden, device, worst)?,
        None if has(&["states", "backward"]) => pass::check(golden, device, worst)?,
        None if has(&["variants"]) => derivative::check(golden, device, worst)?,
        None if has(&["runs"]) => derivative::trajectory(golden, device, worst)?,
        None if has(&["adjoint"]) => rows::check(golden, device, worst)?,
        None => return Ok(None),
    }
    Ok(Some(Status::Checked))
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
pub struct Worst {
    /// The error.
    pub error: f64,
    /// The array with that error.
    pub at: String,
}

impl Worst {
    /// Compares an array with the file's entry of that name.
    pub fn check(&mut self, golden: &Golden, key: &str, ours: &[f64]) -> Result<()> {
        let reference = golden.get(key)?;
        self.compare(reference.at(), ours, &reference.numbers()?);
        Ok(())
    }

    /// Compares an array with its reference, relative to the reference's largest number.
    pub fn compare(&mut self, at: impl Into<String>, ours: &[f64], reference: &[f64]) {
        let scale = reference.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let error = difference(ours, reference) / if scale == 0.0 { 1.0 } else { scale };
        self.include(Worst { error, at: at.into() });
    }

    /// Compares number by number, in their own units.
    pub fn compare_absolute(&mut self, at: impl Into<String>, ours: &[f64], reference: &[f64]) {
        self.include(Worst { error: difference(ours, reference), at: at.into() });
    }

    /// The one with the smaller error; any number is better than NaN.
    pub fn better([a, b]: [Worst; 2]) -> Worst {
        if b.error < a.error || a.error.is_nan() { b } else { a }
    }

    /// Keeps the larger error.
    pub fn include(&mut self, other: Worst) {
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
