//! Golden files of reinforcement learning: one mini-batch, returns, running statistics.

use super::{After, How, Running, beside, infer_actions, learn_actions, learn_values, targets};
use tractable_core::error::Result;
use tractable_core::gaussian::Input;
use tractable_core::moments::derivative::Gate;
use tractable_core::shape::Shape;
use tractable_devices::{Device, NoiseVar, Seen};
use tractable_network::verify::{
    Worst,
    json::Golden,
    pass::{Net, build_from, compare_updated, deltas},
};

/// Recomputes a golden file of agents; false if it is of another kind.
pub fn check(golden: &Golden, device: Device, worst: &mut Worst) -> Result<bool> {
    let has = |keys: &[&str]| keys.iter().all(|key| golden.has(key));
    match () {
        () if has(&["Q", "A"]) => minibatch(golden, device, worst)?,
        () if has(&["cases"]) => returns(golden, worst)?,
        () if has(&["rows"]) => running(golden, worst)?,
        () => return Ok(false),
    }
    Ok(true)
}

/// A mini-batch: the value network learns, then actions are inferred from it as it is now, and the policy learns.
fn minibatch(golden: &Golden, device: Device, worst: &mut Worst) -> Result<()> {
    let numbers = |key: &str| golden.get(key)?.numbers();
    let (s, u, my, sy) = (numbers("s")?, numbers("u")?, numbers("my")?, numbers("Sy")?);
    let rows = my.len();
    let (ns, na) = (s.len() / rows.max(1), u.len() / rows.max(1));
    if rows == 0 || s.len() != rows * ns || u.len() != rows * na || sy.len() != rows || ns * na == 0 {
        return Err(golden.error("s, u, my and Sy do not fit together"));
    }
    let actions: Vec<f64> = u.iter().map(|u| libm::tanh(*u)).collect();
    let (noise_q, noise_a) = (golden.get("sigma_v_q")?.number()?, golden.get("sigma_v_a")?.number()?);

    let Net { network: mut value, places } =
        build_from(&golden.get("Q")?, Shape::flat(ns + na), device.clone())?;
    let mut x = Vec::new();
    beside(&s, &actions, rows, &mut x);
    let noise: Vec<f64> = sy.iter().map(|s| noise_q * noise_q + s).collect();
    let seen = Seen { y: &my, noise: NoiseVar::PerEntry(&noise), seen: None };
    let out = value.predict(Input::exact(&x, ns + na)?)?;
    worst.check(&golden.get("q_out")?, "ma", out.mean())?;
    worst.check(&golden.get("q_out")?, "Sa", out.var())?;
    let trace = value.trace(Input::exact(&x, ns + na)?, seen)?;
    deltas(&value, &places, &trace, &golden.get("q_theta_delta")?, worst)?;
    let prior = value.all_contents()?;
    learn_values(&mut value, &x, (&my, &sy), noise_q)?;
    let updated = value.all_contents()?;
    let layers = golden.get("Q_updated")?.list()?;
    if layers.len() + 1 != places.len() {
        return Err(golden.error("Q_updated does not have the layers of Q"));
    }
    for (layer, &(place, _)) in layers.iter().zip(&places[1..]) {
        let (prior, updated) = (&prior[place - 1].parameters, &updated[place - 1].parameters);
        compare_updated(prior, updated, layer, worst)?;
    }

    for (name, gate) in [("both", Gate::Both), ("input", Gate::Input)] {
        let reference = golden.get("policy")?.get(name)?;
        let Net { network: mut policy, places } =
            build_from(&golden.get("A")?, Shape::flat(ns), device.clone())?;
        let inferred =
            infer_actions(&value, &policy, &s, How { gate, steps: 1, second_order: false, cut: false })?;
        let [slope, slope_var, cov] = &inferred.slope;
        let mut compare = |key: &str, ours: &[f64]| worst.check(&reference, key, ours);
        compare("ma", inferred.policy.mean())?;
        compare("Sa", inferred.policy.var())?;
        compare("dq_da_mean", slope)?;
        compare("dq_da_var", slope_var)?;
        compare("cov", cov)?;
        compare("target_mean", inferred.better.mean())?;
        compare("target_var", inferred.better.var())?;
        let noise: Vec<f64> = inferred.better.var().iter().map(|s| noise_a * noise_a + s).collect();
        let seen = Seen { y: inferred.better.mean(), noise: NoiseVar::PerEntry(&noise), seen: None };
        let trace = policy.trace(Input::exact(&s, ns)?, seen)?;
        let z = &trace[places[places.len() - 1].0];
        let moved = |d: &[f64], power: i32| -> Vec<f64> {
            z.var.iter().zip(d).map(|(v, d)| v.powi(power) * d).collect()
        };
        compare("dmz_out", &moved(&z.d_mean, 1))?;
        compare("dSz_out", &moved(&z.d_var, 2))?;
        deltas(&policy, &places, &trace, &reference.get("theta_delta")?, worst)?;
        let before = policy.all_contents()?;
        learn_actions(&mut policy, &s, &inferred, noise_a)?;
        // The file has no updated policy: prior and delta are it.
        let after = policy.all_contents()?;
        for (l, delta) in reference.get("theta_delta")?.list()?.iter().enumerate().skip(1) {
            let at = places[l].0 - 1;
            let (prior, d) = (&before[at].parameters.mean, delta.get("mw")?.numbers()?);
            let wanted: Vec<f64> = prior.iter().zip(&d).map(|(p, d)| p + d).collect();
            worst.compare(format!("{}.mw, learned", delta.at()), &after[at].parameters.mean, &wanted);
        }
    }
    Ok(())
}

/// Returns of rollouts, with episodes that end in between.
fn returns(golden: &Golden, worst: &mut Worst) -> Result<()> {
    for case in golden.get("cases")?.list()? {
        let number = |key: &str| case.get(key)?.number();
        let (rewards, dones) = (case.get("rewards")?.numbers()?, case.get("dones")?.numbers()?);
        if rewards.len() != dones.len() {
            return Err(case.error("has different numbers of rewards and dones"));
        }
        let ended = |d: &f64| if *d != 0.0 { After::Ended { mean: 0.0, var: 0.0 } } else { After::GoesOn };
        let after: Vec<After> = dones.iter().map(ended).collect();
        let beyond = (number("q_last")?, number("Sq_last")?);
        let (mean, var) = targets(&rewards, &after, beyond, number("gamma")?, None);
        worst.check(&case, "my", &mean)?;
        worst.check(&case, "Sy", &var)?;
    }
    Ok(())
}

/// Running statistics, one observation after another.
fn running(golden: &Golden, worst: &mut Worst) -> Result<()> {
    let rows = golden.get("rows")?.list()?;
    let width = rows.first().map_or(Ok(0), |r| r.get("x")?.numbers().map(|x| x.len()))?;
    let mut seen = Running::new(width);
    for row in &rows {
        let mut x = row.get("x")?.numbers()?;
        seen.update(&x);
        seen.normalize(&mut x);
        worst.check(row, "mean", seen.mean())?;
        worst.check(row, "var", seen.var())?;
        worst.check(row, "count", &[seen.count()])?;
        worst.check(row, "normalised", &x)?;
    }
    Ok(())
}
