//! The standard normal distribution: density, distribution function and the scaled tail functions of the
//! mixture ReLU, each with relative accuracy however far out in the tail.
//!
//! With `X` standard normal, `t >= 0` and `phi` the density:
//!
//! ```text
//! T1  phi(t)       = exp(-t^2/2)/sqrt(2 pi)
//! T2  phi(t) R(t)  = P(X > t)            R  = Phi(-t)/phi(t)       Mills' ratio
//! T3  phi(t) G1(t) = E[max(0, X - t)]    G1 = 1 - t R
//! T4  phi(t) G2(t) = E[max(0, X - t)^2]  G2 = (1 + t^2) R - t
//! ```
//!
//! The right-hand formulae cancel for large `t` (`G1 ~ 1/t^2`, `G2 ~ 2/t^3`), so `G1` and `G2` are approximated
//! directly: `(t + 1.5)^2 G1` and `(t + 1.5)^3 G2` are polynomials in `u = (t - 3.5)/(t + 3.5)`, which maps
//! `[0, inf)` to `[-1, 1)`. `R = G2 + t G1` is a sum of positive terms.
//!
//! `phi` is exactly 0 where `t^2/2` is above [`Real::EXP_CUT`] (60 for `f32`: `t > 10.95`; 700 for `f64`:
//! `t > 37.4`), so products with it stay away from denormal numbers.

use super::Real;

/// The scaled tail functions at one `t`: see [`tails`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tails<R> {
    /// `R(t) = Phi(-t)/phi(t)`.
    pub mills: R,
    /// `G1(t) = 1 - t R(t)`.
    pub first: R,
    /// `G2(t) = (1 + t^2) R(t) - t`.
    pub second: R,
}

/// `exp(-(t + dt)^2/2)` for `t >= 0` and a `dt` of the order of `t`'s rounding error; 0 beyond [`Real::EXP_CUT`].
#[inline(always)]
pub(super) fn bell<R: Real>(t: R, dt: R) -> R {
    // t^2/2 = high^2/2 + low (t + high)/2, the first exact; half a unit in the last place of t^2/2 = 18 would be
    // 1e-6 of the f32 result. A `t` beyond the square root of the largest number makes `high^2` infinite: cut.
    let high = t.high_half();
    let rest = (t - high) * (t + high) * R::HALF + t * dt;
    R::exp_cut(high * high * R::HALF, rest)
}

/// T1. Density of the standard normal: `phi(x) = exp(-x^2/2)/sqrt(2 pi)`.
///
/// ```
/// use tractable::moments::normal::pdf;
/// assert_eq!(pdf(0.0f64), 0.3989422804014327);
/// assert_eq!(pdf(11.0f32), 0.0); // the cut, see the module's documentation
/// ```
#[inline(always)]
pub fn pdf<R: Real>(x: R) -> R {
    // T1
    bell(x.abs(), R::ZERO) * R::from_f64(FRAC_1_SQRT_2PI)
}

/// `1/sqrt(2 pi)`.
pub(super) const FRAC_1_SQRT_2PI: f64 = 0.398_942_280_401_432_7;

/// T2. Distribution function of the standard normal: `Phi(x) = P(X <= x)`, with relative accuracy in the
/// lower tail.
///
/// ```
/// use tractable::moments::normal::cdf;
/// assert!((cdf(0.0f64) - 0.5).abs() < 1e-15);
/// assert!((cdf(-10.0f64) / 7.619853024160527e-24 - 1.0).abs() < 1e-14);
/// ```
#[inline(always)]
pub fn cdf<R: Real>(x: R) -> R {
    // T2
    let tail = pdf(x) * mills(x.abs().min(R::from_f64(FAR)));
    R::select(x > R::ZERO, R::ONE - tail, tail)
}

/// A `t` at which the density is cut to 0 in either precision, so that nothing further out need be told apart.
pub(super) const FAR: f64 = 64.0;

/// T2, T3, T4. `R`, `G1` and `G2` at once, for `0 <= t < inf`.
///
/// ```
/// use tractable::moments::normal::tails;
/// let far = tails(1e6f64);
/// assert!((far.mills * 1e6 - 1.0).abs() < 1e-11);
/// assert!((far.first * 1e12 - 1.0).abs() < 1e-11);
/// assert!((far.second * 0.5e18 - 1.0).abs() < 1e-11);
/// ```
#[inline(always)]
pub fn tails<R: Real>(t: R) -> Tails<R> {
    let a = t + R::from_f64(3.5);
    let b = t + R::from_f64(1.5);
    let u = (t - R::from_f64(3.5)) / a;
    let w = R::ONE / b;
    let w_squared = w * w;
    let first = R::first_polynomial(u) * w_squared; // T3
    let second = R::second_polynomial(u) * (w_squared * w); // T4
    Tails { mills: second + t * first, first, second } // T2
}

/// T2. Mills' ratio `R(t) = Phi(-t)/phi(t)`, for `0 <= t < inf`.
///
/// ```
/// use tractable::moments::normal::mills;
/// assert!((mills(0.0f64) - 1.2533141373155003).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn mills<R: Real>(t: R) -> R {
    tails(t).mills
}

/// T3. `G1(t) = 1 - t R(t)`, so that `E[max(0, X - t)] = phi(t) G1(t)`, for `0 <= t < inf`.
///
/// ```
/// use tractable::moments::normal::tail_first;
/// assert!((tail_first(0.0f64) - 1.0).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn tail_first<R: Real>(t: R) -> R {
    tails(t).first
}

/// T4. `G2(t) = (1 + t^2) R(t) - t`, so that `E[max(0, X - t)^2] = phi(t) G2(t)`, for `0 <= t < inf`.
///
/// ```
/// use tractable::moments::normal::tail_second;
/// assert!((tail_second(0.0f64) - 1.2533141373155003).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn tail_second<R: Real>(t: R) -> R {
    tails(t).second
}
