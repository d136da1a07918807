//! The data of a model, and a faster form of it.

use super::folds::{FOLDS, Folds};
use super::{Calibrated, Candidate, Ensemble, Member};
use std::borrow::Cow;
use tractable_core::error::{Error, Result};
use tractable_data::Dataset;

impl Ensemble {
    /// Names of the inputs.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500).single(true);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert_eq!(model.input_names(), data.input_names());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn input_names(&self) -> &[String] {
        self.first().input_names()
    }

    /// How the columns of a table become the inputs; `None` where these have no names.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500).single(true);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert_eq!(model.preparation().unwrap().columns().collect::<Vec<_>>(), ["x0"]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    #[cfg(feature = "csv")]
    pub fn preparation(&self) -> Option<std::borrow::Cow<'_, tractable_data::Preparation>> {
        self.first().preparation()
    }

    /// Names of the targets.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500).single(true);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert_eq!(model.output_names(), data.output_names());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn output_names(&self) -> &[String] {
        self.first().output_names()
    }

    /// Names of the classes; none where the target is a number.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500).single(true);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert!(model.class_names().is_empty());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn class_names(&self) -> &[String] {
        self.first().class_names()
    }

    /// The candidates, each with its weight over all outputs; the weights add up to 1.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert!(model.candidates().any(|(name, weight)| name == "line" && weight > 0.0));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn candidates(&self) -> impl Iterator<Item = (&str, f64)> {
        self.candidates.iter().map(|c| (&c.name[..], c.weight()))
    }

    /// Which training rows were left out by a network: all of them; for a single network the fifth that it was calibrated on; and where
    /// rows have a time, all but the first sixth.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// let settings = Settings::default().visits(500).single(true);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert_eq!(model.rows_left_out(&data)?.len(), 4);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn rows_left_out(&self, data: &Dataset) -> Result<Vec<usize>> {
        self.check_fitted(data)?;
        let folds = self.folds(data)?;
        let mut rows: Vec<usize> = self.left_out_folds().flat_map(|fold| folds.rows(fold, true)).collect();
        rows.sort_unstable();
        Ok(rows)
    }

    /// The folds that networks left out.
    pub(super) fn left_out_folds(&self) -> impl Iterator<Item = usize> {
        // Of a single model that has learned all rows, there is another that left out some.
        let left =
            |c: &Candidate, fold| c.members[0].knows_folds() || c.members.iter().any(|m| m.fold == fold);
        (0..FOLDS).filter(move |&fold| self.candidates.iter().any(|c| left(c, fold)))
    }

    /// The folds of the rows it was fitted to.
    pub(super) fn folds(&self, data: &Dataset) -> Result<Cow<'_, Folds>> {
        match &self.spec.folds {
            None => Folds::plain(data.target(), data.rows(), self.spec.seed).map(Cow::Owned),
            Some(folds) => folds.check(data.rows()).map(|()| Cow::Borrowed(folds)),
        }
    }

    /// What was noticed about the rows when it was fitted, and what was done: outliers that were set aside, copies of rows. A program
    /// should say it.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..60).map(f64::from).collect();
    /// # let y: Vec<f64> = x.iter().map(|x| if *x == 7.0 { 1e6 } else { *x }).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(y)?)?;
    /// # let settings = Settings::default().visits(500).single(true);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// assert!(model.notes()[0].contains("set aside"));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn notes(&self) -> &[String] {
        &self.spec.notes
    }

    /// Refuses what is not, by its size, the data it was fitted to.
    pub(super) fn check_fitted(&self, data: &Dataset) -> Result<()> {
        if self.spec.own {
            let why = "only the trainer of the network knows them";
            return Err(Error::invalid("rows left out", why));
        }
        if data.rows() != self.spec.rows || data.width() != self.input().len() {
            let found = format!("{} rows of {}", data.rows(), data.width());
            let expected = format!("the {} rows of {} it was fitted to", self.spec.rows, self.input().len());
            return Err(Error::shape("data", expected, found));
        }
        Ok(())
    }

    /// The same model without the doubt of lines and Gaussian processes at each row: every row has that of an average row. Predictions
    /// are several times faster, their means are the same, and so are their intervals where there are data. Elsewhere
    /// the intervals widen only as far as the networks are in doubt.
    ///
    /// ```
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(2000);
    /// # let model = Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(()))?.unwrap();
    /// let far = Matrix::column(vec![100.0])?;
    /// let out = model.predict(&far)?;
    /// let quick = model.quick().predict(&far)?;
    /// assert_eq!(quick.mean(), out.mean());
    /// assert!(quick.var()[0] < out.var()[0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn quick(mut self) -> Self {
        for candidate in &mut self.candidates {
            // Of networks it is quick already.
            if let Calibrated::Values(each) = &mut candidate.calibration
                && !candidate.members.iter().any(Member::is_network)
            {
                each.iter_mut().for_each(|c| c.average_doubt());
            }
        }
        self
    }
}
