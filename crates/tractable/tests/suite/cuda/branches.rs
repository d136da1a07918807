//! Layers that branch, with ReLU: while a network learns, ReLU is only a view of the state below it.

use super::{apart, gpu};
use tractable::{Activation, Device, Layer, Matrix, Network, Shape, Wanted};

/// Three layers read `linear1`, and one of them is ReLU.
fn branched(device: Device) -> Network {
    Network::builder(Shape::flat(3))
        .layer(Layer::linear(8))
        .layer(Activation::Relu)
        .layer(Layer::linear(8).of(["linear1"]).named("straight"))
        .layer(Layer::linear(8).of(["relu1"]).named("bent"))
        .layer(Layer::Add.of(["linear1", "straight", "bent"]))
        .layer(Activation::Relu)
        .layer(Layer::linear(1))
        .noise_std([0.1])
        .seed(3)
        .device(device)
        .build()
        .unwrap()
}

fn data() -> [Matrix; 2] {
    let x = (0..30).map(|i| f64::from(i * 37 % 61) / 30.0 - 1.0).collect();
    let y = (0..10).map(|i| f64::from(i) / 10.0).collect();
    [Matrix::new(x, 3).unwrap(), Matrix::column(y).unwrap()]
}

#[test]
fn a_view_does_not_change_what_it_views() {
    let Some(gpu) = gpu() else { return };
    let ([x, y], net) = (data(), branched(gpu));
    let before = net.predict(&x).unwrap();
    let mut sums = net.sums();
    net.accumulate(&x, &y, &mut sums).unwrap();
    assert_eq!(net.predict(&x).unwrap(), before);
}

#[test]
fn innovations_of_branches_are_apart() {
    let Some(gpu) = gpu() else { return };
    let [x, y] = data();
    let [mine, theirs] = [gpu, Device::cpu(1)].map(|device| {
        let mut net = branched(device);
        for _ in 0..3 {
            let mut sums = net.sums();
            net.accumulate(&x, &y, &mut sums).unwrap();
            net.apply(&sums).unwrap();
            net.learn(&x, &y).unwrap();
        }
        let given = tractable::Gaussian::new(x.data().to_vec(), vec![0.04; 30], 3).unwrap();
        let posterior = net.search(&given, Wanted::from(&y).noise_var(0.5).rounds(2)).unwrap();
        [net.predict(&x).unwrap().mean(), posterior.mean()].concat()
    });
    let off = apart(&theirs, &mine);
    assert!(off < 1e-4, "{off}");
}
