//! Classes as leaves of a binary tree: every node is one output unit, every class a path of turns.

use tractable_core::error::{Error, Result};
use tractable_core::moments::normal;

/// The tree that turns `classes` labels into the units of an output layer and back.
///
/// A class is its index in binary, most significant bit first; a 0 observes +1 at the node, a 1 observes -1.
/// Nodes are numbered level by level, and a label observes only the nodes on its path.
///
/// ```
/// use tractable::network::Tree;
/// let tree = Tree::new(10)?;
/// assert_eq!((tree.nodes(), tree.levels()), (11, 4));
/// assert_eq!(tree.path(9).collect::<Vec<_>>(), [(0, -1.0), (2, 1.0), (5, 1.0), (10, -1.0)]);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tree {
    classes: usize,
    levels: u32,
}

/// Variance of the threshold at every node: `1/alpha^2` with alpha = 3.
pub(super) const THRESHOLD_VAR: f64 = 1.0 / 9.0;

impl Tree {
    /// A tree for `classes` labels, 0 to `classes - 1`.
    ///
    /// ```
    /// assert!(tractable::network::Tree::new(1).is_err());
    /// ```
    pub fn new(classes: usize) -> Result<Self> {
        if !(2..=1 << 24).contains(&classes) {
            return Err(Error::invalid("classes", format!("{classes} is not between 2 and 16777216")));
        }
        Ok(Tree { classes, levels: (classes - 1).ilog2() + 1 })
    }

    /// Number of classes.
    ///
    /// ```
    /// assert_eq!(tractable::network::Tree::new(3)?.classes(), 3);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Turns on the way to a class.
    ///
    /// ```
    /// assert_eq!(tractable::network::Tree::new(100)?.levels(), 7);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn levels(&self) -> usize {
        self.levels as usize
    }

    /// Output units: nodes that lie on the path of some class.
    ///
    /// ```
    /// assert_eq!(tractable::network::Tree::new(5)?.nodes(), 6);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn nodes(&self) -> usize {
        (0..self.levels).map(|level| self.nodes_at(level)).sum()
    }

    /// Nodes on one level: distinct first `level` bits among the classes.
    fn nodes_at(&self, level: u32) -> usize {
        ((self.classes - 1) >> (self.levels - level)) + 1
    }

    /// The nodes on the way to a class, each with the value a label observes there.
    ///
    /// ```
    /// assert_eq!(tractable::network::Tree::new(2)?.path(1).collect::<Vec<_>>(), [(0, -1.0)]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn path(self, class: usize) -> impl Iterator<Item = (usize, f64)> {
        let mut first = 0;
        (0..self.levels).map(move |level| {
            let node = first + (class >> (self.levels - level));
            first += self.nodes_at(level);
            let bit = class >> (self.levels - level - 1) & 1;
            (node, if bit == 0 { 1.0 } else { -1.0 })
        })
    }

    /// Class probabilities from the mean and variance of one sample's output units (T27):
    /// the product of `Phi(+-m/sqrt(1/9 + S))` along the path, divided by the sum over classes, since
    /// leaves without a class would otherwise keep some of it.
    ///
    /// ```
    /// let p = tractable::network::Tree::new(3)?.probabilities(&[2.0, 0.0, 0.0], &[0.1, 1.0, 1.0]);
    /// assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    /// assert!(p[0] > p[2]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn probabilities(&self, mean: &[f64], var: &[f64]) -> Vec<f64> {
        // Each turn once, even if it is on several paths.
        let turns = |(m, v): (&f64, &f64)| [1.0, -1.0].map(|turn| ln_turn(turn, *m, *v));
        let turns: Vec<[f64; 2]> = mean.iter().zip(var).map(turns).collect();
        let of_turn = |(node, turn): (usize, f64)| turns[node][usize::from(turn < 0.0)];
        let logs: Vec<f64> = (0..self.classes).map(|c| self.path(c).map(of_turn).sum()).collect();
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut p: Vec<f64> = logs.iter().map(|l| (l - largest).exp()).collect();
        let sum: f64 = p.iter().sum();
        p.iter_mut().for_each(|p| *p /= sum);
        p
    }

    /// Logarithm of the product along the path of a class, not normalised.
    #[cfg(feature = "verify")]
    pub(crate) fn ln_path(&self, class: usize, mean: &[f64], var: &[f64]) -> f64 {
        self.path(class).map(|(node, turn)| ln_turn(turn, mean[node], var[node])).sum()
    }

    /// T38. The gradient of `ln P(class)` by the means of the nodes, at constant variances: the sum over the other
    /// classes of `P(other)` times what the path of `class` has more than theirs, where a path adds
    /// `turn/s phi(h)/Phi(h)` at each of its nodes, `h = turn m/s`, `s = sqrt(1/9 + S)`.
    ///
    /// ```
    /// let tree = tractable::network::Tree::new(3)?;
    /// let slope = tree.ln_gradient(1, &[0.2, -0.1, 0.3], &[0.1; 3]);
    /// assert_eq!(slope.len(), tree.nodes());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn ln_gradient(&self, class: usize, mean: &[f64], var: &[f64]) -> Vec<f64> {
        let p = self.probabilities(mean, var);
        let others: f64 = (0..self.classes).filter(|&k| k != class).map(|k| p[k]).sum();
        let mut gradient = vec![0.0; mean.len()];
        for (k, p) in p.into_iter().enumerate() {
            // Not 1 - P(class), which would lose its digits where the network is sure.
            let share = if k == class { others } else { -p };
            for (node, turn) in self.path(k) {
                let s = (THRESHOLD_VAR + var[node]).sqrt();
                gradient[node] += share * turn / s * hazard(turn * mean[node] / s); // T38
            }
        }
        gradient
    }

    /// Writes what a label observes: `y` and `seen`, one entry a node.
    pub(crate) fn observe(&self, class: usize, y: &mut [f64], seen: &mut [bool]) {
        y.fill(0.0);
        seen.fill(false);
        for (node, turn) in self.path(class) {
            y[node] = turn;
            seen[node] = true;
        }
    }
}

/// `phi(h)/Phi(h)`, the derivative of `ln Phi(h)`.
fn hazard(h: f64) -> f64 {
    if h < 0.0 { 1.0 / normal::mills(-h) } else { normal::pdf(h) / normal::cdf(h) }
}

/// Logarithm of the probability of a turn at a node.
fn ln_turn(turn: f64, mean: f64, var: f64) -> f64 {
    ln_cdf(turn * mean / (THRESHOLD_VAR + var).sqrt())
}

/// Logarithm of the standard normal's cumulative probability; far in the tail, of its leading term. Always
/// finite, so that classes that are all impossible can still be compared.
fn ln_cdf(x: f64) -> f64 {
    if x > -30.0 {
        normal::cdf(x).ln()
    } else {
        (-0.5 * x * x - (-x).ln() - 0.5 * (2.0 * std::f64::consts::PI).ln()).max(-1e300)
    }
}

#[cfg(test)]
mod tests {
    use super::{hazard, ln_cdf};

    /// Against the series for the tail, `Phi(-x) = phi(x)/x (1 - 1/x^2 + 3/x^4 - ...)`.
    #[test]
    fn tails_have_their_logarithms_and_slopes() {
        for x in [31.0, 40.0, 1e3, 1e10f64] {
            let series = 1.0 - x.powi(-2) + 3.0 * x.powi(-4) - 15.0 * x.powi(-6);
            let ln_phi = -0.5 * x * x - 0.5 * std::f64::consts::TAU.ln();
            let exact = ln_phi - x.ln() + series.ln();
            // The leading term is 1/x^2 off.
            assert!((ln_cdf(-x) - exact).abs() <= 1.1 * x.powi(-2) + 1e-16 * exact.abs(), "{x}");
            assert!((hazard(-x) / (x / series) - 1.0).abs() < 1e-6, "{x}");
        }
        assert_eq!(ln_cdf(-1e200), -1e300);
        assert!((ln_cdf(0.0) + std::f64::consts::LN_2).abs() < 1e-15);
        assert!((hazard(0.0) - (2.0 / std::f64::consts::PI).sqrt()).abs() < 1e-15);
        assert!(hazard(40.0) == 0.0 && ln_cdf(40.0) == 0.0);
    }
}
