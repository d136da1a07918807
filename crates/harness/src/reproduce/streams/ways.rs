//! Ways for a network to follow a stream: what it forgets, and when.

use serde::Serialize;
use std::collections::VecDeque;
use tractable::data::Scaler;
use tractable::{
    Activation, Device, Input, Matrix, Network, Noise, Result,
    network::{Drift, Observation, Surprise, UpdateRule},
};

use super::worlds::{Stream, World};

/// Rows that a network starts with, and how many times it learns them; they are not scored.
pub(crate) const WARM: usize = 200;
const PASSES: usize = 10;
/// Rows between two times of forgetting a fixed share.
const FORGET_EVERY: usize = 100;

/// A way to follow a stream. The network and its start are the same for all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Way {
    /// Forgets in proportion to its surprise.
    Surprised,
    Never,
    /// Forgets a share every hundred rows.
    Share(f64),
    /// Counts rows, up to this many.
    Counted(usize),
    /// Restarts from scratch on the newest rows when a window of errors has two parts that differ (ADWIN).
    Adwin,
}

pub(crate) const WAYS: [Way; 7] = [
    Way::Surprised,
    Way::Never,
    Way::Share(1e-3),
    Way::Share(1e-2),
    Way::Share(1e-1),
    Way::Counted(4000),
    Way::Adwin,
];

impl Serialize for Way {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_str(&self.name())
    }
}

impl Way {
    fn name(self) -> String {
        match self {
            Way::Surprised => "surprised".into(),
            Way::Never => "never".into(),
            Way::Share(share) => format!("share {share}"),
            Way::Counted(rows) => format!("counted {rows}"),
            Way::Adwin => "ADWIN".into(),
        }
    }
}

/// A network on a stream.
pub(crate) struct Follower<'a> {
    world: World,
    way: Way,
    stream: &'a Stream,
    seed: u64,
    net: Network,
    drift: Drift,
    adwin: Adwin,
    pub(crate) forgot: usize,
}

impl<'a> Follower<'a> {
    pub(crate) fn new(world: World, way: Way, stream: &'a Stream, seed: u64) -> Result<Self> {
        let net = network(world, way, stream, seed)?;
        let mut new = Follower {
            world,
            way,
            stream,
            seed,
            net,
            drift: Drift::default(),
            adwin: Adwin::default(),
            forgot: 0,
        };
        new.start(0, WARM)?;
        Ok(new)
    }

    pub(crate) fn net(&self) -> &Network {
        &self.net
    }

    pub(crate) fn x(&self, t: usize) -> Result<Input<'a>> {
        let width = self.stream.width;
        Input::exact(&self.stream.x[t * width..(t + 1) * width], width)
    }

    /// Learns the rows from `first` on, several times if they are few.
    fn start(&mut self, first: usize, end: usize) -> Result<()> {
        for _ in 0..(PASSES * WARM / (end - first).max(1)).clamp(1, PASSES) {
            (first..end).try_for_each(|t| self.learn(t).map(drop))?;
        }
        Ok(())
    }

    fn learn(&mut self, t: usize) -> Result<Surprise> {
        let x = self.x(t)?;
        match self.world.has_classes() {
            true => self.net.learn_one(x, &[self.stream.y[t] as usize]),
            false => self.net.learn_one(x, Observation::values(&self.stream.y[t..=t], 1)?),
        }
    }

    /// Learns row `t`, whose prediction was off by this share of its range.
    pub(crate) fn follow(&mut self, t: usize, off: f64) -> Result<()> {
        let surprise = self.learn(t)?;
        match self.way {
            Way::Surprised => {
                self.forgot += usize::from(self.drift.follow(&mut self.net, surprise)? > 1.0);
            }
            Way::Share(share) if t % FORGET_EVERY == FORGET_EVERY - 1 => self.net.forget(share)?,
            Way::Adwin if self.adwin.changed(off) => {
                self.net = network(self.world, self.way, self.stream, self.seed)?;
                self.start((t + 1).saturating_sub(self.adwin.rows()), t + 1)?;
                self.forgot += 1;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Standardised with the rows that it starts with.
fn network(world: World, way: Way, stream: &Stream, seed: u64) -> Result<Network> {
    let rule = if let Way::Counted(rows) = way { UpdateRule::counted(rows) } else { UpdateRule::Capped };
    let net = Network::mlp([stream.width, 64, 64, 1], Activation::MixtureRelu).seed(seed).update_rule(rule);
    let net = match world.has_classes() {
        true => net.classes(2).noise_std([0.5]),
        false => net.noise_std([0.5]).noise(Noise::Inferred),
    };
    let mut net = net.device(Device::cpu(1)).build()?;
    let x = Matrix::new(stream.x[..WARM * stream.width].to_vec(), stream.width)?;
    let y = Matrix::column(stream.y[..WARM].to_vec())?;
    net.set_scalers(Some(Scaler::fit(&x)), (!world.has_classes()).then(|| Scaler::fit(&y)))?;
    Ok(net)
}

/// ADWIN (Bifet and Gavalda, 2007), with blocks of equal length: the longest window of errors from 0 to 1 in which no two parts have
/// means that differ by more than chance allows.
#[derive(Default)]
struct Adwin {
    blocks: VecDeque<(f64, f64)>,
    open: (f64, f64),
    count: usize,
}

const BLOCK: usize = 32;
/// River's default.
const DELTA: f64 = 0.002;

impl Adwin {
    fn rows(&self) -> usize {
        self.blocks.len() * BLOCK
    }

    /// Adds an error; returns, at the end of a block, whether the window was cut because errors rose.
    fn changed(&mut self, error: f64) -> bool {
        self.open = (self.open.0 + error, self.open.1 + error * error);
        self.count += 1;
        if self.count < BLOCK {
            return false;
        }
        self.blocks.push_back(std::mem::take(&mut self.open));
        self.count = 0;
        let mut rose = false;
        while self.blocks.len() > 1 {
            let Some(more) = self.cut() else { break };
            self.blocks.pop_front();
            rose |= more;
        }
        rose
    }

    /// Where two parts differ, whether the newer one has larger errors.
    fn cut(&self) -> Option<bool> {
        let n = self.rows() as f64;
        let sum = |blocks: &mut dyn Iterator<Item = &(f64, f64)>| {
            blocks.fold((0.0, 0.0), |s, b| (s.0 + b.0, s.1 + b.1))
        };
        let all = sum(&mut self.blocks.iter());
        let var = (all.1 / n - (all.0 / n).powi(2)).max(0.0);
        let ln = (2.0 * n.ln() / DELTA).ln();
        let mut before = 0.0;
        (1..self.blocks.len()).find_map(|cut| {
            before += self.blocks[cut - 1].0;
            let (first, second) = ((cut * BLOCK) as f64, n - (cut * BLOCK) as f64);
            let inverse = 1.0 / first + 1.0 / second;
            let bound = (2.0 * inverse * var * ln).sqrt() + 2.0 / 3.0 * inverse * ln;
            let rise = (all.0 - before) / second - before / first;
            (rise.abs() > bound).then_some(rise > 0.0)
        })
    }
}
