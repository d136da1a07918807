//! Learning in several processes: what each learned, as bytes for any transport.

use crate::errors::OrRaise;
use crate::learned::LearnInfo;
use crate::locks;
use crate::network::Network;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Mutex;
use tractable::network::Increment;

/// A point in a network's learning: what it learns from here on can be sent to others and merged.
#[pyclass(frozen, module = "tractable")]
pub(crate) struct Mark {
    net: Py<Network>,
    inner: tractable::network::Mark,
}

#[pymethods]
impl Mark {
    #[new]
    fn new(py: Python<'_>, net: Py<Network>) -> PyResult<Self> {
        let inner = py.detach(|| net.get().read()?.mark()).or_raise()?;
        Ok(Mark { net, inner })
    }

    /// What the network learned since the mark, as bytes.
    fn since<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| Ok(self.net.get().read()?.since(&self.inner)?.to_bytes())).or_raise()?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Sets the network to its state at the mark plus a share of everything that all copies learned since; by default the share is chosen.
    #[pyo3(signature = (increments, *, share=None))]
    fn merge(&self, py: Python<'_>, increments: Vec<Vec<u8>>, share: Option<f64>) -> PyResult<LearnInfo> {
        let merged = py.detach(|| {
            let read = |bytes: &Vec<u8>| Increment::from_bytes(bytes);
            let increments = increments.iter().map(read).collect::<tractable::Result<Vec<_>>>()?;
            let share = share.map_or_else(|| self.inner.share(&increments), Ok)?;
            self.net.get().write()?.merge_share(&self.inner, &increments, share)
        });
        merged.or_raise().map(LearnInfo)
    }

    /// Removes a shard's earlier contribution from the network, so that the shard can be learned again without counting twice.
    fn remove(&self, py: Python<'_>, site: &[u8]) -> PyResult<()> {
        let site = Increment::from_bytes(site).or_raise()?;
        py.detach(|| self.net.get().write()?.remove(&site)).or_raise()
    }

    /// How surprising an increment is: compare workers with each other.
    fn surprise(&self, py: Python<'_>, increment: &[u8]) -> PyResult<f64> {
        let increment = Increment::from_bytes(increment).or_raise()?;
        py.detach(|| self.inner.surprise(&increment)).or_raise()
    }
}

/// Summed updates for a network. Sums of several processes, computed from the same weights, make one update.
#[pyclass(frozen, module = "tractable")]
pub(crate) struct Sums {
    net: Py<Network>,
    inner: Mutex<tractable::network::Sums>,
}

#[pymethods]
impl Sums {
    #[new]
    fn new(net: Py<Network>) -> PyResult<Self> {
        let inner = Mutex::new(net.get().read().or_raise()?.sums());
        Ok(Sums { net, inner })
    }

    /// Adds the updates of a batch; the network is unchanged.
    #[pyo3(signature = (x, y, *, std=None, noise_std=None))]
    fn accumulate(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        std: Option<&Bound<'_, PyAny>>,
        noise_std: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let net = self.net.get();
        net.observing(py, x, y, std, noise_std, |input, observation| {
            net.read()?.accumulate(input, observation, &mut locks::lock(&self.inner))
        })
    }

    /// The sums as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes =
            py.detach(|| self.net.get().read()?.sums_to_bytes(&locks::lock(&self.inner))).or_raise()?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Updates the network with the sums of all processes, including this one, in this order.
    fn apply(&self, py: Python<'_>, sums: Vec<Vec<u8>>) -> PyResult<LearnInfo> {
        let applied = py.detach(|| {
            let mut net = self.net.get().write()?;
            let mut all = net.sums();
            sums.iter().try_for_each(|bytes| net.add_sums(&mut all, bytes))?;
            net.apply(&all)
        });
        applied.or_raise().map(LearnInfo)
    }
}
