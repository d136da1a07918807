//! `condition` on maxima and minima: curvature in all directions, inputs that are known, and covariances.

use crate::cases::{Draw, Model};
use tractable::{
    Activation, Device, Gaussian, Matrix, Network, Wanted, condition::Found, network::Observation,
};

/// A network of two inputs that has learned a function, in double precision.
fn learned(f: impl Fn(f64, f64) -> f64) -> Network {
    let mut net =
        Network::mlp([2, 24, 1], Activation::Tanh).seed(1).device(Device::reference()).build().unwrap();
    let mut draw = Draw::new(3);
    for _ in 0..3000 {
        let x = [draw.uniform(-1.5, 1.5), draw.uniform(-1.5, 1.5)];
        let y = [f(x[0], x[1])];
        let noise = [1e-3];
        let seen = Observation::values(&y, 1).unwrap().noise_var(&noise);
        net.learn(&Matrix::new(x.to_vec(), 2).unwrap(), seen).unwrap();
    }
    net
}

#[test]
fn a_saddle_is_neither_a_maximum_nor_a_minimum() {
    // Along each axis it is a maximum at 0; along a = b it is a minimum.
    let net = learned(|a, b| -a * a - b * b + 4.0 * a * b);
    let prior = Gaussian::new(vec![0.1, -0.1], vec![0.04; 2], 2).unwrap();
    for wanted in [Wanted::maximum(), Wanted::minimum()] {
        let x = net.condition(&prior, wanted).unwrap();
        assert!(matches!(x.found(0), Found::Linearised { converged: false, .. }), "{:?}", x.found(0));
    }
    // Both slopes are zero there, so it is stationary.
    let x = net.condition(&prior, Wanted::stationary()).unwrap();
    assert!(matches!(x.found(0), Found::Points { .. }), "{:?}", x.found(0));
    assert!(x.modes(0)[0].mean.iter().all(|m| m.abs() < 0.1), "{:?}", x.modes(0));
}

#[test]
fn a_flat_direction_does_not_prevent_a_minimum() {
    // One hidden unit and two inputs: along one direction nothing changes.
    let net = Network::mlp([2, 1, 1], Activation::Softplus).device(Device::reference()).build().unwrap();
    let mut file = Model::of(&net);
    for (name, values) in [
        ("linear1.weight", vec![1.0, 0.5]),
        ("linear1.bias", vec![0.0]),
        ("linear2.weight", vec![1.0]),
        ("linear2.bias", vec![0.0]),
    ] {
        file.set(&format!("{name}.mean"), &values);
        file.set(&format!("{name}.var"), &vec![1e-20; values.len()]);
    }
    let net = file.load(Device::reference()).unwrap();
    // The slope is never zero, but it is smallest far down.
    let prior = Gaussian::new(vec![0.0; 2], vec![1.0; 2], 2).unwrap();
    let x = net.condition(&prior, Wanted::minimum().noise_var(0.1)).unwrap();
    assert!(matches!(x.found(0), Found::Points { .. }), "{:?}", x.found(0));
    assert!(x.mean()[0] + 0.5 * x.mean()[1] < -0.3, "{:?}", x.mean());
}

/// A known input, with a bias that cancels it, changes nothing: its own slope need not be zero.
#[test]
fn the_slope_of_a_known_input_may_be_anything() {
    let (d, hidden, value) = (17, 24, 0.7);
    let build =
        |d: usize| Network::mlp([d, hidden, 1], Activation::Tanh).seed(5).device(Device::reference()).build();
    let small = build(d).unwrap();
    let (mut from, mut to) = (Model::of(&small), Model::of(&build(d + 1).unwrap()));
    let names = ["linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"];
    // Weights that are known well, so that the slope matters.
    for name in names {
        let n = from.get(&format!("{name}.var")).len();
        from.set(&format!("{name}.var"), &vec![1e-6; n]);
    }
    let extra = Draw::new(1).normals(hidden);
    for part in ["mean", "var"] {
        for name in &names[1..] {
            to.set(&format!("{name}.{part}"), &from.get(&format!("{name}.{part}")));
        }
        let beside = |unit: usize| if part == "mean" { extra[unit] } else { 1e-20 };
        let weights = from.get(&format!("linear1.weight.{part}"));
        let lines = weights.chunks_exact(d).enumerate();
        let wide: Vec<f64> =
            lines.flat_map(|(unit, line)| line.iter().copied().chain([beside(unit)])).collect();
        to.set(&format!("linear1.weight.{part}"), &wide);
    }
    let bias = from.get("linear1.bias.mean");
    to.set("linear1.bias.mean", &bias.iter().zip(&extra).map(|(b, e)| b - e * value).collect::<Vec<_>>());
    let [small, large] = [from, to].map(|file| file.load(Device::reference()).unwrap());
    let mean = Draw::new(2).normals(d);
    let prior = Gaussian::new(mean.clone(), vec![0.01; d], d).unwrap();
    let (mut mean, mut var) = (mean, vec![0.01; d]);
    mean.push(value);
    var.push(0.0);
    let beside = Gaussian::new(mean, var, d + 1).unwrap();
    for wanted in [Wanted::stationary(), Wanted::maximum(), Wanted::minimum()] {
        let (alone, with) =
            (small.condition(&prior, wanted).unwrap(), large.condition(&beside, wanted).unwrap());
        for i in 0..d {
            assert!((alone.mean()[i] - with.mean()[i]).abs() < 1e-4, "{wanted:?}, {i}");
            assert!((alone.var()[i] / with.var()[i] - 1.0).abs() < 1e-3, "{wanted:?}, {i}");
        }
        assert_eq!((with.mean()[d], with.var()[d]), (value, 0.0));
        assert_eq!(alone.found(0), with.found(0));
    }
}

/// Uphill in a valley: the covariance that is told belongs to the variances that are told.
#[test]
fn the_covariance_of_an_uphill_step_is_consistent() {
    let net = learned(|a, b| (a - 0.4).powi(2) + (b + 0.2).powi(2) + a * b);
    let prior = Gaussian::new(vec![0.9, 0.5], vec![0.01; 2], 2).unwrap();
    let alone = net.condition(&prior, Wanted::maximum()).unwrap();
    assert!(matches!(alone.found(0), Found::Linearised { .. }));
    let covariance = alone.covariance(0).unwrap();
    assert_eq!(covariance.data(), [alone.var()[0], 0.0, 0.0, alone.var()[1]]);
    // Correlations of the prior stay.
    let given = Matrix::new(vec![0.01, 0.006, 0.006, 0.01], 2).unwrap();
    let x = net.condition(&prior, Wanted::from(Wanted::maximum()).covariance(&given)).unwrap();
    let (covariance, var) = (x.covariance(0).unwrap(), x.var());
    assert!((covariance.row(0)[1] / (var[0] * var[1]).sqrt() - 0.6).abs() < 1e-9, "{covariance:?}");
    assert_eq!((covariance.row(0)[0], covariance.row(1)[1]), (var[0], var[1]));
}
