//! The answer: the posterior of the inputs, its modes, and predictions there; as text and as JSON.

use super::question::{Asked, Belief, Question, Wish};
use crate::escape;
use crate::report::{Outcome, short, table};
use serde::Serialize;
use tractable::metrics::{Tails, argmax};
use tractable::{
    Matrix, Posterior,
    condition::{Found, Mode},
    rng,
};

/// With a lower effective number of points, mean and standard deviation are a guess.
const FEW: f64 = 64.0;
/// Maximum number of unknown inputs with a covariance in the output.
const MOST_TOLD: usize = 16;
/// Maximum number of unknown inputs in the text.
const MOST_LISTED: usize = 40;
/// Points to try around a mean that is not an answer.
const TRIED: usize = 512;
/// Probability of the interval.
const LEVEL: f64 = 0.9;

pub(super) struct Answer<'a> {
    asked: &'a Asked<'a>,
    pub(super) question: &'a Question,
    pub(super) posterior: Posterior,
    /// At every mode.
    pub(super) predicted: Vec<Predicted>,
    /// The smallest variance of every wanted value.
    pub(super) least: Vec<f64>,
    /// Distance of the prediction at the likeliest mode from the wanted output, and whether it is reached. Of a maximum or minimum,
    /// how much better it is than the start.
    off: f64,
    /// Whether a mode lies off the answers around it.
    curved: bool,
    pub(super) reached: Option<Reached>,
}

/// Whether the model predicts the wanted output at the likeliest mode.
#[derive(Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reached {
    Yes,
    No,
    /// Not there, but nearby: the mean of answers on a curve lies off the curve. One of the answers.
    #[serde(untagged)]
    Around(Example),
}

#[derive(Clone, Serialize)]
pub(super) struct Example {
    /// One per input.
    around: Vec<f64>,
}

/// The prediction at one point.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Predicted {
    /// One per output; `std` is that of a new value, `std_model` the part that more data would reduce.
    Values {
        mean: Vec<f64>,
        std: Vec<f64>,
        std_model: Vec<f64>,
    },
    Class {
        class: String,
        probabilities: Vec<f64>,
    },
}

#[derive(Serialize)]
struct Place {
    weight: f64,
    mean: Vec<f64>,
    std: Vec<f64>,
}

/// Line `answer` of `condition`.
#[derive(Serialize)]
struct Line<'a> {
    /// Of the file, from 0; 0 for a single question.
    row: u64,
    /// Names of the inputs that the columns become.
    inputs: &'a [String],
    /// Prior mean of each input.
    prior_mean: Vec<f64>,
    /// 0: known exactly.
    prior_std: Vec<f64>,
    /// Of the posterior; lies between the modes if there are several.
    mean: &'a [f64],
    /// Of the posterior.
    std: Vec<f64>,
    /// Lower end of the 90 % interval, with modes as Gaussians.
    lower: Vec<f64>,
    /// Upper end.
    upper: Vec<f64>,
    /// Of the posterior, one list per input; only for up to 16 inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    covariance: Option<Vec<Vec<f64>>>,
    /// The likeliest first: `weight`, `mean`, `std`.
    modes: Vec<Place>,
    /// Names of the outputs.
    outputs: &'a [String],
    /// At every mode: `mean`, `std` of a new value, `std_model`; for classes `class`, `probabilities`.
    predicted: &'a [Predicted],
    /// Whether the likeliest mode gives the wanted output: `yes`, `no`, or `{"around": [...]}`, a nearby point that does.
    reached: &'a Option<Reached>,
    #[serde(flatten)]
    how: How,
}

/// How the posterior was found, in cells.
#[derive(Serialize)]
pub(super) struct How {
    /// `points` or `linearised`.
    pub(super) found: &'static str,
    /// How many were weighed.
    #[serde(skip_serializing_if = "Option::is_none")]
    points: Option<usize>,
    /// Effective number of points; below 64 the answer is a guess.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) effective: Option<f64>,
    /// Number of linearisations.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<usize>,
    /// Whether they converged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) converged: Option<bool>,
}

impl<'a> Answer<'a> {
    pub(super) fn find(asked: &'a Asked<'a>, question: &'a Question) -> Outcome<Self> {
        let posterior = asked.answer(question)?;
        let places: Vec<f64> = posterior.modes(0).iter().flat_map(|m| m.mean.iter().copied()).collect();
        let places = Matrix::new(places, asked.inputs.len())?;
        let predicted = predict(asked, &places)?;
        let least = asked.least_noise(question)?;
        let said = asked.say(&places)?;
        let misses =
            |row: usize| question.wish.off(said.row(row)).is_some_and(|off| question.wish.missed(off));
        let curved = question.unknown().len() > 1 && (0..said.rows()).any(misses);
        let mut off = question.wish.off(said.row(0));
        let reached = match off {
            None => {
                let gain = gain(asked, question, &predicted[0])?;
                off = Some(gain);
                let converged = !matches!(posterior.found(0), Found::Linearised { converged: false, .. });
                Some(if gain >= 0.0 && converged { Reached::Yes } else { Reached::No })
            }
            Some(off) if !question.wish.missed(off) => Some(Reached::Yes),
            Some(_) => Some(match around(asked, question, &least, &posterior)? {
                Some(around) => Reached::Around(Example { around }),
                None => Reached::No,
            }),
        };
        Ok(Answer { asked, question, posterior, predicted, least, off: off.unwrap_or(0.0), curved, reached })
    }

    pub(super) fn modes(&self) -> &[Mode] {
        self.posterior.modes(0)
    }

    /// 90 % interval of an input, with modes as Gaussians.
    fn interval(&self, input: usize) -> (f64, f64) {
        let below = |x: f64| {
            let one = |m: &Mode| m.weight * Tails::Normal.below((x - m.mean[input]) / m.var[input].sqrt());
            self.modes().iter().map(one).sum::<f64>()
        };
        let reach = |m: &Mode, z: f64| m.mean[input] + z * m.var[input].sqrt();
        let end = |p: f64| {
            let z = Tails::Normal.quantile(p);
            let ends = self.modes().iter().map(|m| reach(m, z));
            // The mixture's end lies between those of its parts.
            let (mut low, mut high) =
                ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), e| (l.min(e), h.max(e)));
            for _ in 0..60 {
                let middle = low + (high - low) / 2.0;
                if below(middle) < p { low = middle } else { high = middle }
            }
            low + (high - low) / 2.0
        };
        (end((1.0 - LEVEL) / 2.0), end((1.0 + LEVEL) / 2.0))
    }

    pub(super) fn how(&self) -> How {
        let nothing = How { found: "", points: None, effective: None, steps: None, converged: None };
        match self.posterior.found(0) {
            Found::Points { points, effective } => {
                How { found: "points", points: Some(points), effective: Some(effective), ..nothing }
            }
            Found::Linearised { steps, converged } => {
                How { found: "linearised", steps: Some(steps), converged: Some(converged), ..nothing }
            }
            _ => nothing,
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let (unknown, prior) = (self.question.unknown(), &self.question.prior);
        let (mean, std) = (self.posterior.mean(), self.posterior.std());
        let mut rows = vec![["input", "before", "after", "90 % interval"].map(String::from).to_vec()];
        for &i in unknown.iter().take(MOST_LISTED) {
            let (low, high) = self.interval(i);
            rows.push(vec![
                self.asked.inputs[i].clone(),
                spread(prior[i].mean, prior[i].std),
                spread(mean[i], std[i]),
                format!("{} to {}", short(low), short(high)),
            ]);
        }
        let mut text = table(&rows, &[0, 1, 2, 3]);
        if unknown.len() > MOST_LISTED {
            text += &format!("and {} more; --json has all of them\n", unknown.len() - MOST_LISTED);
        }
        let known: Vec<String> = (0..prior.len())
            .filter(|i| !unknown.contains(i))
            .map(|i| format!("{} = {}", self.asked.inputs[i], short(prior[i].mean)))
            .collect();
        if !known.is_empty() {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            text += &format!("known: {}\n", escape::name(&super::listed(&known)));
        }
        match self.modes() {
            [_] => text += &format!("there the model predicts {}\n", escape::name(&self.said(0))),
            modes => {
                text += &match self.curved {
                    true => format!("{} groups of answers, each on a curve around its mean:\n", modes.len()),
                    false => {
                        format!(
                            "{} answers; the mean lies between them and is not one of them:\n",
                            modes.len()
                        )
                    }
                };
                for (k, mode) in modes.iter().enumerate() {
                    let place = unknown.iter().map(|&i| {
                        format!("{} = {}", self.asked.inputs[i], spread(mode.mean[i], mode.var[i].sqrt()))
                    });
                    let place: Vec<String> = place.collect();
                    let place = super::listed(&place.iter().map(String::as_str).collect::<Vec<_>>());
                    let line = format!("{:>5.1} %  {place}: predicts {}", 100.0 * mode.weight, self.said(k));
                    text += &format!("{}\n", escape::name(&line));
                }
            }
        }
        text += &format!("wanted: {}\n", escape::name(&self.wanted()));
        for line in self.warnings() {
            text += &format!("{}\n", escape::name(&line));
        }
        text
    }

    /// The prediction at a mode.
    fn said(&self, mode: usize) -> String {
        let names = &self.asked.targets;
        match &self.predicted[mode] {
            Predicted::Values { mean, std_model, .. } => {
                let one = |o: usize| format!("{} = {}", names[o], spread(mean[o], std_model[o]));
                (0..mean.len()).map(one).collect::<Vec<_>>().join(", ")
            }
            Predicted::Class { class, probabilities } => {
                let of = |k: usize| format!("{:.1} %", 100.0 * probabilities[k]);
                let own = argmax(probabilities);
                let wished = match self.question.wish {
                    Wish::Class(label) if label != own => {
                        format!(", {} with {}", self.asked.classes[label], of(label))
                    }
                    _ => String::new(),
                };
                format!("{} = {class} with {}{wished}", names[0], of(own))
            }
        }
    }

    fn wanted(&self) -> String {
        let names = &self.asked.targets;
        match &self.question.wish {
            Wish::Class(label) => format!("{} = {}", names[0], self.asked.classes[*label]),
            Wish::Extremum { output, highest } => {
                format!("{} as {} as it gets", names[*output], if *highest { "high" } else { "low" })
            }
            Wish::Values(values) => {
                let one = |(name, b): (&String, &Option<Belief>)| {
                    b.map(|b| match b.std == 0.0 {
                        true => format!("{name} = {}", short(b.mean)),
                        false => format!("{name} = {}", spread(b.mean, b.std)),
                    })
                };
                names.iter().zip(values).filter_map(one).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// Warnings in plain words.
    fn warnings(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let how_far = match self.question.wish {
            Wish::Class(_) => "another class is likelier there".into(),
            _ if self.off < 1e4 => {
                format!("the prediction is {:.1} standard deviations from the wanted value", self.off)
            }
            _ => format!("the prediction is {} standard deviations from the wanted value", short(self.off)),
        };
        match &self.reached {
            Some(Reached::No) if matches!(self.question.wish, Wish::Extremum { .. }) && self.off >= 0.0 => lines
                .push(
                    "not reached: this is one step towards it; start closer, or use `tractable optimize --model`"
                        .into(),
                ),
            Some(Reached::No) if matches!(self.question.wish, Wish::Extremum { .. }) => lines.push(
                "the step went too far: the start was better; use a smaller standard deviation, or `tractable optimize --model`"
                    .into(),
            ),
            // A point that did not converge says nothing about others.
            Some(Reached::No) if self.how().converged == Some(false) => {
                lines.push(format!("not met: {how_far}; allow a larger standard deviation"));
            }
            Some(Reached::No) => lines.push(format!("out of reach: {how_far}")),
            Some(Reached::Around(Example { around })) => {
                let unknown = self.question.unknown();
                let one = unknown.iter().map(|&i| format!("{} = {}", self.asked.inputs[i], short(around[i])));
                let one = one.collect::<Vec<_>>().join(", ");
                lines.push(format!("the answers lie around this point, not at it; one of them is {one}"));
            }
            _ => {}
        }
        let how = self.how();
        if let Some(few) = how.effective.filter(|e| *e < FEW) {
            lines.push(format!("a guess: only about {few:.0} points of the prior explain the wanted output"));
        }
        if how.converged == Some(false) {
            lines.push("rough: the linearisation did not converge".into());
        }
        lines
    }

    /// For programs.
    pub(super) fn json(&self, row: u64) -> impl Serialize + use<'_> {
        let prior = &self.question.prior;
        let ends: Vec<(f64, f64)> = (0..prior.len())
            .map(|i| if prior[i].std > 0.0 { self.interval(i) } else { (prior[i].mean, prior[i].mean) })
            .collect();
        let place = |m: &Mode| Place {
            weight: m.weight,
            mean: m.mean.clone(),
            std: m.var.iter().map(|v| v.sqrt()).collect(),
        };
        let covariance = (prior.len() <= MOST_TOLD).then(|| self.posterior.covariance(0).ok()).flatten();
        Line {
            row,
            inputs: self.asked.inputs,
            prior_mean: prior.iter().map(|b| b.mean).collect(),
            prior_std: prior.iter().map(|b| b.std).collect(),
            mean: self.posterior.mean(),
            std: self.posterior.std(),
            lower: ends.iter().map(|e| e.0).collect(),
            upper: ends.iter().map(|e| e.1).collect(),
            covariance: covariance.map(|c| (0..c.rows()).map(|i| c.row(i).to_vec()).collect()),
            modes: self.modes().iter().map(place).collect(),
            outputs: &self.asked.targets,
            predicted: &self.predicted,
            reached: &self.reached,
            how: self.how(),
        }
    }
}

/// How much better a maximum or minimum is than the start.
fn gain(asked: &Asked<'_>, question: &Question, there: &Predicted) -> tractable::Result<f64> {
    let (Wish::Extremum { output, highest }, Predicted::Values { mean, .. }) = (&question.wish, there) else {
        return Ok(0.0);
    };
    let began = Matrix::new(question.place(&[], &[]), question.prior.len())?;
    let higher = mean[*output] - asked.say(&began)?.row(0)[*output];
    Ok(if *highest { higher } else { -higher })
}

/// The likeliest of some points of the posterior, as a Gaussian, where the wanted output is met.
fn around(
    asked: &Asked<'_>,
    question: &Question,
    least: &[f64],
    posterior: &Posterior,
) -> tractable::Result<Option<Vec<f64>>> {
    let unknown = question.unknown();
    // One unknown has no way around.
    if unknown.len() < 2 || unknown.len() > MOST_TOLD {
        return Ok(None);
    }
    let covariance = posterior.covariance(0)?;
    let of = |i: usize, j: usize| covariance.row(unknown[i])[unknown[j]];
    let Some(factor) = factor(unknown.len(), &of) else { return Ok(None) };
    let mut rng = rng::stream(0, "around", 0);
    let mut places: Vec<Vec<f64>> = Vec::with_capacity(TRIED);
    for _ in 0..TRIED {
        let z: Vec<f64> = unknown.iter().map(|_| rng::standard_normal(&mut rng)).collect();
        let moved =
            |i: usize| (0..=i).map(|j| factor[i][j] * z[j]).sum::<f64>() + posterior.mean()[unknown[i]];
        places.push((0..unknown.len()).map(moved).collect());
    }
    let rows = places.iter().flat_map(|p| question.place(&unknown, p)).collect();
    let said = asked.say(&Matrix::new(rows, question.prior.len())?)?;
    let met =
        (0..TRIED).filter(|&i| question.wish.off(said.row(i)).is_some_and(|off| !question.wish.missed(off)));
    let likely = |i: usize| {
        let likelihood = question.wish.ln_likelihood(said.row(i), least, asked.known_weights).unwrap_or(0.0);
        likelihood + question.ln_prior(&unknown, &places[i])
    };
    let best = met.max_by(|&a, &b| likely(a).total_cmp(&likely(b)));
    Ok(best.map(|i| question.place(&unknown, &places[i])))
}

/// `L` with `L L'` a covariance, row by row; none where that is not positive.
fn factor(n: usize, of: &dyn Fn(usize, usize) -> f64) -> Option<Vec<Vec<f64>>> {
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(n);
    for i in 0..n {
        let mut row: Vec<f64> = Vec::with_capacity(i + 1);
        for (j, before) in rows.iter().enumerate() {
            let sum: f64 = row.iter().zip(before).map(|(a, b)| a * b).sum();
            row.push((of(i, j) - sum) / before[j]);
        }
        let rest = of(i, i) - row.iter().map(|v| v * v).sum::<f64>();
        if rest.is_nan() || rest <= 0.0 {
            return None;
        }
        row.push(rest.sqrt());
        rows.push(row);
    }
    Some(rows)
}

fn spread(mean: f64, std: f64) -> String {
    format!("{} ± {}", short(mean), short(std))
}

/// Predictions at known points, one entry per row.
fn predict(asked: &Asked<'_>, places: &Matrix) -> tractable::Result<Vec<Predicted>> {
    if asked.is_classes() {
        let p = asked.model.predict_classes(places)?;
        let one = |i: usize| Predicted::Class {
            class: asked.classes[argmax(p.row(i))].clone(),
            probabilities: p.row(i).to_vec(),
        };
        return Ok((0..p.rows()).map(one).collect());
    }
    let out = asked.model.predict(places)?;
    let (std, std_model) = (out.total_std(), out.output().std());
    let one = |i: usize| {
        let of = |all: &[f64]| all[i * out.width()..][..out.width()].to_vec();
        Predicted::Values { mean: of(out.mean()), std: of(&std), std_model: of(&std_model) }
    };
    Ok((0..places.rows()).map(one).collect())
}
