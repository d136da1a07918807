//! A value network and its policy that learn a rollout in one kernel.

use super::gpu;
use tractable::rl::env::{Pendulum, TimeLimit};
use tractable::rl::{Agent, Settings};
use tractable::{Activation, Device, Gate, Lesson, Network, Teacher};

/// Settings with small networks of unusual widths.
fn settings(value: &[usize], policy: &[usize], activation: Activation) -> Settings {
    Settings {
        horizon: 72, // the last mini-batch has 8 rows
        epochs: 2,
        value_layers: value.to_vec(),
        policy_layers: policy.to_vec(),
        activation,
        ..Settings::default()
    }
}

/// All means and variances of an agent's networks.
fn parameters(agent: &Agent) -> Vec<f64> {
    let of = |net: &Network| {
        let weights = net.layer_names().iter().filter_map(|name| net.weights(name).unwrap());
        weights.flat_map(|(w, b)| [w.mean(), w.var(), b.mean(), b.var()].concat()).collect::<Vec<_>>()
    };
    [of(agent.value()), of(agent.policy())].concat()
}

/// Root mean square distance of two lists, in units of the first one's distance from a third.
fn off(a: &[f64], b: &[f64], from: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
    distance(a, b) / distance(a, from)
}

/// The error of a call that must fail.
fn said<T>(result: tractable::Result<T>) -> String {
    result.err().expect("it must fail").to_string()
}

#[test]
fn a_rollout_is_learned_as_on_the_cpu() {
    let Some(device) = gpu() else { return };
    let leaky = Activation::LeakyRelu { slope: 0.1 };
    let cases: [(&[usize], &[usize], Activation, usize); 4] = [
        (&[24, 20, 16], &[24, 16], Activation::Relu, 1),
        (&[33], &[7], Activation::Relu, 1),
        (&[20, 36], &[], Activation::Relu, 2),
        (&[16, 16, 16, 16], &[16, 16, 16], leaky, 1),
    ];
    for (value, policy, activation, inference_steps) in cases {
        for (device, most) in [(device.clone(), 2e-4), (device.fast().unwrap(), 2e-2)] {
            let settings = Settings { inference_steps, ..settings(value, policy, activation) };
            let env = || TimeLimit::new(Pendulum::new(), 50).unwrap();
            let mut exact = Agent::on(&env(), settings.clone(), Device::reference()).unwrap();
            let mut agent = Agent::on(&env(), settings, device.clone()).unwrap();
            let before = parameters(&exact);
            let (wanted, rollout) = (exact.rollout(&mut env()).unwrap(), agent.rollout(&mut env()).unwrap());
            let off = off(&parameters(&exact), &parameters(&agent), &before);
            assert!(off < most, "{value:?} {policy:?} on {device}: {off}");
            assert_eq!((rollout.value.rows, rollout.policy.rows), (144, 144));
            let close = |a: f64, b: f64| (a - b).abs() <= 20.0 * most * a.abs().max(1e-3);
            let pairs = [
                (wanted.action_std, rollout.action_std),
                (wanted.action_size, rollout.action_size),
                (wanted.inferred_move, rollout.inferred_move),
                (wanted.slope_to_noise, rollout.slope_to_noise),
            ];
            assert!(pairs.iter().all(|&(a, b)| close(a, b)), "{device}: {pairs:?}");
        }
    }
}

#[test]
fn a_lesson_gives_the_same_bits_twice_and_agents_do_not_disturb_each_other() {
    let Some(device) = gpu() else { return };
    let learned = |seed: u64| {
        let mut env = TimeLimit::new(Pendulum::new(), 50).unwrap();
        let settings = Settings { seed, ..settings(&[16, 16], &[16], Activation::Relu) };
        let mut agent = Agent::on(&env, settings, device.clone()).unwrap();
        agent.rollout(&mut env).unwrap();
        parameters(&agent)
    };
    let alone: Vec<_> = (0..3).map(learned).collect();
    let together = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|seed| scope.spawn(move || learned(seed))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(alone, together);
    assert_ne!(alone[0], alone[1]);
}

#[test]
fn what_the_kernel_cannot_learn_is_refused_and_changes_nothing() {
    let Some(device) = gpu() else { return };
    let env = TimeLimit::new(Pendulum::new(), 50).unwrap();
    let refused = |settings: Settings| said(Agent::on(&env, settings, device.clone()));
    let small = || settings(&[16, 16], &[16], Activation::Relu);
    assert!(refused(Settings { batch: 32, ..small() }).contains("up to 16 rows"));
    assert!(refused(Settings { gate: Gate::Input, ..small() }).contains("`gate` both"));
    assert!(refused(Settings { second_order: true, ..small() }).contains("second_order"));
    assert!(refused(settings(&[16, 16], &[16], Activation::Tanh)).contains("curved only in its"));
    assert!(refused(settings(&[16, 16], &[16], Activation::Softplus)).contains("chains of dense layers"));
    assert!(refused(settings(&[16, 4096], &[16], Activation::Relu)).contains("shared memory"));
    // A number that is not finite is an error that names the layer, and both networks stay as they were.
    let mut value = Network::mlp([2, 16, 1], Activation::Tanh).seed(1).build().unwrap();
    let mut policy = Network::mlp([1, 16, 1], Activation::Relu).seed(2).build().unwrap();
    let before = (value.to_bytes().unwrap(), policy.to_bytes().unwrap());
    let mut teacher = Teacher::new(&device, &value, &policy).unwrap();
    let lesson = Lesson {
        states: &[0.5, 3e38],
        actions: &[0.5, 3e38],
        returns: &[1.0, 1.0],
        noise_var: &[0.1, 0.1],
        policy_noise_var: 1.0,
        order: &[0, 1],
        batch: 16,
        rounds: 1,
        clip: true,
    };
    let why = said(teacher.teach(&mut value, &mut policy, &lesson));
    assert!(why.contains("linear1"), "{why}");
    assert!(
        said(teacher.teach(&mut value, &mut policy, &Lesson { order: &[0, 2], ..lesson }))
            .contains("there are 2 rows")
    );
    assert!(before == (value.to_bytes().unwrap(), policy.to_bytes().unwrap()));
}
