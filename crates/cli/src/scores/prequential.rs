//! Scores of rows that are predicted first and learned afterwards, over a part of a stream.

use crate::report::short;
use serde::Serialize;
use tractable::{Prediction, metrics, network::Surprise};

/// Sums over the rows so far, for one target.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    rows: u64,
    squares: f64,
    wrong: u64,
    nll: f64,
    inside: u64,
    confidence: f64,
    surprise: Surprise,
    forgot: u64,
}

/// The scores of one target over some rows.
///
/// Line `score` of `learn`.
/// Line `total` of `learn`.
#[derive(Serialize)]
pub(crate) struct Scored<'a> {
    /// Name of the column; with `--score`, one line per target and window.
    pub(crate) target: &'a str,
    /// Rows that the run has learned from streams so far; in `total`, by this command.
    pub(crate) rows: u64,
    /// Rows in this window with this target.
    pub(crate) of: u64,
    /// Mean negative log-likelihood of predictions made before the rows were learned.
    pub(crate) nll: f64,
    #[serde(flatten)]
    pub(crate) kind: Kind,
    /// Squared errors divided by their expected value: about 1 if calibrated.
    pub(crate) surprise: f64,
    /// How often the model has forgotten.
    pub(crate) forgot: u64,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Kind {
    /// Numbers
    Values {
        /// Of these predictions.
        rmse: f64,
        /// Share inside the 90 % interval.
        coverage_90: f64,
    },
    /// Classes
    Classes {
        /// Share of wrong classes.
        error_rate: f64,
        /// Mean probability of the predicted class.
        confidence: f64,
    },
}

impl Tally {
    /// Adds one predicted number and its true value.
    pub(crate) fn value(&mut self, out: &Prediction, target: usize, y: f64) {
        let [below, above] = out.below_and_above(target, y);
        self.rows += 1;
        self.squares += (y - out.mean()[target]).powi(2);
        self.nll -= out.ln_density(target, y);
        self.inside += u64::from(below.min(above) >= 0.05);
    }

    /// Adds the probabilities of all classes and the true class.
    pub(crate) fn class(&mut self, p: &[f64], label: usize) {
        let said = metrics::argmax(p);
        self.rows += 1;
        self.wrong += u64::from(said != label);
        self.confidence += p[said];
        // `class_nll` treats a probability of zero in the same way.
        self.nll -= p[label].max(f64::MIN_POSITIVE).ln();
    }

    /// Adds the surprise of a row, and whether the model forgot.
    pub(crate) fn surprise(&mut self, surprise: Surprise, forgot: bool) {
        self.surprise += surprise;
        self.forgot += u64::from(forgot);
    }

    pub(crate) fn forgot(&self) -> u64 {
        self.forgot
    }

    pub(crate) fn scored<'a>(&self, target: &'a str, rows: u64, classes: bool) -> Scored<'a> {
        let mean = |sum: f64| sum / self.rows as f64;
        let kind = match classes {
            true => Kind::Classes { error_rate: mean(self.wrong as f64), confidence: mean(self.confidence) },
            false => Kind::Values { rmse: mean(self.squares).sqrt(), coverage_90: mean(self.inside as f64) },
        };
        let (nll, surprise) = (mean(self.nll), self.surprise.ratio());
        Scored { target, rows, of: self.rows, nll, kind, surprise, forgot: self.forgot }
    }
}

impl Scored<'_> {
    /// One line of text.
    pub(crate) fn text(&self) -> String {
        let percent = |v: f64| format!("{:.1} %", 100.0 * v);
        let own = match self.kind {
            Kind::Values { rmse, coverage_90 } => {
                format!("rmse {}  inside 90 % {}", short(rmse), percent(coverage_90))
            }
            Kind::Classes { error_rate, confidence } => {
                format!("wrong {}  confidence {}", percent(error_rate), percent(confidence))
            }
        };
        let forgot = if self.forgot > 0 { format!("  forgot {}", self.forgot) } else { String::new() };
        let (nll, surprise) = (short(self.nll), short(self.surprise));
        format!("{}  {} rows  {own}  nll {nll}  surprise {surprise}{forgot}", self.target, self.rows)
    }
}
