//! The spread that `predict` gives, beside that of outputs of drawn networks and inputs.

use super::drawn::{Drawn, Kind, Points, TOGETHER};
use super::{Quantiles, name};
use serde::Serialize;
use tractable::{Activation, Gaussian, Matrix, Network, Result, Wanted, rng};

/// Standard deviations of every input.
pub(super) const STDS: [f64; 5] = [0.0, 0.03, 0.1, 0.3, 1.0];

/// Standard deviations of outputs over the sampled ones: one line of the table.
#[derive(Serialize, Clone)]
pub(super) struct Spread {
    pub(super) activation: &'static str,
    pub(super) hidden_layers: usize,
    pub(super) input_std: f64,
    pub(super) outputs: usize,
    /// Where all units count as independent.
    pub(super) independent: Quantiles,
    /// By rows: what `predict` says of uncertain inputs, and `output_covariance` of all.
    pub(super) rows: Quantiles,
    /// Difference of the means, in sampled standard deviations.
    pub(super) mean_off: Quantiles,
}

/// Ratios at every input standard deviation.
#[derive(Default)]
pub(super) struct Ratios {
    independent: Vec<f64>,
    rows: Vec<f64>,
    mean_off: Vec<f64>,
}

/// One network at 32 places like those it has learned from.
pub(super) fn measured(kind: &Kind, draws: usize) -> Result<[Ratios; STDS.len()]> {
    let net = kind.trained()?;
    let mut random = rng::stream(kind.seed, "numerics spread", kind.inputs as u64);
    let mut normal = || rng::standard_normal(&mut random);
    let places: Vec<Points> = (0..kind.inputs).map(|_| std::array::from_fn(|_| normal() as f32)).collect();
    let rows = (0..TOGETHER).flat_map(|p| places.iter().map(move |x| f64::from(x[p])));
    let at = Matrix::new(rows.collect(), kind.inputs)?;
    let mut drawn = Drawn::new(&net, kind.activation)?;
    // Sums of means, of their squares, and of variances.
    let mut sums = [[[0.0; 3]; TOGETHER]; STDS.len()];
    for _ in 0..draws {
        drawn.draw(&mut normal);
        let off: Vec<Points> = (0..kind.inputs).map(|_| std::array::from_fn(|_| normal() as f32)).collect();
        for (std, sums) in STDS.iter().zip(&mut sums) {
            let moved = |(x, off): (&Points, &Points)| std::array::from_fn(|p| x[p] + *std as f32 * off[p]);
            let x: Vec<Points> = places.iter().zip(&off).map(moved).collect();
            let [mean, var] = drawn.outputs(&x)[0];
            for (p, sums) in sums.iter_mut().enumerate() {
                sums.iter_mut().zip([mean[p], mean[p] * mean[p], var[p]]).for_each(|(s, v)| *s += v);
            }
        }
    }
    let mut all: [Ratios; STDS.len()] = Default::default();
    for ((&std, sums), ratios) in STDS.iter().zip(&sums).zip(&mut all) {
        let x = Gaussian::new(at.data().to_vec(), vec![std * std; at.data().len()], kind.inputs)?;
        let said = net.predict(&x)?;
        let independent = independent(&net, &x, &at)?;
        let rows = net.output_covariance(&x)?;
        for (p, sums) in sums.iter().enumerate() {
            let [mean, square, var] = sums.map(|s| s / draws as f64);
            let sampled = (var + square - mean * mean).sqrt();
            ratios.independent.push(independent.std()[p * kind.outputs] / sampled);
            ratios.rows.push(rows[p].data()[0].sqrt() / sampled);
            ratios.mean_off.push((said.mean()[p * kind.outputs] - mean).abs() / sampled);
        }
    }
    Ok(all)
}

/// The output where units that share an uncertain input count as independent: a pass forward alone.
fn independent(net: &Network, x: &Gaussian, at: &Matrix) -> Result<Gaussian> {
    if x.var()[0] == 0.0 {
        return Ok(net.predict(at)?.output().clone());
    }
    let units = net.output().units();
    let (nothing, open) = (Matrix::new(vec![0.0; x.rows() * units], units)?, vec![false; x.rows() * units]);
    net.searching(x, Wanted::from(&nothing).only(&open))?.round()?.output()
}

/// Lines of one activation and depth, from its networks.
pub(super) fn lines(activation: Activation, hidden: usize, of: &[[Ratios; STDS.len()]]) -> Vec<Spread> {
    let one = |i: usize| {
        let all = |field: fn(&Ratios) -> &Vec<f64>| of.iter().flat_map(|r| field(&r[i])).copied().collect();
        let independent: Vec<f64> = all(|r| &r.independent);
        Spread {
            activation: name(activation),
            hidden_layers: hidden,
            input_std: STDS[i],
            outputs: independent.len(),
            independent: Quantiles::of(independent),
            rows: Quantiles::of(all(|r| &r.rows)),
            mean_off: Quantiles::of(all(|r| &r.mean_off)),
        }
    };
    (0..STDS.len()).map(one).collect()
}
