//! Merging what workers learned, and workers that fit together, all inside one process.

use std::ops::ControlFlow;
use tractable::data::{self, Dataset, Target};
use tractable::workers::{self, Threads};
use tractable::{
    Activation, Device, Error, Fit, Layer, Matrix, Network, Prior, Shape,
    network::{Increment, UpdateRule},
    rng,
    train::Sync,
};

/// One weight per input and no correlation between them: rows that touch one input each. The exact posterior is that of Gaussian
/// regression, input by input.
fn linear(seed: u64) -> Network {
    let net = Network::builder(Shape::flat(3)).layer(Layer::linear(1));
    let prior = Prior::he().gain(4.0).bias_var(1e-12);
    net.noise_std([0.5]).prior(prior).seed(seed).device(Device::reference()).build().unwrap()
}

/// Rows of a linear function: input, value.
fn rows(n: usize) -> Vec<([f64; 3], f64)> {
    let mut draw = rng::stream(7, "merge", 0);
    (0..n)
        .map(|i| {
            let mut x = [0.0; 3];
            x[i % 3] = rng::uniform(1.0, 2.0, &mut draw);
            (x, [0.7, -1.2, 0.1][i % 3] * x[i % 3] + 0.5 * rng::uniform(-0.5, 0.5, &mut draw))
        })
        .collect()
}

fn learn(net: &mut Network, rows: &[([f64; 3], f64)]) {
    for (x, y) in rows {
        net.learn(&Matrix::new(x.to_vec(), 3).unwrap(), &Matrix::column(vec![*y]).unwrap()).unwrap();
    }
}

fn weights(net: &Network) -> Vec<[f64; 2]> {
    let names: Vec<&str> = net.layer_names().iter().map(String::as_str).collect();
    let of = |name: &&str| net.weights(name).unwrap();
    let both = names.iter().filter_map(of).flat_map(|(w, b)| [w, b]);
    both.flat_map(|g| g.mean().iter().zip(g.var()).map(|(&m, &v)| [m, v]).collect::<Vec<_>>()).collect()
}

fn close(a: &Network, b: &Network, tolerance: f64) {
    for (i, (a, b)) in weights(a).iter().zip(weights(b)).enumerate() {
        for k in 0..2 {
            let size = b[k].abs().max(if k == 0 { b[1].sqrt() } else { 0.0 });
            assert!((a[k] - b[k]).abs() <= tolerance * size, "parameter {i}: {a:?} and {b:?}");
        }
    }
}

/// Mean and variance of each weight by Bayesian linear regression, with the network's own prior.
fn exact(prior: &Network, rows: &[([f64; 3], f64)]) -> Vec<[f64; 2]> {
    let prior = weights(prior);
    (0..3)
        .map(|i| {
            let [mean, var] = prior[i];
            let (mut precision, mut shift) = (1.0 / var, mean / var);
            for (x, y) in rows.iter().filter(|(x, _)| x[i] != 0.0) {
                precision += x[i] * x[i] / 0.25;
                shift += x[i] * y / 0.25;
            }
            [shift / precision, 1.0 / precision]
        })
        .collect()
}

#[test]
fn merged_is_the_exact_posterior() {
    let (mut net, rows) = (linear(3), rows(60));
    let (start, mark) = (net.try_clone().unwrap(), net.mark().unwrap());
    let shards = [&rows[..7], &rows[7..30], &rows[30..30], &rows[30..]];
    let increments: Vec<Increment> = shards
        .iter()
        .map(|shard| {
            let mut worker = net.try_clone().unwrap();
            learn(&mut worker, shard);
            let sent = worker.since(&mark).unwrap().to_bytes();
            Increment::from_bytes(&sent).unwrap()
        })
        .collect();
    let info = net.merge(&mark, &increments).unwrap();
    assert_eq!((info.rows, info.capped, info.repaired), (60, 0, 0));
    let mut one = start.try_clone().unwrap();
    learn(&mut one, &rows);
    for (got, one) in weights(&net).iter().zip(weights(&one)).take(3) {
        assert!((got[0] - one[0]).abs() < 1e-6 && (got[1] / one[1] - 1.0).abs() < 1e-6, "{got:?} {one:?}");
    }
    for (i, (got, exact)) in weights(&net).iter().zip(exact(&start, &rows)).enumerate() {
        assert!((got[0] - exact[0]).abs() < 1e-6 && (got[1] / exact[1] - 1.0).abs() < 1e-6, "weight {i}");
    }
}

/// Three shards over five epochs: each is removed before it is learned again.
#[test]
fn a_shard_that_is_learned_again_counts_once() {
    let (mut net, rows) = (linear(3), rows(30));
    let start = net.try_clone().unwrap();
    let mut sites: [Option<Increment>; 3] = [None, None, None];
    for _ in 0..5 {
        let mark = net.mark().unwrap();
        let mut changes = Vec::new();
        for (shard, site) in rows.chunks(10).zip(&mut sites) {
            let mut worker = net.try_clone().unwrap();
            if let Some(site) = site {
                worker.remove(site).unwrap();
            }
            learn(&mut worker, shard);
            let change = worker.since(&mark).unwrap();
            *site = Some(site.as_ref().map_or(change.clone(), |site| site.plus(&change).unwrap()));
            changes.push(change);
        }
        net.merge(&mark, &changes).unwrap();
    }
    for (i, (got, exact)) in weights(&net).iter().zip(exact(&start, &rows)).enumerate() {
        assert!((got[0] - exact[0]).abs() < 1e-6 && (got[1] / exact[1] - 1.0).abs() < 1e-6, "weight {i}");
    }
    // Without it, variances are those of five times the data.
    let mut twice = start.try_clone().unwrap();
    (0..5).for_each(|_| learn(&mut twice, &rows));
    assert!(weights(&twice)[0][1] < 0.3 * weights(&net)[0][1]);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let mut net = linear(3);
    let mark = net.mark().unwrap();
    let says = |e: Error| e.to_string();
    let of = |mut other: Network| {
        let mark = other.mark().unwrap();
        learn(&mut other, &rows(3));
        other.since(&mark).unwrap()
    };
    let wider =
        Network::mlp([3, 2, 1], Activation::Tanh).device(Device::reference()).seed(3).build().unwrap();
    let mut later = net.try_clone().unwrap();
    learn(&mut later, &rows(3));
    for (increment, why) in [
        (of(linear(4)), "different seed"),
        (of(wider), "different layers"),
        (of(later.try_clone().unwrap()), "different mark"),
    ] {
        let said = says(net.merge(&mark, &[increment]).unwrap_err());
        assert!(said.contains(why), "{said}");
    }
    assert!(says(net.merge(&mark, &[]).unwrap_err()).contains("there are none"));
    // Nothing has changed.
    assert!(net.mark().unwrap().surprise(&later.since(&mark).unwrap()).is_ok());
    close(&net, &linear(3), 0.0);
    let good = later.since(&mark).unwrap().to_bytes();
    for cut in 0..good.len() {
        assert!(
            Increment::from_bytes(&good[..cut]).map_or(true, |i| net.merge(&mark, &[i]).is_err()),
            "{cut}"
        );
    }
    let mut nan = good.clone();
    let at = nan.len() - 8;
    nan[at..].copy_from_slice(&f64::NAN.to_le_bytes());
    assert!(says(Increment::from_bytes(&nan).unwrap_err()).contains("not finite"));
}

/// One batch each from the same mark: no further than one limited step of a large batch.
#[test]
fn the_bound_on_a_step_is_kept() {
    let net = Network::mlp([1, 8, 1], Activation::Relu).noise_std([0.01]).seed(1).build().unwrap();
    let (x, y) = (Matrix::column(vec![0.5, 0.6]).unwrap(), Matrix::column(vec![30.0, 30.0]).unwrap());
    let mark = net.mark().unwrap();
    let mut worker = net.try_clone().unwrap();
    worker.learn(&x, &y).unwrap();
    let same = worker.since(&mark).unwrap();
    let mut merged = net.try_clone().unwrap();
    let info = merged.merge(&mark, &vec![same.clone(); 16]).unwrap();
    assert!(info.capped > 0);
    for (before, after) in weights(&net).iter().zip(weights(&merged)) {
        assert!(
            (after[0] - before[0]).abs() <= before[1].sqrt() / 2.0 * (1.0 + 1e-6),
            "{before:?} {after:?}"
        );
        assert!(after[1] >= before[1] / 4.0 * (1.0 - 1e-6), "{before:?} {after:?}");
    }
    // If the rule has no bound, merging has none.
    let mut plain = net.try_clone().unwrap();
    plain.set_update_rule(UpdateRule::Plain).unwrap();
    assert_eq!(plain.merge(&mark, &vec![same; 16]).unwrap().capped, 0);
}

#[test]
fn garbage_is_surprising() {
    let (net, rows) = (linear(3), rows(60));
    let mark = net.mark().unwrap();
    let worker = |from: &[([f64; 3], f64)]| {
        let mut worker = net.try_clone().unwrap();
        learn(&mut worker, from);
        mark.surprise(&worker.since(&mark).unwrap()).unwrap()
    };
    let good: Vec<f64> = rows.chunks(12).map(worker).collect();
    let wrong: Vec<_> = rows[..12].iter().map(|(x, y)| (*x, 100.0 * y)).collect();
    assert!(good.iter().all(|s| *s < 10.0), "{good:?}");
    assert!(worker(&wrong) > 100.0 * good.iter().fold(0.0f64, |a, b| a.max(*b)), "{good:?}");
    assert_eq!(mark.surprise(&net.since(&mark).unwrap()).unwrap(), 0.0);
}

/// Noise that is inferred from all rows, and statistics of a normalisation over all rows.
#[test]
fn noise_and_statistics_are_those_of_all_rows() {
    let build = || {
        let layers = [Layer::linear(4), Layer::batch_norm(), Layer::linear(1)];
        let net = layers.into_iter().fold(Network::builder(Shape::flat(2)), |net, layer| net.layer(layer));
        net.device(Device::reference()).seed(5).build().unwrap()
    };
    let net = build();
    let mark = net.mark().unwrap();
    let batch = |from: usize, n: usize, offset: f64| {
        let x: Vec<f64> = (0..2 * n).map(|i| ((from + i) as f64).sin() + offset).collect();
        let y = (0..n).map(|i| x[2 * i] - x[2 * i + 1]).collect();
        (Matrix::new(x, 2).unwrap(), Matrix::column(y).unwrap())
    };
    let run = |(x, y): (Matrix, Matrix)| {
        let mut worker = net.try_clone().unwrap();
        worker.learn(&x, &y).unwrap();
        worker
    };
    let (a, b) = (run(batch(0, 10, 0.0)), run(batch(100, 30, 2.0)));
    let mut merged = net.try_clone().unwrap();
    merged.merge(&mark, &[a.since(&mark).unwrap(), b.since(&mark).unwrap()]).unwrap();
    // The noise: each worker's average over its rows and the first value, which counts as one.
    let [n0, na, nb, all] = [&net, &a, &b, &merged].map(|n| n.noise_std()[0].powi(2));
    let expected = (n0 + (11.0 * na - n0) + (31.0 * nb - n0)) / 41.0;
    assert!((all / expected - 1.0).abs() < 1e-12, "{all} {expected}");
    // The statistics, through what the network predicts: saved and read, because they are not public.
    let stats = |net: &Network| -> Vec<f64> {
        let bytes = net.to_bytes().unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let of = |name: &str| {
            let t = file.tensor(name).unwrap();
            t.data().chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect::<Vec<_>>()
        };
        let name = net.layer_names()[1].clone();
        [of(&format!("{name}.running.mean")), of(&format!("{name}.running.var"))].concat()
    };
    let [a, b, all] = [&a, &b, &merged].map(stats);
    for c in 0..4 {
        let mean = (10.0 * a[c] + 30.0 * b[c]) / 40.0;
        let spread =
            (10.0 * (a[4 + c] + (a[c] - mean).powi(2)) + 30.0 * (b[4 + c] + (b[c] - mean).powi(2))) / 40.0;
        assert!((all[c] - mean).abs() < 1e-12 && (all[4 + c] - spread).abs() < 1e-12, "channel {c}");
    }
}

/// Noise that follows the last rows only: increments of many workers must not push it back and forth.
#[test]
fn inferred_noise_settles_over_many_rows() {
    let mut net = Network::mlp([1, 8, 1], Activation::MixtureRelu).seed(3).build().unwrap();
    let mut draw = rng::stream(1, "noise", 0);
    let mut noise = Vec::new();
    for _ in 0..12 {
        let mark = net.mark().unwrap();
        let mut increments = Vec::new();
        for _ in 0..4 {
            let mut worker = net.try_clone().unwrap();
            for _ in 0..8 {
                let x: Vec<f64> = (0..200).map(|_| rng::uniform(-1.0, 1.0, &mut draw)).collect();
                let y = x.iter().map(|x| 0.5 * x + rng::uniform(-0.52, 0.52, &mut draw)).collect();
                worker.learn(&Matrix::column(x).unwrap(), &Matrix::column(y).unwrap()).unwrap();
            }
            increments.push(worker.since(&mark).unwrap());
        }
        net.merge_share(&mark, &increments, mark.share(&increments).unwrap()).unwrap();
        noise.push(net.noise_std()[0]);
    }
    let late = &noise[6..];
    assert!(late.iter().all(|n| (n / 0.3 - 1.0).abs() < 0.1), "{noise:?}");
}

/// Runs each worker in a thread; returns their final networks.
fn together(
    ranks: usize,
    nets: Vec<Network>,
    work: impl Fn(&mut Network, &Threads) + std::marker::Sync,
) -> Vec<Network> {
    let mut nets = nets;
    std::thread::scope(|scope| {
        for (net, worker) in nets.iter_mut().zip(Threads::team(ranks)) {
            let work = &work;
            scope.spawn(move || work(net, &worker));
        }
    });
    nets
}

fn copies(net: &Network, n: usize) -> Vec<Network> {
    (0..n).map(|_| net.try_clone().unwrap()).collect()
}

fn go_on(_: tractable::train::Progress<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn curve(n: usize) -> Dataset {
    let x: Vec<f64> = (0..n).map(|i| i as f64 / n as f64 * 4.0 - 2.0).collect();
    let y = x.iter().map(|x| (2.0 * x).sin()).collect();
    Dataset::new(Matrix::column(x).unwrap(), Matrix::column(y).unwrap()).unwrap().standardize()
}

/// With every device, kind of noise, batch normalisation and odd numbers of rows.
#[test]
fn every_batch_is_as_one_worker_and_the_same_bits_everywhere() {
    let norm = || {
        let layers =
            [Layer::linear(16), Layer::batch_norm(), Layer::from(Activation::Relu), Layer::linear(1)];
        layers.into_iter().fold(Network::builder(Shape::flat(1)), |net, layer| net.layer(layer))
    };
    let nets = [
        Network::mlp([1, 24, 24, 1], Activation::Relu).device(Device::reference()),
        Network::mlp([1, 24, 24, 1], Activation::Relu).device(Device::cpu(1)),
        norm().device(Device::reference()),
        norm().device(Device::cpu(1)),
        Network::mlp([1, 24, 1], Activation::Tanh).noise_std([0.3]).update_rule(UpdateRule::counted(101)),
    ];
    // 101 rows: the last batch has fewer rows than there are workers.
    let (data, fit) = (curve(101), Fit::new().epochs(2).batch(20));
    for (case, net) in nets.into_iter().enumerate() {
        let net = net.seed(2).build().unwrap();
        let mut one = net.try_clone().unwrap();
        one.fit(&data, &fit).unwrap();
        for ranks in [2, 3] {
            let run = || {
                together(ranks, copies(&net, ranks), |net, worker| {
                    net.fit_together(&data, &fit, worker, Sync::Batch, go_on).unwrap();
                })
            };
            let (nets, again) = (run(), run());
            for net in nets[1..].iter().chain(&again) {
                assert_eq!(weights(net), weights(&nets[0]), "case {case}");
            }
            let double = case == 0 || case == 2;
            close(&nets[0], &one, if double { 1e-9 } else { 2e-5 });
            let (a, b) = (nets[0].predict(data.input()).unwrap(), one.predict(data.input()).unwrap());
            let off = a.mean().iter().zip(b.mean()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-6 * if double { 1e-3 } else { 10.0 }, "case {case}, {ranks} workers: {off}");
        }
    }
}

/// Images that are changed at random: the part of a worker has the changes it would have in the whole batch.
#[test]
fn augmented_images_are_the_same_in_parts() {
    let images = data::digits(90, 0).unwrap().augment(data::Augment { flip: false, crop: 2, cutout: 4 });
    let net =
        Network::builder(images.shape()).layer(Layer::linear(10)).classes(10).device(Device::reference());
    let net = net.build().unwrap();
    let fit = Fit::new().epochs(2).batch(30).noise_std(1.0);
    let mut one = net.try_clone().unwrap();
    one.fit(&images, &fit).unwrap();
    let two = together(2, copies(&net, 2), |net, worker| {
        net.fit_together(&images, &fit, worker, Sync::Batch, go_on).unwrap();
    });
    close(&two[0], &one, 1e-9);
}

/// A shard with fewer rows than the others, and one with none.
#[test]
fn merging_now_and_then_learns_too() {
    let (data, fit) = (curve(101), Fit::new().epochs(20).batch(4).noise_std(0.1));
    let net = Network::mlp([1, 24, 1], Activation::Relu).seed(2).build().unwrap();
    let mut one = net.try_clone().unwrap();
    one.fit(&data, &fit).unwrap();
    let Target::Values { y, .. } = data.target() else { unreachable!("numbers") };
    // Of the variance of the values.
    let error = |net: &Network| {
        let out = net.predict(data.input()).unwrap();
        let squares: f64 = out.mean().iter().zip(y.data()).map(|(m, y)| (m - y).powi(2)).sum();
        squares / y.data().iter().map(|y| y * y).sum::<f64>()
    };
    for (ranks, every) in [(2, 1), (4, 3)] {
        let nets = together(ranks, copies(&net, ranks), |net, worker| {
            let report = net.fit_together(&data, &fit, worker, Sync::Every(every), go_on).unwrap();
            assert_eq!(report.epochs.last().unwrap().learned.rows, 101);
        });
        nets[1..].iter().for_each(|net| assert_eq!(weights(net), weights(&nets[0])));
        assert!(error(&nets[0]) < 0.6, "{} {}", error(&nets[0]), error(&one));
        assert_eq!(nets[0].epochs(), 20);
    }
    let few = curve(3);
    let nets = together(5, copies(&net, 5), |net, worker| {
        net.fit_together(&few, &Fit::new().epochs(2), worker, Sync::Every(1), go_on).unwrap();
    });
    nets[1..].iter().for_each(|net| assert_eq!(weights(net), weights(&nets[0])));
}

#[test]
fn an_error_of_one_is_an_error_of_all() {
    let (data, other) = (curve(40), curve(41));
    let net = Network::mlp([1, 8, 1], Activation::Relu).seed(2).build().unwrap();
    // Other rows.
    together(2, copies(&net, 2), |net, worker| {
        let mine = if workers::Transport::rank(worker) == 0 { &data } else { &other };
        let said = net.fit_together(mine, &Fit::new(), worker, Sync::Batch, go_on).unwrap_err().to_string();
        assert!(said.contains("differs from that of worker 0"), "{said}");
    });
    // Another start.
    let mut nets = copies(&net, 1);
    nets.push(Network::mlp([1, 8, 1], Activation::Relu).seed(3).build().unwrap());
    together(2, nets, |net, worker| {
        let said =
            net.fit_together(&data, &Fit::new(), worker, Sync::Every(2), go_on).unwrap_err().to_string();
        assert!(said.contains("its network differs"), "{said}");
    });
    // One fails: it has its own error, and the other is told.
    let said = std::sync::Mutex::new(Vec::new());
    together(2, copies(&net, 2), |net, worker| {
        let fit = Fit::new().batch(if workers::Transport::rank(worker) == 1 { 0 } else { 16 });
        let e = net.fit_together(&data, &fit, worker, Sync::Batch, go_on).unwrap_err();
        said.lock().unwrap().push(e.to_string());
    });
    let said = said.into_inner().unwrap();
    assert!(
        said.iter().any(|s| s.starts_with("worker 1: ")) && said.iter().any(|s| !s.starts_with("worker")),
        "{said:?}"
    );
    // One has ended.
    let [a, b] = Threads::team(2).try_into().unwrap();
    let alone = std::thread::spawn(move || drop(b));
    let said = net
        .try_clone()
        .unwrap()
        .fit_together(&data, &Fit::new(), &a, Sync::Batch, go_on)
        .unwrap_err()
        .to_string();
    alone.join().unwrap();
    assert_eq!(said, "worker 1: has ended");
}

#[test]
fn if_one_stops_all_stop() {
    let data = curve(40);
    let net = Network::mlp([1, 8, 1], Activation::Relu).seed(2).build().unwrap();
    let nets = together(3, copies(&net, 3), |net, worker| {
        let stops = workers::Transport::rank(worker) == 2;
        let report = net.fit_together(&data, &Fit::new(), worker, Sync::Batch, |p| match p {
            tractable::train::Progress::Epoch(_, e) if stops && e.epoch == 4 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        let report = report.unwrap();
        assert!(report.interrupted && report.epochs.len() == 4);
    });
    nets[1..].iter().for_each(|net| assert_eq!(weights(net), weights(&nets[0])));
}

/// Networks trained by several workers are bit-identical to those of one.
#[test]
fn an_ensemble_is_the_same_by_any_number_of_workers() {
    let (data, settings) = (curve(60), tractable::ensemble::Settings::default().visits(600));
    let one =
        tractable::Ensemble::fit_with(&data, &settings, |_| ControlFlow::Continue(())).unwrap().unwrap();
    let models = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in Threads::team(3) {
            let (data, settings, models) = (&data, &settings, &models);
            scope.spawn(move || {
                let go_on = |_: tractable::ensemble::Stage| ControlFlow::Continue(());
                let model =
                    tractable::Ensemble::fit_together(data, settings, &worker, go_on).unwrap().unwrap();
                models.lock().unwrap().push(model.predict(data.input()).unwrap());
            });
        }
    });
    let models = models.into_inner().unwrap();
    assert!(models.len() == 3 && models.iter().all(|m| *m == one.predict(data.input()).unwrap()));
}

#[test]
fn scalers_of_parts_are_the_scaler_of_all() {
    let x = |rows: std::ops::Range<usize>| {
        let values = rows.flat_map(|i| [1e6 + (i as f64).sin(), i as f64]).collect();
        Matrix::new(values, 2).unwrap()
    };
    let scaler = |rows| data::Scaler::fit(&x(rows));
    let (a, b, all) = (scaler(0..7), scaler(7..50), scaler(0..50));
    let merged = data::Scaler::merged(&[(7, &a), (43, &b)]).unwrap();
    for c in 0..2 {
        assert!((merged.mean()[c] / all.mean()[c] - 1.0).abs() < 1e-12, "{c}");
        assert!((merged.std()[c] / all.std()[c] - 1.0).abs() < 1e-9, "{c}");
    }
    let narrow = data::Scaler::identity(1);
    assert!(data::Scaler::merged(&[(1, &a), (1, &narrow)]).is_err());
    assert!(data::Scaler::merged(&[]).is_err() && data::Scaler::merged(&[(0, &a)]).is_err());
}

/// Sixteen workers that learned the same rows: their sum is far too surprising, and their average equals any one of them.
#[test]
fn many_workers_do_not_overshoot() {
    let net = Network::mlp([1, 16, 1], Activation::Relu).noise_std([0.05]).seed(1).build().unwrap();
    let mark = net.mark().unwrap();
    let mut worker = net.try_clone().unwrap();
    let (x, y) = (Matrix::column(vec![-0.5, 0.6]).unwrap(), Matrix::column(vec![8.0, 8.0]).unwrap());
    worker.learn(&x, &y).unwrap();
    let same = vec![worker.since(&mark).unwrap(); 16];
    assert_eq!(mark.share(&same[..1]).unwrap(), 1.0);
    let share = mark.share(&same).unwrap();
    assert!((1.0 / 16.0..=1.0).contains(&share), "{share}");
    let mut merged = net.try_clone().unwrap();
    merged.merge_share(&mark, &same, share).unwrap();
    let off = |net: &Network| (net.predict(&x).unwrap().mean()[1] - 8.0).abs();
    assert!(off(&merged) <= off(&net), "{} {}", off(&merged), off(&net));
}
