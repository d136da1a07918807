//! Derivatives with uncertainty, against networks of plain numbers that are differentiated exactly.

mod curves;
mod exact;
mod refusals;
mod sampled;
mod stationary;

use crate::cases::{Draw, Model, worst};
use tractable::{
    Activation, Device, Layer, Network, Shape, Wanted,
    condition::{Gate, Wrt},
    network::NetworkBuilder,
};

const LEAKY: Activation = Activation::LeakyRelu { slope: 0.1 };
const ALL: [Activation; 7] = [
    Activation::Identity,
    Activation::Relu,
    LEAKY,
    Activation::Tanh,
    Activation::Sigmoid,
    Activation::Softplus,
    Activation::MixtureRelu,
];

/// A dense network: one activation between two layers and so on, and one more on the output if there are as many as
/// layers.
fn dense(widths: &[usize], activations: &[Activation]) -> NetworkBuilder {
    let mut net = Network::builder(Shape::flat(widths[0]));
    for (i, &width) in widths[1..].iter().enumerate() {
        net = net.layer(Layer::linear(width));
        net = activations.get(i).map_or(net.clone(), |&f| net.layer(f));
    }
    net
}

/// The same means, other variances, on the device that computes in f64.
fn with_var(net: NetworkBuilder, var: f64) -> Network {
    let mut file = Model::of(&net.device(Device::reference()).build().unwrap());
    for name in file.tensors.keys().cloned().collect::<Vec<_>>() {
        if name.ends_with(".var") {
            let n = file.get(&name).len();
            file.set(&name, &vec![var; n]);
        }
    }
    file.load(Device::reference()).unwrap()
}

/// Weights that are as good as known.
fn known(net: NetworkBuilder) -> Network {
    with_var(net, 1e-280)
}

/// Names of the input and of every layer.
fn places(net: &Network) -> Vec<String> {
    ["input".to_string()].into_iter().chain(net.layer_names().iter().cloned()).collect()
}

/// Value, first and second derivative along one direction.
type Jet = [f64; 3];

fn jet_of(f: Activation, [z, d, e]: Jet) -> Jet {
    let s = 1.0 / (1.0 + (-z).exp());
    let step = if z > 0.0 { 1.0 } else { 0.0 };
    let (value, slope, bend) = match f {
        Activation::Identity => (z, 1.0, 0.0),
        Activation::Relu | Activation::MixtureRelu => (z * step, step, 0.0),
        Activation::LeakyRelu { slope } => (z.max(slope * z), step + (1.0 - step) * slope, 0.0),
        Activation::Tanh => (z.tanh(), z.cosh().powi(-2), -2.0 * z.tanh() * z.cosh().powi(-2)),
        Activation::Sigmoid => (s, s * (1.0 - s), s * (1.0 - s) * (1.0 - 2.0 * s)),
        Activation::Softplus => (z.exp().ln_1p(), s, s * (1.0 - s)),
    };
    [value, slope * d, bend * d * d + slope * e]
}

/// One layer of plain numbers.
#[derive(Clone)]
enum Part {
    /// Weights `[out, in]` and biases, with their standard deviations.
    Linear {
        w: [Vec<f64>; 2],
        b: [Vec<f64>; 2],
    },
    Activation(Activation),
}

/// A network of plain numbers.
#[derive(Clone)]
struct Plain(Vec<Part>);

impl Plain {
    /// The means of a network.
    fn of(net: &Network, activations: &[Activation]) -> Self {
        let mut activations = activations.iter();
        let part = |name: &String| match net.weights(name).unwrap() {
            None => Part::Activation(*activations.next().unwrap()),
            Some((w, b)) => {
                let std = |v: &[f64]| v.iter().map(|v| v.sqrt()).collect();
                Part::Linear { w: [w.mean().to_vec(), std(w.var())], b: [b.mean().to_vec(), std(b.var())] }
            }
        };
        Plain(net.layer_names().iter().map(part).collect())
    }

    /// Weights drawn from their distributions.
    fn sample(&self, draw: &mut Draw) -> Self {
        let mut any = |[mean, std]: &[Vec<f64>; 2]| {
            [mean.iter().zip(std).map(|(m, s)| m + s * draw.normal()).collect(), Vec::new()]
        };
        let part = |part: &Part| match part {
            Part::Linear { w, b } => Part::Linear { w: any(w), b: any(b) },
            &Part::Activation(f) => Part::Activation(f),
        };
        Plain(self.0.iter().map(part).collect())
    }

    /// From the state `from` to the state `to`, the last one excluded from being computed on.
    fn run(&self, from: usize, to: usize, mut x: Vec<Jet>) -> Vec<Jet> {
        for part in &self.0[from..to] {
            x = match part {
                Part::Linear { w: [w, _], b: [b, _] } => {
                    let sum = |(w, &b): (&[f64], &f64)| {
                        w.iter().zip(&x).fold([b, 0.0, 0.0], |s, (w, x)| {
                            [s[0] + w * x[0], s[1] + w * x[1], s[2] + w * x[2]]
                        })
                    };
                    w.chunks(x.len()).zip(b).map(sum).collect()
                }
                &Part::Activation(f) => x.iter().map(|&x| jet_of(f, x)).collect(),
            };
        }
        x
    }

    /// First and second derivative of an output by every unit of a state.
    fn derivatives(&self, x: &[f64], at: usize, output: usize) -> [Vec<f64>; 2] {
        let at_state = self.run(0, at, x.iter().map(|&x| [x, 0.0, 0.0]).collect());
        let by = |unit: usize| {
            let mut start = at_state.clone();
            start[unit][1] = 1.0;
            self.run(at, self.0.len(), start)[output]
        };
        let jets: Vec<Jet> = (0..at_state.len()).map(by).collect();
        [1, 2].map(|k| jets.iter().map(|j| j[k]).collect())
    }
}

#[test]
fn jets_are_derivatives() {
    for f in ALL {
        for z in [-2.1, -0.4, 0.3, 1.7] {
            let at = |z: f64| jet_of(f, [z, 1.0, 0.0]);
            let h = 1e-5;
            let [_, first, second] = at(z);
            for (k, exact) in [(0, first), (1, second)] {
                let difference = (at(z + h)[k] - at(z - h)[k]) / (2.0 * h);
                assert!((difference - exact).abs() < 1e-9, "{f:?} at {z}");
            }
        }
    }
}

/// Layers wide enough for several tasks on several threads, curved and straight in turn.
fn large() -> Vec<NetworkBuilder> {
    use Activation::*;
    vec![
        dense(&[23, 128, 128, 128, 1], &[Tanh, Relu, Relu]),
        dense(&[33, 131, 97, 65, 3], &[Tanh, Sigmoid, MixtureRelu, Softplus]),
        dense(&[5, 65, 3, 31, 2], &[Softplus, Identity, LEAKY]),
    ]
}

#[test]
fn the_same_bits_for_any_number_of_threads_and_for_a_batch_and_its_rows() {
    for (i, builder) in large().into_iter().enumerate() {
        let net = |threads| builder.clone().seed(4).device(Device::cpu(threads)).build().unwrap();
        let one = net(1);
        let x = Draw::new(5).gaussian(37, one.input().len());
        for gate in [Gate::Both, Gate::Input] {
            let wrt = Wrt::input().output(0).gate(gate);
            let wanted = Wanted::maximum().output(0).gate(gate).rounds(2);
            let all = one.derivative(&x, wrt).unwrap();
            let moved = one.search(&x, wanted).unwrap();
            for threads in [2, 3, 8] {
                let net = net(threads);
                assert!(net.derivative(&x, wrt).unwrap() == all, "network {i}, {threads} threads");
                assert!(net.search(&x, wanted).unwrap() == moved, "network {i}, {threads} threads");
            }
            let width = x.width();
            for rows in [1, 2, 3, 4, 5, 7, 36] {
                for from in (0..x.rows()).step_by(rows) {
                    let here = from * width..x.rows().min(from + rows) * width;
                    let (mean, var) = (x.mean()[here.clone()].to_vec(), x.var()[here.clone()].to_vec());
                    let part = tractable::Gaussian::new(mean, var, width).unwrap();
                    let d = one.derivative(&part, wrt).unwrap();
                    assert_eq!(d.mean(), &all.mean()[here.clone()], "network {i}, {rows} rows");
                    assert_eq!(d.var(), &all.var()[here.clone()], "network {i}, {rows} rows");
                    assert_eq!(d.cov(), &all.cov()[here.clone()], "network {i}, {rows} rows");
                    let after = one.search(&part, wanted).unwrap();
                    assert_eq!(after.mean(), &moved.mean()[here], "network {i}, {rows} rows");
                }
            }
        }
    }
}

#[test]
fn the_devices_agree() {
    for (i, builder) in large().into_iter().enumerate() {
        let net =
            |device| builder.clone().prior(tractable::Prior::he().gain(0.1)).device(&device).build().unwrap();
        let (fast, exact) = (net(Device::cpu(2)), net(Device::reference()));
        let x = Draw::new(6).gaussian(9, exact.input().len());
        for place in places(&exact) {
            let wrt = Wrt::from(&place[..]).output(0);
            let (a, b) = (fast.derivative(&x, wrt).unwrap(), exact.derivative(&x, wrt).unwrap());
            for (what, a, b) in
                [("mean", a.mean(), b.mean()), ("var", a.var(), b.var()), ("cov", a.cov(), b.cov())]
            {
                let scale = b.iter().fold(1e-30, |m: f64, v| m.max(v.abs()));
                let off = worst(a, b, scale);
                assert!(off < 1e-4, "network {i} by {place}: {what} off by {off:e}");
            }
            let second = |net: &Network| net.second_derivative(&x, wrt).unwrap();
            let (a, b) = (second(&fast), second(&exact));
            let scale = b.data().iter().fold(1e-30, |m: f64, v| m.max(v.abs()));
            assert!(worst(a.data(), b.data(), scale) < 1e-4, "network {i} by {place}: second derivative");
        }
    }
}

/// A path whose two slopes move against each other, below thirty branches that add up: the covariance, which sees their
/// sum, outweighs the variance, which sees them one by one.
#[test]
fn a_variance_below_zero_is_zero() {
    let mut file = Model::of(&known(dense(&[1, 1, 1, 1, 30, 1], &[Activation::Tanh; 4])));
    for (layer, weight, bias) in [(1, 1.0, 0.3), (2, 2.0, -2.0), (3, 0.1, 0.0), (4, 0.1, 0.0), (5, 0.1, 0.0)]
    {
        for (part, value) in [("weight", weight), ("bias", bias)] {
            let name = format!("linear{layer}.{part}.mean");
            let n = file.get(&name).len();
            file.set(&name, &vec![value; n]);
        }
        for part in ["weight", "bias"] {
            let name = format!("linear{layer}.{part}.var");
            let n = file.get(&name).len();
            file.set(&name, &vec![1e-30; n]);
        }
    }
    let x = tractable::Gaussian::new(vec![0.0], vec![0.01], 1).unwrap();
    for device in [Device::reference(), Device::cpu(1)] {
        let net = file.load(device.clone()).unwrap();
        assert_eq!(net.derivative(&x, "linear1").unwrap().var(), [0.0], "{device:?}");
        assert!(net.derivative(&x, "input").unwrap().var()[0] >= 0.0, "{device:?}");
    }
}
