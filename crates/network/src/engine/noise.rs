//! Inference of the noise while a network learns.

use tractable_devices::{NoiseSums, UpdateRule};

/// Noise variance of every output, and how many entries it was learned from.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct InferredNoise {
    pub(crate) var: Vec<f64>,
    pub(crate) rows: Vec<f64>,
}

/// Rows that noise remembers if the update rule does not count rows.
const NOISE_MEMORY: f64 = 4096.0;
/// Minimum noise: the resolution of single precision for standardised targets.
const LEAST_NOISE: f64 = 1e-12;

impl InferredNoise {
    /// Rows that count: those before are forgotten little by little.
    pub(crate) fn memory(rule: UpdateRule) -> f64 {
        match rule {
            UpdateRule::Counted { rows, .. } | UpdateRule::Paced { rows, .. } => rows as f64,
            _ => NOISE_MEMORY,
        }
    }

    /// T43. Running average of the squares so far, of the last rows if there are many. The initial value counts as one row.
    pub(super) fn follow(&mut self, sums: &NoiseSums, rule: UpdateRule) {
        let memory = Self::memory(rule);
        let seen = sums.squares.iter().zip(&sums.count);
        for ((var, rows), (square, &count)) in self.var.iter_mut().zip(&mut self.rows).zip(seen) {
            let gain = (count / (*rows + count + 1.0)).max((count / memory).min(1.0));
            let next = *var + gain * (square / count - *var);
            if next.is_finite() {
                // A file holds the standard deviation: go on from its square.
                *var = next.max(LEAST_NOISE).sqrt().powi(2);
                *rows += count;
            }
        }
    }
}
