//! A value network and its policy that learn a rollout in one kernel.

use super::gpu;
use tractable::rl::env::{Pendulum, TimeLimit};
use tractable::rl::{Agent, Settings};
use tractable::{
    Activation, Device, Gate, Input, Layer, Lesson, Matrix, Network, NetworkBuilder, Observation, Shape,
    Teacher, UpdateRule, Wanted,
};

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

/// All means and variances of a network.
fn parameters_of(net: &Network) -> Vec<f64> {
    let weights = net.layer_names().iter().filter_map(|name| net.weights(name).unwrap());
    weights.flat_map(|(w, b)| [w.mean(), w.var(), b.mean(), b.var()].concat()).collect()
}

fn parameters(agent: &Agent) -> Vec<f64> {
    [parameters_of(agent.value()), parameters_of(agent.policy())].concat()
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

/// The same networks, lesson by lesson: in one kernel, and mini-batch by mini-batch on the reference.
#[test]
fn many_actions_short_batches_and_all_rules_agree() {
    let Some(device) = gpu() else { return };
    let (ns, na, rows, batch) = (19, 11, 13, 5);
    let numbers = |n: usize, by: f64| (0..n).map(|i| (i as f64 * by).sin()).collect::<Vec<f64>>();
    let (states, actions, returns) = (numbers(rows * ns, 0.7), numbers(rows * na, 1.3), numbers(rows, 2.1));
    let (noise_var, order) = (vec![0.2; rows], (0..rows).rev().collect::<Vec<_>>());
    for (rule, first) in [
        (UpdateRule::Plain, Activation::Sigmoid),
        (UpdateRule::Capped, Activation::Tanh),
        (UpdateRule::counted(50), Activation::Tanh),
    ] {
        let made = |device: Device| {
            let value = Network::builder(Shape::flat(ns + na)).layer(Layer::linear(21)).layer(first);
            let value = value.layer(Layer::linear(10)).layer(Activation::Relu).layer(Layer::linear(1));
            let policy = Network::mlp([ns, 9, na], Activation::Tanh);
            let build =
                |net: NetworkBuilder| net.update_rule(rule).seed(3).device(device.clone()).build().unwrap();
            (build(value), build(policy))
        };
        let (mut value, mut policy) = made(Device::cpu(1));
        let lesson = Lesson {
            states: &states,
            actions: &actions,
            returns: &returns,
            noise_var: &noise_var,
            policy_noise_var: 0.5,
            order: &order,
            batch,
            rounds: 2,
            clip: false,
        };
        let mut teacher = Teacher::new(&device, &value, &policy).unwrap();
        let taught = teacher.teach(&mut value, &mut policy, &lesson).unwrap();
        let (mut v, mut p) = made(Device::reference());
        let (mut capped, mut repaired) = ([0; 2], [0; 2]);
        for some in order.chunks(batch) {
            let gather = |all: &[f64], width: usize| {
                some.iter().flat_map(|&r| all[r * width..][..width].to_vec()).collect::<Vec<f64>>()
            };
            let (s, a) = (gather(&states, ns), gather(&actions, na));
            let beside = |a: &[f64]| {
                s.chunks(ns).zip(a.chunks(na)).flat_map(|(s, a)| [s, a].concat()).collect::<Vec<f64>>()
            };
            let y = Matrix::column(gather(&returns, 1)).unwrap();
            let noise = vec![0.2; some.len()];
            let seen = Observation::from(&y).noise_var(&noise);
            let learned = v.learn(Input::exact(&beside(&a), ns + na).unwrap(), seen).unwrap();
            (capped[0], repaired[0]) = (capped[0] + learned.capped, repaired[0] + learned.repaired);
            let own = p.predict(Input::exact(&s, ns).unwrap()).unwrap();
            let (x, x_var) = (
                beside(own.mean()),
                s.chunks(ns)
                    .zip(own.var().chunks(na))
                    .flat_map(|(_, v)| [&vec![0.0; ns][..], v].concat())
                    .collect::<Vec<f64>>(),
            );
            let mut search =
                v.searching(Input::uncertain(&x, &x_var, ns + na).unwrap(), Wanted::maximum()).unwrap();
            search.round().unwrap().round().unwrap();
            let better = search.posterior().unwrap();
            let of_actions =
                |all: &[f64]| all.chunks(ns + na).flat_map(|row| row[ns..].to_vec()).collect::<Vec<f64>>();
            let y = Matrix::new(of_actions(better.mean()), na).unwrap();
            let noise: Vec<f64> = of_actions(better.var()).iter().map(|v| v + 0.5).collect();
            let learned =
                p.learn(Input::exact(&s, ns).unwrap(), Observation::from(&y).noise_var(&noise)).unwrap();
            (capped[1], repaired[1]) = (capped[1] + learned.capped, repaired[1] + learned.repaired);
        }
        let (x, start) = ([parameters_of(&v), parameters_of(&p)].concat(), made(Device::reference()));
        let ours = [parameters_of(&value), parameters_of(&policy)].concat();
        let off = off(&x, &ours, &[parameters_of(&start.0), parameters_of(&start.1)].concat());
        assert!(off < 2e-4, "{rule:?}: {off}");
        let counts =
            [taught.value.capped, taught.policy.capped, taught.value.repaired, taught.policy.repaired];
        let wanted = [capped[0], capped[1], repaired[0], repaired[1]];
        // Rounding may decide at the limit itself.
        assert!(
            counts.iter().zip(wanted).all(|(a, b)| a.abs_diff(b) <= 2),
            "{rule:?}: {counts:?}, {wanted:?}"
        );
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
    assert!(
        said(teacher.teach(&mut value, &mut policy, &Lesson { noise_var: &[0.1, -0.1], ..lesson }))
            .contains("not positive")
    );
    assert!(before == (value.to_bytes().unwrap(), policy.to_bytes().unwrap()));
    // Networks with other layers than those there is room for.
    let mut wider = Network::mlp([2, 32, 1], Activation::Tanh).seed(1).build().unwrap();
    assert!(said(teacher.teach(&mut wider, &mut policy, &lesson)).contains("other layers"));
    let rising = Activation::LeakyRelu { slope: -0.5 };
    assert!(refused(settings(&[16, 16], &[16], rising)).contains("chains of dense layers"));
}
