//! The tasks by name, on the engine that was asked for, with Gymnasium's time limits.

use super::model::OwnModel;
use crate::report::{Exit, Outcome};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tractable::rl::Settings;
use tractable::rl::env::mujoco::Mujoco;
use tractable::rl::env::{Environment, HalfCheetah, InvertedPendulum, Pendulum, TimeLimit, Version};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    HalfCheetah,
    InvertedPendulum,
    Pendulum,
    /// A model of the user's own
    Mujoco,
}

impl Task {
    /// What scores best on it, of the settings that have a name.
    pub fn settings(self) -> Settings {
        match self {
            Task::HalfCheetah | Task::Pendulum | Task::Mujoco => Settings::default(),
            Task::InvertedPendulum => Settings::gentle(),
        }
    }
}

/// Physics engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// This program
    #[default]
    Embedded,
    /// A real MuJoCo, if one is found
    Mujoco,
}

/// A task on its engine; `library` is where MuJoCo is, if that was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct World {
    pub(crate) task: Task,
    pub(crate) engine: Engine,
    pub(crate) library: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<OwnModel>,
}

impl World {
    pub fn embedded(task: Task) -> Self {
        World { task, engine: Engine::Embedded, library: None, model: None }
    }

    pub(crate) fn make(&self) -> Outcome<Box<dyn Environment + Send>> {
        let mujoco = match self.engine {
            Engine::Embedded => None,
            Engine::Mujoco => Some(Mujoco::open(self.library.as_deref())?),
        };
        Ok(match (self.task, &mujoco) {
            (Task::HalfCheetah, None) => Box::new(TimeLimit::new(HalfCheetah::new(), 1000)?),
            (Task::HalfCheetah, Some(m)) => Box::new(TimeLimit::new(HalfCheetah::on(m)?, 1000)?),
            (Task::InvertedPendulum, None) => {
                Box::new(TimeLimit::new(InvertedPendulum::new(Version::V5), 1000)?)
            }
            (Task::InvertedPendulum, Some(m)) => {
                Box::new(TimeLimit::new(InvertedPendulum::on(m, Version::V5)?, 1000)?)
            }
            (Task::Pendulum, _) => Box::new(TimeLimit::new(Pendulum::new(), 200)?),
            (Task::Mujoco, m) => match (m, &self.model) {
                (Some(m), Some(model)) => model.make(m)?,
                _ => return Err(Exit::Error("your own model needs MuJoCo and a model file".into())),
            },
        })
    }

    /// Frames of a moving picture in a second: the task's own pace.
    pub(crate) fn steps_per_second(&self) -> f64 {
        match self.task {
            Task::HalfCheetah | Task::Pendulum | Task::Mujoco => 20.0,
            Task::InvertedPendulum => 25.0,
        }
    }

    pub fn name(&self) -> &'static str {
        match self.task {
            Task::HalfCheetah => "HalfCheetah",
            Task::InvertedPendulum => "InvertedPendulum",
            Task::Pendulum => "Pendulum",
            Task::Mujoco => "MuJoCo model",
        }
    }
}
