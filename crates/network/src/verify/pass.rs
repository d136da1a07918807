//! Golden files of a whole pass: forward, observation, back, update; and of the input's posterior.

use super::Worst;
use super::json::Golden;
use super::tree::compare_probabilities;
use crate::graph::Graph;
use crate::layer::{Contents, Layer};
use crate::network::{Network, Spec, Trace};
use crate::output::{Noise, Observation, Output, Tree, Wanted};
use tractable_core::error::Result;
use tractable_core::gaussian::{Gaussian, Input};
use tractable_core::moments::{Activation, posterior};
use tractable_core::shape::{Padding, Shape, Window};
use tractable_devices::{Device, NoiseVar, Parameters, Reference, Seen, UpdateRule};

/// Layers a golden network may have.
pub const KINDS: [&str; 4] = ["linear", "conv2d", "avgpool2d", "maxpool2d"];

/// A golden network as ours, and where each of its layers lies in it: the states before and after the
/// activation (the same where there is none).
pub struct Net {
    /// The network.
    pub network: Network,
    /// The states of each golden layer.
    pub places: Vec<(usize, usize)>,
}

/// One forward, observation and backward pass, and the update that follows from it.
pub fn check(golden: &Golden, device: Device, worst: &mut Worst) -> Result<()> {
    let (mx, sx) = (golden.get("mx")?, golden.get("Sx")?);
    let Net { mut network, places } = build(golden, sample(&mx)?, device)?;
    let (mean, var, y) = (mx.numbers()?, sx.numbers()?, golden.get("y")?.numbers()?);
    let width = network.output().units();
    let (noise_at, mask_at) = (golden.get("R")?, golden.get("mask")?);
    let noise = noise_at.numbers()?;
    let noise = match noise.len() {
        1 => NoiseVar::One(noise[0]),
        n if n == y.len() => NoiseVar::PerEntry(&noise),
        n if n == width => NoiseVar::PerOutput(&noise),
        n => return Err(noise_at.error(format!("has {n} numbers"))),
    };
    let mask = if mask_at.is_null() { None } else { Some(mask_at.numbers()?) };
    let mask: Option<Vec<bool>> = mask.map(|m| m.iter().map(|&v| v != 0.0).collect());
    let entries = mean.len() / network.input().len() * width;
    if y.len() != entries || var.len() != mean.len() || mask.as_ref().is_some_and(|m| m.len() != entries) {
        return Err(golden.error(format!("mx, Sx, y and mask do not fit together: {entries} outputs")));
    }
    let seen = Seen { y: &y, noise, seen: mask.as_deref() };

    let x = Input::uncertain(&mean, &var, network.input().len())?;
    let trace = network.trace(x, seen)?;
    let backward = golden.get("backward")?;
    let (states, updated_net) = (golden.get("states")?.list()?, golden.get("updated")?.list()?);
    if states.len() != places.len() || updated_net.len() + 1 != places.len() {
        return Err(
            golden.error(format!("the network has {} layers; states or updated do not", places.len() - 1))
        );
    }
    for (l, state) in states.iter().enumerate() {
        let (z, a) = (&trace[places[l].0], &trace[places[l].1]);
        let mut compare = |key: &str, ours: &[f64]| worst.check(state, key, ours);
        compare("mz", &z.mean)?;
        compare("Sz", &z.var)?;
        compare("ma", &a.mean)?;
        compare("Sa", &a.var)?;
        compare("J", &a.slope.clone().unwrap_or_else(|| vec![1.0; a.mean.len()]))?;
        if state.has("argmax") {
            let picked = picked(&network, &trace, places[l].0, &state.get("argmax")?)?;
            worst.compare(format!("states[{l}].argmax"), &picked, &z.mean);
        }
        innovations(l, z, &backward, worst)?;
    }
    let posterior = golden.get("posterior_input")?;
    let (dm, ds) = moves(&trace[0]);
    let add = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<_>>();
    worst.check(&posterior, "mx", &add(&trace[0].mean, &dm))?;
    worst.check(&posterior, "Sx", &add(&trace[0].var, &ds))?;
    if golden.has("class_probabilities") {
        let probabilities = golden.get("class_probabilities")?;
        let tree = Tree::new(probabilities.dims().last().copied().unwrap_or(0))?;
        let out = &trace[trace.len() - 1];
        compare_probabilities(tree, &out.mean, &out.var, &probabilities, worst)?;
    }
    deltas(&network, &places, &trace, &backward.get("theta")?, worst)?;

    let prior = network.all_contents()?;
    network.learn_seen(x, seen)?;
    for (l, layer) in updated_net.iter().enumerate() {
        let at = places[l + 1].0 - 1;
        if let Some(updated) = network.contents(at)? {
            compare_updated(&prior[at].parameters, &updated.parameters, layer, worst)?;
        }
    }
    Ok(())
}

/// Iterated posterior of the input, given a label.
pub fn attack(golden: &Golden, device: Device, worst: &mut Worst) -> Result<()> {
    let x = golden.get("x")?;
    let Net { network, .. } = build(golden, sample(&x)?, device)?;
    let sigma_x = golden.get("sigma_x")?.number()?;
    let noise_var = golden.get("sigma_v")?.number()?.powi(2);
    let mut mean = x.numbers()?;
    let mut var = vec![sigma_x * sigma_x; mean.len()];
    let target = golden.get("target")?.labels()?;
    if target.len() != x.dims()[0] {
        return Err(golden.error(format!("{} inputs but {} targets", x.dims()[0], target.len())));
    }
    for iteration in golden.get("iterations")?.list()? {
        let probabilities = iteration.get("probabilities_after")?;
        let tree = Tree::new(probabilities.dims().last().copied().unwrap_or(0))?;
        let n = tree.nodes();
        let (mut y, mut seen) = (vec![0.0; target.len() * n], vec![false; target.len() * n]);
        for (row, &label) in target.iter().enumerate() {
            if label >= tree.classes() || n != network.output().units() {
                return Err(golden
                    .error(format!("target {label} or the output does not fit {} classes", tree.classes())));
            }
            tree.observe(label, &mut y[row * n..(row + 1) * n], &mut seen[row * n..(row + 1) * n]);
        }
        let prior = Gaussian::new(mean, var, network.input().len())?;
        let wanted = Wanted::from(Observation::values(&y, n)?.seen(&seen)).noise_var(noise_var);
        let mut input = network.searching(&prior, wanted)?;
        let out = input.round()?.output()?;
        let mut compare = |key: &str, ours: &[f64]| worst.check(&iteration, key, ours);
        compare("out_ma_before", out.mean())?;
        compare("out_Sa_before", out.var())?;
        [mean, var] = input.posterior()?.clone().into_parts();
        compare("mx", &mean)?;
        compare("Sx", &var)?;
        let out = network.predict(Input::exact(&mean, network.input().len())?)?;
        compare_probabilities(tree, out.mean(), out.var(), &probabilities, worst)?;
    }
    Ok(())
}

/// Posterior minus prior of a state, from its normalised innovations.
fn moves(t: &Trace) -> (Vec<f64>, Vec<f64>) {
    let mean = t.var.iter().zip(&t.d_mean).map(|(v, d)| v * d).collect();
    let var = t.var.iter().zip(&t.d_var).map(|(v, d)| v * v * d).collect();
    (mean, var)
}

fn innovations(l: usize, z: &Trace, backward: &Golden, worst: &mut Worst) -> Result<()> {
    let (dm, ds) = moves(z);
    // A unit without variance carries no innovation, by definition.
    let where_unsure = |d: &[f64]| -> Vec<f64> {
        d.iter().zip(&z.var).map(|(&d, &v)| if v == 0.0 { 0.0 } else { d }).collect()
    };
    let ours =
        [("dmz", dm), ("dSz", ds), ("innov_m", where_unsure(&z.d_mean)), ("innov_S", where_unsure(&z.d_var))];
    for (key, ours) in ours {
        let list = backward.get(key)?.list()?;
        let reference = list.get(l).ok_or_else(|| backward.error(format!("{key} ends before layer {l}")))?;
        // Only the input has no innovation in the file.
        if !reference.is_null() || l > 0 {
            worst.compare(reference.at(), &ours, &reference.numbers()?);
        }
    }
    Ok(())
}

/// Deltas of the parameters. The update itself adds them to the prior in the device's own precision, where
/// small ones drown; here they follow from the device's states and innovations in f64. What the update
/// makes of them is compared as `updated`.
pub fn deltas(
    network: &Network,
    places: &[(usize, usize)],
    trace: &[Trace],
    golden: &Golden,
    worst: &mut Worst,
) -> Result<()> {
    let theta = golden.list()?;
    if theta.len() != places.len() {
        return Err(golden.error(format!("has {} entries, not {}", theta.len(), places.len())));
    }
    for (l, &(at, _)) in places.iter().enumerate().skip(1) {
        let map = network.layers()[at - 1].map(network.graph.input_shape(at - 1))?;
        let (Some(contents), Some(map)) = (network.contents(at - 1)?, map) else { continue };
        let (x, z) = (&trace[at - 1], &trace[at]);
        let ours = Reference::deltas(map, &contents.parameters, &x.mean, &z.d_mean, &z.d_var);
        worst.check(&theta[l], "mw", &ours.mean)?;
        worst.check(&theta[l], "Sw", &ours.var)?;
        worst.check(&theta[l], "mb", &ours.bias_mean)?;
        worst.check(&theta[l], "Sb", &ours.bias_var)?;
    }
    Ok(())
}

/// Parameters after learning. A golden file holds the plain sum even where it drives a variance below zero;
/// such a variance is repaired in a network, and must be what the repair makes of it.
pub fn compare_updated(
    prior: &Parameters,
    ours: &Parameters,
    golden: &Golden,
    worst: &mut Worst,
) -> Result<()> {
    let repaired = |key: &str, prior: &[f64]| -> Result<Vec<f64>> {
        let plain = golden.get(key)?.numbers()?;
        if plain.len() != prior.len() {
            return Err(golden.error(format!("{key} has {} numbers, not {}", plain.len(), prior.len())));
        }
        let mend = |(v, p): (f64, &f64)| if v > 0.0 || *p == 0.0 { v } else { p * posterior::REPAIR };
        Ok(plain.into_iter().zip(prior).map(mend).collect())
    };
    worst.check(golden, "mw", &ours.mean)?;
    worst.check(golden, "mb", &ours.bias_mean)?;
    worst.compare(format!("{}.Sw", golden.at()), &ours.var, &repaired("Sw", &prior.var)?);
    worst.compare(format!("{}.Sb", golden.at()), &ours.bias_var, &repaired("Sb", &prior.bias_var)?);
    Ok(())
}

/// Means of the units that the golden file says max pooling picked, in the order of the pooled state: equal
/// to ours if the same units were picked, or ones that tie.
fn picked(network: &Network, trace: &[Trace], at: usize, argmax: &Golden) -> Result<Vec<f64>> {
    let (from, to) = (network.graph.input_shape(at - 1), network.graph.shapes[at]);
    let Layer::MaxPool2d { window } = network.layers()[at - 1] else {
        return Err(argmax.error("is given for a layer that is not max pooling"));
    };
    let index = argmax.numbers()?;
    let x = &trace[at - 1].mean;
    let mut picked = vec![0.0; trace[at].mean.len()];
    for (i, &k) in index.iter().enumerate() {
        // [row][position][channel], each an index into the window.
        let (row, position, channel) =
            (i / (to.channels * to.pixels()), i / to.channels % to.pixels(), i % to.channels);
        let (down, across) = (position / to.width, position % to.width);
        let (ky, kx) = (k as usize / window.kernel, k as usize % window.kernel);
        let y = (down * window.stride + ky).wrapping_sub(window.before());
        let xx = (across * window.stride + kx).wrapping_sub(window.before());
        let to_unit = (row * to.channels + channel) * to.pixels() + position;
        if y >= from.height || xx >= from.width || to_unit >= picked.len() {
            return Err(argmax.error("picks a padded cell"));
        }
        let unit = ((row * from.channels + channel) * from.height + y) * from.width + xx;
        picked[to_unit] = x[unit];
    }
    Ok(picked)
}

/// The shape of a sample of `x`, which is `[batch]` then the sample.
pub fn sample(x: &Golden) -> Result<Shape> {
    match x.dims()[..] {
        [_, n] => Ok(Shape::flat(n)),
        [_, c, h, w] => Ok(Shape::image(c, h, w)),
        _ => Err(x.error("is neither [batch][unit] nor [batch][channel][row][column]")),
    }
}

/// Our network from a golden one.
pub fn build(golden: &Golden, input: Shape, device: Device) -> Result<Net> {
    build_from(&golden.get("net")?, input, device)
}

/// Our network from a golden list of layers.
pub fn build_from(golden: &Golden, input: Shape, device: Device) -> Result<Net> {
    let (mut layers, mut contents, mut places) = (Vec::new(), Vec::new(), vec![(0, 0)]);
    for g in golden.list()? {
        let (layer, parameters) = layer(&g)?;
        layers.push(layer);
        contents.push(Contents { parameters, ..Contents::default() });
        let z = layers.len();
        let act = g.get("act")?;
        let function: Activation =
            act.text()?.parse().map_err(|_| act.error("is not an activation of this build"))?;
        if function != Activation::Identity {
            layers.push(function.into());
            contents.push(Contents::default());
        }
        places.push((z, layers.len()));
    }
    let names: Vec<String> = (1..=layers.len()).map(|i| format!("layer {i}")).collect();
    let inputs: Vec<_> = (0..layers.len()).map(|i| vec![i]).collect();
    let shapes = Graph::new(input, &layers, &names, &inputs, None)?.shapes;
    for ((layer, &shape), c) in layers.iter().zip(&shapes).zip(&contents) {
        let needed = layer.parameter_shape(shape)?.map_or((0, 0), |(d, b)| (d.iter().product(), b));
        if needed != (c.parameters.mean.len(), c.parameters.bias_mean.len()) {
            return Err(
                golden.error(format!("a {} layer has weights that do not fit its input", layer.kind()))
            );
        }
    }
    let output = Output::Values { width: shapes.last().map_or(0, Shape::len), noise: Noise::Known };
    let spec = Spec { update: UpdateRule::Plain, ..Spec::new(input, layers, names, output) };
    Ok(Net { network: Network::assemble(spec, &contents, device)?, places })
}

fn layer(g: &Golden) -> Result<(Layer, Parameters)> {
    let window = |kernel: usize| -> Result<Window> {
        let zeros = g.get("padding")?.whole()?;
        let padding = match g.get("padding_type")?.whole()? {
            2 => Padding::End(zeros),
            _ => Padding::Around(zeros),
        };
        Ok(Window { kernel, stride: g.get("stride")?.whole()?, padding })
    };
    let kind = g.get("kind")?;
    let layer = match kind.text()? {
        "linear" => Layer::linear(g.get("mb")?.numbers()?.len()),
        "conv2d" => {
            let dims = g.get("mw")?.dims();
            if dims.len() != 4 || dims[2] != dims[3] {
                return Err(g.error("has a window that is not square"));
            }
            Layer::Conv2d { channels: dims[0], window: window(dims[2])?, bias: true }
        }
        "avgpool2d" => Layer::AvgPool2d { window: window(g.get("k")?.whole()?)? },
        "maxpool2d" => Layer::MaxPool2d { window: window(g.get("k")?.whole()?)? },
        _ => return Err(kind.error("is not a layer of this build")),
    };
    if !g.has("mw") {
        return Ok((layer, Parameters::default()));
    }
    let part = |key: &str| g.get(key)?.numbers();
    let p = Parameters { mean: part("mw")?, var: part("Sw")?, bias_mean: part("mb")?, bias_var: part("Sb")? };
    if p.var.len() != p.mean.len() || p.bias_var.len() != p.bias_mean.len() {
        return Err(g.error("has different numbers of variances and means"));
    }
    Ok((layer, p))
}
