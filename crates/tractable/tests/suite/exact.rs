//! Networks whose answer is known exactly: linear ones are Kalman filters, chains of products have closed
//! moments, and one hidden layer of mixture ReLUs with exact inputs is exact too. All in f64.

use crate::cases::{Draw, Model, worst};
use tractable::{
    Activation, Device, Gaussian, Layer, Matrix, Network, Prior, Shape, Wanted,
    network::{Observation, Tree, UpdateRule},
};

/// A Gaussian over the weights and the bias of one output: mean `m`, covariance `p`.
struct Kalman {
    m: Vec<f64>,
    p: Vec<Vec<f64>>,
}

impl Kalman {
    /// One filter for every output of the network's first layer; the bias comes last.
    fn of(net: &Network) -> Vec<Kalman> {
        let file = Model::of(net);
        let get = |what: &str| file.get(&format!("linear1.{what}"));
        let [w, vw, b, vb] = ["weight.mean", "weight.var", "bias.mean", "bias.var"].map(get);
        let inputs = net.input().len();
        let row = |v: &[f64], b: &[f64], o: usize| {
            v[o * inputs..][..inputs].iter().copied().chain([b[o]]).collect::<Vec<_>>()
        };
        let make = |o| {
            let var = row(&vw, &vb, o);
            let n = var.len();
            let p = (0..n).map(|i| (0..n).map(|j| if i == j { var[i] } else { 0.0 }).collect()).collect();
            Kalman { m: row(&w, &b, o), p }
        };
        (0..b.len()).map(make).collect()
    }

    /// The textbook update for `y = h m + noise`: gain `P h / (h P h + r)`.
    fn observe(&mut self, x: &[f64], y: f64, noise_var: f64) {
        let h: Vec<f64> = x.iter().copied().chain([1.0]).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let ph: Vec<f64> = self.p.iter().map(|row| dot(row, &h)).collect();
        let total = dot(&h, &ph) + noise_var;
        let off = y - dot(&h, &self.m);
        for (i, m) in self.m.iter_mut().enumerate() {
            *m += ph[i] / total * off;
        }
        for i in 0..h.len() {
            for j in 0..h.len() {
                self.p[i][j] -= ph[i] / total * ph[j];
            }
        }
    }

    /// Forgets the covariances, as a network does.
    fn forget(&mut self) {
        for (i, row) in self.p.iter_mut().enumerate() {
            row.iter_mut().enumerate().filter(|(j, _)| *j != i).for_each(|(_, v)| *v = 0.0);
        }
    }

    fn var(&self) -> Vec<f64> {
        self.p.iter().enumerate().map(|(i, row)| row[i]).collect()
    }
}

fn assert_same(step: usize, ours: &[Kalman], exact: &[Kalman], tolerance: f64) {
    for (o, (ours, exact)) in ours.iter().zip(exact).enumerate() {
        let off = worst(&ours.m, &exact.m, 1e-3).max(worst(&ours.var(), &exact.var(), 1e-12));
        assert!(off <= tolerance, "step {step}, output {o}: off by {off:e}");
    }
}

/// How noise is told to the network; all three must reach the same update.
#[derive(Debug, Clone, Copy)]
enum Noise {
    Network,
    Output,
    Observation,
}

#[test]
fn linear_networks_are_kalman_filters() {
    for (noise, policy) in [
        (Noise::Network, UpdateRule::Plain),
        (Noise::Output, UpdateRule::Capped),
        (Noise::Observation, UpdateRule::Plain),
    ] {
        let (inputs, outputs) = (5, 3);
        let std = match noise {
            Noise::Output => vec![0.3, 0.7, 1.1],
            _ => vec![0.5],
        };
        let mut net = Network::builder(Shape::flat(inputs))
            .layer(Layer::linear(outputs))
            .noise_std(std.clone())
            .update_rule(policy)
            .seed(3)
            .device(Device::reference())
            .build()
            .unwrap();
        let mut filters = Kalman::of(&net);
        let mut draw = Draw::new(1);
        for step in 0..200 {
            let x = draw.normals(inputs);
            let y = draw.normals(outputs);
            let own: Vec<f64> = (0..outputs).map(|_| draw.uniform(0.05, 1.0)).collect();
            let seen: Vec<bool> = (0..outputs).map(|_| draw.uniform(0.0, 1.0) < 0.8).collect();
            let values = Matrix::new(y.clone(), outputs).unwrap();
            let mut observation = Observation::from(&values).seen(&seen);
            let var: Vec<f64> = match noise {
                Noise::Observation => {
                    observation = observation.noise_var(&own);
                    own.clone()
                }
                _ => (0..outputs).map(|o| std[o % std.len()].powi(2)).collect(),
            };
            let info = net.learn(&Matrix::new(x.clone(), inputs).unwrap(), observation).unwrap();
            assert_eq!((info.rows, info.capped, info.repaired), (1, 0, 0));
            for (o, filter) in filters.iter_mut().enumerate().filter(|(o, _)| seen[*o]) {
                filter.observe(&x, y[o], var[o]);
                filter.forget();
            }
            if step % 20 == 19 {
                assert_same(step, &Kalman::of(&net), &filters, 1e-12);
            }
        }
    }
}

/// With one input switched on at a time and a bias that is known, the exact posterior keeps its weights
/// independent: the network is the full filter, covariances and all.
#[test]
fn orthogonal_inputs_need_no_covariances() {
    let inputs = 6;
    let mut net = Network::builder(Shape::flat(inputs))
        .layer(Layer::linear(2))
        .prior(Prior::he().bias_var(1e-30))
        .noise_std([0.4])
        .device(Device::reference())
        .build()
        .unwrap();
    let mut filters = Kalman::of(&net);
    let mut draw = Draw::new(2);
    for step in 0..200 {
        let mut x = vec![0.0; inputs];
        x[draw.below(inputs)] = draw.uniform(0.5, 2.0);
        let y = draw.normals(2);
        net.learn(&Matrix::new(x.clone(), inputs).unwrap(), &Matrix::new(y.clone(), 2).unwrap()).unwrap();
        for (filter, y) in filters.iter_mut().zip(y) {
            filter.observe(&x, y, 0.16); // nothing forgotten
        }
        if step % 50 == 49 {
            assert_same(step, &Kalman::of(&net), &filters, 1e-12);
        }
    }
    let largest = filters.iter().flat_map(|f| &f.p).flatten().fold(0.0f64, |m, v| m.max(v.abs()));
    assert!(largest < 0.2, "the filters did learn: {largest}");
}

#[test]
fn conditioning_a_linear_network_is_gaussian_conditioning() {
    let (inputs, outputs) = (4, 3);
    let net = Network::builder(Shape::flat(inputs))
        .layer(Layer::linear(outputs))
        .seed(8)
        .device(Device::reference())
        .build()
        .unwrap();
    let prior = Draw::new(3).gaussian(1, inputs);
    let (y, noise) = (1.7, 0.05);
    let filters = Kalman::of(&net);
    for (o, f) in filters.iter().enumerate() {
        // Joint moments of x and y_o = sum w x + b with w, x, b independent.
        let (w, vw) = (&f.m, f.var());
        let (mx, vx) = (prior.mean(), prior.var());
        let mean = (0..inputs).map(|i| w[i] * mx[i]).sum::<f64>() + w[inputs];
        let second = |i: usize| (w[i] * w[i] + vw[i]) * (mx[i] * mx[i] + vx[i]);
        let var = (0..inputs).map(|i| second(i) - (w[i] * mx[i]).powi(2)).sum::<f64>() + vw[inputs];
        let cov: Vec<f64> = (0..inputs).map(|i| w[i] * vx[i]).collect();
        let expected: Vec<f64> = (0..inputs).map(|i| mx[i] + cov[i] / (var + noise) * (y - mean)).collect();
        let expected_var: Vec<f64> = (0..inputs).map(|i| vx[i] - cov[i] * cov[i] / (var + noise)).collect();
        let values = Matrix::new(vec![y; outputs], outputs).unwrap();
        let only: Vec<bool> = (0..outputs).map(|i| i == o).collect();
        let x = net.search(&prior, Wanted::from(&values).only(&only).noise_var(noise)).unwrap();
        assert!(worst(x.mean(), &expected, 1e-3) < 1e-12, "{:?} {expected:?}", x.mean());
        assert!(worst(x.var(), &expected_var, 1e-6) < 1e-12, "{:?} {expected_var:?}", x.var());
    }
}

/// Known weights, one input: k looks at the same noisy output are one look with a k-th of the noise.
#[test]
fn rounds_of_conditioning_add_up_their_precision() {
    let net = Network::builder(Shape::flat(1)).layer(Layer::linear(1)).device(Device::reference());
    let mut file = Model::of(&net.build().unwrap());
    for (name, v) in [("weight.mean", 1.5), ("weight.var", 1e-280), ("bias.mean", -0.5), ("bias.var", 1e-280)]
    {
        file.set(&format!("linear1.{name}"), &[v]);
    }
    let net = file.load(Device::reference()).unwrap();
    let prior = Gaussian::new(vec![0.3], vec![0.7], 1).unwrap();
    let y = Matrix::column(vec![2.0]).unwrap();
    let at = |rounds: usize, noise: f64| {
        net.search(&prior, Wanted::from(&y).noise_var(noise).rounds(rounds)).unwrap()
    };
    for rounds in [1, 2, 5, 50] {
        let (many, one) = (at(rounds, 0.2), at(1, 0.2 / rounds as f64));
        assert!(worst(many.mean(), one.mean(), 1e-3) < 1e-12);
        assert!(worst(many.var(), one.var(), 1e-12) < 1e-12);
    }
    // Wanted exactly, the input is what solves the equation, and certain: 1.5 x - 0.5 = 2.
    let exact = at(1, 0.0);
    assert!((exact.mean()[0] - 2.5 / 1.5).abs() < 1e-14 && exact.var()[0] < 1e-15);
}

#[test]
fn chains_of_products_have_their_exact_moments() {
    for depth in 1..6 {
        let mut net = Network::builder(Shape::flat(1)).seed(depth).device(Device::reference());
        for _ in 0..depth {
            net = net.layer(Layer::linear(1));
        }
        let net = net.build().unwrap();
        let file = Model::of(&net);
        let x = Gaussian::new(vec![0.8], vec![0.3], 1).unwrap();
        // First and second moment of h' = w h + b, all independent.
        let (mut first, mut second) = (0.8, 0.8 * 0.8 + 0.3);
        for l in 1..=depth {
            let get = |what: &str| file.get(&format!("linear{l}.{what}"))[0];
            let [w, vw, b, vb] = ["weight.mean", "weight.var", "bias.mean", "bias.var"].map(get);
            second = (w * w + vw) * second + 2.0 * w * first * b + b * b + vb;
            first = w * first + b;
        }
        let out = net.predict(&x).unwrap();
        assert!((out.mean()[0] - first).abs() < 1e-12, "{depth} layers");
        assert!((out.var()[0] - (second - first * first)).abs() < 1e-12 * second, "{depth} layers");
    }
}

/// Mean, variance and fourth central moment of a sample.
struct Sample {
    mean: f64,
    var: f64,
    fourth: f64,
    n: f64,
}

impl Sample {
    fn of(v: &[f64]) -> Self {
        let n = v.len() as f64;
        let mean = v.iter().sum::<f64>() / n;
        let central = |k: i32| v.iter().map(|x| (x - mean).powi(k)).sum::<f64>() / n;
        Sample { mean, var: central(2), fourth: central(4), n }
    }

    /// Both moments within five standard errors, besides the approximation's own error.
    fn assert_near(&self, what: &str, mean: f64, var: f64, mean_bound: f64, var_bound: f64) {
        let (off, se) = ((self.mean - mean).abs(), (self.var / self.n).sqrt());
        println!("{what}: mean z {:.2}, bound/se {:.2}", off / se, mean_bound / se);
        assert!(off < 5.0 * se + mean_bound, "{what}: mean {mean}, sampled {} +- {se}", self.mean);
        let (off, se) = ((self.var - var).abs(), ((self.fourth - self.var * self.var) / self.n).sqrt());
        println!("{what}: variance z {:.2}, bound/se {:.2}", off / se, var_bound / se);
        assert!(off < 5.0 * se + var_bound, "{what}: variance {var}, sampled {} +- {se}", self.var);
    }
}

/// Weights of one hidden layer, as a sampler draws them.
struct Two {
    mean: [Vec<f64>; 4],
    std: [Vec<f64>; 4],
}

impl Two {
    fn of(net: &Network) -> Self {
        let file = Model::of(net);
        let names = ["linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"];
        let get = |part: &'static str| names.map(|n| file.get(&format!("{n}.{part}")));
        Two { mean: get("mean"), std: get("var").map(|v| v.iter().map(|v| v.sqrt()).collect()) }
    }

    /// Output 0 for one draw of all weights and of the input.
    fn draw(&self, x: &Gaussian, f: impl Fn(f64) -> f64, draw: &mut Draw) -> f64 {
        let x: Vec<f64> = x.mean().iter().zip(x.std()).map(|(m, s)| m + s * draw.normal()).collect();
        let hidden = self.mean[1].len();
        let mut of = |part: usize, i: usize| self.mean[part][i] + self.std[part][i] * draw.normal();
        let mut out = of(3, 0);
        for h in 0..hidden {
            let mut z = of(1, h);
            for (i, x) in x.iter().enumerate() {
                z += of(0, h * x_len(self) + i) * x;
            }
            out += of(2, h) * f(z);
        }
        out
    }
}

fn x_len(two: &Two) -> usize {
    two.mean[0].len() / two.mean[1].len()
}

const DRAWS: usize = 1_000_000;

/// One hidden layer and a known input: pre-activations are Gaussian and independent, and the mixture ReLU has
/// their exact moments, so the prediction is exact. No allowance beyond five standard errors.
#[test]
fn a_hidden_layer_of_mixture_relus_is_exact_by_monte_carlo() {
    let net = Network::mlp([2, 3, 1], Activation::MixtureRelu).seed(4).device(Device::reference());
    let net = net.build().unwrap();
    let x = Gaussian::new(vec![0.7, -1.1], vec![0.0; 2], 2).unwrap();
    let two = Two::of(&net);
    let mut draw = Draw::new(5);
    let sample: Vec<f64> = (0..DRAWS).map(|_| two.draw(&x, |z| z.max(0.0), &mut draw)).collect();
    let out = net.predict(&x).unwrap();
    Sample::of(&sample).assert_near("mixture ReLU", out.mean()[0], out.var()[0], 0.0, 0.0);
    // The linearised ReLU is not: the same test must be able to fail.
    let mut file = Model::of(&net);
    let spec = file.metadata["spec"].replace("mixture_relu", "relu");
    file.metadata.insert("spec".into(), spec);
    let linearised = file.load(Device::reference()).unwrap().predict(&x).unwrap();
    assert!((linearised.var()[0] / out.var()[0] - 1.0).abs() > 0.05);
}

/// As above with an uncertain input, each hidden unit looking at an input of its own through a weight that is
/// known: again independent Gaussians.
#[test]
fn uncertain_inputs_are_exact_by_monte_carlo() {
    let net = Network::mlp([3, 3, 1], Activation::MixtureRelu).seed(6).device(Device::reference());
    let mut file = Model::of(&net.build().unwrap());
    file.set("linear1.weight.mean", &[1.2, 0.0, 0.0, 0.0, -0.7, 0.0, 0.0, 0.0, 0.4]);
    file.set("linear1.weight.var", &[1e-280; 9]);
    let net = file.load(Device::reference()).unwrap();
    let x = Gaussian::new(vec![0.3, 0.5, -1.0], vec![0.5, 1.0, 2.0], 3).unwrap();
    let two = Two::of(&net);
    let mut draw = Draw::new(7);
    let sample: Vec<f64> = (0..DRAWS).map(|_| two.draw(&x, |z| z.max(0.0), &mut draw)).collect();
    let out = net.predict(&x).unwrap();
    Sample::of(&sample).assert_near("uncertain input", out.mean()[0], out.var()[0], 0.0, 0.0);
}

/// tanh is linearised at the mean. With r the remainder, |r| <= c d^2, c = max |tanh''|/2 = 2/(3 sqrt 3), and
/// d ~ N(0, S): |E r| <= c S, |cov(d, r)| <= sqrt(S E r^2) <= sqrt(3) c S^1.5 and var r <= 3 c^2 S^2. Through
/// the output weights (mean w, variance v) the mean is off by at most sum |w| c S, the variance by at most
/// sum (w^2 + v)(2 sqrt(3) c S^1.5 + 3 c^2 S^2) + v (2 c S + c^2 S^2), as |tanh| and its slope are at most 1.
#[test]
fn tanh_is_within_its_linearisation_by_monte_carlo() {
    let prior = Prior::he().gain(0.01);
    let net = Network::mlp([2, 3, 1], Activation::Tanh).prior(prior).seed(9).device(Device::reference());
    let mut file = Model::of(&net.build().unwrap());
    let ten = |v: Vec<f64>| v.iter().map(|v| 10.0 * v).collect::<Vec<_>>();
    for name in ["linear1.weight.mean", "linear2.weight.mean"] {
        let values = ten(file.get(name));
        file.set(name, &values);
    }
    let net = file.load(Device::reference()).unwrap();
    let x = Gaussian::new(vec![0.4, -0.9], vec![0.0; 2], 2).unwrap();
    let two = Two::of(&net);
    let hidden =
        net.search(&x, Wanted::from(&Matrix::column(vec![0.0]).unwrap()).only(&[false]).layer("linear1"));
    let c = 2.0 / (3.0 * 3f64.sqrt());
    let (mut mean_bound, mut var_bound) = (0.0, 0.0);
    for (h, s) in hidden.unwrap().var().iter().enumerate() {
        let (w, v) = (two.mean[2][h], two.std[2][h].powi(2));
        mean_bound += w.abs() * c * s;
        var_bound += (w * w + v) * (2.0 * 3f64.sqrt() * c * s.powf(1.5) + 3.0 * c * c * s * s)
            + v * (2.0 * c * s + c * c * s * s);
    }
    let mut draw = Draw::new(10);
    let sample: Vec<f64> = (0..DRAWS).map(|_| two.draw(&x, f64::tanh, &mut draw)).collect();
    let out = net.predict(&x).unwrap();
    assert!(var_bound < 0.5 * out.var()[0], "the bound says something: {var_bound}, {}", out.var()[0]);
    Sample::of(&sample).assert_near("tanh", out.mean()[0], out.var()[0], mean_bound, var_bound);
}

/// T25: the statistics of a batch are those of one draw from a row chosen at random. T26: what comes out is
/// scale times the standardised input plus shift, all independent.
#[test]
fn batch_norm_statistics_by_monte_carlo() {
    let mut net = Network::builder(Shape::image(2, 1, 2))
        .layer(Layer::BatchNorm { momentum: 0.0, epsilon: 1e-3 })
        .device(Device::reference())
        .build()
        .unwrap();
    let (rows, mut draw) = (3, Draw::new(11));
    let x = draw.gaussian(rows, 4);
    // Nothing is seen, so that only the running statistics move: with momentum 0, to the batch's own.
    let y = Matrix::new(vec![0.0; 4 * rows], 4).unwrap();
    net.learn(&x, Observation::from(&y).seen(&vec![false; 4 * rows])).unwrap();
    let file = Model::of(&net);
    let (mean, var) = (file.get("batch_norm1.running.mean"), file.get("batch_norm1.running.var"));
    let std = x.std();
    for channel in 0..2 {
        let sample: Vec<f64> = (0..DRAWS)
            .map(|_| {
                let unit = draw.below(rows) * 4 + channel * 2 + draw.below(2);
                x.mean()[unit] + std[unit] * draw.normal()
            })
            .collect();
        Sample::of(&sample).assert_near("statistics", mean[channel], var[channel], 0.0, 0.0);
    }
    let get = |part: &str| file.get(&format!("batch_norm1.{part}"));
    let [w, vw, b, vb] = ["weight.mean", "weight.var", "bias.mean", "bias.var"].map(get);
    let out = net.predict(&x).unwrap();
    for unit in [0, 3, 6] {
        let c = unit % 4 / 2;
        let sample: Vec<f64> = (0..DRAWS)
            .map(|_| {
                let x = (x.mean()[unit] + std[unit] * draw.normal() - mean[c]) / (var[c] + 1e-3).sqrt();
                (w[c] + vw[c].sqrt() * draw.normal()) * x + b[c] + vb[c].sqrt() * draw.normal()
            })
            .collect();
        Sample::of(&sample).assert_near("output", out.mean()[unit], out.var()[unit], 0.0, 0.0);
    }
}

#[test]
fn class_probabilities() {
    for classes in (2..=17).chain([100, 1000]) {
        let tree = Tree::new(classes).unwrap();
        let n = tree.nodes();
        let check = |p: &[f64], what: &str| {
            assert_eq!(p.len(), classes);
            assert!(p.iter().all(|p| (0.0..=1.0).contains(p)), "{classes} classes, {what}: {p:?}");
            let sum = p.iter().sum::<f64>();
            assert!((sum - 1.0).abs() < 1e-12, "{classes} classes, {what}: {sum}");
        };
        // Nothing known: every class has the same number of turns, each a half.
        let p = tree.probabilities(&vec![0.0; n], &vec![1.0; n]);
        check(&p, "nothing known");
        assert!(worst(&p, &vec![1.0 / classes as f64; classes], 0.0) < 1e-12);
        // A path that was learned wins, and by as much as it is certain.
        for class in (0..classes).step_by(1 + classes / 50) {
            let (mut sure, mut vague) = (vec![0.0; n], vec![0.0; n]);
            for (node, turn) in tree.path(class) {
                (sure[node], vague[node]) = (turn, 0.1 * turn);
            }
            let p = tree.probabilities(&sure, &vec![0.01; n]);
            check(&p, "sure");
            let best = (0..classes).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap();
            assert_eq!(best, class);
            assert!(p[class] > 0.9, "{classes} classes: {}", p[class]);
            let q = tree.probabilities(&vague, &vec![0.01; n]);
            check(&q, "vague");
            assert!(q[class] < p[class] && q.iter().all(|other| *other <= q[class]));
        }
        // Mirrored means are mirrored classes, where the tree is full.
        if classes.is_power_of_two() {
            let (p, q) = (
                tree.probabilities(&vec![0.4; n], &vec![0.2; n]),
                tree.probabilities(&vec![-0.4; n], &vec![0.2; n]),
            );
            let mirrored: Vec<f64> = q.into_iter().rev().collect();
            assert!(worst(&p, &mirrored, 0.0) < 1e-12);
        }
        for mean in [1e6, -1e6, 1e30, -1e30, 1e300, -1e300] {
            for var in [0.0, 1e-30, 1.0, 1e30] {
                let what = format!("mean {mean}, variance {var}");
                check(&tree.probabilities(&vec![mean; n], &vec![var; n]), &what);
                let turns: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { mean } else { -mean }).collect();
                check(&tree.probabilities(&turns, &vec![var; n]), &what);
            }
        }
    }
}

/// T27 by hand: three classes are the leaves 00, 01 and 10 of a tree with a node for 1x.
#[test]
fn three_classes_by_hand() {
    let cdf = |x: f64| 0.5 * libm::erfc(-x / 2f64.sqrt());
    let turn = |m: f64, v: f64| cdf(m / (1.0f64 / 9.0 + v).sqrt());
    let (m, v) = ([0.3, -0.2, 0.5], [0.1, 0.4, 0.9]);
    let left = turn(m[0], v[0]);
    let raw = [left * turn(m[1], v[1]), left * (1.0 - turn(m[1], v[1])), (1.0 - left) * turn(m[2], v[2])];
    let sum: f64 = raw.iter().sum();
    let p = Tree::new(3).unwrap().probabilities(&m, &v);
    assert!(worst(&p, &raw.map(|r| r / sum), 0.0) < 1e-13);
}
