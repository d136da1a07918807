//! The agent: tasks with known answers, learning with a seed, the same bits for any team and after a resume, and
//! environments that fail.

use tractable::rl::env::{Environment, InvertedPendulum, Space, Step, TimeLimit, Version};
use tractable::rl::{Agent, Settings};
use tractable::{Device, Error, Result};

/// A small task of our own: where it is, and what happens there.
struct Task {
    observations: Space,
    actions: Space,
    x: f64,
    step: fn(&mut f64, f64) -> (f64, bool),
    start: fn(u64) -> f64,
}

impl Task {
    fn new(start: fn(u64) -> f64, step: fn(&mut f64, f64) -> (f64, bool)) -> Self {
        Task { observations: Space::unbounded(1), actions: Space::symmetric(1, 1.0), x: 0.0, step, start }
    }
}

impl Environment for Task {
    fn observation_space(&self) -> &Space {
        &self.observations
    }

    fn action_space(&self) -> &Space {
        &self.actions
    }

    fn reset(&mut self, seed: u64, observation: &mut [f64]) -> Result<()> {
        self.x = (self.start)(seed);
        observation[0] = self.x;
        Ok(())
    }

    fn step(&mut self, action: &[f64], observation: &mut [f64]) -> Result<Step> {
        let (reward, terminated) = (self.step)(&mut self.x, action[0]);
        observation[0] = self.x;
        Ok(Step { reward, terminated, truncated: false })
    }

    fn state(&self) -> Vec<f64> {
        vec![self.x]
    }

    fn restore(&mut self, state: &[f64]) -> Result<()> {
        self.x = state[0];
        Ok(())
    }
}

/// Anywhere in [-1, 1], by the seed.
fn anywhere(seed: u64) -> f64 {
    (seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn small(seed: u64) -> Settings {
    Settings {
        seed,
        horizon: 256,
        value_layers: vec![32; 3],
        policy_layers: vec![32; 2],
        ..Settings::gentle()
    }
}

fn action(agent: &Agent, x: f64) -> f64 {
    let mut action = [0.0];
    agent.act(&[x], &mut action).unwrap();
    action[0]
}

/// One step: the best action is 0.6 times what is seen. With products of slopes and with second derivatives.
#[test]
fn a_bandit_is_solved() {
    let mut acted = Vec::new();
    for second_order in [false, true] {
        let mut bandit = Task::new(anywhere, |x, a| (-(a - 0.6 * *x).powi(2), true));
        let mut agent = Agent::new(&bandit, Settings { second_order, ..small(1) }).unwrap();
        for _ in 0..120 {
            agent.rollout(&mut bandit).unwrap();
        }
        let actions = [-0.8, -0.4, 0.0, 0.4, 0.8].map(|x| (x, action(&agent, x)));
        let mean = actions.iter().map(|(x, a)| (a - 0.6 * x).abs()).sum::<f64>() / 5.0;
        assert!(mean < 0.1, "second order {second_order}: {actions:?}");
        acted.push(actions);
    }
    assert_ne!(acted[0], acted[1]);
}

/// x' = x + a/2 at a cost of x^2 + a^2/10, cut off after 20 steps: the best gain follows from Riccati's equation.
#[test]
fn a_linear_regulator_is_solved() {
    let step = |x: &mut f64, a: f64| {
        let cost = *x * *x + 0.1 * a * a;
        *x += 0.5 * a;
        (-cost, false)
    };
    let (q, r, b, discount) = (1.0, 0.1, 0.5, 0.99);
    let (mut p, mut gain) = (q, 0.0);
    for _ in 0..100 {
        gain = discount * b * p / (r + discount * b * b * p);
        p = q + discount * p - discount * b * p * gain;
    }
    let cost_with = |act: &dyn Fn(f64) -> f64| {
        let starts = [-1.0f64, -0.5, 0.5, 1.0];
        let run = |start: f64| {
            let (mut x, mut total) = (start, 0.0);
            for _ in 0..20 {
                let a = act(x).clamp(-1.0, 1.0);
                total -= step(&mut x, a).0;
            }
            total
        };
        starts.map(run).iter().sum::<f64>()
    };
    let mut env = TimeLimit::new(Task::new(anywhere, step), 20).unwrap();
    let mut agent = Agent::new(&env, small(0)).unwrap();
    for _ in 0..120 {
        agent.rollout(&mut env).unwrap();
    }
    let (best, ours, idle) =
        (cost_with(&|x| -gain * x), cost_with(&|x| action(&agent, x)), cost_with(&|_| 0.0));
    assert!(ours < 1.3 * best, "cost {ours}, the best is {best}, doing nothing costs {idle}");
}

fn pole() -> TimeLimit<InvertedPendulum> {
    TimeLimit::new(InvertedPendulum::new(Version::V5), 1000).unwrap()
}

mod slow {
    use super::*;

    #[test]
    fn a_pole_is_learned_in_seconds() {
        let mut env = pole();
        let mut agent = Agent::new(&env, Settings::gentle()).unwrap();
        let first = {
            agent.rollout(&mut env).unwrap();
            agent.average().unwrap()
        };
        while agent.steps() < 100_000 {
            agent.rollout(&mut env).unwrap();
        }
        let played = agent.evaluate(&mut env, 5, 1).unwrap();
        let mean = played.episodes.iter().map(|e| e.total).sum::<f64>() / 5.0;
        assert!(first < 60.0 && mean > 800.0, "{first} at first, {mean} after 100,000 steps");
    }
}

/// Bits of everything an agent has learned.
fn bits(agent: &Agent) -> Vec<u64> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agent");
    agent.save(&path).unwrap();
    std::fs::read(path).unwrap().chunks(8).map(|c| c.iter().fold(0, |n, &b| n << 8 | u64::from(b))).collect()
}

#[test]
fn threads_change_nothing() {
    let run = |device: Device| {
        let mut env = pole();
        let mut agent =
            Agent::on(&env, Settings { horizon: 128, ..Settings::default() }, device.clone()).unwrap();
        (0..4).for_each(|_| drop(agent.rollout(&mut env).unwrap()));
        bits(&agent)
    };
    let one = run(Device::cpu(1));
    assert_eq!(one, run(Device::cpu(3)));
    assert_eq!(one, run(Device::cpu(1)));
}

#[test]
fn a_resumed_agent_goes_on_to_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agent.safetensors");
    let settings = Settings { horizon: 100, trace: 0.9, ..Settings::default() };
    let mut env = pole();
    let mut agent = Agent::new(&env, settings).unwrap();
    (0..3).for_each(|_| drop(agent.rollout(&mut env).unwrap()));
    agent.save(&path).unwrap();
    let mut other = pole();
    let mut resumed = Agent::resume(&path, &mut other).unwrap();
    assert_eq!(bits(&agent), bits(&resumed));
    for _ in 0..3 {
        agent.rollout(&mut env).unwrap();
        resumed.rollout(&mut other).unwrap();
    }
    assert_eq!(bits(&agent), bits(&resumed));
    assert_eq!((agent.steps(), env.state()), (600, other.state()));
}

#[test]
fn a_file_for_another_task_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agent.safetensors");
    Agent::new(&pole(), Settings::default()).unwrap().save(&path).unwrap();
    let bandit = Task::new(anywhere, |_, _| (0.0, true));
    assert!(matches!(Agent::load(&path, &bandit), Err(Error::Model { .. })));
    let mut bytes = std::fs::read(&path).unwrap();
    let n = bytes.len();
    bytes.truncate(n / 2);
    std::fs::write(&path, bytes).unwrap();
    assert!(matches!(Agent::load(&path, &pole()), Err(Error::Model { .. })));
}

/// Fails in its second rollout; the agent is as it was after the first, and can be saved.
fn fails(step: fn(&mut f64, f64) -> (f64, bool), says: &str) {
    let mut env = TimeLimit::new(Task::new(|_| 0.0, step), 10_000).unwrap();
    let mut agent = Agent::new(&env, Settings { horizon: 64, ..small(0) }).unwrap();
    agent.rollout(&mut env).unwrap();
    let before = bits(&agent);
    let error = agent.rollout(&mut env).unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
    assert_eq!((agent.steps(), before), (64, bits(&agent)));
}

#[test]
fn an_environment_that_returns_nan_is_an_error_and_loses_nothing() {
    fails(
        |x, _| {
            *x += 1.0;
            (if *x == 100.0 { f64::NAN } else { 1.0 }, false)
        },
        "reward after 99 steps",
    );
    fails(
        |x, _| {
            *x = if *x >= 70.0 { f64::NAN } else { *x + 1.0 };
            (1.0, false)
        },
        "observation after 71 steps",
    );
}

#[test]
fn an_environment_that_panics_is_an_error_and_loses_nothing() {
    fails(
        |x, _| {
            *x += 1.0;
            assert!(*x < 100.0, "the leg broke");
            (1.0, false)
        },
        "panicked: the leg broke",
    );
}

/// Fails once, in the middle of an episode of the second rollout; the next attempt is what the first would have been.
#[test]
fn a_failed_rollout_can_be_tried_again() {
    use std::sync::atomic::{AtomicBool, Ordering};
    static BROKEN: AtomicBool = AtomicBool::new(false);
    let task = || {
        let step = |x: &mut f64, a: f64| {
            *x += 0.1 + 0.01 * a;
            let broken = *x > 3.0 && BROKEN.swap(false, Ordering::Relaxed);
            (if broken { f64::NAN } else { *x }, *x > 5.0)
        };
        TimeLimit::new(Task::new(anywhere, step), 45).unwrap()
    };
    let run = |fails: bool| {
        let mut env = task();
        let mut agent = Agent::new(&env, Settings { horizon: 64, ..small(0) }).unwrap();
        let first = agent.rollout(&mut env).unwrap();
        BROKEN.store(fails, Ordering::Relaxed);
        if fails {
            let (before, world) = (bits(&agent), env.state());
            assert!(agent.rollout(&mut env).unwrap_err().to_string().contains("reward after"));
            assert_eq!((before, world), (bits(&agent), env.state()));
        }
        (first, agent.rollout(&mut env).unwrap(), bits(&agent), env.state())
    };
    assert_eq!(format!("{:?}", run(false)), format!("{:?}", run(true)));
}

/// An environment that can neither act nor be restored: the error says both.
#[test]
fn an_environment_that_cannot_be_restored_is_named() {
    struct Stuck(Task);
    impl Environment for Stuck {
        fn observation_space(&self) -> &Space {
            &self.0.observations
        }
        fn action_space(&self) -> &Space {
            &self.0.actions
        }
        fn reset(&mut self, seed: u64, observation: &mut [f64]) -> Result<()> {
            self.0.reset(seed, observation)
        }
        fn step(&mut self, _: &[f64], _: &mut [f64]) -> Result<Step> {
            panic!("the leg broke")
        }
        fn state(&self) -> Vec<f64> {
            self.0.state()
        }
        fn restore(&mut self, _: &[f64]) -> Result<()> {
            panic!("it stays broken")
        }
    }
    let mut env = Stuck(Task::new(anywhere, |_, _| (0.0, true)));
    let mut agent = Agent::new(&env, small(0)).unwrap();
    let said = agent.rollout(&mut env).unwrap_err().to_string();
    assert!(
        said.contains("the leg broke; then environment: restore after 0 steps panicked: it stays broken"),
        "{said}"
    );
}

#[test]
fn settings_are_checked() {
    let refused = |settings: Settings| Agent::new(&pole(), settings).unwrap_err().to_string();
    assert!(refused(Settings { batch: 0, ..Settings::default() }).contains("batch"));
    assert!(refused(Settings { discount: 1.5, ..Settings::default() }).contains("discount"));
    let mut unbounded = Task::new(anywhere, |_, _| (0.0, true));
    unbounded.actions = Space::unbounded(1);
    assert!(Agent::new(&unbounded, Settings::default()).unwrap_err().to_string().contains("bounds"));
}
