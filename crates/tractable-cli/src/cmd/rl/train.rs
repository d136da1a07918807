//! `tractable rl TASK`: trains seeds, reports them, draws the learning curve.

use super::model::OwnModel;
use super::seeds::{Plan, Seed, train};
use super::task::{Engine, Task, World};
use crate::files::{self, FolderLock};
use crate::interrupt;
use crate::plot::{Curve, LearningCurves, learning_curves};
use crate::report::{Outcome, Report, Stop, file_error, short};
use crate::{rerun, voice};
use serde::{Deserialize, Serialize};
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
    /// Steps of every seed, as 2e6, rounded up to whole rollouts of 1024
    #[arg(long, value_name = "N", default_value = "2e6", value_parser = steps)]
    steps: u64,
    /// How many seeds
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u64,
    /// The first seed; each further one is the next
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Folder for agents, logs and the learning curve
    #[arg(short, long, value_name = "RUN")]
    out: Option<PathBuf>,
    /// Go on with the run in -o RUN, up to --steps
    #[arg(long, requires = "out")]
    resume: bool,
    /// Replace what is in -o RUN
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Settings that follow the authors' code
    #[arg(long)]
    as_published: bool,
    /// A setting by its name in config.json
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Who moves the bodies
    #[arg(long, value_enum, default_value_t)]
    engine: Engine,
    /// MuJoCo's library, or a folder that holds it
    #[arg(long, value_name = "PATH")]
    mujoco: Option<PathBuf>,
    /// Results as JSON Lines
    #[arg(long)]
    json: bool,
}

/// A whole number that may be written as 2e6.
pub(crate) fn steps(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(n) if (1.0..=1e15).contains(&n) && n.fract() == 0.0 => Ok(n as u64),
        _ => Err("is not a whole number of steps, such as 2e6".into()),
    }
}

/// `config.json` of a run.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    version: u32,
    program: String,
    pub(super) world: World,
    pub(super) settings: Settings,
    pub(super) first_seed: u64,
    pub(super) seeds: u64,
}

impl Config {
    pub(crate) fn of(plan: &Plan) -> Self {
        Config {
            version: 1,
            program: format!("tractable {}", env!("CARGO_PKG_VERSION")),
            world: plan.world.clone(),
            settings: plan.settings.clone(),
            first_seed: plan.first,
            seeds: plan.seeds,
        }
    }

    /// Into the folder of a run, which is made.
    pub(crate) fn write(&self, run: &Path) -> Outcome {
        std::fs::create_dir_all(run).map_err(file_error(run, "make this folder"))?;
        let text = serde_json::to_string_pretty(self).expect("settings are plain") + "\n";
        files::write(&run.join("config.json"), text.as_bytes())
    }

    pub(super) fn read(run: &Path) -> Outcome<Self> {
        let path = run.join("config.json");
        let text = std::fs::read_to_string(&path).map_err(file_error(&path, "open it"))?;
        let refuse =
            |why: String| Stop::Error(format!("{}: not a run of `tractable rl`: {why}", path.display()));
        let config: Config = serde_json::from_str(&text).map_err(|e| refuse(e.to_string()))?;
        match config.version {
            1 => Ok(config),
            v => Err(refuse(format!("version {v} is not known to this build"))),
        }
    }
}

/// All seeds together.
#[derive(Serialize)]
struct Together {
    task: &'static str,
    steps: u64,
    seeds: usize,
    mean: Option<f64>,
    std: Option<f64>,
    lowest: Option<f64>,
    highest: Option<f64>,
}

/// Settings with some of them given as `name=value`.
fn with_set(settings: Settings, set: &[String]) -> Outcome<Settings> {
    let mut all = serde_json::to_value(settings).expect("settings are plain");
    for one in set {
        let refuse = |why: &str| Stop::Error(format!("--set {one}: {why}"));
        let (name, value) = one.split_once('=').ok_or_else(|| refuse("write NAME=VALUE"))?;
        let Some(place) = all.get_mut(name).filter(|_| name != "seed") else {
            let names: Vec<String> = all.as_object().map_or(vec![], |o| o.keys().cloned().collect());
            return Err(refuse(&format!("there are {}", names.join(", "))));
        };
        let text = || serde_json::Value::String(value.into());
        *place = serde_json::from_str(value).unwrap_or_else(|_| text());
    }
    serde_json::from_value(all).map_err(|e| Stop::Error(format!("--set: {e}")))
}

pub(crate) fn run(args: &Args, task: Task, model: Option<OwnModel>) -> Outcome {
    interrupt::listen()?;
    if args.seeds == 0 || args.seeds > 10_000 {
        return Err(Stop::Error("--seeds: 1 to 10000".into()));
    }
    if task == Task::Pendulum && args.engine == Engine::Mujoco {
        return Err(Stop::Error("--engine mujoco: the pendulum is three equations and needs none".into()));
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
        quiet: voice::quiet(),
    };
    let _held = args.out.as_ref().map(|out| prepare(out, args, &plan)).transpose()?;
    let seeds = train(&plan)?;
    let report = Report::new(args.json);
    for seed in &seeds {
        report.say("seed", seed, || said(seed))?;
    }
    let together = together(world.name(), args.steps, &seeds);
    report.say("result", &together, || match (together.mean, together.std, together.lowest) {
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
        let text = serde_json::to_string_pretty(&all).expect("plain numbers") + "\n";
        files::write(&out.join("result.json"), text.as_bytes())?;
        curve(world.name(), &[("tractable", &seeds)], &out.join("curve"))?;
    }
    if interrupt::asked() {
        let saved = match &args.out {
            Some(out) => format!("saved in {}; go on with --resume", out.display()),
            None => "nothing was saved; -o RUN keeps agents".into(),
        };
        return Err(Stop::Interrupted(saved));
    }
    match seeds.iter().find_map(|s| s.error.as_ref().map(|e| (s.seed, e))) {
        None => Ok(()),
        Some((seed, why)) => Err(Stop::Error(format!("seed {seed}: {why}"))),
    }
}

/// Makes the folder and its config, or compares with what is there. Other processes stay out as long as what comes
/// back lives.
fn prepare(out: &Path, args: &Args, plan: &Plan) -> Outcome<FolderLock> {
    let held = files::folder(out)?;
    let config = Config::of(plan);
    if out.join("config.json").exists() {
        if args.resume {
            let old = Config::read(out)?;
            if (&old.world, &old.settings, old.first_seed) != (&config.world, &config.settings, plan.first) {
                let why = "was made with another task, other settings or another first seed";
                return Err(Stop::Error(format!("{}: {why}; give the same flags", out.display())));
            }
        } else if !args.force {
            let why =
                "holds a run already; go on with --resume, replace it with --force, or choose another -o";
            return Err(Stop::Error(format!("{}: {why}", out.display())));
        }
    }
    config.write(out)?;
    rerun::note(out, !args.resume)?;
    Ok(held)
}

fn said(s: &Seed) -> String {
    let average = s.average.map_or("no episode ended".into(), |a| format!("average return {}", short(a)));
    let error = s.error.as_ref().map_or(String::new(), |e| format!("; ended early: {e}"));
    format!("seed {}: {average} after {} steps, {:.0} steps/s{error}", s.seed, s.steps, s.steps_per_second)
}

fn together(task: &'static str, steps: u64, seeds: &[Seed]) -> Together {
    let all: Vec<f64> = seeds.iter().filter_map(|s| s.average).collect();
    let n = all.len() as f64;
    let mean = (!all.is_empty()).then(|| all.iter().sum::<f64>() / n);
    let std = mean.map(|m| (all.iter().map(|a| (a - m).powi(2)).sum::<f64>() / n).sqrt());
    let lowest = all.iter().copied().reduce(f64::min);
    let highest = all.iter().copied().reduce(f64::max);
    Together { task, steps, seeds: seeds.len(), mean, std, lowest, highest }
}

/// Places, and the mean over seeds, their lowest and their highest at each.
type OverSeeds = (Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>);

/// Curves of seeds put together where all of them have begun and none has ended.
pub(crate) fn over_seeds(curves: &[&[(f64, f64)]]) -> Option<OverSeeds> {
    const PLACES: usize = 200;
    let curves: Vec<_> = curves.iter().filter(|c| !c.is_empty()).collect();
    let first = curves.iter().map(|c| c[0].0).fold(0.0, f64::max);
    let last = curves.iter().map(|c| c[c.len() - 1].0).fold(f64::INFINITY, f64::min);
    if curves.is_empty() || last <= first {
        return None;
    }
    let rounding = 1e-9 * (last - first);
    // No more places than there are numbers, or the curves become stairs.
    let places = curves.iter().map(|c| c.len() - 1).max().unwrap_or(1).clamp(1, PLACES);
    let [mut x, mut mean, mut low, mut high] = [const { Vec::new() }; 4];
    for i in 0..=places {
        let at = first + (last - first) * i as f64 / places as f64;
        let values =
            curves.iter().map(|c| c[c.partition_point(|p| p.0 <= at + rounding).saturating_sub(1)].1);
        let values: Vec<f64> = values.collect();
        x.push(at);
        mean.push(values.iter().sum::<f64>() / values.len() as f64);
        low.push(values.iter().copied().fold(f64::INFINITY, f64::min));
        high.push(values.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    }
    Some((x, mean, low, high))
}

/// Mean over seeds with their lowest and highest.
pub(crate) fn curve(task: &str, groups: &[(&str, &[Seed])], path: &Path) -> Outcome {
    let mut drawn = Vec::new();
    for (name, seeds) in groups {
        let curves: Vec<&[(f64, f64)]> = seeds.iter().map(|s| &s.curve[..]).collect();
        if let Some((x, mean, low, high)) = over_seeds(&curves) {
            drawn.push((*name, x, mean, low, high));
        }
    }
    if drawn.is_empty() {
        return Ok(());
    }
    let curves: Vec<Curve> = drawn
        .iter()
        .map(|(name, x, mean, low, high)| Curve { name, x, y: mean, band: Some((low, high)) })
        .collect();
    learning_curves(&LearningCurves {
        title: task,
        x_label: "steps",
        y_label: "average return of the last 100 episodes: mean, lowest and highest seed",
        log_y: false,
        curves: &curves,
    })
    .save(path)
}
