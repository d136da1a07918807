//! Learning in two halves: [`Network::accumulate`] sums updates, [`Network::apply`] changes the weights.

use super::{LearnInfo, Network};
use crate::engine::{Batch, OnDevice};
use crate::error::{Error, Result};
use crate::gaussian::Input;
use crate::graph::Graph;
use crate::output::{Observation, ObservationBuffer};
use std::sync::Arc;

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
    layers: OnDevice,
    /// Of the network they belong to.
    graph: Arc<Graph>,
    rows: usize,
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
    /// network unchanged. An error leaves the sums unchanged. A normalisation uses the statistics of each batch.
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
        let seen = observed.fill(
            &observation.into(),
            noise,
            self.output(),
            self.output_scaler(),
            x.rows(),
            self.largest(),
        )?;
        let (mean, var) = self.standardize(x, &mut buffers);
        self.engine.accumulate(Batch::Values(mean, var), seen, &mut sums.layers)?;
        sums.rows += x.rows();
        Ok(())
    }

    /// The second half of [`learn`](Network::learn): updates the weights with the sums, by the network's
    /// [update rule](Network::update_rule) for a batch of that many samples.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// let mut same = net.clone();
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
        self.engine.apply(&sums.layers, self.update(1.0), sums.rows)?;
        self.learned(sums.rows)
    }

    fn check_sums(&self, sums: &Sums) -> Result<()> {
        match sums.graph == self.graph {
            true => Ok(()),
            false => Err(Error::invalid("sums", "they belong to a network with other layers")),
        }
    }
}
