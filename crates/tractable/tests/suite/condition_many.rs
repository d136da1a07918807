//! `condition` with many unknowns: an answer that has converged is consistent with itself.

use crate::cases::Draw;
use tractable::{Activation, Device, Matrix, Network, Wanted, condition::Found};

/// The variances belong to the factor: both are from the same linearisation, up to what convergence allows.
#[test]
fn variances_of_a_converged_answer_are_those_of_its_factor() {
    let (d, mut converged) = (20, 0);
    for seed in 0..30 {
        let net = Network::mlp([d, 16, 2], Activation::MixtureRelu)
            .seed(seed)
            .device(Device::reference())
            .build()
            .unwrap();
        let mut draw = Draw::new(seed);
        let (prior, y) = (draw.gaussian(1, d), draw.matrix(1, 2));
        let wanted = Wanted::from(&y).noise_var(1e-4).known_weights();
        let x = net.condition(&prior, wanted).unwrap();
        if !matches!(x.found(0), Found::Linearised { converged: true, .. }) {
            continue;
        }
        converged += 1;
        let factor: Matrix = x.factor(0).unwrap().unwrap();
        for i in 0..d {
            let learned: f64 = (0..factor.rows()).map(|k| factor.row(k)[i].powi(2)).sum();
            let left = (prior.var()[i] - learned).max(prior.var()[i] / 1024.0);
            assert!((x.var()[i] / left - 1.0).abs() < 0.06, "seed {seed}, {i}: {} {left}", x.var()[i]);
        }
    }
    assert!(converged > 5, "{converged}");
}
