//! Settings of `train` for images: flags, the recipe of each set, and how a resumed run keeps its own.

use super::{self as settings, DeviceName, TrainFlags};
use crate::image_sets::ImageSet;
use crate::report::{Exit, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;
use tractable::data::{Augment, Images, PixelScaling};
use tractable::{
    Activation, Fit, Network, NetworkBuilder, NoiseSchedule, Prior, Scheme, UpdateRule, recipes, rng,
};

/// Flags that only images have; those they share with tables are in [`TrainFlags`].
#[derive(clap::Args, Serialize)]
#[command(next_help_heading = "Images")]
pub(crate) struct ImageFlags {
    /// Folder with the set's files, or its parent
    #[arg(long, value_name = "DIR")]
    #[serde(skip)]
    pub(crate) data: Option<PathBuf>,
    /// paper, paper-norm (with batch normalisation) or mlp [default: paper]
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    net: Option<Net>,
    /// Augment images in every epoch: flip, crop, cutout [without a value: crop; for colour images all three]
    #[arg(long, value_name = "HOW,...", value_delimiter = ',', hide_possible_values = true)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "usual")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    augment: Vec<Change>,
    /// Scaling of pixels: none, center or standardize [default: center]
    #[arg(long, value_name = "NAME", value_parser = settings::named::<PixelScaling>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    scaling: Option<PixelScaling>,
    /// After this many epochs, switch to the noise --settle-noise: smaller steps, so that weights settle
    #[arg(long, value_name = "EPOCHS", value_parser = settings::whole)]
    #[serde(skip_serializing_if = "Option::is_none")]
    settle_after: Option<usize>,
    /// Noise after --settle-after [default: 1]
    #[arg(long, value_name = "STD", requires = "settle_after")]
    #[serde(skip_serializing_if = "Option::is_none")]
    settle_noise: Option<f64>,
    /// Use only the first N training and test images; any number for digits
    #[arg(long, value_name = "N", value_parser = settings::whole)]
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<usize>,
}

/// Networks by name. Its names have no documentation of their own, or the help of `train` would be pages long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Net {
    #[default]
    Paper,
    PaperNorm,
    Mlp,
}

/// A random change to images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Change {
    Usual,
    Flip,
    Crop,
    Cutout,
}

/// Everything that determines a run, except the images; stored in `config.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImageSettings {
    pub(crate) net: Net,
    pub(crate) hidden: Vec<usize>,
    pub(crate) augment: Vec<Change>,
    pub(crate) scaling: PixelScaling,
    pub(crate) limit: Option<usize>,
    pub(crate) epochs: usize,
    pub(crate) batch: usize,
    noise_start: f64,
    noise_decay: f64,
    noise_floor: f64,
    #[serde(default)]
    settle_after: Option<usize>,
    #[serde(default = "one")]
    settle_noise: f64,
    #[serde(alias = "policy")]
    update_rule: UpdateRule,
    prior: Scheme,
    gain: f64,
    bias_var: Option<f64>,
    pub(crate) seed: u64,
    pub(crate) device: DeviceName,
    /// Share of the images that class probabilities are calibrated on; older runs held out none.
    #[serde(default)]
    calibration: f64,
}

/// The noise to settle with, of runs that did not say.
fn one() -> f64 {
    1.0
}

impl Default for ImageSettings {
    /// The paper's recipe.
    fn default() -> Self {
        ImageSettings {
            net: Net::default(),
            hidden: Vec::new(),
            augment: Vec::new(),
            scaling: PixelScaling::default(),
            limit: None,
            epochs: 50,
            batch: 16,
            noise_start: 1.0,
            noise_decay: 0.975,
            noise_floor: 0.3,
            settle_after: None,
            settle_noise: one(),
            update_rule: UpdateRule::default(),
            prior: Prior::default().scheme,
            gain: 1.0,
            bias_var: None,
            seed: 0,
            device: DeviceName::default(),
            calibration: 0.05,
        }
    }
}

impl ImageFlags {
    /// The names of those that were given.
    pub(crate) fn given(&self) -> Map<String, Value> {
        let mut given = settings::to_map(self);
        if self.data.is_some() {
            given.insert("data".into(), Value::Null);
        }
        given
    }

    /// What all flags ask for, by the names of [`ImageSettings`].
    fn asked(&self, flags: &TrainFlags) -> Outcome<Map<String, Value>> {
        let mut asked = flags.given();
        // The noise of labels cannot be inferred.
        if asked.get("noise").is_some_and(|how| how == "known") {
            asked.remove("noise");
        }
        let known = settings::to_map(&ImageSettings::default());
        if let Some(other) = asked.keys().find(|name| !known.contains_key(*name)) {
            let flag = other.replace('_', "-");
            return Err(Exit::Error(format!("--{flag}: applies to CSV files, not to images; leave it out")));
        }
        asked.extend(settings::to_map(self));
        Ok(asked)
    }

    /// The settings of a new run.
    pub(crate) fn settings(&self, flags: &TrainFlags) -> Outcome<ImageSettings> {
        let mut settings = settings::with_given(&ImageSettings::default(), self.asked(flags)?)?;
        if settings.net == Net::Mlp && settings.hidden.is_empty() {
            settings.hidden = vec![100, 100];
        }
        settings.check()?;
        Ok(settings)
    }

    /// The settings of a resumed run: its own. Flags may repeat them; only the epochs and the device may differ.
    pub(crate) fn settings_of(&self, flags: &TrainFlags, run: &ImageSettings) -> Outcome<ImageSettings> {
        let asked = self.asked(flags)?;
        let epochs = settings::same_but_epochs(&asked, &settings::to_map(run))?.unwrap_or(run.epochs);
        let settings = ImageSettings { epochs, device: flags.device().unwrap_or(run.device), ..run.clone() };
        settings.check()?;
        Ok(settings)
    }
}

impl ImageSettings {
    fn check(&self) -> Outcome {
        settings::check_positive(&[
            ("--noise-start", self.noise_start),
            ("--noise-decay", self.noise_decay),
            ("--settle-noise", self.settle_noise),
            ("--gain", self.gain),
            ("--bias-var", self.bias_var.unwrap_or(1.0)),
        ])?;
        let counts =
            [("--epochs", self.epochs), ("--batch", self.batch), ("--limit", self.limit.unwrap_or(1))];
        settings::check_counts(&counts)?;
        settings::check_floor(self.noise_floor)?;
        if !(0.0..1.0).contains(&self.calibration) {
            return Err(Exit::Error(format!("--calibration {}: is not a share in [0, 1)", self.calibration)));
        }
        if self.net != Net::Mlp && !self.hidden.is_empty() {
            return Err(Exit::Error(
                "--hidden: applies only to --net mlp; the paper's networks have fixed layers".into(),
            ));
        }
        Ok(())
    }

    pub(crate) fn fit(&self) -> Fit {
        let noise =
            NoiseSchedule { start: self.noise_start, decay: self.noise_decay, floor: self.noise_floor };
        let fit = Fit::new().epochs(self.epochs).batch(self.batch).noise(noise).seed(self.seed);
        self.settle_after.into_iter().fold(fit, |fit, after| fit.settle(after, self.settle_noise))
    }

    /// Training images, and those held out for calibration.
    pub(crate) fn keep_aside(&self, images: Images) -> Outcome<(Images, Option<Images>)> {
        let aside = (images.len() as f64 * self.calibration).round() as usize;
        if aside == 0 || aside >= images.len() {
            return Ok((images, None));
        }
        let mut order: Vec<usize> = (0..images.len()).collect();
        rng::shuffle(&mut order, &mut rng::stream(self.seed, "calibration", 0));
        let mut learned = order.split_off(aside);
        learned.sort_unstable();
        Ok((images.select(&learned)?, Some(images.select(&order)?)))
    }

    /// The images as this run learns them.
    pub(crate) fn prepare(&self, images: Images) -> Images {
        let images = images.scaling(self.scaling);
        if self.augment.is_empty() {
            return images;
        }
        let colour = images.shape().channels == 3;
        let usual = self.augment.contains(&Change::Usual);
        // Mirrored digits are not digits.
        let has = |change| self.augment.contains(&change) || (usual && (colour || change == Change::Crop));
        images.augment(Augment {
            flip: has(Change::Flip),
            crop: if has(Change::Crop) { if colour { 4 } else { 2 } } else { 0 },
            cutout: if has(Change::Cutout) { 8 } else { 0 },
        })
    }

    pub(crate) fn build(&self, set: ImageSet, images: &Images) -> NetworkBuilder {
        let classes = images.class_names().len();
        let net = match (self.net, set) {
            (Net::Mlp, _) => {
                let widths = [images.shape().len()].into_iter().chain(self.hidden.iter().copied());
                Network::mlp(widths.chain([classes]), Activation::Relu).classes(classes)
            }
            (Net::Paper, ImageSet::Cifar10) => recipes::cifar10(),
            (Net::Paper, _) => recipes::mnist(),
            (Net::PaperNorm, ImageSet::Cifar10) => recipes::cifar10_norm(),
            (Net::PaperNorm, _) => recipes::mnist_norm(),
        };
        let prior = Prior { scheme: self.prior, gain: self.gain, bias_var: self.bias_var };
        net.prior(prior).update_rule(self.update_rule).noise_std([self.noise_start]).seed(self.seed)
    }
}
