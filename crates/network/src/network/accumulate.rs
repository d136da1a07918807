//! Learning in two halves: [`Network::accumulate`] sums updates, [`Network::apply`] changes the weights.

use super::{LearnInfo, Network};
use crate::engine::{Batch, OnDevice};
use crate::graph::Graph;
use crate::output::{Observation, ObservationBuffer};
use std::sync::Arc;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Input;
use tractable_core::workers::{Numbers, Transport};

/// Summed updates for the weights of a network, made by [`Network::sums`]. Sums of several batches, all
/// computed from the same weights, make one update.
///
/// ```
/// use tractable::{Activation, Matrix, Network};
/// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
/// let mut sums = net.sums();
/// for (x, y) in [(0.1, 0.3), (0.5, 0.9)] {
///     net.accumulate(&Matrix::column(vec![x])?, &Matrix::column(vec![y])?, &mut sums)?;
/// }
/// assert_eq!(net.apply(&sums)?.rows, 2);
/// # Ok::<(), tractable::Error>(())
/// ```
pub struct Sums {
    pub(super) layers: OnDevice,
    /// Of the network they belong to.
    graph: Arc<Graph>,
    pub(super) rows: usize,
}

impl std::fmt::Debug for Sums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sums").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Network {
    /// Sums for this network, all zero.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// let nothing = net.sums();
    /// assert!(net.apply(&nothing).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn sums(&self) -> Sums {
        Sums { layers: self.engine.sums(), graph: self.graph.clone(), rows: 0 }
    }

    /// The first half of [`learn`](Network::learn): adds the updates of a batch to `sums` and leaves the
    /// network unchanged. An error leaves the sums unchanged. A normalisation uses the statistics of each batch, forward and back.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// let mut sums = net.sums();
    /// net.accumulate(&Matrix::column(vec![0.1])?, &Matrix::column(vec![0.3])?, &mut sums)?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn accumulate<'a, 'b>(
        &self,
        x: impl Into<Input<'a>>,
        observation: impl Into<Observation<'b>>,
        sums: &mut Sums,
    ) -> Result<()> {
        let x = self.check_input(x.into())?;
        self.check_sums(sums)?;
        let (mut observed, mut buffers) = (ObservationBuffer::default(), Default::default());
        let noise = self.spec.default_noise();
        let (output, scaler) = (self.output(), self.output_scaler());
        observed.fill(&observation.into(), noise, output, scaler, x.rows(), self.largest())?;
        let seen = observed.observed(output.units());
        let (mean, var) = self.standardize(x, &mut buffers);
        self.engine.accumulate(Batch::Values(mean, var), seen, &mut sums.layers, None)?;
        sums.rows += x.rows();
        Ok(())
    }

    /// The second half of [`learn`](Network::learn): updates the weights with the sums, by the network's
    /// [update rule](Network::update_rule) for a batch of that many samples.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// let mut same = net.try_clone()?;
    /// let (x, y) = (Matrix::column(vec![0.1, 0.5])?, Matrix::column(vec![0.3, 0.9])?);
    /// let mut sums = net.sums();
    /// net.accumulate(&x, &y, &mut sums)?;
    /// net.apply(&sums)?;
    /// same.learn(&x, &y)?;
    /// assert_eq!(net.predict(&x)?, same.predict(&x)?);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn apply(&mut self, sums: &Sums) -> Result<LearnInfo> {
        self.check_sums(sums)?;
        if sums.rows == 0 {
            return Err(Error::invalid("sums", "nothing was accumulated"));
        }
        self.apply_weighted(sums, 1.0)?;
        self.learned(sums.rows)
    }

    /// The same, with this weight for the batch; [`learned`](Network::learned) reports the outcome.
    pub(crate) fn apply_weighted(&mut self, sums: &Sums, weight: f64) -> Result<()> {
        self.engine.apply(&sums.layers, self.update(weight), sums.rows)?;
        self.updated(sums.rows);
        Ok(())
    }

    /// The sums as bytes, to be sent to other workers and [added](Network::add_sums) there.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// let mut sums = net.sums();
    /// net.accumulate(&Matrix::column(vec![0.1])?, &Matrix::column(vec![0.3])?, &mut sums)?;
    /// let mut all = net.sums();
    /// net.add_sums(&mut all, &net.sums_to_bytes(&sums)?)?;
    /// assert_eq!(net.try_clone()?.apply(&all)?.rows, 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn sums_to_bytes(&self, sums: &Sums) -> Result<Vec<u8>> {
        self.check_sums(sums)?;
        let (many, few) = self.engine.sums_read(&sums.layers)?;
        let mut bytes = (sums.rows as u64).to_le_bytes().to_vec();
        bytes.extend(few.iter().flat_map(|v| v.to_le_bytes()));
        bytes.extend(many.bytes(0..many.len()));
        Ok(bytes)
    }

    /// Adds sums that another copy of this network [sent](Network::sums_to_bytes). Add them in the same order everywhere, so that all copies
    /// stay bit-identical.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// assert!(net.add_sums(&mut net.sums(), b"garbage").is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn add_sums(&self, sums: &mut Sums, bytes: &[u8]) -> Result<()> {
        self.check_sums(sums)?;
        let (mut many, mut few) = self.engine.sums_read(&sums.layers)?;
        let other = || Error::invalid("sums", "these bytes are not the sums of this network and device");
        let (rows, body) = bytes.split_first_chunk().ok_or_else(other)?;
        let (more_few, more_many) = body.split_at_checked(8 * few.len()).ok_or_else(other)?;
        let more_many = Numbers::from_bytes(more_many, many.is_double()).ok_or_else(other)?;
        let more_few: Vec<f64> = more_few.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        let rows = usize::try_from(u64::from_le_bytes(*rows)).ok().and_then(|r| r.checked_add(sums.rows));
        let finite = more_many.all_finite() && more_few.iter().all(|v| v.is_finite());
        if more_many.len() != many.len() || !finite {
            return Err(other());
        }
        many.add(&more_many);
        few.iter_mut().zip(&more_few).for_each(|(sum, more)| *sum += more);
        self.engine.sums_write(&mut sums.layers, &many, &few)?;
        sums.rows = rows.ok_or_else(other)?;
        Ok(())
    }

    /// Adds the sums of all workers; afterwards all workers have the same.
    pub(crate) fn add_sums_together(&self, sums: &mut Sums, workers: &dyn Transport) -> Result<()> {
        self.engine.sums_together(&mut sums.layers, &mut sums.rows, workers)
    }

    fn check_sums(&self, sums: &Sums) -> Result<()> {
        match sums.graph == self.graph {
            true => Ok(()),
            false => Err(Error::invalid("sums", "they belong to a network with other layers")),
        }
    }
}
