//! A trained model, or a model of a data file: searched for its optima.

use super::{Args, Found, check_folder, figure, keep, names};
use crate::plot::{OptimumFigure, Places, four_panels};
use crate::report::{Exit, Outcome, Report, file_error};
use crate::run::{self, commands};
use std::path::Path;
use tractable::data::{self, Target};
use tractable::optimize::{Bounds, Goal, Optimum, SearchSettings, search, search_ensemble};
use tractable::{Activation, Device, Ensemble, Fit, Layer, Matrix, Network, Shape, network::Output};

/// Optima that are reported.
const REPORTED: usize = 5;
/// Noise of the data in standard deviations of the target, unless it is given.
const NOISE: f64 = 0.1;
/// The network that was learned from data.
const MODEL: &str = "model.safetensors";

/// Learns a column of a CSV file and searches inside the range of the others.
pub(super) fn of_data(args: &Args, path: &Path, target: &str) -> Outcome {
    check_folder(args)?;
    let data = data::csv(path)?.target(target)?.standardize();
    let Target::Values { y, observed } = data.target() else {
        return Err(Exit::Error(format!("{}: column `{target}` is not a number", path.display())));
    };
    let x: &Matrix = data.x();
    // Rows without a target say where to search and nothing else.
    let seen: Vec<usize> = (0..y.rows()).filter(|&i| observed.as_ref().is_none_or(|o| o[i])).collect();
    let y = y.select(&seen);
    if y.width() > 1 {
        return Err(Exit::Error(format!("--target: one column, not {}", y.width())));
    }
    let mut net = Network::builder(Shape::flat(data.width()))
        .layer(Layer::linear(64))
        .layer(Activation::Tanh)
        .layer(Layer::linear(64))
        .layer(Activation::Relu)
        .layer(Layer::linear(1))
        .seed(args.seed)
        .device(Device::cpu(1))
        .build()?;
    let noise = if args.noise_std > 0.0 { args.noise_std / spread(y.data()) } else { NOISE };
    // Few rows are gone through more often.
    let epochs = (10_000 / y.rows().max(1)).clamp(100, 1000);
    net.fit(&data, &Fit::new().epochs(epochs).batch(1).noise_std(noise).seed(args.seed))?;
    let range = |k: usize| {
        let column = x.data().iter().skip(k).step_by(x.width());
        column.fold((f64::MAX, f64::MIN), |(low, high), &v| (low.min(v), high.max(v)))
    };
    let pairs = match args.given_bounds()? {
        Some(pairs) => pairs,
        None => (0..x.width()).map(range).collect(),
    };
    let x = x.select(&seen);
    let bounds = Bounds::new(pairs)?;
    if let Some(dir) = &args.out
        && dir.join(MODEL).exists()
        && !args.force
    {
        return Err(Exit::Error(format!(
            "{}: already contains a model; choose another folder",
            dir.display()
        )));
    }
    finish(args, &net, &bounds, 0, (x.data(), y.data()))?;
    match &args.out {
        Some(dir) => Ok(net.save(dir.join(MODEL))?),
        None => Ok(()),
    }
}

/// Searches a model that was trained before.
pub(super) fn of_run(args: &Args, path: &Path) -> Outcome {
    check_folder(args)?;
    let model = run::load_any(path)?;
    let Output::Values { width, .. } = model.output() else {
        let why = format!("{}: a classifier cannot be optimised; use a regression model", path.display());
        return Err(Exit::Error(why));
    };
    let names = model.output_names();
    let output = match &args.target {
        None if width == 1 => Some(0),
        None => None,
        Some(name) => names.iter().position(|n| n == name),
    };
    let Some(output) = output else {
        let why = format!("--target: choose one of the model's targets: {}", names.join(", "));
        return Err(Exit::Error(why));
    };
    let Some(pairs) = args.given_bounds()? else {
        return Err(Exit::Error("--bounds: needed for a model".into()));
    };
    let bounds = Bounds::new(pairs)?;
    let mut networks = model.networks();
    match (networks.next(), model.models()) {
        (Some(net), 1) if net.layers().len() > 1 => finish(args, net, &bounds, output, (&[], &[])),
        _ => of_several(args, &model, &bounds, output),
    }
}

/// What `train` makes unless it is told otherwise: several networks, calibrated together.
fn of_several(args: &Args, model: &Ensemble, bounds: &Bounds, output: usize) -> Outcome {
    let goal = args.goal().unwrap_or(Goal::Minimum);
    let how = SearchSettings { seed: args.seed, output, ..SearchSettings::default() };
    let optima = keep_found(args, goal, search_ensemble(model, bounds, goal, &how)?, model.input_names())?;
    let (Some(dir), [range]) = (&args.out, bounds.pairs()) else { return Ok(()) };
    let names = (&model.input_names()[0][..], &model.output_names()[output][..]);
    figure::of_model(model, output, *range, names, &optima)?.save(&dir.join("optimum"))
}

/// Says what was found, and keeps it.
fn keep_found(args: &Args, goal: Goal, mut optima: Vec<Optimum>, own: &[String]) -> Outcome<Vec<Optimum>> {
    optima.truncate(REPORTED);
    let report = Report::new(args.json);
    let width = optima.first().map_or(0, |o| o.x.mean().len());
    let names = if own.is_empty() { names(width) } else { own.to_vec() };
    optima.iter().try_for_each(|o| Found::new(o).say(report, &names))?;
    if let Some(dir) = &args.out {
        std::fs::create_dir_all(dir).map_err(file_error(dir, "make this folder"))?;
        keep(dir, args, goal, &optima)?;
        commands::note(dir, true)?;
    }
    Ok(optima)
}

fn finish(args: &Args, net: &Network, bounds: &Bounds, output: usize, data: (&[f64], &[f64])) -> Outcome {
    let goal = args.goal().unwrap_or(Goal::Minimum);
    let optima =
        search(net, bounds, goal, &SearchSettings { seed: args.seed, output, ..SearchSettings::default() })?;
    let optima = keep_found(args, goal, optima, net.input_names())?;
    let (Some(dir), &[range]) = (&args.out, bounds.pairs()) else { return Ok(()) };
    let mean: Vec<f64> = optima.iter().map(|o| o.x.mean()[0]).collect();
    let std: Vec<f64> = optima.iter().map(|o| o.x.std()[0]).collect();
    let value: Vec<f64> = optima.iter().map(|o| o.value.mean()[0]).collect();
    let figure = four_panels(&OptimumFigure {
        title: "Optima of the fitted model",
        x_label: net.input_names().first().map_or("x", |n| n),
        y_label: net.output_names().get(output).map_or("y", |n| n),
        net,
        output,
        range,
        truth: None,
        data,
        places: Places::Optima { mean: &mean, std: &std, value: &value },
        known: None,
    })?;
    figure.save(&dir.join("optimum"))
}

fn spread(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let var = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
    if var > 0.0 { var.sqrt() } else { 1.0 }
}
