//! The settings of a run, as `config.json` has them: those of its kind.

use super::{IMAGES, OWN, TrainSettings};
use crate::report::{Exit, Outcome};
use clap::{Arg, Args, Command};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::{Map, Value};
use std::ops::{Deref, DerefMut};
use tractable::{Noise, network::Head};

/// What a run trains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The default model, on a table.
    Ensemble,
    /// One network, on a table.
    Network,
    Images,
}

/// Flags of a single network that images do not have.
const TABLES: [&str; 6] =
    ["activation", "noise_per_input", "validation", "patience", "no_standardize", "no_shuffle"];

impl Kind {
    /// Whether a run of this kind has the setting of this flag.
    pub(super) fn has(self, arg: &Arg) -> bool {
        let (name, heading) = (arg.get_id().as_str(), arg.get_help_heading());
        match self {
            Kind::Ensemble => heading.is_none(),
            Kind::Network if heading.is_none() => !["single", "stream", "group", "time"].contains(&name),
            Kind::Network => heading == Some(OWN),
            Kind::Images if heading == Some(OWN) => !TABLES.contains(&name),
            Kind::Images => heading == Some(IMAGES) || ["seed", "device"].contains(&name),
        }
    }
}

/// Settings with the defaults of their kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunSettings {
    pub(crate) kind: Kind,
    pub(super) values: TrainSettings,
}

impl RunSettings {
    /// The settings of this kind, by name.
    pub(super) fn map(&self) -> Map<String, Value> {
        let Ok(Value::Object(mut map)) = serde_json::to_value(&self.values) else {
            unreachable!("settings are a plain structure")
        };
        let command = TrainSettings::augment_args(Command::new("train"));
        for arg in command.get_arguments().filter(|arg| !self.kind.has(arg)) {
            map.remove(arg.get_id().as_str());
        }
        // The default model trains on the CPU.
        let foreign: &[&str] = match self.kind {
            Kind::Network => &[],
            Kind::Images => &["noise"],
            Kind::Ensemble => &["noise", "device"],
        };
        map.retain(|name, _| !foreign.contains(&name.as_str()));
        map
    }

    /// Defaults that depend on the kind, and on whether the noise falls from epoch to epoch.
    pub(super) fn set_defaults(&mut self, falls: bool) {
        if !falls && self.noise == Noise::Known {
            self.noise = Noise::Inferred;
        }
        let (head, rule) = self.defaults_of_net();
        if head == Head::Softmax {
            self.head = self.head.or(Some(head));
        }
        self.update_rule = self.update_rule.or(Some(rule));
        if falls && self.head() != Head::Softmax {
            let (start, decay, floor) = (self.noise_start, self.noise_decay, self.noise_floor);
            self.noise_start = start.or(Some(1.0));
            self.noise_decay = decay.or(Some(0.975));
            self.noise_floor = floor.or(Some(0.3));
        }
        let images = self.kind == Kind::Images;
        self.calibration = self.calibration.or(Some(if images { 0.05 } else { 0.1 }));
        if self.hidden.is_empty() && self.layers_are_free() {
            self.hidden = vec![if images { 100 } else { 50 }; 2];
        }
    }

    /// Whether the hidden layers may be chosen.
    fn layers_are_free(&self) -> bool {
        self.kind != Kind::Images || self.is_mlp()
    }

    pub(crate) fn check(&self) -> Outcome {
        if self.kind != Kind::Images {
            self.check_target()?;
        }
        if !self.layers_are_free() && !self.hidden.is_empty() {
            let why = "applies only to --net mlp; the other networks have fixed layers";
            return Err(Exit::Error(format!("--hidden: {why}")));
        }
        if self.head() == Head::Softmax {
            if self.kind == Kind::Network && !self.classes {
                return Err(Exit::Error("--head: applies only to classes; leave it out".into()));
            }
            let noise =
                [("start", self.noise_start), ("decay", self.noise_decay), ("floor", self.noise_floor)];
            if let Some((name, _)) = noise.iter().find(|(_, given)| given.is_some()) {
                return Err(Exit::Error(format!(
                    "--noise-{name}: a softmax has no noise; leave it out, or use --head tree"
                )));
            }
            if self.settle_after.is_some() {
                return Err(Exit::Error(
                    "--settle-after: a softmax has no noise; leave it out, or use --head tree".into(),
                ));
            }
        }
        self.values.check()
    }
}

impl Deref for RunSettings {
    type Target = TrainSettings;

    fn deref(&self) -> &TrainSettings {
        &self.values
    }
}

impl DerefMut for RunSettings {
    fn deref_mut(&mut self) -> &mut TrainSettings {
        &mut self.values
    }
}

impl Serialize for RunSettings {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.map().serialize(to)
    }
}

impl<'de> Deserialize<'de> for RunSettings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let map = Map::deserialize(from)?;
        // Only images have a network by name, and only the default model can be single.
        let kind = match (map.contains_key("net"), map.contains_key("single")) {
            (true, _) => Kind::Images,
            (_, true) => Kind::Ensemble,
            _ => Kind::Network,
        };
        let values = serde_json::from_value(Value::Object(map)).map_err(D::Error::custom)?;
        Ok(RunSettings { kind, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tractable::train::NoiseSchedule;

    fn read(text: &str) -> Result<RunSettings, String> {
        serde_json::from_str(text).map_err(|e| e.to_string())
    }

    #[test]
    fn settings_of_older_runs_are_read() {
        let one = read(
            r#"{"target": ["y"], "classes": false, "drop": [], "hidden": [8], "activation": "tanh", "epochs": 5,
            "batch": 4, "noise_start": 0.3, "noise_decay": 1.0, "noise_floor": 0.3, "policy": "capped", "prior": "he",
            "gain": 2.0, "bias_var": null, "seed": 3, "validation": 0.0, "patience": null, "test": 0.0,
            "no_standardize": true, "no_shuffle": false, "device": "cpu"}"#,
        )
        .unwrap();
        assert_eq!((one.kind, one.epochs, one.batch, &one.hidden[..]), (Kind::Network, 5, 4, &[8][..]));
        assert_eq!(one.noise(), Some(NoiseSchedule { start: 0.3, decay: 1.0, floor: 0.3 }));
        assert_eq!(one.calibration(), 0.0, "older runs held out none");
        let model =
            r#"{"target": ["y"], "classes": true, "drop": ["a"], "single": false, "seed": 1, "test": 0.2}"#;
        let model = read(model).unwrap();
        assert_eq!((model.kind, model.seed, model.test, model.stream), (Kind::Ensemble, 1, 0.2, false));
        let images = read(
            r#"{"net": "mlp", "hidden": [100, 100], "augment": ["usual"], "scaling": "center", "limit": 100,
            "epochs": 50, "batch": 16, "noise_start": 1.0, "noise_decay": 0.975, "noise_floor": 0.3, "policy": "capped",
            "prior": "he", "gain": 1.0, "bias_var": null, "seed": 0, "device": "cuda_fast"}"#,
        )
        .unwrap();
        assert_eq!((images.kind, images.limit, images.calibration()), (Kind::Images, Some(100), 0.0));
        assert!(read(r#"{"single": true, "colour": "red"}"#).unwrap_err().contains("unknown field `colour`"));
    }

    #[test]
    fn what_is_written_is_of_its_kind_and_reads_back() {
        for (kind, has, lacks) in [
            (Kind::Ensemble, ["single", "test"], ["epochs", "device"]),
            (Kind::Network, ["noise", "epochs"], ["single", "net"]),
            (Kind::Images, ["net", "epochs"], ["noise", "target"]),
        ] {
            let mut run = RunSettings { kind, values: TrainSettings::default() };
            run.set_defaults(kind == Kind::Images);
            let map = run.map();
            assert!(has.iter().all(|name| map.contains_key(*name)), "{map:?}");
            assert!(!lacks.iter().any(|name| map.contains_key(*name)), "{map:?}");
            let again = read(&serde_json::to_string(&run).unwrap()).unwrap();
            assert_eq!((again.kind, again.map()), (kind, map));
        }
    }
}
