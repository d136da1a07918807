//! Settings of `train` for images: the recipe of each set, and random changes to its images.

use super::TrainSettings;
use crate::image_sets::ImageSet;
use crate::report::Outcome;
use serde::{Deserialize, Serialize};
use tractable::data::{Augment, Images};
use tractable::network::{Head, NetworkBuilder, UpdateRule};
use tractable::{Activation, Fit, Network, recipes, rng};

/// Networks by name. Its names have no documentation of their own, or the help of `train` would be pages long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Net {
    #[default]
    Paper,
    PaperNorm,
    Mlp,
    Resnet18,
    Resnet20,
    #[serde(rename = "wrn-16-4")]
    #[value(name = "wrn-16-4")]
    Wrn164,
}

impl Net {
    /// Whether it is one of the residual networks.
    fn is_residual(self) -> bool {
        matches!(self, Net::Resnet18 | Net::Resnet20 | Net::Wrn164)
    }
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

impl TrainSettings {
    /// Whether the network is an MLP, whose layers may be chosen.
    pub(super) fn is_mlp(&self) -> bool {
        self.net == Net::Mlp
    }

    /// How classes are read from the output, and updates combined, unless flags say so.
    pub(super) fn defaults_of_net(&self) -> (Head, UpdateRule) {
        match self.net.is_residual() {
            true => (Head::Softmax, recipes::RESIDUAL_RULE),
            false => (Head::Tree, UpdateRule::Capped),
        }
    }

    pub(crate) fn fit_images(&self) -> Fit {
        let mut fit = Fit::new().epochs(self.epochs).batch(self.batch).seed(self.seed);
        fit.noise = self.noise();
        self.settle_after.into_iter().fold(fit, |fit, after| fit.settle(after, self.settle_noise))
    }

    /// Training images, and those held out for calibration.
    pub(crate) fn keep_aside(&self, images: Images) -> Outcome<(Images, Option<Images>)> {
        let aside = (images.len() as f64 * self.calibration()).round() as usize;
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
        let (shape, classes) = (images.shape(), images.class_names().len());
        let net = match (self.net, set) {
            (Net::Mlp, _) => {
                let widths = [images.shape().len()].into_iter().chain(self.hidden.iter().copied());
                Network::mlp(widths.chain([classes]), Activation::Relu).classes(classes)
            }
            (Net::Paper, ImageSet::Cifar10) => recipes::cifar10(),
            (Net::Paper, _) => recipes::mnist(),
            (Net::PaperNorm, ImageSet::Cifar10) => recipes::cifar10_norm(),
            (Net::PaperNorm, _) => recipes::mnist_norm(),
            (Net::Resnet18, _) => recipes::resnet18(shape, classes),
            (Net::Resnet20, _) => recipes::resnet20(shape, classes),
            (Net::Wrn164, _) => recipes::wrn_16_4(shape, classes),
        };
        let net = net.prior(self.weights_prior()).update_rule(self.rule()).seed(self.seed);
        match self.head() {
            Head::Softmax => net.head(Head::Softmax),
            head => net.head(head).noise_std([self.noise_start.unwrap_or(1.0)]),
        }
    }
}
