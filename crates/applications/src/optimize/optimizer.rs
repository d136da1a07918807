//! [`Optimizer`]: ask for the next point, tell its value, get the posterior of the optimum.

use super::region::Region;
use super::smooth::Smooth;
use super::surrogate::{Surrogate, nudged};
use super::{Bounds, Goal, Optimum};
use serde::{Deserialize, Serialize};
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Gaussian;
use tractable_core::rng;

/// Searches for the optimum of a black-box function.
///
/// Values without noise are interpolated near the best point, in up to 20 coordinates; the least point of the interpolation is the
/// next one. Otherwise, or if nothing better is in sight, a small network learns the function there, and conditioning on a
/// derivative of zero gives the next point. The trust region grows with success and shrinks without it; when
/// nothing is left to gain in it, the search restarts elsewhere. The cost of a point does not depend on how many came
/// before, apart from sorting them by distance.
///
/// ```
/// use tractable::optimize::Optimizer;
/// let mut search = Optimizer::maximize([(-2.0, 2.0)])?;
/// for _ in 0..20 {
///     let x = search.ask()?;
///     let y = x[0].powi(3) - 3.0 * x[0]; // or an experiment that takes a week
///     search.tell(&x, y)?;
/// }
/// assert!(search.best().unwrap().y.unwrap() > 1.9);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Optimizer {
    pub(super) bounds: Bounds,
    pub(super) goal: Goal,
    pub(super) seed: u64,
    pub(super) noise_std: f64,
    pub(super) trials: Vec<Trial>,
    pub(super) pending: Vec<Vec<f64>>,
    /// The region that each pending point was asked for.
    pub(super) pending_regions: Vec<usize>,
    pub(super) region: Region,
    /// Points asked for so far.
    pub(super) asked: u64,
}

/// A point and its value.
///
/// ```
/// # use tractable::optimize::Optimizer;
/// let mut search = Optimizer::minimize([(0.0, 1.0)])?;
/// let x = search.ask()?;
/// search.tell(&x, f64::NAN)?; // the experiment failed
/// assert_eq!(search.history()[0].y, None);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// The point.
    pub x: Vec<f64>,
    /// Its value; `None` if it was not finite.
    #[serde(deserialize_with = "Option::deserialize")] // a file without it is not ours
    pub y: Option<f64>,
    /// The region it was asked for.
    pub(super) region: usize,
}

impl Trial {
    fn new(x: &[f64], y: f64, region: usize) -> Self {
        Trial { x: x.to_vec(), y: y.is_finite().then_some(y), region }
    }
}

/// Points closer than this share of the region count as the same, for a network and for a function through the values.
const SAME: f64 = 1e-3;
const EXACTLY: f64 = 1e-6;
/// The least improvement that is worth a value, as `interpolated` counts it.
const GAIN: f64 = 1e-7;
/// A region of this radius without such an improvement is finished.
const SMALL: f64 = 0.05;
/// Attempts to find a new point near a known one, before one anywhere in the box.
const NUDGES: usize = 8;
/// Number of networks for the posterior of the optimum.
const OPINIONS: u64 = 8;

impl Optimizer {
    /// Minimises a function in a box: (lowest, highest) of every coordinate.
    ///
    /// ```
    /// # use tractable::optimize::Optimizer;
    /// let found = Optimizer::minimize([(-1.0, 3.0)])?.run(20, |x| (x[0] - 1.0).powi(2))?;
    /// assert!((found.x.mean()[0] - 1.0).abs() < 0.1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn minimize(bounds: impl IntoIterator<Item = (f64, f64)>) -> Result<Self> {
        Ok(Self::new(Bounds::new(bounds)?, Goal::Minimum))
    }

    /// Maximises a function in a box.
    ///
    /// ```
    /// # use tractable::optimize::Optimizer;
    /// assert!(Optimizer::maximize([(1.0, -1.0)]).is_err()); // reversed
    /// ```
    pub fn maximize(bounds: impl IntoIterator<Item = (f64, f64)>) -> Result<Self> {
        Ok(Self::new(Bounds::new(bounds)?, Goal::Maximum))
    }

    /// With a box that was already checked.
    ///
    /// ```
    /// use tractable::optimize::{Bounds, Goal, Optimizer};
    /// let search = Optimizer::new(Bounds::new([(0.0, 1.0)])?, Goal::Maximum);
    /// assert_eq!(search.goal(), Goal::Maximum);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn new(bounds: Bounds, goal: Goal) -> Self {
        Optimizer {
            bounds,
            goal,
            seed: 0,
            noise_std: 0.0,
            trials: Vec::new(),
            pending: Vec::new(),
            pending_regions: Vec::new(),
            region: Region::new(0),
            asked: 0,
        }
    }

    /// Random seed; the same seed and values give the same points.
    ///
    /// ```
    /// # use tractable::optimize::Optimizer;
    /// let first = |seed| Optimizer::minimize([(0.0, 1.0)])?.seed(seed).ask();
    /// assert_eq!(first(3)?, first(3)?);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Standard deviation of the noise in the values, in their units. With noise, the best point is the one
    /// that the network expects to be best, not the one with the luckiest value.
    ///
    /// ```
    /// # use tractable::optimize::Optimizer;
    /// assert!(Optimizer::minimize([(0.0, 1.0)])?.noise_std(-1.0).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn noise_std(mut self, std: f64) -> Result<Self> {
        if !(std >= 0.0 && std.is_finite()) {
            return Err(Error::invalid(
                "noise",
                format!("a standard deviation of {std} is not a number of at least 0"),
            ));
        }
        self.noise_std = std;
        Ok(self)
    }

    /// The next point to evaluate. Points without a value yet are pending: new points keep away from
    /// them.
    ///
    /// ```
    /// # use tractable::optimize::Optimizer;
    /// let mut search = Optimizer::minimize([(0.0, 1.0)])?;
    /// let (a, b) = (search.ask()?, search.ask()?); // two experiments at a time
    /// assert_ne!(a, b);
    /// assert_eq!(search.pending().len(), 2);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn ask(&mut self) -> Result<Vec<f64>> {
        let mut rng = rng::stream(self.seed, "ask", self.asked);
        let first = Region::first_points(self.bounds.len());
        let mut next = None;
        if let Some(center) = self.center().filter(|_| self.region.asked >= first) {
            match self.interpolated(&center, &mut rng) {
                Some((x, gain)) if gain >= GAIN => next = Some(x),
                Some(_) if self.region.radius < SMALL => self.region = Region::new(self.region.number + 1),
                _ => next = Some(self.inferred(&center, &mut rng)?),
            }
        }
        let spread = |rng: &mut _| match self.region.asked < first {
            true => {
                let mut rng = rng::stream(self.seed, "spread", self.region.number as u64);
                let points = self.bounds.spread(first, &mut rng);
                points[self.region.asked * self.bounds.len()..][..self.bounds.len()].to_vec()
            }
            false => self.bounds.random(rng),
        };
        let x = next.unwrap_or_else(|| spread(&mut rng));
        self.asked += 1;
        self.region.asked += 1;
        self.pending.push(x.clone());
        self.pending_regions.push(self.region.number);
        Ok(x)
    }

    /// Without noise: the least point of a function through the values of this region, and how far it is below the best, as
    /// a share of the distance from the best to the median.
    fn interpolated(&self, center: &[f64], rng: &mut rng::ChaCha8Rng) -> Option<(Vec<f64>, f64)> {
        // After a point without a value, which it cannot know of, a network asks.
        if self.noise_std > 0.0 || self.trials.last().is_some_and(|t| t.y.is_none()) {
            return None;
        }
        let here = self.trials.iter().filter(|t| t.region == self.region.number);
        let here: Vec<_> = here.filter_map(|t| t.y.map(|y| (&t.x[..], self.goal.sign() * y))).collect();
        let smooth = Smooth::fit(&here, &self.bounds, center, self.region.radius)?;
        let region = self.bounds.around(center, self.region.radius);
        let (x, gain) = smooth.least(&region, center, rng);
        Some((self.apart(x, &region, EXACTLY, rng), gain))
    }

    /// The point, or one near it if it was already asked for.
    fn apart(&self, x: Vec<f64>, region: &Bounds, same: f64, rng: &mut rng::ChaCha8Rng) -> Vec<f64> {
        let half = self.bounds.half_widths();
        let known = |x: &[f64]| {
            let far = |other: &[f64]| {
                let by = other.iter().zip(x).zip(&half).map(|((a, b), h)| (a - b).abs() / h);
                by.fold(0.0, f64::max)
            };
            let mut others = self.trials.iter().map(|t| &t.x).chain(&self.pending);
            others.any(|other| far(other) < same * self.region.radius)
        };
        if !known(&x) {
            return x;
        }
        // At an edge a step may lead back to a known point; the opposite step then leads inward.
        let near = (0..NUDGES).flat_map(|_| nudged(region, &x, rng)).find(|x| !known(x));
        near.unwrap_or_else(|| self.bounds.random(rng))
    }

    fn inferred(&self, center: &[f64], rng: &mut rng::ChaCha8Rng) -> Result<Vec<f64>> {
        let (bounds, radius) = (&self.bounds, self.region.radius);
        let surrogate = Surrogate::fit(&self.values(), bounds, center, radius, self.noise_std, rng)?;
        let region = bounds.around(center, radius);
        let center = self.expected_best(&surrogate, &region)?.unwrap_or_else(|| center.to_vec());
        let x = surrogate.candidate(&region, &center, rng)?;
        Ok(self.apart(x, &region, SAME, rng))
    }

    /// With noisy values: the point of the region that the network expects to be best.
    fn expected_best(&self, surrogate: &Surrogate, region: &Bounds) -> Result<Option<Vec<f64>>> {
        if self.noise_std == 0.0 {
            return Ok(None);
        }
        let inside: Vec<&Trial> =
            self.trials.iter().filter(|t| t.y.is_some() && region.contains(&t.x)).collect();
        let expected =
            surrogate.expect(inside.iter().flat_map(|t| t.x.clone()).collect(), self.bounds.len())?;
        let best = (0..inside.len()).min_by(|&a, &b| expected[a].total_cmp(&expected[b]));
        Ok(best.map(|i| inside[i].x.clone()))
    }

    /// Tells the value at a point that [`ask`](Optimizer::ask) returned. A point whose value is not finite is
    /// counted but otherwise ignored.
    ///
    /// ```
    /// # use tractable::optimize::Optimizer;
    /// let mut search = Optimizer::minimize([(0.0, 1.0)])?;
    /// assert!(search.tell(&[0.5], 1.0).is_err()); // never asked: that is what `add` is for
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn tell(&mut self, x: &[f64], y: f64) -> Result<()> {
        let Some(at) = self.pending.iter().position(|p| p == x) else {
            let why = match self.trials.iter().any(|t| t.x == x) {
                true => "already has a value",
                false => "was not returned by ask(); use add() for your own points",
            };
            return Err(Error::invalid("point", format!("{x:?} {why}")));
        };
        self.pending.remove(at);
        let region = self.pending_regions.remove(at);
        self.record(x, y, region);
        Ok(())
    }

    /// Adds your own point and its value, for example from earlier experiments. It may be the best, and the network
    /// learns from it; it does not affect the size of the trust region.
    ///
    /// ```
    /// # use tractable::optimize::Optimizer;
    /// let mut search = Optimizer::minimize([(0.0, 1.0)])?;
    /// search.add(&[0.5], 1.0)?;
    /// assert!(search.add(&[1.5], 1.0).is_err()); // outside the box
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn add(&mut self, x: &[f64], y: f64) -> Result<()> {
        if !self.bounds.contains(x) {
            let why = format!("{x:?} is not in the box {:?}", self.bounds.pairs());
            return Err(Error::invalid("point", why));
        }
        self.trials.push(Trial::new(x, y, self.region.number));
        Ok(())
    }

    fn record(&mut self, x: &[f64], y: f64, region: usize) {
        let before = self.best_of(|t| t.region == region).and_then(|t| t.y);
        self.trials.push(Trial::new(x, y, region));
        let told = self.trials.iter().filter(|t| t.region == region).count();
        // Values for a finished region, or of the first points, do not grow or shrink it.
        if region == self.region.number && told > Region::first_points(self.bounds.len()) {
            let by = 1e-3 * before.map_or(0.0, f64::abs).min(self.spread());
            let better = |b: f64| y.is_finite() && self.goal.sign() * y < self.goal.sign() * b - by;
            self.region.tell(before.is_none_or(better), self.bounds.len());
        }
    }

    /// Calls `f` until this many evaluations in total, and returns the posterior of the optimum.
    ///
    /// ```
    /// # use tractable::optimize::Optimizer;
    /// let mut search = Optimizer::minimize([(-5.0, 5.0)])?;
    /// let found = search.run(25, |x| x[0].cos())?;
    /// assert!(found.value.mean()[0] < -0.98);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn run(&mut self, evaluations: usize, mut f: impl FnMut(&[f64]) -> f64) -> Result<Optimum> {
        while self.trials.len() < evaluations {
            let x = self.ask()?;
            let y = f(&x);
            self.tell(&x, y)?;
        }
        self.optimum()
    }

    /// The posterior of the optimum from the values so far: its location and value, with uncertainties.
    ///
    /// ```
    /// # use tractable::optimize::Optimizer;
    /// assert!(Optimizer::minimize([(0.0, 1.0)])?.optimum().is_err()); // nothing told yet
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn optimum(&self) -> Result<Optimum> {
        let Some(best) = self.best() else {
            return Err(Error::invalid("optimum", "there is no finite value yet"));
        };
        // A finished region has shrunk to nothing around its best point.
        let radius = if best.region == self.region.number { self.region.radius.max(SAME) } else { SAME };
        let region = self.bounds.around(&best.x, radius);
        // Networks with different random weights differ by more than the uncertainty of each.
        let mut found = Vec::new();
        for member in 0..OPINIONS {
            let mut rng = rng::stream(self.seed, "optimum", self.asked * OPINIONS + member);
            let surrogate =
                Surrogate::fit(&self.values(), &self.bounds, &best.x, radius, self.noise_std, &mut rng)?;
            let start = self.expected_best(&surrogate, &region)?.unwrap_or_else(|| best.x.clone());
            found.push(surrogate.optimum(&self.bounds, &region, &start, self.goal)?);
        }
        let (x, value): (Vec<_>, Vec<_>) = found.into_iter().map(|o| (o.x, o.value)).unzip();
        // A mean of places on the edge may be rounded over it.
        let x = pooled(&x)?;
        let inside = x.mean().iter().enumerate().map(|(i, &x)| self.bounds.clamp(i, x)).collect();
        // An exact value counts too: how far its place is from what the networks say is uncertainty.
        let off = |i: usize| if self.noise_std == 0.0 { x.mean()[i] - best.x[i] } else { 0.0 };
        let var = x.var().iter().enumerate().map(|(i, v)| (v + off(i) * off(i)).min(f64::MAX)).collect();
        let x = Gaussian::new(inside, var, x.width())?;
        Ok(Optimum { x, value: pooled(&value)? })
    }

    /// The best point so far.
    ///
    /// ```
    /// # use tractable::optimize::Optimizer;
    /// let mut search = Optimizer::minimize([(0.0, 1.0)])?;
    /// assert!(search.best().is_none());
    /// search.add(&[0.5], 2.0)?;
    /// assert_eq!(search.best().unwrap().y, Some(2.0));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn best(&self) -> Option<&Trial> {
        self.best_of(|_| true)
    }

    fn best_of(&self, among: impl Fn(&Trial) -> bool) -> Option<&Trial> {
        let value = |t: &Trial| t.y.map(|y| self.goal.sign() * y);
        let known = self.trials.iter().filter(|t| t.y.is_some() && among(t));
        known.min_by(|a, b| value(a).unwrap_or(f64::NAN).total_cmp(&value(b).unwrap_or(f64::NAN)))
    }

    /// The best point of this region, or any while there is none.
    fn center(&self) -> Option<Vec<f64>> {
        let best = self.best_of(|t| t.region == self.region.number).or_else(|| self.best());
        best.map(|t| t.x.clone())
    }

    /// Points with their values, to be minimised.
    fn values(&self) -> Vec<(&[f64], f64)> {
        self.trials.iter().filter_map(|t| t.y.map(|y| (&t.x[..], self.goal.sign() * y))).collect()
    }

    /// Approximate range of the values in this region.
    fn spread(&self) -> f64 {
        let here = self.trials.iter().filter(|t| t.region == self.region.number);
        let values = here.filter_map(|t| t.y);
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(l, h), y| (l.min(y), h.max(y)));
        (high - low).max(0.0)
    }

    /// All points with their values, in order.
    ///
    /// ```
    /// # use tractable::optimize::Optimizer;
    /// assert!(Optimizer::minimize([(0.0, 1.0)])?.history().is_empty());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn history(&self) -> &[Trial] {
        &self.trials
    }

    /// Points without a value yet.
    ///
    /// ```
    /// # use tractable::optimize::Optimizer;
    /// assert!(Optimizer::minimize([(0.0, 1.0)])?.pending().is_empty());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn pending(&self) -> &[Vec<f64>] {
        &self.pending
    }

    /// Points whose value was not finite.
    ///
    /// ```
    /// # use tractable::optimize::Optimizer;
    /// let mut search = Optimizer::minimize([(0.0, 1.0)])?;
    /// search.add(&[0.5], f64::INFINITY)?;
    /// assert_eq!(search.set_aside(), 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn set_aside(&self) -> usize {
        self.trials.iter().filter(|t| t.y.is_none()).count()
    }

    /// The box.
    ///
    /// ```
    /// # use tractable::optimize::Optimizer;
    /// assert_eq!(Optimizer::minimize([(0.0, 1.0)])?.bounds().len(), 1);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Minimise or maximise.
    ///
    /// ```
    /// # use tractable::optimize::{Goal, Optimizer};
    /// assert_eq!(Optimizer::minimize([(0.0, 1.0)])?.goal(), Goal::Minimum);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn goal(&self) -> Goal {
        self.goal
    }
}

/// Mean and variance of an equal mixture of Gaussians.
fn pooled(opinions: &[Gaussian]) -> Result<Gaussian> {
    let (n, width) = (opinions.len() as f64, opinions[0].width());
    let average = |of: &dyn Fn(&Gaussian) -> f64| opinions.iter().map(|g| of(g) / n).sum::<f64>();
    let mean: Vec<f64> = (0..width).map(|i| average(&|g| g.mean()[i])).collect();
    let var = |i: usize| average(&|g| g.var()[i] + (g.mean()[i] - mean[i]).powi(2)).min(f64::MAX);
    let var = (0..width).map(var).collect();
    Gaussian::new(mean, var, width)
}
