//! Part 1: a noisy curve with its uncertainty band, inside and outside the data, and its maximum and minimum by
//! conditioning.

use super::Stage;
use crate::page::Section;
use crate::plot::{Color, Figure, Panel};
use crate::report::Outcome;
use serde::Serialize;
use std::ops::ControlFlow;
use std::time::Instant;
use tractable::data::Dataset;
use tractable::ensemble::Settings;
use tractable::optimize::{Bounds, Goal, SearchSettings, search_ensemble};
use tractable::{Activation, Ensemble, Fit, Matrix, Network, condition::Wrt, metrics, rng};

const POINTS: usize = 400;
const NOISE: f64 = 0.3;
/// How often the network of the derivative sees the points.
const EPOCHS: usize = 40;
/// Where the data are, where extremes are looked for, and what the picture shows.
const DATA: f64 = 2.0;
const SOUGHT: f64 = 1.8;
const SHOWN: f64 = 3.0;
/// Of the axes in the pictures.
const SIZE: (f64, f64) = (330.0, 235.0);

fn truth(x: f64) -> f64 {
    x.powi(3) - 3.0 * x
}

/// A highest or lowest point: where it is said to be, and where it is.
#[derive(Serialize)]
struct Extreme {
    x: f64,
    x_std: f64,
    value: f64,
    truth: f64,
}

/// Line `curve` of `demo`.
#[derive(Serialize)]
struct Curve {
    /// Training points.
    points: usize,
    /// Lines, Gaussian processes and networks that predict.
    models: usize,
    /// In total.
    seconds: f64,
    /// Against the noise-free curve, on new points.
    rmse: f64,
    /// Share of new noisy points inside their 90 % interval.
    inside_90: f64,
    /// `x`, `x_std`, `value`, `truth`.
    maximum: Extreme,
    /// As `maximum`.
    minimum: Extreme,
}

pub(super) fn act(stage: &Stage) -> Outcome<Section> {
    let seed = stage.args.seed;
    let (x, y) = noisy(seed, 0)?;
    let data = Dataset::new(x.clone(), y.clone())?;
    let settings = Settings::default().seed(seed).threads(crate::console::threads());
    let settings = settings.visits(if stage.args.quick { 8_000 } else { 20_000 });
    let (began, mut progress) = (Instant::now(), None);
    let model = Ensemble::fit_with(&data, &settings, |s| {
        let bar = progress.get_or_insert_with(|| stage.progress(1000));
        bar.at(1000 * s.done / s.of, || format!("1/3 a noisy curve: {}", s.what));
        if crate::interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    stage.check()?;
    let model = model.expect("nobody interrupted it");
    let seconds = began.elapsed().as_secs_f64();
    let net = network(&data, seed)?;
    stage.check()?;
    let (fresh_x, fresh_y) = noisy(seed, 1)?;
    let out = model.predict(&fresh_x)?;
    let curve: Vec<f64> = fresh_x.data().iter().map(|&x| truth(x)).collect();
    let (lower, upper) = out.interval(0.9)?;
    let fresh = fresh_y.data().iter().zip(lower.iter().zip(&upper));
    let inside = fresh.filter(|(y, (l, u))| l <= y && y <= u).count();
    let found = Curve {
        points: POINTS,
        models: model.models(),
        seconds,
        rmse: metrics::rmse(&curve, out.mean())?,
        inside_90: inside as f64 / out.rows() as f64,
        maximum: extreme(&model, Goal::Maximum, -1.0)?,
        minimum: extreme(&model, Goal::Minimum, 1.0)?,
    };
    drop(progress);
    let figure = figure(&model, &x, &y, &found)?;
    let slope = slope(&net, &found)?;
    let percent = format!("{:.0} %", 100.0 * found.inside_90);
    let said = |e: &Extreme| format!("{:.3} ± {:.3}", e.x, e.x_std);
    stage.report.say("curve", &found, || {
        format!(
            "1/3 a noisy curve: learn {POINTS} points of y = x³ - 3x, then ask where the derivative is zero\n    error {:.3} \
             (the noise was {NOISE}); {percent} of new points are inside their 90 % interval\n    maximum at x = {} \
             (truth: -1), minimum at x = {} (truth: 1)\n",
            found.rmse,
            said(&found.maximum),
            said(&found.minimum)
        )
    })?;
    let caption = "400 noisy points, the prediction with the band that should contain 95 % of new points, and the extremes found. \
        Beyond ±2, where there are no data, the band widens.";
    let below = "The derivative of a single network, with its uncertainty: \
                 a network can be conditioned on a derivative of zero.";
    Ok(Section::new("curve", "1. A noisy curve and its maximum")
        .text(
            "Candidates learn the points in closed form. Each leaves out a fifth of them, and the left-out points \
             weigh and calibrate them. The extremes of what they say together are then looked for; a network of its own shows \
             the derivative, which is zero there.",
        )
        .facts(&[
            ("maximum at x (truth −1)", said(&found.maximum)),
            ("minimum at x (truth 1)", said(&found.minimum)),
            ("rmse to the true curve", format!("{:.3}", found.rmse)),
            ("new points inside 90 %", percent),
            ("models", found.models.to_string()),
            ("seconds", format!("{:.1}", found.seconds)),
        ])
        .pictures(&[stage.picture("curve", caption, &figure)?, stage.picture("derivative", below, &slope)?]))
}

/// One that learns the points by itself.
fn network(data: &Dataset, seed: u64) -> tractable::Result<Network> {
    let mut net = Network::mlp([1, 50, 50, 1], Activation::MixtureRelu).seed(seed).build()?;
    net.fit(
        &data.clone().standardize(),
        &Fit::new().epochs(EPOCHS).batch(8).noise_std(NOISE / 2.0).seed(seed),
    )?;
    Ok(net)
}

/// Inputs in the range of the data and noisy values of the curve.
fn noisy(seed: u64, part: u64) -> tractable::Result<(Matrix, Matrix)> {
    let mut rng = rng::stream(seed, "demo", part);
    let x: Vec<f64> = (0..POINTS).map(|i| DATA * (2.0 * (i as f64 + 0.5) / POINTS as f64 - 1.0)).collect();
    let y = x.iter().map(|&x| truth(x) + NOISE * rng::standard_normal(&mut rng)).collect();
    Ok((Matrix::column(x)?, Matrix::column(y)?))
}

/// The optimum of the model.
fn extreme(model: &Ensemble, goal: Goal, truth: f64) -> tractable::Result<Extreme> {
    let bounds = Bounds::new([(-SOUGHT, SOUGHT)])?;
    let best = search_ensemble(model, &bounds, goal, &SearchSettings::default())?.swap_remove(0);
    Ok(Extreme { x: best.x.mean()[0], x_std: best.x.std()[0], value: best.value.mean()[0], truth })
}

fn figure(model: &Ensemble, x: &Matrix, y: &Matrix, found: &Curve) -> tractable::Result<Figure> {
    let grid = grid();
    let out = model.predict(&Matrix::column(grid.clone())?)?;
    let curve: Vec<f64> = grid.iter().map(|&x| truth(x)).collect();
    // A quarter of the points can still be told apart.
    let few = |m: &Matrix| m.data().iter().step_by(4).copied().collect::<Vec<f64>>();
    let panel = Panel::new("", "x", "y")
        .points("data", Color::Grey, &few(x), &few(y))
        .gaussian("a new point", Color::Blue, &grid, out.mean(), &out.total_std())
        .dashed_line("true", Color::Ink, &grid, &curve);
    let panel = with_extremes(panel, found, |e| e.value).y_limits(-8.0, 8.0);
    Ok(Figure::new("").panel_size(SIZE.0, SIZE.1).panel(panel))
}

/// What conditioning looks at.
fn slope(net: &Network, found: &Curve) -> tractable::Result<Figure> {
    let grid = grid();
    let slope = net.derivative(&Matrix::column(grid.clone())?, Wrt::input())?;
    let std: Vec<f64> = slope.var().iter().map(|v| v.sqrt()).collect();
    let panel = Panel::new("", "x", "dy/dx")
        .gaussian("derivative", Color::Green, &grid, slope.mean(), &std)
        .dashed_line("true", Color::Ink, &grid, &grid.iter().map(|x| 3.0 * x * x - 3.0).collect::<Vec<_>>())
        .horizontal("zero", Color::Grey, 0.0);
    let panel = with_extremes(panel, found, |_| 0.0).y_limits(-6.0, 12.0);
    Ok(Figure::new("").panel_size(SIZE.0, SIZE.1).panel(panel))
}

fn grid() -> Vec<f64> {
    (0..=160).map(|i| SHOWN * (f64::from(i) / 80.0 - 1.0)).collect()
}

/// With the edges of the data and both extremes.
fn with_extremes(panel: Panel, found: &Curve, y: impl Fn(&Extreme) -> f64) -> Panel {
    let edges = [-DATA, DATA].into_iter();
    let mut panel = edges.fold(panel, |p, x| p.vertical("edge of the data", Color::Grey, x));
    for e in [&found.maximum, &found.minimum] {
        let (name, ends) = ("extreme ± 2 std", [e.x - 2.0 * e.x_std, e.x + 2.0 * e.x_std]);
        panel = panel.line(name, Color::Vermillion, &ends, &[y(e); 2]);
        panel = panel.points(name, Color::Vermillion, &[e.x], &[y(e)]);
    }
    panel
}
