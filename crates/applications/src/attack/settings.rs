//! How far, how long and where an image may be moved: [`Settings`].

use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Matrix;
use tractable_network::network::Network;

/// Maximum distance from the original image, in the units of its pixels.
///
/// ```
/// use tractable::attack::{Budget, Settings};
/// let settings = Settings::new().budget(Budget::Linf(8.0 / 255.0));
/// assert_eq!("l2:0.5".parse(), Ok(Budget::L2(0.5)));
/// assert_eq!(Budget::Linf(0.1).to_string(), "linf:0.1");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Budget {
    /// The largest change of a pixel.
    Linf(f64),
    /// The square root of the sum of the squared changes.
    L2(f64),
}

impl Budget {
    /// The size.
    ///
    /// ```
    /// assert_eq!(tractable::attack::Budget::L2(0.5).size(), 0.5);
    /// ```
    pub fn size(self) -> f64 {
        let (Budget::Linf(size) | Budget::L2(size)) = self;
        size
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Budget::Linf(size) => write!(f, "linf:{size}"),
            Budget::L2(size) => write!(f, "l2:{size}"),
        }
    }
}

impl std::str::FromStr for Budget {
    type Err = String;

    /// `linf:0.1` or `l2:0.5`; a number may be a fraction such as `8/255`.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || format!("`{text}` is not a budget; write linf:0.1, linf:8/255 or l2:0.5");
        let (norm, size) = text.split_once(':').ok_or_else(wrong)?;
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
        let size = match size.split_once('/') {
            Some((over, under)) => number(over)? / number(under)?,
            None => number(size)?,
        };
        match norm {
            _ if !(size > 0.0 && size.is_finite()) => {
                Err(format!("a budget of {size} is not a positive number"))
            }
            "linf" => Ok(Budget::Linf(size)),
            "l2" => Ok(Budget::L2(size)),
            _ => Err(wrong()),
        }
    }
}

/// When an attack stops.
///
/// ```
/// use tractable::attack::{Settings, Stop};
/// let sure = Settings::new().stop(Stop::Probability(0.9));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Stop {
    /// As soon as the most likely class is the target or, without one, not the label.
    #[default]
    Flipped,
    /// When the target has this probability or, without one, the label has at most 1 minus it.
    Probability(f64),
    /// Only after all iterations.
    Never,
}

/// How far, how long and where an image may be moved.
///
/// ```
/// use tractable::attack::{Budget, Settings};
/// // 100 iterations, a prior standard deviation of 0.03 in every pixel, pixels from 0 to 1, no budget.
/// let papers = Settings::new();
/// let small = Settings::new().iterations(40).budget(Budget::Linf(0.1));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub(super) iterations: usize,
    pub(super) prior_std: f64,
    pub(super) range: Option<(f64, f64)>,
    pub(super) budget: Option<Budget>,
    pub(super) frozen: Option<Vec<bool>>,
    pub(super) stop: Stop,
    pub(super) step: Option<f64>,
    pub(super) random_start: Option<u64>,
    pub(super) known_weights: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings::new()
    }
}

impl Settings {
    /// At most 100 iterations and a prior standard deviation of 0.03, as in the paper; pixels between 0 and 1, no
    /// budget, stop as soon as the label changes.
    ///
    /// ```
    /// assert_eq!(tractable::attack::Settings::new(), tractable::attack::Settings::default());
    /// ```
    pub fn new() -> Self {
        Settings {
            iterations: 100,
            prior_std: 0.03,
            range: Some((0.0, 1.0)),
            budget: None,
            frozen: None,
            stop: Stop::Flipped,
            step: None,
            random_start: None,
            known_weights: true,
        }
    }

    /// Maximum number of iterations, at least 1.
    ///
    /// ```
    /// let settings = tractable::attack::Settings::new().iterations(10);
    /// ```
    pub fn iterations(mut self, iterations: usize) -> Self {
        self.iterations = iterations;
        self
    }

    /// Makes [`infer`](super::infer) include the uncertainty of the weights, as in the paper: attacks on networks with
    /// little training then rarely succeed, because the uncertainty explains any output. By default weights are known.
    ///
    /// ```
    /// let papers = tractable::attack::Settings::new().unsure_weights();
    /// ```
    pub fn unsure_weights(mut self) -> Self {
        self.known_weights = false;
        self
    }

    /// Standard deviation that [`infer`](super::infer) gives every pixel; it limits how far one iteration moves. With
    /// [unsure weights](Settings::unsure_weights) it is the initial one.
    ///
    /// ```
    /// let settings = tractable::attack::Settings::new().prior_std(0.1);
    /// ```
    pub fn prior_std(mut self, std: f64) -> Self {
        self.prior_std = std;
        self
    }

    /// The range of pixels, in the units that the network takes; pixels are clipped to it after every iteration.
    ///
    /// ```
    /// // Pixels from 0 to 1 that were centred by hand.
    /// let settings = tractable::attack::Settings::new().range(-0.1309, 1.0 - 0.1309);
    /// ```
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// Lets pixels leave the range, as the paper's authors do.
    ///
    /// ```
    /// let settings = tractable::attack::Settings::new().unclipped();
    /// ```
    pub fn unclipped(mut self) -> Self {
        self.range = None;
        self
    }

    /// Maximum distance from the image; the change is projected onto it after every iteration.
    ///
    /// ```
    /// use tractable::attack::{Budget, Settings};
    /// let settings = Settings::new().budget(Budget::L2(0.5));
    /// ```
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Pixels to keep fixed: one entry per pixel, for all images, or one per pixel of every image.
    ///
    /// ```
    /// // Only the upper half of a 2 x 2 image.
    /// let settings = tractable::attack::Settings::new().frozen([false, false, true, true]);
    /// ```
    pub fn frozen(mut self, frozen: impl Into<Vec<bool>>) -> Self {
        self.frozen = Some(frozen.into());
        self
    }

    /// When an attack stops; [`Stop::Flipped`] unless set.
    ///
    /// ```
    /// use tractable::attack::{Settings, Stop};
    /// let settings = Settings::new().stop(Stop::Never);
    /// ```
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// How far [`pgd`](super::pgd) goes in one iteration, in the norm of its budget; unless set, 2.5 budgets
    /// over all iterations.
    ///
    /// ```
    /// let settings = tractable::attack::Settings::new().step(0.01);
    /// ```
    pub fn step(mut self, step: f64) -> Self {
        self.step = Some(step);
        self
    }

    /// Lets [`pgd`](super::pgd) start at a random point inside its budget.
    ///
    /// ```
    /// let settings = tractable::attack::Settings::new().random_start(7);
    /// ```
    pub fn random_start(mut self, seed: u64) -> Self {
        self.random_start = Some(seed);
        self
    }

    /// Checks settings and images for every attack.
    pub(super) fn check(&self, net: &Network, images: &Matrix) -> Result<()> {
        let positive = |what: &str, v: f64| match v > 0.0 && v.is_finite() {
            true => Ok(()),
            false => Err(Error::invalid(what, format!("{v} is not a positive number"))),
        };
        if self.iterations == 0 {
            return Err(Error::invalid("iterations", "at least one is needed"));
        }
        positive("prior standard deviation", self.prior_std)?;
        positive("square of the prior standard deviation", self.prior_std * self.prior_std)?;
        self.budget.map_or(Ok(()), |b| positive("budget", b.size()))?;
        self.step.map_or(Ok(()), |s| positive("step", s))?;
        if let Stop::Probability(p) = self.stop
            && !(p > 0.0 && p < 1.0)
        {
            return Err(Error::invalid("stop", format!("a probability of {p} is not between 0 and 1")));
        }
        self.check_frozen(images)?;
        self.check_range(net, images)
    }

    fn check_frozen(&self, images: &Matrix) -> Result<()> {
        let Some(frozen) = &self.frozen else { return Ok(()) };
        let (pixels, all) = (images.width(), images.data().len());
        if ![pixels, all].contains(&frozen.len()) {
            let expected = format!("{pixels} entries, one per pixel, or {all}, one per pixel of every image");
            return Err(Error::shape("frozen pixels", expected, frozen.len()));
        }
        match frozen.chunks_exact(pixels).position(|row| row.iter().all(|f| *f)) {
            None => Ok(()),
            Some(_) if frozen.len() == pixels => {
                Err(Error::invalid("frozen pixels", "all pixels are frozen"))
            }
            Some(row) => {
                Err(Error::invalid("frozen pixels", format!("all pixels of image {row} are frozen")))
            }
        }
    }

    fn check_range(&self, net: &Network, images: &Matrix) -> Result<()> {
        let Some((low, high)) = self.range else { return Ok(()) };
        if !(low < high && (high - low).is_finite()) {
            return Err(Error::invalid("pixel range", format!("{low} to {high} is not a range")));
        }
        if let Some(at) = images.data().iter().position(|p| !(low..=high).contains(p)) {
            return Err(Error::OutOfRange {
                what: "images".into(),
                row: at / images.width(),
                column: at % images.width(),
                value: images.data()[at],
                why: format!(
                    "pixels must be between {low} and {high}; divide bytes by 255, or set another range"
                ),
            });
        }
        let of_training = net.input_scaler().map_or(&[][..], |s| s.mean());
        match of_training.iter().find(|m| !(low..=high).contains(*m)) {
            None => Ok(()),
            Some(mean) => Err(Error::invalid(
                "pixel range",
                format!(
                    "the network was fitted to pixels of another scale: the mean of one is {mean}, and the range is \
                     {low} to {high}"
                ),
            )),
        }
    }
}
