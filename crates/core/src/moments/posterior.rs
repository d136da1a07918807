//! Update rules: the posterior of one parameter from the sums of a batch.
//!
//! The sums `g_mean = sum mu_a d_mean` and `g_var = sum mu_a^2 d_var <= 0` run over the rows of a batch. For one row
//! they are the exact update; for several they count the prior once per row, so the step can overshoot and the
//! variance can become negative. [`plain`] applies the sum unchanged, [`capped`] limits the step to a fraction of the
//! prior's standard deviation; [`cap_for_batch`] says which fraction. [`counted`] counts a row once however often it
//! is seen; so does [`paced`], whose steps have a length of their own.

use super::Real;

/// The posterior of one parameter, and whether it was limited or repaired.
///
/// ```
/// let step = tractable::moments::posterior::plain(0.5f32, 0.25, 2.0, -1.0);
/// assert_eq!((step.mean, step.var), (1.0, 0.1875));
/// assert!(!step.capped && !step.repaired);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Updated<R> {
    /// Posterior mean.
    pub mean: R,
    /// Posterior variance, positive if the prior's was.
    pub var: R,
    /// The mean's step or the variance's was limited.
    pub capped: bool,
    /// The variance would not have been a positive normal number, or the mean not finite, and was replaced.
    pub repaired: bool,
}

/// What a repaired variance is multiplied by: `2^-10`.
///
/// ```
/// use tractable::moments::posterior::{REPAIR, plain};
/// assert_eq!(plain(0.0, 4.0, 0.0, -1.0).var, 4.0 * REPAIR);
/// ```
pub const REPAIR: f64 = 1.0 / 1024.0;

/// `var * shrink`, repaired where `shrink` is not positive or the result is below the smallest normal number.
#[inline(always)]
fn repair<R: Real>(var_w: R, shrink: R) -> (R, bool) {
    let positive = shrink > R::ZERO;
    let var = var_w * R::select(positive, shrink, R::from_f64(REPAIR));
    let normal = var >= R::MIN_POSITIVE;
    let empty = var_w == R::ZERO;
    (R::select(empty, R::ZERO, R::select(normal, var, R::MIN_POSITIVE)), !empty & !(positive & normal))
}

/// `mean`, or where that is not finite the prior's, and whether that was so.
#[inline(always)]
fn finite_or<R: Real>(mean: R, prior: R) -> (R, bool) {
    let finite = mean * R::ZERO == R::ZERO;
    (R::select(finite, mean, prior), !finite)
}

/// T20. The plain sum: `mean = mu_w + var_w g_mean`, `var = var_w (1 + var_w g_var)`.
///
/// Where `1 + var_w g_var` is not positive the variance is repaired, to `2^-10` of the prior's; where it falls
/// below [`Real::MIN_POSITIVE`] it is raised to that; a mean that is not finite stays where it was. All set
/// [`Updated::repaired`]. A variance of 0 stays 0.
///
/// ```
/// use tractable::moments::posterior::plain;
/// let step = plain(0.0f32, 1.0, 0.5, -2.0);
/// assert_eq!((step.mean, step.var, step.repaired), (0.5, 1.0 / 1024.0, true));
/// ```
#[inline(always)]
pub fn plain<R: Real>(mu_w: R, var_w: R, g_mean: R, g_var: R) -> Updated<R> {
    // T20
    let (var, repaired) = repair(var_w, R::ONE + var_w * g_var);
    let (mean, overflowed) = finite_or(mu_w + var_w * g_mean, mu_w);
    Updated { mean, var, capped: false, repaired: repaired | overflowed }
}

/// T21. [`plain`] with the mean's step limited to `+-sqrt(var_w)/cap` and, where `cap > 1`, the variance to no less
/// than `var_w/cap^2`. Where `cap <= 1` only the repair of [`plain`] looks after the variance.
///
/// ```
/// use tractable::moments::posterior::capped;
/// let step = capped(0.0f32, 1.0, 4.0, -2.0, 2.0);
/// assert_eq!((step.mean, step.var, step.capped, step.repaired), (0.5, 0.25, true, false));
/// ```
#[inline(always)]
pub fn capped<R: Real>(mu_w: R, var_w: R, g_mean: R, g_var: R, cap: R) -> Updated<R> {
    // T21
    let (cap_squared, least_shrink) = limits(Some(cap));
    let delta = var_w * g_mean;
    let limit = var_w.sqrt() / cap;
    let mean_within = delta * g_mean * cap_squared <= R::ONE;
    // A NaN is not within, and is neither positive nor negative: it stays.
    let limited = R::select(delta > R::ZERO, limit, R::select(delta < R::ZERO, -limit, delta));

    let shrink = R::ONE + var_w * g_var;
    let var_within = (cap <= R::ONE) | (shrink >= least_shrink);
    let (var, repaired) = repair(var_w, R::select(var_within, shrink, least_shrink));
    let (mean, overflowed) = finite_or(mu_w + R::select(mean_within, delta, limited), mu_w);
    Updated { mean, var, capped: !(mean_within & var_within), repaired: repaired | overflowed }
}

/// T22. The step of [`plain`], and whether [`capped`] would neither cap nor repair it: then, and only then, the
/// two agree and a fast kernel may take it without looking further. No square root and no division:
///
/// ```text
/// var_w g_mean^2 cap^2 <= 1,   1 + var_w g_var >= least_shrink,   var >= MIN_POSITIVE or var_w = 0
/// ```
///
/// with `cap_squared` and `least_shrink` from [`limits`].
///
/// ```
/// use tractable::moments::posterior::{free_step, limits};
/// let (cap_squared, least_shrink) = limits(Some(2.0f32));
/// let free = |g_mean, g_var| free_step(0.0f32, 1.0, g_mean, g_var, cap_squared, least_shrink).2;
/// assert!(free(0.5, -0.5));
/// assert!(!free(0.6, -0.5)); // a step of 0.6 standard deviations; the cap is 1/2
/// assert!(!free(0.5, -0.8)); // a fifth of the variance; the cap is a quarter
/// ```
#[inline(always)]
pub fn free_step<R: Real>(
    mu_w: R,
    var_w: R,
    g_mean: R,
    g_var: R,
    cap_squared: R,
    least_shrink: R,
) -> (R, R, bool) {
    // T22
    let delta = var_w * g_mean;
    let shrink = R::ONE + var_w * g_var;
    let var = var_w * shrink;
    let smallest = R::select(var_w == R::ZERO, R::ZERO, R::MIN_POSITIVE);
    let free = (delta * g_mean * cap_squared <= R::ONE) & (shrink >= least_shrink) & (var >= smallest);
    (mu_w + delta, var, free)
}

/// The square of the cap and the least shrinkage of a variance that [`free_step`] compares with: for
/// [`capped`] with this cap, or for [`plain`] without one.
///
/// ```
/// use tractable::moments::posterior::limits;
/// assert_eq!(limits(Some(2.0)), (4.0, 0.25));
/// assert_eq!(limits::<f64>(None), (0.0, f64::MIN_POSITIVE));
/// ```
#[inline(always)]
pub fn limits<R: Real>(cap: Option<R>) -> (R, R) {
    match cap {
        None => (R::ZERO, R::MIN_POSITIVE),
        Some(cap) if cap > R::ONE => (cap * cap, R::ONE / (cap * cap)),
        Some(cap) => (cap * cap, R::MIN_POSITIVE),
    }
}

/// The weight of a batch in [`counted`]: of its sums, and of the pull back to the prior.
///
/// ```
/// use tractable::moments::posterior::Count;
/// let one_of_a_hundred_rows = Count { weight: 1.0, share: 0.01, mean: 0.0, precision: 4.0, cap: 0.1 };
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Count<R> {
    /// Factor on the sums.
    pub weight: R,
    /// Share of the learned information to forget first, 0 to 1.
    pub share: R,
    /// Mean of the prior.
    pub mean: R,
    /// Inverse of the prior's variance.
    pub precision: R,
    /// Steps are limited as in [`capped`].
    pub cap: R,
}

impl<R: Real> Count<R> {
    /// In another precision.
    pub fn to<T: Real>(self, f: impl Fn(R) -> T) -> Count<T> {
        Count {
            weight: f(self.weight),
            share: f(self.share),
            mean: f(self.mean),
            precision: f(self.precision),
            cap: f(self.cap),
        }
    }
}

/// T39. The step that counts every row once, with `l = 1/var_w`, the prior `N(mean, 1/precision)`, and `rho` the share:
///
/// ```text
/// l' = l + rho (precision - l) - weight g_var,   mean' = mu_w + (weight g_mean - rho precision (mu_w - mean))/l'
/// ```
///
/// Seen repeatedly, `n` rows with `rho = weight/n` converge to where each counts once. Steps are limited as in
/// [`capped`], and repaired as in [`plain`].
///
/// ```
/// use tractable::moments::posterior::{Count, counted};
/// // A quarter is forgotten; the prior has a precision of 4.
/// let count = Count { weight: 1.0, share: 0.25, mean: 0.0, precision: 4.0, cap: 0.1 };
/// let step = counted(0.5f64, 0.125, 3.0, -1.0, count);
/// assert_eq!((step.mean, 1.0 / step.var), (0.5 + 2.5 / 8.0, 8.0));
/// ```
#[inline(always)]
pub fn counted<R: Real>(mu_w: R, var_w: R, g_mean: R, g_var: R, count: Count<R>) -> Updated<R> {
    // T39
    let (_, least_shrink) = limits(Some(count.cap));
    let change = change(var_w, g_var, count);
    let grown = R::ONE + change;
    let within = grown * least_shrink <= R::ONE;
    let (var, repaired) = repair(var_w, R::select(within, R::ONE / grown, least_shrink));
    let var = R::select(within & !repaired & (grown > R::ZERO), over(var_w, change), var);
    let delta = var * pulled(mu_w, g_mean, count);
    let limit = var_w.sqrt() / count.cap;
    let mean_within = delta * delta * count.cap * count.cap <= var_w;
    let limited = R::select(delta > R::ZERO, limit, R::select(delta < R::ZERO, -limit, delta));
    let (mean, overflowed) = finite_or(mu_w + R::select(mean_within, delta, limited), mu_w);
    Updated { mean, var, capped: !(mean_within & within), repaired: repaired | overflowed }
}

/// The factor on the precision, minus 1.
#[inline(always)]
fn change<R: Real>(var_w: R, g_var: R, count: Count<R>) -> R {
    count.share * (count.precision * var_w - R::ONE) - count.weight * var_w * g_var
}

/// `var_w / (1 + change)`. Beside 1 a small change would lose its digits, in every row anew.
#[inline(always)]
fn over<R: Real>(var_w: R, change: R) -> R {
    let grown = R::ONE + change;
    R::select(change < R::ONE, var_w - var_w * (change / grown), var_w / grown)
}

/// The step of the mean, times the new precision.
#[inline(always)]
fn pulled<R: Real>(mu_w: R, g_mean: R, count: Count<R>) -> R {
    count.weight * g_mean - count.share * count.precision * (mu_w - count.mean)
}

/// The step of [`counted`], and whether it would neither be capped nor repaired, as [`free_step`] is to [`capped`].
#[inline(always)]
pub fn free_counted<R: Real>(
    mu_w: R,
    var_w: R,
    g_mean: R,
    g_var: R,
    count: Count<R>,
    cap_squared: R,
    least_shrink: R,
) -> (R, R, bool) {
    let change = change(var_w, g_var, count);
    let (grown, var) = (R::ONE + change, over(var_w, change));
    let delta = var * pulled(mu_w, g_mean, count);
    let smallest = R::select(var_w == R::ZERO, R::ZERO, R::MIN_POSITIVE);
    let free = (delta * delta * cap_squared <= var_w) & (grown * least_shrink <= R::ONE) & (var >= smallest);
    (mu_w + delta, var, free & (grown > R::ZERO))
}

/// How [`paced`] takes a batch.
///
/// ```
/// use tractable::moments::posterior::Pace;
/// let one_of_a_hundred_rows = Pace { length: 1.0, share: 0.01, precision: 4.0, pull: 0.0 };
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace<R> {
    /// Length of the mean's step; 1 is that of [`plain`].
    pub length: R,
    /// The batch's share of all rows, 0 to 1.
    pub share: R,
    /// Inverse of the prior's variance.
    pub precision: R,
    /// The batch's share of the precision with which means are pulled to 0.
    pub pull: R,
}

impl<R: Real> Pace<R> {
    /// In another precision.
    pub fn to<T: Real>(self, f: impl Fn(R) -> T) -> Pace<T> {
        Pace {
            length: f(self.length),
            share: f(self.share),
            precision: f(self.precision),
            pull: f(self.pull),
        }
    }

    /// The factor on the precision, minus 1.
    #[inline(always)]
    fn change(self, var_w: R, g_var: R) -> R {
        self.share * (self.precision * var_w - R::ONE) - var_w * g_var
    }

    /// The step of the mean, given the new variance.
    #[inline(always)]
    fn delta(self, mu_w: R, g_mean: R, var: R) -> R {
        self.length * (g_mean - self.pull * mu_w) * var
    }
}

/// The inverse of the largest step of [`paced`] in standard deviations.
///
/// ```
/// assert_eq!(tractable::moments::posterior::PACED_CAP, 2.0);
/// ```
pub const PACED_CAP: f64 = 2.0;

/// T80. The step of deep networks. The precision `l = 1/var_w` counts every row once and is never below the prior's; the mean's step has a
/// length of its own, and is at most half the new standard deviation. `rho` is the share:
///
/// ```text
/// l' = l + rho (precision - l) - g_var,   mean' = mu_w + length (g_mean - pull mu_w)/l'
/// ```
///
/// Repaired as [`plain`].
///
/// ```
/// use tractable::moments::posterior::{Pace, paced};
/// // A quarter of the rows; the prior has a precision of 4.
/// let pace = Pace { length: 3.0, share: 0.25, precision: 4.0, pull: 0.0 };
/// let step = paced(0.5f64, 0.125, 0.25, -1.0, pace);
/// assert_eq!((step.mean, 1.0 / step.var, step.capped), (0.5 + 3.0 * 0.25 / 8.0, 8.0, false));
/// assert!(paced(0.5f64, 0.125, 1.0, -1.0, pace).capped);
/// ```
#[inline(always)]
pub fn paced<R: Real>(mu_w: R, var_w: R, g_mean: R, g_var: R, pace: Pace<R>) -> Updated<R> {
    // T80
    let change = pace.change(var_w, g_var);
    let grown = R::ONE + change;
    let (var, repaired) = repair(var_w, R::ONE / grown);
    let var = R::select(!repaired & (grown > R::ZERO), over(var_w, change), var);
    let (delta, cap) = (pace.delta(mu_w, g_mean, var), R::from_f64(PACED_CAP));
    let limit = var.sqrt() / cap;
    let within = delta * delta * cap * cap <= var;
    let limited = R::select(delta > R::ZERO, limit, R::select(delta < R::ZERO, -limit, delta));
    let (mean, overflowed) = finite_or(mu_w + R::select(within, delta, limited), mu_w);
    Updated { mean, var, capped: !within, repaired: repaired | overflowed }
}

/// The step of [`paced`], and whether it would neither be capped nor repaired, as [`free_step`] is to [`capped`].
///
/// ```
/// use tractable::moments::posterior::{Pace, free_paced, paced};
/// let pace = Pace { length: 3.0, share: 0.25, precision: 4.0, pull: 0.0 };
/// let step = paced(0.5f64, 0.125, 0.25, -1.0, pace);
/// assert_eq!(free_paced(0.5, 0.125, 0.25, -1.0, pace), (step.mean, step.var, true));
/// ```
#[inline(always)]
pub fn free_paced<R: Real>(mu_w: R, var_w: R, g_mean: R, g_var: R, pace: Pace<R>) -> (R, R, bool) {
    let change = pace.change(var_w, g_var);
    let var = over(var_w, change);
    let (delta, cap) = (pace.delta(mu_w, g_mean, var), R::from_f64(PACED_CAP));
    let smallest = R::select(var_w == R::ZERO, R::ZERO, R::MIN_POSITIVE);
    let free = (delta * delta * cap * cap <= var) & (var >= smallest);
    (mu_w + delta, var, free & (R::ONE + change > R::ZERO))
}

/// T23. The cap that goes with a batch: 0.1 for one row (a limit of ten standard deviations), 2 for 2 to 255 rows,
/// 3 from 256.
///
/// ```
/// use tractable::moments::posterior::cap_for_batch;
/// assert_eq!([1, 2, 255, 256].map(cap_for_batch), [0.1, 2.0, 2.0, 3.0]);
/// ```
#[inline(always)]
pub fn cap_for_batch(rows: usize) -> f64 {
    // T23
    match rows {
        0..=1 => 0.1,
        2..=255 => 2.0,
        _ => 3.0,
    }
}
