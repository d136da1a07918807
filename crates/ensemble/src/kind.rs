//! The kinds of candidates.

use super::line::MOST_INPUTS;
use tractable_core::error::Result;
use tractable_core::moments::Activation;
use tractable_data::{Dataset, Target};
use tractable_devices::{Device, UpdateRule};
use tractable_network::layer::Prior;
use tractable_network::network::Network;
use tractable_network::output::Noise;

/// A kind of network and how it learns.
pub(super) struct Kind {
    pub(super) name: &'static str,
    hidden: &'static [usize],
    gain: f64,
    /// Rows per parameter that are added where rows are counted: without them every row counts once, and a network learns cautiously;
    /// with three it fits closely.
    margin: f64,
    /// Rows learned from together.
    pub(super) batch: usize,
    /// Whether it learns the logarithm of the target.
    pub(super) log: bool,
}

pub(super) const LINE: Kind =
    Kind { name: "line", hidden: &[], gain: 1.0, margin: 0.0, batch: 32, log: false };
/// Fits closely.
pub(super) const CLOSE: Kind =
    Kind { name: "network", hidden: &[50, 50], gain: 0.5, margin: 3.0, batch: 8, log: false };
/// Fits more closely, where there are more rows.
pub(super) const WIDE: Kind = Kind { name: "wide network", hidden: &[100, 100], gain: 2.0, ..CLOSE };
/// Counts every row about once.
pub(super) const CAUTIOUS: Kind = Kind { name: "cautious network", margin: 0.3, batch: 32, ..CLOSE };
/// The same on the logarithm of a target that is positive.
pub(super) const LOGARITHM: Kind = Kind { name: "cautious network on the logarithm", log: true, ..CAUTIOUS };

/// Noise of the nodes of a class tree.
const CLASS_NOISE: f64 = 1.0;

impl Kind {
    fn widths(&self, data: &Dataset) -> Vec<usize> {
        let outputs = match data.target() {
            Target::Labels { names, .. } => names.len(),
            Target::Values { y, .. } => y.width(),
        };
        std::iter::once(data.width()).chain(self.hidden.iter().copied()).chain([outputs]).collect()
    }

    /// Work of one row.
    pub(super) fn weights(&self, data: &Dataset) -> u64 {
        self.widths(data).windows(2).map(|w| (w[0] * w[1]) as u64).sum()
    }

    /// Whether it is fitted in closed form.
    pub(super) fn is_line(&self, data: &Dataset) -> bool {
        let numbers = matches!(data.target(), Target::Values { .. });
        self.hidden.is_empty() && numbers && data.width() <= MOST_INPUTS
    }

    /// A network for data like these that counts so many rows.
    pub(super) fn network(&self, data: &Dataset, rows: usize, seed: u64, device: Device) -> Result<Network> {
        let builder = Network::mlp(self.widths(data), Activation::MixtureRelu)
            .prior(Prior::he().gain(self.gain))
            .seed(seed)
            .device(device);
        let builder = match data.target() {
            Target::Labels { names, .. } => builder.classes(names.len()).noise_std([CLASS_NOISE]),
            Target::Values { .. } if self.is_line(data) => builder.noise_std([1.0]),
            Target::Values { .. } if self.hidden.is_empty() => builder.noise(Noise::Inferred),
            Target::Values { .. } => builder.noise(Noise::PerInput),
        };
        let mut net = builder.build()?;
        let margin = (self.margin * net.parameters() as f64) as usize;
        net.set_update_rule(UpdateRule::Counted { rows, margin })?;
        Ok(net)
    }
}
