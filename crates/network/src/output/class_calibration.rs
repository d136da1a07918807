//! Calibrating class probabilities: sharpened or flattened to maximise the likelihood of left-out labels.

/// How probabilities are changed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct ClassCalibration {
    /// Probabilities are raised to the power of one over this: above 1 they become more equal.
    temperature: f64,
    /// Share spread evenly over all classes: the model may be confident and wrong.
    even: f64,
}

impl Default for ClassCalibration {
    fn default() -> Self {
        ClassCalibration { temperature: 1.0, even: 0.0 }
    }
}

const EVEN: [f64; 7] = [1e-6, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1];
const LEAST: f64 = 1e-300;

impl ClassCalibration {
    /// The calibration that maximises the likelihood of the labels, and the log-likelihood; `p` has a row for each.
    pub fn fit(p: &[f64], labels: &[usize]) -> (Self, f64) {
        if labels.is_empty() {
            return (ClassCalibration::default(), 0.0);
        }
        let classes = p.len() / labels.len();
        let ln_likelihood = |tried: &ClassCalibration| {
            let of = |(row, &label): (&[f64], &usize)| libm::log(tried.of(row)[label]);
            p.chunks_exact(classes).zip(labels).map(of).sum::<f64>() + tried.ln_prior()
        };
        let (mut best, mut highest) = (ClassCalibration::default(), f64::NEG_INFINITY);
        let mut consider = |tried: ClassCalibration| {
            let sum = ln_likelihood(&tried);
            if sum > highest {
                (best, highest) = (tried, sum);
            }
            best
        };
        for k in -20..=20 {
            let temperature = libm::exp(0.08 * f64::from(k));
            for even in EVEN {
                consider(ClassCalibration { temperature, even });
            }
        }
        // Between the grid steps: a temperature that is off by 4 % changes confidences by a percent.
        for step in [0.02, 0.005] {
            let at = consider(ClassCalibration::default());
            for k in -4..=4 {
                consider(ClassCalibration {
                    temperature: at.temperature * libm::exp(step * f64::from(k)),
                    ..at
                });
            }
        }
        (best, highest)
    }

    /// A prior: with very few rows the model is trusted.
    fn ln_prior(&self) -> f64 {
        -0.5 * libm::pow(libm::log(self.temperature), 2.0)
    }

    /// The probabilities of one row.
    pub fn of(&self, p: &[f64]) -> Vec<f64> {
        let powers: Vec<f64> = p.iter().map(|p| libm::pow(p.max(LEAST), 1.0 / self.temperature)).collect();
        let (sum, n) = (powers.iter().sum::<f64>(), p.len() as f64);
        powers.iter().map(|v| (1.0 - self.even) * v / sum + self.even / n).collect()
    }

    /// Whether it is valid in a file.
    pub fn is_sound(&self) -> bool {
        self.temperature > 0.0 && self.temperature.is_finite() && (0.0..=1.0).contains(&self.even)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tractable_core::rng;

    #[test]
    fn probabilities_that_are_too_sure_are_flattened() {
        let mut rng = rng::stream(1, "classes", 0);
        let truth = ClassCalibration { temperature: 2.0, even: 1e-3 };
        let (mut p, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..5000 {
            let mut row: Vec<f64> = (0..3).map(|_| libm::exp(2.0 * rng::standard_normal(&mut rng))).collect();
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|v| *v /= sum);
            let at = rng::uniform(0.0, 1.0, &mut rng);
            let t = truth.of(&row);
            labels.push(usize::from(at > t[0]) + usize::from(at > t[0] + t[1]));
            p.extend(row);
        }
        let (found, _) = ClassCalibration::fit(&p, &labels);
        assert!((found.temperature - 2.0).abs() < 0.25, "{found:?}");
        assert!((found.of(&[0.2, 0.3, 0.5]).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn no_rows_change_nothing() {
        assert_eq!(ClassCalibration::fit(&[], &[]).0, ClassCalibration::default());
    }
}
