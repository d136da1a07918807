//! Conditioning with all candidates of a model: points are weighted by the calibrated predictions there.

use super::member::{Form, scaled, set_weights};
use super::process::Process;
use super::{Candidate, Ensemble};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Input, Matrix};
use tractable_network::condition::{Answer, Covariance, EXACTLY, MOST_POINTS, Posterior, Prior, pool};
use tractable_network::network::Network;
use tractable_network::output::{
    Aim, DefaultNoise, Observation, ObservationBuffer, Output, Wanted, ln_mixed,
};

/// The largest number that is wanted: its square must not overflow.
const LARGEST: f64 = 1e150;
/// How often a line touches a Gaussian process, each time where the last one answered.
const TOUCHES: usize = 5;
/// Places among which the largest or smallest output is looked for.
const PLACES: usize = 2048;

pub(super) fn condition(model: &Ensemble, x: Input<'_>, wanted: Wanted<'_>) -> Result<Posterior> {
    if wanted.layer.is_some_and(|layer| layer != "input") {
        let why = "an ensemble has no common hidden layer; use one of its networks";
        return Err(Error::invalid("layer", why));
    }
    let first = match wanted.goal {
        Aim::Output(_) => model.first(),
        _ => model.networks().find(|net| net.layers().len() > 1).unwrap_or(model.first()),
    };
    let x = first.check_input(x)?;
    // Without a network that bends, maxima are looked for in another way.
    if matches!(wanted.goal, Aim::Output(_)) || first.layers().len() > 1 {
        first.conditioned(x, &wanted)?;
    }
    let Aim::Output(observation) = &wanted.goal else { return pooled(model, x, wanted) };
    let shared = wanted.covariance.map(|c| Covariance::given(c, x.width(), |_| 1.0)).transpose()?;
    let free = |v: &[f64]| v.iter().filter(|&&v| v > 0.0).count();
    let most = match (&shared, x.var()) {
        (Some(_), _) => x.width(),
        (None, var) => var.map_or(0, |v| v.chunks_exact(x.width()).map(free).max().unwrap_or(0)),
    };
    if most > MOST_POINTS {
        return pooled(model, x, wanted);
    }
    let (output, mut buffer) = (first.output(), ObservationBuffer::default());
    buffer.fill(observation, DefaultNoise::Var(wanted.noise_var), output, None, x.rows(), LARGEST)?;
    let units = output.units();
    let mut answers = Vec::with_capacity(x.rows());
    for row in 0..x.rows() {
        let one = x.rows_between(row, row + 1);
        let var = one.var().map_or(vec![0.0; x.width()], <[f64]>::to_vec);
        let covariance = shared.clone().unwrap_or(Covariance::Diagonal(var));
        let prior = Prior { mean: one.mean().to_vec(), covariance };
        let wish = buffer.rows_between(row..row + 1, units);
        let is_seen = |o: &usize| wish.seen().is_none_or(|s| s[*o]);
        if prior.free().is_empty() || !(0..units).any(|o| is_seen(&o)) {
            answers.push(Answer::nothing(prior));
            continue;
        }
        let label = observation.label(row);
        let least = if label.is_some() { vec![0.0; units] } else { least_noise(model, &prior)? };
        let mut weigh = |places: &[f64]| -> Result<Vec<f64>> {
            let places = Matrix::new(places.to_vec(), x.width())?;
            if let (Output::Classes { classes, .. }, Some(label)) = (output, label) {
                let p = model.predict_classes(&places)?;
                return Ok(p.data().chunks_exact(classes).map(|p| libm::log(p[label])).collect());
            }
            let out = model.predict(&places)?;
            let ln = |i: usize| {
                let entry = |o: usize| {
                    let at = i * units + o;
                    let noise = wish.noise_at(0, o, units).max(least[o]);
                    let each = |[mean, var, _]: [f64; 3]| {
                        let var = if wanted.known_weights { 0.0 } else { var } + noise;
                        let off = wish.y()[o] - mean;
                        -0.5 * (off * off / var + libm::log(var))
                    };
                    match out.components() {
                        [] => each([out.mean()[at], out.var()[at], 0.0]),
                        all => ln_mixed(
                            &all.iter().map(|c| (c.weight[o], each(c.moments(at)))).collect::<Vec<_>>(),
                        ),
                    }
                };
                (0..units).filter(is_seen).map(entry).sum::<f64>()
            };
            Ok((0..places.rows()).map(ln).collect())
        };
        match Answer::by_points(&prior, &mut weigh, &mut || Ok(None))? {
            Some(answer) => answers.push(answer),
            // So far from anything likely that places cannot tell: the networks, each for itself.
            None => {
                let goal = Aim::Output(observation.row(row));
                answers.push(pooled(model, one, Wanted { goal, ..wanted })?.answer(0)?);
            }
        }
    }
    Ok(Posterior::of(answers, None).expect("means of finite places are finite"))
}

/// The noise that a wish has at least: what is wanted exactly is wanted to a thousandth of how far the outputs go.
fn least_noise(model: &Ensemble, prior: &Prior) -> Result<Vec<f64>> {
    let places = Matrix::new(prior.draws(64), prior.width())?;
    let out = model.predict(&places)?;
    let units = out.width();
    let of = |o: usize| out.mean().iter().skip(o).step_by(units);
    let var = |o: usize| {
        let mean = of(o).sum::<f64>() / places.rows() as f64;
        of(o).map(|y| (y - mean).powi(2)).sum::<f64>() / places.rows() as f64
    };
    Ok((0..units).map(|o| EXACTLY * EXACTLY * var(o)).collect())
}

/// Every model answers for itself, and the answers are pooled. The answer of a single one is left as it is.
fn pooled(model: &Ensemble, x: Input<'_>, wanted: Wanted<'_>) -> Result<Posterior> {
    // The slope of a line is the same everywhere: it cannot tell where a maximum is.
    let curved = |c: &&Candidate| c.members[0].net.layers().len() > 1;
    let to_output = matches!(wanted.goal, Aim::Output(_));
    let only_curved = !to_output && model.candidates.iter().any(|c| curved(&c));
    if let Aim::Stationary { towards, output, .. } = wanted.goal
        && !only_curved
    {
        return extreme(model, x, wanted, (towards, output.unwrap_or(0)));
    }
    let answers = |c: &&Candidate| !only_curved || curved(c);
    let said = model.ask(None, x.rows(), |c, m| match (answers(&c), &m.form) {
        (false, _) => Ok(None),
        (true, Form::Processes(processes)) => {
            c.with_wish(wanted, |wanted| touching(&m.net, processes, x, wanted)).map(Some)
        }
        (true, _) => c.with_wish(wanted, |wanted| m.net.condition(x, wanted)).map(Some),
    })?;
    let all: f64 = model.candidates.iter().filter(answers).map(Candidate::weight).sum();
    let own = model.candidates.iter().zip(said);
    let own = own.flat_map(|(c, own)| own.into_iter().map(|(w, p)| Some((w * c.weight() / all, p?))));
    let mut said: Vec<_> = own.flatten().collect();
    if said.len() == 1 {
        return Ok(said.swap_remove(0).1);
    }
    pool::pooled(&said)
}

/// Gaussian processes answer as the line does that touches them where the answer is.
fn touching(net: &Network, processes: &[Process], x: Input<'_>, wanted: Wanted<'_>) -> Result<Posterior> {
    let mut line = net.try_clone()?;
    line.set_noise_std(processes.iter().map(|p| p.noise().sqrt()))?;
    let mut answers = Vec::with_capacity(x.rows());
    for row in 0..x.rows() {
        let one = x.rows_between(row, row + 1);
        let goal = match wanted.goal {
            Aim::Output(observation) => Aim::Output(observation.row(row)),
            other => other,
        };
        let mut at = one.mean().to_vec();
        let mut answer = None;
        for _ in 0..TOUCHES {
            let standard = scaled(net.input_scaler(), &at);
            let each: Vec<_> = processes.iter().map(|p| p.touched(&standard)).collect();
            let slopes: Vec<f64> = each.iter().flat_map(|t| t.slope.clone()).collect();
            let none = vec![0.0; slopes.len()];
            let (bias, var) = each.iter().map(|t| (t.bias, t.var)).unzip();
            set_weights(&mut line, [slopes, none], [bias, var])?;
            let found = line.condition(one, Wanted { goal, ..wanted })?;
            at = found.mean().to_vec();
            answer = Some(found.answer(0)?);
        }
        answers.extend(answer);
    }
    Ok(Posterior::of(answers, None).expect("means of finite places are finite"))
}

/// Where no network tells where a maximum or minimum is: the best of many places is what is wanted.
fn extreme(
    model: &Ensemble,
    x: Input<'_>,
    wanted: Wanted<'_>,
    (towards, output): (f64, usize),
) -> Result<Posterior> {
    let shared = wanted.covariance.map(|c| Covariance::given(c, x.width(), |_| 1.0)).transpose()?;
    let (units, sign) = (model.output().units(), if towards < 0.0 { -1.0 } else { 1.0 });
    let mut wish = Vec::with_capacity(x.rows() * units);
    for row in 0..x.rows() {
        let one = x.rows_between(row, row + 1);
        let var = one.var().map_or(vec![0.0; x.width()], <[f64]>::to_vec);
        let covariance = shared.clone().unwrap_or(Covariance::Diagonal(var));
        let prior = Prior { mean: one.mean().to_vec(), covariance };
        let out = model.predict(&Matrix::new(prior.draws(PLACES), x.width())?)?;
        let each = out.mean().iter().skip(output).step_by(units);
        let best = each.map(|y| sign * y).fold(f64::NEG_INFINITY, f64::max);
        wish.extend((0..units).map(|o| if o == output { sign * best } else { 0.0 }));
    }
    let known: Vec<bool> = (0..wish.len()).map(|i| i % units == output).collect();
    let goal = Aim::Output(Observation::values(&wish, units)?.seen(&known));
    condition(model, x, Wanted { goal, ..wanted })
}
