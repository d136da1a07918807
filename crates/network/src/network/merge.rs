//! Merging what several copies of a network learned: [`Network::since`], [`Network::merge`], [`Network::remove`].

// `Network::mark`, `since` and `merge` (`network/merge.rs`, T65 to T69) are arithmetic on natural
// parameters, without threads or sockets. `workers.rs` has the one trait that a transport implements,
// with the method `exchange` (every worker sends bytes to every other); `Threads` implements it inside
// a process for tests, the program's `team/mpi.rs` with MPI. Everything else is built on it: `meet`
// collects a message from every worker, and if one reports a failure, all workers return that error.
// Sums are added in the order of ranks, each worker adding one slice, so that all get the same bits and
// traffic per worker does not grow with the number of workers.

use super::mark::Done;
use super::{Increment, LearnInfo, Mark, Network};
use crate::engine::InferredNoise;
use crate::layer::{Contents, Layer};
use crate::output::Noise;
use tractable_core::error::{Error, Result};
use tractable_core::moments::merge::{Bound, Learned, pooled};
use tractable_core::workers::{self, Doing, Numbers, Transport};

/// Rows that count for inferred noise: the initial value is one (T43).
fn noise_rows(rows: f64) -> f64 {
    rows + 1.0
}

impl Network {
    /// What this network learned since the mark, in this copy or in the one that was marked.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// let mark = net.mark()?;
    /// net.learn(&Matrix::column(vec![0.5, 0.7])?, &Matrix::column(vec![1.0, 1.2])?)?;
    /// assert_eq!(net.since(&mark)?.rows(), 2);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn since(&self, mark: &Mark) -> Result<Increment> {
        self.check_from(mark.from)?;
        self.check_adds_up()?;
        let noise = self.noise_now()?;
        let done = self.done.zip(mark.done, u64::saturating_sub);
        let done = Done { workers: u64::from(done.rows > 0), ..done };
        let mut many = Numbers::zeros(mark.pairs.len(), self.is_double());
        let mut running = Vec::new();
        for part in self.parts()? {
            let (before, contents) = (part.of(&mark.pairs), self.part(&part)?);
            for ((at, before), (_, now)) in
                part.pairs(&before).into_iter().zip(part.pairs(&contents.parameters))
            {
                many.set_pairs(
                    at,
                    before.zip(now).map(|(before, now)| {
                        let Learned { precision, shift } = Learned::between(before, now);
                        [precision, shift]
                    }),
                );
            }
            running.extend(contents.running);
        }
        let mut few = Vec::new();
        if self.spec.output.noise() != Noise::Known {
            let (before, after) = (&mark.noise, &noise);
            for i in 0..after.var.len() {
                // T68
                let squares =
                    noise_rows(after.rows[i]) * after.var[i] - noise_rows(before.rows[i]) * before.var[i];
                let rows = after.rows[i] - before.rows[i];
                few.extend([squares, rows * after.var[i], rows]);
            }
        }
        let rows = done.rows as f64;
        for (mean, var) in &running {
            few.push(rows);
            few.extend(mean.iter().map(|m| rows * m));
            few.extend(mean.iter().zip(var).map(|(m, v)| rows * (v + m * m)));
        }
        Ok(Increment { from: mark.from, done, many, few })
    }

    /// **What did several copies of a network learn together?** Sets the weights to those of the mark plus all increments: precisions add up,
    /// and so do precisions times means (T65). For a linear model with independent weights this is the posterior of one
    /// network that learned all rows. The order of the increments affects only the last bits. Inferred noise and the statistics of batch
    /// normalisation are those of all rows; steps are limited as in
    /// [`UpdateRule`](crate::UpdateRule), by the worker with the most updates (T66).
    ///
    /// A network's weights are treated as independent, so every worker corrects the same error with all of its weights, and a sum over many workers
    /// overshoots: [`merge_share`](Network::merge_share) applies only a share of it.
    ///
    /// Every row must be in only one increment. To learn a shard again in another epoch, first [remove](Network::remove) its earlier contribution.
    ///
    /// # Errors
    /// When an increment has a different mark, seed or architecture: posteriors with different starting points must not be multiplied.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// let mark = net.mark()?;
    /// let mut increments = Vec::new();
    /// for (x, y) in [(0.1, 0.3), (0.5, 0.9)] {
    ///     let mut worker = net.try_clone()?; // or the same file on another machine
    ///     worker.learn(&Matrix::column(vec![x])?, &Matrix::column(vec![y])?)?;
    ///     increments.push(worker.since(&mark)?);
    /// }
    /// assert_eq!(net.merge(&mark, &increments)?.rows, 2);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn merge(&mut self, mark: &Mark, increments: &[Increment]) -> Result<LearnInfo> {
        self.merge_share(mark, increments, 1.0)
    }

    /// Like [`merge`](Network::merge), with a share of all increments: 1 adds them up, one over the number of workers averages them;
    /// [`Mark::share`] chooses a share.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// let mark = net.mark()?;
    /// let mut worker = net.try_clone()?;
    /// worker.learn(&Matrix::column(vec![0.1])?, &Matrix::column(vec![0.3])?)?;
    /// let increments = vec![worker.since(&mark)?; 2];
    /// net.merge_share(&mark, &increments, mark.share(&increments)?)?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn merge_share(&mut self, mark: &Mark, increments: &[Increment], share: f64) -> Result<LearnInfo> {
        if !(share > 0.0 && share <= 1.0) {
            return Err(Error::invalid("share", format!("{share}: must be above 0 and at most 1")));
        }
        let (first, others) =
            increments.split_first().ok_or_else(|| Error::invalid("increments", "there are none"))?;
        for increment in increments {
            self.check_fits(mark, increment)?;
        }
        let sum = match others {
            [] => first,
            _ => &others.iter().try_fold(first.clone(), |sum, more| sum.plus(more))?,
        };
        let mut info = LearnInfo { rows: sum.done.rows as usize, ..LearnInfo::default() };
        let mut running = self.merge_few(mark, &sum.few).into_iter();
        for part in self.parts()? {
            let layer = &self.spec.layers[part.layer];
            let bound = sum.done.bound(self.spec.update, !matches!(layer, Layer::Linear { .. }));
            let mut parameters = part.of(&mark.pairs);
            part.change(&mut parameters, &sum.many, |now, [precision, shift], most| {
                let next = Learned { precision, shift }.times(share).merged(now, most, bound);
                info.capped += u64::from(next.capped);
                info.repaired += u64::from(next.repaired);
                [next.mean, next.var]
            });
            let running = if let Layer::BatchNorm { .. } = layer { running.next() } else { None };
            self.fill(part.layer, part.outputs, &Contents { parameters, running, latest: None })?;
        }
        self.done = Done { workers: 0, ..mark.done.zip(sum.done, |a, b| a + b) };
        Ok(info)
    }

    /// Merges what all workers learned since the mark; afterwards all workers have the same network.
    pub(crate) fn merge_together(&mut self, mark: &Mark, workers: &dyn Transport) -> Result<()> {
        let mut all = self.since(mark)?;
        workers::agree(workers, "network", &mark.identity())?;
        let Done { workers: learned, rows, single, small, large } = all.done;
        let mine = [learned, rows, single, small, large];
        let mine: Vec<u8> = mine.iter().flat_map(|n| n.to_le_bytes()).collect();
        let done = workers::share(workers, &mine)?;
        all.done = done.iter().fold(Done::default(), |done, said| {
            let n: Vec<u64> = said.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b)).collect();
            done.beside(Done { workers: n[0], rows: n[1], single: n[2], small: n[3], large: n[4] })
        });
        workers::add_few(workers, Doing::Merging, &mut all.few)?;
        workers::add_many(workers, &mut all.many)?;
        let share = mark.share_of(&all);
        self.merge_share(mark, &[all], share).map(drop)
    }

    /// Sets the noise, and returns the statistics of normalisations.
    fn merge_few(&mut self, mark: &Mark, few: &[f64]) -> Vec<(Vec<f64>, Vec<f64>)> {
        let mut few = few.iter().copied();
        let mut next = || few.next().expect("as many as there are");
        let InferredNoise { mut var, mut rows } = mark.noise.clone();
        if self.spec.output.noise() != Noise::Known {
            let memory = InferredNoise::memory(self.spec.update);
            for (var, rows) in var.iter_mut().zip(&mut rows) {
                // T68
                let (squares, of_workers, more) = (next(), next(), next());
                let all = match *rows + more <= memory {
                    true => (noise_rows(*rows) * *var + squares) / noise_rows(*rows + more),
                    // The noise follows the last rows alone; the sum of how far workers moved it would overshoot.
                    false => of_workers / more,
                };
                if all > 0.0 && all.is_finite() {
                    (*var, *rows) = (all, *rows + more);
                }
            }
            self.set_noise_now(var, rows);
        }
        let mut running = mark.running.clone();
        for (means, vars) in &mut running {
            let rows = next();
            let first: Vec<f64> = means.iter().map(|_| next()).collect();
            for ((mean, var), first) in means.iter_mut().zip(vars).zip(first) {
                if let Some(of_all) = pooled(rows, first, next()) {
                    (*mean, *var) = of_all; // T67
                }
            }
        }
        running
    }

    /// Removes what a shard of the data contributed before, so that it can be learned again without counting twice: precisions are
    /// subtracted. A variance never exceeds its prior. Afterwards the increment since a mark from *before* the removal is the change in the
    /// contribution, and [`Increment::plus`] gives the new contribution.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let (x, y) = (Matrix::column(vec![0.5])?, Matrix::column(vec![1.0])?);
    /// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// let mark = net.mark()?;
    /// net.learn(&x, &y)?;
    /// let mut site = net.since(&mark)?;
    /// // A second epoch.
    /// let mark = net.mark()?;
    /// net.remove(&site)?;
    /// net.learn(&x, &y)?;
    /// let change = net.since(&mark)?;
    /// site = site.plus(&change)?;
    /// net.merge(&mark, &[change])?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn remove(&mut self, site: &Increment) -> Result<()> {
        self.check_from(site.from)?;
        self.check_adds_up()?;
        self.check_size(site)?;
        let free = Bound { stds: f64::INFINITY, shrink: 0.0 };
        for part in self.parts()? {
            let mut contents = self.part(&part)?;
            part.change(&mut contents.parameters, &site.many, |now, [precision, shift], most| {
                let without = Learned { precision, shift }.times(-1.0).merged(now, most, free);
                [without.mean, without.var]
            });
            self.fill(part.layer, part.outputs, &contents)?;
        }
        if self.spec.output.noise() != Noise::Known {
            let InferredNoise { mut var, mut rows } = self.noise_now()?;
            let memory = InferredNoise::memory(self.spec.update);
            let sites = site.few.as_chunks::<3>().0;
            for ((var, rows), [squares, _, less]) in var.iter_mut().zip(&mut rows).zip(sites) {
                // T68. Rows that the noise has forgotten cannot be removed.
                let rest = (noise_rows(*rows) * *var - squares) / noise_rows(*rows - less);
                if *rows <= memory && less <= rows && rest > 0.0 && rest.is_finite() {
                    (*var, *rows) = (rest, *rows - less);
                }
            }
            self.set_noise_now(var, rows);
        }
        Ok(())
    }

    fn set_noise_now(&mut self, var: Vec<f64>, rows: Vec<f64>) {
        self.spec.noise.0 = var.iter().map(|v| v.sqrt()).collect();
        self.spec.noise_rows = rows;
        self.engine.set_noise(self.spec.inferred_noise());
    }

    fn check_fits(&self, mark: &Mark, increment: &Increment) -> Result<()> {
        self.check_from(mark.from)?;
        increment.from.check(mark.from)?;
        self.check_size(increment)?;
        match self.few_are_possible(increment) {
            true => Ok(()),
            false => Err(Error::invalid("increment", "its noise or its statistics are impossible")),
        }
    }

    /// Whether the noise is positive and has no more rows than were learned, and whether moments of normalisations have a variance.
    fn few_are_possible(&self, increment: &Increment) -> bool {
        let rows = increment.done.rows as f64;
        let noise = if self.spec.output.noise() == Noise::Known { 0 } else { 3 * self.spec.output.units() };
        let (noise, mut norms) = increment.few.split_at(noise);
        let sound = |[_, of_workers, more]: &[f64; 3]| *of_workers >= 0.0 && more.abs() <= rows;
        if !noise.as_chunks().0.iter().all(sound) {
            return false;
        }
        for (i, layer) in self.spec.layers.iter().enumerate() {
            if let Layer::BatchNorm { .. } = layer {
                let channels = self.graph.input_shape(i).channels;
                let (norm, rest) = norms.split_at(1 + 2 * channels);
                let (first, second) = norm[1..].split_at(channels);
                let mut moments = first.iter().zip(second);
                if norm[0] != rows || !moments.all(|(m, s)| m * m <= rows * s * (1.0 + 1e-6) + 1e-30) {
                    return false;
                }
                norms = rest;
            }
        }
        true
    }

    fn check_size(&self, increment: &Increment) -> Result<()> {
        let noise = if self.spec.output.noise() == Noise::Known { 0 } else { 3 * self.spec.output.units() };
        let norms = (0..self.spec.layers.len()).map(|i| match self.spec.layers[i] {
            Layer::BatchNorm { .. } => 1 + 2 * self.graph.input_shape(i).channels,
            _ => 0,
        });
        let same = increment.many.len() == 2 * self.parameters()
            && increment.few.len() == noise + norms.sum::<usize>()
            && increment.many.is_double() == self.is_double();
        match same {
            true => Ok(()),
            false => Err(Error::invalid("increment", "its numbers do not fit this network and device")),
        }
    }
}
