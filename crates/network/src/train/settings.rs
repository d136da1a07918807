//! How to fit a network: epochs, batches, noise, order, early stopping.

use tractable_core::error::{Error, Result};

/// Standard deviation of the observation noise from epoch to epoch: `max(floor, start * decay^epoch)`.
///
/// ```
/// let noise = tractable::train::NoiseSchedule { start: 1.0, decay: 0.5, floor: 0.3 };
/// assert_eq!([0, 1, 2].map(|epoch| noise.at(epoch)), [1.0, 0.5, 0.3]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize))]
pub struct NoiseSchedule {
    /// In the first epoch.
    pub start: f64,
    /// Factor from one epoch to the next.
    pub decay: f64,
    /// Never below this.
    pub floor: f64,
}

impl NoiseSchedule {
    /// The noise of an epoch, counted from 0.
    ///
    /// ```
    /// assert_eq!(tractable::train::NoiseSchedule { start: 2.0, decay: 1.0, floor: 0.0 }.at(9), 2.0);
    /// ```
    pub fn at(&self, epoch: usize) -> f64 {
        (self.start * power(self.decay, epoch)).max(self.floor)
    }
}

/// `base^n`, bit-identical everywhere, unlike the system's `pow`: products of 106 bits, rounded once.
fn power(base: f64, mut n: usize) -> f64 {
    let times = |(a, a_low): (f64, f64), (b, b_low): (f64, f64)| {
        let product = a * b;
        if !product.is_finite() {
            return (product, 0.0);
        }
        let low = libm::fma(a, b, -product) + (a * b_low + a_low * b);
        (product + low, low - (product + low - product))
    };
    let (mut square, mut result) = ((base, 0.0), (1.0, 0.0));
    while n > 0 {
        if n % 2 == 1 {
            result = times(result, square);
        }
        square = times(square, square);
        n /= 2;
    }
    result.0
}

/// Weight of a batch at the end of an annealed fit.
const LEAST_WEIGHT: f64 = 0.05;
/// Epochs over which the steps of a paced network get longer.
const RISE: f64 = 0.5;

/// How to fit a network to a data set.
///
/// ```
/// use tractable::Fit;
/// let fit = Fit::new().epochs(40).batch(1).noise_std(0.3);
/// assert_eq!((fit.epochs, fit.batch), (40, 1));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Fit {
    /// Passes over the data.
    pub epochs: usize,
    /// Samples per batch.
    pub batch: usize,
    /// Noise of the observations; `None` leaves the network's own.
    pub noise: Option<NoiseSchedule>,
    /// After this many epochs, switch to this noise (a standard deviation).
    #[cfg_attr(feature = "files", serde(default))]
    pub settle: Option<(usize, f64)>,
    /// The share of the epochs after which the weight of a batch decreases, down to a twentieth in the last epoch; only
    /// for [`UpdateRule::Counted`](crate::UpdateRule::Counted).
    #[cfg_attr(feature = "files", serde(default))]
    pub anneal: Option<f64>,
    /// Whether every epoch has its own random order.
    pub shuffle: bool,
    /// Seed of that order and of the validation split; `None` takes the network's.
    pub seed: Option<u64>,
    /// Share of the data held out for validation, 0 to 1; needed for early stopping.
    pub validation: f64,
    /// Stop after this many epochs without a better validation score, and restore the best.
    pub patience: Option<usize>,
    /// Epochs already done: a saved and loaded fit continues from here with the same order and noise.
    pub first_epoch: usize,
}

impl Default for Fit {
    fn default() -> Self {
        Fit {
            epochs: 50,
            batch: 16,
            noise: None,
            settle: None,
            anneal: None,
            shuffle: true,
            seed: None,
            validation: 0.0,
            patience: None,
            first_epoch: 0,
        }
    }
}

impl Fit {
    /// 50 shuffled epochs of batches of 16, with the network's own noise.
    ///
    /// ```
    /// assert_eq!(tractable::Fit::new().epochs, 50);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Passes over the data.
    ///
    /// ```
    /// assert_eq!(tractable::Fit::new().epochs(3).epochs, 3);
    /// ```
    pub fn epochs(mut self, epochs: usize) -> Self {
        self.epochs = epochs;
        self
    }

    /// Samples per batch; 1 is the exact one-at-a-time update.
    ///
    /// ```
    /// assert_eq!(tractable::Fit::new().batch(1).batch, 1);
    /// ```
    pub fn batch(mut self, rows: usize) -> Self {
        self.batch = rows;
        self
    }

    /// The same noise, as a standard deviation, in every epoch.
    ///
    /// ```
    /// assert_eq!(tractable::Fit::new().noise_std(0.3).noise.unwrap().at(7), 0.3);
    /// ```
    pub fn noise_std(self, std: f64) -> Self {
        self.noise(NoiseSchedule { start: std, decay: 1.0, floor: std })
    }

    /// A noise schedule over epochs.
    ///
    /// ```
    /// use tractable::{Fit, train::NoiseSchedule};
    /// let noise = NoiseSchedule { start: 1.0, decay: 0.975, floor: 0.3 };
    /// assert_eq!(Fit::new().noise(noise).noise, Some(noise));
    /// ```
    pub fn noise(mut self, schedule: NoiseSchedule) -> Self {
        self.noise = Some(schedule);
        self
    }

    /// Switches to this noise after this many epochs. Small noise makes large steps, which progress
    /// quickly but keep wandering; large noise at the end makes small steps, so that the weights settle in the middle of
    /// where they wandered.
    ///
    /// ```
    /// let fit = tractable::Fit::new().epochs(3).noise_std(0.3).settle(2, 1.0);
    /// assert_eq!([0, 1, 2].map(|epoch| fit.noise_at(epoch)), [Some(0.3), Some(0.3), Some(1.0)]);
    /// ```
    pub fn settle(mut self, after: usize, noise_std: f64) -> Self {
        self.settle = Some((after, noise_std));
        self
    }

    /// After this share of the epochs the weight of a batch decreases, so that weights settle. For networks
    /// that [count](crate::UpdateRule::Counted) rows.
    ///
    /// ```
    /// let fit = tractable::Fit::new().epochs(4).anneal(0.5);
    /// assert_eq!([0, 2, 3].map(|epoch| fit.weight_at(epoch)), [1.0, 1.0, 0.525]);
    /// ```
    pub fn anneal(mut self, after: f64) -> Self {
        self.anneal = Some(after);
        self
    }

    /// Weight of a batch in an epoch, counted from 0.
    ///
    /// ```
    /// assert_eq!(tractable::Fit::new().weight_at(49), 1.0);
    /// ```
    pub fn weight_at(&self, epoch: usize) -> f64 {
        let done = epoch as f64 / self.epochs as f64;
        match self.anneal {
            Some(after) if done > after => 1.0 - (1.0 - LEAST_WEIGHT) * (done - after) / (1.0 - after),
            _ => 1.0,
        }
    }

    /// The length of a [paced](crate::UpdateRule::Paced) network's steps after this many epochs, as a share of its full length: rises over the
    /// first half epoch, and falls as a cosine to 0 at the end. It depends on nothing but the epochs, done and in total: a resumed fit ends with the
    /// same bits as an uninterrupted one, and one with more epochs than before continues on the course of the longer fit.
    ///
    /// ```
    /// let fit = tractable::Fit::new().epochs(8);
    /// assert_eq!([0.0, 0.5, 8.0].map(|epochs| fit.pace_at(epochs) > 0.9), [false, true, false]);
    /// assert!((fit.pace_at(4.0) - 0.5).abs() < 1e-15);
    /// ```
    pub fn pace_at(&self, epochs: f64) -> f64 {
        let done = (epochs / self.epochs as f64).min(1.0);
        (epochs / RISE).min(1.0) * 0.5 * (1.0 + libm::cos(std::f64::consts::PI * done))
    }

    /// The noise of an epoch, counted from 0, as a standard deviation; `None` leaves the network's own.
    ///
    /// ```
    /// assert_eq!(tractable::Fit::new().noise_at(0), None);
    /// ```
    pub fn noise_at(&self, epoch: usize) -> Option<f64> {
        match self.settle {
            Some((after, std)) if epoch >= after => Some(std),
            _ => self.noise.map(|noise| noise.at(epoch)),
        }
    }

    /// Whether every epoch has its own random order.
    ///
    /// ```
    /// assert!(!tractable::Fit::new().shuffle(false).shuffle);
    /// ```
    pub fn shuffle(mut self, shuffle: bool) -> Self {
        self.shuffle = shuffle;
        self
    }

    /// Seed of the order and of the validation split.
    ///
    /// ```
    /// assert_eq!(tractable::Fit::new().seed(4).seed, Some(4));
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Holds out this share of the data and stops after `patience` epochs without a better log-likelihood
    /// on it; the network is reset to its best epoch.
    ///
    /// ```
    /// let fit = tractable::Fit::new().early_stopping(0.1, 5);
    /// assert_eq!((fit.validation, fit.patience), (0.1, Some(5)));
    /// ```
    pub fn early_stopping(mut self, share: f64, patience: usize) -> Self {
        self.validation = share;
        self.patience = Some(patience);
        self
    }

    /// Continues from this epoch, counted from 0, with the order and noise it would have had.
    ///
    /// ```
    /// assert_eq!(tractable::Fit::new().first_epoch(10).first_epoch, 10);
    /// ```
    pub fn first_epoch(mut self, epoch: usize) -> Self {
        self.first_epoch = epoch;
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        let positive = |v: f64| v > 0.0 && v.is_finite();
        if self.epochs == 0 || self.batch == 0 {
            return Err(Error::invalid("fit", "epochs and batch must be at least 1"));
        }
        if let Some(n) = self.noise
            && !(positive(n.start) && positive(n.decay) && n.floor >= 0.0 && positive(n.at(self.epochs - 1)))
        {
            let why = format!(
                "{}, times {} per epoch and at least {}, does not stay positive",
                n.start, n.decay, n.floor
            );
            return Err(Error::invalid("noise", why));
        }
        if let Some((_, std)) = self.settle.filter(|(_, std)| !positive(*std)) {
            return Err(Error::invalid(
                "noise",
                format!("{std}, the noise to settle with, is not a positive number"),
            ));
        }
        if let Some(after) = self.anneal.filter(|after| !(0.0..=1.0).contains(after)) {
            return Err(Error::invalid("anneal", format!("{after} is not between 0 and 1")));
        }
        if !(0.0..1.0).contains(&self.validation) {
            return Err(Error::invalid("validation", format!("{} is not in [0, 1)", self.validation)));
        }
        if self.patience.is_some() && self.validation == 0.0 {
            return Err(Error::invalid("early stopping", "needs a share of the data for validation"));
        }
        if self.patience == Some(0) {
            return Err(Error::invalid(
                "early stopping",
                "a patience of 0 epochs would stop before learning",
            ));
        }
        Ok(())
    }
}
