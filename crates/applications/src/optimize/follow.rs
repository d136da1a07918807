//! The paper's algorithm: the input moves at every observation, while the network is still learning the function.

use super::Bounds;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Gaussian, Matrix};
use tractable_core::rng;
use tractable_network::network::Network;
use tractable_network::output::Extremum;

/// Settings of [`follow`]; the paper's by default.
///
/// ```
/// use tractable::optimize::Follow;
/// assert_eq!(Follow::default().epochs, 100);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Follow {
    /// Epochs.
    pub epochs: usize,
    /// The guard: every move stays inside this box and is no longer than a twentieth of it. `None` lets an overconfident
    /// network send the input anywhere, as in the paper.
    pub guard: Option<Bounds>,
    /// Seed of the order of the data.
    pub seed: u64,
}

impl Default for Follow {
    fn default() -> Self {
        Follow { epochs: 100, guard: None, seed: 0 }
    }
}

/// Where the inputs of [`follow`] went: mean and variance of every one, after every epoch.
///
/// ```
/// # use tractable::{Activation, Gaussian, Matrix, Network, Wanted, optimize::{Follow, follow}};
/// # let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
/// # let (x, y) = (Matrix::column(vec![0.0, 1.0])?, Matrix::column(vec![0.0, 1.0])?);
/// let start = Gaussian::new(vec![0.5], vec![1e-4], 1)?;
/// let settings = Follow { epochs: 3, ..Follow::default() };
/// let paths = follow(&mut net, &x, &y, &[(&start, Wanted::maximum())], &settings)?;
/// assert_eq!(paths[0].steps.len(), 4); // the start, and three epochs
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Path {
    /// The start, then the input after every epoch; one row per input.
    pub steps: Vec<Gaussian>,
    /// The input became infinite after the last step here.
    pub lost: bool,
}

/// Learns `y` from `x`, one observation at a time, in a new order every epoch. Before each observation it moves every
/// input of `starts` one step of inference towards its goal. The network's own noise is used.
///
/// ```
/// use tractable::optimize::{Follow, follow};
/// use tractable::{Activation, Gaussian, Matrix, Network, Wanted};
/// let mut net = Network::mlp([1, 32, 1], Activation::Tanh).noise_std([0.1]).build()?;
/// let x: Vec<f64> = (0..40).map(|i| i as f64 / 10.0 - 2.0).collect();
/// let y = x.iter().map(|x| x * x).collect();
/// let start = Gaussian::new(vec![0.8], vec![1e-4], 1)?;
/// let paths = follow(
///     &mut net,
///     &Matrix::column(x)?,
///     &Matrix::column(y)?,
///     &[(&start, Wanted::minimum())],
///     &Follow { epochs: 50, ..Follow::default() },
/// )?;
/// let end = paths[0].steps.last().unwrap();
/// assert!(end.mean()[0].abs() < 0.4, "{}", end.mean()[0]);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn follow(
    net: &mut Network,
    x: &Matrix,
    y: &Matrix,
    starts: &[(&Gaussian, Extremum<'_>)],
    settings: &Follow,
) -> Result<Vec<Path>> {
    if x.rows() != y.rows() {
        return Err(Error::shape("observations", format!("{} rows", x.rows()), y.rows()));
    }
    if let Some(guard) = &settings.guard
        && guard.len() != net.input().len()
    {
        return Err(Error::shape("bounds", format!("{} coordinates", net.input().len()), guard.len()));
    }
    let mut paths: Vec<Path> =
        starts.iter().map(|(start, _)| Path { steps: vec![(*start).clone()], lost: false }).collect();
    let mut places: Vec<Gaussian> = starts.iter().map(|(start, _)| (*start).clone()).collect();
    let mut order: Vec<usize> = (0..x.rows()).collect();
    for epoch in 0..settings.epochs {
        rng::shuffle(&mut order, &mut rng::stream(settings.seed, "follow", epoch as u64));
        for &row in &order {
            for ((place, path), (_, wanted)) in places.iter_mut().zip(&mut paths).zip(starts) {
                if path.lost {
                    continue;
                }
                match net.search(&*place, *wanted) {
                    Ok(posterior) => *place = kept(place, posterior, settings.guard.as_ref())?,
                    Err(Error::Diverged { .. }) => path.lost = true,
                    Err(e) => return Err(e),
                }
            }
            net.learn(&x.select(&[row]), &y.select(&[row]))?;
        }
        for (path, place) in paths.iter_mut().zip(&places).filter(|(path, _)| !path.lost) {
            path.steps.push(place.clone());
        }
    }
    Ok(paths)
}

/// The posterior, within the guard.
fn kept(place: &Gaussian, posterior: Gaussian, guard: Option<&Bounds>) -> Result<Gaussian> {
    let Some(bounds) = guard else { return Ok(posterior) };
    let limits: Vec<f64> = bounds.half_widths().iter().map(|half| half / 10.0).collect();
    let limited = |(i, x): (usize, &f64)| {
        let limit = limits[i % limits.len()];
        bounds.clamp(i, x + (posterior.mean()[i] - x).clamp(-limit, limit))
    };
    let mean = place.mean().iter().enumerate().map(limited).collect();
    Gaussian::new(mean, posterior.var().to_vec(), posterior.width())
}
