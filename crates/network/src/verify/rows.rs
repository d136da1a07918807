//! Golden files of rows: slopes and covariance of the outputs, and what follows from them for the input.

use super::Worst;
use super::json::Golden;
use super::pass::{Net, build, sample};
use crate::condition::linear::{Linearised, condition_on};
use crate::condition::{Covariance, Prior, Task, iterate};
use crate::network::{Ask, Chosen};
use tractable_core::error::Result;
use tractable_core::gaussian::Input;
use tractable_devices::{Device, Field};

/// Every row of the batch by itself.
pub(super) fn check(golden: &Golden, device: Device, worst: &mut Worst) -> Result<()> {
    let (mx, sx) = (golden.get("mx")?, golden.get("Sx")?);
    let Net { network, .. } = build(golden, sample(&mx)?, device)?;
    let (d, units) = (network.input().len(), network.output().units());
    let [mean, var, y, mask] = ["mx", "Sx", "y", "mask"].map(|key| golden.get(key)?.numbers());
    let (mean, var, y, mask, noise) = (mean?, var?, y?, mask?, golden.get("R")?.numbers()?);
    let adjoint = golden.get("adjoint")?.list()?;
    let rows = adjoint.len();
    if [mean.len(), var.len()] != [rows * d; 2]
        || [y.len(), mask.len()] != [rows * units; 2]
        || noise.len() != units
    {
        return Err(sx.error(format!("mx, Sx, y, R and mask do not fit {rows} rows of adjoint")));
    }
    for (b, golden) in adjoint.iter().enumerate() {
        let (mean, var) = (&mean[b * d..][..d], &var[b * d..][..d]);
        let x = Input::uncertain(mean, var, d)?;
        let all = network.rows(x, &Chosen::all(units, 1), Ask::Both)?;
        worst.check(golden, "my", &all.mean)?;
        worst.check(golden, "A", &all.slopes)?;
        worst.check(golden, "Om", &all.spread)?;
        worst.check(golden, "cov_y", &all.covariance(0, Some(var)))?;
        let pass = network.forward(x)?;
        worst.check(golden, "Sy_diagonal", &pass.read(network.graph.output(), Field::Var)?)?;

        let outputs: Vec<usize> = (0..units).filter(|o| mask[b * units + o] != 0.0).collect();
        let task = Task {
            at: 0,
            prior: Prior { mean: mean.to_vec(), covariance: Covariance::Diagonal(var.to_vec()) },
            chosen: Chosen { k: outputs.len(), outputs: outputs.iter().map(|&o| Some(o)).collect() },
            y: outputs.iter().map(|&o| y[b * units + o]).collect(),
            noise: outputs.iter().map(|&o| noise[o]).collect(),
            class: None,
            known_weights: false,
        };
        let seen = network.rows(x, &task.chosen, Ask::Both)?;
        let out = Linearised { at: mean, mean: &seen.mean, slopes: &seen.slopes, spread: &seen.spread };
        let once = condition_on(&task.prior, &out, &task.wish());
        let posterior = golden.get("posterior")?;
        worst.check(&posterior, "mean", &once.mean)?;
        worst.check(&posterior, "var", &once.var)?;
        let k = task.chosen.k;
        let turned: Vec<f64> = (0..d * k).map(|i| once.factor[i % k * d + i / k]).collect();
        worst.check(&posterior, "factor", &turned)?;
        // To the end, however little it still moves.
        let ended = &iterate(&network, std::slice::from_ref(&task), None, 0.0)?[0].updated;
        let iterated = golden.get("iterated10")?;
        worst.check(&iterated, "mean", &ended.mean)?;
        worst.check(&iterated, "var", &ended.var)?;
        let exact = network.rows(Input::exact(mean, d)?, &task.chosen, Ask::Spread)?;
        worst.check(golden, "log_weight", &[task.ln_likelihood(&exact.mean, &exact.spread)])?;
    }
    Ok(())
}
