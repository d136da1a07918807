//! Physics recorded from MuJoCo, recomputed by the built-in engine.
//!
//! A folder holds single steps as CSV (`q0..`, `v0..`, `a0..`, then `q0_next..`, `v0_next..`) and trajectories
//! as JSON (`env`, `init_qpos`, `init_qvel`, `steps`). Errors are absolute: metres, radians and their rates.
//!
//! A trajectory's steps are each computed from the state recorded before them. Contact is chaotic: engines
//! that agree to the last digit in every step can be 1e-9 apart after 25, so the drift of a free run
//! is reported but not judged. MuJoCo 4 stops its solver early, which changes the seventh digit of about one
//! step in a thousand; earlier versions solve to the end, as we do. A step is right if it matches either.

use super::{Checked, Status};
use std::path::Path;
use tractable::rl::env::{Environment, HalfCheetah, InvertedPendulum, Step, Version};
use tractable_core::error::{Error, Result};
use tractable_network::verify::{Worst, json::Golden};

/// Steps of a trajectory that are compared.
const COMPARED: usize = 25;
/// MuJoCo's default tolerance of its solver.
const MUJOCO_TOLERANCE: f64 = 1e-8;

/// Recomputes every `.csv` and `.json` file of a folder, in the order of their names.
///
/// ```
/// let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/physics");
/// let files = tractable_harness::verify::physics(folder.as_ref())?;
/// assert!(files.iter().all(|f| f.worst < 1e-9));
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn physics(dir: &Path) -> Result<Vec<Checked>> {
    let files = super::files_of(dir, "physics folder", &["csv", "json"])?;
    files.iter().map(|path| file(path)).collect()
}

fn file(path: &Path) -> Result<Checked> {
    let mut worst = Worst::default();
    let (status, note) = match path.extension() {
        Some(e) if e == "csv" => (single_steps(path, &mut worst)?, None),
        _ => trajectory(path, &mut worst)?,
    };
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let at = match note {
        Some(note) => format!("{}; {note}", worst.at),
        None => worst.at,
    };
    Ok(Checked { file, status, worst: worst.error, at })
}

/// The tasks that files are about.
#[derive(Clone, Copy)]
enum Task {
    HalfCheetah,
    InvertedPendulum(Version),
}

impl Task {
    /// By the numbers of coordinates and actions.
    fn of_size(coordinates: usize, actions: usize) -> Option<Self> {
        match (coordinates, actions) {
            (9, 6) => Some(Task::HalfCheetah),
            (2, 1) => Some(Task::InvertedPendulum(Version::V5)),
            _ => None,
        }
    }

    /// By Gymnasium's name.
    fn named(name: &str) -> Option<Self> {
        match name {
            "HalfCheetah-v2" | "HalfCheetah-v3" | "HalfCheetah-v4" | "HalfCheetah-v5" => {
                Some(Task::HalfCheetah)
            }
            "InvertedPendulum-v2" | "InvertedPendulum-v4" => Some(Task::InvertedPendulum(Version::V4)),
            "InvertedPendulum-v5" => Some(Task::InvertedPendulum(Version::V5)),
            _ => None,
        }
    }

    fn coordinates(self) -> usize {
        match self {
            Task::HalfCheetah => 9,
            Task::InvertedPendulum(_) => 2,
        }
    }

    /// With a solver that stops at this tolerance; 0 solves exactly.
    fn engine(self, tolerance: f64) -> Engine {
        let env: Box<dyn Environment> = match self {
            Task::HalfCheetah => Box::new(HalfCheetah::new().with_tolerance(tolerance)),
            Task::InvertedPendulum(v) => Box::new(InvertedPendulum::new(v).with_tolerance(tolerance)),
        };
        let observation = vec![0.0; env.observation_space().len()];
        Engine { env, observation }
    }
}

/// An environment and room for what it shows.
struct Engine {
    env: Box<dyn Environment>,
    observation: Vec<f64>,
}

impl Engine {
    fn step(&mut self, action: &[f64]) -> Result<Step> {
        self.env.step(action, &mut self.observation)
    }
}

fn single_steps(path: &Path, worst: &mut Worst) -> Result<Status> {
    let bad = |line: usize, column: Option<&str>, why: String| Error::Data {
        path: path.into(),
        line,
        column: column.map(String::from),
        why,
    };
    let mut reader = csv::Reader::from_path(path).map_err(|e| bad(0, None, e.to_string()))?;
    let header: Vec<String> =
        reader.headers().map_err(|e| bad(1, None, e.to_string()))?.iter().map(String::from).collect();
    let count = |first: char| header.iter().filter(|h| h.starts_with(first) && !h.ends_with("_next")).count();
    let (n, actions) = (count('q'), count('a'));
    if header != columns(n, actions) {
        return Ok(Status::Skipped("its columns are not those of recorded steps".into()));
    }
    let Some(task) = Task::of_size(n, actions) else {
        return Ok(Status::Skipped(format!("no task has {n} coordinates and {actions} actions")));
    };
    let mut engine = task.engine(0.0);
    for (i, record) in reader.records().enumerate() {
        let line = i + 2;
        let record = record.map_err(|e| bad(line, None, e.to_string()))?;
        let number = |(cell, name): (&str, &String)| {
            let value = cell.trim().parse::<f64>();
            value.map_err(|_| bad(line, Some(name), format!("`{cell}` is not a number")))
        };
        let numbers = record.iter().zip(&header).map(number).collect::<Result<Vec<f64>>>()?;
        let ((before, action), after) = {
            let (given, after) = numbers.split_at(2 * n + actions);
            (given.split_at(2 * n), after)
        };
        engine.env.restore(before).map_err(|e| bad(line, None, e.to_string()))?;
        engine.step(action).map_err(|e| bad(line, None, e.to_string()))?;
        let ours = engine.env.state();
        worst.compare_absolute(format!("line {line}, positions"), &ours[..n], &after[..n]);
        worst.compare_absolute(format!("line {line}, velocities"), &ours[n..], &after[n..]);
    }
    match worst.at.is_empty() {
        true => Err(bad(0, None, "contains no steps to compare".into())),
        false => Ok(Status::Checked),
    }
}

/// Names of the columns of recorded steps.
fn columns(n: usize, actions: usize) -> Vec<String> {
    let run =
        |name: &'static str, n: usize, end: &'static str| (0..n).map(move |i| format!("{name}{i}{end}"));
    let before = run("q", n, "").chain(run("v", n, "")).chain(run("a", actions, ""));
    before.chain(run("q", n, "_next")).chain(run("v", n, "_next")).collect()
}

/// A step as it was recorded.
struct Recorded {
    action: Vec<f64>,
    state: Vec<f64>,
    observation: Vec<f64>,
    reward: f64,
    terminated: bool,
}

impl Recorded {
    fn read(step: &Golden) -> Result<Self> {
        Ok(Recorded {
            action: step.get("action")?.numbers()?,
            state: [step.get("qpos")?.numbers()?, step.get("qvel")?.numbers()?].concat(),
            observation: step.get("obs")?.numbers()?,
            reward: step.get("reward")?.number()?,
            terminated: step.get("terminated")?.flag()?,
        })
    }

    /// How far an engine's step is off.
    fn compare(&self, at: &str, engine: &Engine, step: Step, worst: &mut Worst) {
        worst.compare_absolute(format!("{at}, state"), &engine.env.state(), &self.state);
        worst.compare_absolute(format!("{at}, observation"), &engine.observation, &self.observation);
        worst.compare_absolute(format!("{at}, reward"), &[step.reward], &[self.reward]);
        if step.terminated != self.terminated {
            worst.compare_absolute(format!("{at}, terminated"), &[], &[1.0]);
        }
    }
}

fn trajectory(path: &Path, worst: &mut Worst) -> Result<(Status, Option<String>)> {
    let golden = Golden::open(path)?;
    if !golden.has("env") || !golden.has("steps") {
        return Ok((Status::Skipped("it is not a recorded trajectory".into()), None));
    }
    let name = golden.get("env")?;
    let Some(task) = Task::named(name.text()?) else {
        return Ok((Status::Skipped(format!("the task {} is not supported", name.text()?)), None));
    };
    let mut before = [golden.get("init_qpos")?.numbers()?, golden.get("init_qvel")?.numbers()?].concat();
    let steps = golden.get("steps")?.list()?;
    if steps.is_empty() {
        return Err(golden.error("contains no steps to compare"));
    }
    let mut led = [0.0, MUJOCO_TOLERANCE].map(|t| task.engine(t));
    let mut alone = [0.0, MUJOCO_TOLERANCE].map(|t| task.engine(t));
    for engine in &mut alone {
        engine.env.restore(&before).map_err(|e| golden.error(format!("init_qpos, init_qvel: {e}")))?;
    }
    let mut drifts = [Worst::default(), Worst::default()];
    for (i, step) in steps.iter().take(COMPARED).enumerate() {
        let recorded = Recorded::read(step)?;
        let fail = |e: Error| step.error(e.to_string());
        let at = format!("steps[{i}]");
        let mut offs = [Worst::default(), Worst::default()];
        for (engine, off) in led.iter_mut().zip(&mut offs) {
            engine.env.restore(&before).map_err(fail)?;
            let result = engine.step(&recorded.action).map_err(fail)?;
            recorded.compare(&at, engine, result, off);
        }
        worst.include(Worst::better(offs));
        for (engine, drift) in alone.iter_mut().zip(&mut drifts) {
            let result = engine.step(&recorded.action).map_err(fail)?;
            recorded.compare(&at, engine, result, drift);
        }
        before = recorded.state;
        if before.len() != 2 * task.coordinates() {
            return Err(step.error("qpos and qvel do not have the task's sizes"));
        }
    }
    let n = steps.len().min(COMPARED);
    let note = format!("on its own for {n} steps: {:.1e}", Worst::better(drifts).error);
    Ok((Status::Checked, Some(note)))
}
