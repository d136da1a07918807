//! Optima of a model of several networks: each network is searched, what all predict together is searched by drawing, and the
//! prediction decides between the places.

use super::{Bounds, Goal, Optimum, SearchSettings, search};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Gaussian, Matrix};
use tractable_core::rng;
use tractable_ensemble::Ensemble;
use tractable_network::network::Network;

/// Optima of every network that are compared.
const OF_EACH: usize = 5;
/// Nearer than this share of the box, optima of two networks are taken for the same one.
const SAME: f64 = 0.15;
/// Rounds of draws, so many places each, and how far beside the best one its neighbours are, as a share of the box.
const ROUNDS: i32 = 6;
const DRAWN: usize = 400;
const BESIDE: f64 = 0.05;

/// The optima of a model's output in a box, best first, as [`search`] finds those of one network. How sure a place is counts how
/// far the networks' own optima lie apart.
///
/// ```
/// use tractable::optimize::{Bounds, Goal, SearchSettings, search_ensemble};
/// use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
/// let x: Vec<f64> = (0..60).map(|i| i as f64 / 15.0 - 2.0).collect();
/// let y: Vec<f64> = x.iter().map(|x| x.sin()).collect();
/// let data = Dataset::new(Matrix::column(x)?, Matrix::column(y)?)?.standardize();
/// let model = Ensemble::fit(&data)?;
/// let optima = search_ensemble(&model, &Bounds::new([(-2.0, 2.0)])?, Goal::Maximum, &SearchSettings::default())?;
/// assert!((optima[0].x.mean()[0] - std::f64::consts::FRAC_PI_2).abs() < 0.4);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn search_ensemble(
    model: &Ensemble,
    bounds: &Bounds,
    goal: Goal,
    settings: &SearchSettings,
) -> Result<Vec<Optimum>> {
    let n = bounds.len();
    let mut found: Vec<Vec<Optimum>> = Vec::new();
    for net in model.networks() {
        let mut optima = match net.layers().len() {
            1 => vec![corner(net, bounds, goal, settings.output)?],
            _ => search(net, bounds, goal, settings)?,
        };
        optima.truncate(OF_EACH);
        found.push(optima);
    }
    found.push(vec![drawn(model, bounds, goal, settings)?]);
    let places: Vec<f64> = found.iter().flatten().flat_map(|o| o.x.mean().to_vec()).collect();
    let predicted = model.predict(&Matrix::new(places.clone(), n)?)?;
    let outputs = model.output().units();
    let at = |i: usize| i * outputs + settings.output;
    let mut order: Vec<usize> = (0..places.len() / n).collect();
    let value = |i: usize| goal.sign() * predicted.mean()[at(i)];
    order.sort_by(|&a, &b| value(a).total_cmp(&value(b)));
    let half = bounds.half_widths();
    let apart = |a: &[f64], b: &[f64]| {
        a.iter().zip(b).zip(&half).map(|((a, b), h)| (a - b).abs() / (2.0 * h)).fold(0.0, f64::max)
    };
    let mut optima: Vec<Optimum> = Vec::new();
    for i in order {
        let x = &places[i * n..(i + 1) * n];
        if optima.iter().any(|o| apart(o.x.mean(), x) < SAME) {
            continue;
        }
        // Of every network the optimum that is this one, if it has it.
        let same = found.iter().filter_map(|optima| {
            let near = optima.iter().map(|o| (apart(o.x.mean(), x), o)).min_by(|a, b| a.0.total_cmp(&b.0))?;
            (near.0 < SAME).then_some(near.1)
        });
        let same: Vec<&Optimum> = same.collect();
        let var = |k: usize| {
            let one = |o: &&Optimum| o.x.var()[k] + (o.x.mean()[k] - x[k]).powi(2);
            same.iter().map(one).sum::<f64>() / same.len() as f64
        };
        let var: Vec<f64> = (0..n).map(var).collect();
        let value = Gaussian::new(vec![predicted.mean()[at(i)]], vec![predicted.output().var()[at(i)]], 1)?;
        optima.push(Optimum { x: Gaussian::new(x.to_vec(), var, n)?, value });
    }
    Ok(optima)
}

/// The best of many places, drawn ever nearer to the best so far.
fn drawn(model: &Ensemble, bounds: &Bounds, goal: Goal, settings: &SearchSettings) -> Result<Optimum> {
    let (n, outputs) = (bounds.len(), model.output().units());
    let mut random = rng::stream(settings.seed, "drawn", 0);
    let predict = |places: &[f64]| -> Result<Vec<[f64; 2]>> {
        let out = model.predict(&Matrix::new(places.to_vec(), n)?)?;
        let at = (settings.output..out.mean().len()).step_by(outputs);
        Ok(at.map(|i| [goal.sign() * out.mean()[i], out.var()[i]]).collect())
    };
    let mut best: Option<(Vec<f64>, [f64; 2])> = None;
    for round in 0..ROUNDS {
        let share = 0.4f64.powi(round);
        let mut places = bounds.spread(DRAWN, &mut random);
        if let Some((center, _)) = &best {
            for (i, x) in places.iter_mut().enumerate() {
                *x = bounds.clamp(i % n, center[i % n] + share * (*x - center[i % n]));
            }
        }
        for (place, said) in places.chunks_exact(n).zip(predict(&places)?) {
            if best.as_ref().is_none_or(|b| said[0] < b.1[0]) {
                best = Some((place.to_vec(), said));
            }
        }
    }
    let (x, [value, doubt]) = best.expect("places were drawn");
    // A place may be as far off as the mean changes by less than its doubt.
    let var = |k: usize| -> Result<f64> {
        let (step, mut beside) = (BESIDE * bounds.half_widths()[k], [x.clone(), x.clone()].concat());
        (beside[k], beside[n + k]) = (bounds.clamp(k, x[k] + step), bounds.clamp(k, x[k] - step));
        let rise = predict(&beside)?.iter().map(|b| b[0] - value).fold(0.0, f64::max);
        Ok((step * step * doubt.sqrt() / rise.max(f64::MIN_POSITIVE)).min(bounds.half_widths()[k].powi(2)))
    };
    let var = (0..n).map(var).collect::<Result<Vec<f64>>>()?;
    Ok(Optimum {
        x: Gaussian::new(x, var, n)?,
        value: Gaussian::new(vec![goal.sign() * value], vec![doubt], 1)?,
    })
}

/// Where a line is highest or lowest.
fn corner(net: &Network, bounds: &Bounds, goal: Goal, output: usize) -> Result<Optimum> {
    let weights = net.weights(&net.layer_names()[0])?;
    let (weights, _) = weights.ok_or_else(|| Error::invalid("search", "the network has no weights"))?;
    let n = bounds.len();
    if n != weights.width() {
        return Err(Error::shape("bounds", format!("{} coordinates", weights.width()), n));
    }
    let slope = weights.mean()[output * n..(output + 1) * n].iter();
    let end =
        |(slope, (low, high)): (&f64, &(f64, f64))| if goal.sign() * slope > 0.0 { *low } else { *high };
    let x = Gaussian::new(slope.zip(bounds.pairs()).map(end).collect(), vec![0.0; n], n)?;
    Ok(Optimum { x, value: Gaussian::new(vec![0.0], vec![0.0], 1)? })
}
