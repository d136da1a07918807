//! [`Ensemble`]: several candidates, calibrated and weighed on the rows they left out.
//!
//! A candidate is a kind of model, a line or a network, fitted once for each of five folds of the rows: every row is left out by one
//! of its networks. What they say of left-out rows stands for predictions of new rows, so it determines how wide the intervals of a
//! candidate must be, how heavy their tails are, and how much it weighs. The prediction is the weighted mixture.

mod about;
mod candidate;
mod closed;
mod condition;
mod copies;
mod effect;
#[cfg(feature = "files")]
mod file;
mod fit;
mod folds;
mod importance;
mod kind;
mod line;
mod member;
mod outliers;
mod points;
mod process;
mod rarer;
mod rows;
mod settings;
#[cfg(feature = "csv")]
mod stream;
mod surprise;
mod weigh;
mod weights;
#[cfg(feature = "files")]
mod workers;

pub use effect::{Cells, Effect, EffectSettings};
pub use fit::{LeftOut, Stage};
pub use importance::{ColumnImportance, Importance, ImportanceSettings, Loss};
pub use rarer::Rarer;
pub use settings::Settings;

use candidate::{Calibrated, Candidate};
use folds::{FOLDS, Folds};
use member::{Form, Member};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Input, Matrix};
use tractable_core::shape::Shape;
use tractable_core::stop;
use tractable_data::Dataset;
use tractable_network::condition::Posterior;
use tractable_network::network::Network;
use tractable_network::output::{Component, Observation, Output, Parts, Prediction, Wanted};

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
    candidates: Vec<Candidate>,
    spec: Spec,
}

/// Rows or points that all networks are asked about together, and as many as are worth a thread.
const AT_ONCE: usize = 4096;
const WORTH_A_THREAD: usize = 64;

/// Everything except the candidates.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
struct Spec {
    /// Rows that were learned from, and the seed of their folds.
    rows: usize,
    seed: u64,
    /// Between which numbers the mean of an output stays; empty: anywhere.
    range: Vec<[f64; 2]>,
    /// Scores on left-out rows.
    left_out: Vec<LeftOut>,
    /// It is a network of the user's own, who knows which rows were left out.
    own: bool,
    /// Where rows are related, or were repeated; all others are cut at random by the seed.
    #[cfg_attr(feature = "files", serde(default, skip_serializing_if = "Option::is_none"))]
    folds: Option<Folds>,
    /// What was noticed about the rows.
    #[cfg_attr(feature = "files", serde(default, skip_serializing_if = "Vec::is_empty"))]
    notes: Vec<String>,
    /// How many times as frequent the classes are where the model is used; none: as among the rows.
    #[cfg_attr(feature = "files", serde(default, skip_serializing_if = "Vec::is_empty"))]
    class_weights: Vec<f64>,
}

impl Spec {
    /// Of a network of the user's own.
    fn of_own(rows: usize) -> Self {
        let (range, left_out, notes, class_weights) = Default::default();
        Spec { rows, seed: 0, range, left_out, own: true, folds: None, notes, class_weights }
    }
}

impl std::fmt::Debug for Ensemble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ensemble").field("spec", &self.spec).finish_non_exhaustive()
    }
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
        self.mixed(&self.say(None, x.into())?)
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
        self.mixed_classes(None, x)
    }

    /// Predictions for the training rows, each by the networks that left it out, so that they are as good as new rows for evaluation.
    /// They must be the same rows in the same order. Where some rows were left out by no network, the others have a prediction:
    /// [`rows_left_out`](Ensemble::rows_left_out) lists them. Rows with weights have the noise of their weights.
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
        self.of_folds(data)?.left_out_by_folds(data)
    }

    fn left_out_by_folds(&self, data: &Dataset) -> Result<Prediction> {
        let (rows, width) = (self.rows_left_out(data)?, self.output().units());
        let mut parts = vec![vec![Parts::default(); rows.len() * width]; self.candidates.len()];
        self.each_fold(data, &rows, |fold, places, x| {
            for (all, own) in parts.iter_mut().zip(self.say(Some(fold), x)?) {
                for (place, own) in places.iter().zip(own.chunks_exact(width)) {
                    all[place * width..(place + 1) * width].copy_from_slice(own);
                }
            }
            Ok(())
        })?;
        if let Some(each) = data.weights() {
            let own = || rows.iter().map(|row| each[*row]);
            parts.iter_mut().for_each(|parts| weights::as_noisy(parts, own(), width));
        }
        self.mixed(&parts)
    }

    /// The same model with Gaussian processes that leave folds out.
    fn of_folds(&self, data: &Dataset) -> Result<Self> {
        self.check_fitted(data)?;
        let (folds, team) = (self.folds(data)?, self.first().device().team());
        let looked = rows::Rows::look(data)?;
        let each = self.candidates.iter().map(|c| c.of_folds(&looked.data, &folds, self.spec.seed, team));
        Ok(Ensemble { candidates: each.collect::<Result<_>>()?, spec: self.spec.clone() })
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
        let (rows, classes) = (self.rows_left_out(data)?, self.output().classes());
        let mut all = vec![0.0; rows.len() * classes];
        self.each_fold(data, &rows, |fold, places, x| {
            let p = self.mixed_classes(Some(fold), x)?;
            for (i, place) in places.iter().enumerate() {
                all[place * classes..(place + 1) * classes].copy_from_slice(p.row(i));
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
        self.check_learn(x, &observation)?;
        // All rows, or none.
        let mut learned = self.try_clone()?;
        for row in 0..x.rows() {
            let (x, seen) = (x.rows_between(row, row + 1), observation.row(row));
            let fold = learned.spec.rows % FOLDS;
            learned.spec.rows += 1;
            for candidate in &mut learned.candidates {
                stop::check()?;
                candidate.learn(fold, x, seen)?;
            }
        }
        stop::check_now()?;
        *self = learned;
        Ok(())
    }

    /// A copy that learns by itself.
    ///
    /// # Errors
    /// If the device has no memory left, or was lost.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert_eq!(model.try_clone()?.predict(data.x())?, model.predict(data.x())?);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn try_clone(&self) -> Result<Self> {
        let candidates = self.candidates.iter().map(Candidate::try_clone).collect::<Result<_>>()?;
        Ok(Ensemble { candidates, spec: self.spec.clone() })
    }

    /// What one network refuses, all refuse.
    fn check_learn(&self, x: Input<'_>, observation: &Observation<'_>) -> Result<()> {
        self.first().check_learn(x, observation)
    }

    /// A network that knows the names and units; of a Gaussian process it knows nothing else.
    #[doc(hidden)]
    pub fn first(&self) -> &Network {
        &self.candidates[0].members[0].net
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

    /// What the networks of every candidate say of so many rows, with weights that add up to 1; side by side where it is worth a
    /// thread. Of all folds, or of those that left this one out.
    fn ask<T: Send>(
        &self,
        fold: Option<usize>,
        rows: usize,
        say: impl Fn(&Candidate, &Member) -> Result<T> + Sync,
    ) -> Result<Vec<Vec<(f64, T)>>> {
        let all: Vec<(&Candidate, &Member)> =
            self.candidates.iter().flat_map(|c| c.answering(fold).map(move |m| (c, m))).collect();
        let one = |&(c, m): &(&Candidate, &Member)| stop::check().and_then(|()| say(c, m));
        let mut said = match rows < WORTH_A_THREAD {
            true => all.iter().map(one).collect::<Vec<_>>(),
            false => self.first().device().team().map(all.len(), |i| one(&all[i])),
        }
        .into_iter();
        let of_candidate = |c: &Candidate| {
            let sum: f64 = c.answering(fold).map(|m| m.weight).sum();
            let own = c.answering(fold).zip(said.by_ref().take(c.answering(fold).count()));
            own.map(|(m, said)| Ok((m.weight / sum, said?))).collect()
        };
        self.candidates.iter().map(of_candidate).collect()
    }

    /// What the candidates say of numbers.
    fn say(&self, fold: Option<usize>, x: Input<'_>) -> Result<Vec<Vec<Parts>>> {
        let mut parts = vec![Vec::with_capacity(x.rows() * self.output().units()); self.candidates.len()];
        for points in points::parts(x) {
            let said = self.ask(fold, points.rows(), |c, m| c.ask(m, points.input()?))?;
            for ((candidate, all), said) in self.candidates.iter().zip(&mut parts).zip(said) {
                all.extend(candidate.pooled(&points, &said, &self.spec.range));
            }
        }
        Ok(parts)
    }

    /// Calls `f(fold, places of its rows among these, their inputs)` for rows that were left out.
    fn each_fold(
        &self,
        data: &Dataset,
        rows: &[usize],
        mut f: impl FnMut(usize, &[usize], Input<'_>) -> Result<()>,
    ) -> Result<()> {
        let folds = self.folds(data)?;
        for fold in self.left_out_folds() {
            let places: Vec<usize> = (0..rows.len()).filter(|&i| folds.of_row(rows[i]) == fold).collect();
            let own: Vec<usize> = places.iter().map(|&i| rows[i]).collect();
            f(fold, &places, data.select(&own)?.input())?;
        }
        Ok(())
    }

    /// The mixture of what the candidates say, in the units of the data.
    fn mixed(&self, parts: &[Vec<Parts>]) -> Result<Prediction> {
        if parts[0].is_empty() {
            return Err(Error::shape("input", "at least one row", 0));
        }
        let own = self.candidates.iter().zip(parts);
        let components = own.map(|(c, parts)| c.component(parts, 0..c.weights.len(), &self.spec.range));
        Prediction::mixture(components.collect::<Result<Vec<Component>>>()?)
    }

    fn mixed_classes(&self, fold: Option<usize>, x: Input<'_>) -> Result<Matrix> {
        let mut p = Vec::new();
        for points in points::parts(x) {
            let said = self
                .ask(fold, points.rows(), |_, m| points.averaged(m.net.predict_classes(points.input()?)?))?;
            p.extend_from_slice(self.calibrated_classes(&said)?.data());
        }
        Matrix::new(p, self.output().classes())
    }

    fn calibrated_classes(&self, said: &[Vec<(f64, Matrix)>]) -> Result<Matrix> {
        let mut sum = vec![0.0; said[0][0].1.data().len()];
        for (candidate, said) in self.candidates.iter().zip(said) {
            let p = candidate.calibrated_classes(said)?;
            sum.iter_mut().zip(p).for_each(|(s, p)| *s += candidate.weights[0] * p);
        }
        weights::shifted(&mut sum, &self.spec.class_weights);
        Matrix::new(sum, said[0][0].1.width())
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
        self.first().input()
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
        self.first().output()
    }

    fn members(&self) -> impl Iterator<Item = &Member> {
        self.candidates.iter().flat_map(|c| &c.members)
    }

    /// The networks; a line is one without hidden layers, a Gaussian process is none.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert!(model.networks().count() <= model.models());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn networks(&self) -> impl Iterator<Item = &Network> {
        self.members().filter(|m| !matches!(m.form, Form::Processes(_))).map(|m| &m.net)
    }

    /// Number of models: networks, lines and Gaussian processes.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// let settings = Settings::default().visits(500).single(true);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert_eq!(model.models(), 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn models(&self) -> usize {
        self.members().count()
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
