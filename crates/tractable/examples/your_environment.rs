//! An agent in your own environment. Expect: `off at first` in 0.2..3, `off at last` in 0..0.15.

use tractable::rl::env::{Environment, Space, Step};
use tractable::rl::{Agent, Settings};
use tractable::{Error, Result, rng};

/// A thermostat: observes how cold it is and chooses the heating; the optimum is 0.6 times the observation. One step per episode.
struct Thermostat {
    cold: f64,
    observations: Space,
    actions: Space,
}

impl Thermostat {
    fn new() -> Self {
        Thermostat { cold: 0.0, observations: Space::symmetric(1, 1.0), actions: Space::symmetric(1, 1.0) }
    }
}

impl Environment for Thermostat {
    fn observation_space(&self) -> &Space {
        &self.observations
    }

    fn action_space(&self) -> &Space {
        &self.actions
    }

    fn reset(&mut self, seed: u64, observation: &mut [f64]) -> Result<()> {
        self.cold = rng::uniform(-1.0, 1.0, &mut rng::stream(seed, "thermostat", 0));
        observation[0] = self.cold;
        Ok(())
    }

    fn step(&mut self, action: &[f64], observation: &mut [f64]) -> Result<Step> {
        if !action[0].is_finite() {
            return Err(invalid("action", "is not a finite number"));
        }
        let reward = -(action[0] - 0.6 * self.cold).powi(2);
        observation[0] = self.cold;
        Ok(Step { reward, terminated: true, truncated: false })
    }

    fn state(&self) -> Vec<f64> {
        vec![self.cold]
    }

    fn restore(&mut self, state: &[f64]) -> Result<()> {
        match *state {
            [cold] => self.cold = cold,
            _ => return Err(invalid("state", "a thermostat has one number")),
        }
        Ok(())
    }
}

/// A caller's mistake gives an error, never a panic.
fn invalid(what: &str, why: &str) -> Error {
    Error::Invalid { what: what.into(), why: why.into() }
}

/// Mean distance of the agent's choice from the optimum.
fn off(agent: &Agent) -> Result<f64> {
    let mut sum = 0.0;
    for cold in [-0.8, -0.4, 0.0, 0.4, 0.8] {
        let mut action = [0.0];
        agent.act(&[cold], &mut action)?;
        sum += (action[0] - 0.6 * cold).abs();
    }
    Ok(sum / 5.0)
}

fn main() -> Result<()> {
    let mut env = Thermostat::new();
    // Small networks for a small task.
    let settings = Settings {
        seed: 1,
        horizon: 256,
        value_layers: vec![32; 3],
        policy_layers: vec![32; 2],
        ..Settings::gentle()
    };
    let mut agent = Agent::new(&env, settings)?;
    println!("off at first: {:.3}", off(&agent)?);
    while agent.steps() < 30_000 {
        agent.rollout(&mut env)?; // takes 256 steps, then learns from them
    }
    println!("off at last: {:.3}", off(&agent)?);
    Ok(())
}
