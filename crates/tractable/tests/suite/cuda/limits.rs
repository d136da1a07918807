//! Limits of a GPU: sizes of a grid, pinned memory, streams; and several threads on one GPU.

use super::{apart, gpu};
use tractable::data::Images;
use tractable::{
    Activation, Device, Layer, Matrix, Network, Shape,
    network::{Padding, Window},
};

#[test]
fn many_images_are_gathered_in_parts() {
    let Some(gpu) = gpu() else { return };
    let n = 65_600;
    let pixels = (0..n * 4).map(|i| (i * 31 % 251) as u8).collect();
    let images =
        Images::new(Shape::image(1, 2, 2), pixels, vec![0; n], vec!["a".into(), "b".into()]).unwrap();
    let net =
        |device| Network::mlp([4, 1], Activation::Relu).noise_std([0.1]).device(device).build().unwrap();
    let [mine, theirs] = [gpu, Device::cpu(1)].map(|device| net(device).predict_images(&images).unwrap());
    let off = apart(theirs.mean(), mine.mean());
    assert!(off < 1e-5, "{off}");
}

#[test]
fn large_images_are_pooled() {
    let Some(gpu) = gpu() else { return };
    let window = Window { kernel: 2, stride: 2, padding: Padding::Around(0) };
    let smaller = Window { kernel: 64, stride: 64, padding: Padding::Around(0) };
    let shape = Shape::image(4, 512, 512);
    // Two images: more numbers than one copy to the device takes.
    let x = (0..2 * shape.len()).map(|i| (i * 37 % 61) as f64 / 30.0 - 1.0).collect();
    let x = Matrix::new(x, shape.len()).unwrap();
    let [mine, theirs] = [gpu, Device::cpu(1)].map(|device| {
        let net = Network::builder(shape)
            .layer(Layer::AvgPool2d { window })
            .layer(Layer::AvgPool2d { window: smaller })
            .layer(Layer::linear(2))
            .noise_std([0.1])
            .device(device);
        net.build().unwrap().predict(&x).unwrap().mean().to_vec()
    });
    let off = apart(&theirs, &mine);
    assert!(off < 1e-4, "{off}");
}

#[test]
fn too_many_covariances_are_refused() {
    let Some(gpu) = gpu() else { return };
    let net = Network::mlp([2, 256], Activation::Relu).noise_std([0.1]).device(gpu).build().unwrap();
    let x = Matrix::new(vec![0.5, -0.5], 2).unwrap();
    let said = net.output_covariance(&x).unwrap_err().to_string();
    assert!(said.contains("covariances of 256 outputs"), "{said}");
    // The device is not lost.
    net.predict(&x).unwrap();
}

#[test]
fn a_gpu_gives_back_what_it_took() {
    if gpu().is_none() {
        return;
    }
    // No other test uses this one: it is opened and closed every time.
    for _ in 0..30 {
        "cuda-fast".parse::<Device>().unwrap();
    }
}

#[test]
fn threads_share_a_gpu() {
    let Some(gpu) = gpu() else { return };
    let work = |seed: u64| {
        let net = Network::mlp([3, 8, 8, 8, 1], Activation::Relu).noise_std([0.1]).seed(seed);
        let mut net = net.device(&gpu).build().unwrap();
        let x = Matrix::new((0..12).map(f64::from).map(|v| v / 12.0).collect(), 3).unwrap();
        let y = Matrix::column(vec![0.1, 0.2, 0.3, 0.4]).unwrap();
        for _ in 0..30 {
            net.learn(&x, &y).unwrap();
        }
        net.predict(&x).unwrap().mean().to_vec()
    };
    let alone = [1, 2, 3].map(work);
    let together = std::thread::scope(|scope| {
        let work = &work;
        [1, 2, 3].map(|seed| scope.spawn(move || work(seed))).map(|thread| thread.join().unwrap())
    });
    assert_eq!(alone, together);
}
