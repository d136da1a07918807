//! Settings of the default model, of which there are few.

use super::{Columns, TrainFlags, check_shares, check_target, same_but_epochs, to_map, with_given};
use crate::report::{Exit, Outcome};
use serde::{Deserialize, Serialize};
use tractable::data::As;

/// Everything that determines the default model, except the data; stored in `config.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnsembleSettings {
    pub(crate) target: Vec<String>,
    pub(crate) classes: bool,
    pub(crate) drop: Vec<String>,
    #[serde(default)]
    pub(crate) ids: Vec<String>,
    #[serde(default)]
    pub(crate) treat: Vec<(String, As)>,
    pub(crate) single: bool,
    /// The rows are read again for every pass.
    #[serde(default)]
    pub(crate) stream: bool,
    pub(crate) seed: u64,
    pub(crate) test: f64,
}

impl EnsembleSettings {
    pub(crate) fn columns(&self) -> Columns<'_> {
        Columns {
            target: &self.target,
            classes: self.classes,
            drop: &self.drop,
            ids: &self.ids,
            treat: &self.treat,
        }
    }
}

impl TrainFlags {
    /// The settings of a new model.
    pub(crate) fn ensemble(&self) -> Outcome<EnsembleSettings> {
        let usual = EnsembleSettings {
            target: Vec::new(),
            classes: false,
            drop: Vec::new(),
            ids: Vec::new(),
            treat: Vec::new(),
            single: self.single(),
            stream: false,
            seed: 0,
            test: 0.0,
        };
        let mut given = self.given();
        given.remove("device");
        let settings = with_given(&usual, given)?;
        check_target(&settings.target, settings.classes)?;
        check_shares(&[("--test", settings.test)])?;
        if settings.stream && settings.test > 0.0 {
            let why = "streamed rows cannot be held out for a test; the rows left out are scored";
            return Err(Exit::Error(format!("--test: {why}")));
        }
        Ok(settings)
    }

    /// The settings of a restarted run: its own. Flags may repeat them.
    pub(crate) fn ensemble_of(&self, run: &EnsembleSettings) -> Outcome<EnsembleSettings> {
        if let Some(flag) = self.own_network().first() {
            let why = "applies only to a single network with your own settings";
            return Err(Exit::Error(format!("--resume: {flag} {why}; leave it out, or start a new run")));
        }
        let mut given = self.given();
        if self.single() {
            given.insert("single".into(), true.into());
        }
        same_but_epochs(&given, &to_map(run))?;
        Ok(run.clone())
    }
}
