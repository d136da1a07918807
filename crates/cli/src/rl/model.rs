//! A task made of a user's own model and a formula for the reward.

use crate::objective::Formula;
use crate::report::{Exit, Outcome};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tractable::rl::env::mujoco::{ModelTask, Mujoco};
use tractable::rl::env::{Environment, TimeLimit};

/// What makes a model a task.
#[derive(clap::Args, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnModel {
    /// The model, MJCF or URDF
    #[arg(long = "model", value_name = "FILE.xml")]
    file: PathBuf,
    /// Reward of a step, such as '(q1 - p1)/dt - 0.1*a1^2'
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    reward: String,
    /// End the episode after a step where this is above 0
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    ends: Option<String>,
    /// Physics steps per action
    #[arg(long, value_name = "N", default_value_t = 5)]
    frame_skip: usize,
    /// Maximum number of actions per episode
    #[arg(long, value_name = "N", default_value_t = 1000)]
    episode: u64,
    /// Range of actions: -X to X
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    action_bound: f64,
    /// Random spread of the initial state around the model's own
    #[arg(long, value_name = "X", default_value_t = 0.01)]
    start_noise: f64,
}

impl OwnModel {
    /// Its file found from any folder.
    pub(crate) fn absolute(&self) -> Self {
        let file = std::path::absolute(&self.file).unwrap_or_else(|_| self.file.clone());
        OwnModel { file, ..self.clone() }
    }

    pub(super) fn make(&self, mujoco: &Mujoco) -> Outcome<Box<dyn Environment + Send>> {
        let not = |what: &str, v: f64| Exit::Error(format!("--{what}: {v} is not a positive number"));
        if !(self.action_bound > 0.0 && self.action_bound.is_finite()) {
            return Err(not("action-bound", self.action_bound));
        }
        if !(self.start_noise >= 0.0 && self.start_noise.is_finite()) {
            return Err(not("start-noise", self.start_noise));
        }
        let simulator = mujoco.load(&self.file)?;
        let sizes = (simulator.positions(), simulator.velocities(), simulator.controls());
        if sizes.2 == 0 {
            let why = "the model has no actuators, so there are no actions";
            return Err(Exit::Error(format!("{}: {why}", self.file.display())));
        }
        let formula = |what: &str, text: &str| {
            let read = Formula::parse(text, sizes.0, sizes.1, sizes.2);
            read.map_err(|e| Exit::Error(format!("--{what}: {e}")))
        };
        let reward = formula("reward", &self.reward)?;
        let mut task = ModelTask::new(simulator, self.frame_skip, move |m| reward.value(m))?
            .action_bound(self.action_bound)
            .start_noise(self.start_noise);
        if let Some(ends) = &self.ends {
            let ends = formula("ends", ends)?;
            task = task.ends_when(move |m| ends.value(m) > 0.0);
        }
        Ok(Box::new(TimeLimit::new(task, self.episode)?))
    }
}
