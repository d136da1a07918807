//! `tractable rl play`: episodes without exploration, as numbers and as an animation.

use crate::files;
use crate::plot::animated;
use crate::report::{Exit, Outcome, Report, short};
use crate::rl::{AgentConfig, Log};
use serde::Serialize;
use std::path::PathBuf;
use tractable::rl::Agent;

const AFTER_HELP: &str = "\
Examples:
  tractable rl play pole/
  tractable rl play cheetah/ --agent 3 --episodes 20 --picture run.svg";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Folder of a run
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Agent to play, by its training seed [default: the first]
    #[arg(long, value_name = "SEED")]
    agent: Option<u64>,
    /// Episodes to play
    #[arg(long, value_name = "N", default_value_t = 10)]
    episodes: u64,
    /// Seed of the episodes
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Write an animated SVG of the first episode
    #[arg(long, value_name = "FILE.svg")]
    picture: Option<PathBuf>,
    /// Steps in the picture
    #[arg(long, value_name = "N", default_value_t = 300)]
    frames: usize,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Played {
    seed: u64,
    steps: u64,
    episodes: usize,
    mean: f64,
    std: f64,
    returns: Vec<f64>,
}

pub(super) fn run(args: &Args) -> Outcome {
    let config = AgentConfig::read(&args.run)?;
    let seed = args.agent.unwrap_or(config.first_seed);
    let mut env = config.world.make()?;
    let agent = Agent::load(Log::agent_of(&args.run.join(format!("seed-{seed}"))), &*env)?;
    if args.episodes == 0 {
        return Err(Exit::Error("--episodes: must be at least 1".into()));
    }
    let played = agent.evaluate(&mut *env, args.episodes, args.seed)?;
    let returns: Vec<f64> = played.episodes.iter().map(|e| e.total).collect();
    let mean = returns.iter().sum::<f64>() / returns.len() as f64;
    let std = (returns.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / returns.len() as f64).sqrt();
    let played = Played { seed, steps: agent.steps(), episodes: returns.len(), mean, std, returns };
    Report::new(args.json).say("played", &played, || {
        let name = config.world.name();
        let n = played.episodes;
        format!(
            "{name}, seed {seed}: return {} ± {} over {n} episodes without exploration",
            short(mean),
            short(std)
        )
    })?;
    let Some(path) = &args.picture else { return Ok(()) };
    let mut frames = Vec::new();
    agent.watch(&mut *env, args.seed, |env| {
        frames.push(env.segments());
        frames.len() < args.frames
    })?;
    let title = format!("{} after {} steps", config.world.name(), agent.steps());
    files::write(path, animated(&title, &frames, config.world.steps_per_second()).as_bytes())
}
