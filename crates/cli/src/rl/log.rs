//! The files of a seed: the agent, its episodes, its progress, and the same for TensorBoard.
//!
//! Lines are gathered in memory and reach the disk before the agent they belong to, so after a crash they may be
//! ahead of it; a resumed run drops the excess.

use super::events;
use crate::files;
use crate::report::{Outcome, file_error};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tractable::rl::{Agent, Episode, Rollout};

const EPISODES: &str = "episodes.csv";
const PROGRESS: &str = "progress.jsonl";
const EVENTS: &str = "events.out.tfevents.0.tractable";
const HEADER: &str = "step,length,return\n";

/// One rollout, as a line of `progress.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) step: u64,
    pub(super) episodes: u64,
    /// Mean return of the last 100 episodes.
    pub(super) average: Option<f64>,
    pub(super) action_std: f64,
    pub(super) action_size: f64,
    pub(super) slope_to_noise: f64,
    pub(super) inferred_move: f64,
    pub(super) capped: u64,
    pub(super) repaired: u64,
    /// Seconds since 1970.
    pub(super) time: f64,
}

impl Line {
    pub(super) fn new(agent: &Agent, r: &Rollout) -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Line {
            step: agent.steps(),
            episodes: agent.episodes(),
            average: agent.average(),
            action_std: r.action_std,
            action_size: r.action_size,
            slope_to_noise: r.slope_to_noise,
            inferred_move: r.inferred_move,
            capped: r.value.capped + r.policy.capped,
            repaired: r.value.repaired + r.policy.repaired,
            time: since.map_or(0.0, |t| t.as_secs_f64()),
        }
    }

    fn event(&self) -> Vec<u8> {
        let mut values = vec![
            ("policy/action_std", self.action_std),
            ("policy/action_size", self.action_size),
            ("policy/inferred_move", self.inferred_move),
            ("value/slope_to_noise", self.slope_to_noise),
        ];
        values.extend(self.average.map(|a| ("return/average_100", a)));
        events::scalars(self.time, self.step, &values)
    }
}

/// The folder of a seed.
pub(crate) struct Log {
    folder: PathBuf,
    /// Not on the disk yet.
    episodes: String,
    progress: String,
    events: Vec<u8>,
}

impl Log {
    pub(crate) fn agent_of(folder: &Path) -> PathBuf {
        folder.join("agent.safetensors")
    }

    /// Begins a folder.
    pub(super) fn new(folder: &Path) -> Outcome<Self> {
        std::fs::create_dir_all(folder).map_err(file_error(folder, "make this folder"))?;
        files::write(&folder.join(EPISODES), HEADER.as_bytes())?;
        files::write(&folder.join(PROGRESS), b"")?;
        files::write(&folder.join(EVENTS), &events::begin(0.0))?;
        Ok(Log::at(folder))
    }

    fn at(folder: &Path) -> Self {
        Log { folder: folder.into(), episodes: String::new(), progress: String::new(), events: Vec::new() }
    }

    /// Resumes a folder whose agent has taken this many steps: drops later lines, returns the others.
    pub(super) fn resume(folder: &Path, steps: u64) -> Outcome<(Self, Vec<Line>)> {
        let read = |name: &str| {
            let path = folder.join(name);
            // A seed that was stopped in its first moment has none yet.
            if path.exists() { files::read_text(&path) } else { Ok(String::new()) }
        };
        // A crash may have torn the last line; it is ahead of the agent then.
        let (mut kept, mut lines, mut events) = (String::new(), Vec::new(), events::begin(0.0));
        for text in read(PROGRESS)?.lines() {
            if let Ok(line) = serde_json::from_str::<Line>(text)
                && line.step <= steps
            {
                kept += &format!("{text}\n");
                events.extend(line.event());
                lines.push(line);
            }
        }
        let mut episodes = String::from(HEADER);
        for text in read(EPISODES)?.lines().skip(1) {
            let whole = text.split(',').count() == 3;
            let step = text.split(',').next().and_then(|s| s.parse::<u64>().ok());
            if whole && step.is_some_and(|s| s <= steps) {
                episodes += &format!("{text}\n");
            }
        }
        files::write(&folder.join(PROGRESS), kept.as_bytes())?;
        files::write(&folder.join(EPISODES), episodes.as_bytes())?;
        files::write(&folder.join(EVENTS), &events)?;
        Ok((Log::at(folder), lines))
    }

    pub(super) fn add(&mut self, line: &Line, episodes: &[Episode]) {
        for e in episodes {
            self.episodes += &format!("{},{},{}\n", e.step, e.length, e.total);
        }
        self.progress += &serde_json::to_string(line).expect("plain numbers");
        self.progress.push('\n');
        self.events.extend(line.event());
    }

    /// Everything to the disk, the agent last.
    pub(super) fn save(&mut self, agent: &Agent) -> Outcome {
        let parts = [
            (EPISODES, HEADER.as_bytes().to_vec(), self.episodes.as_bytes()),
            (PROGRESS, Vec::new(), self.progress.as_bytes()),
            (EVENTS, events::begin(0.0), &self.events[..]),
        ];
        for (name, start, bytes) in parts {
            let path = self.folder.join(name);
            // Somebody may have removed it meanwhile; the agent counts for more.
            let empty = std::fs::metadata(&path).map_or(true, |about| about.len() == 0);
            let file = files::append(&path, &if empty { [&start, bytes].concat() } else { bytes.to_vec() })?;
            file.sync_all().map_err(file_error(&path, "flush it to the disk"))?;
        }
        self.episodes.clear();
        self.progress.clear();
        self.events.clear();
        Ok(agent.save(Log::agent_of(&self.folder))?)
    }
}
