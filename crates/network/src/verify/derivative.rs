//! Golden files of derivatives, and of inputs that move until one is zero.

use super::Worst;
use super::json::Golden;
use super::pass::{Net, build};
use crate::derivative::{Derivative, Wrt};
use crate::network::Network;
use crate::output::Wanted;
use tractable_core::error::Result;
use tractable_core::gaussian::{Gaussian, Input};
use tractable_core::moments::derivative::{Gate, stationary};
use tractable_core::shape::Shape;
use tractable_devices::Device;

/// Variants of a derivative that this build computes; the others sum over branches in other ways.
const VARIANTS: [(&str, Gate); 2] = [("code/both", Gate::Both), ("code/input", Gate::Input)];

/// The derivative by every layer.
pub(super) fn check(golden: &Golden, device: Device, worst: &mut Worst) -> Result<()> {
    let (mx, sx) = (golden.get("mx")?, golden.get("Sx")?);
    let width = mx.dims().last().copied().unwrap_or(0);
    let Net { network, places } = build(golden, Shape::flat(width), device.clone())?;
    let x = Gaussian::new(mx.numbers()?, sx.numbers()?, width)?;
    let variants = golden.get("variants")?;
    for (name, gate) in VARIANTS.into_iter().filter(|(name, _)| variants.has(name)) {
        let variant = variants.get(name)?;
        for (l, &(place, _)) in places.iter().enumerate() {
            let d = by_layer(&network, &x, place, gate)?;
            for (key, ours) in [("M", d.mean()), ("V", d.var()), ("C", d.cov())] {
                let layers = variant.get(key)?.list()?;
                let Some(reference) = layers.get(l) else {
                    return Err(variant.error(format!("`{key}` has {} layers", layers.len())));
                };
                worst.compare(format!("{name}.{key}[{l}]"), ours, &reference.numbers()?);
            }
        }
    }
    Ok(())
}

fn by_layer(network: &Network, x: &Gaussian, place: usize, gate: Gate) -> Result<Derivative> {
    let layer = match place.checked_sub(1) {
        None => "input",
        Some(i) => &network.layer_names()[i],
    };
    network.derivative(x, Wrt::from(layer).gate(gate))
}

/// Inputs that follow a derivative. Every step starts where the file's own steps do, so that rounding does not add up;
/// the last one is taken by `condition` itself.
pub(super) fn trajectory(golden: &Golden, device: Device, worst: &mut Worst) -> Result<()> {
    for run in &golden.get("runs")?.list()? {
        let (mx, sx) = (run.get("mx")?, run.get("Sx")?);
        let steps = mx.dims()[0].max(1);
        let width = mx.numbers()?.len() / steps;
        let Net { network, .. } = build(golden, Shape::flat(width), device.clone())?;
        let x = Gaussian::new(mx.numbers()?, sx.numbers()?, width)?;
        let gate = match run.has("gate") && run.get("gate")?.text()? == "input" {
            true => Gate::Input,
            false => Gate::Both,
        };
        let (wanted, towards) = match run.has("alpha") {
            false => (Wanted::stationary(), 0.0),
            true if run.get("alpha")?.number()? > 0.0 => (Wanted::maximum(), 1.0),
            true => (Wanted::minimum(), -1.0),
        };
        let mut compare = |key: &str, ours: &[f64]| worst.check(run, key, ours);
        let d = network.derivative(&x, Wrt::input().gate(gate))?;
        compare("M", d.mean())?;
        compare("V", d.var())?;
        compare("C", d.cov())?;
        let step = |i: usize| stationary(d.mean()[i], d.var()[i], d.cov()[i], towards);
        let steps: Vec<_> = (0..d.mean().len()).map(step).collect();
        compare("dm", &steps.iter().map(|s| s.0).collect::<Vec<_>>())?;
        compare("dS", &steps.iter().map(|s| s.1).collect::<Vec<_>>())?;
        if run.has("my") {
            let [mean, var] = network.forward(Input::from(&x))?.read_prior(network.graph.output())?;
            compare("my", &mean)?;
            compare("Sy", &var)?;
        }
        let after = network.search(&x, wanted.gate(gate))?;
        let last = after.mean().len() - width..;
        compare("final_mx", &after.mean()[last.clone()])?;
        compare("final_Sx", &after.var()[last])?;
    }
    Ok(())
}
