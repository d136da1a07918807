//! Increments as bytes, for any transport. Received bytes are validated: garbage is an error, and never corrupts a network silently.

use super::merge::{Done, From, Increment};
use crate::error::{Error, Result};
use crate::workers::Numbers;

/// `TRINC` and a version.
const MAGIC: &[u8; 8] = b"TRINC\0\0\x01";
/// Precision, seed, architecture, mark, five counts, number of entries in `few`.
const HEAD: usize = 10;

impl Increment {
    /// As bytes, little endian: eight or sixteen for every parameter, for single or double precision.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// assert_eq!(net.since(&net.mark()?)?.to_bytes().len(), 104 + 8 * net.parameters());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let (from, done) = (self.from, self.done);
        let numbers = [
            u64::from(self.many.is_double()),
            from.seed,
            from.architecture,
            from.mark,
            done.workers,
            done.rows,
            done.single,
            done.small,
            done.large,
            self.few.len() as u64,
        ];
        let mut bytes = MAGIC.to_vec();
        bytes.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        bytes.extend(self.few.iter().flat_map(|n| n.to_le_bytes()));
        bytes.extend(self.many.bytes(0..self.many.len()));
        bytes
    }

    /// From [bytes](Increment::to_bytes); an error if they are not an increment, are truncated or contain a number that is not finite.
    ///
    /// ```
    /// assert!(tractable::Increment::from_bytes(b"garbage").is_err());
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Increment> {
        let bad = |why: &str| Error::invalid("increment", why.to_string());
        let body = bytes
            .strip_prefix(MAGIC)
            .ok_or_else(|| bad("these bytes are not an increment of this version"))?;
        let cut = || bad("the bytes are truncated");
        let (head, body) = body.split_at_checked(8 * HEAD).ok_or_else(cut)?;
        let n: Vec<u64> = head.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b)).collect();
        let few = usize::try_from(n[9]).ok().and_then(|n| n.checked_mul(8)).ok_or_else(cut)?;
        let (few, many) = body.split_at_checked(few).ok_or_else(cut)?;
        let few: Vec<f64> = few.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        let many = Numbers::from_bytes(many, n[0] == 1).ok_or_else(cut)?;
        if n[0] > 1 || !few.iter().all(|v| v.is_finite()) || !many.all_finite() {
            return Err(bad("it contains a number that is not finite"));
        }
        let from = From { seed: n[1], architecture: n[2], mark: n[3] };
        let done = Done { workers: n[4], rows: n[5], single: n[6], small: n[7], large: n[8] };
        // Counts are added up.
        if [done.workers, done.rows, done.single, done.small, done.large].iter().any(|&n| n > 1 << 53) {
            return Err(bad("its counts are out of range"));
        }
        Ok(Increment { from, done, many, few })
    }
}
