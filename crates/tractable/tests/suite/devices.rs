//! Devices as handles: one team for many networks, passes side by side, every vector width, sums over batches.

use crate::cases::{Batch, Draw, bytes, teach, zoo};
use std::time::Instant;
use tractable::{Activation, Device, Layer, Matrix, Network, Shape};

/// Threads of this process.
#[cfg(target_os = "linux")]
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
#[cfg(target_os = "linux")]
fn a_hundred_networks_share_one_team() {
    let device = Device::cpu(3);
    let x = Draw::new(1).matrix(64, 200);
    // Enough work to wake the team.
    let nets: Vec<_> = (0..100)
        .map(|seed| {
            let mut net =
                Network::mlp([200, 100, 1], Activation::Relu).seed(seed).device(&device).build().unwrap();
            net.learn(&x, &Matrix::column(vec![0.5; 64]).unwrap()).unwrap();
            net.try_clone().unwrap()
        })
        .collect();
    // Other tests run beside this one: their threads come and go, a hundred teams would stay.
    assert!(threads() < 100, "{} threads for {} networks", threads(), nets.len());
    assert_eq!(nets[0].device(), &Device::cpu(3));
}

#[test]
fn every_vector_width_learns_alike() {
    let widths = Device::vector_widths();
    for (what, builder) in zoo() {
        let mut first: Option<Vec<f64>> = None;
        for &width in &widths {
            let device = Device::cpu(1).vectors(width).unwrap();
            let mut net = builder.clone().seed(3).device(&device).build().unwrap();
            teach(&mut net, 4, 7, 1);
            let x = Draw::new(9).matrix(5, net.input().len());
            let out = net.predict(&x).unwrap();
            let numbers = [out.mean(), out.var()].concat();
            let first = first.get_or_insert(numbers.clone());
            let scale = first.iter().fold(1e-2, |m: f64, v| m.max(v.abs()));
            let off = numbers.iter().zip(&*first).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
            assert!(off <= 2e-4 * scale, "{what}, vectors of {width}: {off} of {scale}");
        }
    }
}

/// Two threads that predict on one network do not wait for each other, and see what one alone sees.
#[test]
fn passes_run_side_by_side() {
    let net =
        Network::mlp([50, 200, 200, 1], Activation::Tanh).seed(2).device(Device::cpu(1)).build().unwrap();
    let x = Draw::new(2).matrix(2000, 50);
    let alone = net.predict(&x).unwrap();
    let (begun, inside) = (std::sync::Barrier::new(2), std::sync::atomic::AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                // A conditioning holds its pass: with one pass behind a lock the second would wait for ever.
                let prior = tractable::Gaussian::around(&x, 0.01).unwrap();
                let mut c = net.searching(&prior, tractable::Wanted::maximum()).unwrap();
                begun.wait();
                inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                c.round().unwrap();
                let start = Instant::now();
                while inside.load(std::sync::atomic::Ordering::SeqCst) < 2 {
                    assert!(start.elapsed().as_secs() < 300);
                    std::thread::yield_now();
                }
                assert_eq!(net.predict(&x).unwrap(), alone);
            });
        }
    });
}

/// A team that is at work is not waited for, and the bits are the same.
#[test]
fn networks_that_share_a_team_learn_what_they_learn_alone() {
    let device = Device::cpu(2);
    let x = Draw::new(3).matrix(128, 300);
    let y = Matrix::column((0..128).map(|i| (i as f64).sin()).collect()).unwrap();
    let train = |seed: u64| {
        let mut net =
            Network::mlp([300, 200, 1], Activation::Relu).seed(seed).device(&device).build().unwrap();
        (0..20).for_each(|_| assert_eq!(net.learn(&x, &y).unwrap().rows, 128));
        bytes(&net)
    };
    let alone: Vec<_> = (0..4).map(train).collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let train = &train;
        let running: Vec<_> = (0..4).map(|seed| scope.spawn(move || train(seed))).collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    });
    assert!(alone == together);
}

#[test]
fn sums_of_batches_are_one_batch() {
    for (what, builder) in zoo() {
        for device in [Device::cpu(2), Device::reference()] {
            let net = || builder.clone().seed(5).device(&device).build().unwrap();
            if net().layers().iter().any(|l| matches!(l, Layer::BatchNorm { .. })) {
                continue; // its statistics are those of a batch
            }
            let (mut split, mut whole) = (net(), net());
            let batch = Batch::new(&whole, 12, &mut Draw::new(6));
            let mut sums = split.sums();
            for rows in [vec![0, 1, 2, 3, 4], vec![5], (6..12).collect()] {
                let part = batch.select(&rows);
                split.accumulate(&part.x, part.seen(), &mut sums).unwrap();
            }
            let of_sums = split.apply(&sums).unwrap();
            let (of_batch, x) = (whole.learn(&batch.x, batch.seen()).unwrap(), batch.x);
            assert_eq!(of_sums.rows, of_batch.rows);
            let (a, b) = (split.predict(&x).unwrap(), whole.predict(&x).unwrap());
            let scale = b.mean().iter().chain(b.var()).fold(1e-2, |m: f64, v| m.max(v.abs()));
            let pairs = a.mean().iter().chain(a.var()).zip(b.mean().iter().chain(b.var()));
            let off = pairs.fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
            assert!(off <= 1e-4 * scale, "{what} on {device}: {off} of {scale}");
        }
    }
}

#[test]
fn sums_that_do_not_fit_are_refused() {
    let net = |widths: [usize; 3], device: Device| {
        Network::mlp(widths, Activation::Tanh).device(device).build().unwrap()
    };
    let mut small = net([2, 4, 1], Device::cpu(1));
    let other = net([2, 5, 1], Device::cpu(1)).sums();
    assert!(small.apply(&other).unwrap_err().to_string().contains("other layers"));
    // As many parameters, in other layers.
    let line =
        Network::builder(Shape::flat(16)).layer(Layer::linear(1)).device(Device::cpu(1)).build().unwrap();
    assert_eq!(line.parameters(), small.parameters());
    assert!(small.apply(&line.sums()).is_err());
    let mut exact = net([2, 4, 1], Device::reference()).sums();
    let (x, y) = (Draw::new(1).matrix(1, 2), Matrix::column(vec![1.0]).unwrap());
    let error = small.accumulate(&x, &y, &mut exact).unwrap_err().to_string();
    assert!(error.contains("another device"), "{error}");
    let nothing = small.sums();
    assert!(small.apply(&nothing).unwrap_err().to_string().contains("nothing was accumulated"));
    let (before, mut sums) = (bytes(&small), small.sums());
    let huge = Matrix::new(vec![3e38, 3e38], 2).unwrap();
    assert!(matches!(small.accumulate(&huge, &y, &mut sums), Err(tractable::Error::Diverged { .. })));
    assert!(small.apply(&sums).is_err(), "what diverged is not counted");
    assert_eq!(bytes(&small), before);
}

/// A layer of very many inputs and one output: the device says what it takes.
#[test]
fn a_wide_input_is_a_network_like_any_other() {
    for device in [Device::cpu(1), Device::reference()] {
        let net = Network::mlp([300_000, 1], Activation::Relu).device(&device).build().unwrap();
        let x = Matrix::new(vec![1e-3; 300_000], 300_000).unwrap();
        assert!(net.predict(&x).unwrap().mean()[0].is_finite());
    }
    let wider = || Network::builder(Shape::flat(1 << 21)).layer(Layer::linear(1));
    assert!(wider().device(Device::cpu(1)).build().is_err());
    assert!(wider().device(Device::reference()).build().is_ok());
}
