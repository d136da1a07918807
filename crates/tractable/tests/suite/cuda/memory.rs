//! Out of memory, wherever it happens: a call returns the right numbers or an error, an error changes nothing, and the network
//! works once there is memory.

use super::apart;
use std::path::PathBuf;
use tractable::data::Images;
use tractable::{
    Activation, Device, Layer, Matrix, Network, Result, Shape, Wanted,
    condition::{SearchStart, Wrt},
    network::{Padding, Window},
};

/// Which allocations of the emulated device fail.
struct Faults(PathBuf);

impl Faults {
    fn set(&self, text: &str) {
        std::fs::write(&self.0, text).unwrap();
    }
}

/// A network, and what is done with it. Its predictions for a few inputs show what it learned.
struct Case {
    name: &'static str,
    build: fn(Device) -> Network,
    run: fn(&mut Network) -> Result<Vec<f64>>,
    /// Every how many allocations one fails.
    every: usize,
}

fn values(rows: usize, width: usize) -> Matrix {
    Matrix::new((0..rows * width).map(|i| (i * 37 % 61) as f64 / 30.0 - 1.0).collect(), width).unwrap()
}

fn wanted(rows: usize) -> Matrix {
    Matrix::column((0..rows).map(|i| (i % 7) as f64 / 3.0 - 1.0).collect()).unwrap()
}

/// A residual network that infers its noise.
fn residual(device: Device) -> Network {
    Network::builder(Shape::flat(3))
        .layer(Layer::linear(12))
        .layer(Activation::Relu)
        .layer(Layer::linear(12))
        .layer(Layer::Add.of(["linear1", "linear2"]))
        .layer(Layer::linear(1))
        .seed(3)
        .device(device)
        .build()
        .unwrap()
}

fn dense(device: Device) -> Network {
    let net = Network::mlp([3, 8, 8, 1], Activation::Tanh).noise_std([0.1]);
    net.seed(1).device(device).build().unwrap()
}

fn classes(device: Device) -> Network {
    Network::mlp([6, 8, 8, 3], Activation::Relu).classes(3).seed(1).device(device).build().unwrap()
}

/// The first layers can be fused.
fn convolutional(device: Device) -> Network {
    let window = |kernel, stride| Window { kernel, stride, padding: Padding::Around(0) };
    Network::builder(Shape::image(1, 4, 4))
        .layer(Layer::Conv2d { channels: 4, window: window(3, 1), bias: true })
        .layer(Activation::Relu)
        .layer(Layer::AvgPool2d { window: window(2, 2) })
        .layer(Layer::batch_norm())
        .layer(Layer::linear(11))
        .classes(10)
        .seed(2)
        .device(device)
        .build()
        .unwrap()
}

/// Pooling of images comes first.
fn pooled(device: Device) -> Network {
    let window = Window { kernel: 2, stride: 2, padding: Padding::Around(0) };
    Network::builder(Shape::image(1, 6, 6))
        .layer(Layer::AvgPool2d { window })
        .layer(Layer::MaxPool2d { window })
        .layer(Layer::linear(11))
        .classes(10)
        .seed(2)
        .device(device)
        .build()
        .unwrap()
}

fn predict(net: &Network, rows: usize) -> Result<Vec<f64>> {
    let p = net.predict(&values(rows, net.input().len()))?;
    Ok([p.mean(), &p.total_var()].concat())
}

fn images(n: usize) -> Images {
    let pixels = (0..n * 36).map(|i| (i * 31 % 256) as u8).collect();
    Images::new(Shape::image(1, 6, 6), pixels, vec![0; n], vec!["a".into(); 10]).unwrap()
}

const CASES: &[Case] = &[
    Case { name: "predict", build: residual, run: |net| predict(net, 24), every: 1 },
    Case {
        name: "learn",
        build: residual,
        run: |net| {
            net.learn(&values(24, 3), &wanted(24))?;
            Ok(Vec::new())
        },
        every: 1,
    },
    Case {
        name: "learn with known noise",
        build: dense,
        run: |net| {
            net.learn(&values(30, 3), &wanted(30))?;
            Ok(Vec::new())
        },
        every: 1,
    },
    Case {
        name: "accumulate and apply",
        build: residual,
        run: |net| {
            let mut sums = net.sums();
            net.accumulate(&values(10, 3), &wanted(10), &mut sums)?;
            net.accumulate(&values(24, 3), &wanted(24), &mut sums)?;
            net.apply(&sums)?;
            Ok(Vec::new())
        },
        every: 1,
    },
    Case {
        name: "learn from images",
        build: convolutional,
        run: |net| {
            net.learn(&values(512, 16), &vec![3; 512])?;
            Ok(Vec::new())
        },
        every: 5,
    },
    Case {
        name: "predict images of several sizes",
        build: pooled,
        run: |net| {
            let mut all = Vec::new();
            let mut failed = None;
            for n in [4, 40, 4] {
                match net.predict_images(&images(n)) {
                    Ok(p) => all.extend_from_slice(p.mean()),
                    Err(e) => failed = Some(e),
                }
            }
            failed.map_or(Ok(all), Err)
        },
        every: 1,
    },
    Case {
        name: "derivative",
        build: dense,
        run: |net| Ok(net.derivative(&values(12, 3), Wrt::input())?.mean().to_vec()),
        every: 1,
    },
    Case {
        name: "search",
        build: residual,
        run: |net| {
            let x = tractable::Gaussian::new(values(20, 3).data().to_vec(), vec![0.1; 60], 3)?;
            Ok(net.search(&x, Wanted::from(&wanted(20)).noise_var(0.5).rounds(2))?.mean().to_vec())
        },
        every: 1,
    },
    Case {
        name: "searches",
        build: classes,
        run: |net| {
            let slots: Vec<usize> = (0..8).collect();
            let Some(mut searches) = net.searches(8)? else { return Ok(Vec::new()) };
            let start = SearchStart {
                mean: &[0.5; 6],
                var: &[0.01; 6],
                low: &[0.0; 6],
                high: &[1.0; 6],
                radius: f64::INFINITY,
                label: 2,
                other_than: false,
            };
            searches.enter(&slots.iter().map(|&i| (i, start)).collect::<Vec<_>>())?;
            searches.round(&slots)?;
            searches.go(&slots)?;
            Ok(searches.places(&slots)?.data().to_vec())
        },
        every: 1,
    },
];

/// Runs a case with these faults; returns whether it succeeded.
fn holds(case: &Case, net: &Network, expected: &[f64], faults: &Faults, text: &str) -> bool {
    let said = |what: &str| format!("{}, {text}: {what}", case.name);
    let (mut tried, before) = (net.try_clone().unwrap(), net.to_bytes().unwrap());
    faults.set(text);
    let outcome = (case.run)(&mut tried);
    faults.set("");
    if let Err(e) = &outcome {
        assert!(e.to_string().contains("are needed"), "{}", said(&e.to_string()));
        assert!(tried.to_bytes().unwrap() == before, "{}", said("the network has changed"));
    }
    let is_ok = outcome.is_ok();
    let numbers = outcome.or_else(|_| (case.run)(&mut tried));
    let mut numbers = numbers.unwrap_or_else(|e| panic!("{}", said(&e.to_string())));
    numbers.extend(predict(&tried, 5).unwrap());
    assert!(apart(expected, &numbers) < 1e-4, "{}", said(&format!("{numbers:?}, not {expected:?}")));
    is_ok
}

/// Run by `memory_may_run_out_anywhere`.
#[test]
#[ignore = "a child of another test"]
fn memory_runs_out() {
    let faults = Faults(std::env::var_os("FAULTS").expect("the parent says where").into());
    let device = Device::cuda(0).unwrap();
    for case in CASES {
        let net = (case.build)(device.clone());
        // The CPU has no searches that stay on it.
        let mut model =
            if case.name == "searches" { net.try_clone().unwrap() } else { (case.build)(Device::cpu(1)) };
        let mut expected = (case.run)(&mut model).unwrap();
        expected.extend(predict(&model, 5).unwrap());
        let fails = |text: String| !holds(case, &net, &expected, &faults, &text);
        // A single allocation fails, then all that go beyond a size.
        let after = (0..).step_by(case.every).take_while(|n| fails(format!("after {n}"))).count();
        let sizes = std::iter::successors(Some(4000), |bytes| Some(bytes * 5 / 4));
        let sizes = sizes.take_while(|bytes| fails(format!("beyond {bytes}"))).count();
        println!("{}: {after} allocations, {sizes} sizes", case.name);
        assert!(after > 3 && sizes > 1, "{}", case.name);
    }
}

#[test]
fn memory_may_run_out_anywhere() {
    if Device::gpus() != ["emulated"] {
        return eprintln!("skipped: needs the emulated driver (crates/devices/cuda/emulator)");
    }
    let path = std::env::temp_dir().join(format!("tractable-faults-{}", std::process::id()));
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "cuda::memory::memory_runs_out", "--ignored", "--nocapture"])
        .env("EMULATED_CUDA", format!("faults={}", path.display()))
        .env("FAULTS", &path)
        .output()
        .unwrap();
    let _ = std::fs::remove_file(&path);
    let [out, said] = [child.stdout, child.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
    print!("{out}");
    assert!(child.status.success(), "{}\n{out}{said}", child.status);
}
