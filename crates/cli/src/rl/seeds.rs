//! Several seeds of one agent in parallel, each on one core.

use super::log::{Line, Log};
use super::task::World;
use crate::console::{self, note};
use crate::interrupt;
use crate::jobs;
use crate::report::{Exit, Outcome, catch_panic, short};
use crate::team;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tractable::rl::{Agent, Settings};

/// Between two saves; a crash loses no more than this.
const SAVE_EVERY: Duration = Duration::from_secs(10);
/// The first save comes sooner, so that there is something to play and to go on from.
const SAVE_FIRST: Duration = Duration::from_secs(1);
/// Between two plain lines of one seed.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// What is to be trained.
pub struct Plan {
    pub world: World,
    pub settings: Settings,
    pub steps: u64,
    pub first: u64,
    pub seeds: u64,
    /// A folder a seed is made in it.
    pub out: Option<PathBuf>,
    pub resume: bool,
}

/// What became of a seed.
///
/// Line `seed` of `rl`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Seed {
    /// Of the agent.
    pub seed: u64,
    /// Taken.
    pub steps: u64,
    /// Number finished.
    pub episodes: u64,
    /// Mean return of the last 100 episodes.
    pub average: Option<f64>,
    /// In total.
    pub seconds: f64,
    /// On average.
    pub steps_per_second: f64,
    /// Why it ended early.
    pub error: Option<String>,
    /// Average returns over the steps.
    #[serde(skip)]
    pub curve: Vec<(f64, f64)>,
}

/// Trains all of them.
pub fn train(plan: &Plan) -> Outcome<Vec<Seed>> {
    let bars = (!console::quiet() && std::io::stderr().is_terminal()).then(MultiProgress::new);
    let (rank, ranks) = team::place();
    let numbers: Vec<u64> = (0..plan.seeds).map(|i| plan.first.wrapping_add(i)).collect();
    let mine: Vec<u64> = numbers.into_iter().skip(rank).step_by(ranks).collect();
    let done = each(&mine, |seed| one(plan, seed, bars.as_ref()))?;
    if ranks == 1 {
        return Ok(done);
    }
    let said: Vec<(&Seed, &Vec<(f64, f64)>)> = done.iter().map(|seed| (seed, &seed.curve)).collect();
    let mut all = Vec::new();
    for bytes in team::share(&serde_json::to_vec(&said).expect("plain structures"))? {
        let of: Vec<(Seed, Vec<(f64, f64)>)> =
            serde_json::from_slice(&bytes).map_err(|e| Exit::Error(format!("another process: {e}")))?;
        all.extend(of.into_iter().map(|(seed, curve)| Seed { curve, ..seed }));
    }
    all.sort_by_key(|s| s.seed);
    Ok(all)
}

/// Runs all of them in parallel; a failure or panic ends only its own seed.
fn each(numbers: &[u64], work: impl Fn(&mut Seed) -> Outcome + Sync) -> Outcome<Vec<Seed>> {
    let mut done = Vec::new();
    let alone = |&number: &u64| {
        let mut seed = Seed { seed: number, ..Seed::default() };
        let outcome = catch_panic(|| work(&mut seed));
        seed.error = outcome.err().map(|exit| match exit {
            Exit::Error(why) | Exit::CheckFailed(why) | Exit::Interrupted(why) => why,
            Exit::PipeClosed => "the output was closed".into(),
        });
        seed
    };
    jobs::each(numbers, alone, |_, seed| {
        done.push(seed);
        Ok(())
    })?;
    done.sort_by_key(|s| s.seed);
    Ok(done)
}

fn one(plan: &Plan, seed: &mut Seed, bars: Option<&MultiProgress>) -> Outcome {
    let mut env = plan.world.make()?;
    let folder = plan.out.as_ref().map(|out| out.join(format!("seed-{}", seed.seed)));
    let settings = Settings { seed: seed.seed, ..plan.settings.clone() };
    let begun = folder.as_ref().filter(|f| plan.resume && Log::agent_of(f).exists());
    let (mut agent, mut log) = match (begun, &folder) {
        (Some(folder), _) => {
            let agent = Agent::resume(Log::agent_of(folder), &mut *env)?;
            if *agent.settings() != settings {
                let why = format!("{}: was trained with other settings", folder.display());
                return Err(Exit::Error(why));
            }
            let (log, lines) = Log::resume(folder, agent.steps())?;
            seed.curve = lines.iter().filter_map(|l| Some((l.step as f64, l.average?))).collect();
            (agent, Some(log))
        }
        (None, Some(folder)) => (Agent::new(&*env, settings)?, Some(Log::new(folder)?)),
        (None, None) => (Agent::new(&*env, settings)?, None),
    };
    let mut show = Show::new(plan, seed.seed, bars);
    let (began, first) = (Instant::now(), agent.steps());
    let (mut saved, mut every) = (Instant::now(), SAVE_FIRST);
    if let (Some(log), None) = (&mut log, begun) {
        log.save(&agent)?;
    }
    let mut outcome = Ok(());
    while agent.steps() < plan.steps && !interrupt::requested() {
        match agent.rollout(&mut *env) {
            Err(e) => {
                outcome = Err(Exit::from(e));
                break;
            }
            Ok(rollout) => {
                let line = Line::new(&agent, &rollout);
                seed.curve.extend(line.average.map(|a| (line.step as f64, a)));
                if let Some(log) = &mut log {
                    log.add(&line, &rollout.episodes);
                    if saved.elapsed() >= every {
                        log.save(&agent)?;
                        (saved, every) = (Instant::now(), SAVE_EVERY);
                    }
                }
                let speed = (agent.steps() - first) as f64 / began.elapsed().as_secs_f64().max(1e-9);
                show.at(&agent, speed, plan.steps);
            }
        }
    }
    (seed.steps, seed.episodes, seed.average) = (agent.steps(), agent.episodes(), agent.average());
    seed.seconds = began.elapsed().as_secs_f64();
    seed.steps_per_second = (agent.steps() - first) as f64 / seed.seconds.max(1e-9);
    if let Some(log) = &mut log {
        log.save(&agent)?;
    }
    outcome
}

/// How far a seed is: a bar on a terminal, now and then a line elsewhere.
struct Show {
    seed: u64,
    bar: Option<ProgressBar>,
    last: Instant,
}

impl Show {
    fn new(plan: &Plan, seed: u64, bars: Option<&MultiProgress>) -> Self {
        let bar = bars.map(|bars| {
            let bar = bars.add(ProgressBar::new(plan.steps));
            let template = format!("seed {seed} {{bar:20}} {{percent:>3}} %  {{msg}}");
            bar.set_style(ProgressStyle::with_template(&template).expect("a template of known fields"));
            bar
        });
        Show { seed, bar, last: Instant::now() }
    }

    fn at(&mut self, agent: &Agent, speed: f64, steps: u64) {
        let over = agent.steps() >= steps;
        if console::quiet() || (self.bar.is_none() && self.last.elapsed() < LINE_EVERY && !over) {
            return;
        }
        self.last = Instant::now();
        let average = agent.average().map_or("none yet".into(), short);
        let left = steps.saturating_sub(agent.steps()) as f64 / speed;
        let text = format!("{speed:.0} steps/s  average return {average}  eta {left:.0} s");
        match &self.bar {
            Some(bar) => {
                bar.set_position(agent.steps().min(steps));
                bar.set_message(text);
            }
            None => note(&format!("seed {}: {} steps  {text}", self.seed, agent.steps())),
        }
    }
}

impl Drop for Show {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.abandon();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_panics_ends_alone() {
        let numbers: Vec<u64> = (5..12).collect();
        let seeds = each(&numbers, |seed| {
            seed.steps = 10;
            match seed.seed {
                7 => panic!("seven is broken"),
                9 => Err(Exit::Error("nine failed".into())),
                _ => Ok(()),
            }
        });
        let seeds = seeds.unwrap_or_default();
        assert_eq!(seeds.iter().map(|s| s.seed).collect::<Vec<_>>(), (5..12).collect::<Vec<_>>());
        for s in seeds {
            match (s.seed, s.error) {
                (7, Some(why)) => assert!(why.contains("seven is broken"), "{why}"),
                (9, Some(why)) => assert_eq!(why, "nine failed"),
                (_, error) => assert!(error.is_none() && s.steps == 10),
            }
        }
        assert!(each(&[u64::MAX], |_| Ok(())).is_ok_and(|s| s[0].seed == u64::MAX));
    }
}
