//! Noise that is inferred: its moments against integrals, and that it finds the truth, survives files, and changes nothing else.

use crate::cases::{Draw, Model, bytes, worst};
use tractable::data::Dataset;
use tractable::moments::noise::{expected, log_innovation, square};
use tractable::{
    Activation, Device, Fit, Gaussian, Layer, Matrix, Network, Noise, Shape,
    network::{NetworkBuilder, Observation, UpdateRule},
};

fn devices() -> [Device; 2] {
    [Device::cpu(1), Device::reference()]
}

/// The integral of a function from `low` to `high`.
fn integral(low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    const STEPS: usize = 20_000;
    let h = (high - low) / STEPS as f64;
    h * (0..STEPS).map(|i| f(low + (i as f64 + 0.5) * h)).sum::<f64>()
}

fn density(x: f64, mean: f64, var: f64) -> f64 {
    (-0.5 * (x - mean).powi(2) / var).exp() / (std::f64::consts::TAU * var).sqrt()
}

/// Mean and variance of `f(v)` under an unnormalised density over `mean +- 12 std`.
fn moments(mean: f64, std: f64, f: impl Fn(f64) -> f64, p: impl Fn(f64) -> f64) -> [f64; 2] {
    let at = |power: i32| integral(mean - 12.0 * std, mean + 12.0 * std, |v| p(v) * f(v).powi(power));
    let (all, first, second) = (at(0), at(1), at(2));
    [first / all, second / all - (first / all).powi(2)]
}

/// T40 is exact where the variance of the noise is known.
#[test]
fn the_squared_noise_has_its_exact_moments() {
    let mut draw = Draw::new(1);
    for _ in 0..50 {
        let (mean, var) = (draw.normal(), draw.uniform(0.01, 2.0));
        let (y, noise_var) = (mean + 2.0 * draw.normal(), draw.uniform(0.01, 2.0));
        let [m, v] = moments(
            0.0,
            noise_var.sqrt(),
            |v| v * v,
            |v| density(v, 0.0, noise_var) * density(y - v, mean, var),
        );
        let square = square(mean, var, y, noise_var);
        assert!(worst(&[square.mean, square.var], &[m, v], 1e-9) < 1e-6, "{square:?} {m} {v}");
    }
    // Nothing is known exactly, and everything: no 0/0.
    assert_eq!(square(0.0f64, 0.0, 1.0, 0.0).mean, 0.0);
    assert_eq!(square(0.0f64, 1.0, 1.0, 0.0).mean, 0.0);
}

/// T41, and what T42 takes as known of the squared noise: `v^2` with the variance `exp(u)`, before anything is seen.
#[test]
fn a_head_has_its_exact_moments() {
    for (mean, var) in [(-1.0f64, 0.3f64), (0.0, 1.0), (-3.0, 0.05), (1.0, 2.0)] {
        let of = |f: &dyn Fn(f64) -> f64| {
            integral(mean - 14.0 * var.sqrt(), mean + 14.0 * var.sqrt(), |u| density(u, mean, var) * f(u))
        };
        let b = expected(mean, var);
        // E[v^2 | u] = exp(u), E[v^4 | u] = 3 exp(2 u).
        let second = of(&|u| u.exp());
        let s = of(&|u| 3.0 * (2.0 * u).exp()) - second * second;
        let cov = of(&|u| (u - mean) * u.exp());
        assert!(worst(&[b, b * var], &[second, cov], 1e-9) < 1e-6);
        // A square that is off by one: the gain is cov/s, over the variance of u.
        let seen = tractable::moments::noise::Square { mean: b + 1.0, var: 0.0 };
        let (d_mean, d_var) = log_innovation(b, var, seen);
        let gain = cov / s / var;
        assert!(worst(&[d_mean, d_var], &[gain, -gain * gain * s], 1e-12) < 1e-6, "{d_mean} {d_var} {gain}");
    }
}

/// The step of a head, as the moments of T42 make it, and the exact one: mean and variance of `u` given `y`.
fn steps(mean: f64, var: f64, y: f64, head: (f64, f64)) -> ([f64; 2], [f64; 2]) {
    let (u, var_u) = head;
    let b = expected(u, var_u);
    let (d_mean, d_var) = log_innovation(b, var_u, square(mean, var, y, b));
    let ours = [u + var_u * d_mean, var_u + var_u * var_u * d_var];
    let exact = moments(u, var_u.sqrt(), |u| u, |v| density(v, u, var_u) * density(y, mean, var + v.exp()));
    (ours, exact)
}

/// T42 is Gaussian conditioning on the squared noise: nearly exact where the head is sure, and too weak where it is not. With a
/// variance of 0.3 it takes two thirds of the exact step after a surprise, with 1 a quarter, and keeps too much variance.
#[test]
fn an_unsure_head_learns_slowly() {
    // Output mean and variance, observation, mean and variance of the head, share of the exact step.
    for (mean, var, y, head, share) in [
        (0.0, 0.01, 1.0, (-2.0, 0.05), 1.01),
        (0.0, 0.01, 0.0, (-2.0, 0.05), 0.94),
        (0.0, 0.5, 0.2, (-2.0, 0.1), 0.89),
        (0.3, 0.2, 1.5, (-1.0, 0.3), 0.68),
        (0.0, 0.05, 2.0, (0.0, 1.0), 0.27),
        (0.0, 0.05, 0.0, (0.0, 1.0), 0.30),
    ] {
        let (ours, exact) = steps(mean, var, y, head);
        let found = (ours[0] - head.0) / (exact[0] - head.0);
        assert!((found - share).abs() < 0.01, "{head:?}, {y}: {found} of the exact step");
        assert!(ours[1] < head.1, "{head:?}: {ours:?}");
    }
    let (ours, exact) = steps(0.0, 0.05, 2.0, (0.0, 1.0));
    assert!((ours[1] - 0.866).abs() < 0.01 && (exact[1] - 0.501).abs() < 0.01, "{ours:?} {exact:?}");
}

fn wave(x: f64) -> f64 {
    (2.0 * x).sin()
}

/// y = sin(2 x + k) + noise of a standard deviation that depends on output and input.
fn rows(n: usize, outputs: usize, seed: u64, std: impl Fn(usize, f64) -> f64) -> (Matrix, Matrix) {
    let mut draw = Draw::new(seed);
    let x: Vec<f64> = (0..n).map(|_| draw.uniform(-2.0, 2.0)).collect();
    let mut y = Vec::new();
    for &x in &x {
        y.extend((0..outputs).map(|k| wave(x + k as f64) + std(k, x) * draw.normal()));
    }
    (Matrix::column(x).unwrap(), Matrix::new(y, outputs).unwrap())
}

fn mlp(outputs: usize, n: usize) -> NetworkBuilder {
    let rule = UpdateRule::Counted { rows: n, margin: 3000 };
    Network::mlp([1, 32, outputs], Activation::MixtureRelu).update_rule(rule).device(Device::cpu(1))
}

#[test]
fn noise_of_every_output_is_found() {
    let std = [0.1, 0.3, 1.0];
    let (x, y) = rows(1000, 3, 2, |k, _| std[k]);
    for missing in [false, true] {
        let mut net = mlp(3, 1000).noise(Noise::Inferred).build().unwrap();
        let mut draw = Draw::new(3);
        // Of the last output one entry in ten is there.
        let seen: Vec<bool> =
            (0..3000).map(|i| !missing || i % 3 < 2 || draw.uniform(0.0, 1.0) < 0.1).collect();
        for _ in 0..20 {
            for i in 0..1000 {
                let (x, y) = (x.select(&[i]), y.select(&[i]));
                net.learn(&x, Observation::from(&y).seen(&seen[3 * i..3 * i + 3])).unwrap();
            }
        }
        let found = net.noise_std().to_vec();
        println!("missing {missing}: {found:?}");
        assert!(worst(&found[..2], &std[..2], 0.0) < 0.15 && (found[2] - 1.0).abs() < 0.25, "{found:?}");
        let out = net.predict(&x.select(&[0])).unwrap();
        assert!(worst(out.noise_var(), &found.iter().map(|s| s * s).collect::<Vec<_>>(), 0.0) < 1e-12);
    }
}

#[test]
fn noise_that_depends_on_the_input_is_found() {
    let std = |x: f64| 0.2 * (0.7 * x).exp();
    let (x, y) = rows(2000, 1, 4, |_, x| std(x));
    let data = Dataset::new(x, y).unwrap();
    let mut net = mlp(1, 2000).noise(Noise::PerInput).build().unwrap();
    net.fit(&data, &Fit::new().epochs(20).batch(1).anneal(0.5)).unwrap();
    let at = [-1.5, -0.5, 0.5, 1.5];
    let out = net.predict(&Matrix::column(at.to_vec()).unwrap()).unwrap();
    let found: Vec<f64> = out.noise_var().iter().map(|v| v.sqrt()).collect();
    println!("{found:?} for {:?}", at.map(std));
    assert!(worst(&found, &at.map(std), 0.0) < 0.3, "{found:?}");
    let off: Vec<f64> = at.iter().zip(out.mean()).map(|(&x, m)| (wave(x) - m).abs()).collect();
    assert!(off.iter().all(|o| *o < 0.15), "{off:?}");
}

/// Observations that bring their noise along say nothing about the network's.
#[test]
fn noise_that_is_given_is_not_inferred() {
    for noise in [Noise::Inferred, Noise::PerInput] {
        for device in devices() {
            let mut net = mlp(2, 100).noise(noise).device(device).build().unwrap();
            let (x, y) = rows(7, 2, 5, |_, _| 0.3);
            let before = net.predict(&x).unwrap();
            net.learn(&x, Observation::from(&y).noise_var(&[0.5; 14])).unwrap();
            net.learn(&x, Observation::from(&y).seen(&[false; 14])).unwrap();
            let after = net.predict(&x).unwrap();
            assert_ne!(before.mean(), after.mean());
            assert_eq!(net.noise_std().len(), 1, "{noise:?}");
            if noise == Noise::Inferred {
                assert_eq!(before.noise_var(), after.noise_var());
            }
        }
    }
}

#[test]
fn known_noise_stays() {
    for device in devices() {
        let mut net = mlp(2, 100).noise_std([0.2, 0.7]).device(device).build().unwrap();
        let (x, y) = rows(50, 2, 6, |_, _| 3.0);
        net.learn(&x, &y).unwrap();
        assert_eq!((net.noise_std(), net.output().noise()), (&[0.2, 0.7][..], Noise::Known));
        let out = net.predict(&x.select(&[0])).unwrap();
        assert!(worst(out.noise_var(), &[0.04, 0.49], 0.0) < 1e-12);
        assert_eq!(net.layer_names(), ["linear1", "mixture_relu1", "linear2"]);
    }
}

/// In two halves, in one call, in batches that are fitted, and over a file: the same bits.
#[test]
fn halves_and_files_continue_to_the_same_bits() {
    for noise in [Noise::Inferred, Noise::PerInput] {
        for device in devices() {
            let mut net = mlp(2, 60).noise(noise).device(&device).seed(3).build().unwrap();
            let (x, y) = rows(60, 2, 7, |k, _| [0.1, 0.5][k]);
            net.learn(&x, &y).unwrap();
            let (mut halves, mut loaded) =
                (net.try_clone().unwrap(), Model::of(&net).load(device.clone()).unwrap());
            assert_eq!(loaded.output(), net.output());
            for rows in [&[0, 1, 2][..], &[7], &[9, 8]] {
                let (x, y) = (x.select(rows), y.select(rows));
                net.learn(&x, &y).unwrap();
                loaded.learn(&x, &y).unwrap();
                let mut sums = halves.sums();
                halves.accumulate(&x, &y, &mut sums).unwrap();
                halves.apply(&sums).unwrap();
            }
            assert_eq!(bytes(&net), bytes(&loaded), "{noise:?} on {device:?}, from a file");
            assert_eq!(net.predict(&x).unwrap(), loaded.predict(&x).unwrap());
            assert_eq!(net.noise_std(), halves.noise_std());
            assert_eq!(bytes(&net), bytes(&halves), "{noise:?} on {device:?}, in two halves");
        }
    }
}

/// Sums over several batches are one update, of the noise too.
#[test]
fn noise_is_summed_up() {
    for noise in [Noise::Inferred, Noise::PerInput] {
        let mut net = mlp(2, 60).noise(noise).device(Device::reference()).build().unwrap();
        let (mut whole, (x, y)) = (net.try_clone().unwrap(), rows(9, 2, 8, |_, _| 0.4));
        let mut sums = net.sums();
        for part in [&[0, 1, 2, 3][..], &[4], &[5, 6, 7, 8]] {
            net.accumulate(&x.select(part), &y.select(part), &mut sums).unwrap();
        }
        net.apply(&sums).unwrap();
        whole.learn(&x, &y).unwrap();
        let (a, b) = (net.predict(&x).unwrap(), whole.predict(&x).unwrap());
        let off = worst(a.mean(), b.mean(), 1.0).max(worst(a.noise_var(), b.noise_var(), 0.0));
        assert!(off < 1e-12 && worst(net.noise_std(), whole.noise_std(), 0.0) < 1e-12, "{noise:?}: {off}");
    }
}

/// What an interrupted fit has left to do, it does to the same bits.
#[test]
fn a_fit_that_is_resumed_is_the_same_fit() {
    for noise in [Noise::Inferred, Noise::PerInput] {
        let (x, y) = rows(700, 1, 9, |_, _| 0.3);
        let data = Dataset::new(x, y).unwrap().standardize();
        let fit = Fit::new().epochs(4).batch(8).anneal(0.5);
        let mut whole = mlp(1, 700).noise(noise).build().unwrap();
        let mut half = whole.try_clone().unwrap();
        whole.fit(&data, &fit).unwrap();
        half.fit_with(&data, &fit, |p| match p {
            tractable::train::Progress::Epoch(_, e) if e.epoch == 2 => std::ops::ControlFlow::Break(()),
            _ => std::ops::ControlFlow::Continue(()),
        })
        .unwrap();
        let mut rest = Model::of(&half).load(Device::cpu(1)).unwrap();
        rest.fit(&data, &fit.first_epoch(2)).unwrap();
        assert_eq!(bytes(&whole), bytes(&rest), "{noise:?}");
    }
}

/// A network with a head, and the same network without it.
fn pair(device: &Device) -> (Network, Network) {
    let build =
        |noise| Network::mlp([2, 16, 16, 1], Activation::Tanh).noise(noise).device(device).build().unwrap();
    let (mut with, without) = (build(Noise::PerInput), build(Noise::Inferred));
    let mut draw = Draw::new(2);
    for _ in 0..50 {
        with.learn(&draw.matrix(1, 2), &draw.matrix(1, 1)).unwrap();
    }
    let (of, mut to) = (Model::of(&with), Model::of(&without));
    let names: Vec<String> = to.tensors.keys().cloned().collect();
    for name in names {
        to.set(&name, &of.get(&name));
    }
    (with, to.load(device.clone()).unwrap())
}

#[test]
fn a_head_changes_nothing_but_the_noise() {
    for device in devices() {
        let (with, without) = pair(&device);
        let x = Gaussian::new(vec![0.3, -0.2, 0.1, 0.5], vec![0.1, 0.2, 0.3, 0.1], 2).unwrap();
        assert_eq!(with.predict(&x).unwrap().output(), without.predict(&x).unwrap().output());
        let y = Matrix::column(vec![0.4, -1.0]).unwrap();
        assert_eq!(with.search(&x, &y).unwrap(), without.search(&x, &y).unwrap());
        for x in [&x, &Gaussian::around(&Matrix::new(vec![0.1, 0.2], 2).unwrap(), 0.0).unwrap()] {
            let [a, b] =
                [&with, &without].map(|net| net.derivative(x, tractable::condition::Wrt::input()).unwrap());
            assert_eq!((a.mean(), a.var(), a.cov()), (b.mean(), b.var(), b.cov()), "{device:?}");
            let [a, b] = [&with, &without]
                .map(|net| net.second_derivative(x, tractable::condition::Wrt::input()).unwrap());
            assert_eq!(a, b);
        }
        for layer in ["linear1", "tanh2"] {
            let wanted = tractable::Wanted::from(&y).layer(layer);
            let [a, b] = [&with, &without].map(|net| net.search(&x, wanted).unwrap());
            assert_eq!(a, b, "{layer}");
        }
    }
}

/// What a file could say about a head that is none.
#[test]
fn a_head_must_be_one() {
    let flat = |n| Network::builder(Shape::flat(n)).layer(Layer::linear(2));
    let net = flat(1).layer(Layer::linear(2)).noise(Noise::PerInput).build().unwrap();
    assert_eq!(net.layer_names(), ["linear1", "noise", "linear2"]);
    let file = Model::of(&net);
    let refused = |file: &Model, change: &dyn Fn(&mut serde_json::Value), why: &str| {
        let (mut file, mut spec) = (file.clone(), file.spec());
        change(&mut spec);
        file.set_spec(&spec);
        let said = file.load(Device::cpu(1)).unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    };
    refused(&file, &|s| s["noise_rows"] = serde_json::json!([-1.0, 0.0]), "noise rows: -1");
    refused(&file, &|s| s["noise_rows"] = serde_json::json!([1.0]), "noise rows: expected 0 or 2");
    // A sum that reads the head.
    let sum = Model::of(&flat(2).layer(Layer::Add.of(["input", "linear1"])).build().unwrap()).spec();
    let mut without = file.clone();
    without.tensors.retain(|name, _| !name.starts_with("linear2"));
    let reads = |s: &mut serde_json::Value| {
        s["layers"][2] = sum["layers"][1].clone();
        s["inputs"][2] = serde_json::json!([1, 2]);
    };
    refused(&without, &reads, "which no layer reads");
}
