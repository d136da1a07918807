//! Networks on a GPU: the same answers as on the CPU. Skipped, with a message, if there is no GPU.

mod agents;
mod branches;
mod layouts;
mod limits;
mod memory;

use crate::cases::{Model, bytes};
use std::ops::ControlFlow;
use std::time::Duration;
use tractable::data::{self, Augment};
use tractable::fnv;
use tractable::workers::Threads;
use tractable::{
    Activation, Device, Fit, Layer, Matrix, Network,
    network::{Padding, UpdateRule, Window},
    train::{Progress, Sync},
};

/// The first GPU.
fn gpu() -> Option<Device> {
    Device::cuda(0).map_err(|e| eprintln!("skipped: {e}")).ok()
}

/// The largest difference, relative to the largest number.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = a.iter().fold(1e-30, |m: f64, v| m.max(v.abs()));
    a.iter().zip(b).fold(0.0, |m: f64, (a, b)| if (a - b).is_nan() { f64::NAN } else { m.max((a - b).abs()) })
        / size
}

fn convolutional(device: Device) -> Network {
    let window = Window { kernel: 4, stride: 2, padding: Padding::Around(1) };
    let halved = Window { kernel: 3, stride: 2, padding: Padding::Around(0) };
    Network::builder(data::digits(1, 0).unwrap().shape())
        .layer(Layer::Conv2d { channels: 6, window, bias: true })
        .layer(Layer::batch_norm())
        .layer(Activation::Relu)
        .layer(Layer::batch_norm())
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

/// Averaged means and recomputed statistics too; a fit continues to the same bits.
#[test]
fn paced_networks_follow_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let images = data::digits(96, 0).unwrap();
    let fit = Fit::new().epochs(2).batch(16);
    let train = |device| {
        let mut net = convolutional(device);
        net.set_update_rule(UpdateRule::Paced { rows: 96, pace: 1 }).unwrap();
        let stop = |p: Progress<'_>| match p {
            Progress::Epoch(_, e) if e.epoch == 1 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let mut whole = net.try_clone().unwrap();
        whole.fit(&images, &fit).unwrap();
        net.fit_with(&images, &fit, stop).unwrap();
        let mut net = Network::from_bytes(&net.to_bytes().unwrap(), net.device().clone()).unwrap();
        net.fit(&images, &fit.clone().first_epoch(1)).unwrap();
        assert_eq!(bytes(&net), bytes(&whole));
        net
    };
    let (mine, theirs) = (train(gpu), train(Device::cpu(1)));
    let x = data::digits(8, 1).unwrap().matrix(0..8).unwrap();
    let [a, b] = [&mine, &theirs].map(|net| net.predict_classes(&x).unwrap());
    let off = apart(a.data(), b.data());
    assert!(off < 1e-3, "{off}");
    let [a, b] = [Model::of(&mine), Model::of(&theirs)];
    for tensor in
        ["conv1.weight.latest", "linear1.bias.mean", "batch_norm1.running.mean", "batch_norm2.running.var"]
    {
        let off = apart(&a.get(tensor), &b.get(tensor));
        assert!(off < 1e-3, "{tensor}: {off}");
    }
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
    // Images become the same numbers on the device as on the host.
    assert_eq!(net.predict_images(&images.select(&[0, 1, 2, 3]).unwrap()).unwrap(), net.predict(&x).unwrap());
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
        let mut net =
            Network::mlp([2, 16, 16, 1], Activation::Tanh).noise_std([0.1]).device(device).build().unwrap();
        for _ in 0..5 {
            net.learn(&x, &y).unwrap();
        }
        let p = net.predict(&x).unwrap();
        let given = tractable::Gaussian::new(vec![0.1, 0.2], vec![0.04, 0.04], 2).unwrap();
        let wanted = Matrix::column(vec![0.5]).unwrap();
        let posterior = net.condition(&given, &wanted).unwrap();
        let d = net.derivative(&x, tractable::condition::Wrt::input()).unwrap();
        [p.mean().to_vec(), p.total_var(), posterior.mean().to_vec(), d.mean().to_vec()]
    };
    let (mine, theirs) = (run(gpu), run(Device::cpu(1)));
    for (mine, theirs) in mine.iter().zip(&theirs) {
        let off = apart(mine, theirs);
        assert!(off < 1e-4, "{off}");
    }
}

/// Two workers with an emulated GPU each; run by tests that need them.
#[test]
#[ignore = "a child of another test"]
fn two_gpus_learn_together() {
    let images = data::digits(64, 0).unwrap();
    let x = images.matrix(0..4).unwrap();
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(120));
        println!("told: they wait for ever");
        std::process::exit(1);
    });
    let mut nets = [0, 1].map(|n| convolutional(Device::cuda(n).unwrap()));
    let failed = std::thread::scope(|scope| {
        let learn = |(net, worker): (&mut Network, Threads)| {
            let fit = Fit::new().epochs(1).batch(16);
            net.fit_together(&images, &fit, &worker, Sync::Batch, |_| ControlFlow::Continue(())).err()
        };
        let both = nets.iter_mut().zip(Threads::team(2));
        let threads: Vec<_> = both.map(|one| scope.spawn(move || learn(one))).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    failed.iter().for_each(|e| println!("told: {e}"));
    if failed.is_empty() {
        let [a, b] = nets.map(|net| net.predict(&x).unwrap().mean().to_vec());
        assert_eq!(a, b);
        println!("told: {a:?}");
    }
}

/// With NCCL, the sums of several GPUs do not go through the host. Needs the emulator, which can have any number of GPUs.
#[test]
fn sums_go_from_gpu_to_gpu() {
    let Some(library) = std::env::var_os("TRACTABLE_LIBCUDA") else {
        return eprintln!("skipped: the emulator is not there");
    };
    let run = |nccl: &std::ffi::OsStr| {
        let done = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture", "cuda::two_gpus_learn_together"])
            .env("EMULATED_CUDA", "devices=2")
            .env("TRACTABLE_LIBNCCL", nccl)
            .output()
            .unwrap();
        let [out, said] = [done.stdout, done.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
        assert!(done.status.success(), "{out}{said}");
        let told = out.lines().find_map(|l| l.split_once("told: ")).unwrap_or_else(|| panic!("{out}")).1;
        let numbers = told.trim_matches(['[', ']']).split(", ").map(|v| v.parse().unwrap()).collect();
        (numbers, said.matches("emulated NCCL").count())
    };
    let (direct, members): (Vec<f64>, _) = run(&library);
    let (through_host, none): (Vec<f64>, _) = run("no such library".as_ref());
    assert_eq!((members, none), (2, 0));
    let off = apart(&direct, &through_host);
    assert!(off < 1e-6, "{off}");
}

/// A worker that cannot begin a sum says so, and no other waits for it. Needs the emulator, which can fail on request.
#[test]
fn a_sum_that_fails_ends_all_workers() {
    let Some(library) = std::env::var_os("TRACTABLE_LIBCUDA") else {
        return eprintln!("skipped: the emulator is not there");
    };
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", "cuda::two_gpus_learn_together"])
        .env("EMULATED_CUDA", "devices=2")
        .env("EMULATED_NCCL", "3")
        .env("TRACTABLE_LIBNCCL", library)
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&done.stdout).into_owned();
    let told: Vec<&str> = out.lines().filter_map(|l| Some(l.split_once("told: ")?.1)).collect();
    let why = "cuda: the sum over GPUs with NCCL failed (error 2)";
    assert_eq!(told, [&format!("worker 1: {why}"), why], "{out}");
}

/// The compiled kernels match their source; `cuda/compile.py` makes them.
#[test]
fn kernels_are_compiled_from_their_source() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../devices/cuda");
    let script = std::fs::read_to_string(folder.join("compile.py")).unwrap();
    let order = script.lines().find_map(|l| l.strip_prefix("ORDER = [")).unwrap();
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let source =
        order.split('"').skip(1).step_by(2).flat_map(|name| read(&format!("kernels/{name}.cu"))).collect();
    let hashes = [source, read("kernels.ptx.gz"), read("kernels.cubin.gz")]
        .map(|bytes: Vec<u8>| format!("{:016x}\n", fnv::fnv1a_64(fnv::EMPTY, bytes)));
    let known = std::fs::read_to_string(folder.join("kernels.hash")).unwrap();
    assert_eq!(known, hashes.concat(), "run cuda/compile.py");
}

/// Trains on the device that a parent process prepared, and prints what happened; run by `faults_are_said_in_one_line`.
#[test]
#[ignore = "a child of another test"]
fn train_and_tell() {
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(e) => return println!("told: {e}"),
    };
    let (mut net, small) = (small_network(device), small_batch());
    let large = [Matrix::new(vec![0.5; 4 * 20_000], 4).unwrap(), Matrix::column(vec![1.0; 20_000]).unwrap()];
    let mut learn = |[x, y]: &[Matrix; 2]| match net.learn(x, y) {
        Ok(_) => println!("told: learned {} rows", x.rows()),
        Err(e) => println!("told: {e}"),
    };
    [&small, &large, &small].into_iter().for_each(&mut learn);
    println!("copied: {}", net.try_clone().map_or_else(|e| e.to_string(), |_| "yes".into()));
    println!(
        "told: {}",
        net.predict(&small[0]).map_or_else(|e| e.to_string(), |p| format!("{:.3}", p.mean()[0]))
    );
}

fn small_network(device: Device) -> Network {
    Network::mlp([4, 256, 1], Activation::Relu).device(device).build().unwrap()
}

fn small_batch() -> [Matrix; 2] {
    [Matrix::new(vec![0.5; 4 * 4], 4).unwrap(), Matrix::column(vec![1.0; 4]).unwrap()]
}

/// What the child prints with such a device.
fn told(fault: &str) -> Vec<String> {
    said(fault, "told: ")
}

/// The lines of the child that begin with this word.
fn said(fault: &str, word: &str) -> Vec<String> {
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "cuda::train_and_tell", "--ignored", "--nocapture"])
        .env("EMULATED_CUDA", fault)
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&child.stdout).into_owned();
    out.lines().filter_map(|l| l.split(word).nth(1)).map(String::from).collect()
}

/// Faults of an emulated device; a real one cannot produce them on request.
#[test]
fn faults_are_said_in_one_line() {
    if Device::gpus() != ["emulated"] {
        return eprintln!("skipped: needs the emulated driver (crates/devices/cuda/emulator)");
    }
    assert_eq!(told("none"), ["cuda: no CUDA device can be used (CUDA_ERROR_NO_DEVICE)"]);
    let old = "cuda: the driver is too old: it supports CUDA 11.8, and 12.4 is needed";
    assert_eq!(told("version=11080"), [old]);
    // Out of memory: the message has the sizes, and the network keeps working.
    let [first, large, small, mean] = told("memory=8000000").try_into().unwrap();
    assert_eq!([&first, &small], ["learned 4 rows"; 2]);
    assert!(
        large.starts_with("cuda: 20 MB more are needed, and ") && large.ends_with(" of 8 MB are free"),
        "{large}"
    );
    let (mut net, [x, y]) = (small_network(Device::cpu(1)), small_batch());
    for _ in 0..2 {
        net.learn(&x, &y).unwrap();
    }
    assert_eq!(mean, format!("{:.3}", net.predict(&x).unwrap().mean()[0]), "as without the large batch");
    // Lost during a run: every call reports it.
    let lost = told("lost=40");
    assert_eq!(lost.len(), 4, "{lost:?}");
    assert!(lost[3].starts_with("cuda: the device was lost: "), "{lost:?}");
    // A copy needs memory, too, and a device that answers.
    assert_eq!(said("memory=8000000", "copied: "), ["yes"]);
    let full = said("memory=60000", "copied: ");
    assert!(full[0].starts_with("cuda: ") && full[0].ends_with(" are free"), "{full:?}");
    let lost = said("lost=40", "copied: ");
    assert!(lost[0].starts_with("cuda: the device was lost: "), "{lost:?}");
}
