//! Learning through batch normalisation: the way back is the gradient of what is computed, and files made before keep their prior.

use crate::cases::{Draw, Model};
use serde_json::json;
use tractable::network::{NetworkBuilder, Observation, UpdateRule};
use tractable::{Activation, Device, Layer, Matrix, Network, Noise, Shape};

const ROWS: usize = 6;
const NOISE: f64 = 0.3;

/// Its running statistics are those of the last batch.
fn norm() -> Layer {
    Layer::BatchNorm { momentum: 0.0, epsilon: 1e-3 }
}

/// Both orders of a block, a normalisation of what another layer reads too, and one of the input.
fn nets() -> [(&'static str, NetworkBuilder); 4] {
    let image = || Network::builder(Shape::image(2, 4, 3));
    let conv = || Layer::conv2d(3, 3).padding(1);
    [
        (
            "normalised, then activated",
            image()
                .layer(conv())
                .layer(norm())
                .layer(Activation::Tanh)
                .layer(conv())
                .layer(norm())
                .layer(Activation::Softplus)
                .layer(Layer::avg_pool2d(2))
                .layer(Layer::linear(2)),
        ),
        (
            "activated, then normalised",
            image()
                .layer(conv())
                .layer(Activation::Tanh)
                .layer(norm())
                .layer(conv())
                .layer(Activation::Softplus)
                .layer(norm())
                .layer(Layer::linear(2)),
        ),
        (
            "branches",
            image()
                .layer(conv())
                .layer(norm())
                .layer(Activation::Tanh)
                .layer(conv())
                .layer(Layer::Add.of(["conv1", "conv2"]))
                .layer(norm())
                .layer(Layer::linear(2)),
        ),
        ("the input and the output", image().layer(norm()).layer(conv()).layer(norm())),
    ]
}

/// A network whose parameters are as good as known: all innovations are gradients.
fn known(net: NetworkBuilder) -> Model {
    let net = net
        .device(Device::reference())
        .noise(Noise::Known)
        .noise_std([NOISE.sqrt()])
        .update_rule(UpdateRule::Plain);
    let mut model = Model::of(&net.seed(3).build().unwrap());
    let mut draw = Draw::new(4);
    for name in model.tensors.keys().cloned().collect::<Vec<_>>() {
        let n = model.get(&name).len();
        if name.ends_with("weight.var") || name.ends_with("bias.var") {
            model.set(&name, &vec![1e-30; n]);
        } else if name.starts_with("batch_norm") && name.ends_with("weight.mean") {
            // Channels of other sizes and signs.
            model.set(&name, &(0..n).map(|_| 1.0 + 0.8 * draw.normal()).collect::<Vec<_>>());
        }
    }
    model
}

/// What is computed while learning: running statistics become those of the batch if nothing is seen.
fn ln_likelihood(model: &Model, x: &Matrix, y: &Matrix) -> f64 {
    let mut net = model.load(Device::reference()).unwrap();
    let nothing = vec![false; y.data().len()];
    net.learn(x, Observation::from(y).seen(&nothing)).unwrap();
    let out = net.predict(x).unwrap();
    out.mean().iter().zip(y.data()).map(|(m, y)| -(y - m).powi(2) / (2.0 * NOISE)).sum()
}

/// The sums of a batch for the means of every tensor: first those of the weights of a layer, their variances', and the same of its biases.
fn sums(net: &Network, x: &Matrix, y: &Matrix) -> Vec<f64> {
    let mut sums = net.sums();
    net.accumulate(x, y, &mut sums).unwrap();
    let bytes = net.sums_to_bytes(&sums).unwrap();
    bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
}

/// T73, and everything below it.
#[test]
fn innovations_are_gradients_in_every_order_of_layers() {
    for (what, net) in nets() {
        let model = known(net);
        let net = model.load(Device::reference()).unwrap();
        let mut draw = Draw::new(5);
        let x = draw.matrix(ROWS, 24);
        let y = draw.matrix(ROWS, net.output().units());
        let all = sums(&net, &x, &y);
        // They are the last numbers, layer by layer.
        let named = net.layer_names().iter().flat_map(|layer| {
            ["weight.mean", "weight.var", "bias.mean", "bias.var"].map(|part| format!("{layer}.{part}"))
        });
        let names: Vec<String> = named.filter(|name| model.tensors.contains_key(name)).collect();
        let mut at = all.len() - names.iter().map(|name| model.get(name).len()).sum::<usize>();
        let mut checked = 0;
        for name in names {
            let mean = model.get(&name);
            let of_tensor = &all[at..at + mean.len()];
            at += mean.len();
            if name.ends_with("var") {
                continue;
            }
            let size = all.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            for i in (0..mean.len()).step_by(mean.len().div_ceil(6)) {
                let value = |off: f64| {
                    let (mut model, mut mean) = (model.clone(), mean.clone());
                    mean[i] += off;
                    model.set(&name, &mean);
                    ln_likelihood(&model, &x, &y)
                };
                let slope = |h: f64| (value(h) - value(-h)) / (2.0 * h);
                let slope = (4.0 * slope(5e-4) - slope(1e-3)) / 3.0;
                let off = (of_tensor[i] - slope).abs() / size;
                assert!(off < 1e-8, "{what}, {name}, entry {i}: {} {slope}, off by {off:e}", of_tensor[i]);
                checked += 1;
            }
        }
        assert!(checked > 15, "{what}: {checked}");
    }
}

/// One value of a channel has no statistics of its own: the running ones are constants, as in a prediction.
#[test]
fn one_row_goes_back_through_running_statistics() {
    let net = Network::builder(Shape::flat(2)).layer(Layer::linear(3)).layer(Layer::batch_norm());
    let net = net.layer(Layer::linear(1)).device(Device::reference()).seed(2).build().unwrap();
    let (x, y) = (Matrix::new(vec![0.3, -0.7], 2).unwrap(), Matrix::column(vec![0.5]).unwrap());
    let (mut learned, mut twice) = (net.try_clone().unwrap(), net.try_clone().unwrap());
    learned.learn(&x, &y).unwrap();
    // Two rows that are the same have statistics, and all that moves both moves their mean: nothing is learned below.
    let both = |m: &Matrix| Matrix::new([m.data(), m.data()].concat(), m.width()).unwrap();
    twice.learn(&both(&x), &both(&y)).unwrap();
    let of = |net: &Network| Model::of(net).get("linear1.weight.mean");
    assert_ne!(of(&learned), of(&net));
    let off = of(&twice).iter().zip(of(&net)).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
    assert!(off < 1e-12, "{off}");
}

#[test]
fn the_scale_of_an_older_file_keeps_its_prior() {
    let net = || Network::builder(Shape::flat(2)).layer(Layer::linear(3)).layer(Layer::batch_norm());
    for device in [Device::reference(), Device::cpu(1)] {
        let now = net().device(&device).update_rule(UpdateRule::counted(10)).build().unwrap();
        let mut file = Model::of(&now);
        assert_eq!(file.spec()["scale_var"], json!(0.01));
        assert_eq!(file.get("batch_norm1.weight.var"), [f64::from(0.01f32); 3]);
        let forgotten = |model: &Model| {
            let mut net = model.load(device.clone()).unwrap();
            net.forget(1.0).unwrap();
            Model::of(&net).get("batch_norm1.weight.var")
        };
        assert_eq!(forgotten(&file), [f64::from(0.01f32); 3]);
        let mut spec = file.spec();
        spec.as_object_mut().unwrap().remove("scale_var");
        file.set_spec(&spec);
        assert_eq!(forgotten(&file), [1.0; 3]);
        assert!(Model::of(&file.load(device.clone()).unwrap()).spec().get("scale_var").is_none());
        for wrong in [0.0, -1.0, 1e300] {
            spec["scale_var"] = json!(wrong);
            file.set_spec(&spec);
            let said = file.load(device.clone()).unwrap_err().to_string();
            assert!(said.contains("beyond single precision"), "{said}");
        }
    }
    // Networks without a normalisation have files as before.
    let plain = Network::mlp([2, 3, 1], Activation::Relu).build().unwrap();
    assert!(Model::of(&plain).spec().get("scale_var").is_none());
}
