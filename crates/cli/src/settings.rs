//! Settings of `train`: flags, defaults, and how a resumed run keeps its own.

mod columns;
mod device;
mod ensemble;
mod images;

use columns::Columns;
pub use device::DeviceName;
pub(crate) use device::{flops_of_learning, gpu_or_cpu};
pub(crate) use ensemble::EnsembleSettings;
pub(crate) use images::{ImageFlags, ImageSettings};

use crate::report::{Exit, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tractable::data::As;
use tractable::{Activation, Noise, NoiseSchedule, Prior, Scheme, UpdateRule};

/// Flags that describe the network or its training.
const OWN: &str = "A single network instead of the default model";
/// Flags that the default model takes too.
const SHARED: [&str; 8] = ["target", "classes", "drop", "ids", "treat", "stream", "seed", "test"];

/// Settings as flags. Only those given are set, so that a resumed run can tell them from defaults; their
/// names are those of [`TableSettings`].
#[derive(clap::Args, Clone, Serialize)]
pub(crate) struct TrainFlags {
    /// Column to predict, or several separated by commas
    #[arg(long, alias = "targets", value_name = "COL,...", value_delimiter = ',', value_parser = trimmed)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    target: Vec<String>,
    /// The target's values are classes, not numbers
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    classes: bool,
    /// Columns to leave out
    #[arg(long, value_name = "COL,...", value_delimiter = ',', value_parser = trimmed)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    drop: Vec<String>,
    /// Columns that identify rows: not used as inputs, but copied to predictions
    #[arg(long = "id", value_name = "COL,...", value_delimiter = ',', value_parser = trimmed)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ids: Vec<String>,
    /// Type of a column: number, category, date, day-first or month-first [default: detected]
    #[arg(long = "as", value_name = "COL=TYPE,...", value_delimiter = ',', value_parser = treated)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    treat: Vec<(String, As)>,
    /// Train one network, in a tenth of the time, calibrated on a fifth of the rows
    #[arg(long)]
    #[serde(skip)]
    single: bool,
    /// Stream rows from disk for every epoch instead of keeping them in memory [default: above 512 MiB]
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    stream: bool,
    /// Random seed, also for the splits [default: 0]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    /// Share of the rows to hold out and evaluate at the end
    #[arg(long, value_name = "SHARE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<f64>,
    /// Units of the hidden layers [default: 50,50]
    #[arg(long, help_heading = OWN, value_name = "N,...", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hidden: Vec<usize>,
    /// identity, relu, leaky_relu, tanh, sigmoid, softplus or mixture_relu [default: relu]
    #[arg(long, help_heading = OWN, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    activation: Option<Activation>,
    /// Passes over the data [default: 50]
    #[arg(long, alias = "epoch", help_heading = OWN, value_name = "N", value_parser = whole)]
    #[serde(skip_serializing_if = "Option::is_none")]
    epochs: Option<usize>,
    /// Rows per update; 1 is the exact update [default: 16]
    #[arg(long, help_heading = OWN, value_name = "ROWS", value_parser = whole)]
    #[serde(skip_serializing_if = "Option::is_none")]
    batch: Option<usize>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    noise_start: Option<f64>,
    /// Factor on the noise after every epoch [default: 0.975]
    #[arg(long, help_heading = OWN, value_name = "F")]
    #[serde(skip_serializing_if = "Option::is_none")]
    noise_decay: Option<f64>,
    /// Lowest noise of the schedule [default: 0.3]
    #[arg(long, help_heading = OWN, value_name = "STD")]
    #[serde(skip_serializing_if = "Option::is_none")]
    noise_floor: Option<f64>,
    /// How to combine the updates of a batch: capped or plain [default: capped]
    #[arg(long, help_heading = OWN, alias = "policy", value_name = "NAME", value_parser = update_rule)]
    #[serde(skip_serializing_if = "Option::is_none")]
    update_rule: Option<UpdateRule>,
    /// Prior variance of the weights: he (1/inputs) or xavier [default: he]
    #[arg(long, help_heading = OWN, value_name = "NAME", value_parser = named::<Scheme>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    prior: Option<Scheme>,
    /// Factor on the weights' prior variance [default: 1]
    #[arg(long, help_heading = OWN, value_name = "F")]
    #[serde(skip_serializing_if = "Option::is_none")]
    gain: Option<f64>,
    /// Prior variance of the biases [default: as for the weights]
    #[arg(long, help_heading = OWN, value_name = "VAR")]
    #[serde(skip_serializing_if = "Option::is_none")]
    bias_var: Option<f64>,
    /// Share of the rows to hold out for validation
    #[arg(long, help_heading = OWN, value_name = "SHARE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    validation: Option<f64>,
    /// Stop after this many epochs without a better validation score, and keep the best
    #[arg(long, help_heading = OWN, value_name = "EPOCHS", value_parser = whole)]
    #[serde(skip_serializing_if = "Option::is_none")]
    patience: Option<usize>,
    /// Share of the rows to hold out for calibration at the end; 0 turns it off [default: 0.1]
    #[arg(long, help_heading = OWN, value_name = "SHARE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration: Option<f64>,
    /// Do not standardise columns; the noise is then in the target's units
    #[arg(long, help_heading = OWN)]
    #[serde(skip_serializing_if = "is_false")]
    no_standardize: bool,
    /// Do not shuffle the rows
    #[arg(long, help_heading = OWN)]
    #[serde(skip_serializing_if = "is_false")]
    no_shuffle: bool,
    /// Where to compute; cuda-fast is less precise. The default model trains on the CPU [default: cpu]
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<DeviceName>,
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

/// Everything that determines a run, except the data; stored in `config.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableSettings {
    pub(crate) target: Vec<String>,
    pub(crate) classes: bool,
    pub(crate) drop: Vec<String>,
    #[serde(default)]
    pub(crate) ids: Vec<String>,
    #[serde(default)]
    pub(crate) treat: Vec<(String, As)>,
    pub(crate) hidden: Vec<usize>,
    pub(crate) activation: Activation,
    pub(crate) epochs: usize,
    pub(crate) batch: usize,
    #[serde(default)]
    pub(crate) noise: Noise,
    /// Where it is known.
    pub(crate) noise_start: Option<f64>,
    pub(crate) noise_decay: Option<f64>,
    pub(crate) noise_floor: Option<f64>,
    #[serde(alias = "policy")]
    pub(crate) update_rule: UpdateRule,
    pub(crate) prior: Scheme,
    pub(crate) gain: f64,
    pub(crate) bias_var: Option<f64>,
    pub(crate) seed: u64,
    pub(crate) validation: f64,
    pub(crate) patience: Option<usize>,
    pub(crate) test: f64,
    #[serde(default)]
    pub(crate) calibration: f64,
    pub(crate) no_standardize: bool,
    pub(crate) no_shuffle: bool,
    pub(crate) device: DeviceName,
}

impl TrainFlags {
    /// The settings of a new run.
    pub(crate) fn settings(&self) -> Outcome<TableSettings> {
        let falls = self.classes || self.noise_start.is_some();
        for (flag, given) in [("--noise-decay", self.noise_decay), ("--noise-floor", self.noise_floor)] {
            if given.is_some() && !falls {
                let why = "applies to a noise schedule: add --noise-start 1, or use --classes, which has one";
                return Err(Exit::Error(format!("{flag}: {why}")));
            }
        }
        let known = |v: f64| falls.then_some(v);
        let usual = TableSettings {
            target: Vec::new(),
            classes: false,
            drop: Vec::new(),
            ids: Vec::new(),
            treat: Vec::new(),
            hidden: vec![50, 50],
            activation: Activation::Relu,
            epochs: 50,
            batch: 16,
            noise: if falls { Noise::Known } else { Noise::Inferred },
            noise_start: known(1.0),
            noise_decay: known(0.975),
            noise_floor: known(0.3),
            update_rule: UpdateRule::default(),
            prior: Prior::default().scheme,
            gain: 1.0,
            bias_var: None,
            seed: 0,
            validation: 0.0,
            patience: None,
            test: 0.0,
            calibration: 0.1,
            no_standardize: false,
            no_shuffle: false,
            device: DeviceName::default(),
        };
        let settings = with_given(&usual, self.given())?;
        settings.check()?;
        self.check_together()?;
        Ok(settings)
    }

    /// Each share is of what the others leave, but nobody who asks for more than all rows means that.
    fn check_together(&self) -> Outcome {
        let shares =
            [("--test", self.test), ("--validation", self.validation), ("--calibration", self.calibration)];
        let given: Vec<(&str, f64)> = shares.iter().filter_map(|(flag, v)| Some((*flag, (*v)?))).collect();
        if given.iter().map(|(_, share)| share).sum::<f64>() < 1.0 {
            return Ok(());
        }
        let said: Vec<String> = given.iter().map(|(flag, share)| format!("{flag} {share}")).collect();
        Err(Exit::Error(format!("{}: together they leave no training rows", said.join(", "))))
    }

    /// What was given, by the names of [`TableSettings`].
    pub(crate) fn given(&self) -> Map<String, Value> {
        let mut given = to_map(self);
        if let Some(std) = self.noise_std {
            let noise = [("noise_start", std), ("noise_decay", 1.0), ("noise_floor", std)];
            given.extend(noise.map(|(k, v)| (k.to_string(), Value::from(v))));
            given.insert("noise".into(), "known".into());
        }
        if self.noise_per_input {
            given.insert("noise".into(), "per_input".into());
        }
        given
    }

    /// The given flags that select a single network, as typed.
    pub(crate) fn own_network(&self) -> Vec<String> {
        let own = self.given().into_iter().map(|(name, _)| name);
        let noise = match (self.noise_std, self.noise_per_input) {
            (Some(_), _) => Some("noise_std"),
            (None, true) => Some("noise_per_input"),
            _ => None,
        };
        let typed = |name: &String| {
            !SHARED.contains(&&name[..])
                && !["noise", "device"].contains(&&name[..])
                && (self.noise_std.is_none() || !name.starts_with("noise"))
        };
        let names = own.filter(typed).chain(noise.map(String::from));
        names.map(|name| format!("--{}", name.replace('_', "-"))).collect()
    }

    /// What is said about columns.
    pub(crate) fn columns(&self) -> Columns<'_> {
        Columns {
            target: &self.target,
            classes: self.classes,
            drop: &self.drop,
            ids: &self.ids,
            treat: &self.treat,
        }
    }

    /// With classes where the target's values are words, and whether the rows are read for every pass.
    pub(crate) fn decided(&self, classes: bool, stream: bool) -> Self {
        TrainFlags { classes: classes || self.classes, stream, ..self.clone() }
    }

    /// Whether `--stream` was given.
    pub(crate) fn stream(&self) -> bool {
        self.stream
    }

    /// Whether `--single` was given.
    pub(crate) fn single(&self) -> bool {
        self.single
    }

    /// The device that was asked for.
    pub(crate) fn device(&self) -> Option<DeviceName> {
        self.device
    }

    /// The settings of a resumed run: its own. Flags may repeat them; only the epochs and the device may differ.
    pub(crate) fn settings_of(&self, run: &TableSettings) -> Outcome<TableSettings> {
        let epochs = same_but_epochs(&self.given(), &to_map(run))?.unwrap_or(run.epochs);
        let settings = TableSettings { epochs, device: self.device.unwrap_or(run.device), ..run.clone() };
        settings.check()?;
        Ok(settings)
    }
}

/// Settings with those that were given in place of the usual ones.
fn with_given<T: Serialize + for<'a> Deserialize<'a>>(usual: &T, given: Map<String, Value>) -> Outcome<T> {
    // JSON has no other numbers. `--noise-std` is the start and, before it in this order, the floor.
    if let Some((name, _)) = given.iter().rfind(|(_, value)| value.is_null()) {
        let flag = name.replace("noise_start", "noise_std").replace('_', "-");
        return Err(Exit::Error(format!("--{flag}: not a finite number")));
    }
    let mut all = to_map(usual);
    all.extend(given);
    Ok(serde_json::from_value(Value::Object(all)).expect("flags have the settings' types"))
}

/// The epochs asked for, once everything else that was given is what the run has. A run may change its device.
pub(crate) fn same_but_epochs(
    given: &Map<String, Value>,
    own: &Map<String, Value>,
) -> Outcome<Option<usize>> {
    for (name, value) in given.iter().filter(|(name, _)| !["epochs", "device"].contains(&&name[..])) {
        if own.get(name) != Some(value) {
            let own = own.get(name).unwrap_or(&Value::Null);
            return Err(Exit::Error(format!(
                "--resume: the run has {name} {own}, not {value}; leave the flag out, or start a new run"
            )));
        }
    }
    Ok(given.get("epochs").and_then(Value::as_u64).map(|n| n as usize))
}

/// Refuses numbers that must be positive, by the flags' names.
pub(crate) fn check_positive(numbers: &[(&str, f64)]) -> Outcome {
    match numbers.iter().find(|(_, v)| !(*v > 0.0 && v.is_finite())) {
        None => Ok(()),
        Some((flag, v)) => Err(Exit::Error(format!("{flag}: {v} is not a positive number"))),
    }
}

/// Refuses counts of 0.
pub(crate) fn check_counts(counts: &[(&str, usize)]) -> Outcome {
    match counts.iter().find(|(_, n)| *n == 0) {
        None => Ok(()),
        Some((flag, _)) => Err(Exit::Error(format!("{flag}: must be at least 1"))),
    }
}

fn check_shares(shares: &[(&str, f64)]) -> Outcome {
    match shares.iter().find(|(_, share)| !(0.0..1.0).contains(share)) {
        None => Ok(()),
        Some((flag, share)) => {
            Err(Exit::Error(format!("{flag}: {share} is not a share: use a number from 0 to below 1")))
        }
    }
}

fn check_target(target: &[String], classes: bool) -> Outcome {
    match target.len() {
        0 => Err(Exit::Error("--target: name the column to predict".into())),
        n if classes && n > 1 => Err(Exit::Error("--classes: takes one target column".into())),
        _ => Ok(()),
    }
}

pub(crate) fn check_floor(floor: f64) -> Outcome {
    match floor >= 0.0 && floor.is_finite() {
        true => Ok(()),
        false => Err(Exit::Error(format!("--noise-floor: {floor} is not a positive number or 0"))),
    }
}

impl TableSettings {
    /// Checks values beyond the flags' types, and names the flag. The library checks again.
    fn check(&self) -> Outcome {
        let refuse = |flag: &str, why: String| Err(Exit::Error(format!("{flag}: {why}")));
        check_target(&self.target, self.classes)?;
        check_positive(&[
            ("--noise-std", self.noise_start.unwrap_or(1.0)),
            ("--noise-decay", self.noise_decay.unwrap_or(1.0)),
            ("--gain", self.gain),
            ("--bias-var", self.bias_var.unwrap_or(1.0)),
        ])?;
        check_floor(self.noise_floor.unwrap_or(0.0))?;
        let counts =
            [("--epochs", self.epochs), ("--batch", self.batch), ("--patience", self.patience.unwrap_or(1))];
        check_counts(&counts)?;
        check_shares(&[
            ("--validation", self.validation),
            ("--test", self.test),
            ("--calibration", self.calibration),
        ])?;
        if self.patience.is_some() && self.validation == 0.0 {
            return refuse("--patience", "needs validation rows: add --validation 0.1".into());
        }
        Ok(())
    }

    pub(crate) fn columns(&self) -> Columns<'_> {
        Columns {
            target: &self.target,
            classes: self.classes,
            drop: &self.drop,
            ids: &self.ids,
            treat: &self.treat,
        }
    }

    /// The noise of every epoch, where it is known.
    pub(crate) fn noise(&self) -> Option<NoiseSchedule> {
        let (start, decay, floor) = (self.noise_start?, self.noise_decay?, self.noise_floor?);
        (self.noise == Noise::Known).then_some(NoiseSchedule { start, decay, floor })
    }

    pub(crate) fn weights_prior(&self) -> Prior {
        Prior { scheme: self.prior, gain: self.gain, bias_var: self.bias_var }
    }
}

/// A rule that needs no numbers.
fn update_rule(name: &str) -> Result<UpdateRule, String> {
    match name {
        "plain" => Ok(UpdateRule::Plain),
        "capped" => Ok(UpdateRule::Capped),
        _ => Err("expected `plain` or `capped`".into()),
    }
}

/// Reads a name as the model file writes it.
pub(crate) fn named<T: for<'a> Deserialize<'a>>(name: &str) -> Result<T, String> {
    serde_json::from_value(Value::from(name)).map_err(|e| e.to_string())
}

/// A structure as its fields.
pub(crate) fn to_map(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        _ => unreachable!("settings are plain structures"),
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}
