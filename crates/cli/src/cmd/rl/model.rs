//! `tractable rl mujoco`: a task from your own model and a reward formula.

use super::train;
use crate::report::Outcome;
use crate::rl::{Engine, OwnModel, Task, World};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  tractable rl mujoco --model arm.xml --reward '-abs(q1 - 1) - 0.01*a1^2' --steps 2e5 -o arm/
  tractable rl mujoco --model hopper.xml --reward '(q1 - p1)/dt + 1' --ends '0.7 - q2' -o hopper/

Observations are all coordinates and velocities; actions are the controls. In a formula q1, q2, ... are the
coordinates after a step and p1, p2, ... before it, v1, ... the velocities after it, a1, ... the action, dt
the length of the step in seconds. Needs a real MuJoCo: run `tractable mujoco fetch`.";

/// Train on your own MuJoCo model and reward formula
#[derive(clap::Args)]
#[group(skip)]
#[command(after_help = AFTER_HELP, allow_negative_numbers = true)]
pub(super) struct Args {
    #[command(flatten)]
    model: OwnModel,
    /// MuJoCo's library, or the folder that contains it
    #[arg(long, value_name = "PATH")]
    mujoco: Option<PathBuf>,
    #[command(flatten)]
    train: train::Args,
}

pub(super) fn run(args: &Args) -> Outcome {
    let model = Some(args.model.absolute());
    let library = args.mujoco.clone();
    train::run(&args.train, World { task: Task::Mujoco, engine: Engine::Mujoco, library, model })
}
