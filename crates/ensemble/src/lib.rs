//! [`Ensemble`]: several networks, calibrated on the rows they left out.
//!
//! Five folds of the rows, two kinds of networks: every row is left out by one network of each kind. Their predictions
//! stand for predictions of new rows, so they determine how wide the intervals must be, how heavy their tails
//! are, and how much weight each kind gets.

mod about;
mod condition;
mod decide;
#[cfg(feature = "files")]
mod file;
mod fit;
mod folds;
mod outside;
mod settings;
#[cfg(feature = "csv")]
mod stream;
mod surprise;
#[cfg(feature = "files")]
mod workers;

pub use fit::{LeftOut, Stage};
pub use settings::Settings;

use folds::FOLDS;
use outside::Outside;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Gaussian, Input, Matrix};
use tractable_core::metrics::Tails;
use tractable_core::shape::Shape;
use tractable_data::{Dataset, Scaler};
use tractable_network::condition::Posterior;
use tractable_network::network::Network;
use tractable_network::output::{
    Calibration, ClassCalibration, Observation, Output, Parts, Prediction, Wanted,
};

/// Several networks with calibrated intervals: `predict`, `learn` and `condition` without settings.
///
/// ```
/// use tractable::{Ensemble, Matrix, data::Dataset, rng};
/// let mut random = rng::stream(0, "example", 0);
/// let x: Vec<f64> = (0..60).map(|_| rng::uniform(-1.0, 1.0, &mut random)).collect();
/// let y = x.iter().map(|x| 3.0 * x + 0.2 * rng::standard_normal(&mut random)).collect();
/// let data = Dataset::new(Matrix::column(x)?, Matrix::column(y)?)?;
/// # let settings = tractable::ensemble::Settings::default().visits(2000);
/// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
/// # /*
/// let model = Ensemble::fit(&data)?;
/// # */
/// let out = model.predict(&Matrix::column(vec![0.0, 3.0])?)?;
/// let (lower, upper) = out.interval(0.9)?;
/// assert!(upper[1] - lower[1] > upper[0] - lower[0]); // wider outside the data
/// # Ok::<(), tractable::Error>(())
/// ```
pub struct Ensemble {
    members: Vec<Member>,
    spec: Spec,
}

/// Rows that all networks are asked about together, and as many as are worth a thread.
const AT_ONCE: usize = 4096;
const WORTH_A_THREAD: usize = 64;

/// Everything except the networks.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
struct Spec {
    /// Rows that were learned from, and the seed of their folds.
    rows: usize,
    seed: u64,
    /// Weight of each kind of network; they sum to 1.
    weights: Vec<f64>,
    calibration: Calibrated,
    /// Scores on left-out rows.
    left_out: Vec<LeftOut>,
    /// It is a network of the user's own, who knows which rows were left out.
    own: bool,
    /// Left-out rows are more likely if the weight uncertainty of a pass includes covariances between units; false in older files.
    #[cfg_attr(feature = "files", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    by_rows: bool,
}

#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
enum Calibrated {
    /// One per output.
    Values(Vec<Calibration>),
    Classes(ClassCalibration),
}

/// A network, its kind, the fold it has not learned from, and how unsure it is away from its data.
struct Member {
    net: Network,
    kind: usize,
    fold: usize,
    /// One per output; none of classes.
    outside: Vec<Outside>,
    kept: Vec<Kept>,
}

/// Rows that [`Outside`] is made from, in the network's units.
#[derive(Debug, Clone, PartialEq)]
struct Kept {
    x: Vec<f64>,
    y: Vec<f64>,
    of_rows: usize,
}

/// What one network says of one number.
#[derive(Debug, Clone, Copy, Default)]
struct Said {
    mean: f64,
    doubt: f64,
    noise: [f64; 2],
}

impl std::fmt::Debug for Ensemble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ensemble").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl Member {
    fn new(net: Network, kind: usize, fold: usize, kept: Vec<Kept>) -> Result<Self> {
        let make = |(output, k): (usize, &Kept)| {
            let std = net.noise_std()[output % net.noise_std().len()];
            Outside::new(&net, &k.x, &k.y, output, std * std, k.of_rows)
        };
        let outside = kept.iter().enumerate().map(make).collect::<Result<_>>()?;
        Ok(Member { net, kind, fold, outside, kept })
    }

    /// In standardised units, `[rows, width]`. The doubt (weight uncertainty) is computed from all weights together if possible, otherwise from a
    /// pass, by rows or with independent units.
    fn say(&self, x: Input<'_>, by_rows: bool) -> Result<Vec<Said>> {
        let predict =
            |x| if by_rows { self.net.predict_with_covariances(x) } else { self.net.predict_standard(x) };
        let [mean, mut doubt, noise] = predict(x)?;
        let units = self.net.output().units();
        // Of inputs that are not known: what they leave open, which more data would not remove.
        let mut open = vec![0.0; mean.len()];
        let uncertain: Vec<bool> = (0..x.rows()).map(|row| x.is_uncertain(row)).collect();
        if uncertain.contains(&true) {
            let at_mean = predict(Input::exact(x.mean(), x.width())?)?;
            for i in (0..doubt.len()).filter(|i| uncertain[i / units]) {
                open[i] = (doubt[i] - at_mean[1][i]).max(0.0);
                doubt[i] = at_mean[1][i];
            }
        }
        let standard = self.net.input_scaler().map(|s| s.apply(x.mean()));
        let at = standard.as_deref().unwrap_or(x.mean());
        for (output, outside) in self.outside.iter().enumerate() {
            let var = outside.var(&self.net, at)?;
            var.iter().enumerate().for_each(|(row, v)| doubt[row * units + output] = *v);
        }
        let std = self.net.noise_std();
        let said = |i: usize| Said {
            mean: mean[i],
            doubt: doubt[i],
            noise: [noise[i] + open[i], std[i % units % std.len()].powi(2) + open[i]],
        };
        Ok((0..mean.len()).map(said).collect())
    }
}

/// What several networks say together, each with a weight; the weights add up to 1.
fn together(said: &[(f64, Vec<Said>)]) -> Vec<Parts> {
    let squares: f64 = said.iter().map(|(w, _)| w * w).sum();
    let entries = said.first().map_or(0, |(_, s)| s.len());
    let entry = |i: usize| {
        let sum = |f: &dyn Fn(&Said) -> f64| said.iter().map(|(w, s)| w * f(&s[i])).sum::<f64>();
        let mean = sum(&|s| s.mean);
        // A weighted variance of a sample; of one network there is none.
        let between = if squares < 1.0 { sum(&|s| (s.mean - mean).powi(2)) / (1.0 - squares) } else { 0.0 };
        Parts { mean, between, doubt: sum(&|s| s.doubt), noise: [sum(&|s| s.noise[0]), sum(&|s| s.noise[1])] }
    };
    (0..entries).map(entry).collect()
}

impl Ensemble {
    /// **What is the output?** The mean, the variance that more data would reduce, and the noise; both parts are calibrated on
    /// left-out rows.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// let out = model.predict(&Matrix::column(vec![3.5])?)?;
    /// println!("{} +- {}", out.mean()[0], out.total_std()[0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn predict<'a>(&self, x: impl Into<Input<'a>>) -> Result<Prediction> {
        let x = x.into();
        let mut parts = Vec::with_capacity(x.rows() * self.output().units());
        for from in (0..x.rows()).step_by(AT_ONCE) {
            let some = x.rows_between(from, x.rows().min(from + AT_ONCE));
            parts.extend(together(&self.ask(|_| true, some.rows(), |m| m.say(some, self.spec.by_rows))?));
        }
        if parts.is_empty() {
            return Err(Error::shape("input", "at least one row", 0));
        }
        self.prediction(parts, x.rows())
    }

    /// The probability of every class, `[rows, classes]`, calibrated on left-out rows.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// let labels = (0..20).map(|i| usize::from(i > 9)).collect();
    /// let data = Dataset::with_labels(Matrix::column(x)?, labels, vec!["low".into(), "high".into()])?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// # /*
    /// let model = Ensemble::fit(&data)?;
    /// # */
    /// let p = model.predict_classes(&Matrix::column(vec![1.0])?)?;
    /// assert!(p.row(0)[0] > 0.5);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn predict_classes<'a>(&self, x: impl Into<Input<'a>>) -> Result<Matrix> {
        let x = x.into();
        self.calibrated_classes(&self.ask(|_| true, x.rows(), |m| m.net.predict_classes(x))?)
    }

    /// Predictions for the training rows, each by the networks that left it out, so that they are as good as new
    /// rows for evaluation. They must be the same rows in the same order.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert_ne!(model.left_out(&data)?, model.predict(data.x())?);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn left_out(&self, data: &Dataset) -> Result<Prediction> {
        let width = self.output().units();
        let mut parts = vec![Parts::default(); data.rows() * width];
        self.each_fold(data, |fold, rows, x| {
            let said = self.ask(|m| m.fold == fold, rows.len(), |m| m.say(x, self.spec.by_rows))?;
            let by_row = together(&said);
            for (row, own) in rows.iter().zip(by_row.chunks_exact(width)) {
                parts[row * width..(row + 1) * width].copy_from_slice(own);
            }
            Ok(())
        })?;
        self.prediction(parts, data.rows())
    }

    /// [`left_out`](Ensemble::left_out) for classes.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let labels = (0..20).map(|i| usize::from(i > 9)).collect();
    /// # let data = Dataset::with_labels(Matrix::column(x)?, labels, vec!["low".into(), "high".into()])?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert_eq!(model.left_out_classes(&data)?.rows(), 20);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn left_out_classes(&self, data: &Dataset) -> Result<Matrix> {
        let classes = self.output().classes();
        let mut all = vec![0.0; data.rows() * classes];
        self.each_fold(data, |fold, rows, x| {
            let p = self.calibrated_classes(&self.ask(
                |m| m.fold == fold,
                rows.len(),
                |m| m.net.predict_classes(x),
            )?)?;
            for (i, row) in rows.iter().enumerate() {
                all[row * classes..(row + 1) * classes].copy_from_slice(p.row(i));
            }
            Ok(())
        })?;
        Matrix::new(all, classes)
    }

    /// **What do the data say about the weights?** Learns from new rows, each of which one fold leaves out. The
    /// calibration is unchanged.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let mut model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// model.learn(&Matrix::column(vec![3.5])?, &Matrix::column(vec![3.4])?)?;
    /// assert_eq!(model.rows(), 21);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn learn<'a, 'b>(
        &mut self,
        x: impl Into<Input<'a>>,
        observation: impl Into<Observation<'b>>,
    ) -> Result<()> {
        let (x, observation) = (x.into(), observation.into());
        // What one network refuses, all refuse.
        self.members[0].net.check_learn(x, &observation)?;
        let single = self.members.iter().all(|m| m.fold == self.members[0].fold);
        for row in 0..x.rows() {
            let fold = self.spec.rows % FOLDS;
            self.spec.rows += 1;
            for member in self.members.iter_mut().filter(|m| single || m.fold != fold) {
                member.net.count_one_more();
                member.net.learn(x.rows_between(row, row + 1), observation.row(row))?;
            }
        }
        Ok(())
    }

    /// **Which input gives the output I want?** Points of the prior are weighted by the calibrated predictions
    /// there; several wanted outputs count as independent. With more than 16 unknown entries, and for maxima and minima, every
    /// network answers separately, and the answers are pooled: modes that overlap are joined.
    ///
    /// ```
    /// # use tractable::{Ensemble, Gaussian, Matrix, Wanted, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(2000);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// let prior = Gaussian::new(vec![10.0], vec![25.0], 1)?;
    /// let x = model.condition(&prior, &Matrix::column(vec![15.0])?)?;
    /// assert!((x.mean()[0] - 15.0).abs() < 1.0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn condition<'a, 'b>(
        &self,
        x: impl Into<Input<'a>>,
        wanted: impl Into<Wanted<'b>>,
    ) -> Result<Posterior> {
        condition::condition(self, x.into(), wanted.into())
    }

    /// What some members say of so many rows, with weights that add up to 1; side by side where it is worth a thread.
    fn ask<T: Send>(
        &self,
        which: impl Fn(&Member) -> bool,
        rows: usize,
        say: impl Fn(&Member) -> Result<T> + Sync,
    ) -> Result<Vec<(f64, T)>> {
        let chosen: Vec<&Member> = self.members.iter().filter(|m| which(m)).collect();
        let of_kind = |kind: usize| chosen.iter().filter(|m| m.kind == kind).count() as f64;
        let weight = |m: &Member| self.spec.weights[m.kind] / of_kind(m.kind);
        let said: Vec<_> = match rows < WORTH_A_THREAD {
            true => chosen.iter().map(|m| say(m)).collect(),
            false => self.members[0].net.device().team().map(chosen.len(), |i| say(chosen[i])),
        };
        chosen.iter().zip(said).map(|(m, said)| Ok((weight(m), said?))).collect()
    }

    /// Calls `f(fold, its rows, their inputs)` for the rows the model was fitted to.
    fn each_fold(
        &self,
        data: &Dataset,
        mut f: impl FnMut(usize, &[usize], Input<'_>) -> Result<()>,
    ) -> Result<()> {
        self.check_fitted(data)?;
        let folds = folds::folds(data.target(), data.rows(), self.spec.seed);
        for fold in 0..FOLDS {
            if !self.members.iter().any(|m| m.fold == fold) {
                let why = "a single network left out only a part of the rows";
                return Err(Error::invalid("rows left out", why));
            }
            let rows = folds::rows_of(&folds, fold, true);
            f(fold, &rows, data.select(&rows)?.input())?;
        }
        Ok(())
    }

    /// In the units of the data.
    fn prediction(&self, parts: Vec<Parts>, rows: usize) -> Result<Prediction> {
        let Calibrated::Values(calibration) = &self.spec.calibration else {
            return Err(Error::invalid("predict", "this model has classes; use predict_classes"));
        };
        let width = calibration.len();
        let scaler = self.output_scaler();
        let (mut mean, mut var, mut noise) = (Vec::new(), Vec::new(), Vec::new());
        for (i, part) in parts.iter().enumerate() {
            let (doubt, own_noise) = calibration[i % width].variances(part);
            mean.push(part.mean);
            var.push(doubt);
            noise.push(own_noise);
        }
        let tails: Vec<Tails> = calibration.iter().map(Calibration::tails).collect();
        let output = Gaussian::new(scaler.undo_mean(&mean), scaler.undo_var(&var), parts.len() / rows)?;
        Prediction::new(output, scaler.undo_var(&noise), tails)
    }

    fn calibrated_classes(&self, said: &[(f64, Matrix)]) -> Result<Matrix> {
        let Calibrated::Classes(calibration) = &self.spec.calibration else {
            return Err(Error::invalid("predict_classes", "this is a regression model; use predict"));
        };
        let classes = said[0].1.width();
        let averaged = average(said);
        let rows = averaged.chunks_exact(classes);
        Matrix::new(rows.flat_map(|row| calibration.of(row)).collect(), classes)
    }

    fn output_scaler(&self) -> Scaler {
        let first = &self.members[0].net;
        first.output_scaler().cloned().unwrap_or_else(|| Scaler::identity(first.output().units()))
    }

    /// Shape of one input sample.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert_eq!(model.input().len(), 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn input(&self) -> Shape {
        self.members[0].net.input()
    }

    /// Kind of the output.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert_eq!(model.output().units(), 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn output(&self) -> Output {
        self.members[0].net.output()
    }

    /// The networks.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert!(model.networks().count() >= 5);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn networks(&self) -> impl Iterator<Item = &Network> {
        self.members.iter().map(|m| &m.net)
    }

    /// Number of training rows.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert_eq!(model.rows(), 20);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.spec.rows
    }

    /// Whether intervals or probabilities are calibrated on left-out rows.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert!(model.is_calibrated());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn is_calibrated(&self) -> bool {
        !self.spec.left_out.is_empty()
    }

    /// Scores on the left-out rows, one entry per output.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert!(model.scores()[0].nll.is_finite());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn scores(&self) -> &[LeftOut] {
        &self.spec.left_out
    }
}

/// Weighted mean of class probabilities.
fn average(said: &[(f64, Matrix)]) -> Vec<f64> {
    let mut sum = vec![0.0; said[0].1.data().len()];
    for (weight, p) in said {
        sum.iter_mut().zip(p.data()).for_each(|(s, p)| *s += weight * p);
    }
    sum
}
