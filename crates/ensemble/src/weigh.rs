//! What left-out rows decide: the calibration of each candidate, and how much it weighs.

use super::candidate::{Calibrated, Candidate, average};
use super::fit::Data;
use super::folds::FOLDS;
use super::{points, weights};
use tractable_core::error::Result;
use tractable_data::Target;
use tractable_network::output::{Calibration, ClassCalibration, Parts, Prediction, ln_mixed};

/// Weights are so many steps, each given to the candidate that helps most.
const STEPS: usize = 25;
/// Factors on all standard deviations that are tried once the weights are chosen,
const SCALES: [f64; 8] = [0.8, 0.87, 0.93, 1.0, 1.07, 1.15, 1.25, 1.4];
/// and how far the logarithm of one is trusted to lie from 0, as a precision.
const TRUST: f64 = 8.0;
/// Rows that decide, at most: every second, every third, ...
const MOST_ROWS: usize = 5000;
const LEAST: f64 = 1e-300;

/// The rows of each fold, with what a candidate that left them out says of them.
type LeftOutParts = Vec<(Vec<usize>, Vec<Parts>)>;

/// What a candidate says of left-out rows: of classes, the logarithm of the probability of the right one.
enum Said {
    Values(LeftOutParts),
    Classes(Vec<f64>),
}

/// What the candidates say of one output of the rows they left out.
#[derive(Default)]
struct Judged {
    fold: Vec<usize>,
    y: Vec<f64>,
    /// Logarithms of densities, and means, by candidate; no means of classes.
    ln: Vec<Vec<f64>>,
    mean: Vec<Vec<f64>>,
}

impl Data<'_> {
    /// Calibrates every candidate on the rows it left out, weighs them, and leaves out those that weigh nothing.
    pub(super) fn decide(
        &self,
        mut all: Vec<Candidate>,
        range: &[[f64; 2]],
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Option<Vec<Candidate>>> {
        let mut said = Vec::new();
        for candidate in &mut all {
            if !go_on() {
                return Ok(None);
            }
            said.push(self.calibrate(candidate, range)?);
        }
        for output in 0..all[0].weights.len() {
            let judged = self.judged(&all, &said, range, output, 1.0)?;
            let rows: Vec<usize> = (0..judged.fold.len()).collect();
            let one_fold = judged.fold.iter().all(|f| *f == judged.fold[0]);
            let mut weights = if one_fold { judged.best() } else { judged.weigh(&rows) };
            if !one_fold {
                judged.allow_for_zero(&mut weights, &all);
            }
            let scale = if one_fold || judged.mean.is_empty() {
                1.0
            } else {
                self.scale(&all, &said, range, output, &judged)?
            };
            for (candidate, weight) in all.iter_mut().zip(weights) {
                candidate.weights[output] = weight;
                if let Calibrated::Values(each) = &mut candidate.calibration {
                    each[output].scale(scale);
                }
            }
        }
        all.retain(|c| c.weight() > 0.0);
        if let Target::Labels { labels, .. } = self.all.target() {
            all = vec![self.joined(all, labels)?];
        }
        Ok(Some(all))
    }

    /// Which candidates have a weight on the rows that they have left out so far.
    pub(super) fn promising(&self, all: &mut [Candidate], range: &[[f64; 2]]) -> Result<Vec<bool>> {
        let said = all.iter_mut().map(|c| self.calibrate(c, range)).collect::<Result<Vec<_>>>()?;
        let mut promising = vec![false; all.len()];
        for output in 0..all[0].weights.len() {
            let judged = self.judged(all, &said, range, output, 1.0)?;
            let rows: Vec<usize> = (0..judged.fold.len()).collect();
            promising.iter_mut().zip(judged.weigh(&rows)).for_each(|(p, weight)| *p |= weight > 0.0);
        }
        Ok(promising)
    }

    /// Calibrates a candidate, and gives what it says of the rows that it left out.
    fn calibrate(&self, candidate: &mut Candidate, range: &[[f64; 2]]) -> Result<Said> {
        Ok(match self.all.target() {
            Target::Values { .. } => Said::Values(self.calibrate_values(candidate, range)?),
            Target::Labels { labels, .. } => {
                let (p, labels) = self.left_out_classes(candidate, labels)?;
                // Rows that weigh nothing calibrate nothing.
                if labels.is_empty() {
                    return Ok(Said::Classes(Vec::new()));
                }
                let (calibration, _) = ClassCalibration::fit(&p, &labels);
                candidate.calibration = Calibrated::Classes(calibration);
                let rows = p.chunks_exact(p.len() / labels.len()).zip(&labels);
                Said::Classes(rows.map(|(p, &label)| libm::log(calibration.of(p)[label])).collect())
            }
        })
    }

    /// Of classes, probabilities are averaged first and then calibrated: averages of calibrated ones are not certain enough.
    fn joined(&self, all: Vec<Candidate>, labels: &[usize]) -> Result<Candidate> {
        let names: Vec<&str> = all.iter().map(|c| &c.name[..]).collect();
        let name = names.join(", ");
        let weighted = all.into_iter().flat_map(|c| {
            let weight = c.weights[0];
            c.members.into_iter().map(move |mut m| {
                m.weight = weight;
                m
            })
        });
        let mut joined = Candidate::new(&name, false, weighted.collect());
        let (p, labels) = self.left_out_classes(&joined, labels)?;
        joined.calibration = Calibrated::Classes(ClassCalibration::fit(&p, &labels).0);
        Ok(joined)
    }

    /// The factor on all standard deviations that makes rows most likely that have not chosen their weights.
    fn scale(
        &self,
        all: &[Candidate],
        said: &[Said],
        range: &[[f64; 2]],
        output: usize,
        judged: &Judged,
    ) -> Result<f64> {
        let rows: Vec<usize> = (0..judged.fold.len()).collect();
        let nested: Vec<Vec<f64>> = (0..FOLDS)
            .map(|fold| {
                judged.weigh(&rows.iter().copied().filter(|&r| judged.fold[r] != fold).collect::<Vec<_>>())
            })
            .collect();
        let mut best = (f64::NEG_INFINITY, 1.0);
        for scale in SCALES {
            let scaled = self.judged(all, said, range, output, scale)?;
            let ln = |&row: &usize| {
                let weights = nested[scaled.fold[row]].iter().zip(&scaled.ln);
                ln_mixed(&weights.map(|(w, ln)| (*w, ln[row])).collect::<Vec<_>>())
            };
            let sum = rows.iter().map(ln).sum::<f64>() - TRUST * libm::pow(libm::log(scale), 2.0);
            if sum > best.0 {
                best = (sum, scale);
            }
        }
        Ok(best.1)
    }

    /// Predictions of a candidate for the rows of each of its folds, with these rows.
    fn left_out(&self, candidate: &Candidate, range: &[[f64; 2]]) -> Result<LeftOutParts> {
        let of_fold = |fold: usize| {
            let rows = self.folds.rows(fold, true);
            let x = self.all.select(&rows)?;
            let own = || candidate.members.iter().filter(|m| m.fold == fold);
            let mut parts = Vec::new();
            for points in points::parts(x.input()) {
                let said = own().map(|m| Ok((m.weight, candidate.ask(m, points.input()?)?)));
                parts.extend(candidate.pooled(&points, &said.collect::<Result<Vec<_>>>()?, range));
            }
            if let Some(each) = self.all.weights() {
                weights::as_noisy(&mut parts, rows.iter().map(|row| each[*row]), candidate.weights.len());
            }
            Ok((rows, parts))
        };
        let folds = (0..FOLDS).filter(|&f| candidate.members.iter().any(|m| m.fold == f));
        folds.map(of_fold).collect()
    }

    /// Calibrates a candidate of numbers, and gives what it says of left-out rows.
    fn calibrate_values(&self, candidate: &mut Candidate, range: &[[f64; 2]]) -> Result<LeftOutParts> {
        let said = self.left_out(candidate, range)?;
        let fitted = (0..candidate.weights.len()).map(|output| {
            let (_, y, parts) = self.of_output(candidate, &said, output);
            Calibration::fit(&y, &parts, candidate.log).0
        });
        candidate.calibration = Calibrated::Values(fitted.collect());
        Ok(said)
    }

    /// The rows of a fold, each as often as its weight says.
    fn rows_that_count(&self, fold: usize) -> Vec<usize> {
        let rows = self.folds.rows(fold, true);
        let Some(all) = self.all.weights() else { return rows };
        let own: Vec<f64> = rows.iter().map(|row| all[*row]).collect();
        weights::often(&own, 1.0, self.settings.seed).into_iter().map(|i| rows[i]).collect()
    }

    /// Probabilities of classes for left-out rows, with the right ones.
    fn left_out_classes(&self, candidate: &Candidate, labels: &[usize]) -> Result<(Vec<f64>, Vec<usize>)> {
        let (mut p, mut seen) = (Vec::new(), Vec::new());
        for fold in 0..FOLDS {
            let rows = self.rows_that_count(fold);
            let own: Vec<_> = candidate.members.iter().filter(|m| m.fold == fold).collect();
            if own.is_empty() || rows.is_empty() {
                continue;
            }
            let x = self.all.select(&rows)?;
            let sum: f64 = own.iter().map(|m| m.weight).sum();
            for points in points::parts(x.input()) {
                let said = own
                    .iter()
                    .map(|m| Ok((m.weight / sum, points.averaged(m.net.predict_classes(points.input()?)?)?)));
                p.extend(average(&said.collect::<Result<Vec<_>>>()?));
            }
            seen.extend(rows.iter().map(|&row| labels[row]));
        }
        Ok((p, seen))
    }

    /// The rows that were left out and have this output, with the output in a candidate's units and what it says.
    fn of_output(
        &self,
        candidate: &Candidate,
        said: &[(Vec<usize>, Vec<Parts>)],
        output: usize,
    ) -> (Vec<usize>, Vec<f64>, Vec<Parts>) {
        let Target::Values { y, observed } = self.all.target() else { unreachable!("the target is numbers") };
        let width = y.width();
        let scaler = candidate.members[0].net.output_scaler();
        let standard = |row: usize| {
            let y = y.row(row)[output];
            let y = if candidate.log { libm::log(y) } else { y };
            scaler.map_or(y, |s| (y - s.mean()[output]) / s.std()[output])
        };
        let each =
            said.iter().flat_map(|(rows, parts)| rows.iter().zip(parts.iter().skip(output).step_by(width)));
        let counts = |row: usize| self.all.weights().is_none_or(|w| w[row] > 0.0);
        let seen = each
            .filter(|(row, _)| counts(**row) && observed.as_ref().is_none_or(|o| o[**row * width + output]));
        let seen: Vec<(usize, f64, Parts)> = seen.map(|(&row, p)| (row, standard(row), *p)).collect();
        let step = seen.len().div_ceil(MOST_ROWS).max(1);
        let mut out = (Vec::new(), Vec::new(), Vec::new());
        for (row, y, part) in seen.into_iter().step_by(step) {
            out.0.push(row);
            out.1.push(y);
            out.2.push(part);
        }
        out
    }

    /// With a factor on all standard deviations.
    fn judged(
        &self,
        all: &[Candidate],
        said: &[Said],
        range: &[[f64; 2]],
        output: usize,
        scale: f64,
    ) -> Result<Judged> {
        let mut judged = Judged::default();
        for (candidate, said) in all.iter().zip(said) {
            let said = match said {
                Said::Values(said) => said,
                Said::Classes(ln) => {
                    judged.ln.push(ln.clone());
                    judged.fold = (0..FOLDS)
                        .filter(|&f| candidate.members.iter().any(|m| m.fold == f))
                        .flat_map(|f| self.rows_that_count(f).into_iter().map(move |_| f))
                        .collect();
                    continue;
                }
            };
            let (rows, _, parts) = self.of_output(candidate, said, output);
            let y: Vec<f64> =
                rows.iter().map(|&r| self.all.y().expect("the target is numbers").row(r)[output]).collect();
            // What an input leaves open is not scaled.
            let parts: Vec<Parts> =
                parts.iter().map(|p| Parts { open: p.open / (scale * scale), ..*p }).collect();
            let mut alone = candidate.component(&parts, output..output + 1, range)?;
            alone.weight = vec![1.0];
            alone.doubt.iter_mut().chain(&mut alone.noise).for_each(|v| *v *= scale * scale);
            let out = Prediction::mixture(vec![alone])?;
            judged.ln.push(y.iter().enumerate().map(|(i, y)| out.ln_density(i, *y)).collect());
            judged.mean.push(out.mean().to_vec());
            judged.fold = rows.iter().map(|&r| self.folds.of_row(r)).collect();
            judged.y = y;
        }
        Ok(judged)
    }
}

impl Judged {
    /// All weight for the candidate that is most likely.
    fn best(&self) -> Vec<f64> {
        let sums: Vec<f64> = self.ln.iter().map(|ln| ln.iter().sum()).collect();
        let best = (0..sums.len()).fold(0, |best, k| if sums[k] > sums[best] { k } else { best });
        (0..sums.len()).map(|k| f64::from(u8::from(k == best))).collect()
    }

    /// Logarithms give what is not positive no density at all. That so many rows were positive does not make it impossible for the next:
    /// the likeliest candidate that allows for it has at least as much weight as one row.
    fn allow_for_zero(&self, weights: &mut [f64], all: &[Candidate]) {
        let sum = |k: &usize| self.ln[*k].iter().sum::<f64>();
        let others = (0..all.len()).filter(|k| !all[*k].log);
        if all.iter().zip(&*weights).any(|(c, w)| !c.log && *w > 0.0) {
            return;
        }
        if let Some(best) = others.max_by(|a, b| sum(a).total_cmp(&sum(b))) {
            let share = 1.0 / (self.fold.len() as f64 + 1.0);
            weights.iter_mut().for_each(|w| *w *= 1.0 - share);
            weights[best] = share;
        }
    }

    /// Weights that make the mixture likely on these rows, and its mean exact.
    fn weigh(&self, rows: &[usize]) -> Vec<f64> {
        let n = rows.len().max(1) as f64;
        let most = |row: usize| self.ln.iter().map(|ln| ln[row]).fold(f64::NEG_INFINITY, f64::max);
        let density =
            |k: usize| rows.iter().map(move |&r| libm::exp(self.ln[k][r] - most(r))).collect::<Vec<f64>>();
        let densities: Vec<Vec<f64>> = (0..self.ln.len()).map(density).collect();
        let average = rows.iter().filter_map(|&r| self.y.get(r)).sum::<f64>() / n;
        let spread =
            rows.iter().filter_map(|&r| self.y.get(r)).map(|y| (y - average).powi(2)).sum::<f64>() / n;
        let (mut count, mut density, mut mean) =
            (vec![0.0; self.ln.len()], vec![0.0; rows.len()], vec![0.0; rows.len()]);
        for step in 1..=STEPS {
            let share = 1.0 / step as f64;
            let gain = |k: usize| {
                let sum = density
                    .iter()
                    .zip(&densities[k])
                    .map(|(d, e)| libm::log((d + e) * share + LEAST))
                    .sum::<f64>()
                    / n;
                let Some(own) = self.mean.get(k) else { return sum };
                let squares =
                    rows.iter().zip(&mean).map(|(&r, m)| (self.y[r] - (m + own[r]) * share).powi(2));
                sum - 0.5 * libm::log(squares.sum::<f64>() / n / spread.max(LEAST) + 1e-9)
            };
            let gains: Vec<f64> = (0..count.len()).map(gain).collect();
            let best = (0..gains.len()).fold(0, |best, k| if gains[k] > gains[best] { k } else { best });
            count[best] += 1.0;
            density.iter_mut().zip(&densities[best]).for_each(|(d, e)| *d += e);
            if let Some(own) = self.mean.get(best) {
                mean.iter_mut().zip(rows).for_each(|(m, &r)| *m += own[r]);
            }
        }
        count.iter().map(|c| c / STEPS as f64).collect()
    }
}
