//! [`Network::mark`]: a point in a network's learning, from which all workers start.

use super::{Increment, Network};
use crate::engine::InferredNoise;
use crate::output::Noise;
use tractable_core::error::{Error, Result};
use tractable_core::fnv;
use tractable_core::moments::merge::{Bound, most_share, surprise};
use tractable_core::workers::Numbers;
use tractable_devices::UpdateRule;

/// A point in a network's learning from which [increments](Increment) start: a copy of all its numbers.
///
/// ```
/// # use tractable::{Activation, Network};
/// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
/// let mark = net.mark()?;
/// # Ok::<(), tractable::Error>(())
/// ```
pub struct Mark {
    pub(super) from: From,
    /// Mean and variance of every parameter.
    pub(super) pairs: Numbers,
    /// Statistics of every normalisation.
    pub(super) running: Vec<(Vec<f64>, Vec<f64>)>,
    pub(super) noise: InferredNoise,
    pub(super) done: Done,
}

/// What an increment belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct From {
    pub(super) seed: u64,
    /// Hash of layers, prior and scalers.
    pub(super) architecture: u64,
    /// Hash of the numbers at the mark.
    pub(super) mark: u64,
}

/// Updates of a network so far, by how far each may move a weight (T23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Done {
    /// Workers that learned something; 0 in a network itself.
    pub(super) workers: u64,
    pub(super) rows: u64,
    pub(super) single: u64,
    pub(super) small: u64,
    pub(super) large: u64,
}

impl std::fmt::Debug for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mark").field("from", &self.from).finish_non_exhaustive()
    }
}

impl Done {
    /// After an update with this many rows.
    pub(crate) fn note_update(&mut self, rows: usize) {
        self.rows += rows as u64;
        *match rows {
            0..=1 => &mut self.single,
            2..=255 => &mut self.small,
            _ => &mut self.large,
        } += 1;
    }

    pub(super) fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Done {
            workers: f(self.workers, other.workers),
            rows: f(self.rows, other.rows),
            single: f(self.single, other.single),
            small: f(self.small, other.small),
            large: f(self.large, other.large),
        }
    }

    /// Workers in parallel: rows add up; of updates, the worker with the most counts.
    pub(super) fn beside(self, other: Self) -> Self {
        let (workers, rows) = (self.workers + other.workers, self.rows + other.rows);
        Done { workers, rows, ..self.zip(other, u64::max) }
    }

    /// T66. The sum of the steps that its updates allow. Where a weight is `shared` by several positions, a single row is a sum too.
    pub(super) fn bound(mut self, rule: UpdateRule, shared: bool) -> Bound {
        if rule == UpdateRule::Plain {
            return Bound { stds: f64::INFINITY, shrink: 0.0 };
        }
        if shared {
            (self.single, self.small) = (0, self.single + self.small);
        }
        let many = |n: u64| n.min(10_000) as f64;
        let stds = 10.0 * many(self.single) + many(self.small) / 2.0 + many(self.large) / 3.0;
        let shrink = (-2.0 * (many(self.small) * 2f64.ln() + many(self.large) * 3f64.ln())).exp();
        Bound { stds, shrink: if self.single > 0 { 0.0 } else { shrink } }
    }
}

impl Network {
    /// A mark: what the network learns from here on is an [`Increment`].
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// assert_eq!(net.since(&net.mark()?)?.rows(), 0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn mark(&self) -> Result<Mark> {
        let mut pairs = Numbers::zeros(2 * self.parameters(), self.is_double());
        let mut running = Vec::new();
        for part in self.parts()? {
            let contents = self.part(&part)?;
            for (at, now) in part.pairs(&contents.parameters) {
                pairs.set_pairs(at, now);
            }
            running.extend(contents.running);
        }
        let noise = self.noise_now()?;
        let mix = |hash: u64, v: f64| (hash.rotate_left(5) ^ v.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // A hash for means and one for variances: neither waits for the other, which takes half the time.
        let mut hash = [fnv::EMPTY; 2];
        pairs.with_pairs(0, 0.., |_, [mean, var]| hash = [mix(hash[0], mean), mix(hash[1], var)]);
        let few = running.iter().flat_map(|(mean, var)| mean.iter().chain(var));
        let few = few.chain(&noise.var).chain(&noise.rows);
        let hash = few.fold(hash[0] ^ hash[1].rotate_left(32), |hash, &v| mix(hash, v));
        Ok(Mark { from: From { mark: hash, ..self.from() }, pairs, running, noise, done: self.done })
    }

    /// The noise as the device has it, if it is inferred.
    pub(super) fn noise_now(&self) -> Result<InferredNoise> {
        match self.spec.output.noise() {
            Noise::Known => Ok(self.spec.inferred_noise()),
            _ => self.engine.noise().cloned(),
        }
    }

    /// What a paced network learns is no evidence that adds up.
    pub(super) fn check_adds_up(&self) -> Result<()> {
        if self.is_paced() {
            let why = "the steps of a paced network are no evidence that adds up; use another update rule";
            return Err(Error::invalid("increment", why));
        }
        Ok(())
    }

    pub(super) fn check_from(&self, from: From) -> Result<()> {
        from.check(From { mark: from.mark, ..self.from() })
    }

    /// What increments of this network belong to; without a mark.
    fn from(&self) -> From {
        let s = &self.spec;
        let said = format!(
            "{:?}",
            (s.input, &s.layers, &s.inputs, s.output, s.prior, &s.input_scaler, &s.output_scaler)
        );
        // What older increments did not know, and have, is left out.
        let said = said.replace(", bias: true", "").replace(", head: Tree", "");
        From { seed: s.seed, architecture: fnv::fnv1a_64(fnv::EMPTY, said.bytes()), mark: 0 }
    }
}

impl From {
    pub(super) fn check(self, expected: From) -> Result<()> {
        let why = if self.architecture != expected.architecture {
            "it belongs to a network with different layers, prior or scalers"
        } else if self.seed != expected.seed {
            "it belongs to a network with a different seed; posteriors with different starting points cannot be merged"
        } else if self.mark != expected.mark {
            "it starts from a different mark; all workers must start from the same numbers"
        } else {
            return Ok(());
        };
        Err(Error::invalid("increment", why))
    }
}

impl Mark {
    /// A hash of settings and numbers, to check that all workers start from the same network.
    pub(crate) fn identity(&self) -> Vec<u8> {
        let From { seed, architecture, mark } = self.from;
        [seed, architecture, mark].iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    /// How surprising an increment is to the network at this mark (T69): about 1 in a linear model for expected data, far more for
    /// garbage. Compare workers with each other: one that is many times as surprising as the others has different data, or is faulty.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).noise_std([0.1]).build()?;
    /// let mark = net.mark()?;
    /// let mut other = net.try_clone()?;
    /// net.learn(&Matrix::column(vec![0.5])?, &Matrix::column(vec![0.1])?)?;
    /// other.learn(&Matrix::column(vec![0.5])?, &Matrix::column(vec![50.0])?)?;
    /// assert!(mark.surprise(&other.since(&mark)?)? > 100.0 * mark.surprise(&net.since(&mark)?)?);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn surprise(&self, increment: &Increment) -> Result<f64> {
        increment.from.check(self.from)?;
        match increment.many.len() == self.pairs.len() {
            true => Ok(self.surprise_by(increment, 1.0, 1)),
            false => Err(Error::invalid("increment", "its numbers do not fit the marked network")),
        }
    }

    /// The surprise of a share of an increment, over every `every`-th parameter.
    fn surprise_by(&self, increment: &Increment, share: f64, every: usize) -> f64 {
        let free = Bound { stds: f64::INFINITY, shrink: 0.0 };
        surprise((0..self.pairs.len() / 2).step_by(every).map(|i| {
            let mark = [2 * i, 2 * i + 1].map(|at| self.pairs.get(at));
            let now = increment.at(i).times(share).merged(mark, f64::INFINITY, free);
            (mark, [now.mean, now.var])
        }))
    }

    /// The share of increments for [`merge_share`](Network::merge_share) (T54): the largest that causes little surprise, and at least the average
    /// of the workers. [`fit_together`](Network::fit_together) uses it. If you store a shard's contribution, store this share of it.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// let mark = net.mark()?;
    /// net.learn(&Matrix::column(vec![0.5])?, &Matrix::column(vec![1.0])?)?;
    /// assert_eq!(mark.share(&[net.since(&mark)?])?, 1.0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn share(&self, increments: &[Increment]) -> Result<f64> {
        let (first, others) =
            increments.split_first().ok_or_else(|| Error::invalid("increments", "there are none"))?;
        self.surprise(first)?;
        Ok(self.share_of(&others.iter().try_fold(first.clone(), |sum, more| sum.plus(more))?))
    }

    pub(super) fn share_of(&self, sum: &Increment) -> f64 {
        // A sample of the parameters is enough.
        let every = (sum.many.len() / 2).div_ceil(1 << 16).max(1);
        let least = 1.0 / sum.done.workers.max(1) as f64;
        most_share(least, |share| self.surprise_by(sum, share, every))
    }
}
