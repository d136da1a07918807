//! A one-line verdict on a model's intervals or probabilities.

use super::RowsAre;
use serde::Serialize;

/// Deviations below this, or below this many standard errors, are ignored.
pub(crate) const POINTS: f64 = 0.04;
const ERRORS: f64 = 3.0;

/// Whether intervals, or probabilities of classes, hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Hold,
    /// Intervals are too narrow, or probabilities too large.
    TooSure,
    /// Intervals are too wide, or probabilities too small.
    NotSureEnough,
}

impl Verdict {
    /// From the share of rows inside their intervals, or right, and the expected share.
    pub(super) fn of(observed: f64, expected: f64, rows: usize) -> Self {
        let error = (expected * (1.0 - expected) / rows as f64).sqrt();
        if (observed - expected).abs() <= POINTS.max(ERRORS * error) {
            Verdict::Hold
        } else if observed < expected {
            Verdict::TooSure
        } else {
            Verdict::NotSureEnough
        }
    }

    /// A line if they are off: in which direction, and what to do.
    pub(super) fn say(self, said: &str, rows_are: RowsAre) -> String {
        let which = match self {
            Verdict::Hold => return String::new(),
            Verdict::TooSure => "the model is overconfident",
            Verdict::NotSureEnough => "the model is underconfident",
        };
        let what = match (rows_are, self) {
            (RowsAre::Learned, _) => "evaluate it on rows that it was not trained on",
            (_, Verdict::NotSureEnough) => "this errs on the safe side",
            (RowsAre::New, _) => "train again, and include rows like these",
            (RowsAre::LeftOut, _) => "train again with more rows, or without network flags",
        };
        format!("\n{which}: {said}; {what}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_differences_and_those_by_chance_are_no_verdict() {
        assert_eq!(Verdict::of(0.8, 0.9, 20), Verdict::Hold);
        assert_eq!(Verdict::of(0.87, 0.9, 1_000_000), Verdict::Hold);
        assert_eq!(Verdict::of(0.8, 0.9, 500), Verdict::TooSure);
        assert_eq!(Verdict::of(1.0, 0.9, 500), Verdict::NotSureEnough);
    }
}
