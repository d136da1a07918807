//! Networks on a GPU: the same answers as on the CPU. Skipped, with a line that says so, where there is no GPU.

use tractable::data::{self, Augment};
use tractable::{Activation, Device, Fit, Layer, Matrix, Network, Padding, Window};

/// The first GPU.
fn gpu() -> Option<Device> {
    Device::cuda(0).map_err(|e| eprintln!("skipped: {e}")).ok()
}

/// The largest difference, relative to the largest number.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = a.iter().fold(1e-30, |m: f64, v| m.max(v.abs()));
    a.iter().zip(b).fold(0.0, |m: f64, (a, b)| if (a - b).is_nan() { f64::NAN } else { m.max((a - b).abs()) }) / size
}

fn convolutional(device: Device) -> Network {
    let window = Window { kernel: 4, stride: 2, padding: Padding::Around(1) };
    let halved = Window { kernel: 3, stride: 2, padding: Padding::Around(0) };
    Network::builder(data::digits(1, 0).unwrap().shape())
        .layer(Layer::Conv2d { channels: 6, window })
        .layer(Layer::batch_norm())
        .layer(Activation::Relu)
        .layer(Layer::AvgPool2d { window: halved })
        .layer(Layer::linear(11))
        .classes(10)
        .device(device)
        .build()
        .unwrap()
}

#[test]
fn training_follows_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let changed = Augment { flip: true, crop: 2, cutout: 6 };
    let images = data::digits(96, 0).unwrap().augment(changed);
    let train = |device| {
        let mut net = convolutional(device);
        net.fit(&images, &Fit::new().epochs(1).batch(16)).unwrap();
        net
    };
    let (mine, theirs) = (train(gpu), train(Device::cpu(1)));
    let x = data::digits(8, 1).unwrap().matrix(0..8).unwrap();
    let [a, b] = [mine, theirs].map(|net| net.predict_classes(&x).unwrap());
    let off = apart(a.data(), b.data());
    assert!(off < 1e-3, "{off}");
}

#[test]
fn files_move_between_devices() {
    let Some(gpu) = gpu() else { return };
    let images = data::digits(32, 0).unwrap();
    let mut net = convolutional(gpu.clone());
    net.fit(&images, &Fit::new().epochs(1).batch(16)).unwrap();
    let bytes = net.to_bytes().unwrap();
    let mut there = Network::from_bytes(&bytes, Device::cpu(1)).unwrap();
    let x = images.matrix(0..4).unwrap();
    let off = apart(net.predict(&x).unwrap().mean(), there.predict(&x).unwrap().mean());
    assert!(off < 1e-5, "{off}");
    there.learn(&x, &[1, 2, 3, 4]).unwrap();
    let back = Network::from_bytes(&there.to_bytes().unwrap(), gpu).unwrap();
    let off = apart(back.predict(&x).unwrap().mean(), there.predict(&x).unwrap().mean());
    assert!(off < 1e-5, "{off}");
}

#[test]
fn the_three_verbs_agree_on_a_table() {
    let Some(gpu) = gpu() else { return };
    let x = Matrix::new((0..60).map(|i| f64::from(i * 37 % 61) / 30.0 - 1.0).collect(), 2).unwrap();
    let y = Matrix::column(x.data().chunks(2).map(|x| (x[0] * 2.0).sin() + x[1]).collect()).unwrap();
    let run = |device| {
        let mut net = Network::mlp([2, 16, 16, 1], Activation::Tanh).noise_std([0.1]).device(device).build().unwrap();
        for _ in 0..5 {
            net.learn(&x, &y).unwrap();
        }
        let p = net.predict(&x).unwrap();
        let given = tractable::Gaussian::new(vec![0.1, 0.2], vec![0.04, 0.04], 2).unwrap();
        let wanted = Matrix::column(vec![0.5]).unwrap();
        let posterior = net.condition(&given, &wanted).unwrap();
        let d = net.derivative(&x, tractable::Wrt::input()).unwrap();
        [p.mean().to_vec(), p.total_var(), posterior.mean().to_vec(), d.mean().to_vec()]
    };
    let (mine, theirs) = (run(gpu), run(Device::cpu(1)));
    for (mine, theirs) in mine.iter().zip(&theirs) {
        let off = apart(mine, theirs);
        assert!(off < 1e-4, "{off}");
    }
}

/// The compiled kernels are those of the source: `cuda/compile.py` makes them.
#[test]
fn kernels_are_compiled_from_their_source() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("cuda");
    let script = std::fs::read_to_string(folder.join("compile.py")).unwrap();
    let order = script.lines().find_map(|l| l.strip_prefix("ORDER = [")).unwrap();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for name in order.split('"').skip(1).step_by(2) {
        for byte in std::fs::read(folder.join(format!("kernels/{name}.cu"))).unwrap() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    let known = std::fs::read_to_string(folder.join("kernels.hash")).unwrap();
    assert_eq!(known.trim(), format!("{hash:016x}"), "run cuda/compile.py");
}
