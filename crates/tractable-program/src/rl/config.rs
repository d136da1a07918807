//! `config.json` of a run of `tractable rl`.

use super::{Plan, World};
use crate::files;
use crate::report::{Exit, Outcome, PROGRAM, file_error};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tractable::rl::Settings;

/// `config.json` of a run.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    version: u32,
    program: String,
    pub world: World,
    pub settings: Settings,
    pub first_seed: u64,
    pub seeds: u64,
}

impl AgentConfig {
    pub fn of(plan: &Plan) -> Self {
        AgentConfig {
            version: 1,
            program: PROGRAM.into(),
            world: plan.world.clone(),
            settings: plan.settings.clone(),
            first_seed: plan.first,
            seeds: plan.seeds,
        }
    }

    /// Into the folder of a run, which is made.
    pub fn write(&self, run: &Path) -> Outcome {
        std::fs::create_dir_all(run).map_err(file_error(run, "make this folder"))?;
        files::write_json(&run.join("config.json"), self)
    }

    pub(crate) fn read(run: &Path) -> Outcome<Self> {
        let path = run.join("config.json");
        let text = files::read_text(&path)?;
        let refuse =
            |why: String| Exit::Error(format!("{}: not a run of `tractable rl`: {why}", path.display()));
        let config: AgentConfig = serde_json::from_str(&text).map_err(|e| refuse(e.to_string()))?;
        match config.version {
            1 => Ok(config),
            v => Err(refuse(format!("version {v} is unknown to this build"))),
        }
    }
}
