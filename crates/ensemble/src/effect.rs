//! How the prediction moves with one column: its mean over rows, in all of which the column has the same cell.
//!
//! The band is the model's uncertainty about that mean, not the spread of new values. The rows' predictions are uncertain together; how much so
//! is not known of every candidate, so the band is that of predictions which err all alike. It is never narrower than it should be, since the
//! standard deviation of a mean is at most the mean of the standard deviations.

use super::fit::Stage;
use super::{Ensemble, points};
use std::f64::consts::TAU;
use std::ops::{ControlFlow, Range};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Input, Matrix};
use tractable_core::rng;
use tractable_data::Dataset;

/// How [`Ensemble::effect`] asks.
///
/// ```
/// let settings = tractable::ensemble::EffectSettings::default().points(10);
/// assert_eq!((settings.points, settings.most_rows), (10, 200));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EffectSettings {
    /// Cells of the column that are tried, at most: of a number those that cut its values into equal parts, of a category the first levels.
    pub points: usize,
    /// Rows that are averaged over, at most; of more a random part.
    pub most_rows: usize,
    /// Seed of that part.
    pub seed: u64,
}

impl Default for EffectSettings {
    fn default() -> Self {
        EffectSettings { points: 20, most_rows: 200, seed: 0 }
    }
}

impl EffectSettings {
    /// Cells of the column that are tried, at most.
    pub fn points(mut self, points: usize) -> Self {
        self.points = points;
        self
    }

    /// Rows that are averaged over, at most.
    pub fn most_rows(mut self, rows: usize) -> Self {
        self.most_rows = rows;
        self
    }

    /// Seed of the part of the rows.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

/// How the prediction moves with a column, made by [`Ensemble::effect`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Effect {
    /// Name of the column.
    pub column: String,
    /// The cells that were tried.
    pub at: Cells,
    /// The mean prediction, `[cells, outputs]`, or the mean probability, `[cells, classes]`.
    pub mean: Matrix,
    /// Its standard deviation by what the model does not know; of classes, how far its networks are apart.
    pub std: Matrix,
}

/// Cells of a column. Part of [`Effect`].
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Growing; of dates, days since 1970, or where only the time of a turn is used, such as the time of day, a share of it.
    Numbers(Vec<f64>),
    /// Categories, or no and yes.
    Levels(Vec<String>),
}

impl Ensemble {
    /// How the mean prediction for these rows moves with one column of their table, while the other columns stay as they are; `None` if
    /// `progress` stops it.
    ///
    /// Where columns depend on each other, some of the rows that this asks about are of a kind that does not occur.
    ///
    /// # Errors
    /// When there is no such column, or none of the rows has a cell there.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// use tractable::{Ensemble, Matrix, data::Dataset, ensemble::{Cells, EffectSettings}};
    /// # use tractable::ensemble::Settings;
    /// let x: Vec<f64> = (0..40).map(f64::from).collect();
    /// let y = x.iter().map(|x| 3.0 * x).collect();
    /// let data = Dataset::new(Matrix::column(x)?, Matrix::column(y)?)?;
    /// # let settings = Settings::default().visits(1000);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| ControlFlow::Continue(()))?.unwrap();
    /// # /*
    /// let model = Ensemble::fit(&data)?;
    /// # */
    /// let effect = model.effect(&data, "x0", &EffectSettings::default(), |_| ControlFlow::Continue(()))?.unwrap();
    /// let Cells::Numbers(at) = effect.at else { unreachable!("x0 has numbers") };
    /// for (x, mean) in at.iter().zip(effect.mean.data()) {
    ///     assert!((mean - 3.0 * x).abs() < 3.0);
    /// }
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn effect(
        &self,
        data: &Dataset,
        column: &str,
        settings: &EffectSettings,
        mut progress: impl FnMut(Stage) -> ControlFlow<()>,
    ) -> Result<Option<Effect>> {
        if settings.points == 0 || settings.most_rows == 0 {
            return Err(Error::invalid("effect", "at least one cell and one row are needed"));
        }
        let found = self.columns_of(data.width()).into_iter().find(|(name, _)| name == column);
        let Some((_, inputs)) = found else {
            return Err(Error::invalid(format!("column `{column}`"), "no such column"));
        };
        let (at, from) = self.cells(data, column, &inputs, settings.points)?;
        let mut rows: Vec<usize> = (0..data.rows()).collect();
        rng::shuffle(&mut rows, &mut rng::stream(settings.seed, "effect", 0));
        rows.truncate(settings.most_rows);
        rows.sort_unstable();
        let classes = self.output().classes();
        let (of, width) = (from.len() as u64, if classes > 0 { classes } else { self.output().units() });
        let (mut mean, mut std) = (Vec::new(), Vec::new());
        for (done, row) in from.into_iter().enumerate() {
            if progress(Stage { what: "moving a column", done: done as u64, of }).is_break() {
                return Ok(None);
            }
            // The row with the cell first, for the others to take it from.
            let with = [&[row], &rows[..]].concat();
            let moved = data.select(&with)?.with_inputs_of(inputs.clone(), &vec![0; with.len()])?;
            let moved = moved.select(&(1..with.len()).collect::<Vec<_>>())?;
            let [own, doubt] = match classes {
                0 => self.averaged(moved.input())?,
                _ => self.averaged_classes(moved.input())?,
            };
            mean.extend(own);
            std.extend(doubt);
        }
        let _ = progress(Stage { what: "moving a column", done: of, of });
        let (mean, std) = (Matrix::new(mean, width)?, Matrix::new(std, width)?);
        Ok(Some(Effect { column: column.into(), at, mean, std }))
    }

    /// Cells of a column, and a row that has each.
    fn cells(
        &self,
        data: &Dataset,
        column: &str,
        inputs: &Range<usize>,
        points: usize,
    ) -> Result<(Cells, Vec<usize>)> {
        let cell = |row: usize| &data.x().row(row)[inputs.clone()];
        let known: Vec<usize> = (0..data.rows()).filter(|&row| data.knows(row, inputs.clone())).collect();
        if known.is_empty() {
            return Err(Error::invalid(format!("column `{column}`"), "it is missing in all rows"));
        }
        #[cfg(feature = "csv")]
        if let Some(levels) = self.preparation().and_then(|table| table.levels(column)) {
            // One input for each, or one for both of two.
            let level = |row: &usize| match cell(*row) {
                [one] => usize::from(*one > 0.5),
                all => all.iter().position(|v| *v > 0.5).unwrap_or(0),
            };
            let first = |(i, name)| Some((name, known.iter().copied().find(|row| level(row) == i)?));
            let (names, rows): (Vec<String>, Vec<usize>) =
                levels.into_iter().enumerate().filter_map(first).take(points).unzip();
            return Ok((Cells::Levels(names), rows));
        }
        // A number, or days; otherwise the sine and the cosine of a turn.
        let place = |row: usize| match cell(row) {
            all if all.len() % 2 == 1 => all[0],
            all => (libm::atan2(all[0], all[1]) / TAU).rem_euclid(1.0),
        };
        let mut sorted: Vec<(f64, usize)> = known.iter().map(|&row| (place(row), row)).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let last = sorted.len() - 1;
        let mut chosen: Vec<(f64, usize)> =
            (0..points).map(|i| sorted[(i * last + (points - 1) / 2) / (points - 1).max(1)]).collect();
        chosen.dedup_by(|a, b| a.0 == b.0);
        let (at, rows) = chosen.into_iter().unzip();
        Ok((Cells::Numbers(at), rows))
    }

    /// Over the rows, the mean prediction of each output, and of the standard deviations by what the model does not know.
    fn averaged(&self, x: Input<'_>) -> Result<[Vec<f64>; 2]> {
        let out = self.predict(x)?;
        let std = out.output().std();
        let average = |of: &[f64]| -> Vec<f64> {
            let each = |o: usize| of.iter().skip(o).step_by(out.width()).sum::<f64>() / out.rows() as f64;
            (0..out.width()).map(each).collect()
        };
        Ok([average(out.mean()), average(&std)])
    }

    /// Over the rows, the mean probability of each class, and how far the networks are apart about it.
    fn averaged_classes(&self, x: Input<'_>) -> Result<[Vec<f64>; 2]> {
        let classes = self.output().classes();
        let average = |p: &[f64]| -> Vec<f64> {
            let each = |k: usize| p.iter().skip(k).step_by(classes).sum::<f64>() / (p.len() / classes) as f64;
            (0..classes).map(each).collect()
        };
        let mean = average(self.predict_classes(x)?.data());
        // Of every network, its weight and the sums over the rows.
        let mut networks: Vec<(f64, Vec<f64>)> = Vec::new();
        for points in points::parts(x) {
            let said = self.ask(None, points.rows(), |c, m| {
                c.calibrated_classes(&[(1.0, points.averaged(m.net.predict_classes(points.input()?)?)?)])
            })?;
            let weighted = self
                .candidates
                .iter()
                .zip(said)
                .flat_map(|(c, said)| said.into_iter().map(|(weight, p)| (weight * c.weights[0], p)));
            for (i, (weight, p)) in weighted.enumerate() {
                let share = p.len() as f64 / (classes * x.rows()) as f64;
                let own: Vec<f64> = average(&p).iter().map(|v| v * share).collect();
                match networks.get_mut(i) {
                    Some((_, sum)) => sum.iter_mut().zip(own).for_each(|(s, v)| *s += v),
                    None => networks.push((weight, own)),
                }
            }
        }
        let squares: f64 = networks.iter().map(|(w, _)| w * w).sum();
        let std = |k: usize| {
            let centre: f64 = networks.iter().map(|(w, p)| w * p[k]).sum();
            let var: f64 = networks.iter().map(|(w, p)| w * (p[k] - centre).powi(2)).sum();
            if squares < 1.0 { (var / (1.0 - squares)).sqrt() } else { 0.0 }
        };
        Ok([mean, (0..classes).map(std).collect()])
    }
}
