//! Attacks on our own networks.

use crate::arrays::{Numbers, array, labels, rows};
use crate::errors::{OrRaise, invalid};
use crate::network::Network;
use crate::progress::interruptible;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tractable::attack::{Settings, Targets, fgsm, infer, pgd};

/// Changes images until the network misclassifies them; arrays with one row per attack.
#[pyfunction]
#[pyo3(name = "_attack")]
#[allow(clippy::too_many_arguments)]
pub(crate) fn attack<'py>(
    py: Python<'py>,
    network: &Network,
    images: &Bound<'py, PyAny>,
    shown: &Bound<'py, PyAny>,
    targets: &Bound<'py, PyAny>,
    method: &str,
    iterations: usize,
    prior_std: f64,
    range: Option<(f64, f64)>,
    budget: Option<&str>,
    known_weights: bool,
    step: Option<f64>,
    random_start: bool,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let (shown, net) = (labels(shown, "labels")?, network.read().or_raise()?);
    let width = net.input().len();
    let images = Numbers::of(images, "images")?.matrix(width, "images")?;
    let wanted;
    let targets = match targets.extract::<&str>() {
        Ok("all") => Targets::all_wrong(&shown),
        Ok("random") => Targets::random(&shown, seed),
        Ok("least-likely") => Targets::least_likely(&shown),
        Ok("any") => Targets::untargeted(&shown),
        Ok(other) => {
            return Err(invalid(
                "targets",
                format!("`{other}` is not any, all, random, least-likely or classes"),
            ));
        }
        Err(_) => {
            wanted = labels(targets, "targets")?;
            Targets::given(&shown, &wanted)
        }
    };
    let mut how = Settings::new().iterations(iterations).prior_std(prior_std);
    how = match range {
        Some((low, high)) => how.range(low, high),
        None => how.unclipped(),
    };
    if let Some(budget) = budget {
        how = how.budget(budget.parse().map_err(|why: String| invalid("budget", why))?);
    }
    if !known_weights {
        how = how.unsure_weights();
    }
    if let Some(step) = step {
        how = how.step(step);
    }
    if random_start {
        how = how.random_start(seed);
    }
    let found = interruptible(py, || match method {
        "infer" => infer(&net, &images, &targets, &how),
        "pgd" => pgd(&net, &images, &targets, &how),
        "fgsm" => fgsm(&net, &images, &targets, &how),
        other => Err(tractable::Error::Invalid {
            what: "method".into(),
            why: format!("`{other}` is not infer, pgd or fgsm"),
        }),
    })?;
    let out = PyDict::new(py);
    let numbers =
        |f: &dyn Fn(&tractable::attack::Attacked) -> f64| array(py, found.iter().map(f).collect(), &[0]);
    let all = |f: &dyn Fn(&tractable::attack::Attacked) -> Vec<f64>, width: usize| {
        rows(py, found.iter().flat_map(f).collect(), width)
    };
    out.set_item("image", numbers(&|a| a.image as f64)?)?;
    out.set_item("label", numbers(&|a| a.label as f64)?)?;
    out.set_item("target", numbers(&|a| a.target.map_or(-1.0, |t| t as f64))?)?;
    out.set_item("success", numbers(&|a| f64::from(u8::from(a.success)))?)?;
    out.set_item("l_inf", numbers(&|a| a.l_inf)?)?;
    out.set_item("l2", numbers(&|a| a.l2)?)?;
    out.set_item("iterations", numbers(&|a| a.iterations as f64)?)?;
    out.set_item("images", all(&|a| a.result(images.row(a.image)), width)?)?;
    out.set_item("std", all(&|a| a.change.std(), width)?)?;
    let classes = found.first().map_or(1, |a| a.after.len());
    out.set_item("before", all(&|a| a.before.clone(), classes)?)?;
    out.set_item("after", all(&|a| a.after.clone(), classes)?)?;
    Ok(out)
}
