//! Settings of `train`, each described once: its flag, its default, its help and its place in `config.json` come
//! from one field of [`TrainSettings`].

mod columns;
mod device;
mod flags;
mod images;
mod run;

pub use device::DeviceName;
pub(crate) use device::{flops_of_learning, gpu_or_cpu};
pub(crate) use flags::TrainFlags;
use images::{Change, Net};
pub(crate) use run::{Kind, RunSettings};

use crate::report::{Exit, Outcome};
use clap::{Args as _, FromArgMatches};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use tractable::data::{As, PixelScaling};
use tractable::{
    Activation, Noise, Prior,
    network::{Head, Scheme, UpdateRule},
    train::NoiseSchedule,
};

/// Heading of the flags that describe a network or its training.
const OWN: &str = "A single network instead of the default model";
/// Heading of the flags that only images have.
const IMAGES: &str = "Images";

/// Everything that determines a run, except the data. An `Option` without a value has a default that depends on the
/// kind of run.
#[derive(clap::Args, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TrainSettings {
    /// Column to predict, or several separated by commas
    #[arg(long, alias = "targets", value_name = "COL,...", value_delimiter = ',', value_parser = trimmed)]
    pub(crate) target: Vec<String>,
    /// The target's values are classes, not numbers
    #[arg(long)]
    pub(crate) classes: bool,
    /// Columns to leave out
    #[arg(long, value_name = "COL,...", value_delimiter = ',', value_parser = trimmed)]
    drop: Vec<String>,
    /// Columns that identify rows: not used as inputs, but copied to predictions
    #[arg(long = "id", value_name = "COL,...", value_delimiter = ',', value_parser = trimmed)]
    ids: Vec<String>,
    /// Column that says which rows belong together: left out together, and not an input unless --as gives it a type
    #[arg(long, value_name = "COL", value_parser = trimmed, conflicts_with = "time")]
    pub(crate) group: Option<String>,
    /// Column with the time of a row: rows left out are later than those learned; an input unless --drop names it
    #[arg(long, value_name = "COL", value_parser = trimmed)]
    pub(crate) time: Option<String>,
    /// Type of a column: number, category, date, day-first or month-first [default: detected]
    #[arg(long = "as", value_name = "COL=TYPE,...", value_delimiter = ',', value_parser = treated)]
    treat: Vec<(String, As)>,
    /// Keep one network, the most likely on a fifth of the rows; takes a fifth of the time
    #[arg(long)]
    pub(crate) single: bool,
    /// Stream rows from disk for every epoch instead of keeping them in memory [default: above 512 MiB]
    #[arg(long)]
    pub(crate) stream: bool,
    /// Random seed, also for the splits
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Share of the rows to hold out and evaluate at the end
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) test: f64,
    /// Units of the hidden layers [default: 50,50]
    #[arg(long, help_heading = OWN, value_name = "N,...", value_delimiter = ',')]
    pub(crate) hidden: Vec<usize>,
    #[arg(long, help = Activation::names(|_| true), help_heading = OWN, value_name = "NAME", default_value = "relu")]
    pub(crate) activation: Activation,
    /// Passes over the data
    #[arg(long, alias = "epoch", help_heading = OWN, value_name = "N", default_value = "50", value_parser = whole)]
    pub(crate) epochs: usize,
    /// Rows per update; 1 is the exact update
    #[arg(long, help_heading = OWN, value_name = "ROWS", default_value = "16", value_parser = whole)]
    pub(crate) batch: usize,
    // How the noise is found: from the flags below.
    #[arg(skip)]
    pub(crate) noise: Noise,
    /// Known noise of the observations, in standard deviations of the target [default: inferred]
    #[arg(long, help_heading = OWN, value_name = "STD", conflicts_with_all = ["noise_start", "noise_decay", "noise_floor"])]
    #[serde(skip)]
    noise_std: Option<f64>,
    /// Infer noise that depends on the inputs
    #[arg(long, help_heading = OWN, conflicts_with_all = ["noise_std", "noise_start", "classes"])]
    #[serde(skip)]
    noise_per_input: bool,
    /// Noise of the first epoch, for a schedule [default with --classes: 1]
    #[arg(long, help_heading = OWN, value_name = "STD")]
    noise_start: Option<f64>,
    /// Factor on the noise after every epoch [default: 0.975]
    #[arg(long, help_heading = OWN, value_name = "F")]
    noise_decay: Option<f64>,
    /// Lowest noise of the schedule [default: 0.3]
    #[arg(long, help_heading = OWN, value_name = "STD")]
    noise_floor: Option<f64>,
    /// How to combine the updates of a batch: capped, plain, or paced for deep networks [default: capped; of resnets paced]
    #[arg(long, help_heading = OWN, alias = "policy", value_name = "NAME", value_parser = update_rule)]
    #[serde(alias = "policy", skip_serializing_if = "Option::is_none")]
    pub(crate) update_rule: Option<UpdateRule>,
    /// How classes are read from the output: tree, or softmax, which has no noise [default: tree; of resnets softmax]
    #[arg(long, help_heading = OWN, value_name = "NAME", value_parser = named::<Head>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<Head>,
    /// Prior variance of the weights: he (1/inputs), xavier, or even (the same small one) [default: he; if paced even]
    #[arg(long, help_heading = OWN, value_name = "NAME", value_parser = named::<Scheme>)]
    prior: Option<Scheme>,
    /// Factor on the weights' prior variance
    #[arg(long, help_heading = OWN, value_name = "F", default_value_t = 1.0)]
    gain: f64,
    /// Prior variance of the biases [default: as for the weights]
    #[arg(long, help_heading = OWN, value_name = "VAR")]
    bias_var: Option<f64>,
    /// Share of the rows to hold out for validation
    #[arg(long, help_heading = OWN, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) validation: f64,
    /// Stop after this many epochs without a better validation score, and keep the best
    #[arg(long, help_heading = OWN, value_name = "EPOCHS", value_parser = whole)]
    pub(crate) patience: Option<usize>,
    /// Share of the rows to hold out for calibration at the end; 0 turns it off [default: 0.1, of images 0.05]
    #[arg(long, help_heading = OWN, value_name = "SHARE")]
    calibration: Option<f64>,
    /// Do not standardise columns; the noise is then in the target's units
    #[arg(long, help_heading = OWN)]
    pub(crate) no_standardize: bool,
    /// Do not shuffle the rows
    #[arg(long, help_heading = OWN)]
    pub(crate) no_shuffle: bool,
    /// Where one network trains; cuda-fast is less precise
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    pub(crate) device: DeviceName,
    /// Folder with the set's files, or its parent
    #[arg(long, help_heading = IMAGES, value_name = "DIR")]
    #[serde(skip)]
    pub(crate) data: Option<PathBuf>,
    /// paper, paper-norm (with batch normalisation), mlp, resnet18, resnet20 or wrn-16-4
    #[arg(long, help_heading = IMAGES, value_name = "NAME", default_value = "paper", hide_possible_values = true)]
    net: Net,
    /// Augment images in every epoch: flip, crop, cutout [without a value: crop; for colour images all three]
    #[arg(long, help_heading = IMAGES, value_name = "HOW,...", value_delimiter = ',', hide_possible_values = true)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "usual")]
    augment: Vec<Change>,
    /// Scaling of pixels: none, center or standardize
    #[arg(long, help_heading = IMAGES, value_name = "NAME", default_value = "center", value_parser = named::<PixelScaling>)]
    scaling: PixelScaling,
    /// After this many epochs, switch to the noise --settle-noise: smaller steps, so that weights settle
    #[arg(long, help_heading = IMAGES, value_name = "EPOCHS", value_parser = whole)]
    settle_after: Option<usize>,
    /// Noise after --settle-after
    #[arg(long, help_heading = IMAGES, value_name = "STD", default_value_t = 1.0, requires = "settle_after")]
    settle_noise: f64,
    /// Use only the first N training and test images; any number for digits
    #[arg(long, help_heading = IMAGES, value_name = "N", value_parser = whole)]
    pub(crate) limit: Option<usize>,
}

impl Default for TrainSettings {
    /// What the flags say if none is given.
    fn default() -> Self {
        let none = Self::augment_args(clap::Command::new("train")).get_matches_from(["train"]);
        Self::from_arg_matches(&none).expect("every flag has a default")
    }
}

impl TrainSettings {
    /// Checks values beyond the flags' types, and names the flag. The library checks again.
    fn check(&self) -> Outcome {
        let noise = if self.noise_std.is_some() { "--noise-std" } else { "--noise-start" };
        let positive = [
            (noise, self.noise_start.unwrap_or(1.0)),
            ("--noise-decay", self.noise_decay.unwrap_or(1.0)),
            ("--settle-noise", self.settle_noise),
            ("--gain", self.gain),
            ("--bias-var", self.bias_var.unwrap_or(1.0)),
        ];
        let counts = [
            ("--epochs", self.epochs),
            ("--batch", self.batch),
            ("--patience", self.patience.unwrap_or(1)),
            ("--limit", self.limit.unwrap_or(1)),
        ];
        let shares =
            [("--validation", self.validation), ("--test", self.test), ("--calibration", self.calibration())];
        let refuse = |why: String| Err(Exit::Error(why));
        if let Some((flag, v)) = positive.iter().find(|(_, v)| !(*v > 0.0 && v.is_finite())) {
            return refuse(format!("{flag}: {v} is not a positive number"));
        }
        if let Some(floor) = self.noise_floor.filter(|f| !(*f >= 0.0 && f.is_finite())) {
            return refuse(format!("--noise-floor: {floor} is not a positive number or 0"));
        }
        if let Some((flag, _)) = counts.iter().find(|(_, n)| *n == 0) {
            return refuse(format!("{flag}: must be at least 1"));
        }
        if let Some((flag, share)) = shares.iter().find(|(_, share)| !(0.0..1.0).contains(share)) {
            return refuse(format!("{flag}: {share} is not a share: use a number from 0 to below 1"));
        }
        if self.patience.is_some() && self.validation == 0.0 {
            return refuse("--patience: needs validation rows: add --validation 0.1".into());
        }
        for (flag, column) in [("--group", &self.group), ("--time", &self.time)] {
            if self.stream && column.is_some() {
                return refuse(format!(
                    "{flag}: streamed rows are held out at random; leave out --stream, or {flag}"
                ));
            }
        }
        if self.stream && self.test > 0.0 {
            let why = "streamed rows cannot be held out for a test; the rows left out are scored";
            return refuse(format!("--test: {why}"));
        }
        Ok(())
    }

    /// Share of the rows that the model is calibrated on; older runs held out none.
    pub(crate) fn calibration(&self) -> f64 {
        self.calibration.unwrap_or(0.0)
    }

    /// The noise of every epoch, where it is known.
    pub(crate) fn noise(&self) -> Option<NoiseSchedule> {
        let (start, decay, floor) = (self.noise_start?, self.noise_decay?, self.noise_floor?);
        (self.noise == Noise::Known).then_some(NoiseSchedule { start, decay, floor })
    }

    /// How classes are read from the output.
    pub(crate) fn head(&self) -> Head {
        self.head.unwrap_or_default()
    }

    pub(crate) fn weights_prior(&self) -> Prior {
        let usual = match self.rule() {
            UpdateRule::Paced { .. } => Prior::deep(),
            _ => Prior::he(),
        };
        let scheme = self.prior.unwrap_or(usual.scheme);
        Prior { scheme, gain: self.gain, bias_var: self.bias_var, ..usual }
    }

    /// How the updates of a batch are combined; a fit counts its own rows.
    pub(crate) fn rule(&self) -> UpdateRule {
        self.update_rule.unwrap_or_default()
    }
}

/// A whole number that may be written as 1e3.
pub(crate) fn whole(text: &str) -> Result<usize, String> {
    let number = text.parse::<usize>().ok().or_else(|| {
        let value = text.parse::<f64>().ok()?;
        ((0.0..=1e15).contains(&value) && value.fract() == 0.0).then_some(value as usize)
    });
    number.ok_or_else(|| "is not a whole number, such as 1000 or 1e3".into())
}

/// A column's name; blanks beside a comma do not count.
fn trimmed(name: &str) -> Result<String, std::convert::Infallible> {
    Ok(name.trim().to_string())
}

/// A column and what it is.
fn treated(text: &str) -> Result<(String, As), String> {
    let (name, kind) = text.rsplit_once('=').ok_or("expected COLUMN=TYPE")?;
    let kind = named::<As>(kind.trim())
        .map_err(|_| format!("`{kind}` is not number, category, date, day-first or month-first"))?;
    Ok((name.trim().to_string(), kind))
}

/// A rule by its name; how many rows a paced network counts is known once they have been read.
fn update_rule(name: &str) -> Result<UpdateRule, String> {
    match name {
        "plain" => Ok(UpdateRule::Plain),
        "capped" => Ok(UpdateRule::Capped),
        "paced" => Ok(UpdateRule::paced(1)),
        _ => Err("expected `plain`, `capped` or `paced`".into()),
    }
}

/// Reads a name as the model file writes it.
fn named<T: for<'a> Deserialize<'a>>(name: &str) -> Result<T, String> {
    serde_json::from_value(Value::from(name)).map_err(|e| e.to_string())
}
