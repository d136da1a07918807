//! `tractable rl play`: episodes without exploration, as numbers and as a picture.

use crate::files;
use crate::out::Target;
use crate::plot::{animated, moments};
use crate::report::{Exit, Outcome, Report, count, short};
use crate::rl::{AgentConfig, Log};
use serde::Serialize;
use std::path::{Path, PathBuf};
use tractable::rl::Agent;

const AFTER_HELP: &str = "\
Examples:
  tractable rl play pole/
  tractable rl play cheetah/ --agent 3 --episodes 20 --picture run.svg
  tractable rl play cheetah/ --picture moments.png";

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
    /// Draw the first episode: FILE.svg is animated, FILE.png shows six moments
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Replace an existing picture
    #[arg(long, requires = "picture")]
    force: bool,
    /// Steps in the picture
    #[arg(long, value_name = "N", default_value_t = 300)]
    frames: usize,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// Line `played` of `rl`.
#[derive(Serialize)]
struct Played {
    /// Of the agent; from `rl play`.
    seed: u64,
    /// The agent was trained for.
    steps: u64,
    /// How many.
    episodes: usize,
    /// Mean return.
    mean: f64,
    /// Of the returns.
    std: f64,
    /// Of every episode.
    returns: Vec<f64>,
}

/// Whether a picture moves, by the ending of its name.
fn moves(path: &Path) -> Outcome<bool> {
    match path.extension().map(|e| e.to_string_lossy().to_lowercase()).as_deref() {
        Some("svg") => Ok(true),
        Some("png") => Ok(false),
        _ => Err(Exit::Error(format!("--picture {}: its name must end in .svg or .png", path.display()))),
    }
}

pub(super) fn run(args: &Args) -> Outcome {
    if args.episodes == 0 || args.frames == 0 {
        return Err(Exit::Error("--episodes and --frames: must be at least 1".into()));
    }
    if let Some(path) = &args.picture {
        moves(path)?;
        Target::new(path, args.force)?;
    }
    let config = AgentConfig::read(&args.run)?;
    let seed = args.agent.unwrap_or(config.first_seed);
    let mut env = config.world.make()?;
    if args.picture.is_some() && env.segments().is_empty() {
        return Err(Exit::Error("--picture: this task cannot be drawn".into()));
    }
    let agent = Agent::load(Log::agent_of(&args.run.join(format!("seed-{seed}"))), &*env)?;
    let played = agent.evaluate(&mut *env, args.episodes, args.seed)?;
    let returns: Vec<f64> = played.episodes.iter().map(|e| e.total).collect();
    let mean = returns.iter().sum::<f64>() / returns.len() as f64;
    let std = (returns.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / returns.len() as f64).sqrt();
    let played = Played { seed, steps: agent.steps(), episodes: returns.len(), mean, std, returns };
    Report::new(args.json).say("played", &played, || {
        let (name, episodes) = (config.world.name(), count(played.episodes as u64, "episode"));
        format!(
            "{name}, seed {seed}: return {} ± {} over {episodes} without exploration",
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
    match moves(path)? {
        true => files::write(path, animated(&title, &frames, config.world.steps_per_second()).as_bytes()),
        false => files::write(path, &moments(&title, &frames).map_err(Exit::Error)?),
    }
}
