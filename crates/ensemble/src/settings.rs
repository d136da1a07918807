//! The few settings.

use tractable_core::error::{Error, Result};
use tractable_devices::Device;

/// Rows to learn from that are many.
const MANY_ROWS: usize = 2000;

/// How to fit an [`Ensemble`](super::Ensemble).
///
/// ```
/// let settings = tractable::ensemble::Settings::default().seed(7).threads(2);
/// assert_eq!((settings.seed, settings.threads), (7, 2));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// Seed of folds and weights.
    pub seed: u64,
    /// Threads to fit with, and to answer with later; 0 means one per core.
    pub threads: usize,
    /// One network: of each kind one is trained, and the one that makes the fifth of the rows it leaves out most likely is kept.
    pub single: bool,
    /// Total number of rows that a network learns from, over all epochs; three times as many from 2,000 rows on.
    pub visits: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { seed: 0, threads: 0, single: false, visits: 50_000 }
    }
}

impl Settings {
    /// Seed of folds and weights.
    ///
    /// ```
    /// assert_eq!(tractable::ensemble::Settings::default().seed(7).seed, 7);
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Threads to fit with, and to answer with later. The result does not depend on it.
    ///
    /// ```
    /// assert_eq!(tractable::ensemble::Settings::default().threads(2).threads, 2);
    /// ```
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// One network, in a fifth of the time.
    ///
    /// ```
    /// assert!(tractable::ensemble::Settings::default().single(true).single);
    /// ```
    pub fn single(mut self, single: bool) -> Self {
        self.single = single;
        self
    }

    /// Total number of rows that a network learns from, over all epochs; 50,000 unless set.
    ///
    /// ```
    /// assert_eq!(tractable::ensemble::Settings::default().visits(1000).visits, 1000);
    /// ```
    pub fn visits(mut self, visits: usize) -> Self {
        self.visits = visits;
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        self.device().check()?;
        match self.visits == 0 {
            true => Err(Error::invalid("ensemble", "visits must be at least 1")),
            false => Ok(()),
        }
    }

    /// Where the networks compute.
    pub(super) fn device(&self) -> Device {
        Device::cpu(self.threads)
    }

    /// Epochs over so many rows.
    pub(super) fn epochs(&self, rows: usize) -> usize {
        let visits = if rows < MANY_ROWS { self.visits } else { 3 * self.visits };
        // At 50,000 visits: 40 epochs or more, but fewer again above a hundred thousand rows.
        let least = (80 * self.visits).div_ceil(rows).clamp(2, self.visits.div_ceil(1250).max(2));
        visits.div_ceil(rows).clamp(least, 1000.max(least))
    }
}
