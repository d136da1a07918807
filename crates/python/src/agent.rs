//! An agent that infers its actions.

use crate::arrays::{Numbers, array};
use crate::errors::{OrRaise, invalid};
use crate::locks;
use crate::network::{Network, Path};
use crate::task::{Foreign, Task, or_raised};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, MutexGuard};
use tractable::rl::{Agent as Inner, Episode, Settings};

/// Learns continuous actions in a task, embedded or Gymnasium's.
#[pyclass(frozen, module = "tractable")]
pub(crate) struct Agent(Mutex<Inner>);

/// A task that a caller gave.
enum Environment<'py> {
    Own(Bound<'py, Task>),
    Foreign(Box<Foreign>),
}

impl<'py> Environment<'py> {
    fn of(env: &Bound<'py, PyAny>) -> PyResult<Self> {
        match env.cast::<Task>() {
            Ok(task) => Ok(Environment::Own(task.clone())),
            Err(_) => Ok(Environment::Foreign(Box::new(Foreign::new(env)?))),
        }
    }
}

impl Agent {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        locks::lock(&self.0)
    }
}

fn episodes(all: &[Episode]) -> Vec<(u64, u64, f64)> {
    all.iter().map(|e| (e.step, e.length, e.total)).collect()
}

#[pymethods]
impl Agent {
    #[staticmethod]
    #[pyo3(name = "_new", signature = (env, base, settings))]
    fn new(env: &Bound<'_, PyAny>, base: &str, settings: &str) -> PyResult<Self> {
        let base = match base {
            "default" => Settings::default(),
            "gentle" => Settings::gentle(),
            "as-published" => Settings::as_published(),
            _ => return Err(invalid("settings", format!("`{base}` is not default, gentle or as-published"))),
        };
        let refused = |e: serde_json::Error| invalid("settings", e.to_string());
        let mut all = serde_json::to_value(base).map_err(refused)?;
        let own: serde_json::Value = serde_json::from_str(settings).map_err(refused)?;
        for (name, value) in own.as_object().into_iter().flatten() {
            all[name] = value.clone();
        }
        let settings = serde_json::from_value(all).map_err(refused)?;
        let agent = match Environment::of(env)? {
            Environment::Own(task) => Inner::new(&**task.get().lock(), settings),
            Environment::Foreign(foreign) => Inner::new(&*foreign, settings),
        };
        Ok(Agent(Mutex::new(agent.or_raise()?)))
    }

    /// Acts for a horizon and learns from it.
    fn rollout<'py>(&self, py: Python<'py>, env: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let rollout = match Environment::of(env)? {
            Environment::Own(task) => {
                let task = task.get();
                py.detach(|| self.lock().rollout(&mut **task.lock())).or_raise()?
            }
            Environment::Foreign(mut foreign) => {
                let rollout = py.detach(|| self.lock().rollout(&mut *foreign));
                or_raised(rollout, Some(&mut foreign))?
            }
        };
        let out = PyDict::new(py);
        out.set_item("episodes", episodes(&rollout.episodes))?;
        out.set_item("action_std", rollout.action_std)?;
        out.set_item("slope_to_noise", rollout.slope_to_noise)?;
        out.set_item("inferred_move", rollout.inferred_move)?;
        Ok(out)
    }

    /// The policy's action, without exploration.
    fn act<'py>(&self, py: Python<'py>, observation: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let observation = Numbers::of(observation, "observation")?;
        let agent = self.lock();
        let mut action = vec![0.0; agent.policy().output().units()];
        agent.act(observation.data(), &mut action).or_raise()?;
        array(py, action, &[0])
    }

    /// Plays episodes without exploration or learning: (step, length, total reward) each.
    #[pyo3(signature = (env, episodes=10, seed=0))]
    fn evaluate(
        &self,
        py: Python<'_>,
        env: &Bound<'_, PyAny>,
        episodes: u64,
        seed: u64,
    ) -> PyResult<Vec<(u64, u64, f64)>> {
        let played = match Environment::of(env)? {
            Environment::Own(task) => {
                let task = task.get();
                py.detach(|| self.lock().evaluate(&mut **task.lock(), episodes, seed)).or_raise()?
            }
            Environment::Foreign(mut foreign) => {
                let played = py.detach(|| self.lock().evaluate(&mut *foreign, episodes, seed));
                or_raised(played, Some(&mut foreign))?
            }
        };
        Ok(self::episodes(&played.episodes))
    }

    /// Steps taken.
    #[getter]
    fn steps(&self) -> u64 {
        self.lock().steps()
    }

    /// Episodes finished.
    #[getter]
    fn episodes(&self) -> u64 {
        self.lock().episodes()
    }

    /// Average return of the last 100 episodes, or None before the first has ended.
    #[getter]
    fn average(&self) -> Option<f64> {
        self.lock().average()
    }

    /// A copy of the value network.
    #[getter]
    fn value(&self) -> PyResult<Network> {
        self.lock().value().try_clone().map(Network::from).or_raise()
    }

    /// A copy of the policy.
    #[getter]
    fn policy(&self) -> PyResult<Network> {
        self.lock().policy().try_clone().map(Network::from).or_raise()
    }

    #[getter]
    #[pyo3(name = "_settings")]
    fn settings(&self) -> PyResult<String> {
        serde_json::to_string(self.lock().settings()).map_err(|e| invalid("settings", e.to_string()))
    }

    /// Writes a file that load() and the program read.
    fn save(&self, py: Python<'_>, path: Path) -> PyResult<()> {
        py.detach(|| self.lock().save(path)).or_raise()
    }

    /// Reads an agent for a task like this one. An embedded task returns to where the agent was.
    #[staticmethod]
    fn load(path: Path, env: &Bound<'_, PyAny>) -> PyResult<Self> {
        let agent = match Environment::of(env)? {
            Environment::Own(task) => Inner::resume(path, &mut **task.get().lock()),
            Environment::Foreign(foreign) => Inner::load(path, &*foreign),
        };
        Ok(Agent(Mutex::new(agent.or_raise()?)))
    }

    fn __repr__(&self) -> String {
        let agent = self.lock();
        let average = agent.average().map_or(String::new(), |a| format!("; average return {a:.1}"));
        format!("<Agent after {} steps, {} episodes{average}>", agent.steps(), agent.episodes())
    }
}
