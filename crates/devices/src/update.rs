//! How parameters follow what batches say.

use super::Weighted;
use tractable_core::error::{Error, Result};
use tractable_core::moments::posterior::{Count, Pace, cap_for_batch};

/// How the deltas of a batch are applied to a weight (`docs/equations.md`, T20, T21, T39 and T80).
///
/// ```
/// use tractable::{Activation, Network, network::UpdateRule};
/// let net = Network::mlp([1, 8, 1], Activation::Tanh).update_rule(UpdateRule::Plain).build()?;
/// assert_eq!(net.update_rule(), UpdateRule::Plain);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum UpdateRule {
    /// Add the sum over the batch, as in the paper. Overcounts in batches of more than one sample if the
    /// noise is small: variances can fall below zero; they are then repaired and counted.
    Plain,
    /// The same sum with limited steps: a mean moves by at most `sqrt(var)/c` and a variance falls to no
    /// less than `var/c^2`, with c = 2 for 2 to 255 samples and 3 above. The update of a single sample is
    /// exact: its mean may move by ten standard deviations and its variance is not limited.
    #[default]
    Capped,
    /// Count every row once, however often it is seen: every row pulls all weights slightly back
    /// to their prior. Variances do not collapse, and the network keeps adapting. Steps are limited as in `Capped`. For a
    /// stream, `rows` is how many rows it remembers, and about how many it takes to adapt to a jump;
    /// `forget` adapts faster.
    ///
    /// With `Fit::anneal` a linear network reaches the exact posterior after any number of epochs, as far as
    /// independent weights allow: its predictive standard deviation is 0.98 of the exact one, its mean within 0.05 standard deviations, with
    /// any batch up to half of the rows. If a batch is all of the rows, limited steps make means converge only after hundreds of
    /// epochs. Single precision agrees with double for a million rows, and within a few per cent for ten million.
    Counted {
        /// Number of different rows.
        rows: usize,
        /// Added to `rows` to compute the pull. Weights treated as independent hold each other back if
        /// every row counts exactly once, more so the more there are; three per parameter let a network fit the data.
        margin: usize,
    },
    /// For deep networks. Every row counts once, as with [`counted`](UpdateRule::counted), but no variance exceeds its prior, and means take
    /// steps of a length of their own, of at most half a standard deviation: with variances small enough for a deep network
    /// (`Prior::deep`, the default with this rule) the posterior's own steps would be too short. In a
    /// fit (`Fit::pace_at`) they get longer over the first half epoch and then shorter until the end; outside a fit they
    /// have their full length. Weights are also pulled to 0 with a precision of 20.
    ///
    /// The network predicts with an average of its means over about the last 200 batches, and learns from the latest ones. A fit also
    /// recomputes the statistics of batch normalisation for the averaged means after every epoch; `learn` alone keeps running ones.
    Paced {
        /// Number of different rows.
        rows: usize,
        /// Full length of a step; 1 is that of the other rules.
        pace: usize,
    },
}

/// With which rows a paced network pulls its weights to 0, as a precision.
const DECAY: f64 = 20.0;
/// The full length of a step of deep networks.
const PACE: usize = 1000;
/// A batch's share in the average of the means: at least this,
const LEAST_SHARE: f64 = 0.005;
/// and at first about one over a tenth of the batches so far.
const EARLY: f64 = 9.0;

impl UpdateRule {
    /// For deep networks that learn from this many rows, with steps of full length 1000.
    ///
    /// ```
    /// use tractable::network::UpdateRule;
    /// assert_eq!(UpdateRule::paced(500), UpdateRule::Paced { rows: 500, pace: 1000 });
    /// ```
    pub const fn paced(rows: usize) -> Self {
        UpdateRule::Paced { rows, pace: PACE }
    }

    /// Each of this many rows counts once.
    ///
    /// ```
    /// use tractable::network::UpdateRule;
    /// assert_eq!(UpdateRule::counted(500), UpdateRule::Counted { rows: 500, margin: 0 });
    /// ```
    pub fn counted(rows: usize) -> Self {
        UpdateRule::Counted { rows, margin: 0 }
    }

    /// The share of the next batch in the average of the means, after this many batches (T81); `None` without an average.
    ///
    /// ```
    /// use tractable::network::UpdateRule;
    /// let rule = UpdateRule::paced(500);
    /// assert_eq!([0, 10, 10_000].map(|batches| rule.average(batches)), [Some(1.0), Some(0.5), Some(0.005)]);
    /// assert_eq!(UpdateRule::Capped.average(10), None);
    /// ```
    pub fn average(self, batches: u64) -> Option<f64> {
        let share = (1.0 + EARLY) / (1.0 + EARLY + batches as f64);
        matches!(self, UpdateRule::Paced { .. }).then_some(share.max(LEAST_SHARE))
    }

    /// Refuses a rule that counts no rows.
    pub fn check(self) -> Result<()> {
        match self {
            UpdateRule::Counted { rows: 0, .. } | UpdateRule::Paced { rows: 0, .. } => {
                Err(Error::invalid("update rule", "must count at least one row"))
            }
            UpdateRule::Paced { pace: 0, .. } => {
                Err(Error::invalid("update rule", "steps need a length of at least 1"))
            }
            _ => Ok(()),
        }
    }
}

/// A rule, and the current weight of a batch: 1, or less at some times of a fit. A paced network has steps of this share of the full length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Update {
    /// The rule.
    pub rule: UpdateRule,
    /// The weight.
    pub weight: f64,
    /// The batch's share in the average of the means, if there is one.
    pub average: Option<f64>,
}

/// Prior of the parameters of a layer: `[mean, variance]` of a weight and of a bias.
pub type Priors = [[f64; 2]; 2];

impl Update {
    /// The step of weights and of biases for a batch of this many rows. If a weight is used at several `positions`, even
    /// one sample is a sum of several. Only the weights of maps are drawn, and `decay`.
    pub fn steps(self, rows: usize, positions: usize, priors: Priors, decay: bool) -> Steps {
        let cap = cap_for_batch(if positions > 1 { rows.max(2) } else { rows });
        let [weights, biases] = priors;
        // What is fixed, with a variance of 0, is not pulled.
        let precision = |var: f64| if var > 0.0 { 1.0 / var } else { 0.0 };
        [(weights, if decay { DECAY } else { 0.0 }), (biases, 0.0)].map(|([mean, var], decay)| {
            match self.rule {
                UpdateRule::Plain => Step::Plain,
                UpdateRule::Capped => Step::Capped(cap),
                UpdateRule::Counted { rows: all, margin } => {
                    // As if row by row: the last rows of a batch make it forget a little of the first.
                    let one = (self.weight / (all as f64 + margin as f64)).min(1.0);
                    let share = -libm::expm1(rows as f64 * libm::log1p(-one));
                    let weight = self.weight * share / (rows as f64 * one);
                    Step::Counted(Count { weight, share, mean, precision: precision(var), cap })
                }
                UpdateRule::Paced { rows: all, pace } => {
                    let share = (rows as f64 / all as f64).min(1.0);
                    let length = self.weight * pace as f64;
                    Step::Paced(Pace { length, share, precision: precision(var), pull: share * decay })
                }
            }
        })
    }
}

/// How parameters follow the sums of a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step<R> {
    /// As the sums say.
    Plain,
    /// Limited by this number.
    Capped(R),
    /// Pulled back to the prior.
    Counted(Count<R>),
    /// With a length of its own.
    Paced(Pace<R>),
}

/// Of the weights and of the biases of a layer.
pub type Steps = [Step<f64>; 2];

/// Updates of the weights of maps.
pub trait Learning: Weighted {
    /// Zero sums.
    fn map_sums(&self, w: &Self::Weights) -> Self::Sums;
    /// Adds what a batch says.
    fn map_accumulate(
        &self,
        w: &Self::Weights,
        scratch: &mut Self::Scratch,
        x: &Self::State,
        z: &Self::State,
        sums: &mut Self::Sums,
    );
    /// The posterior from sums.
    fn map_apply(&self, w: &mut Self::Weights, sums: &Self::Sums, steps: Steps, status: &mut Self::Status);
    /// Makes room for what `map_accumulate` and `map_learn` need, so that none of the layers learns if there is no room for one of them:
    /// then the status has an error.
    fn map_reserve(
        &self,
        _: &Self::Weights,
        _: &mut Self::Scratch,
        _: [&Self::State; 2],
        _: &mut Self::Status,
    ) {
    }
    /// Accumulates one batch and applies it.
    fn map_learn(
        &self,
        w: &mut Self::Weights,
        scratch: &mut Self::Scratch,
        x: &Self::State,
        z: &Self::State,
        steps: Steps,
        status: &mut Self::Status,
    );
}
