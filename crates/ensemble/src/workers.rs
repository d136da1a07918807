//! Training the networks of an [`Ensemble`] with several workers.

use super::fit::{Data, Job, Stage};
use super::{Ensemble, Member, Settings};
use std::ops::ControlFlow;
use tractable_core::error::{Error, Result};
use tractable_core::workers::{self, Transport};
use tractable_data::Dataset;

impl Ensemble {
    /// Like [`fit_with`](Ensemble::fit_with), together with other workers that call it with the same data and settings: each trains some of the
    /// networks, and all end with the same model, bit-identical to that of one worker. If one callback stops, all workers stop.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use tractable::{Ensemble, Matrix, data::Dataset, ensemble::Settings, workers::Threads};
    /// # let x: Vec<f64> = (0..20).map(f64::from).collect();
    /// # let data = Dataset::new(Matrix::column(x.clone())?, Matrix::column(x)?)?;
    /// # let settings = Settings::default().visits(500);
    /// let [alone] = Threads::team(1).try_into().unwrap();
    /// let model = Ensemble::fit_together(&data, &settings, &alone, |_| ControlFlow::Continue(()))?;
    /// assert_eq!(model.unwrap().scores()[0].rows, 20);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn fit_together(
        data: &Dataset,
        settings: &Settings,
        workers: &dyn Transport,
        progress: impl FnMut(Stage) -> ControlFlow<()>,
    ) -> Result<Option<Self>> {
        let fitted = Self::fit_as(data, settings, Some(workers), progress);
        fitted.inspect_err(|e| {
            if !matches!(e, Error::Worker { .. }) {
                workers::fail(workers, &e.to_string());
            }
        })
    }
}

impl Data<'_> {
    /// The networks of all jobs, of which this worker trained some; `None` if any worker was stopped.
    pub(super) fn gather(
        &self,
        workers: &dyn Transport,
        jobs: &[Job],
        own: Option<Vec<Member>>,
    ) -> Result<Option<Vec<Member>>> {
        if workers::any(workers, own.is_none())? {
            return Ok(None);
        }
        let mut own = own.into_iter().flatten();
        let mut all = Vec::new();
        for (i, job) in jobs.iter().enumerate() {
            let mine = if i % workers.ranks() == workers.rank() { own.next() } else { None };
            let bytes = mine.as_ref().map_or(Ok(Vec::new()), |member| self.told(member))?;
            let said = workers::share(workers, &bytes)?;
            all.push(match mine {
                Some(member) => member,
                None => self.of_other(*job, &said[i % workers.ranks()])?,
            });
        }
        Ok(Some(all))
    }
}
