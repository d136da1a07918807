//! What the reference device computes with: states, weights, and the loops over their connections.

use crate::backend::{Map, Parameters, Part, Statistics, Tally};
use crate::moments::posterior;
use crate::shape::Shape;

/// A layer's state, `[row][channel][y][x]`.
#[derive(Default)]
pub(crate) struct State {
    pub(super) shape: Shape,
    pub(super) mean: Vec<f64>,
    pub(super) var: Vec<f64>,
    pub(super) slope: Vec<f64>,
    /// Max pooling: the unit of the input that was picked.
    pub(super) picked: Vec<usize>,
    pub(super) d_mean: Vec<f64>,
    pub(super) d_var: Vec<f64>,
}

/// Weights as files keep them, `[out][in]` or `[out][in][y][x]`.
pub(crate) struct Weights {
    pub(super) map: Map,
    pub(super) p: Parameters,
}

/// Scale, shift and running statistics.
pub(crate) struct Norm {
    pub(super) p: Parameters,
    pub(super) running: Statistics,
}

/// Mean and variance a normalisation subtracted and divided by.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(super) mean: Vec<f64>,
    pub(super) var: Vec<f64>,
}

impl State {
    pub(super) fn rows(&self) -> usize {
        self.mean.len() / self.shape.len()
    }

    /// Makes room for a batch of the same number of rows as `other`, all zero.
    pub(super) fn like(&mut self, other: &State) {
        let n = other.rows() * self.shape.len();
        for v in [&mut self.mean, &mut self.var, &mut self.slope, &mut self.d_mean, &mut self.d_var] {
            v.clear();
            v.resize(n, 0.0);
        }
        self.picked.clear();
        self.picked.resize(n, 0);
    }

    pub(super) fn part(&self, part: Part) -> &[f64] {
        match part {
            Part::Mean => &self.mean,
            Part::Var => &self.var,
            Part::Slope => &self.slope,
            Part::DMean => &self.d_mean,
            Part::DVar => &self.d_var,
        }
    }

    pub(super) fn clear_innovation(&mut self) {
        self.d_mean.fill(0.0);
        self.d_var.fill(0.0);
    }

    pub(super) fn at(&self, row: usize, channel: usize, y: usize, x: usize) -> usize {
        let Shape { channels, height, width } = self.shape;
        ((row * channels + channel) * height + y) * width + x
    }
}

impl Weights {
    /// Calls `f(z unit, x unit, weight)` for every connection of a batch.
    pub(super) fn each(&self, x: &State, z: &State, mut f: impl FnMut(usize, usize, usize)) {
        let (input, output) = (self.map.input, self.map.output);
        let Some(window) = self.map.window else {
            for row in 0..x.rows() {
                for o in 0..output.len() {
                    for i in 0..input.len() {
                        f(row * output.len() + o, row * input.len() + i, o * input.len() + i);
                    }
                }
            }
            return;
        };
        let k = window.kernel;
        for row in 0..x.rows() {
            for o in 0..output.channels {
                for (down, across) in positions(output) {
                    let (ys, xs) = window.covers(input, down, across);
                    for c in 0..input.channels {
                        for y in ys.clone() {
                            for xx in xs.clone() {
                                let ky = y + window.before() - down * window.stride;
                                let kx = xx + window.before() - across * window.stride;
                                let weight = ((o * input.channels + c) * k + ky) * k + kx;
                                f(z.at(row, o, down, across), x.at(row, c, y, xx), weight);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Sums over the batch that the posterior of the parameters needs (T20).
    pub(super) fn sums(&self, x: &State, z: &State) -> Parameters {
        let mut sum = self.p.zeros_like();
        self.each(x, z, |out, from, weight| {
            let mu_a = x.mean[from];
            sum.mean[weight] += mu_a * z.d_mean[out];
            sum.var[weight] += mu_a * mu_a * z.d_var[out];
        });
        for unit in 0..z.d_mean.len() {
            sum.bias_mean[self.bias(unit)] += z.d_mean[unit];
            sum.bias_var[self.bias(unit)] += z.d_var[unit];
        }
        sum
    }

    /// Bias of a unit of the output.
    pub(super) fn bias(&self, unit: usize) -> usize {
        unit / self.map.output.pixels() % self.map.output.channels
    }
}

pub(super) fn positions(shape: Shape) -> impl Iterator<Item = (usize, usize)> {
    (0..shape.height).flat_map(move |y| (0..shape.width).map(move |x| (y, x)))
}

/// Posterior of parameters from the sums over the batch, by the policy that `cap` stands for.
fn update(mean: &mut [f64], var: &mut [f64], g_mean: &[f64], g_var: &[f64], cap: Option<f64>) -> Tally {
    let mut tally = Tally::default();
    for i in 0..mean.len() {
        let step = match cap {
            None => posterior::plain(mean[i], var[i], g_mean[i], g_var[i]),
            Some(cap) => posterior::capped(mean[i], var[i], g_mean[i], g_var[i], cap),
        };
        (mean[i], var[i]) = (step.mean, step.var);
        tally += Tally { capped: step.capped as u64, repaired: step.repaired as u64 };
    }
    tally
}

impl Parameters {
    pub(super) fn learn(&mut self, g: &Parameters, cap: Option<f64>) -> Tally {
        let mut tally = update(&mut self.mean, &mut self.var, &g.mean, &g.var, cap);
        tally += update(&mut self.bias_mean, &mut self.bias_var, &g.bias_mean, &g.bias_var, cap);
        tally
    }

    pub(super) fn zeros_like(&self) -> Parameters {
        let zeros = |v: &[f64]| vec![0.0; v.len()];
        Parameters {
            mean: zeros(&self.mean),
            var: zeros(&self.mean),
            bias_mean: zeros(&self.bias_mean),
            bias_var: zeros(&self.bias_mean),
        }
    }
}
