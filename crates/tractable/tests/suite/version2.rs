//! Files of version 2, written before noise was inferred: it is known, and they say what they said.

use tractable::{
    Device, Matrix, Network, Noise,
    network::{Output, UpdateRule},
};

fn load(name: &str, device: Device) -> Network {
    let path = format!("{}/tests/data/v2/{name}.safetensors", env!("CARGO_MANIFEST_DIR"));
    Network::load(path, device).unwrap()
}

fn waves(width: usize, rows: usize) -> Matrix {
    Matrix::new((0..width * rows).map(|i| (i as f64 * 0.37).sin()).collect(), width).unwrap()
}

/// Equal but for how the last bits of vectors of another width add up.
fn same(now: &[f64], then: &[f64]) {
    assert_eq!(now.len(), then.len());
    assert!(now.iter().zip(then).all(|(a, b)| (a - b).abs() < 1e-5), "{now:?} {then:?}");
}

#[test]
fn a_network_with_branches_continues() {
    let mut net = load("branches", Device::cpu(1));
    assert_eq!(net.output(), Output::Values { width: 2, noise: Noise::Known });
    assert_eq!((net.update_rule(), net.noise_std()), (UpdateRule::Capped, &[0.5, 0.25][..]));
    let out = net.predict(&waves(3, 2)).unwrap();
    same(out.mean(), &[0.012698587961494923, 0.4480498433113098, 0.6430249810218811, 0.8116171360015869]);
    same(out.var(), &[0.40450674295425415, 0.4505719542503357, 0.7330026626586914, 0.7042262554168701]);
    same(out.noise_var(), &[0.25, 0.0625, 0.25, 0.0625]);
    net.learn(&waves(3, 1), &waves(2, 1)).unwrap();
    let out = net.predict(&waves(3, 1)).unwrap();
    same(out.mean(), &[-0.011760503053665161, 0.4111992418766022]);
    assert_eq!(net.noise_std(), [0.5, 0.25]);
}

#[test]
fn classes() {
    let p = load("classes", Device::reference()).predict_classes(&waves(4, 2)).unwrap();
    let then = [
        0.38580600903759976,
        0.2802973450660278,
        0.3338966458963725,
        0.40708257617017946,
        0.2858494219713047,
        0.30706800185851596,
    ];
    assert!(p.data().iter().zip(then).all(|(a, b)| (a - b).abs() < 1e-14), "{:?}", p.data());
}
