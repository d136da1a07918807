//! [`Network::searches`]: many searches for labels that stay on the device between rounds.

use crate::engine::ActiveWalk;
use crate::network::Network;
use crate::output::{ClassUnits, Tree};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Gaussian, Matrix};
use tractable_devices::WalkForm;

/// Searches with [known weights](crate::Wanted::known_weights), each in its own slot: made by [`Network::searches`]. They begin and end
/// independently, and their positions stay on the device; only the outputs are read back after every round.
///
/// ```
/// use tractable::{Activation, Device, Network, condition::SearchStart};
/// # let Ok(device) = Device::cuda(0) else { return Ok(()) };
/// let net = Network::mlp([2, 16, 3], Activation::Tanh).classes(3).device(device).seed(1).build()?;
/// let mut searches = net.searches(8)?.expect("a GPU keeps searches");
/// let start = SearchStart {
///     mean: &[0.5, 0.5],
///     var: &[0.01; 2],
///     low: &[0.0; 2],
///     high: &[1.0; 2],
///     radius: f64::INFINITY,
///     label: 2,
///     other_than: false,
/// };
/// searches.enter(&[(3, start)])?;
/// let before = searches.round(&[3])?; // the output there
/// searches.go(&[3])?;
/// assert_ne!(searches.places(&[3])?.data(), start.mean);
/// # Ok::<(), tractable::Error>(())
/// ```
pub struct Searches<'n> {
    net: &'n Network,
    walk: Box<dyn ActiveWalk + 'n>,
    tree: Tree,
    slots: usize,
}

/// Where a search of [`Searches`] begins, within which limits, and towards which label.
#[derive(Debug, Clone, Copy)]
pub struct SearchStart<'a> {
    /// The input.
    pub mean: &'a [f64],
    /// Variance of every entry, which limits how far one round moves it; an entry with variance 0 stays.
    pub var: &'a [f64],
    /// Lowest and highest value of every entry.
    pub low: &'a [f64],
    /// See `low`.
    pub high: &'a [f64],
    /// Maximum distance from the start.
    pub radius: f64,
    /// The label to reach.
    pub label: usize,
    /// Reach any other label instead.
    pub other_than: bool,
}

impl std::fmt::Debug for Searches<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Searches").field("slots", &self.slots).finish_non_exhaustive()
    }
}

impl Network {
    /// Room for this many searches for labels on the device; `None` on the CPU, where [`searching`](Network::searching) is
    /// as fast, and for a softmax.
    ///
    /// # Errors
    /// If the network has no classes, or the device is out of memory.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([2, 16, 3], Activation::Tanh).classes(3).build()?;
    /// assert!(net.searches(8)?.is_none());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn searches(&self, slots: usize) -> Result<Option<Searches<'_>>> {
        let ClassUnits::Tree(tree) = self.output().class_units()? else { return Ok(None) };
        let width = self.input().len();
        let scale = match self.input_scaler() {
            None => [vec![0.0; width], vec![1.0; width]].concat(),
            Some(s) => [s.mean(), s.std()].concat(),
        };
        let walk = self.engine.walk(WalkForm { slots, width, k: tree.levels(), scale })?;
        Ok(walk.map(|walk| Searches { net: self, walk, tree, slots }))
    }
}

impl Searches<'_> {
    /// Begins searches in these slots, replacing any that were there.
    ///
    /// # Errors
    /// If a slot or a label does not exist, or numbers do not fit.
    pub fn enter(&mut self, starts: &[(usize, SearchStart<'_>)]) -> Result<()> {
        let width = self.net.input().len();
        let mut records = Vec::with_capacity(starts.len() * (5 * width + 2 * self.tree.levels() + 2));
        for (slot, start) in starts {
            self.check(*slot)?;
            for part in [start.mean, start.var, start.low, start.high, start.mean] {
                if part.len() != width {
                    return Err(Error::shape("start of a search", width, part.len()));
                }
                records.extend_from_slice(part);
            }
            if start.label >= self.tree.classes() {
                let why = format!("{}: the network has {} classes", start.label, self.tree.classes());
                return Err(Error::invalid("label", why));
            }
            let towards = if start.other_than { -1.0 } else { 1.0 };
            records.extend(self.tree.path(start.label).map(|(node, _)| node as f64));
            records.extend(self.tree.path(start.label).map(|(_, turn)| towards * turn));
            records.extend([f64::from(u8::from(start.other_than)), start.radius]);
        }
        self.walk.slots().enter(&starts.iter().map(|s| s.0).collect::<Vec<_>>(), &records)
    }

    /// The network's outputs at the positions of these slots, in this order. Also computes where each search moves next: see
    /// [`go`](Searches::go).
    ///
    /// # Errors
    /// If a number is not finite, or the device failed.
    pub fn round(&mut self, slots: &[usize]) -> Result<Gaussian> {
        slots.iter().try_for_each(|&s| self.check(s))?;
        let output = self.walk.round(slots)?;
        self.net.in_users_units(output, slots.len(), self.net.graph.output())
    }

    /// Moves these searches by the step that the last round computed; the others stay.
    ///
    /// # Errors
    /// If the device failed.
    pub fn go(&mut self, slots: &[usize]) -> Result<()> {
        slots.iter().try_for_each(|&s| self.check(s))?;
        self.walk.slots().go(slots)
    }

    /// The positions of these slots, one per row.
    ///
    /// # Errors
    /// If a number is not finite, or the device failed.
    pub fn places(&mut self, slots: &[usize]) -> Result<Matrix> {
        slots.iter().try_for_each(|&s| self.check(s))?;
        Matrix::new(self.walk.slots().places(slots)?, self.net.input().len())
    }

    fn check(&self, slot: usize) -> Result<()> {
        match slot < self.slots {
            true => Ok(()),
            false => Err(Error::invalid("slot", format!("{slot}: there are only {}", self.slots))),
        }
    }
}
