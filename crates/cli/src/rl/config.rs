//! `config.json` of a run of `tractable rl`.

use super::{Plan, World};
use crate::files;
use crate::report::{Exit, Outcome, PROGRAM, file_error};
use serde::de::IgnoredAny;
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
    /// In files of before: where agents learned.
    #[serde(default, skip_serializing)]
    device: IgnoredAny,
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
            device: IgnoredAny,
        }
    }

    /// Into the folder of a run, which is made.
    pub fn write(&self, run: &Path) -> Outcome {
        std::fs::create_dir_all(run).map_err(file_error(run, "make this folder"))?;
        files::write_json(&run.join("config.json"), self)
    }

    /// Of a run that is to go on.
    pub(crate) fn resumed(run: &Path) -> Outcome<Self> {
        if !run.join("config.json").exists() {
            let why = "no agent run in this folder; leave out --resume to start one";
            return Err(Exit::Error(format!("{}: {why}", run.display())));
        }
        Self::read(run)
    }

    /// Removes what a run has left in a folder: its settings, and its seeds.
    pub(crate) fn remove_run(run: &Path) -> Outcome {
        let entries = std::fs::read_dir(run).map_err(file_error(run, "list it"))?;
        for entry in entries.flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            let seed = name.strip_prefix("seed-").is_some_and(|n| n.parse::<u64>().is_ok());
            // A link leads to somebody else's files.
            let gone = match entry.file_type() {
                Ok(kind) if seed && kind.is_dir() => std::fs::remove_dir_all(&path),
                _ if ["result.json", "curve.svg", "curve.png"].contains(&&*name) => {
                    std::fs::remove_file(&path)
                }
                _ => Ok(()),
            };
            gone.map_err(file_error(&path, "remove it"))?;
        }
        Ok(())
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
