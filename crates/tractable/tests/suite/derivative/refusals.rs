//! What cannot be differentiated, and what the error says about it.

use super::dense;
use crate::cases::{Draw, bytes};
use tractable::{Activation, Error, Gaussian, Layer, Matrix, Network, Shape, Wanted, condition::Wrt};

fn net(activations: &[Activation]) -> Network {
    dense(&[2, 4, 3, 2], activations).seed(30).build().unwrap()
}

fn x() -> Gaussian {
    Draw::new(31).gaussian(2, 2)
}

/// Every one of these words is in the error.
fn says<T>(got: tractable::Result<T>, words: &[&str]) {
    let Err(e) = got else { panic!("accepted, but should say {words:?}") };
    let text = e.to_string();
    assert!(words.iter().all(|w| text.contains(w)), "\"{text}\" does not say {words:?}");
}

#[test]
fn outputs_and_layers_that_are_not_there() {
    let net = net(&[Activation::Tanh; 2]);
    let before = bytes(&net);
    says(net.derivative(&x(), Wrt::input()), &["one of the 2 outputs"]);
    says(net.second_derivative(&x(), Wrt::input()), &["one of the 2 outputs"]);
    says(net.search(&x(), Wanted::maximum()), &["one of the 2 outputs"]);
    says(net.derivative(&x(), Wrt::input().output(2)), &["no output 2", "there are 2"]);
    says(net.search(&x(), Wanted::minimum().output(7)), &["no output 7"]);
    says(net.derivative(&x(), Wrt::from("tanh9").output(0)), &["tanh9", "tanh1"]);
    says(net.second_derivative(&x(), Wrt::from("tanh9").output(0)), &["tanh9"]);
    says(net.search(&x(), Wanted::maximum().output(0).layer("tanh9")), &["tanh9"]);
    let wide = Draw::new(1).gaussian(1, 3);
    for e in [
        net.derivative(&wide, Wrt::input().output(0)).unwrap_err(),
        net.second_derivative(&wide, Wrt::input().output(0)).unwrap_err(),
        net.search(&wide, Wanted::maximum().output(0)).unwrap_err(),
    ] {
        assert!(matches!(e, Error::Shape { .. }), "{e}");
    }
    assert_eq!(bytes(&net), before);
}

#[test]
fn layers_that_cannot_move() {
    for straight in [Activation::Relu, Activation::LeakyRelu { slope: 0.1 }, Activation::Identity] {
        let net = net(&[straight, Activation::Tanh]);
        let cure = &["first layer", "tanh, sigmoid, softplus or mixture_relu"];
        says(net.search(&x(), Wanted::maximum().output(0)), cure);
        // The derivative itself is there, and does not depend on the input.
        let d = net.derivative(&x(), Wrt::input().output(0)).unwrap();
        assert_eq!(d.cov(), [0.0; 4]);
        // The layer below the curved one can move; those above it cannot.
        let hidden = |layer| net.search(&x(), Wanted::maximum().output(0).layer(layer));
        for layer in ["linear1", "linear2"] {
            assert!(hidden(layer).is_ok(), "{layer}");
        }
        for layer in ["tanh1", "linear3"] {
            says(hidden(layer), &["next layer", "tanh, sigmoid"]);
        }
    }
    for curved in [Activation::Sigmoid, Activation::Softplus, Activation::MixtureRelu] {
        let net = net(&[curved, Activation::Relu]);
        let moved = net.search(&x(), Wanted::maximum().output(0)).unwrap();
        assert!(moved.mean().iter().zip(x().mean()).all(|(a, b)| a != b), "{curved:?}");
    }
}

#[test]
fn what_is_known_or_no_variance() {
    let net = net(&[Activation::Tanh; 2]);
    let exact = Matrix::new(vec![0.1, 0.2], 2).unwrap();
    says(net.search(&exact, Wanted::maximum().output(0)), &["known exactly"]);
    for noise in [-1.0, f64::NAN, f64::INFINITY] {
        says(net.search(&x(), Wanted::maximum().output(0).noise_var(noise)), &["variance", "at least 0"]);
    }
    says(net.search(&x(), Wanted::maximum().output(0).rounds(0)), &["at least one"]);
}

#[test]
fn layers_that_are_not_dense() {
    let image = || Network::builder(Shape::image(1, 4, 4));
    let flat = || Network::builder(Shape::flat(16)).layer(Layer::linear(3));
    let nets = [
        (0, "not dense", image().layer(Layer::conv2d(2, 3)).layer(Layer::linear(1))),
        (0, "not dense", image().layer(Layer::avg_pool2d(2)).layer(Layer::linear(1))),
        (0, "not dense", image().layer(Layer::max_pool2d(2)).layer(Layer::linear(1))),
        (1, "not dense", flat().layer(Layer::batch_norm()).layer(Layer::linear(1))),
        (
            2,
            "another activation",
            flat().layer(Activation::Relu).layer(Activation::Tanh).layer(Layer::linear(1)),
        ),
    ];
    let x = Draw::new(32).gaussian(1, 16);
    for (at, why, builder) in nets {
        let net = builder.build().unwrap();
        let name = &net.layer_names()[at];
        says(net.derivative(&x, Wrt::input()), &[name, why]);
        says(net.second_derivative(&x, Wrt::input()), &[name, why]);
        says(net.search(&x, Wanted::stationary()), &[name, why]);
    }
    let net = image().layer(Layer::linear(1)).build().unwrap();
    says(net.derivative(&x, Wrt::input()), &["image"]);
}
