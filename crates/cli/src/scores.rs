//! Scores of a model on a data set, for `evaluate` and the test of `train`.

pub mod images;
mod prequential;
mod surest;
mod verdict;

pub(crate) use images::ImageScore;
pub(crate) use prequential::{Scored, Tally};

use crate::console;
use crate::report::{Outcome, Report, count, short, table};
use serde::Serialize;
use tractable::data::{Dataset, Target};
use tractable::ensemble::{LeftOut, Rarer};
use tractable::metrics;
use tractable::{Ensemble, Input, Matrix, Prediction};
use verdict::Verdict;

pub(crate) use surest::Surest;
pub(crate) use verdict::POINTS;

/// How the rows relate to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RowsAre {
    /// Not used in training.
    New,
    /// Used in training, but each is predicted by networks that left it out.
    LeftOut,
    /// Used in training by all networks.
    Learned,
}

/// The scores of one target column of numbers, or of the classes.
///
/// Line `test` of `train`.
/// Line `score` of `evaluate`.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Score {
    /// Numbers
    Values {
        /// Name of the column.
        target: String,
        /// How many were evaluated.
        rows: usize,
        /// `new` to the model; `left_out` by the networks that predict them; or `learned` from.
        rows_are: RowsAre,
        /// Root mean squared error.
        rmse: f64,
        /// Mean absolute error.
        mae: f64,
        /// Mean negative log-likelihood, noise and tails included.
        nll: f64,
        /// Continuous ranked probability score.
        crps: f64,
        /// Share inside their central 50 % interval.
        coverage_50: f64,
        /// The same for 90 %.
        coverage_90: f64,
        /// The same for 95 %.
        coverage_95: f64,
        /// Normalised innovation squared: mean of the squared error over the variance.
        nis: f64,
        /// On the 90 % intervals: `hold`, `too_sure` or `not_sure_enough`.
        verdict: Verdict,
        /// `levels`, the share `observed` inside each, and their mean distance, `error`.
        calibration: metrics::Calibration,
        /// Error among the rows the model is most certain of: `share` of the rows, and their root mean squared `error`.
        surest: Surest,
    },
    /// Classes
    Classes {
        /// Name of the column.
        target: String,
        /// How many were evaluated.
        rows: usize,
        /// As for numbers.
        rows_are: RowsAre,
        /// Share whose most probable class is wrong.
        error_rate: f64,
        /// Mean negative log-likelihood.
        nll: f64,
        /// Brier score.
        brier: f64,
        /// Mean probability of the most probable class.
        confidence: f64,
        /// Whether this matches how often it is right: `hold`, `too_sure` or `not_sure_enough`.
        verdict: Verdict,
        /// `ece` and its bins.
        reliability: metrics::Reliability,
        /// Of two classes, the rarer `class` and its `rows`; `auc` and `average_precision`; the `threshold` of its probability that was best
        /// on left-out rows, with the `precision`, the `recall` and the `f1` of what it finds here.
        #[serde(skip_serializing_if = "Option::is_none")]
        rarer: Option<Rarer>,
        /// Error among the rows the model is most certain of: `share` of the rows, and their `error` rate.
        surest: Surest,
    },
}

/// Predictions for rows with known targets.
#[derive(Default)]
pub(crate) struct Judged {
    /// One entry per target column.
    values: Vec<Column>,
    /// Probabilities of all classes, row after row, and the right ones.
    classes: Option<(Vec<f64>, Vec<usize>)>,
    /// Names of the classes, and the threshold of the rarer one.
    names: Vec<String>,
    threshold: Option<(usize, f64)>,
    /// Whether only the errors are wanted; scores of mixtures take longer than the predictions.
    only_errors: bool,
}

#[derive(Default)]
struct Column {
    y: Vec<f64>,
    mean: Vec<f64>,
    var: Vec<f64>,
    /// Of every row, the level of the smallest central interval that contains it, and its scores.
    level: Vec<f64>,
    nll: Vec<f64>,
    crps: Vec<f64>,
}

impl Judged {
    /// To ask for [`surest`](Judged::surest) alone.
    pub(crate) fn of_errors() -> Self {
        Judged { only_errors: true, ..Judged::default() }
    }

    /// Adds what a model says of rows that are new to it.
    pub(crate) fn predict(&mut self, model: &Ensemble, x: Input<'_>, target: &Target) -> Outcome {
        match target {
            Target::Labels { labels, .. } => {
                let p: Vec<Matrix> = in_parts(x, |x| model.predict_classes(x))?;
                let p: Vec<f64> = p.iter().flat_map(|p| p.data()).copied().collect();
                self.add_classes(model, &p, labels);
            }
            Target::Values { .. } => {
                let mut before = 0;
                for out in in_parts(x, |x| model.predict(x))? {
                    self.add_values(&out, target, before);
                    before += out.rows();
                }
            }
        }
        Ok(())
    }

    /// Adds what a model says of the rows that it left out in training, and returns how many these are.
    pub(crate) fn predict_left_out(&mut self, model: &Ensemble, train: &Dataset) -> Outcome<usize> {
        let out = train.select(&model.rows_left_out(train)?)?;
        match out.target() {
            target @ Target::Values { .. } => self.add_values(&model.left_out(train)?, target, 0),
            Target::Labels { labels, .. } => {
                self.add_classes(model, model.left_out_classes(train)?.data(), labels);
            }
        }
        Ok(out.rows())
    }

    /// Adds predictions of the target's rows from `first` on.
    fn add_values(&mut self, out: &Prediction, target: &Target, first: usize) {
        let Target::Values { y, observed } = target else { return };
        let (width, var) = (out.width(), out.total_var());
        self.values.resize_with(width, Column::default);
        for (i, var) in var.into_iter().enumerate() {
            let at = first * width + i;
            let column = &mut self.values[i % width];
            if observed.as_ref().is_none_or(|seen| seen[at]) {
                let y = y.data()[at];
                column.y.push(y);
                column.mean.push(out.mean()[i]);
                column.var.push(var);
                if self.only_errors {
                    continue;
                }
                let [below, above] = out.below_and_above(i, y);
                column.level.push(1.0 - 2.0 * if below < above { below } else { above });
                column.nll.push(-out.ln_density(i, y));
                column.crps.push(out.crps(i, y));
            }
        }
    }

    /// Adds probabilities of the labels' rows.
    fn add_classes(&mut self, model: &Ensemble, p: &[f64], labels: &[usize]) {
        (self.names, self.threshold) = (model.class_names().to_vec(), model.threshold());
        let all = self.classes.get_or_insert_default();
        all.0.extend(p);
        all.1.extend(labels);
    }

    /// Whether nothing was added yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty() && self.classes.is_none()
    }

    /// The errors of one target, surest rows first; none where nothing was judged.
    pub(crate) fn surest(&self, target: usize) -> Option<Surest> {
        match &self.classes {
            Some((p, labels)) => Some(Surest::of_classes(p, labels)),
            None => self.values.get(target).map(|c| Surest::of_values(&c.y, &c.mean, &c.var)),
        }
    }

    /// One entry per target column of `names`.
    pub(crate) fn scores(&self, names: &[String], rows_are: RowsAre) -> Outcome<Vec<Score>> {
        if let Some((p, labels)) = &self.classes {
            let reliability = metrics::ece(p, labels, 15)?;
            let (rows, error_rate) = (labels.len(), metrics::error_rate(p, labels)?);
            let certain = reliability.bins.iter().filter_map(|b| Some(b.confidence? * b.count as f64));
            let confidence = certain.sum::<f64>() / rows as f64;
            return Ok(vec![Score::Classes {
                target: names.join(","),
                rows,
                rows_are,
                error_rate,
                nll: metrics::class_nll(p, labels)?,
                brier: metrics::brier(p, labels)?,
                confidence,
                verdict: Verdict::of(1.0 - error_rate, confidence, rows),
                reliability,
                rarer: Rarer::of(p, labels, &self.names, self.threshold)?,
                surest: Surest::of_classes(p, labels),
            }]);
        }
        names.iter().zip(&self.values).map(|(name, column)| column.score(name, rows_are)).collect()
    }
}

impl Column {
    fn score(&self, target: &str, rows_are: RowsAre) -> Outcome<Score> {
        let Column { y, mean, var, level, .. } = self;
        let average = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        let inside = |most: f64| -> tractable::Result<f64> {
            let one = |l: &f64| if l.is_nan() { f64::NAN } else { f64::from(u8::from(*l <= most)) };
            Ok(average(&level.iter().map(one).collect::<Vec<_>>()))
        };
        let coverage_90 = inside(0.9)?;
        Ok(Score::Values {
            target: target.into(),
            rows: y.len(),
            rows_are,
            rmse: metrics::rmse(y, mean)?,
            mae: metrics::mae(y, mean)?,
            nll: average(&self.nll),
            crps: average(&self.crps),
            coverage_50: inside(0.5)?,
            coverage_90,
            coverage_95: inside(0.95)?,
            nis: metrics::innovation_squared(y, mean, var)?,
            verdict: Verdict::of(coverage_90, 0.9, y.len()),
            calibration: metrics::Calibration::of(inside)?,
            surest: Surest::of_values(y, mean, var),
        })
    }
}

/// Scores on left-out rows, in words.
pub(crate) fn left_out(score: &LeftOut) -> String {
    let percent = |v: f64| format!("{:.1} %", 100.0 * v);
    let parts = [
        Some(count(score.rows as u64, "row")),
        Some(format!("nll {}", short(score.nll))),
        score.rmse.map(|v| format!("rmse {}", short(v))),
        score.error_rate.map(|v| format!("{} wrong", percent(v))),
        score.coverage_90.map(|v| format!("{} inside their 90 % interval", percent(v))),
        score.rarer.as_ref().map(rarer),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How well the rarer class is told apart, in words.
fn rarer(r: &Rarer) -> String {
    let percent = |v: f64| format!("{:.0} %", 100.0 * v);
    let Rarer { class, auc, average_precision, found, .. } = r;
    format!(
        "auc {}, average precision {}; from {} on, `{class}` is found in {} of its rows, and {} of what is found is right",
        short(*auc),
        short(*average_precision),
        short(found.threshold),
        percent(found.recall),
        percent(found.precision)
    )
}

/// Predicts rows on several threads: one result per part, in order. Rows are independent.
pub(crate) fn in_parts<T: Send>(
    x: Input<'_>,
    ask: impl Fn(Input<'_>) -> tractable::Result<T> + Sync,
) -> Outcome<Vec<T>> {
    let device = console::device();
    let team = device.team();
    let rows = x.rows().div_ceil(team.size()).max(1);
    let part = |i: usize| ask(x.rows_between(i * rows, x.rows().min((i + 1) * rows)));
    Ok(team.map(x.rows().div_ceil(rows), part).into_iter().collect::<tractable::Result<_>>()?)
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
                rows_are,
                rmse,
                mae,
                nll,
                crps,
                coverage_50,
                coverage_90,
                coverage_95,
                nis,
                verdict,
                calibration,
                surest: _,
            } => {
                let mut lines = vec![
                    pair("target", target),
                    pair("rows", rows),
                    pair("rmse", short(*rmse)),
                    pair("mae", short(*mae)),
                    pair("nll", short(*nll)),
                    pair("crps", short(*crps)),
                    pair("inside 50 %", percent(*coverage_50)),
                    pair("inside 90 %", percent(*coverage_90)),
                    pair("inside 95 %", percent(*coverage_95)),
                    pair("calibration error", percent(calibration.error)),
                    pair("squared error over variance", short(*nis)),
                ];
                if detail {
                    lines.push(vec![]);
                    lines.push(pair("interval", "observed"));
                    let levels = calibration.levels.iter().zip(&calibration.observed);
                    lines.extend(levels.map(|(l, o)| pair(&format!("{:.0} %", 100.0 * l), percent(*o))));
                }
                let said = format!("{} of the values are inside their 90 % interval", percent(*coverage_90));
                table(&lines, &[0]) + &verdict.say(&said, *rows_are)
            }
            Score::Classes {
                target,
                rows,
                rows_are,
                error_rate,
                nll,
                brier,
                confidence,
                verdict,
                reliability,
                rarer,
                surest: _,
            } => {
                let mut lines = vec![
                    pair("target", target),
                    pair("rows", rows),
                    pair("error rate", format!("{:.2} %", 100.0 * error_rate)),
                    pair("nll", short(*nll)),
                    pair("brier", short(*brier)),
                    pair("confidence", percent(*confidence)),
                    pair("ece", percent(reliability.ece)),
                ];
                if let Some(Rarer { class, rows, auc, average_precision, found, .. }) = rarer {
                    lines.push(pair("rarer class", format!("{class}, {rows} rows")));
                    lines.push(pair("auc", short(*auc)));
                    lines.push(pair("average precision", short(*average_precision)));
                    lines.push(pair("predicted from a probability of", short(found.threshold)));
                    lines.push(pair("  found of its rows", percent(found.recall)));
                    lines.push(pair("  right of what is found", percent(found.precision)));
                    lines.push(pair("  f1", short(found.f1)));
                }
                let mut text = table(&lines, &[0]);
                if detail {
                    text += "\n";
                    text += &table(&bins(reliability), &[0]);
                }
                let right = percent(1.0 - error_rate);
                let said = format!("{right} of its classes are right; it predicts {}", percent(*confidence));
                text + &verdict.say(&said, *rows_are)
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
