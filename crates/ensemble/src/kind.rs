//! The kinds of candidates.

use super::line::MOST_INPUTS;
use tractable_core::error::Result;
use tractable_core::moments::Activation;
use tractable_data::{Dataset, Target};
use tractable_devices::{Device, UpdateRule};
use tractable_network::layer::Prior;
use tractable_network::network::Network;
use tractable_network::output::Noise;

/// A kind of model and how it learns.
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) form: Form,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Line,
    Process,
    Network,
}

const LINE: Kind =
    Kind { name: "line", form: Form::Line, hidden: &[], gain: 1.0, margin: 0.0, batch: 32, log: false };
/// What a network with infinitely many units would say.
const PROCESS: Kind = Kind { name: "Gaussian process", form: Form::Process, ..LINE };
/// Fits closely.
pub(super) const CLOSE: Kind = Kind {
    name: "network",
    form: Form::Network,
    hidden: &[50, 50],
    gain: 0.5,
    margin: 3.0,
    batch: 8,
    log: false,
};
/// Fits more closely, where there are more rows.
const WIDE: Kind = Kind { name: "wide network", hidden: &[100, 100], gain: 2.0, ..CLOSE };
/// Counts every row about once.
const CAUTIOUS: Kind = Kind { name: "cautious network", margin: 0.3, batch: 32, ..CLOSE };
/// The same on the logarithm of a target that is positive.
const LOG_PROCESS: Kind = Kind { name: "Gaussian process on the logarithm", log: true, ..PROCESS };
const LOG_NETWORK: Kind = Kind { name: "cautious network on the logarithm", log: true, ..CAUTIOUS };

/// Noise of the nodes of a class tree.
const CLASS_NOISE: f64 = 1.0;
/// More rows than this are learned better by more kinds of networks.
pub(super) const MANY_ROWS: usize = 2500;
/// Targets for each of which there is a Gaussian process.
const MOST_PROCESSES: usize = 8;

/// The kinds that may suit a table.
pub(super) fn kinds(data: &Dataset, positive: bool) -> Vec<&'static Kind> {
    let networks: &[&Kind] = match data.target() {
        Target::Values { .. } if data.rows() <= MANY_ROWS => &[&CLOSE],
        _ => &[&CLOSE, &CAUTIOUS, &WIDE],
    };
    let logarithms: &[&Kind] = if positive { &[&LOG_PROCESS, &LOG_NETWORK] } else { &[] };
    let all = [&LINE, &PROCESS].into_iter().chain(networks.iter().copied()).chain(logarithms.iter().copied());
    let few = matches!(data.target(), Target::Values { y, .. } if y.width() <= MOST_PROCESSES);
    all.filter(|kind| few || kind.form != Form::Process).collect()
}

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

    /// What it is for these data: with classes or very many inputs, a line is a network without hidden layers.
    pub(super) fn form(&self, data: &Dataset) -> Form {
        let closed = matches!(data.target(), Target::Values { .. }) && data.width() <= MOST_INPUTS;
        if self.form == Form::Line && !closed { Form::Network } else { self.form }
    }

    /// A network for data like these that counts so many rows.
    pub(super) fn network(&self, data: &Dataset, rows: usize, seed: u64, device: Device) -> Result<Network> {
        let builder = Network::mlp(self.widths(data), Activation::MixtureRelu)
            .prior(Prior::he().gain(self.gain))
            .seed(seed)
            .device(device);
        let builder = match data.target() {
            Target::Labels { names, .. } => builder.classes(names.len()).noise_std([CLASS_NOISE]),
            Target::Values { .. } if self.form(data) != Form::Network => builder.noise_std([1.0]),
            Target::Values { .. } if self.hidden.is_empty() => builder.noise(Noise::Inferred),
            Target::Values { .. } => builder.noise(Noise::PerInput),
        };
        let mut net = builder.build()?;
        let margin = (self.margin * net.parameters() as f64) as usize;
        net.set_update_rule(UpdateRule::Counted { rows, margin })?;
        Ok(net)
    }
}
