//! Part 3: a cart learns to balance a pole, before and after.

use super::Stage;
use crate::files;
use crate::page::{Picture, Section};
use crate::plot::{Color, Figure, Panel, animated};
use crate::report::{Outcome, short};
use crate::rl::{Task, World};
use serde::Serialize;
use std::time::Instant;
use tractable::rl::env::{Environment, Segment};
use tractable::rl::{Agent, Settings};

/// Steps of learning, and those after which it is enough even if the pole still falls.
const STEPS: u64 = 150_000;
const MOST: u64 = 300_000;
/// Episodes to judge by, and the longest there is.
const JUDGED: u64 = 10;
const WHOLE: f64 = 1000.0;
/// Steps in the picture.
const FRAMES: usize = 250;

/// Line `pole` of `demo`.
#[derive(Serialize)]
struct Pole {
    /// Training steps.
    steps: u64,
    /// Number finished.
    episodes: u64,
    /// In total.
    seconds: f64,
    /// On average.
    steps_per_second: f64,
    /// Steps the pole stays up, at most 1000, before training; mean over ten episodes.
    before: f64,
    /// The same after training.
    after: f64,
    /// Over the last hundred episodes, with exploration.
    average: Option<f64>,
}

pub(super) fn act(stage: &Stage) -> Outcome<Section> {
    let world = World::embedded(Task::InvertedPendulum);
    let mut env = world.make()?;
    let env = &mut *env;
    let settings = Settings { seed: stage.args.seed, ..Settings::gentle() };
    let steps = if stage.args.quick { STEPS / 5 } else { STEPS };
    let most = if stage.args.quick { steps } else { MOST };
    let mut agent = Agent::new(env, settings)?;
    let (before, first) = (judged(&agent, env)?, film(&agent, env)?);
    let (began, mut curve) = (Instant::now(), Vec::new());
    let mut progress = stage.progress(steps as usize);
    let mut after = before;
    let mut until = steps;
    loop {
        while agent.steps() < until {
            agent.rollout(env)?;
            stage.check()?;
            curve.extend(agent.average().map(|a| (agent.steps() as f64, a)));
            progress.at(agent.steps().min(steps), || {
                let average = agent.average().map_or("-".into(), short);
                format!("3/3 a pole: {} steps, up for {average} steps on average", agent.steps())
            });
        }
        after = if agent.steps() > 0 { judged(&agent, env)? } else { after };
        if after >= WHOLE || agent.steps() >= most {
            break;
        }
        until += STEPS / 5;
    }
    drop(progress);
    let seconds = began.elapsed().as_secs_f64();
    let found = Pole {
        steps: agent.steps(),
        episodes: agent.episodes(),
        seconds,
        steps_per_second: agent.steps() as f64 / seconds,
        before,
        after,
        average: agent.average(),
    };
    let last = film(&agent, env)?;
    let per_second = world.steps_per_second();
    let films = [("before", "before learning", first), ("after", "after learning", last)];
    let mut pictures = Vec::new();
    let caption = "Steps that the pole stays up during training, mean of the last hundred episodes; the maximum is \
                   1000.";
    pictures.push(stage.picture("pole-curve", caption, &figure(&curve))?.tall());
    for (name, title, frames) in films {
        let svg = animated(title, &frames, per_second);
        files::write(&stage.path(&format!("pole-{name}.svg")), svg.as_bytes())?;
        let still = animated(title, &frames[frames.len() / 2..frames.len() / 2 + 1], per_second);
        let stays = if name == "before" { before } else { after };
        let caption = format!("The pole {title}: up for {stays:.0} of 1000 steps, mean of ten episodes.");
        pictures.push(Picture::new(&caption, svg).still(still));
    }
    stage.report.say("pole", &found, || {
        format!(
            "3/3 a pole: actions inferred by conditioning on dq/da = 0, with built-in physics\n    up for {before:.0} \
             of 1000 steps before, {after:.0} after {} training steps ({seconds:.1} s, {:.0} steps/s)\n",
            found.steps, found.steps_per_second
        )
    })?;
    Ok(Section::new("pole", "3. Balancing a pole")
        .text(
            "A value network rates states and actions, a policy network proposes actions. A better action is inferred by \
             conditioning on a derivative of the value of zero. The physics is MuJoCo's, \
             simulated by this program.",
        )
        .facts(&[
            ("steps up before, of 1000", format!("{before:.0}")),
            ("steps up after", format!("{after:.0}")),
            ("training steps", found.steps.to_string()),
            ("seconds", format!("{seconds:.1}")),
            ("steps per second, with learning", format!("{:.0}", found.steps_per_second)),
        ])
        .pictures(&pictures))
}

/// Mean length of episodes without exploration.
fn judged(agent: &Agent, env: &mut dyn Environment) -> Outcome<f64> {
    let played = agent.evaluate(env, JUDGED, 0)?;
    Ok(played.episodes.iter().map(|e| e.length as f64).sum::<f64>() / JUDGED as f64)
}

/// One episode; where it ends early, the last moment stays for a while.
fn film(agent: &Agent, env: &mut dyn Environment) -> Outcome<Vec<Vec<Segment>>> {
    let mut frames = Vec::new();
    agent.watch(env, 1, |env| {
        frames.push(env.segments());
        frames.len() < FRAMES
    })?;
    if let Some(last) = frames.last().cloned().filter(|_| frames.len() < FRAMES) {
        frames.extend(std::iter::repeat_n(last, 30));
    }
    Ok(frames)
}

fn figure(curve: &[(f64, f64)]) -> Figure {
    let (x, y): (Vec<f64>, Vec<f64>) = curve.iter().copied().unzip();
    let panel = Panel::new("", "steps", "steps up, of 1000")
        .horizontal("maximum", Color::Ink, WHOLE)
        .line("while learning", Color::Blue, &x, &y)
        .y_limits(0.0, 1050.0);
    Figure::new("").panel_size(330.0, 235.0).panel(panel)
}
