//! Files of version 1, written before layers could branch: they load, say what they said, and continue to the same bits.

use tractable::rl::Agent;
use tractable::rl::env::{Pendulum, TimeLimit};
use tractable::{Device, Matrix, Network, network::UpdateRule};

fn file(name: &str) -> String {
    format!("{}/tests/data/v1/{name}.safetensors", env!("CARGO_MANIFEST_DIR"))
}

fn waves(width: usize, rows: usize) -> Matrix {
    Matrix::new((0..width * rows).map(|i| (i as f64 * 0.37).sin()).collect(), width).unwrap()
}

/// Equal but for how the last bits of vectors of another width add up.
fn same(now: &[f64], then: &[f64]) {
    assert_eq!(now.len(), then.len());
    assert!(now.iter().zip(then).all(|(a, b)| (a - b).abs() < 1e-5 * b.abs().max(1.0)), "{now:?} {then:?}");
}

#[test]
fn a_dense_network() {
    let net = Network::load(file("dense"), Device::cpu(1)).unwrap();
    assert_eq!(net.layer_inputs(), [[0], [1], [2]]);
    assert_eq!((net.update_rule(), net.noise_std(), net.seed()), (UpdateRule::Plain, &[0.5][..], 4));
    let out = net.predict(&waves(3, 2)).unwrap();
    same(out.mean(), &[-1.8962845206260681, 2.190965175628662, -1.330384373664856, 2.0142615139484406]);
    same(out.var(), &[4.914992451667786, 4.898449122905731, 6.142611622810364, 6.079684317111969]);
    // Saved again it is of version 2 and the same network.
    let dir = tempfile::tempdir().unwrap();
    net.save(dir.path().join("net")).unwrap();
    let again = Network::load(dir.path().join("net"), Device::cpu(1)).unwrap();
    assert_eq!(again.predict(&waves(3, 2)).unwrap(), out);
}

#[test]
fn a_network_of_images() {
    let net = Network::load(file("images"), Device::reference()).unwrap();
    let p = net.predict_classes(&waves(36, 2)).unwrap();
    let then = [
        0.4065147876212286,
        0.2990112342358738,
        0.2944739781428975,
        0.30399662506833247,
        0.30851827707138163,
        0.3874850978602858,
    ];
    assert!(p.data().iter().zip(then).all(|(a, b)| (a - b).abs() < 1e-14), "{:?}", p.data());
}

#[test]
fn an_agent_continues() {
    let mut env = TimeLimit::new(Pendulum::new(), 50).unwrap();
    let mut agent = Agent::resume(file("agent"), &mut env).unwrap();
    agent.rollout(&mut env).unwrap();
    let mut torque = [0.0];
    agent.act(&[0.6, 0.8, 0.1], &mut torque).unwrap();
    assert_eq!(agent.steps(), 128);
    assert!((torque[0] + 0.12763702869415283).abs() < 1e-4, "{}", torque[0]);
}
