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
    /// Variance from inputs that are not known exactly; it is not calibrated.
    pub open: f64,
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
    /// Factor on the variance between networks; left-out rows, each predicted by one network, say nothing of it beyond 1.
    #[cfg_attr(feature = "files", serde(default = "one", skip_serializing_if = "is_one"))]
    between: f64,
    tails: Tails,
}

#[cfg(feature = "files")]
fn one() -> f64 {
    1.0
}

#[cfg(feature = "files")]
fn is_one(v: &f64) -> bool {
    *v == 1.0
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
            between: 1.0,
            tails: Tails::Normal,
        }
    }
}

/// The values to try, those that are trusted first: each of the others must be worth [`COST`].
const LOCAL: [f64; 3] = [1.0, 0.5, 0.0];
const DOUBT: [f64; 3] = [1.0, 0.25, 4.0];
const TAILS: [Tails; 4] = [Tails::Normal, Tails::Student(12.0), Tails::Student(6.0), Tails::Student(4.0)];
const COST: f64 = 0.5;
const LEVEL_STEPS: usize = 5;
/// Factors on the variance, in times of the one that makes the mean squared error over it 1.
const FACTORS: [f64; 10] = [0.1, 0.15, 0.22, 0.33, 0.45, 0.6, 0.75, 0.87, 1.0, 1.15];
const OUTSIDE: f64 = 0.5;
/// The variance between networks counts at most as it is: where one network alone predicts a left-out row, the factor on its
/// variance makes up for what it does not know, a thousandfold where it took noise for signal.
const MOST_BETWEEN: f64 = 1.0;
const USUAL: f64 = 0.99;
const FEW: f64 = 5.0;
/// Maximum number of rows used: every second, every third, ...
const MOST_ROWS: usize = 5000;
/// Lower limit of an observation's variance, in standardised units.
const LEAST: f64 = 1e-12;
/// Lower limit of the factor on the variance.
const LEAST_FACTOR: f64 = 1e-6;

/// Number of rows over which the factor on the noise adapts, and the limit on the squared innovation of one row.
const FOLLOWED_ROWS: f64 = 200.0;
const MOST_SQUARE: f64 = 9.0;
/// Range of the factor on the noise that new rows may lead to.
const NOISE_LIMITS: [f64; 2] = [1e-3, 1e3];

impl Calibration {
    /// The calibration that maximises the likelihood of the observations `y`, with the log-likelihood; `parts` are
    /// predictions by networks that left them out. With few rows the model is trusted: a factor of e on the variance costs as much
    /// as one standard deviation. Only `normal` tails if they must not be heavy.
    pub fn fit(y: &[f64], parts: &[Parts], normal: bool) -> (Self, f64) {
        if y.is_empty() {
            return (Calibration::default(), 0.0);
        }
        let mut doubts: Vec<f64> = parts.iter().map(|p| p.doubt).collect();
        doubts.sort_by(f64::total_cmp);
        // With few rows, some of the largest are ignored: they lie at the edge, with no other row nearby.
        let share = (1.0 - FEW / doubts.len() as f64).clamp(0.5, USUAL);
        let usual = doubts[((doubts.len() - 1) as f64 * share) as usize];
        let average = doubts.iter().map(|d| d.min(usual)).sum::<f64>() / doubts.len() as f64;
        let step = y.len().div_ceil(MOST_ROWS).max(1);
        let rows: Vec<(f64, &Parts)> = y.iter().copied().zip(parts).step_by(step).collect();
        let mut best: Option<(f64, Calibration)> = None;
        for (local, doubt) in LOCAL.iter().flat_map(|&local| DOUBT.map(|doubt| (local, doubt))) {
            let plain =
                Calibration { local, doubt, between: doubt, usual, average, ..Calibration::default() };
            let each = rows.iter().map(|(y, p)| ((y - p.mean).powi(2), plain.scaled(p).iter().sum()));
            let each: Vec<[f64; 3]> =
                each.zip(&rows).map(|((square, var), (_, p))| [square, var, p.open]).collect();
            let mean = level(&each);
            for tails in &TAILS[..if normal { 1 } else { TAILS.len() }] {
                for factor in FACTORS.map(|f| (f * mean).max(LEAST_FACTOR)) {
                    let density = |[square, var, open]: &[f64; 3]| {
                        let var = factor * var + open;
                        tails.ln_density((square / var).sqrt()) - 0.5 * libm::log(var)
                    };
                    let ln_factor = libm::log(factor);
                    let others = [local != LOCAL[0], doubt != DOUBT[0], *tails != TAILS[0]];
                    let cost =
                        COST * others.iter().filter(|o| **o).count() as f64 + 0.5 * ln_factor * ln_factor;
                    let ln = each.iter().map(density).sum::<f64>() - cost;
                    if best.as_ref().is_none_or(|b| ln > b.0) {
                        let doubt = factor * doubt;
                        let between = doubt.min(MOST_BETWEEN);
                        best =
                            Some((ln, Calibration { noise: factor, doubt, between, tails: *tails, ..plain }));
                    }
                }
            }
        }
        best.map_or((Calibration::default(), f64::NEG_INFINITY), |(ln, found)| (found, ln))
    }

    /// Multiplies all standard deviations by a factor.
    pub fn scale(&mut self, factor: f64) {
        for v in [&mut self.noise, &mut self.doubt, &mut self.between] {
            *v *= factor * factor;
        }
    }

    /// T62. One more row, predicted before it was learned, with this squared innovation `z^2`: the factor on the noise adapts, so
    /// that the mean over recent rows becomes 1: `noise *= 1 + (min(z^2, 9) - 1)/200`.
    pub fn follow(&mut self, square: f64) {
        let next = self.noise * (1.0 + (square.min(MOST_SQUARE) - 1.0) / FOLLOWED_ROWS);
        self.noise = next.clamp(NOISE_LIMITS[0], NOISE_LIMITS[1]);
    }

    /// The part that more data would reduce, and the part that they would not.
    pub fn variances(&self, parts: &Parts) -> (f64, f64) {
        let [doubt, noise] = self.scaled(parts);
        (doubt, noise + parts.open)
    }

    /// Doubt and noise.
    fn scaled(&self, parts: &Parts) -> [f64; 2] {
        let [here, alike] = parts.noise;
        let doubt = if self.averaged { self.average } else { parts.doubt };
        let inside = self.doubt * doubt.min(self.usual);
        let outside = self.doubt.max(OUTSIDE) * (doubt - self.usual).max(0.0);
        let noise = self.noise * (self.local * here + (1.0 - self.local) * alike);
        [self.between * parts.between + inside + outside, noise.max(LEAST)]
    }

    /// Uses the average weight uncertainty for every row from now on.
    pub fn average_doubt(&mut self) {
        self.averaged = true;
    }

    /// Whether every row has the average weight uncertainty.
    pub fn is_averaged(&self) -> bool {
        self.averaged
    }

    /// The tails of the distribution.
    pub fn tails(&self) -> Tails {
        self.tails
    }

    /// Whether it is valid in a file.
    pub fn is_sound(&self) -> bool {
        let at_least_0 = [self.noise, self.local, self.doubt, self.usual, self.average, self.between]
            .iter()
            .all(|v| *v >= 0.0 && v.is_finite());
        let tails = match self.tails {
            Tails::Normal => true,
            Tails::Student(n) => n > 2.0 && n.is_finite(),
        };
        at_least_0 && self.local <= 1.0 && tails
    }
}

/// The factor on the variances that makes the mean squared error over them 1, from squares, variances and what is left open
/// besides: the more is left open, the less a row tells.
fn level(each: &[[f64; 3]]) -> f64 {
    let mut level = 1.0;
    for _ in 0..LEVEL_STEPS {
        let (mut sum, mut weights) = (0.0, 0.0);
        for [square, var, open] in each {
            let weight = (level * var / (level * var + open)).powi(2);
            sum += weight * (square - open) / var;
            weights += weight;
        }
        // Where rows have no error at all, a few do not make the factor smaller than this.
        level = (sum / weights).max(libm::exp(-0.5 * each.len() as f64)).max(LEAST_FACTOR);
    }
    level
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
            let (found, _) = Calibration::fit(&y, &parts, false);
            let (_, noise) = found.variances(&parts[0]);
            assert!((noise / factor).ln().abs() < 0.25, "{factor}: {found:?}");
            let heavy = |t: Tails| matches!(t, Tails::Student(n) if n < 10.0);
            assert_eq!(heavy(found.tails), heavy(tails), "{found:?}");
        }
    }

    #[test]
    fn doubt_beyond_the_usual_counts_at_least_half() {
        let (y, mut parts) = rows(500, 1.0, Tails::Normal);
        parts.iter_mut().enumerate().for_each(|(i, p)| p.doubt = 0.001 * (i % 10) as f64);
        let (found, _) = Calibration::fit(&y, &parts, false);
        let far = Parts { doubt: 9.0, ..parts[0] };
        assert!(found.variances(&far).0 > 0.5 * 8.9);
    }

    #[test]
    fn networks_that_took_noise_for_signal_do_not_differ_a_thousandfold() {
        // Each is sure of its row; together they differ by what they took for signal.
        let (y, parts) = rows(500, 1.0, Tails::Normal);
        let parts: Vec<Parts> = parts.iter().map(|p| Parts { noise: [1e-4; 2], doubt: 1e-4, ..*p }).collect();
        let (found, _) = Calibration::fit(&y, &parts, false);
        let (doubt, noise) = found.variances(&Parts { between: 0.3, ..parts[0] });
        assert!((doubt + noise - 1.0).abs() < 0.5, "{found:?}");
    }

    #[test]
    fn five_rows_do_not_make_an_interval_of_nothing() {
        let parts = Parts { noise: [0.3, 0.3], ..Parts::default() };
        let (found, _) = Calibration::fit(&[0.0; 5], &[parts; 5], false);
        assert!(found.variances(&parts).1 > 0.01, "{found:?}");
        assert!(found.is_sound());
    }
}
