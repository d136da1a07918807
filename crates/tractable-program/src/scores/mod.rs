//! How good predictions are: a network's scores on a data set, for `evaluate` and the test of `train`.

pub mod images;

pub(crate) use images::ImageScore;

use crate::report::{Outcome, Report, short, table};
use serde::Serialize;
use tractable::data::Target;
use tractable::{Matrix, Network, metrics};

/// The scores of one target column of numbers, or of the classes.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Score {
    Values {
        target: String,
        rows: usize,
        rmse: f64,
        mae: f64,
        nll: f64,
        /// Share of the values inside their central 50, 90 and 95 % intervals.
        coverage_50: f64,
        coverage_90: f64,
        coverage_95: f64,
        calibration: metrics::Calibration,
    },
    Classes {
        target: String,
        rows: usize,
        error_rate: f64,
        nll: f64,
        brier: f64,
        reliability: metrics::Reliability,
    },
}

/// Scores on features in the network's order; one entry a target column of `names`.
pub(crate) fn of(net: &Network, x: &Matrix, target: &Target, names: &[String]) -> Outcome<Vec<Score>> {
    match target {
        Target::Labels { labels, .. } => {
            let p = net.predict_classes(x)?;
            let p = p.data();
            Ok(vec![Score::Classes {
                target: names.join(","),
                rows: labels.len(),
                error_rate: metrics::error_rate(p, labels)?,
                nll: metrics::class_nll(p, labels)?,
                brier: metrics::brier(p, labels)?,
                reliability: metrics::ece(p, labels, 15)?,
            }])
        }
        Target::Values { y, observed } => {
            let out = net.predict(x)?;
            let width = y.width();
            let column = |c: usize, values: &[f64]| -> Vec<f64> {
                let seen = |i: &usize| observed.as_ref().is_none_or(|o| o[*i]);
                (c..values.len()).step_by(width).filter(seen).map(|i| values[i]).collect()
            };
            let names = names.iter().enumerate();
            names
                .map(|(c, n)| {
                    values(n, &column(c, y.data()), &column(c, out.mean()), &column(c, &out.total_var()))
                })
                .collect()
        }
    }
}

fn values(target: &str, y: &[f64], mean: &[f64], var: &[f64]) -> Outcome<Score> {
    let coverage = |level| metrics::coverage(y, mean, var, level);
    Ok(Score::Values {
        target: target.into(),
        rows: y.len(),
        rmse: metrics::rmse(y, mean)?,
        mae: metrics::mae(y, mean)?,
        nll: metrics::gaussian_nll(y, mean, var)?,
        coverage_50: coverage(0.5)?,
        coverage_90: coverage(0.9)?,
        coverage_95: coverage(0.95)?,
        calibration: metrics::calibration(y, mean, var)?,
    })
}

impl Score {
    pub(crate) fn target(&self) -> &str {
        match self {
            Score::Values { target, .. } | Score::Classes { target, .. } => target,
        }
    }

    pub(crate) fn nll(&self) -> f64 {
        match self {
            Score::Values { nll, .. } | Score::Classes { nll, .. } => *nll,
        }
    }

    pub(crate) fn rmse(&self) -> Option<f64> {
        match self {
            Score::Values { rmse, .. } => Some(*rmse),
            Score::Classes { .. } => None,
        }
    }

    pub(crate) fn error_rate(&self) -> Option<f64> {
        match self {
            Score::Values { .. } => None,
            Score::Classes { error_rate, .. } => Some(*error_rate),
        }
    }

    /// Says the score; with `detail` the calibration table too (JSON always has it).
    pub(crate) fn say(&self, report: Report, kind: &str, detail: bool) -> Outcome {
        report.say(kind, self, || self.text(detail))
    }

    fn text(&self, detail: bool) -> String {
        let percent = |v: f64| format!("{:.1} %", 100.0 * v);
        match self {
            Score::Values {
                target,
                rows,
                rmse,
                mae,
                nll,
                coverage_50,
                coverage_90,
                coverage_95,
                calibration,
            } => {
                let mut lines = vec![
                    pair("target", target),
                    pair("rows", rows),
                    pair("rmse", short(*rmse)),
                    pair("mae", short(*mae)),
                    pair("nll", short(*nll)),
                    pair("inside 50 %", percent(*coverage_50)),
                    pair("inside 90 %", percent(*coverage_90)),
                    pair("inside 95 %", percent(*coverage_95)),
                    pair("calibration error", percent(calibration.error)),
                ];
                if detail {
                    lines.push(vec![]);
                    lines.push(pair("interval", "observed"));
                    let levels = calibration.levels.iter().zip(&calibration.observed);
                    lines.extend(levels.map(|(l, o)| pair(&format!("{:.0} %", 100.0 * l), percent(*o))));
                }
                table(&lines, &[0])
            }
            Score::Classes { target, rows, error_rate, nll, brier, reliability } => {
                let lines = vec![
                    pair("target", target),
                    pair("rows", rows),
                    pair("error rate", format!("{:.2} %", 100.0 * error_rate)),
                    pair("nll", short(*nll)),
                    pair("brier", short(*brier)),
                    pair("ece", percent(reliability.ece)),
                ];
                let mut text = table(&lines, &[0]);
                if detail {
                    text += "\n";
                    text += &table(&bins(reliability), &[0]);
                }
                text
            }
        }
    }
}

fn pair(name: &str, value: impl ToString) -> Vec<String> {
    vec![name.to_string(), value.to_string()]
}

/// Confidence against accuracy, the bins that have rows.
pub(crate) fn bins(reliability: &metrics::Reliability) -> Vec<Vec<String>> {
    let head = ["confidence in", "rows", "confidence", "accuracy"].map(String::from).to_vec();
    let percent = |v: Option<f64>| v.map_or("-".into(), |v| format!("{:.1} %", 100.0 * v));
    let filled = reliability.bins.iter().filter(|b| b.count > 0).map(|b| {
        let range = format!("{:.0} - {:.0} %", 100.0 * b.low, 100.0 * b.high);
        vec![range, b.count.to_string(), percent(b.confidence), percent(b.accuracy)]
    });
    std::iter::once(head).chain(filled).collect()
}
