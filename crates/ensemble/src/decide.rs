//! What left-out rows decide: how long to train, the weights of the kinds, the calibration, and where a variance comes from.

use super::fit::{Data, Job};
use super::folds::{FOLDS, rows_of};
use super::{Calibrated, Member, Said, average, together};
use tractable_core::error::Result;
use tractable_core::gaussian::Matrix;
use tractable_data::Target;
use tractable_network::output::{Calibration, ClassCalibration, Parts};

/// Weights tried for the first kind; the second kind has the rest.
const BLENDS: [f64; 5] = [1.0, 0.75, 0.5, 0.25, 0.0];

/// Weights of the kinds, their calibration, and whether weight uncertainty is computed by rows.
pub(super) type Decided = (Vec<f64>, Calibrated, bool);

/// A network's predictions for the rows of its fold.
pub(super) enum Judged {
    Values(Vec<Said>),
    Classes(Matrix),
}

impl Data<'_> {
    /// The training length with which left-out rows are most likely, and its networks.
    pub(super) fn best_length(&self, jobs: &[Job], members: Vec<Member>) -> Result<(usize, Vec<Member>)> {
        let mut best: Option<(f64, usize, Vec<Member>)> = None;
        let mut rest = jobs.iter().zip(members).peekable();
        while let Some((job, _)) = rest.peek() {
            let length = job.length;
            let mut own = Vec::new();
            while let Some((_, member)) = rest.next_if(|(job, _)| job.length == length) {
                own.push(member);
            }
            let said = own.iter().map(|member| self.left_out(member, false)).collect::<Result<Vec<_>>>()?;
            let (_, _, ln_likelihood) = self.calibrate(&own, &said);
            if best.as_ref().is_none_or(|b| ln_likelihood > b.0) {
                best = Some((ln_likelihood, length, own));
            }
        }
        let (_, length, members) = best.expect("there is a job");
        Ok((length, members))
    }

    /// Weights of the kinds, their calibration, and whether weight uncertainty is computed by rows: whatever makes left-out rows most likely.
    /// Rows are not tried for classes, or if the uncertainty is that of all weights together.
    pub(super) fn decide(
        &self,
        members: &[Member],
        mut left_out: impl FnMut(bool) -> Result<Option<Vec<Judged>>>,
    ) -> Result<Option<Decided>> {
        let from_a_pass = self.classes().is_none() && members.iter().all(|m| m.outside.is_empty());
        let ways = if from_a_pass { &[false, true][..] } else { &[false] };
        let mut best: Option<(f64, Decided)> = None;
        for &by_rows in ways {
            let Some(said) = left_out(by_rows)? else { return Ok(None) };
            let (weights, calibration, ln_likelihood) = self.calibrate(members, &said);
            if best.as_ref().is_none_or(|b| ln_likelihood > b.0) {
                best = Some((ln_likelihood, (weights, calibration, by_rows)));
            }
        }
        Ok(best.map(|b| b.1))
    }

    /// Weights of the kinds, their calibration, and the resulting likelihood of left-out rows.
    pub(super) fn calibrate(&self, members: &[Member], said: &[Judged]) -> (Vec<f64>, Calibrated, f64) {
        let one_kind = members.iter().all(|m| m.kind == 0);
        let blends = if one_kind { &BLENDS[..1] } else { &BLENDS };
        let tried = blends.iter().map(|&first| {
            let weights = if self.settings.single { vec![1.0] } else { vec![first, 1.0 - first] };
            let (calibration, ln_likelihood) = match self.all.target() {
                Target::Values { y, observed } => {
                    self.of_values(y, observed.as_deref(), &weights, members, said)
                }
                Target::Labels { labels, .. } => self.of_classes(labels, &weights, members, said),
            };
            (weights, calibration, ln_likelihood)
        });
        tried.reduce(|a, b| if b.2 > a.2 { b } else { a }).expect("some are tried")
    }

    /// The members that left a fold out, with their weights and their predictions for it.
    fn of_fold<'j>(
        members: &'j [Member],
        said: &'j [Judged],
        weights: &'j [f64],
        fold: usize,
    ) -> impl Iterator<Item = (f64, &'j Judged)> {
        let pairs = members.iter().zip(said).filter(move |(m, _)| m.fold == fold && weights[m.kind] > 0.0);
        pairs.map(|(m, said)| (weights[m.kind], said))
    }

    fn of_values(
        &self,
        y: &Matrix,
        observed: Option<&[bool]>,
        weights: &[f64],
        members: &[Member],
        said: &[Judged],
    ) -> (Calibrated, f64) {
        let width = y.width();
        let scaled = self.output.as_ref().expect("numbers are scaled").apply(y.data());
        let mut of_output: Vec<(Vec<f64>, Vec<Parts>)> = vec![Default::default(); width];
        for fold in 0..FOLDS {
            let own = Self::of_fold(members, said, weights, fold).map(|(w, said)| match said {
                Judged::Values(said) => (w, said.clone()),
                Judged::Classes(_) => unreachable!("the target is numbers"),
            });
            let parts = together(&own.collect::<Vec<_>>());
            let rows = rows_of(&self.folds, fold, true);
            let entries = rows.iter().flat_map(|row| (0..width).map(move |c| row * width + c));
            for (at, part) in entries.zip(parts) {
                if observed.is_none_or(|o| o[at]) {
                    of_output[at % width].0.push(scaled[at]);
                    of_output[at % width].1.push(part);
                }
            }
        }
        let fitted: Vec<(Calibration, f64)> =
            of_output.iter().map(|(y, parts)| Calibration::fit(y, parts)).collect();
        let ln_likelihood = fitted.iter().map(|f| f.1).sum();
        (Calibrated::Values(fitted.into_iter().map(|f| f.0).collect()), ln_likelihood)
    }

    fn of_classes(
        &self,
        labels: &[usize],
        weights: &[f64],
        members: &[Member],
        said: &[Judged],
    ) -> (Calibrated, f64) {
        let (mut p, mut seen) = (Vec::new(), Vec::new());
        for fold in 0..FOLDS {
            let own = Self::of_fold(members, said, weights, fold).map(|(w, said)| match said {
                Judged::Classes(p) => (w, p.clone()),
                Judged::Values(_) => unreachable!("the target is classes"),
            });
            let own: Vec<(f64, Matrix)> = own.collect();
            if own.is_empty() {
                continue;
            }
            p.extend(average(&own));
            seen.extend(rows_of(&self.folds, fold, true).iter().map(|&row| labels[row]));
        }
        let (calibration, ln_likelihood) = ClassCalibration::fit(&p, &seen);
        (Calibrated::Classes(calibration), ln_likelihood)
    }
}
