//! [`Drift`]: a network whose errors are larger than expected forgets in proportion.

use crate::network::Network;
use crate::output::Surprise;
use tractable_core::error::Result;
use tractable_core::moments::surprise;

/// Rows of the windows whose errors are tested: short ones notice a jump, long ones a slow change.
const WINDOWS: [u32; 4] = [8, 32, 128, 512];
/// A window is surprising if its errors are this many standard deviations above their expected value: by chance, once in 30,000 windows.
const DEVIATIONS: f64 = 4.0;

/// Watches the surprises of a stream, over windows of several lengths.
///
/// ```
/// use tractable::{Activation, Matrix, Network, network::Drift};
/// let mut net = Network::mlp([1, 16, 1], Activation::Tanh).noise_std([0.1]).build()?;
/// let mut drift = Drift::default();
/// let mut forgot = 0;
/// for i in 0..2000 {
///     let x = f64::from(i % 20) / 10.0 - 1.0;
///     let y = if i < 1000 { x } else { -x }; // the world changes
///     let surprise = net.learn_one(&Matrix::column(vec![x])?, &Matrix::column(vec![y])?)?;
///     if drift.follow(&mut net, surprise)? > 1.0 {
///         forgot += 1;
///     }
/// }
/// assert!(forgot > 0);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize))]
pub struct Drift {
    windows: [(Surprise, u32); WINDOWS.len()],
}

impl Drift {
    /// Counts one row. If a window ends and was too surprising, returns the factor on the variance of the weights that
    /// would have made its errors expected (T60), otherwise 1.
    ///
    /// ```
    /// use tractable::network::{Drift, Surprise};
    /// let mut drift = Drift::default();
    /// let row = Surprise { observed: 9.0, expected: 1.0, model: 0.5, var: 2.0 };
    /// let factors: Vec<f64> = (0..8).map(|_| drift.count(row)).collect();
    /// assert_eq!(factors, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 17.0]);
    /// ```
    pub fn count(&mut self, row: Surprise) -> f64 {
        let mut factor = 1.0;
        for ((sum, rows), length) in self.windows.iter_mut().zip(WINDOWS) {
            *sum += row;
            *rows += 1;
            if *rows == length {
                let Surprise { observed, expected, model, var } = std::mem::take(sum);
                *rows = 0;
                if observed > surprise::limit(expected, var, DEVIATIONS) {
                    factor = surprise::factor(observed, expected, model).max(factor);
                }
            }
        }
        if factor > 1.0 {
            // The same surprise must not cause forgetting twice.
            *self = Drift::default();
        }
        factor
    }

    /// Counts one row that the network learned, and makes it [forget](Network::discount) if its errors were too surprising. Returns the
    /// factor on the variance of its weights, 1 if nothing was forgotten.
    ///
    /// # Errors
    /// As for [`Network::discount`].
    pub fn follow(&mut self, net: &mut Network, row: Surprise) -> Result<f64> {
        let factor = self.count(row);
        if factor > 1.0 {
            net.discount(factor)?;
        }
        Ok(factor)
    }
}
