//! Residual networks by name: their shapes and sizes, what small ones learn, and convolutions without biases.

use crate::cases::{Batch, Draw, Model, bytes, teach, worst};
use serde_json::json;
use tractable::data;
use tractable::network::{Head, NetworkBuilder, Output, UpdateRule};
use tractable::{Activation, Device, Fit, Gaussian, Layer, Matrix, Network, Shape, recipes};

/// Parameters as the usual implementations have them. ResNet-20 is that with projections (option B); option A has 2,752 fewer.
#[test]
fn parameters_are_those_that_are_known() {
    let cifar = Shape::image(3, 32, 32);
    for (net, parameters) in [
        (recipes::resnet18(cifar, 10), 11_173_962),
        (recipes::resnet20(cifar, 10), 269_722 + 2_752),
        (recipes::wrn_16_4(cifar, 10), 2_748_890),
        (recipes::resnet18(cifar, 100), 11_173_962 + 90 * 513),
    ] {
        let net = net.build().unwrap();
        assert_eq!(net.parameters(), parameters);
        assert!(matches!(net.output(), Output::Classes { head: Head::Softmax, .. }));
    }
}

/// A network by name, for a shape and a number of classes.
type Named = (&'static str, fn(Shape, usize) -> NetworkBuilder);

fn small() -> [Named; 3] {
    [
        ("resnet18", |shape, classes| recipes::resnet18_of(8, shape, classes)),
        ("resnet20", |shape, classes| recipes::resnet20_of(8, shape, classes)),
        ("wrn", |shape, classes| recipes::wrn_of(8, 1, shape, classes)),
    ]
}

#[test]
fn images_of_any_shape_are_read_and_all_of_them_counts() {
    for (name, build) in small() {
        for shape in
            [Shape::image(1, 8, 8), Shape::image(2, 5, 7), Shape::image(3, 1, 1), Shape::image(1, 16, 24)]
        {
            let net = build(shape, 3).device(Device::cpu(1)).build().unwrap();
            let x = Draw::new(1).matrix(2, shape.len());
            let p = net.predict_classes(&x).unwrap();
            assert_eq!((p.rows(), p.width()), (2, 3), "{name}, {shape}");
            let mut other = x.row(0).to_vec();
            *other.last_mut().unwrap() += 3.0;
            let other = net.predict_classes(&Matrix::new(other, shape.len()).unwrap()).unwrap();
            assert_ne!(p.row(0), other.row(0), "{name}, {shape}: the last pixel");
        }
    }
}

/// Not as good as they can be, but far better than chance (an error of 0.9).
#[test]
fn small_ones_learn_digits() {
    let (train, test) = (data::digits(1200, 1).unwrap(), data::digits(200, 2).unwrap());
    let shrink = |images: &data::Images| {
        let all = images.matrix(0..images.len()).unwrap();
        let side = images.shape().width;
        let cell = |row: &[f64], i: usize| {
            let (y, x) = (i / (side / 2) * 2, i % (side / 2) * 2);
            [0, 1, side, side + 1].iter().map(|at| row[y * side + x + at]).sum::<f64>() / 4.0
        };
        let n = (side / 2) * (side / 2);
        let pixels =
            (0..all.rows()).flat_map(|r| (0..n).map(move |i| (r, i))).map(|(r, i)| cell(all.row(r), i));
        (Matrix::new(pixels.collect(), n).unwrap(), images.labels())
    };
    let ((x, labels), (new, truth)) = (shrink(&train), shrink(&test));
    let names = (0..10).map(|i| i.to_string()).collect();
    let learned = data::Dataset::with_labels(x, labels, names).unwrap();
    for (name, build) in small() {
        let mut net = build(Shape::image(1, 14, 14), 10).seed(1).build().unwrap();
        net.fit(&learned, &Fit::new().epochs(2).batch(32)).unwrap();
        let p = net.predict_classes(&new).unwrap();
        let error = tractable::metrics::error_rate(p.data(), &truth).unwrap();
        assert!(error < 0.3, "{name}: {error}");
        let read = Network::from_bytes(&net.to_bytes().unwrap(), Device::default()).unwrap();
        assert_eq!(read.predict_classes(&new).unwrap(), p, "{name}");
    }
}

fn without_biases() -> NetworkBuilder {
    Network::builder(Shape::image(2, 5, 5))
        .layer(Layer::conv2d(4, 3).without_bias())
        .layer(Activation::Relu)
        .layer(Layer::conv2d(3, 3).padding(1).without_bias())
        .layer(Activation::MixtureRelu)
        .layer(Layer::linear(2))
        .noise_std([0.5])
}

/// Whatever is learned, forgotten, merged, saved or set: there are none.
#[test]
fn biases_that_are_not_there_stay_away() {
    for device in [Device::reference(), Device::cpu(1), Device::cpu(3)] {
        for rule in [UpdateRule::Capped, UpdateRule::Plain, UpdateRule::counted(100)] {
            let mut net = without_biases().update_rule(rule).device(&device).build().unwrap();
            assert_eq!(net.parameters(), 4 * 18 + 3 * 36 + 2 * (27 + 1));
            let none = |net: &Network| {
                for layer in ["conv1", "conv2"] {
                    let (_, biases) = net.weights(layer).unwrap().unwrap();
                    assert!(biases.mean().iter().chain(biases.var()).all(|v| v.to_bits() == 0), "{biases:?}");
                }
            };
            none(&net);
            let mark = net.mark().unwrap();
            teach(&mut net, 5, 4, 1);
            none(&net);
            let mut batch = Batch::new(&net, 1, &mut Draw::new(2));
            net.learn_one(&batch.x, batch.seen()).unwrap();
            none(&net);
            let increment = net.since(&mark).unwrap();
            assert!(mark.surprise(&increment).unwrap().is_finite());
            net.merge(&mark, &[increment]).unwrap();
            none(&net);
            net.forget(0.5).unwrap();
            net.discount(1.5).unwrap();
            none(&net);
            let file = Model::of(&net);
            assert!(!file.tensors.keys().any(|name| name.starts_with("conv") && name.contains("bias")));
            assert_eq!(file.spec()["layers"][0]["bias"], json!(false));
            assert!(file.spec()["layers"][4].get("bias").is_none());
            let mut again = file.load(device.clone()).unwrap();
            assert_eq!(bytes(&again), bytes(&net));
            batch = Batch::new(&net, 7, &mut Draw::new(3));
            for net in [&mut again, &mut net] {
                net.learn(&batch.x, batch.seen()).unwrap();
            }
            assert_eq!(bytes(&again), bytes(&net));
        }
    }
    let mut net = without_biases().build().unwrap();
    let (weights, biases) = net.weights("conv1").unwrap().unwrap();
    net.set_weights("conv1", &weights, &biases).unwrap();
    let some = Gaussian::new(vec![0.0; 4], vec![0.1; 4], 4).unwrap();
    assert!(net.set_weights("conv1", &weights, &some).unwrap_err().to_string().contains("no biases"));
}

/// The same as biases that are known to be 0: the others learn the same.
#[test]
fn the_devices_agree_without_biases() {
    let learned = |device: Device| {
        let mut net = without_biases().device(device).build().unwrap();
        teach(&mut net, 3, 4, 5);
        let x = Draw::new(6).gaussian(3, 50);
        let (out, found) = (net.predict(&x).unwrap(), net.search(&x, &Matrix::new(vec![0.1; 6], 2).unwrap()));
        [out.mean().to_vec(), out.var().to_vec(), found.unwrap().mean().to_vec()]
    };
    let (ours, expected) = (learned(Device::cpu(2)), learned(Device::reference()));
    for (ours, expected) in ours.iter().zip(&expected) {
        assert!(worst(ours, expected, 0.1) < 1e-4);
    }
}

#[test]
fn files_with_biases_that_are_not_there_are_refused() {
    let net = without_biases().build().unwrap();
    let refused = |file: &Model, what: &str| {
        let e = file.load(Device::cpu(1)).unwrap_err().to_string();
        assert!(e.contains(what), "{e}");
    };
    // Tensors that no layer has.
    let mut file = Model::of(&net);
    let zeros = (safetensors::Dtype::F32, vec![4], vec![0; 16]);
    file.tensors.insert("conv1.bias.mean".into(), zeros);
    refused(&file, "does not belong to any layer");
    // A layer that has them, but not in the file.
    let mut file = Model::of(&net);
    let mut spec = file.spec();
    spec["layers"][0]["bias"] = json!(true);
    file.set_spec(&spec);
    refused(&file, "is missing");
    for bias in [json!(null), json!(0), json!("no")] {
        spec["layers"][0]["bias"] = bias;
        file.set_spec(&spec);
        refused(&file, "spec");
    }
    let mut spec = Model::of(&net).spec();
    spec["layers"][4]["bias"] = json!(false);
    file.set_spec(&spec);
    refused(&file, "bias");
}
