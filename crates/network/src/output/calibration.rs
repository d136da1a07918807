//! Calibrating intervals: the parts of predictions for left-out rows are weighted to maximise their likelihood.

use tractable_core::metrics::Tails;

/// A prediction of one number of a row, in standardised units, before calibration.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Parts {
    /// The mean of all networks.
    pub mean: f64,
    /// Variance between the networks of a model.
    pub between: f64,
    /// Variance from weight uncertainty.
    pub doubt: f64,
    /// Noise variance at this input, and constant noise variance.
    pub noise: [f64; 2],
}

/// How the parts of a prediction's variance are weighted, and the shape of its tails.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Calibration {
    /// Factor on the noise.
    noise: f64,
    /// Share of the input-dependent noise; the rest is constant noise.
    local: f64,
    /// Factor on the weight uncertainty, in its usual range,
    doubt: f64,
    /// which ends here; beyond, the factor is at least a half, because no left-out row can tell.
    usual: f64,
    /// Average weight uncertainty of a row,
    average: f64,
    /// used for every row if it is not computed per row.
    averaged: bool,
    tails: Tails,
}

impl Default for Calibration {
    /// No calibration.
    fn default() -> Self {
        Calibration {
            noise: 1.0,
            local: 1.0,
            doubt: 1.0,
            usual: 0.0,
            average: 0.0,
            averaged: false,
            tails: Tails::Normal,
        }
    }
}

/// The values to try.
const LOCAL: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
const DOUBT: [f64; 10] = [0.0, 0.03, 0.06, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];
const TAILS: [Tails; 5] =
    [Tails::Normal, Tails::Student(20.0), Tails::Student(8.0), Tails::Student(5.0), Tails::Student(3.5)];
const OUTSIDE: f64 = 0.5;
const USUAL: f64 = 0.99;
const FEW: f64 = 5.0;
/// Maximum number of rows used: every second, every third, ...
const MOST_ROWS: usize = 2000;
/// Lower limit of an observation's variance, in standardised units.
const LEAST: f64 = 1e-12;

/// Number of rows over which the factor on the noise adapts, and the limit on the squared innovation of one row.
const FOLLOWED_ROWS: f64 = 200.0;
const MOST_SQUARE: f64 = 9.0;
/// Range of the factor on the noise that new rows may lead to.
const NOISE_LIMITS: [f64; 2] = [1e-3, 1e3];

fn noise_factors() -> impl Iterator<Item = f64> {
    (-12..=32).map(|k| libm::exp(0.15 * f64::from(k)))
}

impl Calibration {
    /// The calibration that maximises the likelihood of the observations `y`, with the log-likelihood; `parts` are
    /// predictions by networks that left them out. Pairs of numbers are improved in turn.
    pub fn fit(y: &[f64], parts: &[Parts]) -> (Self, f64) {
        if y.is_empty() {
            return (Calibration::default(), 0.0);
        }
        let mut doubts: Vec<f64> = parts.iter().map(|p| p.doubt).collect();
        doubts.sort_by(f64::total_cmp);
        // With few rows, some of the largest are ignored: they lie at the edge, with no other row nearby.
        let share = (1.0 - FEW / doubts.len() as f64).clamp(0.5, USUAL);
        let usual = doubts[((doubts.len() - 1) as f64 * share) as usize];
        let average = doubts.iter().map(|d| d.min(usual)).sum::<f64>() / doubts.len() as f64;
        let mut best = Calibration {
            local: 0.5,
            doubt: 0.5,
            usual,
            average,
            tails: Tails::Student(8.0),
            ..Calibration::default()
        };
        let mut highest = best.ln_likelihood(y, parts);
        loop {
            let before = best;
            let scales = noise_factors().flat_map(|noise| DOUBT.map(|doubt| (noise, doubt)));
            let shapes = LOCAL.into_iter().flat_map(|local| TAILS.map(|tails| (local, tails)));
            for (noise, doubt) in scales {
                best.improve(Calibration { noise, doubt, ..best }, &mut highest, y, parts);
            }
            for (local, tails) in shapes {
                best.improve(Calibration { local, tails, ..best }, &mut highest, y, parts);
            }
            if best == before {
                return (best, highest);
            }
        }
    }

    /// T62. One more row, predicted before it was learned, with this squared innovation `z^2`: the factor on the noise adapts, so
    /// that the mean over recent rows becomes 1: `noise *= 1 + (min(z^2, 9) - 1)/200`.
    pub fn follow(&mut self, square: f64) {
        let next = self.noise * (1.0 + (square.min(MOST_SQUARE) - 1.0) / FOLLOWED_ROWS);
        self.noise = next.clamp(NOISE_LIMITS[0], NOISE_LIMITS[1]);
    }

    fn improve(&mut self, tried: Calibration, highest: &mut f64, y: &[f64], parts: &[Parts]) {
        let sum = tried.ln_likelihood(y, parts);
        if sum > *highest {
            (*self, *highest) = (tried, sum);
        }
    }

    /// Of the observations, or some of many.
    fn ln_likelihood(&self, y: &[f64], parts: &[Parts]) -> f64 {
        let step = y.len().div_ceil(MOST_ROWS).max(1);
        let rows = y.iter().zip(parts).step_by(step);
        rows.map(|(y, p)| self.ln_density(*y, p)).sum::<f64>() + self.ln_prior()
    }

    /// A prior: with very few rows the model is trusted; a factor of 3 is one standard deviation away. If noise explains
    /// the errors as well, weight uncertainty is not increased.
    fn ln_prior(&self) -> f64 {
        let off = |factor: f64| -0.5 * libm::pow(libm::log(factor), 2.0);
        off(self.noise) + off(self.doubt.max(1.0))
    }

    fn ln_density(&self, y: f64, parts: &Parts) -> f64 {
        let (doubt, noise) = self.variances(parts);
        let var = doubt + noise;
        let z = (y - parts.mean) / var.sqrt();
        self.tails.ln_density(z) - 0.5 * libm::log(var)
    }

    /// The part that more data would reduce, and the part that they would not.
    pub fn variances(&self, parts: &Parts) -> (f64, f64) {
        let [here, alike] = parts.noise;
        let doubt = if self.averaged { self.average } else { parts.doubt };
        let inside = self.doubt * doubt.min(self.usual);
        let outside = self.doubt.max(OUTSIDE) * (doubt - self.usual).max(0.0);
        let noise = self.noise * (self.local * here + (1.0 - self.local) * alike);
        (parts.between + inside + outside, noise.max(LEAST))
    }

    /// Uses the average weight uncertainty for every row from now on.
    pub fn average_doubt(&mut self) {
        self.averaged = true;
    }

    /// The tails of the distribution.
    pub fn tails(&self) -> Tails {
        self.tails
    }

    /// Whether it is valid in a file.
    pub fn is_sound(&self) -> bool {
        let at_least_0 = [self.noise, self.local, self.doubt, self.usual, self.average]
            .iter()
            .all(|v| *v >= 0.0 && v.is_finite());
        let tails = match self.tails {
            Tails::Normal => true,
            Tails::Student(n) => n > 2.0 && n.is_finite(),
        };
        at_least_0 && self.local <= 1.0 && tails
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tractable_core::rng;

    /// Errors of a known shape, and a model that is wrong about them by a known factor.
    fn rows(n: usize, noise: f64, tails: Tails) -> (Vec<f64>, Vec<Parts>) {
        let mut rng = rng::stream(3, "calibration", 0);
        let y = (0..n).map(|_| noise.sqrt() * tails.draw(&mut rng)).collect();
        let parts = Parts { noise: [1.0, 1.0], ..Parts::default() };
        (y, vec![parts; n])
    }

    #[test]
    fn noise_that_is_too_small_is_made_larger_and_tails_are_found() {
        for (factor, tails) in [(0.3, Tails::Normal), (1.0, Tails::Normal), (4.0, Tails::Student(5.0))] {
            let (y, parts) = rows(6000, factor, tails);
            let (found, _) = Calibration::fit(&y, &parts);
            let (_, noise) = found.variances(&parts[0]);
            assert!((noise / factor).ln().abs() < 0.15, "{factor}: {found:?}");
            let heavy = |t: Tails| matches!(t, Tails::Student(n) if n < 10.0);
            assert_eq!(heavy(found.tails), heavy(tails), "{found:?}");
        }
    }

    #[test]
    fn doubt_beyond_the_usual_counts_at_least_half() {
        let (y, mut parts) = rows(500, 1.0, Tails::Normal);
        parts.iter_mut().enumerate().for_each(|(i, p)| p.doubt = 0.001 * (i % 10) as f64);
        let (found, _) = Calibration::fit(&y, &parts);
        let far = Parts { doubt: 9.0, ..parts[0] };
        assert!(found.variances(&far).0 > 0.5 * 8.9);
    }

    #[test]
    fn five_rows_do_not_make_an_interval_of_nothing() {
        let parts = Parts { noise: [0.3, 0.3], ..Parts::default() };
        let (found, _) = Calibration::fit(&[0.0; 5], &[parts; 5]);
        assert!(found.variances(&parts).1 > 0.01, "{found:?}");
        assert!(found.is_sound());
    }
}
