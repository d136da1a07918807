//! Rows that come down to images, whose layout is not that of other states.

use super::{apart, gpu};
use tractable::{
    Activation, Device, Gaussian, Layer, Network, Shape,
    network::{Padding, Window},
};

/// A network on images whose first layer may be one without weights.
fn network(first: Option<Layer>, outputs: usize, device: Device) -> Network {
    let window = Window { kernel: 3, stride: 1, padding: Padding::Around(1) };
    let mut net = Network::builder(Shape::image(1, 6, 6));
    if let Some(first) = first {
        net = net.layer(first);
    }
    let net = net.layer(Layer::Conv2d { channels: 5, window, bias: true }).layer(Activation::Relu);
    net.layer(Layer::linear(outputs)).seed(4).device(device).build().unwrap()
}

#[test]
fn rows_reach_images_through_any_layer() {
    let Some(gpu) = gpu() else { return };
    let halved = Window { kernel: 2, stride: 2, padding: Padding::Around(0) };
    let firsts = [
        None,
        Some(Layer::from(Activation::Tanh)),
        Some(Layer::batch_norm()),
        Some(Layer::AvgPool2d { window: halved }),
        Some(Layer::MaxPool2d { window: halved }),
    ];
    let mean = (0..3 * 36).map(|i| f64::from(i * 37 % 61) / 30.0 - 1.0).collect();
    let x = Gaussian::new(mean, vec![0.2; 3 * 36], 36).unwrap();
    for first in firsts {
        // A single row and several take different paths.
        for outputs in [1, 3] {
            let of = |device| {
                let all = network(first, outputs, device).output_covariance(&x).unwrap();
                all.iter().flat_map(|m| m.data().to_vec()).collect::<Vec<_>>()
            };
            let off = apart(&of(Device::cpu(1)), &of(gpu.clone()));
            assert!(off < 1e-4, "{first:?}, {outputs} outputs: {off}");
        }
    }
}
