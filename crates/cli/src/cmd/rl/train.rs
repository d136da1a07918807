//! `tractable rl TASK`: trains seeds, reports them, draws the learning curve.

use crate::files::{self, FolderLock};
use crate::report::{Exit, Outcome, Report, short};
use crate::rl::{AgentConfig, Engine, Plan, Returns, Seed, Task, World, draw_curves, steps, train};
use crate::run::{RunFolder, commands};
use crate::{interrupt, out, team};
use serde::Serialize;
use std::path::{Path, PathBuf};
use tractable::rl::{Agent, Settings};

const AFTER_HELP: &str = "\
Examples:
  tractable rl inverted-pendulum --steps 2e5 --seeds 2 -o pole/
  tractable rl half-cheetah --steps 2e6 --seeds 5 -o cheetah/
  tractable rl pendulum --steps 1e5 --set trace=0.95 -o rod/
  tractable rl half-cheetah --settings as-published -o paper/";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Steps per seed, such as 2e6; rounded up to whole rollouts of 1024
    #[arg(long, value_name = "N", default_value = "2e6", value_parser = steps)]
    steps: u64,
    /// Number of seeds; results differ between them, so that one alone proves little [default: 3, or the run's]
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// First seed; the others follow it [default: 0, or the run's]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Folder for agents, logs and the learning curve
    #[arg(short, long, value_name = "RUN")]
    out: Option<PathBuf>,
    /// Continue the run in -o RUN, up to --steps
    #[arg(long, requires = "out")]
    resume: bool,
    /// Replace the run in -o RUN
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Named settings [default: gentle for inverted-pendulum, otherwise default]
    #[arg(long, value_enum, value_name = "NAME")]
    settings: Option<Named>,
    /// Same as --settings as-published
    #[arg(long, hide = true, conflicts_with = "settings")]
    as_published: bool,
    /// Set a setting by its name in config.json
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// A task that more than one engine moves.
#[derive(clap::Args)]
#[group(skip)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct OnEngine {
    #[command(flatten)]
    train: Args,
    /// Physics engine
    #[arg(long, value_enum, default_value_t)]
    engine: Engine,
    /// MuJoCo's library, or the folder that contains it
    #[arg(long, value_name = "PATH")]
    mujoco: Option<PathBuf>,
}

/// Trains on a task that has a choice of engines.
pub(crate) fn on_engine(args: &OnEngine, task: Task) -> Outcome {
    run(&args.train, World { task, engine: args.engine, library: args.mujoco.clone(), model: None })
}

/// Settings that have a name.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Named {
    /// Small first actions and small steps: for tasks that end after a few extreme actions
    Gentle,
    /// Explores widely, with large steps
    Default,
    /// As in the authors' code
    AsPublished,
}

impl Named {
    fn settings(self) -> Settings {
        match self {
            Named::Gentle => Settings::gentle(),
            Named::Default => Settings::default(),
            Named::AsPublished => Settings::as_published(),
        }
    }
}

/// Seeds, unless it is said how many.
const SEEDS: u64 = 3;

/// All seeds together.
///
/// Line `result` of `rl`.
#[derive(Serialize)]
struct Together {
    /// Its name.
    task: &'static str,
    /// As requested; each seed runs whole rollouts.
    steps: u64,
    /// How many.
    seeds: usize,
    #[serde(flatten)]
    returns: Returns,
}

/// Settings with some of them given as `name=value`.
fn with_set(settings: Settings, set: &[String]) -> Outcome<Settings> {
    let mut all = serde_json::to_value(settings).expect("settings are plain");
    for one in set {
        let refuse = |why: &str| Exit::Error(format!("--set {one}: {why}"));
        let (name, value) = one.split_once('=').ok_or_else(|| refuse("write NAME=VALUE"))?;
        let Some(place) = all.get_mut(name).filter(|_| name != "seed") else {
            let names: Vec<String> = all.as_object().map_or(vec![], |o| o.keys().cloned().collect());
            return Err(refuse(&format!("there are {}", names.join(", "))));
        };
        let text = || serde_json::Value::String(value.into());
        *place = serde_json::from_str(value).unwrap_or_else(|_| text());
    }
    serde_json::from_value(all).map_err(|e| Exit::Error(format!("--set: {e}")))
}

pub(crate) fn run(args: &Args, world: World) -> Outcome {
    interrupt::listen()?;
    if args.seeds.is_some_and(|n| n == 0 || n > 10_000) {
        return Err(Exit::Error("--seeds: 1 to 10000".into()));
    }
    // Before anything of the run is read: another process may be about to change it.
    let hold = || args.out.as_deref().filter(|_| args.resume).map_or(Ok(None), RunFolder::hold);
    let mut held = team::first_then_all(hold)?.flatten();
    let old = args.out.as_deref().filter(|_| args.resume).map(AgentConfig::resumed).transpose()?;
    let named = if args.as_published { Some(Named::AsPublished) } else { args.settings };
    // A run that goes on has its own, which flags may repeat.
    let base = match (named, &old) {
        (Some(named), _) => named.settings(),
        (None, Some(old)) => old.settings.clone(),
        (None, None) => world.task.settings(),
    };
    let plan = Plan {
        world: world.clone(),
        settings: with_set(base, &args.set)?,
        steps: args.steps,
        first: args.seed.or(old.as_ref().map(|o| o.first_seed)).unwrap_or(0),
        seeds: args.seeds.or(old.as_ref().map(|o| o.seeds)).unwrap_or(SEEDS),
        out: args.out.clone(),
        resume: args.resume,
    };
    // What cannot be made is said before anything is written.
    Agent::new(&*world.make()?, plan.settings.clone())?;
    let task = (world.task, world.engine, world.model.as_ref());
    team::agree(&format!("{task:?} {:?} {} {:?}", plan.settings, plan.steps, (plan.first, plan.seeds)))?;
    team::first_then_all(|| match &args.out {
        Some(out) => prepare(out, args, &plan, old.as_ref(), &mut held),
        None => Ok(()),
    })?;
    let seeds = train(&plan)?;
    if team::place().0 > 0 {
        return Ok(());
    }
    let report = Report::new(args.json);
    for seed in &seeds {
        report.say("seed", seed, || said(seed))?;
    }
    let returns = Returns::over(&seeds);
    let together = Together { task: world.name(), steps: args.steps, seeds: seeds.len(), returns };
    report.say("result", &together, || match (returns.mean, returns.std, returns.lowest) {
        (Some(mean), ..) if together.seeds == 1 => {
            format!("{}: average return {} (one seed proves little)", world.name(), short(mean))
        }
        (Some(mean), Some(std), Some(lowest)) => format!(
            "{}: average return {} ± {} over {} seeds, lowest {}",
            world.name(),
            short(mean),
            short(std),
            together.seeds,
            short(lowest)
        ),
        _ => format!("{}: no episode has ended yet", world.name()),
    })?;
    if let Some(out) = &args.out {
        #[derive(Serialize)]
        struct All<'a> {
            result: &'a Together,
            seeds: &'a [Seed],
        }
        let all = All { result: &together, seeds: &seeds };
        files::write_json(&out.join("result.json"), &all)?;
        draw_curves(world.name(), &[("tractable", &seeds)], &out.join("curve"))?;
    }
    if interrupt::requested() {
        let saved = match &args.out {
            Some(out) => format!("saved in {}; continue with --resume", out.display()),
            None => "nothing was saved; use -o RUN to save agents".into(),
        };
        return Err(Exit::Interrupted(saved));
    }
    match seeds.iter().find_map(|s| s.error.as_ref().map(|e| (s.seed, e))) {
        None => Ok(()),
        Some((seed, why)) => Err(Exit::Error(format!("seed {seed}: {why}"))),
    }
}

/// Makes the folder and its config, or compares with what is there. Other processes stay out as long as it is `held`.
fn prepare(
    out: &Path,
    args: &Args,
    plan: &Plan,
    old: Option<&AgentConfig>,
    held: &mut Option<FolderLock>,
) -> Outcome {
    out::check_folder(out, "rl")?;
    let config = AgentConfig::of(plan);
    if let Some(old) = old {
        if (&old.world, &old.settings, old.first_seed) != (&config.world, &config.settings, plan.first) {
            let why = "was trained on another task, or with other settings or another first seed";
            return Err(Exit::Error(format!("{}: {why}; give the same flags", out.display())));
        }
    } else {
        *held = Some(files::folder(out)?);
        if out.join("config.json").exists() {
            if !args.force {
                let why = "already contains a run; continue with --resume, replace it with --force, or choose another -o";
                return Err(Exit::Error(format!("{}: {why}", out.display())));
            }
            AgentConfig::remove_run(out)?;
        }
    }
    config.write(out)?;
    commands::note(out, !args.resume)
}

fn said(s: &Seed) -> String {
    let average = s.average.map_or("no episode ended".into(), |a| format!("average return {}", short(a)));
    let error = s.error.as_ref().map_or(String::new(), |e| format!("; ended early: {e}"));
    format!("seed {}: {average} after {} steps, {:.0} steps/s{error}", s.seed, s.steps, s.steps_per_second)
}
