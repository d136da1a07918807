//! Derivatives with uncertainty: the moments of `phi'(Z)`, and one branch of the chain rule.
//!
//! `D_j = d(output)/d(z_j)` is a product of weights and slopes along every path from unit `j` to the output. It is built
//! from the output down, one layer at a time: a [`UnitDerivative`] holds what the layer above passes on, a branch runs from
//! unit `j` through the weight `w` to unit `i` above it, and branches are treated as independent. Slopes of
//! neighbouring layers are correlated, because both depend on the lower one's units; layers farther apart are treated
//! as independent.

use super::posterior::REPAIR;
use super::{Activation, Moments, Real};

/// The moments of the slope `phi'(Z)` of an activation, `Z ~ N(mu_z, var_z)`.
///
/// ```
/// use tractable::Activation;
/// let z = (0.4, 0.05);
/// let a = Activation::Tanh.moments(z.0, z.1);
/// let c = Activation::Tanh.curve(z.0, z.1, a);
/// assert!((c.var - 0.02380_f64).abs() < 1e-4); // Monte Carlo says 0.0238
/// assert!(c.bend < 0.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Curve<R> {
    /// `E[phi'(Z)]`.
    pub mean: R,
    /// `var[phi'(Z)]`.
    pub var: R,
    /// `E[phi''(Z)]`: `cov(phi'(Z), X) = bend cov(Z, X)` for whatever is Gaussian together with `Z`.
    pub bend: R,
    /// `E[phi'''(Z)]/2` with the activation linearised, the next term: `cov(phi'(Z), phi'(Y)) = bend bend' c + 2 twist twist' c^2`, `c = cov(Z, Y)`.
    pub twist: R,
}

impl<R: Real> Curve<R> {
    /// T28. A constant slope, as for ReLU and the identity: no variance, no bend.
    ///
    /// ```
    /// # use tractable::moments::derivative::Curve;
    /// assert_eq!(Curve::straight(0.5).bend, 0.0);
    /// ```
    #[inline(always)]
    pub fn straight(slope: R) -> Self {
        Curve { mean: slope, var: R::ZERO, bend: R::ZERO, twist: R::ZERO } // T28
    }

    /// T29. `phi' = c0 + c1 U + c2 U^2` with `U ~ N(mean, slope^2 var_z)`, `slope = cov(U, Z)/var_z`; `straight` is
    /// `c0 + c1 mean + c2 mean^2`, the slope at the mean, which an activation knows to more digits.
    ///
    /// ```
    /// # use tractable::moments::derivative::Curve;
    /// let tanh = Curve::square(1.0 - 0.25, 0.0, -1.0, 0.5, 0.75, 0.1_f64); // at tanh z = 0.5
    /// assert!((tanh.mean - (0.75 - 0.75 * 0.75 * 0.1)).abs() < 1e-15);
    /// assert_eq!(tanh.bend, -2.0 * 0.5 * 0.75);
    /// ```
    #[inline(always)]
    pub fn square(straight: R, c1: R, c2: R, mean: R, slope: R, var_z: R) -> Self {
        // T29
        let two = R::from_f64(2.0);
        let var = slope * slope * var_z;
        let rate = c1 + two * c2 * mean;
        Curve {
            mean: straight + c2 * var,
            var: var * (rate * rate + two * c2 * c2 * var),
            bend: rate * slope,
            twist: c2 * slope * slope,
        }
    }
}

/// What a derivative needs of a unit.
///
/// ```
/// # use tractable::moments::derivative::{Curve, Unit};
/// let input = Unit { curve: Curve::straight(1.0), mu_a: 0.3, cov_az: 0.01, var_z: 0.01 };
/// assert_eq!(input.curve.mean, 1.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Unit<R> {
    /// Of its activation.
    pub curve: Curve<R>,
    /// Mean of the activation.
    pub mu_a: R,
    /// `cov(a, z) = slope var_z`.
    pub cov_az: R,
    /// Variance of the pre-activation.
    pub var_z: R,
}

impl<R: Real> Unit<R> {
    /// From the moments of `z` and of its activation.
    ///
    /// ```
    /// # use tractable::{Activation, moments::derivative::Unit};
    /// let a = Activation::Tanh.moments(0.5, 0.01);
    /// let unit = Unit::new(Activation::Tanh, 0.5, 0.01, a);
    /// assert_eq!((unit.mu_a, unit.cov_az), (a.mean, a.slope * 0.01));
    /// ```
    #[inline(always)]
    pub fn new(activation: Activation, mu_z: R, var_z: R, a: Moments<R>) -> Self {
        Unit { curve: activation.curve(mu_z, var_z, a), mu_a: a.mean, cov_az: a.slope * var_z, var_z }
    }
}

/// Which slopes of neighbouring layers are treated as correlated.
///
/// ```
/// assert_eq!(tractable::condition::Gate::default(), tractable::condition::Gate::Both);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Gate {
    /// If the activations of both layers are curved: the correct rule.
    #[default]
    Both,
    /// If that of the lower layer is curved: as in the authors' code. It adds a covariance with constant slopes,
    /// such as ReLU's, and treats them as slopes of the lower layer's activation.
    Input,
}

impl Gate {
    /// `[bend, pair, twist]` of a unit in [`UnitDerivative::add`]: `bend` goes with the weight below it, `pair` and `twist` with
    /// the slopes of the layer `below`. `a` are the moments of the unit's activation.
    ///
    /// ```
    /// # use tractable::{Activation, condition::Gate, moments::derivative::Unit};
    /// let a = Activation::Relu.moments(0.5, 0.01);
    /// let unit = Unit::new(Activation::Relu, 0.5, 0.01, a);
    /// assert_eq!(Gate::Both.factors(Activation::Tanh, &unit, a), [0.0, 0.0, 0.0]);
    /// assert_eq!(Gate::Input.factors(Activation::Tanh, &unit, a), [0.0, -2.0 * 0.5, -1.0]);
    /// ```
    #[inline(always)]
    pub fn factors<R: Real>(self, below: Activation, unit: &Unit<R>, a: Moments<R>) -> [R; 3] {
        let own = unit.curve;
        match (self, below) {
            (Gate::Both, _) => [own.bend, own.bend, own.twist],
            (Gate::Input, Activation::Tanh | Activation::Sigmoid) => {
                let as_below = below.curve(R::ZERO, unit.var_z, a);
                [own.bend, as_below.bend, as_below.twist]
            }
            (Gate::Input, _) => [own.bend, R::ZERO, R::ZERO],
        }
    }
}

/// The derivative of the output with respect to one unit's pre-activation, as a sum over the branches that leave the unit, and
/// what the layer below needs from it.
///
/// ```
/// # use tractable::moments::derivative::{Curve, UnitDerivative, Unit};
/// let unit = Unit { curve: Curve::straight(1.0), mu_a: 0.3, cov_az: 0.01, var_z: 0.01 };
/// let output = UnitDerivative::output(&unit, 1.0); // the output itself
/// let mut node = UnitDerivative::default();
/// node.add(2.0, 0.1, &unit, &output, [0.0; 3]); // one weight of 2, variance 0.1
/// assert_eq!((node.mean, node.var, node.cov), (2.0, 0.1, 0.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct UnitDerivative<R> {
    /// Mean of the derivative.
    pub mean: R,
    /// Variance of the derivative.
    pub var: R,
    /// Covariance of the derivative with the unit's `z`.
    pub cov: R,
    /// Mean of the derivative without the unit's own slope, that is with respect to its activation.
    pub rest: R,
    /// Sum of the squared means of the branches.
    pub mean_mean: R,
    /// Sum of mean times rest of the branches.
    pub mean_rest: R,
    /// Sum of the squared rests of the branches.
    pub rest_rest: R,
}

impl<R: Real> UnitDerivative<R> {
    /// T30. The derivative of the output with respect to its own pre-activation, its slope; `chosen` is 1 for the
    /// differentiated output, 0 for the others.
    ///
    /// ```
    /// # use tractable::moments::derivative::{Curve, UnitDerivative, Unit};
    /// let unit = Unit { curve: Curve::straight(1.0), ..Unit::default() };
    /// assert_eq!(UnitDerivative::output(&unit, 1.0).mean, 1.0);
    /// ```
    #[inline(always)]
    pub fn output(unit: &Unit<R>, chosen: R) -> Self {
        // T30
        let mean = unit.curve.mean * chosen;
        UnitDerivative {
            mean,
            var: unit.curve.var * chosen,
            cov: unit.curve.bend * unit.var_z * chosen,
            rest: chosen,
            mean_mean: mean * mean,
            mean_rest: mean * chosen,
            rest_rest: chosen * chosen,
        }
    }

    /// T31. Adds the branch through the weight `w ~ N(mu_w, var_w)` to a unit `above`, whose derivative is known.
    ///
    /// With `p = mu_w E[phi'_j]`, `s = var[w phi'_j]`, `K = cov(phi'_i, w phi'_j)` and the parts `M`, `V`, `R` (rest),
    /// `q1` to `q3` (the sums of squares) of the node above:
    ///
    /// ```text
    /// mean = p M + K R              rest = mu_w M
    /// var  = s V + V p^2 + s q1 + K^2 q3 + 2 K p q2
    /// cov  = bend_i mu_w cov(a_j, z_j) p R + bend_j var(z_j) mu_w M
    /// K    = bend_i var_w mu_a_j E[phi'_j] + (pair_i bend_j c + 2 twist_i twist_j c^2) mu_w,   c = mu_w cov(a_j, z_j)
    /// ```
    ///
    /// `[bend_i, pair_i, twist_i]` are those of the unit above: see [`Gate::factors`].
    ///
    /// ```
    /// # use tractable::moments::derivative::{Curve, UnitDerivative, Unit};
    /// let unit = Unit { curve: Curve::straight(1.0), mu_a: 0.3, cov_az: 0.5, var_z: 0.5 };
    /// let above = UnitDerivative { mean: 2.0, rest: 4.0, ..UnitDerivative::default() };
    /// let mut node = UnitDerivative::default();
    /// node.add(3.0, 0.0, &unit, &above, [-0.1, 0.0, 0.0]);
    /// assert_eq!(node.cov, -0.1 * 3.0 * 0.5 * 3.0 * 4.0);
    /// ```
    #[inline(always)]
    pub fn add(
        &mut self,
        mu_w: R,
        var_w: R,
        unit: &Unit<R>,
        above: &UnitDerivative<R>,
        [bend, pair, twist]: [R; 3],
    ) {
        // T31
        let two = R::from_f64(2.0);
        let slope = unit.curve;
        let c = mu_w * unit.cov_az;
        let p = mu_w * slope.mean;
        let s = var_w * (slope.var + slope.mean * slope.mean) + slope.var * mu_w * mu_w;
        let slopes = pair * slope.bend * c + two * twist * slope.twist * c * c;
        let k = bend * var_w * unit.mu_a * slope.mean + slopes * mu_w;
        let (mean, rest) = (p * above.mean + k * above.rest, mu_w * above.mean);
        self.mean += mean;
        self.rest += rest;
        self.var += s * (above.var + above.mean_mean)
            + p * p * above.var
            + k * (k * above.rest_rest + two * p * above.mean_rest);
        self.cov += bend * c * p * above.rest + slope.bend * unit.var_z * rest;
        self.mean_mean += mean * mean;
        self.mean_rest += mean * rest;
        self.rest_rest += rest * rest;
    }
}

/// T31. The variance of a derivative after all of its branches: 0 where their sum is negative, which counting them as
/// independent does not forbid by itself. What is not a number stays so.
///
/// ```
/// use tractable::moments::derivative::repaired;
/// assert_eq!((repaired(0.5), repaired(-0.5)), (0.5, 0.0));
/// assert!(repaired(f32::NAN).is_nan());
/// ```
#[inline(always)]
pub fn repaired<R: Real>(var: R) -> R {
    R::select(var < R::ZERO, R::ZERO, var) // T31
}

/// T33. Conditions a unit on a derivative of zero: the posterior minus the prior of its mean and
/// variance, given the derivative's mean, variance (noise included) and covariance with the unit.
///
/// `towards` is 0 for the plain posterior, 1 to climb to a maximum, -1 to descend to a minimum.
///
/// ```
/// use tractable::moments::derivative::stationary;
/// assert_eq!(stationary(2.0, 4.0, 1.0, 0.0), (-0.5, -0.25)); // a minimum lies to the left
/// assert_eq!(stationary(2.0, 4.0, 1.0, 1.0), (0.5, -0.25)); // uphill
/// assert_eq!(stationary(2.0, 0.0, 0.0, 0.0), (0.0, 0.0)); // nothing is uncertain, nothing can move
/// ```
#[inline(always)]
pub fn stationary<R: Real>(mean: R, var: R, cov: R, towards: R) -> (R, R) {
    // T33
    let gain = R::select(var > R::ZERO, cov / var, R::ZERO);
    let plain = -gain * mean;
    let size = plain.abs() * towards;
    let directed = R::select(mean < R::ZERO, -size, size);
    (R::select(towards == R::ZERO, plain, directed), -gain * cov)
}

/// T34. The variance after [`stationary`]: `var + d_var`, but at least a thousandth of its old value, because
/// `var` and `cov` are approximate.
///
/// ```
/// use tractable::moments::derivative::shrunk;
/// assert_eq!(shrunk(1.0, -0.25), 0.75);
/// assert_eq!(shrunk(1.0, -2.0), 1.0 / 1024.0);
/// ```
#[inline(always)]
pub fn shrunk<R: Real>(var: R, d_var: R) -> R {
    (var + d_var).max(var * R::from_f64(REPAIR)) // T34
}
