//! The picture of an optimisation: for one variable the prediction, derivative, covariance and path to the optimum;
//! for several, the best value so far.

use crate::plot::{Color, Figure, OptimumFigure, Panel, Places, four_panels};
use tractable::data::{Dataset, Scaler};
use tractable::optimize::{Optimizer, Optimum};
use tractable::{Activation, Device, Ensemble, Fit, Matrix, Network, Result, train::NoiseSchedule};

/// Evaluations nearer than this share of the axis are one observation for the picture's network.
const APART: f64 = 0.01;
/// Learning steps of that network, about.
const STEPS: usize = 10_000;

/// A search of one number that is done: a network learns the function from all that was told.
pub(super) fn of_one(
    title: &str,
    search: &Optimizer,
    f: &dyn Fn(f64) -> f64,
    known: Option<f64>,
) -> Result<Figure> {
    let range = search.bounds().pairs()[0];
    let (x, y): (Vec<f64>, Vec<f64>) = search.history().iter().filter_map(|t| Some((t.x[0], t.y?))).unzip();
    let asked: Vec<f64> = search.history().iter().map(|t| t.x[0]).collect();
    let net = learned(range, &x, &y)?;
    four_panels(&OptimumFigure {
        title,
        x_label: "x",
        y_label: "f(x)",
        net: &net,
        output: 0,
        range,
        truth: Some(f),
        data: (&x, &y),
        places: Places::Evaluated(&asked),
        known,
    })
}

/// The search crowds around the optimum: of points that are close only the last, in units of the whole range.
fn learned((low, high): (f64, f64), x: &[f64], y: &[f64]) -> Result<Network> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (&x, &y) in x.iter().zip(y).rev() {
        if kept.iter().all(|k| (k.0 - x).abs() > APART * (high - low)) {
            kept.push((x, y));
        }
    }
    let (x, y): (Vec<f64>, Vec<f64>) = kept.into_iter().unzip();
    let (x, y) = (Matrix::column(x)?, Matrix::column(y)?);
    let mut net = Network::mlp([1, 64, 64, 1], Activation::Tanh).device(Device::cpu(1)).build()?;
    let scaler = Scaler::new(vec![low / 2.0 + high / 2.0], vec![(high - low) / 4.0])?;
    net.set_scalers(Some(scaler), Some(Scaler::fit(&y)))?;
    let noise = NoiseSchedule { start: 0.5, decay: 0.97, floor: 0.05 };
    let epochs = (STEPS / x.rows()).clamp(100, 1000);
    net.fit(&Dataset::new(x, y)?, &Fit::new().epochs(epochs).batch(1).noise(noise))?;
    Ok(net)
}

/// A model of one input: what it predicts, how sure it is, and the optima that were found.
pub(super) fn of_model(
    model: &Ensemble,
    output: usize,
    (low, high): (f64, f64),
    (input, target): (&str, &str),
    optima: &[Optimum],
) -> Result<Figure> {
    const PLACES: usize = 200;
    let x: Vec<f64> = (0..=PLACES).map(|i| low + (high - low) * i as f64 / PLACES as f64).collect();
    let out = model.predict(&Matrix::column(x.clone())?)?;
    let (all_low, all_high) = out.interval(0.9)?;
    let width = model.output().units();
    let of = |all: &[f64]| -> Vec<f64> { all.iter().skip(output).step_by(width).copied().collect() };
    let places: Vec<f64> = optima.iter().map(|o| o.x.mean()[0]).collect();
    let values: Vec<f64> = optima.iter().map(|o| o.value.mean()[0]).collect();
    let panel = Panel::new("", input, target)
        .band("90 % of new values", Color::Blue, &x, &of(&all_low), &of(&all_high))
        .line("expected", Color::Blue, &x, &of(out.mean()))
        .points("optima", Color::Vermillion, &places, &values);
    Ok(Figure::new("Optima of the fitted model").panel(panel))
}

/// A search of several numbers that is done; beside a known best value as the distance from it.
pub(super) fn of_many(title: &str, search: &Optimizer, known: Option<f64>) -> Figure {
    let told = search.history().iter().enumerate();
    let shown = |y: f64| known.map_or(y, |k| (y - k).abs().max(1e-16));
    let (count, y): (Vec<f64>, Vec<f64>) = told.filter_map(|(i, t)| Some((i as f64 + 1.0, t.y?))).unzip();
    let mut best = y.first().copied().unwrap_or(f64::NAN);
    let so_far = y.iter().map(|&y| {
        best = if search.goal().better(y, best) { y } else { best };
        shown(best)
    });
    let so_far: Vec<f64> = so_far.collect();
    let y: Vec<f64> = y.iter().map(|&y| shown(y)).collect();
    let label = if known.is_some() { "distance from the known optimum" } else { "value" };
    let panel = Panel::new("", "evaluation", label).points("evaluated", Color::Vermillion, &count, &y).line(
        "best so far",
        Color::Blue,
        &count,
        &so_far,
    );
    Figure::new(title).panel(if known.is_some() { panel.log_y() } else { panel })
}
