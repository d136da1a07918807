//! How surprised a model is by a row, and forgetting by all of its networks.

use super::{Ensemble, average};
use crate::error::Result;
use crate::gaussian::Input;
use crate::output::{Observation, Output, Surprise, Tree};

impl Ensemble {
    /// How large the errors of predictions for some rows are, and how large they were expected to be, by calibrated
    /// predictions: for [`Drift`](crate::Drift), before these rows are learned.
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
        self.members[0].net.check_learn(x, &observation)?;
        let Output::Classes { classes } = self.output() else {
            let (y, seen) = observation.entries();
            return Surprise::of_values(&self.predict(x)?, y, seen);
        };
        let tree = Tree::new(classes)?;
        let said = self.ask(|_| true, x.rows(), |m| {
            let out = m.net.predict(x)?;
            Ok((m.net.class_probabilities(&out)?, out))
        })?;
        let p: Vec<_> = said.iter().map(|(w, (p, _))| (*w, p.clone())).collect();
        let (mean, calibrated) = (average(&p), self.calibrated_classes(&p)?);
        let mut sum = Surprise::default();
        for row in 0..x.rows() {
            let Some(label) = observation.label(row) else { continue };
            // What the networks do not know, and where they disagree.
            let own = |(w, (p, out)): &(f64, (crate::gaussian::Matrix, crate::output::Prediction))| {
                let nodes = row * tree.nodes()..(row + 1) * tree.nodes();
                let spread = tree.spread(&out.mean()[nodes.clone()], &out.var()[nodes]).model;
                let all = &mean[row * classes..(row + 1) * classes];
                w * (spread + p.row(row).iter().zip(all).map(|(p, m)| (p - m).powi(2)).sum::<f64>())
            };
            sum += Surprise::of_class(calibrated.row(row), label, said.iter().map(own).sum())?;
        }
        Ok(sum)
    }

    /// [`Network::discount`](crate::Network::discount) of every network. A model that counts its rows counts fewer.
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
        self.members.iter_mut().try_for_each(|m| {
            m.net.discount(factor)?;
            m.net.count_fewer(factor);
            Ok(())
        })
    }
}
