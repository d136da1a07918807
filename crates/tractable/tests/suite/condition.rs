//! `condition` against sampled weights and inputs, against exact answers of linear networks, and at its edges.

use crate::cases::{Draw, Model};
use tractable::data::Scaler;
use tractable::{
    Activation, Device, Gaussian, Layer, Matrix, Network, Shape, Wanted, condition::Found,
    network::Observation,
};

fn devices() -> [Device; 2] {
    [Device::cpu(2), Device::reference()]
}

/// Networks drawn from a network: dense layers with a real ReLU between them.
struct Drawn {
    layers: Vec<(Gaussian, Gaussian)>,
    draw: Draw,
}

impl Drawn {
    fn new(net: &Network, seed: u64) -> Self {
        let layers = net.layer_names().iter().filter_map(|n| net.weights(n).unwrap()).collect();
        Drawn { layers, draw: Draw::new(seed) }
    }

    fn next(&mut self) -> Vec<(Vec<f64>, Vec<f64>)> {
        let Drawn { layers, draw } = self;
        let mut one = |g: &Gaussian| -> Vec<f64> {
            let z = draw.normals(g.mean().len());
            g.mean().iter().zip(g.var()).zip(z).map(|((m, v), z)| m + v.sqrt() * z).collect()
        };
        layers.iter().map(|(w, b)| (one(w), one(b))).collect()
    }
}

fn output(weights: &[(Vec<f64>, Vec<f64>)], x: &[f64]) -> Vec<f64> {
    let mut a = x.to_vec();
    for (i, (w, b)) in weights.iter().enumerate() {
        let sum =
            |o: usize| b[o] + w[o * a.len()..][..a.len()].iter().zip(&a).map(|(w, a)| w * a).sum::<f64>();
        let z: Vec<f64> = (0..b.len()).map(sum).collect();
        a = if i + 1 == weights.len() { z } else { z.iter().map(|z| z.max(0.0)).collect() };
    }
    a
}

/// A network that has learned a wavy function of its inputs from a few rows, so that its weights are still unsure.
fn learned(widths: &[usize], rows: usize, seed: u64) -> Network {
    let mut net = Network::mlp(widths.to_vec(), Activation::MixtureRelu)
        .seed(seed)
        .device(Device::reference())
        .build()
        .unwrap();
    let mut draw = Draw::new(seed + 100);
    let (d, k) = (widths[0], *widths.last().unwrap());
    for _ in 0..rows {
        let x = draw.normals(d);
        let y: Vec<f64> = (0..k).map(|o| (x[0] + o as f64).sin() + 0.3 * x[d - 1]).collect();
        let noise = vec![0.01; k];
        let seen = Observation::values(&y, k).unwrap().noise_var(&noise);
        net.learn(&Matrix::new(x, d).unwrap(), seen).unwrap();
    }
    net
}

#[test]
fn the_spread_of_uncertain_inputs_is_the_sampled_one() {
    for (widths, seed) in [(vec![2, 12, 1], 1), (vec![3, 10, 10, 2], 2), (vec![2, 8, 8, 8, 1], 3)] {
        let net = learned(&widths, 60, seed);
        let (d, k) = (widths[0], *widths.last().unwrap());
        let mut drawn = Drawn::new(&net, 7);
        for (std, allowed) in [(0.03, 0.03), (0.1, 0.05)] {
            let mean = Draw::new(seed + 5).normals(d);
            let x = Gaussian::new(mean.clone(), vec![std * std; d], d).unwrap();
            let n = 20_000;
            let (mut sum, mut squares) = (vec![0.0; k], vec![0.0; k * k]);
            for _ in 0..n {
                let weights = drawn.next();
                let z = drawn.draw.normals(d);
                let place: Vec<f64> = mean.iter().zip(z).map(|(m, z)| m + std * z).collect();
                let y = output(&weights, &place);
                (0..k).for_each(|i| sum[i] += y[i] / n as f64);
                (0..k * k).for_each(|i| squares[i] += y[i / k] * y[i % k] / n as f64);
            }
            let ours = &net.output_covariance(&x).unwrap()[0];
            for i in 0..k * k {
                let sampled = squares[i] - sum[i / k] * sum[i % k];
                let scale = (ours.data()[i / k * (k + 1)] * ours.data()[i % k * (k + 1)]).sqrt();
                let off = (ours.data()[i] - sampled) / scale;
                assert!(off.abs() < 2.0 * allowed, "{widths:?}, std {std}, entry {i}: {off}");
            }
            let predicted = net.predict(&x).unwrap();
            (0..k).for_each(|i| assert!((predicted.var()[i] / ours.data()[i * (k + 1)] - 1.0).abs() < 1e-9));
        }
    }
}

/// One input: `p(y | x)` by sampled weights on a grid of `x`.
#[test]
fn the_posterior_of_one_input_is_the_sampled_one() {
    let mut right = 0;
    let all = 6;
    for seed in 0..all {
        let net = learned(&[1, 10, 10, 1], 60, seed);
        let weights: Vec<_> = {
            let mut drawn = Drawn::new(&net, 3);
            (0..8000).map(|_| drawn.next()).collect()
        };
        let (m, std, y, noise) = (0.3 - 0.1 * seed as f64, 0.7, 0.4, 0.02);
        let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
        for i in 0..200 {
            let z = -5.0 + 10.0 * (i as f64 + 0.5) / 200.0;
            let x = m + std * z;
            let likelihood: f64 =
                weights.iter().map(|w| (-0.5 * (y - output(w, &[x])[0]).powi(2) / noise).exp()).sum();
            let p = likelihood * (-0.5 * z * z).exp();
            total += p;
            first += p * x;
            second += p * x * x;
        }
        let (mean, var) = (first / total, second / total - (first / total).powi(2));
        let prior = Gaussian::new(vec![m], vec![std * std], 1).unwrap();
        let wish = Matrix::column(vec![y]).unwrap();
        let x = net.condition(&prior, Wanted::from(&wish).noise_var(noise)).unwrap();
        let off = (x.mean()[0] - mean) / var.sqrt();
        let ratio = (x.var()[0] / var).sqrt();
        println!("{seed}: off {off:.3}, ratio {ratio:.3}, {:?}", x.found(0));
        right += usize::from(off.abs() < 0.1 && (ratio - 1.0).abs() < 0.1);
        assert!(off.abs() < 0.3 && (0.7..1.4).contains(&ratio), "{seed}: {off} {ratio}");
    }
    assert!(right + 1 >= all as usize, "{right} of {all}");
}

/// A linear network whose weights are known, as good as.
fn linear(inputs: usize, outputs: usize, device: &Device) -> (Network, Vec<f64>) {
    let net =
        Network::builder(Shape::flat(inputs)).layer(Layer::linear(outputs)).device(device).build().unwrap();
    let mut file = Model::of(&net);
    let w = Draw::new(4).normals(inputs * outputs);
    file.set("linear1.weight.mean", &w);
    file.set("linear1.weight.var", &vec![1e-20; w.len()]);
    file.set("linear1.bias.mean", &vec![0.0; outputs]);
    file.set("linear1.bias.var", &vec![1e-20; outputs]);
    (file.load(device.clone()).unwrap(), w)
}

/// Mean and covariance of `x ~ N(m, p)` given `w x + noise = y`, one output after the other.
fn exact(m: &[f64], p: &[f64], w: &[f64], y: &[f64], noise: f64) -> (Vec<f64>, Vec<f64>) {
    let d = m.len();
    let (mut m, mut p) = (m.to_vec(), p.to_vec());
    for (w, y) in w.chunks_exact(d).zip(y) {
        let pw: Vec<f64> = (0..d).map(|i| (0..d).map(|j| p[i * d + j] * w[j]).sum()).collect();
        let var = (0..d).map(|i| w[i] * pw[i]).sum::<f64>() + noise;
        let off = y - (0..d).map(|i| w[i] * m[i]).sum::<f64>();
        (0..d).for_each(|i| m[i] += pw[i] / var * off);
        (0..d * d).for_each(|i| p[i] -= pw[i / d] * pw[i % d] / var);
    }
    (m, p)
}

#[test]
fn a_linear_network_has_the_exact_posterior() {
    for device in devices() {
        for (d, allowed) in [(1, 1e-3), (3, 0.03), (8, 0.12), (20, 1e-4)] {
            let (net, w) = linear(d, 2, &device);
            let mut draw = Draw::new(9);
            let (m, y) = (draw.normals(d), vec![0.5, -0.2]);
            // Neighbours are alike.
            let p: Vec<f64> = (0..d * d).map(|i| 0.7f64.powi((i / d).abs_diff(i % d) as i32)).collect();
            let alone: Vec<f64> =
                p.iter().enumerate().map(|(i, v)| if i / d == i % d { *v } else { 0.0 }).collect();
            let wish = Matrix::new(y.clone(), 2).unwrap();
            let covariance = Matrix::new(p.clone(), d).unwrap();
            let wanted = || Wanted::from(&wish).noise_var(0.3);
            let prior = Gaussian::new(m.clone(), vec![1.0; d], d).unwrap();
            let given = [(&alone, wanted()), (&p, wanted().covariance(&covariance))];
            for (p, wanted) in given {
                let (mean, cov) = exact(&m, p, &w, &y, 0.3);
                let x = net.condition(&prior, wanted).unwrap();
                let ours = x.covariance(0).unwrap();
                for i in 0..d {
                    let off = (x.mean()[i] - mean[i]).abs() / cov[i * d + i].sqrt();
                    assert!(off < allowed, "{device:?}, {d} inputs: mean {i} off by {off}");
                }
                for i in 0..d * d {
                    let off = (ours.data()[i] - cov[i]).abs()
                        / (cov[i / d * (d + 1)] * cov[i % d * (d + 1)]).sqrt();
                    assert!(off < 2.0 * allowed, "{device:?}, {d} inputs: covariance {i} off by {off}");
                }
                assert_eq!(x.modes(0).len(), 1, "{d}");
            }
        }
    }
}

#[test]
fn a_hidden_layer_has_the_exact_posterior() {
    // z = w x with uncertain x, y = v z: all of it linear, and the units of z share x.
    for device in devices() {
        let (d, h) = (3, 5);
        let net = Network::builder(Shape::flat(d))
            .layer(Layer::linear(h))
            .layer(Layer::linear(1))
            .device(&device)
            .build()
            .unwrap();
        let mut file = Model::of(&net);
        let mut draw = Draw::new(4);
        let (w, v) = (draw.normals(d * h), draw.normals(h));
        for (name, mean) in [("linear1.weight", &w), ("linear2.weight", &v)] {
            file.set(&format!("{name}.mean"), mean);
            file.set(&format!("{name}.var"), &vec![1e-20; mean.len()]);
        }
        for (name, n) in [("linear1.bias", h), ("linear2.bias", 1)] {
            file.set(&format!("{name}.mean"), &vec![0.0; n]);
            file.set(&format!("{name}.var"), &vec![1e-20; n]);
        }
        let net = file.load(device.clone()).unwrap();
        let prior = Draw::new(5).gaussian(2, d);
        for row in 0..2 {
            let (m, p) = (&prior.mean()[row * d..][..d], &prior.var()[row * d..][..d]);
            let line = |u: usize| &w[u * d..][..d];
            let z: Vec<f64> = (0..h).map(|u| line(u).iter().zip(m).map(|(w, m)| w * m).sum()).collect();
            let cov: Vec<f64> =
                (0..h * h).map(|i| (0..d).map(|j| line(i / h)[j] * p[j] * line(i % h)[j]).sum()).collect();
            let (mean, cov) = exact(&z, &cov, &v, &[1.5], 0.1);
            let y = Matrix::column(vec![1.5; 2]).unwrap();
            let found = net.condition(&prior, Wanted::from(&y).noise_var(0.1).layer("linear1")).unwrap();
            for u in 0..h {
                let off = (found.mean()[row * h + u] - mean[u]).abs() / cov[u * h + u].sqrt();
                assert!(off < 1e-4, "{device:?}, unit {u}: mean off by {off}");
                let ratio = found.var()[row * h + u] / cov[u * h + u];
                assert!((ratio - 1.0).abs() < 1e-4, "{device:?}, unit {u}: variance {ratio}");
            }
        }
    }
}

#[test]
fn rows_and_devices_and_units_make_no_difference() {
    let net = learned(&[2, 10, 2], 50, 3);
    let mut draw = Draw::new(8);
    let (prior, y) = (draw.gaussian(3, 2), draw.matrix(3, 2));
    let mask = [true, true, true, false, false, true];
    let all = net.condition(&prior, Wanted::from(&y).noise_var(0.1).only(&mask)).unwrap();
    for row in 0..3 {
        let one =
            Gaussian::new(prior.mean()[row * 2..][..2].to_vec(), prior.var()[row * 2..][..2].to_vec(), 2);
        let own = Matrix::new(y.row(row).to_vec(), 2).unwrap();
        let wanted = Wanted::from(&own).noise_var(0.1).only(&mask[row * 2..][..2]);
        let alone = net.condition(&one.unwrap(), wanted).unwrap();
        assert_eq!(alone.mean(), &all.mean()[row * 2..][..2]);
        assert_eq!(alone.covariance(0).unwrap(), all.covariance(row).unwrap());
        assert_eq!(alone.modes(0), all.modes(row));
    }
    // Another device agrees as far as single precision goes.
    let single = Model::of(&net).load(Device::cpu(2)).unwrap();
    let other = single.condition(&prior, Wanted::from(&y).noise_var(0.1).only(&mask)).unwrap();
    for i in 0..6 {
        let off = (other.mean()[i] - all.mean()[i]).abs() / all.std()[i];
        assert!(off < 1e-3, "entry {i}: {off}");
    }
    // In other units: x = 2 + 4 x', y = 1 + 8 y'.
    let mut raw = net.try_clone().unwrap();
    let scaler = |mean, std| Some(Scaler::new(vec![mean; 2], vec![std; 2]).unwrap());
    raw.set_scalers(scaler(2.0, 4.0), scaler(1.0, 8.0)).unwrap();
    let moved = prior.mean().iter().map(|m| 2.0 + 4.0 * m).collect();
    let prior = Gaussian::new(moved, prior.var().iter().map(|v| 16.0 * v).collect(), 2).unwrap();
    let y = Matrix::new(y.data().iter().map(|y| 1.0 + 8.0 * y).collect(), 2).unwrap();
    let found = raw.condition(&prior, Wanted::from(&y).noise_var(6.4).only(&mask)).unwrap();
    for i in 0..6 {
        assert!((found.mean()[i] - (2.0 + 4.0 * all.mean()[i])).abs() < 1e-9);
        assert!((found.var()[i] / (16.0 * all.var()[i]) - 1.0).abs() < 1e-9);
        assert!(
            (found.modes(i / 2)[0].mean[i % 2] - (2.0 + 4.0 * all.modes(i / 2)[0].mean[i % 2])).abs() < 1e-9
        );
    }
}

#[test]
fn unsure_weights_excuse_what_known_weights_do_not() {
    // After three rows the weights are wide open.
    let net = learned(&[1, 10, 1], 3, 1);
    let prior = Gaussian::new(vec![0.0], vec![1.0], 1).unwrap();
    let y = Matrix::column(vec![0.5]).unwrap();
    let unsure = net.condition(&prior, Wanted::from(&y).noise_var(1e-3)).unwrap();
    let known = net.condition(&prior, Wanted::from(&y).noise_var(1e-3).known_weights()).unwrap();
    assert!(known.var()[0] < 0.2 * unsure.var()[0], "{} {}", known.var()[0], unsure.var()[0]);
    let at = |x: f64| net.predict(&Matrix::column(vec![x]).unwrap()).unwrap().mean()[0];
    for mode in known.modes(0) {
        assert!((at(mode.mean[0]) - 0.5).abs() < 0.1, "{mode:?}");
    }
}

/// The posterior given a derivative of zero, against drawn weights: every network weighs an input by how small its slope is there.
#[test]
fn a_stationary_point_is_where_it_is_sampled() {
    let data: Vec<f64> = (-15..=15).map(|i| f64::from(i) / 10.0).collect();
    let y: Vec<f64> = data.iter().map(|x| (x - 0.2).powi(2)).collect();
    let mut net =
        Network::mlp([1, 24, 1], Activation::Tanh).seed(1).device(Device::reference()).build().unwrap();
    for _ in 0..40 {
        for (x, y) in data.iter().zip(&y) {
            let noise = [1e-4];
            let seen = [*y];
            let seen = Observation::values(&seen, 1).unwrap().noise_var(&noise);
            net.learn(&Matrix::column(vec![*x]).unwrap(), seen).unwrap();
        }
    }
    let (m, std, noise) = (0.3, 0.1, 0.01);
    let slope = |weights: &[(Vec<f64>, Vec<f64>)], x: f64| {
        let [(w, b), (v, _)] = weights else { unreachable!("there are two layers") };
        (0..w.len()).map(|i| v[i] * w[i] * (1.0 - (w[i] * x + b[i]).tanh().powi(2))).sum::<f64>()
    };
    let mut drawn = Drawn::new(&net, 3);
    let weights: Vec<_> = (0..4000).map(|_| drawn.next()).collect();
    let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
    for i in 0..100 {
        let z = -5.0 + 10.0 * (f64::from(i) + 0.5) / 100.0;
        let x = m + std * z;
        let likelihood: f64 = weights.iter().map(|w| (-0.5 * slope(w, x).powi(2) / noise).exp()).sum();
        let p = likelihood * (-0.5 * z * z).exp();
        total += p;
        first += p * x;
        second += p * x * x;
    }
    let (mean, var) = (first / total, second / total - (first / total).powi(2));
    let prior = Gaussian::new(vec![m], vec![std * std], 1).unwrap();
    let x = net.condition(&prior, Wanted::stationary().noise_var(noise)).unwrap();
    let (off, ratio) = ((x.mean()[0] - mean) / var.sqrt(), (x.var()[0] / var).sqrt());
    assert!(off.abs() < 0.3 && (0.7..1.4).contains(&ratio), "off {off}, ratio {ratio}: {mean}, {var}, {x:?}");
    // It says something: the minimum is to the left of the prior's mean.
    assert!(x.mean()[0] < 0.28, "{x:?}");
    // Towards a maximum it goes the other way.
    assert!(net.condition(&prior, Wanted::maximum()).unwrap().mean()[0] > 0.3);
}

#[test]
fn a_minimum_is_found_from_far_away() {
    let mut net =
        Network::mlp([2, 24, 1], Activation::Tanh).seed(1).device(Device::reference()).build().unwrap();
    let mut draw = Draw::new(3);
    for _ in 0..3000 {
        let x = [draw.uniform(-1.5, 1.5), draw.uniform(-1.5, 1.5)];
        let y = [(x[0] - 0.4).powi(2) + (x[1] + 0.2).powi(2)];
        let noise = [1e-3];
        let seen = Observation::values(&y, 1).unwrap().noise_var(&noise);
        net.learn(&Matrix::new(x.to_vec(), 2).unwrap(), seen).unwrap();
    }
    let prior = Gaussian::new(vec![-0.5, 0.6], vec![0.5; 2], 2).unwrap();
    let x = net.condition(&prior, Wanted::minimum()).unwrap();
    let place = &x.modes(0)[0].mean;
    assert!(
        (place[0] - 0.4).abs() < 0.2 && (place[1] + 0.2).abs() < 0.2,
        "{:?} {:?}",
        x.modes(0),
        x.found(0)
    );
    // Where no place of the prior is a maximum it still goes uphill, and does not say that it got there.
    let prior = Gaussian::new(vec![0.6, 0.0], vec![1e-4; 2], 2).unwrap();
    let up = net.condition(&prior, Wanted::maximum()).unwrap();
    assert!(matches!(up.found(0), Found::Linearised { converged: false, .. }), "{:?}", up.found(0));
    assert!(up.mean()[0] > 0.6);
}

#[test]
fn many_unknowns_are_linearised_and_few_are_weighed() {
    for (d, points) in [(1, true), (16, true), (17, false)] {
        let net = Network::mlp([d, 12, 1], Activation::Tanh).seed(2).build().unwrap();
        let prior = Draw::new(3).gaussian(1, d);
        let y = Matrix::column(vec![0.1]).unwrap();
        let x = net.condition(&prior, Wanted::from(&y).noise_var(0.5)).unwrap();
        assert_eq!(matches!(x.found(0), Found::Points { .. }), points, "{d}: {:?}", x.found(0));
        assert_eq!(x.factor(0).unwrap().is_some(), !points);
        // Entries that are known stay; only those that are not count.
        let mut var = vec![0.0; d];
        var[d - 1] = 0.3;
        let x = net.condition(&Gaussian::new(prior.mean().to_vec(), var, d).unwrap(), &y).unwrap();
        assert!(matches!(x.found(0), Found::Points { .. }));
        assert_eq!(x.mean()[..d - 1], prior.mean()[..d - 1]);
        assert!(x.var()[..d - 1].iter().all(|&v| v == 0.0) && x.var()[d - 1] > 0.0);
    }
}

#[test]
fn rows_that_are_known_stay_beside_others() {
    let net = Network::mlp([2, 12, 1], Activation::Tanh).seed(2).build().unwrap();
    let prior = Gaussian::new(vec![0.1, 0.2, 0.3, 0.4], vec![0.0, 0.0, 0.2, 0.2], 2).unwrap();
    let y = Matrix::column(vec![0.5, 0.5]).unwrap();
    for wanted in
        [Wanted::from(&y), Wanted::minimum().into(), Wanted::from(&y).known_weights().noise_var(0.1)]
    {
        let x = net.condition(&prior, wanted).unwrap();
        assert_eq!((&x.mean()[..2], &x.var()[..2]), (&[0.1, 0.2][..], &[0.0, 0.0][..]), "{wanted:?}");
        assert!(x.var()[2] > 0.0 && x.var()[3] > 0.0, "{wanted:?}");
    }
    // A search for nothing goes nowhere.
    let nothing = Wanted::from(&y).only(&[false, false]).known_weights();
    assert_eq!(net.search(&prior, nothing).unwrap().mean(), prior.mean());
}

#[test]
fn every_kind_of_layer_can_be_conditioned() {
    for device in devices() {
        let net = Network::builder(Shape::image(2, 6, 6))
            .layer(Layer::conv2d(3, 3))
            .layer(Layer::batch_norm())
            .layer(Activation::Relu)
            .layer(Layer::max_pool2d(2))
            .layer(Layer::linear(11))
            .classes(10)
            .seed(1)
            .device(&device)
            .build()
            .unwrap();
        let prior = Draw::new(3).gaussian(2, 72);
        let x = net.condition(&prior, &[3, 7]).unwrap();
        let p = |x: &Gaussian| net.predict_classes(x).unwrap();
        let (before, after) = (p(&prior), p(x.gaussian()));
        assert!(after.row(0)[3] > before.row(0)[3] && after.row(1)[7] > before.row(1)[7], "{device:?}");
        for layer in net.layer_names() {
            let hidden = net.condition(&prior, Wanted::from(&[3, 7]).layer(layer)).unwrap();
            assert!(hidden.var().iter().chain(hidden.mean()).all(|v| v.is_finite()), "{layer}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_and_limits_are_right() {
    let net = learned(&[2, 8, 2], 40, 1);
    let prior = Gaussian::new(vec![0.1, 0.2], vec![0.5; 2], 2).unwrap();
    let y = Matrix::new(vec![0.3, 0.1], 2).unwrap();
    let says = |result: tractable::Result<tractable::Posterior>, part: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    let known = Gaussian::new(vec![0.1, 0.2], vec![0.0; 2], 2).unwrap();
    says(net.condition(&known, &y), "known exactly");
    for (bad, part) in [
        (vec![1.0, 2.0, 2.0, 1.0], "positive definite"),
        (vec![0.0; 4], "positive definite"),
        (vec![1.0, 0.5, 0.2, 1.0], "differ"),
    ] {
        let bad = Matrix::new(bad, 2).unwrap();
        says(net.condition(&prior, Wanted::from(&y).covariance(&bad)), part);
    }
    let three = Matrix::new(vec![1.0; 9], 3).unwrap();
    says(net.condition(&prior, Wanted::from(&y).covariance(&three)), "2 x 2");
    says(net.condition(&prior, Wanted::from(&y).covariance(&three).layer("linear1")), "hidden layer");
    says(net.condition(&prior, Wanted::from(&Matrix::new(vec![1.0; 3], 3).unwrap())), "2 columns");
    says(net.condition(&prior, &[1]), "regression");
    for noise in [-1.0, f64::NAN, f64::INFINITY] {
        says(net.condition(&prior, Wanted::from(&y).noise_var(noise)), "noise");
    }
    assert!(
        Matrix::new(vec![f64::NAN, 0.0], 2).is_err() && Gaussian::new(vec![0.0], vec![f64::NAN], 1).is_err()
    );
    // A number nobody looks at may be anything that a matrix can hold; nothing wanted at all leaves the prior.
    let nothing = net.condition(&prior, Wanted::from(&y).only(&[false, false])).unwrap();
    assert_eq!((nothing.mean(), nothing.var()), (prior.mean(), prior.var()));
    let at = |x: &[f64]| net.predict(&Matrix::new(x.to_vec(), 2).unwrap()).unwrap().mean().to_vec();
    // Noise of zero: the weights leave room. With known weights too, the output is met.
    assert!(net.condition(&prior, &y).is_ok());
    let there = at(&[0.4, -0.1]);
    let wish = Matrix::new(there.clone(), 2).unwrap();
    let x = net.condition(&prior, Wanted::from(&wish).known_weights()).unwrap();
    let met = at(&x.modes(0)[0].mean);
    assert!(met.iter().zip(&there).all(|(a, b)| (a - b).abs() < 0.02), "{met:?} {there:?} {x:?}");
    // Out of reach: as far in that direction as the prior allows.
    let far = Matrix::new(vec![1e6, -1e6], 2).unwrap();
    let apart = |x: &[f64]| at(x)[0] - at(x)[1];
    for noise in [0.0, 1.0, 1e12] {
        let x = net.condition(&prior, Wanted::from(&far).noise_var(noise)).unwrap();
        assert!(apart(x.mean()) > apart(prior.mean()), "{noise}: {x:?}");
        assert!(x.var().iter().all(|&v| v > 0.0), "{noise}: {x:?}");
    }
    // So much noise that nothing is said: the prior.
    let x = net.condition(&prior, Wanted::from(&y).noise_var(1e12)).unwrap();
    assert!(x.mean().iter().zip(prior.mean()).all(|(a, b)| (a - b).abs() < 1e-2), "{:?}", x.mean());
    assert!(x.var().iter().all(|v| (v / 0.5 - 1.0).abs() < 0.02), "{:?}", x.var());
}
