//! The embedded tasks, and tasks of Python's.

use crate::arrays::{Numbers, array};
use crate::errors::{OrRaise, invalid, raised};
use crate::locks;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::{Mutex, MutexGuard};
use tractable::Error;
use tractable::rl::env::{
    Environment, HalfCheetah, InvertedPendulum, Pendulum, Space, Step, TimeLimit, Version,
};

type Boxed = Box<dyn Environment + Send>;

/// An embedded task: half-cheetah, inverted-pendulum or pendulum, simulated in Rust.
#[pyclass(frozen, module = "tractable")]
pub(crate) struct Task(pub Mutex<Boxed>);

impl Task {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Boxed> {
        locks::lock(&self.0)
    }
}

fn limited<E: Environment + Send + 'static>(env: E, limit: Option<u64>) -> PyResult<Boxed> {
    match limit {
        Some(limit) => Ok(Box::new(TimeLimit::new(env, limit).or_raise()?)),
        None => Ok(Box::new(env)),
    }
}

/// What a space's bounds are in Python.
type Bounds = (Vec<f64>, Vec<f64>);

#[pymethods]
impl Task {
    /// limit: steps after which an episode is cut off.
    #[new]
    #[pyo3(signature = (name, *, limit=None))]
    fn new(name: &str, limit: Option<u64>) -> PyResult<Self> {
        let task = match name {
            "half-cheetah" => limited(HalfCheetah::new(), limit)?,
            "inverted-pendulum" => limited(InvertedPendulum::new(Version::V5), limit)?,
            "pendulum" => limited(Pendulum::new(), limit)?,
            _ => {
                let why = format!("`{name}` is not half-cheetah, inverted-pendulum or pendulum");
                return Err(invalid("task", why));
            }
        };
        Ok(Task(Mutex::new(task)))
    }

    /// Lower and upper bounds of observations.
    #[getter]
    fn observation_bounds(&self) -> Bounds {
        bounds(self.lock().observation_space())
    }

    /// Lower and upper bounds of actions.
    #[getter]
    fn action_bounds(&self) -> Bounds {
        bounds(self.lock().action_space())
    }

    /// Starts an episode: the first observation.
    fn reset<'py>(&self, py: Python<'py>, seed: u64) -> PyResult<Bound<'py, PyAny>> {
        let mut env = self.lock();
        let mut observation = vec![0.0; env.observation_space().len()];
        env.reset(seed, &mut observation).or_raise()?;
        array(py, observation, &[0])
    }

    /// Takes a step: observation, reward, terminated, truncated.
    fn step<'py>(
        &self,
        py: Python<'py>,
        action: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, f64, bool, bool)> {
        let action = Numbers::of(action, "action")?;
        let mut env = self.lock();
        let mut observation = vec![0.0; env.observation_space().len()];
        let Step { reward, terminated, truncated } = env.step(action.data(), &mut observation).or_raise()?;
        Ok((array(py, observation, &[0])?, reward, terminated, truncated))
    }

    /// The complete state, for restore().
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.lock().state(), &[0])
    }

    /// Returns to a state.
    fn restore(&self, state: &Bound<'_, PyAny>) -> PyResult<()> {
        self.lock().restore(Numbers::of(state, "state")?.data()).or_raise()
    }

    /// The bodies, for drawing: [x0, z0, x1, z1, radius] each.
    fn segments(&self) -> Vec<[f64; 5]> {
        let bodies = self.lock().segments();
        bodies.iter().map(|s| [s.from[0], s.from[1], s.to[0], s.to[1], s.radius]).collect()
    }
}

fn bounds(space: &Space) -> Bounds {
    (space.low().to_vec(), space.high().to_vec())
}

/// A task of Python's with Gymnasium's methods.
pub(crate) struct Foreign {
    env: Py<PyAny>,
    observations: Space,
    actions: Space,
    /// What Python raised.
    pub(crate) raised: Option<PyErr>,
}

impl Foreign {
    pub(crate) fn new(env: &Bound<'_, PyAny>) -> PyResult<Self> {
        let space = |name: &str| -> PyResult<Space> {
            let space = env.getattr(name)?;
            let bound = |side: &str| -> PyResult<Vec<f64>> {
                let missing = |_| invalid(name, "is not a Box");
                Ok(Numbers::of(&space.getattr(side).map_err(missing)?, name)?.data().to_vec())
            };
            Space::new(bound("low")?, bound("high")?).or_raise()
        };
        let (observations, actions) = (space("observation_space")?, space("action_space")?);
        Ok(Foreign { env: env.clone().unbind(), observations, actions, raised: None })
    }

    /// Calls Python; what it raises is kept, and the library gets a text.
    fn call<T>(&mut self, f: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> tractable::Result<T> {
        Python::attach(|py| f(self.env.bind(py))).map_err(|e| {
            let why = e.to_string();
            self.raised = Some(e);
            Error::Invalid { what: "environment".into(), why }
        })
    }
}

fn observed(object: &Bound<'_, PyAny>, observation: &mut [f64]) -> PyResult<()> {
    let numbers = Numbers::of(object, "observation")?;
    if numbers.data().len() != observation.len() {
        return Err(crate::errors::shape("observation", observation.len(), numbers.data().len()));
    }
    observation.copy_from_slice(numbers.data());
    Ok(())
}

impl Environment for Foreign {
    fn observation_space(&self) -> &Space {
        &self.observations
    }

    fn action_space(&self) -> &Space {
        &self.actions
    }

    fn reset(&mut self, seed: u64, observation: &mut [f64]) -> tractable::Result<()> {
        self.call(|env| {
            let settings = PyDict::new(env.py());
            // Gymnasium's seeds have 31 bits.
            settings.set_item("seed", seed & 0x7fff_ffff)?;
            let said = env.call_method("reset", (), Some(&settings))?;
            observed(&said.cast::<PyTuple>()?.get_item(0)?, observation)
        })
    }

    fn step(&mut self, action: &[f64], observation: &mut [f64]) -> tractable::Result<Step> {
        self.call(|env| {
            let py = env.py();
            let shape = env.getattr("action_space")?.getattr("shape")?;
            let action = PyArray1::from_slice(py, action).call_method1("reshape", (shape,))?;
            let said = env.call_method1("step", (action,))?;
            let said = said.cast::<PyTuple>()?;
            observed(&said.get_item(0)?, observation)?;
            Ok(Step {
                reward: said.get_item(1)?.extract()?,
                terminated: said.get_item(2)?.extract()?,
                truncated: said.get_item(3)?.extract()?,
            })
        })
    }

    fn state(&self) -> Vec<f64> {
        Vec::new()
    }

    fn restore(&mut self, _state: &[f64]) -> tractable::Result<()> {
        let why = "a Gymnasium task cannot go back; start a new episode with a new agent".into();
        Err(Error::Invalid { what: "environment".into(), why })
    }
}

/// What Python raised in a task, or else the library's error.
pub(crate) fn or_raised<T>(result: tractable::Result<T>, foreign: Option<&mut Foreign>) -> PyResult<T> {
    result.map_err(|e| foreign.and_then(|f| f.raised.take()).unwrap_or_else(|| raised(e)))
}
