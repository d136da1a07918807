//! A candidate: models of one kind, one for every fold or one of all rows, with a calibration and a weight of its own.

use super::folds::NONE;
use super::member::{Doubt, Member, Said, together};
use super::points::Points;
use std::ops::Range;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Input, Matrix};
use tractable_data::Scaler;
use tractable_network::output::{
    Aim, Calibration, ClassCalibration, Component, Observation, Output, Parts, Wanted,
};

pub(super) struct Candidate {
    pub(super) name: String,
    /// Whether its networks predict the logarithm of the target.
    pub(super) log: bool,
    /// Whether weight uncertainty of a pass includes covariances between units: if that makes left-out rows more likely.
    pub(super) by_rows: bool,
    /// One entry per output; one of classes.
    pub(super) weights: Vec<f64>,
    pub(super) calibration: Calibrated,
    pub(super) members: Vec<Member>,
}

#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub(super) enum Calibrated {
    /// One per output.
    Values(Vec<Calibration>),
    Classes(ClassCalibration),
}

impl Calibrated {
    /// None yet.
    pub(super) fn none(output: Output) -> Self {
        match output {
            Output::Values { width, .. } => Calibrated::Values(vec![Calibration::default(); width]),
            Output::Classes { .. } => Calibrated::Classes(ClassCalibration::default()),
        }
    }
}

impl Candidate {
    /// Of weight 1, and not calibrated.
    pub(super) fn new(name: &str, log: bool, members: Vec<Member>) -> Self {
        let output = members[0].net.output();
        let calibration = Calibrated::none(output);
        let outputs = if let Calibrated::Values(each) = &calibration { each.len() } else { 1 };
        Candidate {
            name: name.into(),
            log,
            by_rows: false,
            weights: vec![1.0; outputs],
            calibration,
            members,
        }
    }

    pub(super) fn try_clone(&self) -> Result<Self> {
        let members = self.members.iter().map(Member::try_clone).collect::<Result<_>>()?;
        let (name, weights, calibration) =
            (self.name.clone(), self.weights.clone(), self.calibration.clone());
        Ok(Candidate { name, log: self.log, by_rows: self.by_rows, weights, calibration, members })
    }

    /// Those of its members that answer: what has learned all rows, if there is one, or all; or what has left out this fold.
    pub(super) fn answering(&self, fold: Option<usize>) -> impl Iterator<Item = &Member> {
        let fold = fold.or(self.members.iter().any(|m| m.fold == NONE).then_some(NONE));
        self.members.iter().filter(move |m| fold.is_none_or(|fold| m.fold == fold))
    }

    /// What one of its members says of exact inputs.
    pub(super) fn ask(&self, member: &Member, x: Input<'_>) -> Result<Vec<Said>> {
        let averaged = matches!(&self.calibration, Calibrated::Values(each) if each.iter().all(Calibration::is_averaged));
        let doubt = match self.by_rows {
            _ if averaged => Doubt::Unasked,
            true => Doubt::OfRows,
            false => Doubt::OfUnits,
        };
        member.say(x, doubt)
    }

    /// What its members say of points, pooled by rows. Means of points stay inside the `range` of each output before they are pooled.
    pub(super) fn pooled(
        &self,
        points: &Points<'_>,
        said: &[(f64, Vec<Said>)],
        range: &[[f64; 2]],
    ) -> Vec<Parts> {
        let (mut parts, width) = (together(said), self.weights.len());
        if !points.are_exact() && !range.is_empty() {
            let scaler = self.members[0].net.output_scaler();
            let scaled = |v: f64, o: usize| scaler.map_or(v, |s| (v - s.mean()[o]) / s.std()[o]);
            for (i, part) in parts.iter_mut().enumerate() {
                let [low, high] = range[i % width];
                let [low, high] = if self.log { [f64::NEG_INFINITY, libm::log(high)] } else { [low, high] };
                part.mean = part.mean.clamp(scaled(low, i % width), scaled(high, i % width));
            }
        }
        points.pooled(parts, width)
    }

    /// What it says of some outputs, in the units of the data or of their logarithms. Means stay inside the `range` of each output.
    pub(super) fn component(
        &self,
        parts: &[Parts],
        outputs: Range<usize>,
        range: &[[f64; 2]],
    ) -> Result<Component> {
        let Calibrated::Values(calibration) = &self.calibration else {
            return Err(Error::invalid("predict", "this model has classes; use predict_classes"));
        };
        let (calibration, width) = (&calibration[outputs.clone()], outputs.len());
        let scaler = self.members[0].net.output_scaler();
        let scaler = scaler.map_or_else(|| Scaler::identity(width), |s| s.some(outputs.clone()));
        let variances = parts.iter().enumerate().map(|(i, part)| calibration[i % width].variances(part));
        let (doubt, noise): (Vec<f64>, Vec<f64>) = variances.unzip();
        let mut mean = scaler.undo_mean(&parts.iter().map(|p| p.mean).collect::<Vec<_>>());
        let (doubt, noise) = (scaler.undo_var(&doubt), scaler.undo_var(&noise));
        if !range.is_empty() {
            for (i, mean) in mean.iter_mut().enumerate() {
                let [low, high] = range[outputs.start + i % width];
                *mean = match self.log {
                    true => mean.min(Component::highest(high, doubt[i] + noise[i])),
                    false => mean.clamp(low, high),
                };
            }
        }
        let tails = calibration.iter().map(Calibration::tails).collect();
        let weight = self.weights[outputs].to_vec();
        Ok(Component { weight, tails, log: self.log, mean, doubt, noise })
    }

    /// Probabilities of classes, of what its networks say.
    pub(super) fn calibrated_classes(&self, said: &[(f64, Matrix)]) -> Result<Vec<f64>> {
        let Calibrated::Classes(calibration) = &self.calibration else {
            return Err(Error::invalid("predict_classes", "this is a regression model; use predict"));
        };
        let averaged = average(said);
        Ok(averaged.chunks_exact(said[0].1.width()).flat_map(|row| calibration.of(row)).collect())
    }

    /// Learns one row, in all networks except those that leave its fold out. A logarithm says nothing of what is not positive.
    pub(super) fn learn(&mut self, fold: usize, x: Input<'_>, seen: Observation<'_>) -> Result<()> {
        let single = self.members.iter().all(|m| m.fold == self.members[0].fold);
        let logarithms = self.log.then(|| Logarithms::of(seen, None));
        let seen = match &logarithms {
            None => seen,
            Some(logarithms) => logarithms.observation(self.weights.len())?,
        };
        for member in self.members.iter_mut().filter(|m| single || m.fold != fold) {
            member.learn(x, seen)?;
        }
        Ok(())
    }

    /// What is wanted, as its networks understand it.
    pub(super) fn with_wish<T>(
        &self,
        wanted: Wanted<'_>,
        ask: impl FnOnce(Wanted<'_>) -> Result<T>,
    ) -> Result<T> {
        match wanted.goal {
            Aim::Output(seen) if self.log => {
                let logarithms = Logarithms::of(seen, Some(wanted.noise_var));
                let goal = Aim::Output(logarithms.observation(self.weights.len())?);
                ask(Wanted { goal, ..wanted })
            }
            _ => ask(wanted),
        }
    }

    /// How much it weighs over all outputs.
    pub(super) fn weight(&self) -> f64 {
        self.weights.iter().sum::<f64>() / self.weights.len() as f64
    }
}

/// Logarithms of observations.
struct Logarithms {
    ln: Vec<f64>,
    known: Vec<bool>,
    noise: Option<Vec<f64>>,
}

impl Logarithms {
    /// With the variance of each, or this one in the units of the observations.
    fn of(seen: Observation<'_>, var: Option<f64>) -> Self {
        let (y, before) = seen.entries();
        let known: Vec<bool> =
            (0..y.len()).map(|i| y[i] > 0.0 && before.is_none_or(|before| before[i])).collect();
        let ln = (0..y.len()).map(|i| if known[i] { libm::log(y[i]) } else { 0.0 }).collect();
        let relative = |i: usize, var: f64| if known[i] { var / (y[i] * y[i]) } else { 1.0 };
        let noise = match (seen.noise(), var) {
            (Some(vars), _) => Some((0..y.len()).map(|i| relative(i, vars[i % vars.len()])).collect()),
            (None, var) => var.map(|var| (0..y.len()).map(|i| relative(i, var)).collect()),
        };
        Logarithms { ln, known, noise }
    }

    fn observation(&self, width: usize) -> Result<Observation<'_>> {
        let seen = Observation::values(&self.ln, width)?.seen(&self.known);
        Ok(self.noise.as_ref().map_or(seen, |var| seen.noise_var(var)))
    }
}

/// Weighted mean of class probabilities.
pub(super) fn average(said: &[(f64, Matrix)]) -> Vec<f64> {
    let mut sum = vec![0.0; said[0].1.data().len()];
    for (weight, p) in said {
        sum.iter_mut().zip(p.data()).for_each(|(s, p)| *s += weight * p);
    }
    sum
}
