//! A trained model, or a model of a data file: searched for its optima.

use super::figure::four_panels;
use super::{Args, Found, names};
use crate::report::{Outcome, Report, Stop, file_error};
use crate::run_folder;
use std::path::Path;
use tractable::data::{self, Target};
use tractable::optimize::{Bounds, Goal, Optimum, Search, search};
use tractable::{Activation, Device, Fit, Layer, Matrix, Network, Shape};

/// Optima that are reported.
const REPORTED: usize = 5;

/// Learns a column of a CSV file and searches inside the range of the others.
pub(super) fn of_data(args: &Args, path: &Path, target: &str) -> Outcome {
    let data = data::csv(path)?.target(target)?.standardize();
    let Target::Values { y, .. } = data.target().clone() else {
        return Err(Stop::Error(format!("{}: column `{target}` is not a number", path.display())));
    };
    let x: Matrix = data.x().clone();
    let mut net = Network::builder(Shape::flat(data.width()))
        .layer(Layer::linear(64))
        .layer(Activation::Tanh)
        .layer(Layer::linear(64))
        .layer(Activation::Relu)
        .layer(Layer::linear(1))
        .seed(args.seed)
        .device(Device::cpu(1))
        .build()?;
    let noise = if args.noise_std > 0.0 { args.noise_std / spread(y.data()) } else { 0.1 };
    net.fit(&data, &Fit::new().epochs(100).batch(1).noise_std(noise).seed(args.seed))?;
    let range = |k: usize| {
        let column = x.data().iter().skip(k).step_by(x.width());
        column.fold((f64::MAX, f64::MIN), |(low, high), &v| (low.min(v), high.max(v)))
    };
    let pairs = match args.given_bounds()? {
        Some(pairs) => pairs,
        None => (0..x.width()).map(range).collect(),
    };
    let names = data.input_names().to_vec();
    let names = if names.is_empty() { super::names(x.width()) } else { names };
    finish(args, &net, pairs, &names, Some((x.data(), y.data())))
}

/// Searches a model that was trained before.
pub(super) fn of_run(args: &Args, path: &Path) -> Outcome {
    let net = run_folder::load_trained(path, Device::default())?;
    let Some(pairs) = args.given_bounds()? else {
        return Err(Stop::Error("--bounds: a model needs to be told where to search".into()));
    };
    let own = net.input_names().to_vec();
    let names = if own.is_empty() { names(net.input().len()) } else { own };
    finish(args, &net, pairs, &names, None)
}

fn finish(
    args: &Args,
    net: &Network,
    pairs: Vec<(f64, f64)>,
    names: &[String],
    data: Option<(&[f64], &[f64])>,
) -> Outcome {
    let bounds = Bounds::new(pairs)?;
    let goal = args.goal().unwrap_or(Goal::Minimum);
    let optima = search(net, &bounds, goal, &Search { seed: args.seed, ..Search::default() })?;
    let report = Report::new(args.json);
    optima.iter().take(REPORTED).try_for_each(|o| Found::new(o).say(report, names))?;
    let Some(dir) = &args.out else { return Ok(()) };
    std::fs::create_dir_all(dir).map_err(file_error(dir, "make this folder"))?;
    if let [range] = bounds.pairs() {
        let places: Vec<_> = optima.iter().take(1).map(|o: &Optimum| o.x.clone()).collect();
        let data = data.unwrap_or((&[], &[]));
        four_panels("Optima of what was learned", net, *range, None, data, &places, None)?
            .save(&dir.join("optimum"))?;
    }
    net.save(dir.join("model.safetensors"))?;
    Ok(())
}

fn spread(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let var = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
    if var > 0.0 { var.sqrt() } else { 1.0 }
}
