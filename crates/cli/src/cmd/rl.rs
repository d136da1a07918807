//! `tractable rl`: trains agents, several seeds in parallel, and plays them.

mod model;
mod play;
mod train;

use crate::report::Outcome;
use crate::rl::{Task, World};

const AFTER_HELP: &str = "\
Examples:
  tractable rl inverted-pendulum --steps 2e5 --seeds 2 -o pole/
  tractable rl half-cheetah --steps 2e6 --seeds 5 -o cheetah/
  tractable rl half-cheetah --steps 4e6 --seeds 5 -o cheetah/ --resume
  tractable rl half-cheetah --set trace=0.95 --set 'value_noise={\"start\":1,\"decay\":1,\"floor\":0.3}' -o other/
  tractable rl mujoco --model arm.xml --reward '-abs(q1 - 1)' -o arm/
  tractable rl play cheetah/ --picture run.svg

A pole is learned with --settings gentle, the other tasks with --settings default; config.json in RUN/ has them all. Three seeds are
trained unless --seeds says otherwise. With --resume a run keeps its settings and seeds.
RUN/ gets config.json, curve.svg and curve.png (mean and range over seeds), result.json and, for each
seed, a folder with agent.safetensors (the complete state, for --resume), episodes.csv, progress.jsonl and a
TensorBoard event file.";

/// Train agents
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// A planar cheetah learns to run
    HalfCheetah(train::OnEngine),
    /// A cart keeps a pole upright
    InvertedPendulum(train::OnEngine),
    /// A weak motor swings a rod up
    Pendulum(train::Args),
    /// Train on your own MuJoCo model and reward formula; needs a real MuJoCo
    Mujoco(model::Args),
    /// Play the agent of a run without exploration; print returns, draw an animation
    Play(play::Args),
}

pub fn run(args: &Args) -> Outcome {
    match &args.what {
        What::HalfCheetah(args) => train::on_engine(args, Task::HalfCheetah),
        What::InvertedPendulum(args) => train::on_engine(args, Task::InvertedPendulum),
        What::Pendulum(args) => train::run(args, World::embedded(Task::Pendulum)),
        What::Mujoco(args) => model::run(args),
        What::Play(args) => play::run(args),
    }
}
