//! Merging what several copies of a network learned: [`Network::mark`], [`Network::since`], [`Network::merge`].

use super::{LearnInfo, Network};
use crate::backend::UpdateRule;
use crate::engine::InferredNoise;
use crate::error::{Error, Result};
use crate::fnv;
use crate::layer::{Contents, Layer};
use crate::moments::merge::{Bound, Learned, most_share, pooled, surprise};
use crate::output::Noise;
use crate::workers::{self, Doing, Numbers, Transport};

/// A point in a network's learning from which [increments](Increment) start: a copy of all its numbers.
///
/// ```
/// # use tractable::{Activation, Network};
/// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
/// let mark = net.mark()?;
/// # Ok::<(), tractable::Error>(())
/// ```
pub struct Mark {
    from: From,
    contents: Vec<Contents>,
    noise: InferredNoise,
    done: Done,
}

/// What an increment belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct From {
    pub(super) seed: u64,
    /// Hash of layers, prior and scalers.
    pub(super) architecture: u64,
    /// Hash of the numbers at the mark.
    pub(super) mark: u64,
}

/// Updates of a network so far, by how far each may move a weight (T23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Done {
    /// Workers that learned something; 0 in a network itself.
    pub(super) workers: u64,
    pub(super) rows: u64,
    pub(super) single: u64,
    pub(super) small: u64,
    pub(super) large: u64,
}

/// What a network learned since a [mark](Mark), in natural parameters (precision, and precision times mean). Increments of networks that
/// learned different rows from the same mark add up; see [`Network::merge`].
///
/// ```
/// # use tractable::{Activation, Increment, Matrix, Network};
/// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
/// let mark = net.mark()?;
/// net.learn(&Matrix::column(vec![0.5])?, &Matrix::column(vec![1.0])?)?;
/// let learned = net.since(&mark)?;
/// assert_eq!(learned.rows(), 1);
/// assert_eq!(Increment::from_bytes(&learned.to_bytes())?, learned);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Increment {
    pub(super) from: From,
    pub(super) done: Done,
    /// Precision and shift of every parameter.
    pub(super) many: Numbers,
    /// Other sums: squares and entries of the noise, then rows and moments of normalisations.
    pub(super) few: Vec<f64>,
}

impl std::fmt::Debug for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mark").field("from", &self.from).finish_non_exhaustive()
    }
}

impl Done {
    /// After an update with this many rows.
    pub(crate) fn note_update(&mut self, rows: usize) {
        self.rows += rows as u64;
        *match rows {
            0..=1 => &mut self.single,
            2..=255 => &mut self.small,
            _ => &mut self.large,
        } += 1;
    }

    fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Done {
            workers: f(self.workers, other.workers),
            rows: f(self.rows, other.rows),
            single: f(self.single, other.single),
            small: f(self.small, other.small),
            large: f(self.large, other.large),
        }
    }

    /// Workers in parallel: rows add up; of updates, the worker with the most counts.
    fn beside(self, other: Self) -> Self {
        let (workers, rows) = (self.workers + other.workers, self.rows + other.rows);
        Done { workers, rows, ..self.zip(other, u64::max) }
    }

    /// T66. The sum of the steps that its updates allow.
    fn bound(self, rule: UpdateRule) -> Bound {
        if rule == UpdateRule::Plain {
            return Bound { stds: f64::INFINITY, shrink: 0.0 };
        }
        let many = |n: u64| n.min(10_000) as f64;
        let stds = 10.0 * many(self.single) + many(self.small) / 2.0 + many(self.large) / 3.0;
        let shrink = (-2.0 * (many(self.small) * 2f64.ln() + many(self.large) * 3f64.ln())).exp();
        Bound { stds, shrink: if self.single > 0 { 0.0 } else { shrink } }
    }
}

/// Mean and variance of every parameter, layer by layer: those of its weights, those of its biases.
fn all_parts<'a>(contents: &'a [Contents]) -> impl Iterator<Item = impl ExactSizeIterator<Item = [f64; 2]>> {
    let part = |mean: &'a [f64], var: &'a [f64]| mean.iter().zip(var).map(|(&mean, &var)| [mean, var]);
    contents.iter().flat_map(move |Contents { parameters: p, .. }| {
        [part(&p.mean, &p.var), part(&p.bias_mean, &p.bias_var)]
    })
}

fn all_pairs(contents: &[Contents]) -> impl Iterator<Item = [f64; 2]> {
    all_parts(contents).flatten()
}

/// Rows that count for inferred noise: the initial value is one (T43).
fn noise_rows(rows: f64) -> f64 {
    rows + 1.0
}

impl Network {
    /// A mark: what the network learns from here on is an [`Increment`].
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// assert_eq!(net.since(&net.mark()?)?.rows(), 0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn mark(&self) -> Result<Mark> {
        let (contents, noise) = (self.all_contents()?, self.noise_now()?);
        // Means and variances have a hash each: two that do not wait for each other take half the time.
        let mix = |hash: u64, v: f64| (hash.rotate_left(5) ^ v.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut hash = [fnv::EMPTY; 2];
        for part in all_parts(&contents) {
            hash = part.fold(hash, |hash, [mean, var]| [mix(hash[0], mean), mix(hash[1], var)]);
        }
        let running = contents.iter().filter_map(|c| c.running.as_ref());
        let few = running.flat_map(|(mean, var)| mean.iter().chain(var)).chain(&noise.var).chain(&noise.rows);
        let hash = few.fold(hash[0] ^ hash[1].rotate_left(32), |hash, &v| mix(hash, v));
        let from = From { mark: hash, ..self.from() };
        Ok(Mark { from, contents, noise, done: self.done })
    }

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
        let (now, noise) = (self.all_contents()?, self.noise_now()?);
        let done = self.done.zip(mark.done, u64::saturating_sub);
        let done = Done { workers: u64::from(done.rows > 0), ..done };
        let mut many = Numbers::empty(self.is_double());
        for (mark, now) in all_parts(&mark.contents).zip(all_parts(&now)) {
            many.extend_pairs(mark.zip(now).map(|(mark, now)| {
                let Learned { precision, shift } = Learned::between(mark, now);
                [precision, shift]
            }));
        }
        let mut few = Vec::new();
        if self.spec.output.noise() != Noise::Known {
            let (before, after) = (&mark.noise, &noise);
            for i in 0..after.var.len() {
                // T68
                let squares =
                    noise_rows(after.rows[i]) * after.var[i] - noise_rows(before.rows[i]) * before.var[i];
                few.extend([squares, after.rows[i] - before.rows[i]]);
            }
        }
        let rows = done.rows as f64;
        for (mean, var) in now.iter().filter_map(|c| c.running.as_ref()) {
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
    /// [`UpdateRule`], by the worker with the most updates (T66).
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
    ///     let mut worker = net.clone(); // or the same file on another machine
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
    /// let mut worker = net.clone();
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
        let bound = sum.done.bound(self.spec.update);
        let mut info = LearnInfo { rows: sum.done.rows as usize, ..LearnInfo::default() };
        let mut contents = mark.contents.clone();
        self.add_to(&mut contents, sum, |learned, now, most| {
            let next = learned.times(share).merged(now, most, bound);
            info.capped += u64::from(next.capped);
            info.repaired += u64::from(next.repaired);
            [next.mean, next.var]
        })?;
        self.merge_few(mark, &sum.few, &mut contents)?;
        self.refill(&contents)?;
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

    /// The noise as stored on the device, if it is inferred.
    fn noise_now(&self) -> Result<InferredNoise> {
        match self.spec.output.noise() {
            Noise::Known => Ok(self.spec.inferred_noise()),
            _ => self.engine.noise().cloned(),
        }
    }

    /// Noise and the statistics of normalisations.
    fn merge_few(&mut self, mark: &Mark, few: &[f64], contents: &mut [Contents]) -> Result<()> {
        let mut few = few.iter().copied();
        let mut next = || few.next().expect("as many as there are");
        let InferredNoise { mut var, mut rows } = mark.noise.clone();
        if self.spec.output.noise() != Noise::Known {
            for (var, rows) in var.iter_mut().zip(&mut rows) {
                // T68
                let (squares, more) = (next(), next());
                let total = noise_rows(*rows) * *var + squares;
                // If the noise remembers only the last rows, sums may overshoot; no single step changes it by a factor of four.
                *var = (total / noise_rows(*rows + more)).clamp(*var / 4.0, *var * 4.0);
                *rows += more;
            }
            self.spec.noise.0 = var.iter().map(|v| v.sqrt()).collect();
            self.spec.noise_rows = rows;
        }
        for (means, vars) in contents.iter_mut().filter_map(|c| c.running.as_mut()) {
            let rows = next();
            let first: Vec<f64> = means.iter().map(|_| next()).collect();
            for ((mean, var), first) in means.iter_mut().zip(vars).zip(first) {
                if let Some(of_all) = pooled(rows, first, next()) {
                    (*mean, *var) = of_all; // T67
                }
            }
        }
        self.engine.set_noise(self.spec.inferred_noise());
        Ok(())
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
        self.check_size(site)?;
        let free = Bound { stds: f64::INFINITY, shrink: 0.0 };
        let mut contents = self.all_contents()?;
        self.add_to(&mut contents, site, |learned, now, most| {
            let without = learned.times(-1.0).merged(now, most, free);
            [without.mean, without.var]
        })?;
        self.refill(&contents)
    }

    /// Replaces every parameter by what `f` makes of the increment, its mean and variance, and the variance of its prior.
    fn add_to(
        &self,
        contents: &mut [Contents],
        increment: &Increment,
        mut f: impl FnMut(Learned, [f64; 2], f64) -> [f64; 2],
    ) -> Result<()> {
        let mut at = 0;
        for (layer, contents) in contents.iter_mut().enumerate() {
            let Some(priors) = self.spec.prior_of(&self.graph, layer)? else { continue };
            let p = &mut contents.parameters;
            let parts =
                [(&mut p.mean, &mut p.var, priors[0]), (&mut p.bias_mean, &mut p.bias_var, priors[1])];
            for (means, vars, [_, most]) in parts {
                let n = means.len();
                let now = means.iter_mut().zip(vars);
                increment.many.with_pairs(at, now, |(mean, var), [precision, shift]| {
                    [*mean, *var] = f(Learned { precision, shift }, [*mean, *var], most);
                });
                at += n;
            }
        }
        Ok(())
    }

    fn check_from(&self, from: From) -> Result<()> {
        from.check(From { mark: from.mark, ..self.from() })
    }

    fn check_fits(&self, mark: &Mark, increment: &Increment) -> Result<()> {
        self.check_from(mark.from)?;
        increment.from.check(mark.from)?;
        self.check_size(increment)
    }

    fn check_size(&self, increment: &Increment) -> Result<()> {
        let noise = if self.spec.output.noise() == Noise::Known { 0 } else { 2 * self.spec.output.units() };
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

    /// What increments of this network belong to; without a mark.
    fn from(&self) -> From {
        let s = &self.spec;
        let said = format!(
            "{:?}",
            (s.input, &s.layers, &s.inputs, s.output, s.prior, &s.input_scaler, &s.output_scaler)
        );
        From { seed: s.seed, architecture: fnv::fnv1a_64(fnv::EMPTY, said.bytes()), mark: 0 }
    }
}

impl From {
    fn check(self, expected: From) -> Result<()> {
        let why = if self.architecture != expected.architecture {
            "it belongs to a network with different layers, prior or scalers"
        } else if self.seed != expected.seed {
            "it belongs to a network with a different seed; posteriors with different starting points cannot be merged"
        } else if self.mark != expected.mark {
            "it starts from a different mark; all workers must start from the same numbers"
        } else {
            return Ok(());
        };
        Err(Error::invalid("increment", why))
    }
}

impl Mark {
    /// A hash of settings and numbers, to check that all workers start from the same network.
    pub(crate) fn identity(&self) -> Vec<u8> {
        let From { seed, architecture, mark } = self.from;
        [seed, architecture, mark].iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    /// How surprising an increment is to the network at this mark (T69): about 1 in a linear model for expected data, far more for
    /// garbage. Compare workers with each other: one that is many times as surprising as the others has different data, or is faulty.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).noise_std([0.1]).build()?;
    /// let mark = net.mark()?;
    /// let mut other = net.clone();
    /// net.learn(&Matrix::column(vec![0.5])?, &Matrix::column(vec![0.1])?)?;
    /// other.learn(&Matrix::column(vec![0.5])?, &Matrix::column(vec![50.0])?)?;
    /// assert!(mark.surprise(&other.since(&mark)?)? > 100.0 * mark.surprise(&net.since(&mark)?)?);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn surprise(&self, increment: &Increment) -> Result<f64> {
        increment.from.check(self.from)?;
        match increment.many.len() == 2 * all_pairs(&self.contents).count() {
            true => Ok(self.surprise_by(increment, 1.0, 1)),
            false => Err(Error::invalid("increment", "its numbers do not fit the marked network")),
        }
    }

    /// The surprise of a share of an increment, over every `every`-th parameter.
    fn surprise_by(&self, increment: &Increment, share: f64, every: usize) -> f64 {
        let free = Bound { stds: f64::INFINITY, shrink: 0.0 };
        surprise(all_pairs(&self.contents).enumerate().step_by(every).map(|(i, mark)| {
            let now = increment.at(i).times(share).merged(mark, f64::INFINITY, free);
            (mark, [now.mean, now.var])
        }))
    }

    /// The share of increments for [`merge_share`](Network::merge_share) (T54): the largest that causes little surprise, and at least the average
    /// of the workers. [`fit_together`](Network::fit_together) uses it. If you store a shard's contribution, store this share of it.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// let mut net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// let mark = net.mark()?;
    /// net.learn(&Matrix::column(vec![0.5])?, &Matrix::column(vec![1.0])?)?;
    /// assert_eq!(mark.share(&[net.since(&mark)?])?, 1.0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn share(&self, increments: &[Increment]) -> Result<f64> {
        let (first, others) =
            increments.split_first().ok_or_else(|| Error::invalid("increments", "there are none"))?;
        self.surprise(first)?;
        Ok(self.share_of(&others.iter().try_fold(first.clone(), |sum, more| sum.plus(more))?))
    }

    fn share_of(&self, sum: &Increment) -> f64 {
        // A sample of the parameters is enough.
        let every = (sum.many.len() / 2).div_ceil(1 << 16).max(1);
        let least = 1.0 / sum.done.workers.max(1) as f64;
        most_share(least, |share| self.surprise_by(sum, share, every))
    }
}

impl Increment {
    /// What was learned about one parameter.
    fn at(&self, parameter: usize) -> Learned {
        Learned { precision: self.many.get(2 * parameter), shift: self.many.get(2 * parameter + 1) }
    }

    /// A share of it; see [`Mark::share`].
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// let nothing = net.since(&net.mark()?)?;
    /// assert_eq!(nothing.times(0.5), nothing);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn times(&self, share: f64) -> Increment {
        let mut part = self.clone();
        part.many.times(share);
        part
    }

    /// Rows it was learned from.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// assert_eq!(net.since(&net.mark()?)?.rows(), 0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.done.rows as usize
    }

    /// The sum of two increments: of two workers since one mark, or of a shard's contribution and its change since a later mark.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([1, 8, 1], Activation::Tanh).build()?;
    /// let nothing = net.since(&net.mark()?)?;
    /// assert_eq!(nothing.plus(&nothing)?, nothing);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn plus(&self, more: &Increment) -> Result<Increment> {
        From { mark: self.from.mark, ..more.from }.check(self.from)?;
        let mut sum = self.clone();
        let alike = sum.many.len() == more.many.len() && sum.few.len() == more.few.len();
        if !alike || sum.many.is_double() != more.many.is_double() {
            return Err(Error::invalid("increment", "its numbers do not fit the increment it is added to"));
        }
        sum.many.add(&more.many);
        sum.few.iter_mut().zip(&more.few).for_each(|(sum, more)| *sum += more);
        sum.done = sum.done.beside(more.done);
        Ok(sum)
    }
}
