//! An agent whose networks are on a GPU.

use super::gpu;
use tractable::Device;
use tractable::rl::env::{Pendulum, TimeLimit};
use tractable::rl::{Agent, Settings};

#[test]
fn an_agent_learns_as_on_the_cpu() {
    let Some(device) = gpu() else { return };
    let learned = |device: Device| {
        let settings = Settings {
            horizon: 40,
            epochs: 1,
            value_layers: vec![16],
            policy_layers: vec![16],
            ..Settings::default()
        };
        let mut env = TimeLimit::new(Pendulum::new(), 50).unwrap();
        let mut agent = Agent::on(&env, settings, device).unwrap();
        let rollout = agent.rollout(&mut env).unwrap();
        [rollout.action_std, rollout.action_size, rollout.inferred_move, rollout.slope_to_noise]
    };
    let (on_gpu, exact) = (learned(device), learned(Device::reference()));
    for (a, b) in on_gpu.iter().zip(exact) {
        assert!((a - b).abs() <= 1e-3 * b.abs(), "{on_gpu:?}, {exact:?}");
    }
}
