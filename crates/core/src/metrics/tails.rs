//! The shape of an error distribution: normal, or Student's t with heavier tails.

use super::quantile::normal_quantile;
use crate::moments::normal;
use crate::rng::{self, Rng};

/// The tails of an error distribution at a given variance: normal, or Student's t with a number of
/// degrees of freedom. All methods are for an error with variance 1.
///
/// ```
/// use tractable::metrics::Tails;
/// let heavy = Tails::student(4.0);
/// assert!(1.0 - heavy.below(4.0) > 10.0 * (1.0 - Tails::Normal.below(4.0)));
/// assert!(heavy.quantile(0.75) < Tails::Normal.quantile(0.75)); // and small errors are smaller
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Tails {
    /// The normal distribution.
    #[default]
    Normal,
    /// Student's distribution with more than 2 degrees of freedom.
    Student(
        /// Degrees of freedom.
        f64,
    ),
}

impl Tails {
    /// Student's distribution, with at least 2.1 degrees of freedom: at 2 there is no variance.
    ///
    /// ```
    /// assert_eq!(tractable::metrics::Tails::student(5.0), tractable::metrics::Tails::Student(5.0));
    /// ```
    pub fn student(freedom: f64) -> Self {
        Tails::Student(freedom.max(2.1))
    }

    /// Logarithm of the density.
    ///
    /// ```
    /// use tractable::metrics::Tails;
    /// assert!((Tails::Normal.ln_density(0.0) + 0.9189385332046727).abs() < 1e-15);
    /// assert!(Tails::student(3.0).ln_density(6.0) > Tails::Normal.ln_density(6.0));
    /// ```
    pub fn ln_density(self, z: f64) -> f64 {
        match self {
            Tails::Normal => -0.5 * (z * z + std::f64::consts::TAU.ln()),
            Tails::Student(n) => self.ln_scale() + ln_student(n) - half(n) * libm::log1p(z * z / (n - 2.0)),
        }
    }

    /// Probability of an error below this.
    ///
    /// ```
    /// use tractable::metrics::Tails;
    /// assert_eq!(Tails::student(5.0).below(0.0), 0.5);
    /// ```
    pub fn below(self, z: f64) -> f64 {
        match self {
            Tails::Normal => normal::cdf(z),
            Tails::Student(n) => {
                let t = z * self.scale();
                let tail = 0.5 * incomplete_beta(0.5 * n, 0.5, n / (n + t * t));
                if t > 0.0 { 1.0 - tail } else { tail }
            }
        }
    }

    /// The error that is not exceeded with probability `p`; -inf at 0, +inf at 1.
    ///
    /// ```
    /// use tractable::metrics::Tails;
    /// // 2.0150 for Student's own scale, with 5 degrees of freedom and p = 0.95.
    /// assert!((Tails::student(5.0).quantile(0.95) - 2.015048 * (3.0f64 / 5.0).sqrt()).abs() < 1e-6);
    /// ```
    pub fn quantile(self, p: f64) -> f64 {
        let normal = normal_quantile(p);
        if self == Tails::Normal || !normal.is_finite() || normal == 0.0 {
            return normal;
        }
        // Bisection of the positive side; probabilities lose no digits in the lower tail.
        let tail = p.min(1.0 - p);
        let (mut low, mut high) = (0.0, 1.0);
        while self.below(-high) > tail {
            high *= 2.0;
        }
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if self.below(-middle) > tail { low = middle } else { high = middle }
        }
        (0.5 * (low + high)).copysign(normal)
    }

    /// Continuous ranked probability score of an error, over the standard deviation: 0 is perfect.
    ///
    /// ```
    /// use tractable::metrics::Tails;
    /// assert!((Tails::Normal.crps(0.0) - 0.2336949772551092).abs() < 1e-12);
    /// ```
    pub fn crps(self, z: f64) -> f64 {
        let centred = z * (2.0 * self.below(z) - 1.0);
        match self {
            Tails::Normal => {
                centred + 2.0 * libm::exp(self.ln_density(z)) - 1.0 / std::f64::consts::PI.sqrt()
            }
            Tails::Student(n) => {
                let (s, t) = (self.scale(), z * self.scale());
                let density = libm::exp(self.ln_density(z)) / s;
                let ln_beta = |a: f64, b: f64| libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
                let even = libm::exp(ln_beta(0.5, n - 0.5) - 2.0 * ln_beta(0.5, 0.5 * n));
                centred + (2.0 * density * (n + t * t) - 2.0 * n.sqrt() * even) / ((n - 1.0) * s)
            }
        }
    }

    /// A random error.
    ///
    /// ```
    /// use tractable::{metrics::Tails, rng};
    /// assert!(Tails::student(4.0).draw(&mut rng::stream(0, "errors", 0)).is_finite());
    /// ```
    pub fn draw(self, rng: &mut impl Rng) -> f64 {
        let z = rng::standard_normal(rng);
        match self {
            Tails::Normal => z,
            Tails::Student(n) => z * ((0.5 * n - 1.0) / gamma(0.5 * n, rng)).sqrt(),
        }
    }

    /// What a variance of 1 is multiplied by, as a standard deviation, to get Student's own scale.
    fn scale(self) -> f64 {
        match self {
            Tails::Normal => 1.0,
            Tails::Student(n) => (n / (n - 2.0)).sqrt(),
        }
    }

    fn ln_scale(self) -> f64 {
        libm::log(self.scale())
    }
}

fn half(n: f64) -> f64 {
    0.5 * (n + 1.0)
}

/// Logarithm of the density of Student's distribution at 0.
fn ln_student(n: f64) -> f64 {
    libm::lgamma(half(n)) - libm::lgamma(0.5 * n) - 0.5 * libm::log(n * std::f64::consts::PI)
}

/// Regularised incomplete beta function, by its continued fraction (modified Lentz).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast on this side.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let ln_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let front = libm::exp(a * libm::log(x) + b * libm::log1p(-x) - ln_beta) / a;
    const TINY: f64 = 1e-300;
    let safe = |v: f64| if v.abs() < TINY { TINY } else { v };
    let (mut c, mut d) = (1.0, 1.0 / safe(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for term in [even, odd] {
            d = 1.0 / safe(1.0 + term * d);
            c = safe(1.0 + term / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() <= 1e-16 * fraction.abs() {
            break;
        }
    }
    front * fraction
}

/// A draw from the gamma distribution of this shape, at least 1 (Marsaglia and Tsang).
fn gamma(shape: f64, rng: &mut impl Rng) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = rng::standard_normal(rng);
        let v = (1.0 + c * x).powi(3);
        let u = rng::open_unit(rng);
        if v > 0.0 && libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums over a fine grid.
    fn integral(f: impl Fn(f64) -> f64) -> f64 {
        const STEP: f64 = 1e-3;
        (-400_000..400_000).map(|i| STEP * f((f64::from(i) + 0.5) * STEP)).sum()
    }

    #[test]
    fn densities_integrate_to_one_and_have_variance_one() {
        for tails in [Tails::Normal, Tails::student(8.0), Tails::student(30.0)] {
            let density = |z: f64| tails.ln_density(z).exp();
            assert!((integral(density) - 1.0).abs() < 1e-6, "{tails:?}");
            assert!((integral(|z| z * z * density(z)) - 1.0).abs() < 1e-4, "{tails:?}");
        }
    }

    #[test]
    fn distribution_functions_are_the_integrals_of_densities() {
        for tails in [Tails::Normal, Tails::student(3.5), Tails::student(20.0)] {
            for to in [-3.0, -0.5, 0.1, 2.0] {
                let below = integral(|z| if z < to { tails.ln_density(z).exp() } else { 0.0 });
                assert!((below - tails.below(to)).abs() < 1e-5, "{tails:?} {to}");
            }
            for p in [1e-6, 0.05, 0.3, 0.5, 0.9] {
                assert!((tails.below(tails.quantile(p)) - p).abs() < 1e-9 + 1e-6 * p, "{tails:?} {p}");
            }
        }
    }

    #[test]
    fn crps_is_the_integral_of_squared_differences() {
        for tails in [Tails::Normal, Tails::student(3.5), Tails::student(12.0)] {
            for at in [-2.0, 0.0, 0.7] {
                let step = |z: f64| f64::from(u8::from(z > at));
                let sum: f64 = (-40_000..40_000)
                    .map(|i| (f64::from(i) + 0.5) * 1e-3)
                    .map(|z| 1e-3 * (tails.below(z) - step(z)).powi(2))
                    .sum();
                assert!((sum - tails.crps(at)).abs() < 2e-3, "{tails:?} {at}: {sum} {}", tails.crps(at));
            }
        }
    }

    #[test]
    fn draws_follow_the_distribution() {
        let mut rng = rng::stream(0, "tails", 0);
        for tails in [Tails::Normal, Tails::student(5.0)] {
            let draws: Vec<f64> = (0..40_000).map(|_| tails.draw(&mut rng)).collect();
            for p in [0.05, 0.5, 0.9] {
                let below = draws.iter().filter(|z| **z < tails.quantile(p)).count() as f64 / 40_000.0;
                assert!((below - p).abs() < 0.01, "{tails:?} {p}: {below}");
            }
        }
    }
}
