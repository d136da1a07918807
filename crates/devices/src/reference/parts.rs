//! States, weights and loops over connections of the reference device.

use crate::{Broken, Field, Map, Noted, Parameters, Pooled, Statistics, Step, Steps};
use tractable_core::moments::posterior;
use tractable_core::shape::Shape;

/// A layer's state, `[row][channel][y][x]`.
#[derive(Default)]
pub struct State {
    pub(super) shape: Shape,
    pub(super) mean: Vec<f64>,
    pub(super) var: Vec<f64>,
    pub(super) slope: Vec<f64>,
    /// The part of the variance that is the layer's own.
    pub(super) own: Vec<f64>,
    /// Max pooling: the unit of the input that was picked.
    pub(super) picked: Vec<usize>,
    pub(super) d_mean: Vec<f64>,
    pub(super) d_var: Vec<f64>,
}

/// Weights as in files, `[out][in]` or `[out][in][y][x]`.
pub struct Weights {
    pub(super) map: Map,
    pub(super) p: Parameters,
}

/// Scale, shift and running statistics.
pub struct Norm {
    pub(super) p: Parameters,
    pub(super) running: Statistics,
}

/// What batches say about the parameters of one layer, and the statistics of a normalisation.
pub struct Sums {
    pub(super) p: Parameters,
    pub(super) batch: Pooled,
    /// Of a normalisation.
    pub(super) channels: usize,
}

/// Covariances of `k` rows with each other, sample after sample.
#[derive(Default)]
pub struct Spread {
    pub(super) k: usize,
    pub(super) entries: Vec<f64>,
}

/// Rows of a data set.
pub struct RowStore {
    pub(super) width: usize,
    pub(super) values: Vec<f64>,
}

impl Sums {
    pub(super) fn zeros(like: &Parameters, channels: usize) -> Self {
        Sums { p: like.zeros_like(), batch: Pooled::default(), channels }
    }

    pub(super) fn add(&mut self, more: &Parameters) {
        let parts = [
            (&mut self.p.mean, &more.mean),
            (&mut self.p.var, &more.var),
            (&mut self.p.bias_mean, &more.bias_mean),
            (&mut self.p.bias_var, &more.bias_var),
        ];
        for (mine, more) in parts {
            mine.iter_mut().zip(more).for_each(|(m, v)| *m += v);
        }
    }
}

/// What a normalisation remembers of a batch.
#[derive(Default)]
pub struct Scratch {
    /// Mean and variance it subtracted and divided by, and whether they are the batch's own.
    pub(super) mean: Vec<f64>,
    pub(super) var: Vec<f64>,
    pub(super) of_batch: bool,
    /// Values of a channel, and what their innovations add up to.
    pub(super) values: f64,
    pub(super) total: Parameters,
    /// What the way back takes from every innovation, if anything.
    pub(super) common: Vec<f64>,
}

impl Scratch {
    /// The mean of unit `x` of a channel, standardised.
    pub(super) fn standard(&self, norm: &Norm, c: usize, x: f64) -> f64 {
        (x - self.mean[c]) / (self.var[c] + norm.running.epsilon).sqrt()
    }
}

impl State {
    pub(super) fn rows(&self) -> usize {
        self.mean.len() / self.shape.len()
    }

    /// Makes room for a batch of the same number of rows as `other`, all zero.
    pub(super) fn like(&mut self, other: &State) {
        let n = other.rows() * self.shape.len();
        let State { mean, var, slope, own, d_mean, d_var, .. } = self;
        for v in [mean, var, slope, own, d_mean, d_var] {
            v.clear();
            v.resize(n, 0.0);
        }
        self.picked.clear();
        self.picked.resize(n, 0);
    }

    pub(super) fn field(&self, field: Field) -> &[f64] {
        match field {
            Field::Mean => &self.mean,
            Field::Var => &self.var,
            Field::Slope => &self.slope,
            Field::Own => &self.own,
            Field::DMean => &self.d_mean,
            Field::DVar => &self.d_var,
        }
    }

    /// The first of these numbers that is not finite.
    pub(super) fn broken(&self, fields: [Field; 2], state: usize) -> Option<Broken> {
        let width = self.shape.len();
        fields.into_iter().find_map(|field| {
            let v = self.field(field);
            let at = v.iter().position(|v| !v.is_finite())?;
            Some(Broken { state, row: at / width, value: v[at] })
        })
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

/// Posterior of parameters from the sums over the batch.
fn update(
    mean: &mut [f64],
    var: &mut [f64],
    g_mean: &[f64],
    g_var: &[f64],
    step: Step<f64>,
    status: &mut Noted,
) {
    for i in 0..mean.len() {
        let step = match step {
            Step::Plain => posterior::plain(mean[i], var[i], g_mean[i], g_var[i]),
            Step::Capped(cap) => posterior::capped(mean[i], var[i], g_mean[i], g_var[i], cap),
            Step::Counted(count) => posterior::counted(mean[i], var[i], g_mean[i], g_var[i], count),
            Step::Paced(pace) => posterior::paced(mean[i], var[i], g_mean[i], g_var[i], pace),
        };
        (mean[i], var[i]) = (step.mean, step.var);
        status.tally.capped += step.capped as u64;
        status.tally.repaired += step.repaired as u64;
    }
}

impl Parameters {
    /// Unless something is broken.
    pub(super) fn learn(&mut self, g: &Parameters, steps: Steps, status: &mut Noted) {
        if status.broken.is_none() {
            update(&mut self.mean, &mut self.var, &g.mean, &g.var, steps[0], status);
            update(&mut self.bias_mean, &mut self.bias_var, &g.bias_mean, &g.bias_var, steps[1], status);
        }
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
