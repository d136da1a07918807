//! An agent's file: both networks, normalisation, counters and the task's state, written atomically.
//!
//! A safetensors file whose two tensors, `value` and `policy`, are the bytes of model files; its metadata holds the
//! rest as JSON. Random numbers need no state: every rollout has its own streams.

use super::agent::{Agent, Life};
use super::env::Environment;
use super::settings::Settings;
use serde::{Deserialize, Serialize};
use std::path::Path;
use tractable_core::error::{Error, Result};
use tractable_core::files;
use tractable_devices::Device;
use tractable_network::checkpoint::MOST_BYTES;
use tractable_network::checkpoint::tensors::{Bytes, Tensors, U8, to_file};
use tractable_network::network::Network;

const FORMAT: &str = "tractable-agent";
const VERSION: &str = "1";

/// Everything that is not in the networks' files.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rest<S, L, W> {
    settings: S,
    life: L,
    world: W,
}

impl Agent {
    /// Writes everything to one file: networks, normalisation, counters, the task's state. When this returns, the new
    /// file is on the disk; until then a crash leaves the old one.
    ///
    /// ```
    /// use tractable::rl::{Agent, Settings, env::{Pendulum, TimeLimit}};
    /// # let dir = tempfile::tempdir().unwrap();
    /// let path = dir.path().join("agent.safetensors");
    /// let mut env = TimeLimit::new(Pendulum::new(), 200)?;
    /// let mut agent = Agent::new(&env, Settings { horizon: 32, ..Settings::default() })?;
    /// agent.rollout(&mut env)?;
    /// agent.save(&path)?;
    /// let mut later = Agent::resume(&path, &mut env)?; // continues identically
    /// later.rollout(&mut env)?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let refuse = |at: &str, why: String| Error::Model { path: path.into(), at: at.into(), why };
        let rest = Rest { settings: &self.settings, life: &self.life, world: &self.world };
        let rest = serde_json::to_string(&rest).map_err(|e| refuse("agent", e.to_string()))?;
        let tensor = |name: &str, net: &Network| {
            let bytes = net.bytes_of_file(path)?;
            Ok((name.into(), U8, vec![bytes.len()], bytes))
        };
        let networks = vec![tensor("policy", &self.policy)?, tensor("value", &self.value)?];
        let bytes = to_file(FORMAT, VERSION, ("agent", &rest), networks);
        files::write(path, &bytes.map_err(|why| refuse("header", why))?)
    }

    /// Reads an agent for a task like this one; the task itself is unchanged.
    ///
    /// ```
    /// use tractable::rl::{Agent, env::Pendulum};
    /// assert!(Agent::load("no/such/file", &Pendulum::new()).is_err());
    /// ```
    pub fn load(path: impl AsRef<Path>, env: &(impl Environment + ?Sized)) -> Result<Self> {
        let path = path.as_ref();
        let refuse = |at: &str, why: String| Error::Model { path: path.into(), at: at.into(), why };
        let (file, length) = files::open(path, MOST_BYTES)?;
        let tensors = Tensors::open(path, Bytes::File(&file), 0..length, "not an agent's file")?;
        let entry = |name: &str| tensors.entry(name).unwrap_or_default();
        if entry("format") != FORMAT || entry("version") != VERSION {
            let why = format!("is not {FORMAT}, version {VERSION}, which this build reads");
            return Err(refuse("metadata", why));
        }
        let Rest { settings, life, world }: Rest<Settings, Life, Vec<f64>> =
            serde_json::from_str(entry("agent")).map_err(|e| refuse("agent", e.to_string()))?;
        let network = |name: &str| {
            let info = tensors.info(name).filter(|info| info.dtype == U8);
            let info = info.ok_or_else(|| refuse(name, "is missing or not the bytes of a model".into()))?;
            Network::read(path, Bytes::File(&file), tensors.place(info), Device::cpu(1))
        };
        let (value, policy) = (network("value")?, network("policy")?);
        settings.check().map_err(|e| refuse("settings", e.to_string()))?;
        let (ns, na) = (env.observation_space().len(), env.action_space().len());
        let sizes = (value.input().len(), policy.input().len(), policy.output().units());
        if sizes != (ns + na, ns, na) || value.output().units() != 1 {
            let why = format!("is for another task: this one has {ns} observations and {na} actions");
            return Err(refuse("networks", why));
        }
        let begun = life.state.len() == ns && life.action.len() == na;
        let fresh = life.state.is_empty() && life.action.is_empty() && life.steps == 0;
        // Counters must not overflow later.
        let few =
            life.steps.max(life.episodes) < 1 << 53 && life.rollouts < 1 << 39 && life.recent.len() <= 100;
        let sound = life.observations.is_sound(ns) && life.returns.is_sound(1) && (begun || fresh) && few;
        if !sound {
            return Err(refuse("agent", "contains invalid agent state".into()));
        }
        Agent::with(settings, value, policy, life, world, env.action_space())
    }

    /// Like [`load`](Agent::load), and restores the task: training then continues with bit-identical
    /// results.
    ///
    /// ```
    /// use tractable::rl::{Agent, env::Pendulum};
    /// assert!(Agent::resume("no/such/file", &mut Pendulum::new()).is_err());
    /// ```
    pub fn resume(path: impl AsRef<Path>, env: &mut (impl Environment + ?Sized)) -> Result<Self> {
        let agent = Agent::load(path, env)?;
        if agent.life.steps > 0 {
            env.restore(&agent.world)?;
        }
        Ok(agent)
    }
}
