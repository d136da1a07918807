//! The same bits: for any number of threads, for a batch and its rows, after save and load, for the same
//! seed. And single precision close to double.

use crate::cases::{Batch, Draw, bytes, teach, worst, zoo};
use std::ops::ControlFlow;
use tractable::data::Dataset;
use tractable::fnv::{EMPTY, fnv1a_64};
use tractable::{
    Activation, Device, Fit, Gaussian, Input, Layer, Matrix, Network, Shape,
    network::{NetworkBuilder, Observation, UpdateRule},
    train::{EarlyStopping, NoiseSchedule, Progress},
};

/// The noise of every epoch is the correctly rounded power, whatever the system's `pow` does. Digits and fingerprint come
/// from exact fractions in Python.
#[test]
fn noise_schedules_have_the_same_bits_everywhere() {
    let at = |decay, epoch| NoiseSchedule { start: 1.0, decay, floor: 0.0 }.at(epoch);
    let some = [(0.9, 4), (0.975, 12), (0.99, 19), (0.96, 21), (0.9999, 999)].map(|(d, e)| at(d, e));
    assert_eq!(
        some,
        [0.6561, 0.7379983458266509, 0.8261686238355866, 0.42432233652423107, 0.9049233858971459]
    );
    let decays = [0.7, 0.8, 0.85, 0.9, 0.95, 0.96, 0.97, 0.975, 0.98, 0.99, 0.995, 0.999, 0.9999];
    let all = decays.iter().flat_map(|&decay| (0..1000).map(move |epoch| at(decay, epoch)));
    assert_eq!(fnv1a_64(EMPTY, all.flat_map(f64::to_le_bytes)), 0x593e1e2ad22292e8);
    assert_eq!([at(0.5, 1070), at(0.5, 2000), at(2.0, 2000)], [f64::from_bits(16), 0.0, f64::INFINITY]);
}

fn devices() -> [Device; 2] {
    [Device::cpu(2), Device::reference()]
}

/// Large enough that every kernel shares its work among threads.
fn large() -> Vec<(&'static str, usize, NetworkBuilder)> {
    vec![
        ("dense", 230, Network::mlp([257, 131, 67, 3], Activation::MixtureRelu)),
        ("classes", 130, Network::mlp([100, 200, 90, 100], Activation::Tanh).classes(100)),
        (
            "convolution and average pool",
            7,
            Network::builder(Shape::image(3, 17, 15))
                .layer(Layer::conv2d(33, 3).padding(1))
                .layer(Activation::Relu)
                .layer(Layer::avg_pool2d(3).stride(2).end_padding(1))
                .layer(Layer::conv2d(20, 5))
                .layer(Activation::Relu)
                .layer(Layer::linear(40))
                .layer(Activation::Relu)
                .layer(Layer::linear(2)),
        ),
        (
            "convolution, max pool, normalisation",
            9,
            Network::builder(Shape::image(2, 18, 16))
                .layer(Layer::conv2d(40, 3).padding(1))
                .layer(Layer::batch_norm())
                .layer(Activation::Relu)
                .layer(Layer::max_pool2d(2))
                .layer(Layer::conv2d(30, 3).padding(1))
                .layer(Activation::Relu)
                .layer(Layer::batch_norm())
                .layer(Layer::max_pool2d(3).stride(2).padding(1))
                .layer(Layer::linear(11))
                .classes(10),
        ),
    ]
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    for (what, rows, builder) in large() {
        let run = |threads: usize| {
            let mut net = builder.clone().seed(1).device(Device::cpu(threads)).build().unwrap();
            teach(&mut net, 3, rows, 2);
            let x = Draw::new(3).gaussian(rows, net.input().len());
            let out = net.predict(&x).unwrap();
            let wanted = Batch::new(&net, rows, &mut Draw::new(4));
            let back = net.search(&x, wanted.seen()).unwrap();
            (bytes(&net), out, back)
        };
        let one = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == one, "{what}: {threads} threads differ from one");
        }
    }
}

#[test]
fn the_rows_of_a_batch_do_not_see_each_other() {
    for device in devices() {
        for (what, builder) in zoo() {
            let mut net = builder.device(&device).build().unwrap();
            teach(&mut net, 3, 5, 1);
            let x = Draw::new(2).matrix(37, net.input().len());
            let all = net.predict(&x).unwrap();
            let width = all.width();
            for rows in [1, 2, 5, 13, 36] {
                for from in (0..x.rows()).step_by(rows) {
                    let to = x.rows().min(from + rows);
                    let part = net.predict(tractable::Input::from(&x).rows_between(from, to)).unwrap();
                    let same = part.mean() == &all.mean()[from * width..to * width]
                        && part.var() == &all.var()[from * width..to * width];
                    assert!(same, "{what} on {device:?}: rows {from} to {to} differ alone");
                }
            }
        }
    }
}

/// Many rows are taken in parts; where a part ends must not show, neither in the numbers nor in what was seen.
#[test]
fn parts_of_many_rows_do_not_show() {
    let (inputs, rows) = (20_000, 250); // about a hundred rows at a time
    let net = Network::builder(Shape::flat(inputs)).layer(Activation::Tanh).layer(Layer::linear(2));
    let net = net.device(Device::cpu(2)).build().unwrap();
    let mut draw = Draw::new(1);
    let mean = (0..rows * inputs).map(|_| draw.uniform(-1.0, 1.0)).collect();
    let x = Gaussian::new(mean, vec![0.1; rows * inputs], inputs).unwrap();
    let y = draw.matrix(rows, 2);
    let noise: Vec<f64> = (0..2 * rows).map(|_| draw.uniform(0.1, 1.0)).collect();
    let seen: Vec<bool> = (0..2 * rows).map(|_| draw.below(3) > 0).collect();
    let whole = net.predict(&x).unwrap();
    let back = net.search(&x, Observation::from(&y).noise_var(&noise).seen(&seen)).unwrap();
    for row in (0..rows).step_by(7).chain(90..120) {
        let one = Input::from(&x).rows_between(row, row + 1);
        let two = 2 * row..2 * row + 2;
        let out = net.predict(one).unwrap();
        assert_eq!(
            (out.mean(), out.var()),
            (&whole.mean()[two.clone()], &whole.var()[two.clone()]),
            "row {row}"
        );
        let y = y.select(&[row]);
        let wanted = Observation::from(&y).noise_var(&noise[two.clone()]).seen(&seen[two]);
        let alone = net.search(one, wanted).unwrap();
        let here = row * inputs..(row + 1) * inputs;
        assert!(alone.mean() == &back.mean()[here.clone()] && alone.var() == &back.var()[here], "row {row}");
    }
}

fn again(net: &Network, device: Device) -> Network {
    let dir = tempfile::tempdir().unwrap();
    net.save(dir.path().join("net")).unwrap();
    Network::load(dir.path().join("net"), device.clone()).unwrap()
}

#[test]
fn save_load_continue_is_continue() {
    for device in devices() {
        for (what, builder) in zoo() {
            let mut net = builder.device(&device).build().unwrap();
            teach(&mut net, 3, 7, 1);
            let mut loaded = again(&net, device.clone());
            assert!(bytes(&net) == bytes(&loaded), "{what} on {device:?}: load");
            teach(&mut net, 3, 7, 2);
            teach(&mut loaded, 3, 7, 2);
            assert!(bytes(&net) == bytes(&loaded), "{what} on {device:?}: continue");
            let file = |net: &Network| {
                let dir = tempfile::tempdir().unwrap();
                net.save(dir.path().join("net")).unwrap();
                std::fs::read(dir.path().join("net")).unwrap()
            };
            assert!(file(&net) == file(&loaded), "{what} on {device:?}: the file itself");
        }
    }
}

/// x and a noisy function of it, standardised, with a few targets missing.
fn toy(rows: usize, seed: u64) -> Dataset {
    let mut draw = Draw::new(seed);
    let x = draw.matrix(rows, 2);
    let y = (0..rows).map(|r| 10.0 + 5.0 * x.row(r)[0] * x.row(r)[1] + draw.normal()).collect();
    Dataset::new(x, Matrix::column(y).unwrap()).unwrap().standardize()
}

#[test]
fn a_fit_that_was_saved_and_loaded_goes_on_as_if_nothing_had_happened() {
    let noise = NoiseSchedule { start: 1.0, decay: 0.7, floor: 0.2 };
    let fit = Fit::new().epochs(6).batch(7).noise(noise).seed(5);
    for device in devices() {
        let builder = || {
            Network::builder(Shape::flat(2))
                .layer(Layer::linear(9))
                .layer(Layer::batch_norm())
                .layer(Activation::Relu)
                .layer(Layer::linear(1))
                .device(&device)
        };
        let data = toy(50, 1);
        let mut whole = builder().build().unwrap();
        whole.fit(&data, &fit).unwrap();
        let mut first = builder().build().unwrap();
        first.fit(&data, &fit.clone().epochs(4)).unwrap();
        let mut then = again(&first, device.clone());
        assert_eq!(then.epochs(), 4);
        then.fit(&data, &fit.clone().first_epoch(then.epochs())).unwrap();
        assert!(bytes(&whole) == bytes(&then), "{device:?}");
        // And the order matters: another seed of the shuffle ends elsewhere.
        let mut other = builder().build().unwrap();
        other.fit(&data, &fit.clone().seed(6)).unwrap();
        assert!(bytes(&whole) != bytes(&other));
    }
}

#[test]
fn the_seed_decides() {
    for device in devices() {
        for (what, builder) in zoo() {
            let run = |seed: u64| {
                let mut net = builder.clone().seed(seed).device(&device).build().unwrap();
                teach(&mut net, 2, 6, 1);
                net.predict(&Draw::new(2).matrix(3, net.input().len())).unwrap()
            };
            assert_eq!(run(7), run(7), "{what} on {device:?}");
            assert_ne!(run(7), run(8), "{what} on {device:?}");
        }
    }
}

#[test]
fn early_stopping_goes_back_to_the_best_epoch() {
    // Noise that falls far below the data's own: the fit grows over-confident after a few epochs.
    let noise = NoiseSchedule { start: 2.0, decay: 0.85, floor: 0.01 };
    let fit = Fit::new().epochs(60).batch(4).noise(noise).early_stopping(0.3, 3);
    for device in devices() {
        let mut net = Network::mlp([2, 20, 1], Activation::Tanh).device(&device).build().unwrap();
        let mut epochs = Vec::new();
        let report = net
            .fit_with(&toy(60, 2), &fit, |progress| {
                if let Progress::Epoch(net, e) = progress {
                    epochs.push((e.validation_nll.unwrap(), bytes(net), net.noise_std().to_vec()));
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        let best = report.best_epoch.unwrap();
        let lowest = (0..epochs.len()).min_by(|&a, &b| epochs[a].0.total_cmp(&epochs[b].0)).unwrap();
        assert_eq!(best, lowest + 1);
        assert_eq!(report.epochs.len(), best + 3, "three epochs of patience");
        assert!(best > 1 && report.epochs.len() < 60, "stopped early: best {best}");
        assert_eq!(net.noise_std(), epochs[lowest].2, "{device:?}: noise of the best epoch");
        assert_eq!(net.epochs(), best);
        assert!(bytes(&net) == epochs[lowest].1, "{device:?}: everything of the best epoch");
    }
}

#[test]
fn a_score_that_is_not_a_number_is_never_the_best() {
    let mut stopping = EarlyStopping { patience: 2, best: None };
    let scores = [f64::NAN, f64::NAN, f64::NAN, 3.0, f64::NAN, 2.0, 2.0, f64::NAN];
    let best: Vec<bool> = (1..).zip(scores).map(|(epoch, nll)| stopping.update(epoch, nll)).collect();
    assert_eq!(best, [false, false, false, true, false, true, false, false]);
    assert_eq!(stopping.best, Some((2.0, 6)));
    assert!(!stopping.is_over(7) && stopping.is_over(8));
    // Without a score there is nothing to be out of patience with.
    let mut none = EarlyStopping { patience: 1, best: None };
    assert!(!none.update(1, f64::NAN) && !none.update(9, f64::NAN) && !none.is_over(9));
}

mod slow {
    use super::*;

    /// A batch of another size needs other memory; what an earlier batch left there must not matter.
    #[test]
    fn batches_of_any_size_in_any_order() {
        for device in [Device::cpu(1), Device::cpu(2), Device::reference()] {
            for (what, builder) in zoo() {
                let mut net = builder.device(&device).build().unwrap();
                let mut draw = Draw::new(3);
                for rows in [3, 50, 1, 17, 120, 2] {
                    let mut fresh = again(&net, device.clone());
                    let batch = Batch::new(&net, rows, &mut draw);
                    let unsure = draw.gaussian(rows, net.input().len());
                    // A network of its own, so that only one of the two has seen an uncertain input.
                    assert_eq!(
                        net.predict(&unsure).unwrap(),
                        again(&net, device.clone()).predict(&unsure).unwrap()
                    );
                    let info = net.learn(&batch.x, batch.seen()).unwrap();
                    assert_eq!(info, fresh.learn(&batch.x, batch.seen()).unwrap());
                    assert!(bytes(&net) == bytes(&fresh), "{what} on {device:?}: {rows} rows");
                }
            }
        }
    }

    /// Rounding errors stay rounding errors where the update itself does not amplify them: one row at a time for
    /// every activation, and batches under the cap where the activation's slope moves smoothly and targets are
    /// standardised. (Elsewhere with batches of 16 and a noise of 0.1, a network in f64 whose start is changed in the
    /// eighth digit ends as far off as one in f32 does: ReLUs switch, and tanh overshoots into another valley.)
    #[test]
    fn single_precision_stays_with_double() {
        let mut draw = Draw::new(1);
        let x: Vec<f64> = (0..100).map(|_| draw.uniform(-1.7, 1.7)).collect();
        let y: Vec<f64> = x.iter().map(|x| (x * x * x + 0.1 * draw.normal()) / 1.86).collect();
        let grid = Matrix::column((0..69).map(|i| -1.7 + 0.05 * f64::from(i)).collect()).unwrap();
        use Activation::{MixtureRelu, Relu, Sigmoid, Softplus, Tanh};
        let batches = [MixtureRelu].map(|a| (a, 16)).into_iter();
        for (activation, batch) in batches.chain([Relu, Tanh, Sigmoid, Softplus, MixtureRelu].map(|a| (a, 1)))
        {
            for widths in [vec![1, 64, 64, 1], vec![1, 50, 1]] {
                for seed in 0..2 {
                    let run = |device: Device| {
                        let net = Network::mlp(widths.clone(), activation).noise_std([0.1]).seed(seed);
                        let mut net = net.update_rule(UpdateRule::Capped).device(&device).build().unwrap();
                        for step in 0..400 {
                            let rows = (0..batch).map(|i| (step * batch + i) % 100);
                            let pick =
                                |v: &[f64]| Matrix::column(rows.clone().map(|r| v[r]).collect()).unwrap();
                            net.learn(&pick(&x), &pick(&y)).unwrap();
                        }
                        net.predict(&grid).unwrap()
                    };
                    let (single, double) = (run(Device::cpu(1)), run(Device::reference()));
                    let largest = |v: &[f64]| v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
                    let off = worst(single.mean(), double.mean(), largest(double.mean()));
                    let off_std = worst(
                        &single.output().std(),
                        &double.output().std(),
                        largest(&double.output().std()),
                    );
                    let what = format!("{widths:?} {activation:?}, batch {batch}, seed {seed}");
                    println!("{what}: mean off by {off:.1e}, std by {off_std:.1e} of the largest");
                    assert!(off < 1e-5 && off_std < 1e-5, "{what}: {off:e}, {off_std:e}");
                    let y = double.mean()[4]; // x = -1.5
                    assert!(y < -1.0, "{what}: learned {y}, not -1.8");
                }
            }
        }
    }
}
