//! Layers that branch: a network whose layers do not lie in a row learns, conditions, differentiates and saves.

use crate::cases::{Draw, Model, bytes};
use tractable::data::Dataset;
use tractable::{
    Activation, Device, Fit, Gaussian, Input, Layer, Matrix, Network, Shape, Wanted, condition::Wrt, metrics,
    network::NetworkBuilder,
};

/// A residual block: `linear1 -> tanh1 -> linear2 -> add1(linear1, linear2) -> tanh2 -> linear3`.
fn residual(inputs: usize, width: usize) -> NetworkBuilder {
    Network::builder(Shape::flat(inputs))
        .layer(Layer::linear(width))
        .layer(Activation::Tanh)
        .layer(Layer::linear(width))
        .layer(Layer::Add.of(["linear1", "linear2"]))
        .layer(Activation::Tanh)
        .layer(Layer::linear(1))
}

/// Two branches from the input, activations of their own, one state read by three layers.
fn branched() -> NetworkBuilder {
    Network::builder(Shape::flat(3))
        .layer(Layer::linear(8).named("left"))
        .layer(Layer::from(Activation::Tanh).of(["left"]).named("bent"))
        .layer(Layer::from(Activation::Sigmoid).of(["left"]).named("steep"))
        .layer(Layer::linear(8).of(["input"]).named("right"))
        .layer(Activation::Softplus)
        .layer(Layer::Add.of(["bent", "steep", "softplus1", "left"]).named("sum"))
        .layer(Layer::linear(5))
        .layer(Activation::Tanh)
        .layer(Layer::linear(2))
}

fn devices() -> [Device; 2] {
    [Device::cpu(2), Device::reference()]
}

#[test]
fn a_residual_network_learns_a_curve() {
    let x: Vec<f64> = (0..120).map(|i| i as f64 / 30.0 - 2.0).collect();
    let y = x.iter().map(|x| x.powi(3) - 3.0 * x).collect();
    let data = Dataset::new(Matrix::column(x).unwrap(), Matrix::column(y).unwrap()).unwrap().standardize();
    let mut errors = Vec::new();
    for device in devices() {
        let mut net = residual(1, 32).seed(1).device(&device).build().unwrap();
        net.fit(&data, &Fit::new().epochs(60).batch(1).noise_std(0.1)).unwrap();
        let out = net.predict(data.x()).unwrap();
        let tractable::data::Target::Values { y, .. } = data.target() else { unreachable!() };
        let off = out.mean().iter().zip(y.data()).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / 120.0;
        errors.push(off.sqrt());
    }
    assert!(errors.iter().all(|&e| e < 0.15), "{errors:?}");
    assert!((errors[0] - errors[1]).abs() < 0.05, "{errors:?}");
}

#[test]
fn devices_agree_on_branches() {
    let mut draw = Draw::new(3);
    let (x, y) = (draw.gaussian(9, 3), draw.matrix(9, 2));
    let mut out = Vec::new();
    for device in devices() {
        let mut net = branched().seed(2).device(&device).build().unwrap();
        net.learn(&x, &y).unwrap();
        let p = net.predict(&x).unwrap();
        let c = net.search(&x, Wanted::from(&y).noise_var(0.5).rounds(3)).unwrap();
        let hidden = net.search(&x, Wanted::from(&y).noise_var(0.5).rounds(2).layer("left")).unwrap();
        let d = net.derivative(&x, Wrt::input().output(1)).unwrap();
        let by_hidden = net.derivative(&x, Wrt::from("left").output(0)).unwrap();
        let numbers =
            [p.mean(), p.var(), c.mean(), c.var(), hidden.mean(), d.mean(), d.var(), by_hidden.mean()];
        out.push(numbers.map(<[f64]>::to_vec));
    }
    for (i, (fast, exact)) in out[0].iter().zip(&out[1]).enumerate() {
        let scale = exact.iter().fold(1e-3, |m: f64, v| m.max(v.abs()));
        let off = fast.iter().zip(exact).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        assert!(off <= 3e-5 * scale, "{i}: {off} of {scale}");
    }
}

/// The gradient of the network of means, by differences: of a linearised network it does not depend on variances.
#[test]
fn gradients_are_slopes() {
    for net in [residual(3, 6), branched()] {
        let net = net.seed(5).device(Device::reference()).build().unwrap();
        let at = Draw::new(6).matrix(1, 3);
        let first = |out: &Gaussian| {
            let chosen = (0..out.width()).map(|i| if i == 0 { 1.0 } else { 0.0 });
            Matrix::new(chosen.collect(), out.width())
        };
        let (_, gradient) = net.gradient(&at, first).unwrap();
        for i in 0..3 {
            let f = |h: f64| {
                let mut x = at.data().to_vec();
                x[i] += h;
                net.predict(Input::exact(&x, 3).unwrap()).unwrap().mean()[0]
            };
            let slope = (f(1e-5) - f(-1e-5)) / 2e-5;
            assert!((gradient.data()[i] - slope).abs() < 1e-6 * slope.abs().max(1.0), "{i}: {slope}");
        }
    }
}

/// The derivative by a state that several layers read is the sum over them; the second derivative too.
#[test]
fn derivatives_add_up_over_branches() {
    for (net, outputs) in [(residual(3, 6), 1), (branched(), 2)] {
        let net = net.seed(5).device(Device::reference()).build().unwrap();
        let mut model = Model::of(&net);
        let vars: Vec<String> = model.tensors.keys().filter(|n| n.ends_with(".var")).cloned().collect();
        for name in vars {
            let sure = vec![1e-14; model.get(&name).len()];
            model.set(&name, &sure);
        }
        let net = model.load(Device::reference()).unwrap();
        let x = Draw::new(7).matrix(1, 3);
        for output in 0..outputs {
            let wrt = Wrt::input().output(output);
            let (first, second) = (net.derivative(&x, wrt).unwrap(), net.second_derivative(&x, wrt).unwrap());
            for i in 0..3 {
                let at = |h: f64| {
                    let mut x = x.data().to_vec();
                    x[i] += h;
                    net.predict(Input::exact(&x, 3).unwrap()).unwrap().mean()[output]
                };
                let slope = (at(1e-4) - at(-1e-4)) / 2e-4;
                let bend = (at(1e-3) - 2.0 * at(0.0) + at(-1e-3)) / 1e-6;
                assert!((first.mean()[i] - slope).abs() < 1e-6, "{i}: {} {slope}", first.mean()[i]);
                assert!((second.data()[i] - bend).abs() < 1e-4, "{i}: {} {bend}", second.data()[i]);
            }
        }
    }
}

#[test]
fn a_maximum_is_found_through_branches() {
    for device in devices() {
        let net = residual(2, 16).seed(4).device(&device).build().unwrap();
        let start = Gaussian::new(vec![0.2, -0.1], vec![0.05; 2], 2).unwrap();
        let higher = net.search(&start, Wanted::maximum().rounds(30)).unwrap();
        let value = |x| net.predict(x).unwrap().mean()[0];
        assert!(value(&higher) > value(&start), "{} {}", value(&higher), value(&start));
    }
}

#[test]
fn files_keep_branches() {
    let mut draw = Draw::new(8);
    let (x, y) = (draw.matrix(5, 3), draw.matrix(5, 2));
    for device in devices() {
        let mut net = branched().seed(9).device(&device).build().unwrap();
        net.learn(&x, &y).unwrap();
        let mut again = Model::of(&net).load(device.clone()).unwrap();
        assert_eq!(again.layer_inputs(), net.layer_inputs());
        assert_eq!(bytes(&again), bytes(&net));
        assert_eq!(again.predict(&x).unwrap(), net.predict(&x).unwrap());
        net.learn(&x, &y).unwrap();
        again.learn(&x, &y).unwrap();
        assert_eq!(bytes(&again), bytes(&net));
        assert_eq!(bytes(&net.try_clone().unwrap()), bytes(&net));
    }
}

/// Images too: a block of convolutions around which the image goes.
#[test]
fn images_branch_too() {
    let net = |device: &Device| {
        Network::builder(Shape::image(3, 8, 8))
            .layer(Layer::conv2d(8, 3).padding(1))
            .layer(Activation::Relu)
            .layer(Layer::conv2d(8, 3).padding(1))
            .layer(Layer::batch_norm())
            .layer(Layer::Add.of(["conv1", "batch_norm1"]))
            .layer(Activation::Relu)
            .layer(Layer::avg_pool2d(2))
            .layer(Layer::linear(4))
            .classes(4)
            .seed(3)
            .device(device)
            .build()
            .unwrap()
    };
    let mut draw = Draw::new(10);
    let (x, labels) = (draw.matrix(12, 192), [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
    let mut out = Vec::new();
    for device in devices() {
        let mut net = net(&device);
        for _ in 0..10 {
            net.learn(&x, &labels).unwrap();
        }
        out.push(net.predict_classes(&x).unwrap());
        let moved = net.search(&Gaussian::around(&x, 0.01).unwrap(), &[0; 12]).unwrap();
        assert!(moved.mean() != x.data());
    }
    let right = (0..12).filter(|&i| metrics::argmax(out[0].row(i)) == labels[i]).count();
    assert!(right >= 11, "{right}");
    let off = out[0].data().iter().zip(out[1].data()).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
    assert!(off < 0.02, "{off}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let flat = || Network::builder(Shape::flat(3)).layer(Layer::linear(4));
    let cases = [
        (
            "an unknown layer",
            flat().layer(Layer::linear(1).of(["linear7"])),
            "layer `linear2`: `linear7` is not an earlier layer",
        ),
        (
            "a later layer",
            flat().layer(Layer::linear(1).of(["linear2"])),
            "`linear2` is not an earlier layer",
        ),
        (
            "two inputs",
            flat().layer(Layer::linear(1).of(["input", "linear1"])),
            "inputs: expected one layer, got 2",
        ),
        ("a sum of one", flat().layer(Layer::Add), "inputs: expected 2 to 64 layers, got 1"),
        (
            "the same twice",
            flat().layer(Layer::Add.of(["linear1", "linear1"])),
            "the same layer is added twice",
        ),
        (
            "other shapes",
            flat().layer(Layer::Add.of(["input", "linear1"])),
            "inputs: expected all of 3, got 4",
        ),
        ("a dead end", flat().layer(Layer::linear(1).of(["input"])), "layer `linear1`: no layer reads it"),
    ];
    for (what, net, says) in cases {
        let error = net.build().unwrap_err().to_string();
        assert!(error.contains(says), "{what}: {error}");
    }
}
