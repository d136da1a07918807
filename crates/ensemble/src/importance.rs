//! Which columns count: how much worse predictions become when the cells of one column are dealt out among the rows at random.
//!
//! All inputs that come from one column of a table move together. A column that says the same as another counts for little, since the
//! other one is still there.

use super::fit::Stage;
use super::{Ensemble, FOLDS, weights};
use std::ops::{ControlFlow, Range};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Input;
use tractable_core::rng;
use tractable_data::{Dataset, Target};
use tractable_network::output::Prediction;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "files", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum Loss {
    /// Negative logarithm of the density of a number, or of the probability of a class, in nats.
    LogDensity,
    /// Squared error of the mean; of classes the Brier score.
    Squared,
}

/// How [`Ensemble::importance`] asks.
///
/// ```
/// use tractable::ensemble::{ImportanceSettings, Loss};
/// let settings = ImportanceSettings::default().loss(Loss::Squared).repeats(10);
/// assert_eq!((settings.repeats, settings.left_out), (10, true));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ImportanceSettings {
    /// What is measured.
    pub loss: Loss,
    /// How often the cells of each column are dealt out.
    pub repeats: usize,
    /// Rows that are asked about, at most; of more a random part.
    pub most_rows: usize,
    /// Whether the rows are those the model was fitted to, in the same order: each is then predicted by what left it out. Otherwise they
    /// are new to it.
    pub left_out: bool,
    /// Seed of the random order.
    pub seed: u64,
}

impl Default for ImportanceSettings {
    fn default() -> Self {
        ImportanceSettings { loss: Loss::LogDensity, repeats: 5, most_rows: 1000, left_out: true, seed: 0 }
    }
}

impl ImportanceSettings {
    /// What is measured.
    pub fn loss(mut self, loss: Loss) -> Self {
        self.loss = loss;
        self
    }

    /// How often the cells of each column are dealt out.
    pub fn repeats(mut self, repeats: usize) -> Self {
        self.repeats = repeats;
        self
    }

    /// Rows that are asked about, at most.
    pub fn most_rows(mut self, rows: usize) -> Self {
        self.most_rows = rows;
        self
    }

    /// Whether the rows are those the model was fitted to.
    pub fn left_out(mut self, left_out: bool) -> Self {
        self.left_out = left_out;
        self
    }

    /// Seed of the random order.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

/// Which columns count, made by [`Ensemble::importance`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Importance {
    /// Rows that were asked about.
    pub rows: usize,
    /// Mean loss of the rows as they are; one entry per output, one of classes.
    pub loss: Vec<f64>,
    /// In the order of the table.
    pub columns: Vec<ColumnImportance>,
}

/// One column. Part of [`Importance`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ColumnImportance {
    /// Name of the column.
    pub name: String,
    /// By how much the mean loss grows without what the column says; one entry per output.
    pub increase: Vec<f64>,
    /// Standard error of it: rows differ, and so do random orders.
    pub std: Vec<f64>,
}

/// Which fold's networks are asked, all of them about new rows, and about which rows.
type Part = (Option<usize>, Vec<usize>);

impl Ensemble {
    /// Which columns count: by how much the loss grows when the cells of a column are dealt out among the rows at random. `None` if
    /// `progress` stops it.
    ///
    /// # Errors
    /// When the rows do not fit the model or, with `left_out`, are not those it was fitted to.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// use tractable::{Ensemble, Matrix, data::Dataset, ensemble::{ImportanceSettings, Loss, Settings}, rng};
    /// let mut random = rng::stream(0, "example", 0);
    /// let x: Vec<f64> = (0..120).map(|_| rng::uniform(-1.0, 1.0, &mut random)).collect();
    /// let y = x.chunks_exact(2).map(|x| 3.0 * x[0]).collect(); // x1 says nothing
    /// let data = Dataset::new(Matrix::new(x, 2)?, Matrix::column(y)?)?;
    /// # let settings = Settings::default().visits(1000);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| ControlFlow::Continue(()))?.unwrap();
    /// # /*
    /// let model = Ensemble::fit(&data)?;
    /// # */
    /// let settings = ImportanceSettings::default().loss(Loss::Squared);
    /// let found = model.importance(&data, &settings, |_| ControlFlow::Continue(()))?.unwrap();
    /// assert!(found.columns[0].increase[0] > 1.0 && found.columns[1].increase[0] < 0.1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn importance(
        &self,
        data: &Dataset,
        settings: &ImportanceSettings,
        mut progress: impl FnMut(Stage) -> ControlFlow<()>,
    ) -> Result<Option<Importance>> {
        if settings.repeats == 0 || settings.most_rows < 2 {
            return Err(Error::invalid("importance", "at least one repeat and two rows are needed"));
        }
        self.check_target(data.target())?;
        let parts = self.parts_of(data, settings)?.into_iter();
        let parts = parts.map(|(fold, rows)| Ok((fold, data.select(&rows)?))).collect::<Result<Vec<_>>>()?;
        let model = if settings.left_out { &self.of_folds(data)? } else { self };
        let (groups, outputs) = (self.columns_of(data.width()), self.calibrated_outputs());
        let (mut done, of) = (0, ((1 + groups.len() * settings.repeats) * parts.len()) as u64);
        let mut losses = |shuffled: Option<(&Range<usize>, u64)>| -> Result<Option<Vec<Option<f64>>>> {
            let mut all = Vec::new();
            for (i, (fold, rows)) in parts.iter().enumerate() {
                if progress(Stage { what: "shuffling columns", done, of }).is_break() {
                    return Ok(None);
                }
                done += 1;
                all.extend(match shuffled {
                    None => model.losses(*fold, rows, settings.loss)?,
                    Some((inputs, turn)) => {
                        let mut order: Vec<usize> = (0..rows.rows()).collect();
                        let turn = turn * parts.len() as u64 + i as u64;
                        rng::shuffle(&mut order, &mut rng::stream(settings.seed, "importance", turn));
                        model.losses(*fold, &rows.with_inputs_of(inputs.clone(), &order)?, settings.loss)?
                    }
                });
            }
            Ok(Some(all))
        };
        let Some(before) = losses(None)? else { return Ok(None) };
        let mut columns = Vec::new();
        for (name, inputs) in &groups {
            let mut sum = vec![0.0; before.len()];
            for repeat in 0..settings.repeats {
                let turn = (columns.len() * settings.repeats + repeat) as u64;
                let Some(after) = losses(Some((inputs, turn)))? else { return Ok(None) };
                sum.iter_mut().zip(after).for_each(|(s, v)| *s += v.unwrap_or(0.0));
            }
            let repeats = settings.repeats as f64;
            let grown: Vec<Option<f64>> =
                sum.iter().zip(&before).map(|(s, b)| b.map(|b| s / repeats - b)).collect();
            let each = (0..outputs).map(|o| mean_and_error(grown.iter().skip(o).step_by(outputs)));
            let (increase, std) = each.unzip();
            columns.push(ColumnImportance { name: name.clone(), increase, std });
        }
        let _ = progress(Stage { what: "shuffling columns", done: of, of });
        let loss = (0..outputs).map(|o| mean_and_error(before.iter().skip(o).step_by(outputs)).0).collect();
        Ok(Some(Importance { rows: before.len() / outputs, loss, columns }))
    }

    /// [`left_out`](Ensemble::left_out) for a random part of the rows, at most so many: which rows, and what was predicted of them.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// let (rows, out) = model.some_left_out(&data, 10, 0)?;
    /// assert_eq!(out.mean()[3], model.left_out(&data)?.mean()[rows[3]]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn some_left_out(
        &self,
        data: &Dataset,
        most_rows: usize,
        seed: u64,
    ) -> Result<(Vec<usize>, Prediction)> {
        let (mut all, mut parts) = (Vec::new(), vec![Vec::new(); self.candidates.len()]);
        let model = self.of_folds(data)?;
        for (fold, rows) in
            self.parts_of(data, &ImportanceSettings { most_rows, seed, ..Default::default() })?
        {
            let said = model.say(fold, data.select(&rows)?.input())?;
            parts.iter_mut().zip(said).for_each(|(all, own)| all.extend(own));
            all.extend(rows);
        }
        if let Some(each) = data.weights() {
            let width = self.calibrated_outputs();
            let noisy =
                |parts: &mut Vec<_>| weights::as_noisy(parts, all.iter().map(|row| each[*row]), width);
            parts.iter_mut().for_each(noisy);
        }
        Ok((all, model.mixed(&parts)?))
    }

    /// The rows to ask about, at most so many.
    fn parts_of(&self, data: &Dataset, settings: &ImportanceSettings) -> Result<Vec<Part>> {
        let some = |mut rows: Vec<usize>| {
            rng::shuffle(&mut rows, &mut rng::stream(settings.seed, "importance rows", 0));
            rows.truncate(settings.most_rows);
            rows.sort_unstable();
            rows
        };
        if !settings.left_out {
            return Ok(vec![(None, some((0..data.rows()).collect()))]);
        }
        let (some, folds) = (some(self.rows_left_out(data)?), self.folds(data)?);
        let mut parts = Vec::with_capacity(FOLDS);
        for fold in self.left_out_folds() {
            let own: Vec<usize> = some.iter().copied().filter(|row| folds.of_row(*row) == fold).collect();
            if !own.is_empty() {
                parts.push((Some(fold), own));
            }
        }
        Ok(parts)
    }

    /// The columns of the table and the inputs of each; every input by itself where there is no table.
    pub(super) fn columns_of(&self, inputs: usize) -> Vec<(String, Range<usize>)> {
        #[cfg(feature = "csv")]
        if let Some(table) = self.preparation().filter(|table| table.width() == inputs) {
            let each = table.columns().filter_map(|name| Some((name.into(), table.column(name)?.0)));
            return each.collect();
        }
        let name = |i: usize| self.input_names().get(i).cloned().unwrap_or_else(|| format!("x{i}"));
        (0..inputs).map(|i| (name(i), i..i + 1)).collect()
    }

    /// Outputs that are judged each by itself; of classes one.
    fn calibrated_outputs(&self) -> usize {
        self.candidates[0].weights.len()
    }

    fn check_target(&self, target: &Target) -> Result<()> {
        let (expected, found) = match target {
            Target::Values { y, .. } if self.output().classes() == 0 => (self.output().units(), y.width()),
            Target::Labels { names, .. } if self.output().classes() > 0 => {
                (self.output().classes(), names.len())
            }
            Target::Values { .. } => return Err(Error::invalid("target", "this model has classes")),
            Target::Labels { .. } => return Err(Error::invalid("target", "this model predicts numbers")),
        };
        match expected == found {
            true => Ok(()),
            false => Err(Error::shape("target", expected, found)),
        }
    }

    /// Losses of the rows, `[rows, outputs]`; none where a target is missing.
    fn losses(&self, fold: Option<usize>, rows: &Dataset, loss: Loss) -> Result<Vec<Option<f64>>> {
        let x: Input<'_> = rows.input();
        match rows.target() {
            Target::Labels { labels, .. } => {
                let p = self.mixed_classes(fold, x)?;
                let one = |(i, &label): (usize, &usize)| match loss {
                    Loss::LogDensity => -libm::log(p.row(i)[label].max(f64::MIN_POSITIVE)),
                    Loss::Squared => {
                        let miss = |(k, p): (usize, &f64)| (p - f64::from(u8::from(k == label))).powi(2);
                        p.row(i).iter().enumerate().map(miss).sum()
                    }
                };
                Ok(labels.iter().enumerate().map(|row| Some(one(row))).collect())
            }
            Target::Values { y, observed } => {
                let mut said = self.say(fold, x)?;
                if let Some(each) = rows.weights() {
                    let noisy =
                        |parts: &mut Vec<_>| weights::as_noisy(parts, each.iter().copied(), y.width());
                    said.iter_mut().for_each(noisy);
                }
                let out = self.mixed(&said)?;
                let one = |(i, &y): (usize, &f64)| {
                    observed.as_ref().is_none_or(|seen| seen[i]).then(|| match loss {
                        Loss::LogDensity => -out.ln_density(i, y),
                        Loss::Squared => (y - out.mean()[i]).powi(2),
                    })
                };
                Ok(y.data().iter().enumerate().map(one).collect())
            }
        }
    }
}

/// The mean of the numbers there are, and its standard error.
fn mean_and_error<'a>(of: impl Iterator<Item = &'a Option<f64>>) -> (f64, f64) {
    let all: Vec<f64> = of.copied().flatten().collect();
    let n = all.len().max(1) as f64;
    let mean = all.iter().sum::<f64>() / n;
    let var = all.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (var / n).sqrt())
}
