//! A model on a stream: the surprise of a row, calibration that adapts, and forgetting in all of its networks.

use super::candidate::average;
use super::{Calibrated, Ensemble, points};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Input, Matrix};
use tractable_network::output::{Observation, Output, Prediction, Surprise, innovation_squared};

impl Ensemble {
    /// How large the errors of the predictions for some rows are, and how large they were expected to be according to the calibrated
    /// predictions. Call it before these rows are learned; [`Drift`](tractable_network::Drift) uses the result.
    ///
    /// # Errors
    /// When the rows do not fit the model.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// let far_off = model.surprise(&Matrix::column(vec![3.5])?, &Matrix::column(vec![300.0])?)?;
    /// assert!(far_off.ratio() > 10.0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn surprise<'a, 'b>(
        &self,
        x: impl Into<Input<'a>>,
        observation: impl Into<Observation<'b>>,
    ) -> Result<Surprise> {
        let (x, observation) = (x.into(), observation.into());
        self.check_learn(x, &observation)?;
        let Output::Classes { classes, .. } = self.output() else {
            let (y, seen) = observation.entries();
            return Surprise::of_values(&self.predict(x)?, y, seen);
        };
        let units = self.output().class_units()?;
        let (mut calibrated, mut doubt) = (Vec::new(), Vec::new());
        for points in points::parts(x) {
            let said = self.ask(None, points.rows(), |_, m| {
                let out = m.net.predict(points.input()?)?;
                Ok((m.net.class_probabilities(&out)?, out))
            })?;
            let of_rows = |own: &Vec<(f64, (Matrix, Prediction))>| {
                own.iter().map(|(w, (p, _))| Ok((*w, points.averaged(p.clone())?))).collect()
            };
            let p = said.iter().map(of_rows).collect::<Result<Vec<_>>>()?;
            calibrated.extend_from_slice(self.calibrated_classes(&p)?.data());
            let weighted = |k: usize| {
                move |(w, of): (f64, (Matrix, Prediction))| (w * self.candidates[k].weights[0], of)
            };
            let said: Vec<_> =
                said.into_iter().enumerate().flat_map(|(k, own)| own.into_iter().map(weighted(k))).collect();
            let mean = average(&said.iter().map(|(w, (p, _))| (*w, p.clone())).collect::<Vec<_>>());
            // Uncertainty of the networks, and disagreement between them.
            let of_point = |point: usize| {
                let own = |(w, (p, out)): &(f64, (Matrix, Prediction))| {
                    let nodes = point * units.units()..(point + 1) * units.units();
                    let spread = units.spread(&out.mean()[nodes.clone()], &out.var()[nodes]).model;
                    let all = &mean[point * classes..(point + 1) * classes];
                    w * (spread + p.row(point).iter().zip(all).map(|(p, m)| (p - m).powi(2)).sum::<f64>())
                };
                said.iter().map(own).sum()
            };
            let of_points = Matrix::column((0..points.rows()).map(of_point).collect())?;
            doubt.extend_from_slice(points.averaged(of_points)?.data());
        }
        let mut sum = Surprise::default();
        for (row, (p, doubt)) in calibrated.chunks_exact(classes).zip(doubt).enumerate() {
            let Some(label) = observation.label(row) else { continue };
            sum += Surprise::of_class(p, label, doubt)?;
        }
        Ok(sum)
    }

    /// Corrects the calibration with a row whose prediction is `out`, before the row is learned (T62): a row that no network has learned
    /// shows how wide intervals must be. Without this they become too wide as a model learns, because it was calibrated for noise
    /// inferred from rows seen many times. Does nothing for classes.
    ///
    /// # Errors
    /// When sizes do not agree.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let mut model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// let (x, y) = (Matrix::column(vec![3.5])?, Matrix::column(vec![300.0])?);
    /// let out = model.predict(&x)?;
    /// model.recalibrate(&out, y.data(), None)?;
    /// model.learn(&x, &y)?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn recalibrate(&mut self, out: &Prediction, y: &[f64], seen: Option<&[bool]>) -> Result<()> {
        if let Output::Classes { .. } = self.output() {
            return Ok(());
        }
        for n in [out.mean().len(), y.len(), seen.map_or(y.len(), <[bool]>::len)] {
            if n != y.len() || out.width() != self.output().units() {
                return Err(Error::shape("observations", out.mean().len(), n));
            }
        }
        let calibrated = self.is_calibrated();
        for i in (0..y.len()).filter(|&i| calibrated && seen.is_none_or(|seen| seen[i])) {
            let square = innovation_squared(out, i, y[i]);
            for candidate in &mut self.candidates {
                if let Calibrated::Values(each) = &mut candidate.calibration {
                    each[i % out.width()].follow(square);
                }
            }
        }
        Ok(())
    }

    /// [`learn`](Ensemble::learn) for one row of a stream: predicts it, [recalibrates](Ensemble::recalibrate), learns it, and returns its
    /// surprise, for [`Drift`](tractable_network::Drift).
    ///
    /// # Errors
    /// As for [`learn`](Ensemble::learn), and when there is more than one row.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let mut model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// let far_off = model.learn_one(&Matrix::column(vec![3.5])?, &Matrix::column(vec![300.0])?)?;
    /// assert!(far_off.ratio() > 10.0 && model.rows() == 21);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn learn_one<'a, 'b>(
        &mut self,
        x: impl Into<Input<'a>>,
        observation: impl Into<Observation<'b>>,
    ) -> Result<Surprise> {
        let (x, observation) = (x.into(), observation.into());
        if x.rows() != 1 {
            return Err(Error::shape("input", "one row", x.rows()));
        }
        self.check_learn(x, &observation)?;
        if let Output::Classes { .. } = self.output() {
            let surprise = self.surprise(x, observation)?;
            self.learn(x, observation)?;
            return Ok(surprise);
        }
        let (out, (y, seen)) = (self.predict(x)?, observation.entries());
        let surprise = Surprise::of_values(&out, y, seen)?;
        // First what may be refused: then nothing has changed.
        self.learn(x, observation)?;
        self.recalibrate(&out, y, seen)?;
        Ok(surprise)
    }

    /// [`Network::discount`](tractable_network::Network::discount) for every network. A model that counts its rows then counts fewer.
    ///
    /// # Errors
    /// When the factor is below 1.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let mut model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// model.discount(2.0)?;
    /// assert!(model.discount(0.5).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn discount(&mut self, factor: f64) -> Result<()> {
        let mut less = self.try_clone()?;
        less.candidates.iter_mut().flat_map(|c| &mut c.members).try_for_each(|m| m.discount(factor))?;
        *self = less;
        Ok(())
    }
}
