//! The scalar the maths is written for: [`Real`], implemented by `f32` (fast, vectorisable) and `f64` (the oracle).

use super::tables::{self, Tables};
use core::fmt::Debug;
use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// A floating-point scalar: `f32` or `f64`, and nothing else (the trait is sealed).
///
/// Every method is inlined and, for `f32`, free of branches and library calls, so that a plain loop over a
/// slice is vectorised by the compiler, whatever instruction set the enclosing function was compiled for. No
/// method fuses a multiplication with an addition: results are bit-identical on every CPU.
///
/// NaN propagates: no function of [`super`] turns a NaN mean into a number.
///
/// ```
/// use tractable::moments::Real;
/// fn logistic<R: Real>(x: R) -> R {
///     R::ONE / (R::ONE + (-x).exp())
/// }
/// assert_eq!(logistic(0.0f32), 0.5);
/// assert_eq!(logistic(0.0f64), 0.5);
/// ```
pub trait Real:
    Tables
    + Copy
    + PartialEq
    + PartialOrd
    + Debug
    + Default
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// 1/2.
    const HALF: Self;
    /// The gap between 1 and the next larger number.
    const EPSILON: Self;
    /// The smallest positive normal number.
    const MIN_POSITIVE: Self;
    /// The largest `h` for which [`exp_cut`](Real::exp_cut)`(h, _)` is not 0: 60 for `f32`, 700 for `f64`.
    const EXP_CUT: Self;

    /// Rounded to the nearest number of this type.
    ///
    /// ```
    /// use tractable::moments::Real;
    /// assert_eq!(f32::from_f64(0.1), 0.1f32);
    /// ```
    fn from_f64(x: f64) -> Self;

    /// The same number as an `f64`, exactly.
    ///
    /// ```
    /// use tractable::moments::Real;
    /// assert_eq!(0.5f32.to_f64(), 0.5);
    /// ```
    fn to_f64(self) -> f64;

    /// Square root, correctly rounded.
    ///
    /// ```
    /// use tractable::moments::Real;
    /// assert_eq!(Real::sqrt(9.0f32), 3.0);
    /// ```
    fn sqrt(self) -> Self;

    /// Absolute value.
    ///
    /// ```
    /// use tractable::moments::Real;
    /// assert_eq!(Real::abs(-9.0f32), 9.0);
    /// ```
    fn abs(self) -> Self;

    /// True unless infinite or NaN.
    ///
    /// ```
    /// use tractable::moments::Real;
    /// assert!(!Real::is_finite(f32::NAN));
    /// ```
    fn is_finite(self) -> bool;

    /// `exp(x)`, within 1.5 units in the last place. `f32`: 0 for `x < -86.9` (so that
    /// no denormal number comes out), infinity where it would overflow.
    ///
    /// ```
    /// use tractable::moments::Real;
    /// assert_eq!(Real::exp(0.0f32), 1.0);
    /// assert_eq!(Real::exp(-100.0f32), 0.0);
    /// ```
    fn exp(self) -> Self;

    /// `exp(x) - 1` with relative accuracy near 0. Domain `x <= 88` for `f32` (above, it stays at the value
    /// for 88), all of `f64`.
    ///
    /// ```
    /// use tractable::moments::Real;
    /// assert_eq!(Real::exp_m1(1e-20f32), 1e-20);
    /// ```
    fn exp_m1(self) -> Self;

    /// `ln(1 + x)` with relative accuracy near 0. Domain: `0 <= x <= 1`.
    ///
    /// ```
    /// use tractable::moments::Real;
    /// assert_eq!(Real::ln_1p(1e-20f32), 1e-20);
    /// ```
    fn ln_1p(self) -> Self;

    /// `exp(-(h + low))` for `h >= 0` and a small correction `low` of it, and exactly 0 where
    /// `h > `[`EXP_CUT`](Real::EXP_CUT), whatever `low` is.
    ///
    /// The correction is what makes `exp(-t^2/2)` accurate for large `t`, where half a unit in the last place of
    /// the exponent is many in the result. The cut keeps products with the result out of the denormal numbers,
    /// which are slow on many CPUs.
    ///
    /// ```
    /// use tractable::moments::Real;
    /// assert!((Real::exp_cut(18.0f32, 1e-7) as f64 / (-18.0 - 1e-7f64).exp() - 1.0).abs() < 1e-7);
    /// assert_eq!(Real::exp_cut(61.0f32, f32::NAN), 0.0);
    /// ```
    fn exp_cut(h: Self, low: Self) -> Self;

    /// The leading half of the significant digits: `x = high + low` exactly, and `high * high` is exact.
    ///
    /// ```
    /// use tractable::moments::Real;
    /// let (high, low) = (0.1f32.high_half(), 0.1f32 - 0.1f32.high_half());
    /// assert!(high + low == 0.1 && low < 0.1 / 2048.0);
    /// ```
    fn high_half(self) -> Self;

    /// `if condition { a } else { b }` for values that are already there: no branch is meant.
    ///
    /// ```
    /// use tractable::moments::Real;
    /// assert_eq!(f32::select(true, 1.0, 2.0), 1.0);
    /// ```
    #[inline(always)]
    fn select(condition: bool, a: Self, b: Self) -> Self {
        if condition { a } else { b }
    }

    /// The larger of two numbers; `self` where either is NaN.
    ///
    /// ```
    /// use tractable::moments::Real;
    /// assert_eq!(Real::max(1.0f32, 2.0), 2.0);
    /// ```
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if self < other { other } else { self }
    }

    /// The smaller of two numbers; `self` where either is NaN.
    ///
    /// ```
    /// use tractable::moments::Real;
    /// assert_eq!(Real::min(1.0f32, 2.0), 1.0);
    /// ```
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if self > other { other } else { self }
    }
}

/// Adding and subtracting `1.5 * 2^23` rounds to the nearest whole number; the sum's low bits are that number.
const ROUND: f32 = 12_582_912.0;
/// ln 2 = `LN2_HIGH + LN2_LOW`; the high part has 9 significant bits, so `n * LN2_HIGH` is exact for `|n| <= 128`.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;

/// `x + low = n ln 2 + r`: returns the bits of `n + ROUND` and `exp(r) - 1`.
#[inline(always)]
fn reduce(x: f32, low: f32) -> (u32, f32) {
    let shifted = x * core::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = ((x - n * LN2_HIGH) - n * LN2_LOW) + low;
    (shifted.to_bits(), r + r * r * tables::exp_m1_rest(r))
}

/// `2^n` for `-126 <= n <= 127`, from the bits of `n + ROUND`: the shift leaves only `n`, modulo 2^9.
#[inline(always)]
fn power_of_two(n_bits: u32) -> f32 {
    f32::from_bits(n_bits.wrapping_shl(23).wrapping_add(1.0f32.to_bits()))
}

impl Real for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    const HALF: f32 = 0.5;
    const EPSILON: f32 = f32::EPSILON;
    const MIN_POSITIVE: f32 = f32::MIN_POSITIVE;
    const EXP_CUT: f32 = 60.0;

    #[inline(always)]
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn sqrt(self) -> f32 {
        f32::sqrt(self)
    }
    #[inline(always)]
    fn abs(self) -> f32 {
        f32::abs(self)
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }

    #[inline(always)]
    fn exp(self) -> f32 {
        // Between these n lies in -125..=128, so 2^(n-1) is a normal number.
        const LOW: f32 = -86.9;
        const HIGH: f32 = 88.722_83; // ln of the largest number
        let x = Real::min(Real::max(self, LOW), HIGH);
        let (n_bits, p) = reduce(x, 0.0);
        let y = (1.0 + p) * power_of_two(n_bits.wrapping_sub(1)) * 2.0;
        let y = f32::select(self < LOW, 0.0, y);
        f32::select(self > HIGH, f32::INFINITY, y)
    }

    #[inline(always)]
    fn exp_m1(self) -> f32 {
        let x = Real::min(Real::max(self, -86.9), 88.0);
        let (n_bits, p) = reduce(x, 0.0);
        let two_n = power_of_two(n_bits);
        two_n * p + (two_n - 1.0)
    }

    #[inline(always)]
    fn ln_1p(self) -> f32 {
        let s = self / (2.0 + self); // ln(1 + x) = 2 atanh(x/(2 + x))
        let z = s * s;
        2.0 * s + s * z * tables::atanh_rest(z)
    }

    #[inline(always)]
    fn exp_cut(h: f32, low: f32) -> f32 {
        let x = Real::max(-h, -f32::EXP_CUT);
        let (n_bits, p) = reduce(x, -low);
        f32::select(h > f32::EXP_CUT, 0.0, (1.0 + p) * power_of_two(n_bits))
    }

    #[inline(always)]
    fn high_half(self) -> f32 {
        f32::from_bits(self.to_bits() & 0xFFFF_F000)
    }
}

impl Real for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    const HALF: f64 = 0.5;
    const EPSILON: f64 = f64::EPSILON;
    const MIN_POSITIVE: f64 = f64::MIN_POSITIVE;
    const EXP_CUT: f64 = 700.0;

    #[inline(always)]
    fn from_f64(x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn abs(self) -> f64 {
        f64::abs(self)
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
    #[inline(always)]
    fn exp(self) -> f64 {
        libm::exp(self)
    }
    #[inline(always)]
    fn exp_m1(self) -> f64 {
        libm::expm1(self)
    }
    #[inline(always)]
    fn ln_1p(self) -> f64 {
        libm::log1p(self)
    }
    #[inline(always)]
    fn exp_cut(h: f64, low: f64) -> f64 {
        f64::select(h > f64::EXP_CUT, 0.0, libm::exp(-h) * libm::exp(-low))
    }
    #[inline(always)]
    fn high_half(self) -> f64 {
        f64::from_bits(self.to_bits() & 0xFFFF_FFFF_F800_0000)
    }
}
