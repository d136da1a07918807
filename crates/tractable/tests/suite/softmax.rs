//! A softmax over the output's units: its formulae against Monte Carlo, finite differences and integrals, and what is built on them.

use crate::cases::{Draw, Model, worst};
use serde_json::json;
use tractable::attack::{self, Settings, Targets};
use tractable::moments::softmax;
use tractable::network::{ClassUnits, Head, Observation, Output};
use tractable::{Activation, Device, Gaussian, Layer, Matrix, Network, Prior, Shape, Wanted};

fn units(classes: usize) -> ClassUnits {
    Output::Classes { classes, head: Head::Softmax }.class_units().unwrap()
}

fn ln_p(class: usize, mean: &[f64], var: &[f64]) -> f64 {
    units(mean.len()).probabilities(mean, var)[class].ln()
}

/// Sampled mean and variance of the probabilities of independent outputs.
fn sampled(mean: &[f64], var: &[f64], draw: &mut Draw) -> [Vec<f64>; 2] {
    let (n, k) = (20_000, mean.len());
    let [mut sum, mut squares] = [vec![0.0; k], vec![0.0; k]];
    for _ in 0..n {
        let a: Vec<f64> = mean.iter().zip(var).map(|(m, v)| (m + v.sqrt() * draw.normal()).exp()).collect();
        let all: f64 = a.iter().sum();
        for (c, a) in a.iter().enumerate() {
            sum[c] += a / all / n as f64;
            squares[c] += (a / all).powi(2) / n as f64;
        }
    }
    let var = squares.iter().zip(&sum).map(|(s, m)| s - m * m).collect();
    [sum, var]
}

/// T90 and T93, which are approximations: as good as their documentation says.
#[test]
fn probabilities_and_their_spread_by_monte_carlo() {
    let mut draw = Draw::new(1);
    for (var, off, off_spread) in
        [(0.0, 1e-12, 1e-12), (0.1, 0.02, 0.01), (1.0, 0.1, 0.05), (10.0, 0.25, 0.1)]
    {
        for classes in [2, 3, 10, 30] {
            let mean: Vec<f64> = draw.normals(classes).iter().map(|m| 1.5 * m).collect();
            let vars: Vec<f64> = (0..classes).map(|_| var * draw.uniform(0.5, 1.5)).collect();
            let [p, spread] = sampled(&mean, &vars, &mut draw);
            let ours = units(classes).probabilities(&mean, &vars);
            assert!((ours.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            for (ours, p) in ours.iter().zip(&p) {
                assert!((ours - p).abs() < off + 1e-2 * var.min(1.0), "{classes}, {var}: {ours}, {p}");
            }
            let both = units(classes).spread(&mean, &vars);
            let model: f64 = spread.iter().sum();
            assert!((both.model - model).abs() < off_spread, "{classes}, {var}: {}, {model}", both.model);
            let total: f64 = ours.iter().map(|p| p * (1.0 - p)).sum();
            assert!((both.total() - total).abs() < 1e-12);
        }
    }
}

/// T91 of a known output is the gradient of `ln p`, and the diagonal of its curvature. T94 is the gradient with variances.
#[test]
fn innovations_and_gradients_by_finite_differences() {
    let (mut draw, h) = (Draw::new(2), 1e-4);
    for classes in [2, 5, 17] {
        let mean = draw.normals(classes);
        let vars: Vec<f64> = (0..classes).map(|_| draw.uniform(0.0, 3.0)).collect();
        let moved = |k: usize, by: f64| {
            let mut mean = mean.clone();
            mean[k] += by;
            mean
        };
        for var in [vec![0.0; classes], vars] {
            let (p, class) = (units(classes).probabilities(&mean, &var), classes / 2);
            let gradient = units(classes).ln_gradient(class, &mean, &var);
            for k in 0..classes {
                let at = |by: f64| ln_p(class, &moved(k, by), &var);
                let slope = (at(h) - at(-h)) / (2.0 * h);
                assert!((gradient[k] - slope).abs() < 1e-7, "{classes}: {}, {slope}", gradient[k]);
                if var[k] == 0.0 {
                    let bend = (at(h) - 2.0 * at(0.0) + at(-h)) / (h * h);
                    let y = f64::from(u8::from(k == class));
                    let (d_mean, d_var) = softmax::innovation(p[k], 0.0, y);
                    assert!((d_mean - slope).abs() < 1e-7 && (d_var - bend).abs() < 1e-6, "{d_var}, {bend}");
                }
            }
        }
    }
    // The posterior variance of an output is that of the product of its prior and the likelihood's curvature.
    let (d_mean, d_var) = softmax::innovation(0.3f64, 2.0, 1.0);
    assert!((1.0 / (2.0 + 4.0 * d_var) - (0.5 + 0.21)).abs() < 1e-12);
    assert!((2.0 * d_mean - 0.7 / (0.5 + 0.21)).abs() < 1e-12);
}

/// Points of three classes around the corners of a triangle.
fn corners(rows: usize, seed: u64) -> (Matrix, Vec<usize>) {
    let mut draw = Draw::new(seed);
    let labels: Vec<usize> = (0..rows).map(|_| draw.below(3)).collect();
    let at = |l: &usize| [(0.0, 1.0), (1.0, -1.0), (-1.0, -1.0)][*l];
    let x =
        labels.iter().flat_map(|l| [at(l).0 + 0.3 * draw.normal(), at(l).1 + 0.3 * draw.normal()]).collect();
    (Matrix::new(x, 2).unwrap(), labels)
}

fn trained(device: &Device) -> Network {
    let net = Network::mlp([2, 24, 3], Activation::Relu).classes(3).head(Head::Softmax).seed(3);
    let mut net = net.device(device).build().unwrap();
    let (x, labels) = corners(600, 4);
    for from in (0..600).step_by(8) {
        let rows: Vec<usize> = (from..from + 8).collect();
        net.learn(&x.select(&rows), &labels[from..from + 8]).unwrap();
    }
    net
}

fn wrong(net: &Network, x: &Matrix, labels: &[usize]) -> f64 {
    tractable::metrics::error_rate(net.predict_classes(x).unwrap().data(), labels).unwrap()
}

#[test]
fn classes_are_learned_on_every_device_and_kept() {
    let (x, labels) = corners(300, 5);
    let reference = trained(&Device::reference());
    for device in [Device::reference(), Device::cpu(1), Device::cpu(3)] {
        let net = trained(&device);
        assert!(wrong(&net, &x, &labels) < 0.03);
        let (p, expected) = (net.predict_classes(&x).unwrap(), reference.predict_classes(&x).unwrap());
        assert!(worst(p.data(), expected.data(), 1.0) < 1e-3);
        assert!(net.predict(&x).unwrap().noise_var().iter().all(|v| *v == 0.0));
        let file = Model::of(&net);
        assert_eq!(file.spec()["output"], json!({"kind": "classes", "classes": 3, "head": "softmax"}));
        assert_eq!(file.load(device).unwrap().predict_classes(&x).unwrap(), p);
    }
}

/// The work of a softmax is that of its outputs: a thousand classes are as quick to learn as their layer.
#[test]
fn a_thousand_classes() {
    let net = Network::mlp([8, 1000], Activation::Relu).classes(1000).head(Head::Softmax);
    let mut net = net.build().unwrap();
    let mut draw = Draw::new(6);
    let (x, labels) = (draw.matrix(4, 8), [0, 999, 500, 7]);
    for _ in 0..200 {
        net.learn(&x, &labels).unwrap();
    }
    assert_eq!(wrong(&net, &x, &labels), 0.0);
    let surprise = net.learn_one(&x.select(&[1]), &[999]).unwrap();
    assert!(surprise.observed < 0.2, "{surprise:?}");
}

/// The posterior of one input is the normalised product of its prior and the probability of the class.
#[test]
fn the_posterior_of_one_input_by_an_integral() {
    let net =
        Network::mlp([1, 3], Activation::Relu).classes(3).head(Head::Softmax).device(Device::reference());
    let net = net.seed(2).build().unwrap();
    let prior = Gaussian::new(vec![0.3], vec![2.0], 1).unwrap();
    let places: Vec<f64> = (0..4000).map(|i| 0.3 + (i as f64 - 2000.0) / 200.0).collect();
    let p = net.predict_classes(&Matrix::column(places.clone()).unwrap()).unwrap();
    for class in 0..3 {
        let weight = |i: usize| (-(places[i] - 0.3).powi(2) / 4.0).exp() * p.row(i)[class];
        let sum: f64 = (0..4000).map(weight).sum();
        let mean = (0..4000).map(|i| weight(i) * places[i]).sum::<f64>() / sum;
        let var = (0..4000).map(|i| weight(i) * (places[i] - mean).powi(2)).sum::<f64>() / sum;
        let found = net.condition(&prior, &[class]).unwrap();
        assert!((found.mean()[0] - mean).abs() < 0.02, "{class}: {}, {mean}", found.mean()[0]);
        assert!((found.var()[0] / var - 1.0).abs() < 0.05, "{class}: {}, {var}", found.var()[0]);
    }
}

/// T92: many inputs of a linear network whose weights are known. At the answer the gradient of the posterior is zero, and its covariance
/// is the inverse of the curvature.
#[test]
fn the_posterior_of_many_inputs_is_laplaces() {
    let (d, class) = (20, 2);
    let net =
        Network::mlp([d, 4], Activation::Relu).classes(4).head(Head::Softmax).prior(Prior::he().gain(8.0));
    let net = net.seed(8).device(Device::reference()).build().unwrap();
    let start = Gaussian::new(vec![0.2; d], vec![0.7; d], d).unwrap();
    let found = net.condition(&start, Wanted::from(&[class]).known_weights()).unwrap();
    let (weights, biases) = net.weights("linear1").unwrap().unwrap();
    let logits = |x: &[f64]| -> Vec<f64> {
        let line = |k: usize| weights.mean()[k * d..][..d].iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        (0..4).map(|k| line(k) + biases.mean()[k]).collect()
    };
    let density = |x: &[f64]| {
        let prior: f64 = x.iter().map(|x| (x - 0.2).powi(2) / 1.4).sum();
        ln_p(class, &logits(x), &[0.0; 4]) - prior
    };
    let (x, h) = (found.mean().to_vec(), 1e-3);
    let curvature = |i: usize, j: usize| {
        let at = |a: f64, b: f64| {
            let mut x = x.clone();
            x[i] += a * h;
            x[j] += b * h;
            density(&x)
        };
        (at(1.0, 1.0) - at(1.0, -1.0) - at(-1.0, 1.0) + at(-1.0, -1.0)) / (4.0 * h * h)
    };
    for i in 0..d {
        let at = |by: f64| {
            let mut x = x.clone();
            x[i] += by;
            density(&x)
        };
        let slope = (at(h) - at(-h)) / (2.0 * h);
        assert!(slope.abs() * found.var()[i].sqrt() < 0.05, "{i}: {slope}");
        // The curvature times the covariance is minus the identity; here its product with one direction.
        let covariance = found.covariance(0).unwrap();
        let own: f64 = (0..d).map(|j| curvature(i, j) * covariance.row(j)[i]).sum();
        assert!((own + 1.0).abs() < 0.05, "{i}: {own}");
    }
    assert!(ln_p(class, &logits(&x), &[0.0; 4]) > ln_p(class, &logits(&[0.2; 20]), &[0.0; 4]));
}

#[test]
fn attacks_reach_a_class_and_leave_one() {
    let net = trained(&Device::cpu(2));
    let (x, labels) = corners(30, 9);
    let settings = Settings::new().range(-3.0, 3.0).prior_std(0.3);
    for targets in [Targets::all_wrong(&labels), Targets::untargeted(&labels)] {
        let found = attack::infer(&net, &x, &targets, &settings).unwrap();
        let succeeded = found.iter().filter(|a| a.success).count();
        assert!(succeeded as f64 > 0.95 * found.len() as f64, "{succeeded} of {}", found.len());
    }
    let gradient = attack::gradient(&net, &x, &labels).unwrap();
    let h = 1e-3;
    let mut off = Vec::new();
    for (row, &label) in labels.iter().enumerate() {
        for i in 0..2 {
            let at = |by: f64| {
                let mut x = x.row(row).to_vec();
                x[i] += by;
                net.predict_classes(&Matrix::new(x, 2).unwrap()).unwrap().row(0)[label].ln()
            };
            off.push((gradient.row(row)[i] - (at(h) - at(-h)) / (2.0 * h)).abs());
        }
    }
    // Variances move too, and a ReLU may bend in between.
    off.sort_by(f64::total_cmp);
    assert!(off[off.len() / 2] < 0.1, "{off:?}");
}

#[test]
fn a_search_by_innovations_moves_towards_the_class() {
    let net = trained(&Device::cpu(1));
    let start = Gaussian::new(vec![0.0, 0.8], vec![0.05; 2], 2).unwrap();
    let there = net.search(&start, Wanted::from(&[1]).rounds(30)).unwrap();
    assert!(net.predict_classes(&there).unwrap().row(0)[1] > 0.5);
}

#[test]
fn nonsense_is_refused() {
    let softmax = || Network::mlp([2, 3], Activation::Relu).classes(3).head(Head::Softmax);
    let says = |e: tractable::Result<Network>, what: &str| {
        let e = e.unwrap_err().to_string();
        assert!(e.contains(what), "{e}");
    };
    says(Network::mlp([2, 3], Activation::Relu).head(Head::Softmax).build(), "a softmax needs classes");
    says(softmax().noise_std([1.0]).build(), "a softmax has no noise");
    let pixels = Network::builder(Shape::image(1, 2, 3)).layer(Layer::conv2d(2, 1).named("last"));
    says(pixels.classes(12).head(Head::Softmax).build(), "one pixel");
    let mut net = softmax().build().unwrap();
    let x = Matrix::new(vec![0.1, 0.2], 2).unwrap();
    assert!(net.set_noise_std([1.0]).unwrap_err().to_string().contains("a softmax has none"));
    let part = Observation::from(&[1]).seen(&[true, false, true]);
    assert!(net.learn(&x, part).unwrap_err().to_string().contains("as a whole"));
    assert!(net.learn(&x, Observation::from(&[1]).noise_var(&[1.0; 3])).is_err());
    let before = net.predict(&x).unwrap();
    net.learn(&x, Observation::from(&[1]).seen(&[false; 3])).unwrap();
    assert_eq!(net.predict(&x).unwrap(), before, "a class that was not seen says nothing");
    // Files.
    for head in [json!("maximum"), json!(null), json!({"softmax": 1})] {
        let mut file = Model::of(&net);
        let mut spec = file.spec();
        spec["output"]["head"] = head;
        file.set_spec(&spec);
        assert!(file.load(Device::cpu(1)).unwrap_err().to_string().contains("spec"));
    }
    let mut file = Model::of(&Network::mlp([2, 5], Activation::Relu).classes(5).build().unwrap());
    let mut spec = file.spec();
    assert_eq!(spec["output"], json!({"kind": "classes", "classes": 5}), "files with a tree are as before");
    spec["output"]["head"] = json!("softmax");
    file.set_spec(&spec);
    assert!(file.load(Device::cpu(1)).unwrap_err().to_string().contains("5 units, the classes"));
}
