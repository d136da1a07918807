//! Scores of a network on images: errors, calibration, model uncertainty and label noise.

use super::{bins, pair};
use crate::report::{Outcome, Report, short, table};
use serde::Serialize;
use tractable::data::Images;
use tractable::{Network, metrics};

/// Predictions for each image.
pub(crate) struct Predictions {
    /// Probability of every class, `[images, classes]`.
    probabilities: Vec<f64>,
    /// Variance in class-probability space, of the model and of the label.
    model: Vec<f64>,
    noise: Vec<f64>,
    /// Mean variance of the output units, as they are.
    raw: Vec<f64>,
}

pub(crate) fn predict(net: &Network, images: &Images) -> Outcome<Predictions> {
    // Images of another form are refused by name, and a network without classes too.
    net.nll(&images.select(&[0])?)?;
    let units = net.output().class_units()?;
    let mut all = Predictions { probabilities: Vec::new(), model: vec![], noise: vec![], raw: vec![] };
    let out = net.predict_images(images)?;
    all.probabilities.extend_from_slice(net.class_probabilities(&out)?.data());
    for (mean, var) in out.mean().chunks_exact(units.units()).zip(out.var().chunks_exact(units.units())) {
        let spread = units.spread(mean, var);
        all.model.push(spread.model);
        all.noise.push(spread.noise);
        all.raw.push(var.iter().sum::<f64>() / var.len() as f64);
    }
    Ok(all)
}

impl Predictions {
    fn total(&self) -> Vec<f64> {
        self.model.iter().zip(&self.noise).map(|(m, n)| m + n).collect()
    }
}

/// The scores on one set.
///
/// Line `uncalibrated` of `train`.
/// Line `test` (images) of `train`.
/// Line `score` (images) of `evaluate`.
#[derive(Serialize)]
pub struct ImageScore {
    /// How many were evaluated.
    images: usize,
    /// Share whose most probable class is wrong.
    pub error_rate: f64,
    /// Mean negative log-likelihood.
    pub nll: f64,
    /// Brier score.
    brier: f64,
    /// Variance of the label from model uncertainty.
    variance_model: f64,
    /// Variance of the label from label noise.
    variance_noise: f64,
    /// `ece` and its bins.
    pub reliability: metrics::Reliability,
}

pub fn of(net: &Network, images: &Images) -> Outcome<ImageScore> {
    score(&predict(net, images)?, images)
}

pub(crate) fn score(predicted: &Predictions, images: &Images) -> Outcome<ImageScore> {
    let (p, labels) = (&predicted.probabilities, images.labels());
    let average = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    Ok(ImageScore {
        images: labels.len(),
        error_rate: metrics::error_rate(p, &labels)?,
        nll: metrics::class_nll(p, &labels)?,
        brier: metrics::brier(p, &labels)?,
        variance_model: average(&predicted.model),
        variance_noise: average(&predicted.noise),
        reliability: metrics::ece(p, &labels, 15)?,
    })
}

impl ImageScore {
    /// Says what the score was before probabilities were calibrated.
    pub(crate) fn say_uncalibrated(&self, report: Report) -> Outcome {
        let ece = 100.0 * self.reliability.ece;
        report.say("uncalibrated", self, || {
            format!("before calibration: nll {}, ece {ece:.2} %", short(self.nll))
        })
    }

    /// Says the score; with `detail` the reliability table too (JSON always has it).
    pub(crate) fn say(&self, report: Report, kind: &str, detail: bool) -> Outcome {
        report.say(kind, self, || {
            let percent = |v: f64| format!("{:.2} %", 100.0 * v);
            let lines = vec![
                pair("images", self.images),
                pair("error rate", percent(self.error_rate)),
                pair("nll", short(self.nll)),
                pair("brier", short(self.brier)),
                pair("ece", percent(self.reliability.ece)),
                pair("variance, of the model", short(self.variance_model)),
                pair("variance, of the label", short(self.variance_noise)),
            ];
            let mut text = table(&lines, &[0]);
            if detail {
                text += "\n";
                text += &table(&bins(&self.reliability), &[0]);
            }
            text
        })
    }
}

/// How well another set is distinguished from the training set.
///
/// Line `ood` of `evaluate`.
#[derive(Serialize)]
pub(crate) struct Detection {
    /// The other images.
    set: &'static str,
    /// How many.
    images: usize,
    /// By the total class variance.
    pub(crate) auroc: f64,
    /// By the model's part of the class variance.
    auroc_model: f64,
    /// By the variance of the output units.
    auroc_raw: f64,
}

pub(crate) fn detect(known: &Predictions, other: &Predictions, set: &'static str) -> Outcome<Detection> {
    Ok(Detection {
        set,
        images: other.model.len(),
        auroc: metrics::auroc(&known.total(), &other.total())?,
        auroc_model: metrics::auroc(&known.model, &other.model)?,
        auroc_raw: metrics::auroc(&known.raw, &other.raw)?,
    })
}

impl Detection {
    pub(crate) fn say(&self, report: Report) -> Outcome {
        report.say("ood", self, || {
            let lines = vec![
                vec![format!("auroc against {}, by", self.set), format!("{} images", self.images)],
                pair("class variance", short(self.auroc)),
                pair("class variance, of the model", short(self.auroc_model)),
                pair("variance of the output units", short(self.auroc_raw)),
            ];
            format!("\n{}", table(&lines, &[0]))
        })
    }
}
