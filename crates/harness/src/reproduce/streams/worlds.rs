//! Six classic streams: five that change, and one that does not.

use serde::Serialize;
use std::f64::consts::PI;
use tractable::rng;

/// A stream by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum World {
    /// Friedman's function of ten inputs, five of which matter. Nothing changes.
    FriedmanStill,
    /// The inputs are permuted every quarter.
    FriedmanAbrupt,
    /// From 40 to 60 % of the stream, more and more rows come from a new function.
    FriedmanGradual,
    /// Two functions take turns, a fifth of the stream each.
    FriedmanRecurring,
    /// SEA: whether the sum of two of three inputs is below a threshold, which changes every quarter; 10 % of the labels are wrong.
    Sea,
    /// On which side of a plane in ten dimensions a row lies. Two of its weights move all the time, in the second half of the stream
    /// all ten; 5 % of the labels are wrong.
    Hyperplane,
}

pub(crate) const WORLDS: [World; 6] = [
    World::FriedmanStill,
    World::FriedmanAbrupt,
    World::FriedmanGradual,
    World::FriedmanRecurring,
    World::Sea,
    World::Hyperplane,
];

/// The rows of a stream.
pub(crate) struct Stream {
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    /// The target without noise.
    pub(crate) truth: Vec<f64>,
    pub(crate) width: usize,
    /// Rows at which the world changes, or begins to.
    pub(crate) changes: Vec<usize>,
}

impl World {
    pub(crate) fn has_classes(self) -> bool {
        matches!(self, World::Sea | World::Hyperplane)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            World::FriedmanStill => "friedman-still",
            World::FriedmanAbrupt => "friedman-abrupt",
            World::FriedmanGradual => "friedman-gradual",
            World::FriedmanRecurring => "friedman-recurring",
            World::Sea => "sea",
            World::Hyperplane => "hyperplane",
        }
    }

    pub(crate) fn stream(self, seed: u64, rows: usize) -> Stream {
        let mut random = rng::stream(seed, self.name(), 0);
        let width = if self == World::Sea { 3 } else { 10 };
        let mut order = || {
            let mut order: Vec<usize> = (0..10).collect();
            rng::shuffle(&mut order, &mut random);
            order
        };
        let orders = [order(), order(), order(), order()];
        let mut plane: [(f64, f64); 10] =
            [(0.0, 1.0); 10].map(|(_, d)| (rng::uniform(0.0, 1.0, &mut random), d));
        let mut stream = Stream { x: vec![], y: vec![], truth: vec![], width, changes: self.changes(rows) };
        for t in 0..rows {
            let x: Vec<f64> = (0..width).map(|_| rng::uniform(0.0, 1.0, &mut random)).collect();
            let truth = match self {
                World::Sea => f64::from(x[0] + x[1] <= [0.8, 0.9, 0.7, 0.95][t * 4 / rows]),
                World::Hyperplane => {
                    for (weight, direction) in &mut plane[..if t < rows / 2 { 2 } else { 10 }] {
                        *weight += *direction * 5e-4;
                        if rng::uniform(0.0, 1.0, &mut random) < 5e-4 {
                            *direction = -*direction;
                        }
                    }
                    let side: f64 = plane.iter().zip(&x).map(|((w, _), x)| w * (x - 0.5)).sum();
                    f64::from(side > 0.0)
                }
                _ => friedman(&x, &orders[self.function(t, rows, rng::uniform(0.0, 1.0, &mut random))]),
            };
            let flip = |share: f64, u: f64| if u < share { 1.0 - truth } else { truth };
            stream.y.push(match self {
                World::Sea => flip(0.1, rng::uniform(0.0, 1.0, &mut random)),
                World::Hyperplane => flip(0.05, rng::uniform(0.0, 1.0, &mut random)),
                _ => truth + rng::standard_normal(&mut random),
            });
            stream.x.extend(x);
            stream.truth.push(truth);
        }
        stream
    }

    /// Which of the functions a row comes from.
    fn function(self, t: usize, rows: usize, u: f64) -> usize {
        match self {
            World::FriedmanAbrupt => t * 4 / rows,
            World::FriedmanGradual => usize::from(u < (t as f64 / rows as f64 - 0.4) / 0.2),
            World::FriedmanRecurring => t * 5 / rows % 2,
            _ => 0,
        }
    }

    fn changes(self, rows: usize) -> Vec<usize> {
        match self {
            World::FriedmanStill => vec![],
            World::FriedmanAbrupt | World::Sea => (1..4).map(|i| i * rows / 4).collect(),
            World::FriedmanGradual => vec![rows * 2 / 5],
            World::FriedmanRecurring => (1..5).map(|i| i * rows / 5).collect(),
            World::Hyperplane => vec![rows / 2],
        }
    }
}

/// Friedman's first function, of inputs in this order.
fn friedman(x: &[f64], order: &[usize]) -> f64 {
    let x = |i: usize| x[order[i]];
    10.0 * (PI * x(0) * x(1)).sin() + 20.0 * (x(2) - 0.5).powi(2) + 10.0 * x(3) + 5.0 * x(4)
}
