//! `tractable rl TASK`: trains seeds, reports them, draws the learning curve.

use crate::files::{self, FolderLock};
use crate::report::{Exit, Outcome, Report, short};
use crate::rl::{AgentConfig, Engine, OwnModel, Plan, Returns, Seed, Task, World, draw_curves, steps, train};
use crate::run::commands;
use crate::{interrupt, out};
use serde::Serialize;
use std::path::{Path, PathBuf};
use tractable::rl::Settings;

const AFTER_HELP: &str = "\
Examples:
  tractable rl inverted-pendulum --steps 2e5 --seeds 2 -o pole/
  tractable rl half-cheetah --steps 2e6 --seeds 5 -o cheetah/
  tractable rl pendulum --steps 1e5 --set trace=0.95 -o rod/";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Steps per seed, such as 2e6; rounded up to whole rollouts of 1024
    #[arg(long, value_name = "N", default_value = "2e6", value_parser = steps)]
    steps: u64,
    /// Number of seeds
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u64,
    /// First seed; the others follow it
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Folder for agents, logs and the learning curve
    #[arg(short, long, value_name = "RUN")]
    out: Option<PathBuf>,
    /// Continue the run in -o RUN, up to --steps
    #[arg(long, requires = "out")]
    resume: bool,
    /// Replace the run in -o RUN
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Use the settings of the authors' code
    #[arg(long)]
    as_published: bool,
    /// Set a setting by its name in config.json
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Physics engine
    #[arg(long, value_enum, default_value_t)]
    engine: Engine,
    /// MuJoCo's library, or the folder that contains it
    #[arg(long, value_name = "PATH")]
    mujoco: Option<PathBuf>,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// All seeds together.
#[derive(Serialize)]
struct Together {
    task: &'static str,
    steps: u64,
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

pub(crate) fn run(args: &Args, task: Task, model: Option<OwnModel>) -> Outcome {
    interrupt::listen()?;
    if args.seeds == 0 || args.seeds > 10_000 {
        return Err(Exit::Error("--seeds: 1 to 10000".into()));
    }
    if task == Task::Pendulum && args.engine == Engine::Mujoco {
        return Err(Exit::Error("--engine mujoco: the pendulum does not use MuJoCo".into()));
    }
    // A model of one's own has no other engine.
    let engine = if model.is_some() { Engine::Mujoco } else { args.engine };
    let world = World { task, engine, library: args.mujoco.clone(), model };
    // What cannot be made is said before anything is written.
    world.make()?;
    let base = if args.as_published { Settings::as_published() } else { task.settings() };
    let plan = Plan {
        world: world.clone(),
        settings: with_set(base, &args.set)?,
        steps: args.steps,
        first: args.seed,
        seeds: args.seeds,
        out: args.out.clone(),
        resume: args.resume,
    };
    let _held = args.out.as_ref().map(|out| prepare(out, args, &plan)).transpose()?;
    let seeds = train(&plan)?;
    let report = Report::new(args.json);
    for seed in &seeds {
        report.say("seed", seed, || said(seed))?;
    }
    let returns = Returns::over(&seeds);
    let together = Together { task: world.name(), steps: args.steps, seeds: seeds.len(), returns };
    report.say("result", &together, || match (returns.mean, returns.std, returns.lowest) {
        (Some(mean), ..) if together.seeds == 1 => {
            format!("{}: average return {}, one seed", world.name(), short(mean))
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

/// Makes the folder and its config, or compares with what is there. Other processes stay out as long as what comes
/// back lives.
fn prepare(out: &Path, args: &Args, plan: &Plan) -> Outcome<FolderLock> {
    out::check_folder(out, "rl")?;
    let held = files::folder(out)?;
    let config = AgentConfig::of(plan);
    if out.join("config.json").exists() {
        if args.resume {
            let old = AgentConfig::read(out)?;
            if (&old.world, &old.settings, old.first_seed) != (&config.world, &config.settings, plan.first) {
                let why = "was trained on another task, or with other settings or another first seed";
                return Err(Exit::Error(format!("{}: {why}; give the same flags", out.display())));
            }
        } else if !args.force {
            let why = "already contains a run; continue with --resume, replace it with --force, or choose another -o";
            return Err(Exit::Error(format!("{}: {why}", out.display())));
        }
    }
    config.write(out)?;
    commands::note(out, !args.resume)?;
    Ok(held)
}

fn said(s: &Seed) -> String {
    let average = s.average.map_or("no episode ended".into(), |a| format!("average return {}", short(a)));
    let error = s.error.as_ref().map_or(String::new(), |e| format!("; ended early: {e}"));
    format!("seed {}: {average} after {} steps, {:.0} steps/s{error}", s.seed, s.steps, s.steps_per_second)
}
