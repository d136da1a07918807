//! The uncertainty of a network away from its data: of all its weights jointly, to first order.
//!
//! A network linearised in its weights is a Gaussian process whose kernel is the inner product of slopes with respect to the
//! weights. A weight's slope is its input times the slope with respect to its result, and all weights of a layer have
//! one prior: the kernel of two rows needs only inner products of these vectors, not one term per weight.

// `outside.rs` computes the weight uncertainty: a network linearised in its weights is a Gaussian
// process, here with 200 rows that represent all. Its kernel factors by layers, so the cost depends on
// the layers' widths, not on their numbers of weights. Inside the data, left-out rows determine its
// scale; where it is larger than for 99 % of them, the scale is at least one half, because no row can
// tell. A model file contains the files of its networks and these rows. Without it
// (`Settings::outside(false)`, networks with convolutions) the weight uncertainty comes from a forward
// pass, and left-out rows decide whether that pass treats units as independent or includes their
// covariances (`Data::decide`; see below). With it there is nothing to decide, because the forward
// pass's own variance is not used.

use tractable_core::cholesky;
use tractable_core::error::Result;
use tractable_core::gaussian::Input;
use tractable_network::network::Network;

/// Rows of the training data that stand for all of them.
pub(super) const ROWS: usize = 200;
/// Scales of the prior that are tried.
const SCALES: [f64; 3] = [1.0, 4.0, 16.0];
/// What is added to the diagonal, as a share of its mean: rows that are there twice make it singular.
const JITTER: f64 = 1e-9;
/// Rows that are looked at together.
const AT_ONCE: usize = 256;

/// The doubt of one network about one output, given some rows it learned from.
pub(super) struct Outside {
    output: usize,
    /// Layers as these rows go through them.
    layers: Vec<Rows>,
    /// The lower factor of `scale K + noise I`, row after row.
    factor: Vec<f64>,
    rows: usize,
    scale: f64,
}

/// What a layer multiplies and the slope by what it makes, one row for every number and a column for every row of data.
struct Rows {
    input: Vec<f64>,
    slope: Vec<f64>,
    prior: [f64; 2],
}

impl Outside {
    /// From rows `x` that a network learned from, with their targets, in its own units; all rows are `of_rows`, and their
    /// noise is `noise_var`.
    pub(super) fn new(
        net: &Network,
        x: &[f64],
        y: &[f64],
        output: usize,
        noise_var: f64,
        of_rows: usize,
    ) -> Result<Self> {
        let width = net.input().len();
        let n = y.len();
        let slopes = net.slopes(Input::exact(x, width)?, output)?;
        let units = net.output().units();
        // What a linear network would have to explain: the residual, and what the weights explain already.
        let made = slopes.last().expect("there is a layer");
        let mut rest: Vec<f64> = (0..n).map(|r| y[r] - made.made[r * units + output]).collect();
        let mut layers = Vec::new();
        for layer in &slopes {
            let (ins, outs) = (layer.input.len() / n, layer.slope.len() / n);
            for (r, rest) in rest.iter_mut().enumerate() {
                let at = r * outs..(r + 1) * outs;
                *rest += layer.made[at.clone()].iter().zip(&layer.slope[at]).map(|(z, d)| z * d).sum::<f64>();
            }
            layers.push(Rows {
                input: turned(&layer.input, ins),
                slope: turned(&layer.slope, outs),
                prior: layer.prior,
            });
        }
        let mut kernel = vec![0.0; n * n];
        let mut buffers = [vec![0.0; n], vec![0.0; n]];
        for (r, row) in kernel.chunks_exact_mut(n).enumerate() {
            for (layer, of) in layers.iter().zip(&slopes) {
                let (ins, outs) = (of.input.len() / n, of.slope.len() / n);
                let (input, slope) = (&of.input[r * ins..(r + 1) * ins], &of.slope[r * outs..(r + 1) * outs]);
                layer.add_products(input, slope, &mut buffers, row);
            }
        }
        // A few rows stand for all: each counts for several.
        let share = noise_var * (n as f64 / of_rows as f64);
        let diagonal = (0..n).map(|i| kernel[i * n + i]).sum::<f64>() / n as f64;
        let mut best: Option<(f64, f64, Vec<f64>)> = None;
        for scale in SCALES {
            let mut factor: Vec<f64> = kernel.iter().map(|k| scale * k).collect();
            (0..n).for_each(|i| factor[i * n + i] += share + JITTER * scale * diagonal);
            if !cholesky::factor(&mut factor, n) {
                continue;
            }
            let mut v = rest.clone();
            cholesky::solve(&factor, n, &mut v);
            let evidence = -0.5 * v.iter().map(|v| v * v).sum::<f64>()
                - (0..n).map(|i| libm::log(factor[i * n + i])).sum::<f64>();
            if best.as_ref().is_none_or(|b| evidence > b.0) {
                best = Some((evidence, scale, factor));
            }
        }
        // Never seen to fail: the jitter makes the matrix definite. If it did, the prior alone would speak.
        let (_, scale, factor) = best.unwrap_or_else(|| (0.0, 1.0, identity(n)));
        Ok(Outside { output, layers, factor, rows: n, scale })
    }

    /// Variance of the output by the doubt about weights, for rows in the network's own units.
    pub(super) fn var(&self, net: &Network, x: &[f64]) -> Result<Vec<f64>> {
        let width = net.input().len();
        let mut all = Vec::with_capacity(x.len() / width);
        let n = self.rows;
        let mut buffers = [vec![0.0; n], vec![0.0; n]];
        for x in x.chunks(AT_ONCE * width) {
            let rows = x.len() / width;
            let slopes = net.slopes(Input::exact(x, width)?, self.output)?;
            for r in 0..rows {
                let (mut own, mut with) = (0.0, vec![0.0; n]);
                for (layer, of) in self.layers.iter().zip(&slopes) {
                    let (ins, outs) = (of.input.len() / rows, of.slope.len() / rows);
                    let (input, slope) =
                        (&of.input[r * ins..(r + 1) * ins], &of.slope[r * outs..(r + 1) * outs]);
                    let square = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
                    own += (of.prior[0] * square(input) + of.prior[1]) * square(slope);
                    layer.add_products(input, slope, &mut buffers, &mut with);
                }
                with.iter_mut().for_each(|k| *k *= self.scale);
                cholesky::solve(&self.factor, n, &mut with);
                let known: f64 = with.iter().map(|v| v * v).sum();
                all.push((self.scale * own - known).max(0.0));
            }
        }
        Ok(all)
    }
}

impl Rows {
    /// Adds the kernel of one row, as it goes through this layer, with all rows that are kept.
    fn add_products(&self, input: &[f64], slope: &[f64], buffers: &mut [Vec<f64>; 2], to: &mut [f64]) {
        let n = to.len();
        let [inputs, slopes] = buffers;
        inputs.fill(0.0);
        slopes.fill(0.0);
        for (factors, rows, sum) in [(input, &self.input, &mut *inputs), (slope, &self.slope, &mut *slopes)] {
            for (&factor, row) in factors.iter().zip(rows.chunks_exact(n)) {
                // Half of the units of a rectifier are zero.
                if factor != 0.0 {
                    sum.iter_mut().zip(row).for_each(|(sum, v)| *sum += factor * v);
                }
            }
        }
        let [weight, bias] = self.prior;
        for ((to, a), d) in to.iter_mut().zip(&*inputs).zip(&*slopes) {
            *to += (weight * a + bias) * d;
        }
    }
}

/// `[rows, width]` as `[width, rows]`.
fn turned(v: &[f64], width: usize) -> Vec<f64> {
    let rows = v.len() / width;
    (0..width * rows).map(|i| v[i % rows * width + i / rows]).collect()
}

fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|i| f64::from(u8::from(i / n == i % n))).collect()
}
