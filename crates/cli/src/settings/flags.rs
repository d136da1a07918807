//! The flags of `train`: their values, and which of them were given.

use super::{IMAGES, Kind, OWN, RunSettings, TrainSettings};
use crate::report::{Exit, Outcome};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use tractable::Noise;

/// Settings as they were typed, and the flags that were.
pub(crate) struct TrainFlags {
    pub(crate) values: TrainSettings,
    given: Vec<Arg>,
}

impl Args for TrainFlags {
    fn augment_args(command: Command) -> Command {
        TrainSettings::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        TrainSettings::augment_args_for_update(command)
    }
}

impl FromArgMatches for TrainFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed =
            |arg: &&Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
        let command = Self::augment_args(Command::new("train"));
        let given = command.get_arguments().filter(typed).cloned().collect();
        Ok(TrainFlags { values: TrainSettings::from_arg_matches(matches)?, given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// A flag as it is typed.
fn typed(arg: &Arg) -> String {
    format!("--{}", arg.get_long().unwrap_or_default())
}

impl TrainFlags {
    /// The given flags that select a single network, as typed.
    pub(crate) fn own_network(&self) -> Vec<String> {
        self.given.iter().filter(|arg| arg.get_help_heading() == Some(OWN)).map(typed).collect()
    }

    /// Refuses flags that a run of this kind does not have.
    pub(crate) fn check_for(&self, kind: Kind, resume: bool) -> Outcome {
        let Some(arg) = self.given.iter().find(|arg| !kind.has(arg)) else { return Ok(()) };
        let (flag, own) = (typed(arg), self.own_network().join(", "));
        Err(Exit::Error(match kind {
            Kind::Images => format!("{flag}: applies to CSV files, not to images; leave it out"),
            _ if arg.get_help_heading() == Some(IMAGES) => {
                format!("{flag}: applies to image sets, not to CSV files; leave it out")
            }
            Kind::Network if !resume => {
                format!("{flag}: cannot be combined with network flags; leave out {own}, or {flag}")
            }
            _ => {
                let whose = if kind == Kind::Network {
                    "the default model"
                } else {
                    "a single network with your own settings"
                };
                format!("--resume: {flag} applies only to {whose}; leave it out, or start a new run")
            }
        }))
    }

    /// The settings of a new run, of a target that has `classes`.
    pub(crate) fn settings(&self, kind: Kind, classes: bool) -> Outcome<RunSettings> {
        self.check_for(kind, false)?;
        let mut run = RunSettings { kind, values: self.told() };
        run.classes |= classes;
        let falls = kind == Kind::Images || run.classes || run.noise_start.is_some();
        for name in ["noise_decay", "noise_floor"] {
            if self.given.iter().any(|arg| arg.get_id() == name) && !falls {
                let why = "applies to a noise schedule: add --noise-start 1, or use --classes, which has one";
                return Err(Exit::Error(format!("--{}: {why}", name.replace('_', "-"))));
            }
        }
        run.set_defaults(falls);
        // JSON has no other numbers.
        let map = run.map();
        let infinite = |arg: &&Arg| {
            let name = if arg.get_id() == "noise_std" { "noise_start" } else { arg.get_id().as_str() };
            map.get(name).is_some_and(serde_json::Value::is_null)
        };
        if let Some(arg) = self.given.iter().find(infinite) {
            return Err(Exit::Error(format!("{}: not a finite number", typed(arg))));
        }
        run.check()?;
        self.check_together()?;
        Ok(run)
    }

    /// The settings of a resumed run: its own. Flags may repeat them; only the epochs and the device may differ.
    pub(crate) fn resumed(&self, own: &RunSettings) -> Outcome<RunSettings> {
        self.check_for(own.kind, true)?;
        let asked = RunSettings { kind: own.kind, values: self.told() }.map();
        let (own_map, mut run) = (own.map(), own.clone());
        let names = self.given.iter().flat_map(|arg| match arg.get_id().as_str() {
            "noise_std" => vec!["noise", "noise_start", "noise_decay", "noise_floor"],
            "noise_per_input" => vec!["noise"],
            name => vec![name],
        });
        for name in names {
            match (name, asked.get(name), own_map.get(name)) {
                ("epochs", ..) => run.epochs = self.values.epochs,
                ("device", ..) => run.device = self.values.device,
                (_, asked, own) if asked == own => {}
                (_, asked, own) => {
                    let [own, asked] = [own, asked].map(|v| v.cloned().unwrap_or_default());
                    let why = "leave the flag out, or start a new run";
                    return Err(Exit::Error(format!(
                        "--resume: the run has {name} {own}, not {asked}; {why}"
                    )));
                }
            }
        }
        run.check()?;
        Ok(run)
    }

    /// The values, with `--noise-std` and `--noise-per-input` as what they stand for.
    fn told(&self) -> TrainSettings {
        let mut told = self.values.clone();
        if let Some(std) = told.noise_std {
            (told.noise_start, told.noise_decay, told.noise_floor) = (Some(std), Some(1.0), Some(std));
        }
        if told.noise_per_input {
            told.noise = Noise::PerInput;
        }
        told
    }

    /// Each share is of what the others leave, but nobody who asks for more than all rows means that.
    fn check_together(&self) -> Outcome {
        let TrainSettings { test, validation, .. } = self.values;
        let shares =
            [("--test", test), ("--validation", validation), ("--calibration", self.values.calibration())];
        if shares.iter().map(|(_, share)| share).sum::<f64>() < 1.0 {
            return Ok(());
        }
        let said = shares.iter().filter(|(_, share)| *share > 0.0);
        let said: Vec<String> = said.map(|(flag, share)| format!("{flag} {share}")).collect();
        Err(Exit::Error(format!("{}: together they leave no training rows", said.join(", "))))
    }
}
