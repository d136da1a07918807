//! The result of [`predict`](crate::Network::predict): [`Prediction`].

use tractable_core::error::{Error, Result};
use tractable_core::gaussian::{Gaussian, Input, Matrix};
use tractable_core::metrics::Tails;
use tractable_core::{rng, stop};

/// Predicted outputs, one row per sample, with the uncertainty of a new observation.
///
/// The variance of an observation has two parts. [`var`](Prediction::var) is the model's uncertainty, which more data would
/// reduce. [`noise_var`](Prediction::noise_var) is the noise, which they would not. Intervals, samples and densities include both.
///
/// ```
/// use tractable::{Activation, Matrix, Network};
/// let net = Network::mlp([1, 16, 1], Activation::MixtureRelu).build()?;
/// let out = net.predict(&Matrix::column(vec![0.5])?)?;
/// let (lower, upper) = out.interval(0.9)?;
/// assert!(lower[0] < out.mean()[0] && out.mean()[0] < upper[0]);
/// assert_eq!(out.total_var()[0], out.var()[0] + out.noise_var()[0]);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize))]
pub struct Prediction {
    #[cfg_attr(feature = "files", serde(flatten))]
    output: Gaussian,
    noise_var: Vec<f64>,
    /// Of every column, or of all of them.
    tails: Vec<Tails>,
    /// Of a mixture; otherwise the numbers above say all.
    #[cfg_attr(feature = "files", serde(skip))]
    components: Vec<Component>,
}

/// One of the distributions that a prediction mixes. Entries are row after row.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Of every output. Those of all components add up to 1.
    pub weight: Vec<f64>,
    /// Of every output.
    pub tails: Vec<Tails>,
    /// Whether mean and variances are those of the output's logarithm.
    pub log: bool,
    /// Of every entry.
    pub mean: Vec<f64>,
    /// Variance that more data would reduce.
    pub doubt: Vec<f64>,
    /// Variance that they would not.
    pub noise: Vec<f64>,
}

/// Variance of a logarithm that moments count at most: those of wider ones are ruled by what never happens.
const MOST_LOG_VAR: f64 = 1.0;

impl Component {
    /// Mean of an entry, and the two parts of its variance, in units of the output.
    pub fn moments(&self, entry: usize) -> [f64; 3] {
        let [mean, doubt, noise] = [self.mean[entry], self.doubt[entry], self.noise[entry]];
        if !self.log {
            return [mean, doubt, noise];
        }
        let var = (doubt + noise).min(MOST_LOG_VAR);
        let mean = libm::exp(mean + 0.5 * var);
        let total = mean * mean * libm::expm1(var);
        let share = if doubt > 0.0 { doubt / (doubt + noise) } else { 0.0 };
        [mean, total * share, total * (1.0 - share)]
    }

    /// The mean of a logarithm above which the output's own would exceed `most`.
    pub fn highest(most: f64, var: f64) -> f64 {
        libm::log(most) - 0.5 * var.min(MOST_LOG_VAR)
    }
}

/// The distribution of one entry by one component.
struct One {
    weight: f64,
    mean: f64,
    std: f64,
    tails: Tails,
    log: bool,
}

impl One {
    /// In standard deviations.
    fn standard(&self, y: f64) -> f64 {
        let y = if self.log { libm::log(y.max(0.0)) } else { y };
        (y - self.mean) / self.std
    }

    fn ln_density(&self, y: f64) -> f64 {
        match self.log {
            true if y <= 0.0 => f64::NEG_INFINITY,
            true => self.tails.ln_density(self.standard(y)) - self.std.ln() - libm::log(y),
            false => self.tails.ln_density(self.standard(y)) - self.std.ln(),
        }
    }

    fn at(&self, z: f64) -> f64 {
        let at = self.mean + z * self.std;
        if self.log { libm::exp(at) } else { at }
    }
}

/// Probabilities between which a distribution is summed up for its score.
const SCORED: [f64; 10] = [1e-6, 1e-4, 1e-3, 0.005, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4];

impl Prediction {
    /// A mixture, of which every component has an entry for every output of every row.
    pub fn mixture(mut components: Vec<Component>) -> Result<Self> {
        let width = components.first().map_or(0, |c| c.weight.len());
        if let ([one], true) = (&mut components[..], width > 0)
            && !one.log
        {
            let [mean, doubt, noise] = [&mut one.mean, &mut one.doubt, &mut one.noise].map(std::mem::take);
            return Prediction::new(
                Gaussian::new(mean, doubt, width)?,
                noise,
                std::mem::take(&mut one.tails),
            );
        }
        let (mut mean, mut var, mut noise) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..components.first().map_or(0, |c| c.mean.len()) {
            let each = components.iter().map(|c| (c.weight[i % width], c.moments(i)));
            let each: Vec<(f64, [f64; 3])> = each.filter(|c| c.0 > 0.0).collect();
            let sum = |f: &dyn Fn(&[f64; 3]) -> f64| each.iter().map(|(w, c)| w * f(c)).sum::<f64>();
            let middle = sum(&|c| c[0]);
            mean.push(middle);
            var.push(sum(&|c| c[1] + (c[0] - middle).powi(2)));
            noise.push(sum(&|c| c[2]));
        }
        let mixed = Prediction::new(Gaussian::new(mean, var, width)?, noise, vec![Tails::Normal; width])?;
        Ok(Prediction { components, ..mixed })
    }

    /// Of a mixture; none where one distribution says all.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    fn each(&self, entry: usize) -> impl Iterator<Item = One> {
        let column = entry % self.width();
        let alone = self.components.is_empty().then(|| One {
            weight: 1.0,
            mean: self.mean()[entry],
            std: (self.var()[entry] + self.noise_var[entry]).sqrt(),
            tails: self.tails(column),
            log: false,
        });
        let mixed = self.components.iter().filter(move |c| c.weight[column] > 0.0).map(move |c| One {
            weight: c.weight[column],
            mean: c.mean[entry],
            std: (c.doubt[entry] + c.noise[entry]).sqrt(),
            tails: c.tails[column],
            log: c.log,
        });
        alone.into_iter().chain(mixed)
    }

    /// Probabilities that an observation of an entry is below and above this.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// let out = net.predict(&Matrix::column(vec![0.5])?)?;
    /// assert!(out.below_and_above(0, out.mean()[0]).iter().all(|p| (p - 0.5).abs() < 1e-12));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn below_and_above(&self, entry: usize, y: f64) -> [f64; 2] {
        self.each(entry).fold([0.0; 2], |[below, above], one| {
            let z = one.standard(y);
            [below + one.weight * one.tails.below(z), above + one.weight * one.tails.below(-z)]
        })
    }

    /// Logarithm of the density of an entry's observation.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// let out = net.predict(&Matrix::column(vec![0.5])?)?;
    /// assert!(out.ln_density(0, 0.0) > out.ln_density(0, 100.0));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn ln_density(&self, entry: usize, y: f64) -> f64 {
        let all: Vec<(f64, f64)> = self.each(entry).map(|one| (one.weight, one.ln_density(y))).collect();
        match all[..] {
            [(_, alone)] => alone,
            _ => ln_mixed(&all),
        }
    }

    /// Continuous ranked probability score of an entry's observation: 0 is perfect.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// let out = net.predict(&Matrix::column(vec![0.5])?)?;
    /// assert!(out.crps(0, 0.0) < out.crps(0, 100.0));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn crps(&self, entry: usize, y: f64) -> f64 {
        let all: Vec<One> = self.each(entry).collect();
        if let [one] = &all[..]
            && !one.log
        {
            return one.std * one.tails.crps(one.standard(y));
        }
        let lower = SCORED.into_iter().chain([0.5]);
        let mut places: Vec<f64> = vec![y];
        for p in lower {
            for one in &all {
                let z = one.tails.quantile(p);
                places.extend([one.at(z), one.at(-z)]);
            }
        }
        places.sort_by(f64::total_cmp);
        let below: Vec<f64> = places.iter().map(|&x| self.below_and_above(entry, x)[0]).collect();
        let piece = |i: usize| {
            let step = f64::from(u8::from(places[i] >= y));
            let [a, b] = [below[i] - step, below[i + 1] - step];
            // Of the square of what is straight between two places.
            (places[i + 1] - places[i]) * (a * a + a * b + b * b) / 3.0
        };
        (0..places.len() - 1).map(piece).sum()
    }

    /// A Gaussian with noise of its own, and tails per output.
    pub fn new(output: Gaussian, noise_var: Vec<f64>, tails: Vec<Tails>) -> Result<Self> {
        match noise_var.iter().position(|v| !(*v >= 0.0 && v.is_finite())) {
            None => Ok(Prediction { output, noise_var, tails, components: Vec::new() }),
            Some(at) => Err(Error::OutOfRange {
                what: "noise variance".into(),
                row: at / output.width(),
                column: at % output.width(),
                value: noise_var[at],
                why: "it overflows in these units".into(),
            }),
        }
    }

    /// Means, row after row.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// assert_eq!(net.predict(&Matrix::column(vec![0.5, 0.6])?)?.mean().len(), 2);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn mean(&self) -> &[f64] {
        self.output.mean()
    }

    /// Variance of the model's own output, row by row: the part that more data would reduce.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// assert!(net.predict(&Matrix::column(vec![0.5])?)?.var()[0] > 0.0);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn var(&self) -> &[f64] {
        self.output.var()
    }

    /// Variance of the noise around it, row by row: the part that more data would not reduce.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).noise_std([0.5]).build()?;
    /// assert_eq!(net.predict(&Matrix::column(vec![0.5])?)?.noise_var(), [0.25]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn noise_var(&self) -> &[f64] {
        &self.noise_var
    }

    /// Variance of an observation: both parts together.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).noise_std([0.5]).build()?;
    /// assert!(net.predict(&Matrix::column(vec![0.5])?)?.total_var()[0] > 0.25);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn total_var(&self) -> Vec<f64> {
        self.var().iter().zip(&self.noise_var).map(|(a, b)| a + b).collect()
    }

    /// Standard deviation of an observation.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).noise_std([0.5]).build()?;
    /// assert!(net.predict(&Matrix::column(vec![0.5])?)?.total_std()[0] > 0.5);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn total_std(&self) -> Vec<f64> {
        self.total_var().into_iter().map(f64::sqrt).collect()
    }

    /// The tails of the distribution of a column's observations.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network, metrics::Tails};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// assert_eq!(net.predict(&Matrix::column(vec![0.5])?)?.tails(0), Tails::Normal);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn tails(&self, column: usize) -> Tails {
        self.tails[column % self.tails.len()]
    }

    /// The output alone, without the noise.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// let out = net.predict(&Matrix::column(vec![0.5])?)?;
    /// assert_eq!(out.output().var(), out.var());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn output(&self) -> &Gaussian {
        &self.output
    }

    /// Samples.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 2], Activation::Relu).build()?;
    /// let out = net.predict(&Matrix::column(vec![0.5])?)?;
    /// assert_eq!((out.rows(), out.width()), (1, 2));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.output.rows()
    }

    /// Numbers in a row.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 2], Activation::Relu).build()?;
    /// assert_eq!(net.predict(&Matrix::column(vec![0.5])?)?.width(), 2);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn width(&self) -> usize {
        self.output.width()
    }

    /// The `p`-quantile of an observation, row by row.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// let out = net.predict(&Matrix::column(vec![0.5])?)?;
    /// assert_eq!(out.quantile(0.5)?, out.mean());
    /// assert!(out.quantile(1.0).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn quantile(&self, p: f64) -> Result<Vec<f64>> {
        if !(p > 0.0 && p < 1.0) {
            return Err(Error::invalid("quantile", format!("{p} is not between 0 and 1")));
        }
        if !self.components.is_empty() {
            return self.mixed_quantiles(p);
        }
        let z: Vec<f64> = self.tails.iter().map(|t| t.quantile(p)).collect();
        let each = self.mean().iter().zip(self.total_std()).enumerate();
        Ok(each.map(|(i, (m, s))| m + z[i % self.width() % z.len()] * s).collect())
    }

    /// Newton's steps between the quantiles of the components, halving where they leave.
    fn mixed_quantiles(&self, p: f64) -> Result<Vec<f64>> {
        let width = self.width();
        let of_column = |column: usize| -> Vec<f64> {
            let used = self.components.iter().filter(|c| c.weight[column] > 0.0);
            used.map(|c| c.tails[column].quantile(p)).collect()
        };
        let z: Vec<Vec<f64>> = (0..width).map(of_column).collect();
        let entry = |i: usize| {
            stop::check()?;
            let ends = self.each(i).zip(&z[i % width]).map(|(one, z)| one.at(*z));
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            ends.for_each(|end| (low, high) = (low.min(end), high.max(end)));
            let mut x = 0.5 * (low + high);
            for _ in 0..200 {
                let [below, above] = self.below_and_above(i, x);
                let off = if p < 0.5 { below - p } else { 1.0 - p - above };
                if off > 0.0 {
                    high = x
                } else {
                    low = x
                }
                let newton = x - off / libm::exp(self.ln_density(i, x));
                let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
                let step = (next - x).abs();
                x = next;
                if step <= 1e-12 * x.abs() || high - low <= 1e-12 * x.abs() {
                    break;
                }
            }
            Ok(x)
        };
        (0..self.mean().len()).map(entry).collect()
    }

    /// Central interval that contains an observation with probability `level`: lower and upper bounds.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// let out = net.predict(&Matrix::column(vec![0.5])?)?;
    /// let ((low, high), (lower, higher)) = (out.interval(0.5)?, out.interval(0.9)?);
    /// assert!(lower[0] < low[0] && high[0] < higher[0]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn interval(&self, level: f64) -> Result<(Vec<f64>, Vec<f64>)> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::invalid("interval", format!("a level of {level} is not between 0 and 1")));
        }
        Ok((self.quantile(0.5 - 0.5 * level)?, self.quantile(0.5 + 0.5 * level)?))
    }

    /// Logarithm of the density of observations, `[rows, width]`, for every entry; outputs are treated as independent.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// let out = net.predict(&Matrix::column(vec![0.5])?)?;
    /// let [near, far] = [0.0, 100.0].map(|y| out.log_density(&Matrix::column(vec![y]).unwrap()).unwrap()[0]);
    /// assert!(near > far);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn log_density(&self, y: &Matrix) -> Result<Vec<f64>> {
        if (y.rows(), y.width()) != (self.rows(), self.width()) {
            let expected = format!("{} rows of {}", self.rows(), self.width());
            return Err(Error::shape("observations", expected, format!("{} of {}", y.rows(), y.width())));
        }
        let entry = |(i, y): (usize, &f64)| stop::check().map(|()| self.ln_density(i, *y));
        y.data().iter().enumerate().map(entry).collect()
    }

    /// Sampled observations, `n` for every row: `[n, rows * width]`.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network};
    /// # let net = Network::mlp([1, 16, 1], Activation::Relu).build()?;
    /// let out = net.predict(&Matrix::column(vec![0.5, 0.6, 0.7])?)?;
    /// let samples = out.samples(100, 0)?;
    /// assert_eq!((samples.rows(), samples.width()), (100, 3));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn samples(&self, n: usize, seed: u64) -> Result<Matrix> {
        let (mut rng, entries) = (rng::stream(seed, "samples", 0), self.mean().len());
        let mut all = Vec::with_capacity(n * entries);
        for _ in 0..n {
            for i in 0..entries {
                stop::check()?;
                let mut left = if self.components.is_empty() { 0.0 } else { rng::open_unit(&mut rng) };
                let chosen = self.each(i).reduce(|a, b| {
                    left -= a.weight;
                    if left > 0.0 { b } else { One { weight: f64::INFINITY, ..a } }
                });
                let one = chosen.expect("weights add up to 1");
                all.push(one.at(one.tails.draw(&mut rng)));
            }
        }
        Matrix::new(all, entries)
    }
}

/// The logarithm of a sum of densities with weights.
pub fn ln_mixed(each: &[(f64, f64)]) -> f64 {
    let most = each.iter().map(|e| e.1).fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + libm::log(each.iter().map(|(weight, ln)| weight * libm::exp(ln - most)).sum::<f64>())
}

impl From<Prediction> for Gaussian {
    fn from(prediction: Prediction) -> Self {
        prediction.output
    }
}

impl<'a> From<&'a Prediction> for Input<'a> {
    fn from(prediction: &'a Prediction) -> Self {
        Input::from(&prediction.output)
    }
}
