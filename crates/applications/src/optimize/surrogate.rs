//! A local model of a function: a new network fitted to the points around one.

use super::bounds::unit;
use super::near::Near;
use super::search::{guarded, place_var};
use super::{Bounds, Goal, Optimum};
use tractable_core::error::Result;
use tractable_core::gaussian::{Gaussian, Matrix};
use tractable_core::moments::Activation;
use tractable_core::rng::{ChaCha8Rng, Rng, shuffle};
use tractable_core::shape::Shape;
use tractable_data::Scaler;
use tractable_devices::Device;
use tractable_network::layer::Layer;
use tractable_network::network::Network;

/// Units of each of two hidden layers.
const WIDTH: usize = 32;
/// Maximum number of observations, and approximate total number of learning steps.
const MOST_POINTS: usize = 200;
const STEPS: usize = 1800;
/// Noise in standard deviations of the observations: from coarse to fine.
const NOISE: (f64, f64) = (0.5, 0.05);
/// With more noise than this, nothing is learned.
const MOST_NOISE: f64 = 1e6;
/// Starting points, steps from each, and the length of a step as a share of the region.
const STARTS: usize = 16;
const ROUNDS: usize = 25;
const STEP: f64 = 0.25;

pub(super) struct Surrogate {
    net: Network,
    warp: Warp,
}

/// Warp of the values for the network: linear up to the median, logarithmic above it, so that cliffs far from
/// the optimum do not dominate; values are minimised.
#[derive(Debug, Clone, Copy)]
pub(super) struct Warp {
    best: f64,
    /// Half of the distance from the best value to the median: the whole need not be a number.
    pub(super) half: f64,
}

impl Warp {
    pub(super) fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let half = values[values.len() / 2] / 2.0 - values[0] / 2.0;
        // All alike: nothing to scale.
        Warp { best: values[0], half: if half > 0.0 { half } else { 0.5 } }
    }

    /// Distance from the best value, in distances of the median.
    pub(super) fn share(&self, value: f64) -> f64 {
        (value / 2.0 - self.best / 2.0) / self.half
    }

    pub(super) fn apply(&self, value: f64) -> f64 {
        let t = self.share(value);
        if t <= 1.0 { t } else { 1.0 + t.min(f64::MAX).ln() }
    }

    /// The value, and how fast it changes.
    fn undo(&self, t: f64) -> (f64, f64) {
        let (t, rate) = if t <= 1.0 { (t, 1.0) } else { ((t - 1.0).exp(), (t - 1.0).exp()) };
        (self.best + 2.0 * self.half * t, 2.0 * self.half * rate)
    }
}

impl Surrogate {
    /// Fits the nearest of `points` (place, value; small is good) around `center`, at least those within two `radius`.
    pub(super) fn fit(
        points: &[(&[f64], f64)],
        bounds: &Bounds,
        center: &[f64],
        radius: f64,
        noise_std: f64,
        rng: &mut ChaCha8Rng,
    ) -> Result<Self> {
        let near = Near::new(points, bounds, center, radius, MOST_POINTS);
        let warp = Warp::new(near.chosen.iter().map(|&i| points[i].1).collect());
        let values = Matrix::column(near.chosen.iter().map(|&i| warp.apply(points[i].1)).collect())?;
        let y = Scaler::fit(&values);
        let noise_std = (noise_std / 2.0 / warp.half / y.std()[0]).min(MOST_NOISE);
        let mut net = Network::builder(Shape::flat(bounds.len()))
            .layer(Layer::linear(WIDTH))
            .layer(Activation::Tanh)
            .layer(Layer::linear(WIDTH))
            .layer(Activation::Tanh)
            .layer(Layer::linear(1))
            .seed(rng.next_u64())
            .device(Device::cpu(1))
            .build()?;
        let x = Scaler::new(center.to_vec(), near.units.clone())?;
        net.set_scalers(Some(x), Some(y))?;

        let rows = near.chosen.iter().map(|&i| Matrix::new(points[i].0.to_vec(), bounds.len()));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        let values = values.data().iter().map(|&v| Matrix::column(vec![v])).collect::<Result<Vec<_>>>()?;
        let mut order: Vec<usize> = (0..rows.len()).collect();
        let epochs = (STEPS / rows.len()).clamp(10, 90);
        for epoch in 0..epochs {
            let done = epoch as f64 / (epochs - 1) as f64;
            let noise = NOISE.0 * (NOISE.1 / NOISE.0).powf(done);
            net.set_noise_std([noise.hypot(noise_std)])?;
            shuffle(&mut order, rng);
            for &i in &order {
                net.learn(&rows[i], &values[i])?;
            }
        }
        Ok(Surrogate { net, warp })
    }

    /// The most promising point in a part of the box: from the center and points around it by inference,
    /// ranked by one standard deviation better than expected.
    pub(super) fn candidate(
        &self,
        region: &Bounds,
        center: &[f64],
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<f64>> {
        let n = region.len();
        let mut x = center.to_vec();
        (1..STARTS).for_each(|_| x.extend(region.random(rng)));
        let step: Vec<f64> = region.half_widths().iter().map(|h| h.max(f64::MIN_POSITIVE) * STEP).collect();
        let x = guarded(&self.net, &x, Goal::Minimum.wanted(), region, &step, ROUNDS)?;
        let y = self.net.predict(&Matrix::new(x.clone(), n)?)?;
        let hoped = |i: &usize| y.mean()[*i] - y.var()[*i].sqrt();
        let best = (0..STARTS).min_by(|a, b| hoped(a).total_cmp(&hoped(b))).expect("there are starts");
        Ok(x[best * n..(best + 1) * n].to_vec())
    }

    /// Expected values at these points, to be minimised.
    pub(super) fn expect(&self, places: Vec<f64>, width: usize) -> Result<Vec<f64>> {
        Ok(self.net.predict(&Matrix::new(places, width)?)?.mean().to_vec())
    }

    /// The posterior of the optimum in the box, searched in a part of it from `center`.
    pub(super) fn optimum(
        &self,
        bounds: &Bounds,
        region: &Bounds,
        center: &[f64],
        goal: Goal,
    ) -> Result<Optimum> {
        let step: Vec<f64> = region.half_widths().iter().map(|h| h.max(f64::MIN_POSITIVE) * STEP).collect();
        let x = guarded(&self.net, center, Goal::Minimum.wanted(), region, &step, ROUNDS)?;
        let sure = place_var(&self.net, &x, &bounds.half_widths(), 0)?;
        let x = Gaussian::new(x, sure, region.len())?;
        let y = self.net.predict(&x)?;
        let (value, rate) = self.warp.undo(y.mean()[0]);
        let (value, var) = (value.clamp(-f64::MAX, f64::MAX), (y.var()[0] * rate * rate).min(f64::MAX));
        let value = Gaussian::new(vec![goal.sign() * value], vec![var], 1)?;
        Ok(Optimum { x, value })
    }
}

/// Two points near `x`, on opposite sides of it.
pub(super) fn nudged(region: &Bounds, x: &[f64], rng: &mut ChaCha8Rng) -> [Vec<f64>; 2] {
    let steps: Vec<f64> = region.half_widths().iter().map(|h| 0.3 * h * (2.0 * unit(rng) - 1.0)).collect();
    [1.0, -1.0].map(|sign| {
        x.iter().zip(&steps).enumerate().map(|(i, (x, step))| region.clamp(i, x + sign * step)).collect()
    })
}
