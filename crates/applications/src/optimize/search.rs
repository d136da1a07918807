//! Optima of a trained network: many starting points, each moved by inference until its derivative is zero.

use super::{Bounds, Goal, Optimum};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Gaussian, Input, Matrix};
use tractable_core::rng;
use tractable_network::derivative::Wrt;
use tractable_network::network::Network;
use tractable_network::output::Extremum;

/// Settings of [`search`].
///
/// ```
/// use tractable::optimize::SearchSettings;
/// let thorough = SearchSettings { starts: 256, ..SearchSettings::default() };
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchSettings {
    /// Points to start from, spread over the box.
    pub starts: usize,
    /// Steps of inference from each.
    pub rounds: usize,
    /// Maximum step along a coordinate, as a share of the box, and the standard deviation before it:
    /// guards against the Newton step of an overconfident network.
    pub step: f64,
    /// Which output, if there are several.
    pub output: usize,
    /// Seed of the starting points.
    pub seed: u64,
}

impl Default for SearchSettings {
    fn default() -> Self {
        SearchSettings { starts: 64, rounds: 100, step: 0.02, output: 0, seed: 0 }
    }
}

/// The optima of a trained network's output in a box, best first; weights are unchanged. Results that cannot be told
/// apart count as one: within two steps, or within two standard deviations of
/// the better one.
///
/// ```
/// use tractable::optimize::{Bounds, Goal, SearchSettings, search};
/// use tractable::{Activation, Matrix, Network};
/// let mut net = Network::mlp([1, 32, 1], Activation::Tanh).noise_std([0.05]).build()?;
/// let x: Vec<f64> = (0..40).map(|i| i as f64 / 10.0 - 2.0).collect();
/// for _ in 0..40 {
///     for x in &x {
///         net.learn(&Matrix::column(vec![*x])?, &Matrix::column(vec![x.sin()])?)?;
///     }
/// }
/// let optima = search(&net, &Bounds::new([(-2.0, 2.0)])?, Goal::Maximum, &SearchSettings::default())?;
/// assert!((optima[0].x.mean()[0] - std::f64::consts::FRAC_PI_2).abs() < 0.2);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn search(net: &Network, bounds: &Bounds, goal: Goal, settings: &SearchSettings) -> Result<Vec<Optimum>> {
    let n = bounds.len();
    if n != net.input().len() {
        return Err(Error::shape("bounds", format!("{} coordinates", net.input().len()), n));
    }
    if settings.starts == 0 || settings.rounds == 0 {
        return Err(Error::invalid("search", "at least one start and one round are needed"));
    }
    if !(settings.step > 0.0 && settings.step <= 1.0) {
        return Err(Error::invalid("step", format!("{} is not a share of the box, 0 to 1", settings.step)));
    }
    let starts = bounds.spread(settings.starts, &mut rng::stream(settings.seed, "search", 0));
    let wanted = goal.wanted().output(settings.output);
    let step: Vec<f64> = bounds.half_widths().iter().map(|h| 2.0 * h * settings.step).collect();
    let places = guarded(net, &starts, wanted, bounds, &step, settings.rounds)?;
    let sure = place_var(net, &places, &bounds.half_widths(), settings.output)?;
    let outputs = net.output().units();
    let values = net.predict(&Matrix::new(places.clone(), n)?)?;
    let value = |i: usize| values.mean()[i * outputs + settings.output];
    let mut order: Vec<usize> = (0..settings.starts).collect();
    order.sort_by(|&a, &b| (goal.sign() * value(a)).total_cmp(&(goal.sign() * value(b))));
    // On the edge of the box the derivative need not be zero, and the variance is meaningless.
    let unsure = |o: &Optimum, k: usize| {
        let (low, high) = bounds.pairs()[k];
        let x = o.x.mean()[k];
        if low < x && x < high { o.x.var()[k].sqrt() } else { 0.0 }
    };
    let mut optima: Vec<Optimum> = Vec::new();
    for i in order {
        let x = &places[i * n..(i + 1) * n];
        let near =
            |o: &Optimum| (0..n).all(|k| (o.x.mean()[k] - x[k]).abs() < 2.0 * unsure(o, k).max(step[k]));
        if !optima.iter().any(near) {
            let at = i * outputs + settings.output;
            optima.push(Optimum {
                x: Gaussian::new(x.to_vec(), sure[i * n..(i + 1) * n].to_vec(), n)?,
                value: Gaussian::new(vec![values.mean()[at]], vec![values.var()[at]], 1)?,
            });
        }
    }
    Ok(optima)
}

/// The rows of `x` after this many rounds of inference towards the goal. Before every round the standard
/// deviation is `step`; no round goes farther, or out of the box.
pub(super) fn guarded(
    net: &Network,
    x: &[f64],
    wanted: Extremum<'_>,
    bounds: &Bounds,
    step: &[f64],
    rounds: usize,
) -> Result<Vec<f64>> {
    let n = bounds.len();
    let mut places = x.to_vec();
    for places in places.chunks_mut(n * net.rows_at_once()) {
        let var: Vec<f64> = (0..places.len()).map(|i| step[i % n] * step[i % n]).collect();
        let mut moving = net.searching(Input::uncertain(places, &var, n)?, wanted)?;
        for _ in 0..rounds {
            moving.round()?.project(|row, mean, var| {
                for (k, place) in places[row * n..(row + 1) * n].iter_mut().enumerate() {
                    let moved = (mean[k] - *place).clamp(-step[k], step[k]);
                    *place = bounds.clamp(k, *place + moved);
                    (mean[k], var[k]) = (*place, step[k] * step[k]);
                }
            })?;
        }
    }
    Ok(places)
}

/// Variance of the location of a stationary point, `[rows, width]`: given a derivative of zero, where
/// the derivative has variance `v` at that point and slope `c`. From a prior variance `s`,
/// conditioning leaves `s v/(v + c^2 s)`.
pub(super) fn place_var(net: &Network, x: &[f64], prior_std: &[f64], output: usize) -> Result<Vec<f64>> {
    let n = prior_std.len();
    let at = Matrix::new(x.to_vec(), n)?;
    let wrt = Wrt::input().output(output);
    let (slope, curvature) = (net.derivative(&at, wrt)?, net.second_derivative(&at, wrt)?);
    let var = |(i, c): (usize, &f64)| {
        let (s, v) = (prior_std[i % n].powi(2), slope.var()[i]);
        let total = v + c * c * s;
        if total > 0.0 { s * v / total } else { s }
    };
    Ok(curvature.data().iter().enumerate().map(var).collect())
}
