//! [`Increment`]: what a network learned since a mark, also as bytes for any transport. Received bytes are validated: garbage is an error, and never corrupts a network silently.

use super::mark::{Done, From};
use tractable_core::error::{Error, Result};
use tractable_core::moments::merge::Learned;
use tractable_core::workers::Numbers;

/// `TRINC` and a version.
const MAGIC: &[u8; 8] = b"TRINC\0\0\x01";
/// Precision, seed, architecture, mark, five counts, number of entries in `few`.
const HEAD: usize = 10;

/// What a network learned since a [mark](crate::Mark), in natural parameters (precision, and precision times mean). Increments of networks that
/// learned different rows from the same mark add up; see [`Network::merge`](crate::Network::merge).
///
/// ```
/// # use tractable::{Activation, Matrix, Network, network::Increment};
/// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
/// let mark = net.mark()?;
/// net.learn(&Matrix::column(vec![0.5])?, &Matrix::column(vec![1.0])?)?;
/// let learned = net.since(&mark)?;
/// assert_eq!(learned.rows(), 1);
/// assert_eq!(Increment::from_bytes(&learned.to_bytes())?, learned);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Increment {
    pub(super) from: From,
    pub(super) done: Done,
    /// Precision and shift of every parameter.
    pub(super) many: Numbers,
    /// Other sums: squares and entries of the noise, then rows and moments of normalisations.
    pub(super) few: Vec<f64>,
}

impl Increment {
    /// What was learned about one parameter.
    pub(super) fn at(&self, parameter: usize) -> Learned {
        Learned { precision: self.many.get(2 * parameter), shift: self.many.get(2 * parameter + 1) }
    }

    /// A share of it; see [`Mark::share`](crate::Mark::share).
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// let nothing = net.since(&net.mark()?)?;
    /// assert_eq!(nothing.times(0.5), nothing);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn times(&self, share: f64) -> Increment {
        let mut part = self.clone();
        part.many.times(share);
        part
    }

    /// Rows it was learned from.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// assert_eq!(net.since(&net.mark()?)?.rows(), 0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.done.rows as usize
    }

    /// The sum of two increments: of two workers since one mark, or of a shard's contribution and its change since a later mark.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// let nothing = net.since(&net.mark()?)?;
    /// assert_eq!(nothing.plus(&nothing)?, nothing);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn plus(&self, more: &Increment) -> Result<Increment> {
        From { mark: self.from.mark, ..more.from }.check(self.from)?;
        let mut sum = self.clone();
        let alike = sum.many.len() == more.many.len() && sum.few.len() == more.few.len();
        if !alike || sum.many.is_double() != more.many.is_double() {
            return Err(Error::invalid("increment", "its numbers do not fit the increment it is added to"));
        }
        sum.many.add(&more.many);
        sum.few.iter_mut().zip(&more.few).for_each(|(sum, more)| *sum += more);
        sum.done = sum.done.beside(more.done);
        Ok(sum)
    }

    /// As bytes, little endian: eight or sixteen for every parameter, for single or double precision.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// assert_eq!(net.since(&net.mark()?)?.to_bytes().len(), 112 + 8 * net.parameters());
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
    /// assert!(tractable::network::Increment::from_bytes(b"garbage").is_err());
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
