//! The variance of a class prediction, in the space of class probabilities: model uncertainty and
//! label noise.

use super::Tree;
use super::classes::THRESHOLD_VAR;
use tractable_core::moments::normal;

/// The variance of a class prediction, in two parts. Made by [`ClassUnits::spread`](super::ClassUnits::spread).
///
/// ```
/// use tractable::network::Tree;
/// let tree = Tree::new(2)?;
/// let unsure_of_itself = tree.spread(&[0.0], &[100.0]);
/// let sure_of_a_coin = tree.spread(&[0.0], &[0.0]);
/// assert!(unsure_of_itself.model > 0.4 && unsure_of_itself.noise < 0.1);
/// assert!(sure_of_a_coin.model == 0.0 && sure_of_a_coin.noise == 0.5);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize))]
pub struct Spread {
    /// Variance of the class probabilities under the network's own uncertainty, summed over the classes.
    pub model: f64,
    /// Expected variance of the label itself, if the network's output were known.
    pub noise: f64,
}

impl Spread {
    /// Variance of the label, one-hot and summed over the classes: both parts.
    ///
    /// ```
    /// let spread = tractable::network::Tree::new(2)?.spread(&[0.0], &[0.3]);
    /// assert!((spread.total() - 0.5).abs() < 1e-15);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn total(&self) -> f64 {
        self.model + self.noise
    }
}

impl Tree {
    /// The variance of the prediction with these output units (T37). Given the units, class `k` has the
    /// probability `p_k = prod Phi(+-3 a)` along its path, not divided by the sum; the units being Gaussian and
    /// independent, by the law of total variance
    ///
    /// ```text
    /// sum E[p_k](1 - E[p_k])  =  sum var[p_k]  +  sum E[p_k (1 - p_k)]
    ///        total                  model            noise
    /// ```
    ///
    /// The variance of the units themselves says little: it is largest where the activations are large, not where
    /// the class is uncertain.
    ///
    /// ```
    /// let spread = tractable::network::Tree::new(3)?.spread(&[2.0, 0.0, 1.0], &[0.1, 1.0, 0.5]);
    /// assert!(spread.model > 0.0 && spread.noise > 0.0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn spread(&self, mean: &[f64], var: &[f64]) -> Spread {
        // Each turn once, even if it is on several paths.
        let turns: Vec<[(f64, f64); 2]> = mean.iter().zip(var).map(|(&m, &v)| both_turns(m, v)).collect();
        let (mut model, mut noise) = (0.0, 0.0);
        for class in 0..self.classes() {
            let (mut first, mut second) = (1.0, 1.0);
            for (node, turn) in self.path(class) {
                let (p, p2) = turns[node][usize::from(turn < 0.0)];
                first *= p;
                second *= p2;
            }
            model += (second - first * first).max(0.0);
            noise += (first - second).max(0.0);
        }
        Spread { model, noise }
    }
}

/// `E[Phi(3 a)]` and `E[Phi(3 a)^2]` for `a ~ N(mean, var)`, and for `-a` (T37): with `h = mean/sqrt(1/9 + var)`,
///
/// ```text
/// E[Phi] = Phi(h)      E[Phi^2] = Phi(h) - 2 T(h, 1/sqrt(1 + 18 var)),    T Owen's function
/// ```
fn both_turns(mean: f64, var: f64) -> [(f64, f64); 2] {
    let h = mean / (THRESHOLD_VAR + var).sqrt();
    [h, -h].map(|h| {
        let p = normal::cdf(h);
        (p, second_moment(p, h, var / THRESHOLD_VAR))
    })
}

/// `E[Phi(u)^2]` for a normal `u` of this variance, `E[Phi(u)] = p = Phi(h)`.
pub(super) fn second_moment(p: f64, h: f64, var: f64) -> f64 {
    // A square's mean is never below the mean's square, nor above the mean of a number from 0 to 1.
    (p - 2.0 * owen(h, 1.0 / (1.0 + 2.0 * var).sqrt())).clamp(p * p, p)
}

/// Owen's function, `1/(2 pi) int_0^a exp(-h^2 (1 + x^2)/2)/(1 + x^2) dx` for `0 <= a <= 1`, by ten points of
/// Gauss and Legendre on each half of what matters: to 1e-13.
fn owen(h: f64, a: f64) -> f64 {
    // Beyond this the integrand is below exp(-40) of its start.
    let end = a.min(9.0 / h.abs().max(1e-300));
    let term = |x: f64| (-0.5 * h * h * (1.0 + x * x)).exp() / (1.0 + x * x);
    let piece = |from: f64, to: f64| -> f64 {
        let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
        let sum = GAUSS.iter().map(|&(x, w)| w * (term(middle - half * x) + term(middle + half * x)));
        half * sum.sum::<f64>()
    };
    (piece(0.0, 0.5 * end) + piece(0.5 * end, end)) / std::f64::consts::TAU
}

/// Places and weights of the ten-point rule, the positive half.
#[allow(clippy::excessive_precision)] // as tabulated
const GAUSS: [(f64, f64); 5] = [
    (0.148874338981631211, 0.295524224714752870),
    (0.433395394129247191, 0.269266719309996355),
    (0.679409568299024406, 0.219086362515982044),
    (0.865063366688984511, 0.149451349150580593),
    (0.973906528517171720, 0.066671344308688138),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// `E[Phi(3 a)^2]` by summing over a fine grid.
    fn by_sum(mean: f64, var: f64) -> f64 {
        let (steps, std) = (40_000, var.sqrt());
        let step = 16.0 / steps as f64;
        (0..steps)
            .map(|i| {
                let z = -8.0 + (i as f64 + 0.5) * step;
                normal::cdf(3.0 * (mean + std * z)).powi(2) * normal::pdf(z) * step
            })
            .sum()
    }

    #[test]
    fn second_moments_of_a_turn_are_exact() {
        for mean in [0.0, 0.01, 0.3, -0.3, 1.0, -1.0, 3.0, -5.0, 20.0] {
            for var in [1e-6, 0.01, 0.1, 1.0, 10.0, 1e3] {
                let [(p, second), _] = both_turns(mean, var);
                let expected = by_sum(mean, var);
                assert!((second - expected).abs() < 1e-12, "{mean}, {var}: {second}, {expected}");
                assert!(p * p <= second && second <= p);
            }
            // A known unit: the square itself.
            let [(p, second), _] = both_turns(mean, 0.0);
            assert!((second - p * p).abs() < 1e-13, "{mean}: {second}, {p}");
        }
    }

    #[test]
    fn spreads_add_up_and_grow_with_ignorance() {
        let tree = Tree::new(10).unwrap();
        let mean: Vec<f64> = (0..11).map(|i| (i as f64 * 0.9).sin()).collect();
        let mut last = -1.0;
        for var in [0.0, 0.01, 0.1, 1.0, 10.0] {
            let spread = tree.spread(&mean, &[var; 11]);
            let p = |k| tree.path(k).map(|(n, t)| normal::cdf(t * mean[n] / (THRESHOLD_VAR + var).sqrt()));
            let total: f64 = (0..10).map(|k| p(k).product::<f64>()).map(|p| p * (1.0 - p)).sum();
            assert!((spread.total() - total).abs() < 1e-13);
            assert!(spread.model > last);
            last = spread.model;
        }
    }
}
