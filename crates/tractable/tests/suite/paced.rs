//! Paced networks: the step, what its precisions settle at, averaged means, recomputed statistics, and that a deep network learns.

use crate::cases::{Draw, Model, bytes, worst};
use std::ops::ControlFlow;
use tractable::data::{self, Dataset};
use tractable::moments::posterior::{Pace, Updated, free_paced, paced};
use tractable::train::{Progress, Sync};
use tractable::workers::Threads;
use tractable::{Activation, Device, Fit, Layer, Matrix, Network, Prior, Shape, network::UpdateRule};

fn devices() -> [Device; 2] {
    [Device::cpu(2), Device::reference()]
}

/// T80 with precisions instead of variances.
fn in_precisions(mu: f64, var: f64, g_mean: f64, g_var: f64, p: Pace<f64>) -> (f64, f64, bool) {
    let new = (1.0 - p.share) / var + p.share * p.precision - g_var;
    let step = p.length / new * (g_mean - p.pull * mu);
    let most = 0.5 / new.sqrt();
    (mu + step.clamp(-most, most), 1.0 / new, step.abs() > most)
}

fn drawn(draw: &mut Draw, i: usize) -> ([f64; 4], Pace<f64>) {
    let precision = 10f64.powf(draw.uniform(-1.0, 5.0));
    let pace = Pace {
        length: [1.0, 1000.0, draw.uniform(0.0, 10.0)][i % 3],
        share: [draw.uniform(0.0, 0.01), draw.uniform(0.0, 1.0), 1.0][i / 3 % 3],
        precision,
        pull: draw.uniform(0.0, 1.0),
    };
    let var = draw.uniform(0.01, 1.0) / precision;
    let (g_mean, g_var) = (draw.normal() / var.sqrt(), -10f64.powf(draw.uniform(-4.0, 2.0)) / var);
    ([draw.normal(), var, g_mean * draw.uniform(0.0, 1.0).powi(8), g_var], pace)
}

#[test]
fn a_step_in_precisions() {
    let mut draw = Draw::new(1);
    let mut limited = 0;
    for i in 0..20_000 {
        let ([mu, var, g_mean, g_var], pace) = drawn(&mut draw, i);
        let (mean, new, capped) = in_precisions(mu, var, g_mean, g_var, pace);
        let step = paced(mu, var, g_mean, g_var, pace);
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-11 * b.abs().max(1e-3);
        assert!(near(step.mean, mean) && near(step.var / new, 1.0), "{step:?} {mean} {new} {pace:?}");
        assert_eq!((step.capped, step.repaired), (capped, false), "{pace:?}");
        assert!(step.var <= (1.0 + 1e-12) / pace.precision, "never wider than the prior: {step:?} {pace:?}");
        limited += u32::from(capped);
    }
    assert!((2000..18_000).contains(&limited), "{limited} were limited");
}

/// The fast way of a step is the careful one, or says that it is not.
#[test]
fn a_free_step_is_the_step() {
    let mut draw = Draw::new(2);
    let mut free = 0;
    for i in 0..20_000 {
        let (numbers, pace) = drawn(&mut draw, i);
        let ([mu, var, g_mean, g_var], pace) = (numbers.map(|v| v as f32), pace.to(|v| v as f32));
        let (mean, new, is_free) = free_paced(mu, var, g_mean, g_var, pace);
        let step = paced(mu, var, g_mean, g_var, pace);
        assert_eq!(is_free, !step.capped && !step.repaired);
        assert!(!is_free || (mean, new) == (step.mean, step.var));
        free += u32::from(is_free);
    }
    assert!((2000..18_000).contains(&free), "{free} were free");
}

#[test]
fn a_step_at_the_edges() {
    let pace = Pace { length: 1000.0f32, share: 0.1, precision: 4.0, pull: 2.0 };
    // What is known exactly stays.
    for share in [0.0, 0.3, 1.0] {
        let step = paced(2.0f32, 0.0, 5.0, -3.0, Pace { share, ..pace });
        assert_eq!(step, Updated { mean: 2.0, var: 0.0, capped: false, repaired: false });
    }
    // Nothing that overflows ends as a weight.
    for (g_mean, g_var) in
        [(f32::MAX, -f32::MAX), (f32::NAN, -1.0), (1.0, f32::NAN), (1.0, f32::NEG_INFINITY)]
    {
        let step = paced(1.0f32, 1e-30, g_mean, g_var, pace);
        assert!(step.mean.is_finite() && step.var >= f32::MIN_POSITIVE, "{step:?}");
        assert!(!free_paced(1.0f32, 1e-30, g_mean, g_var, pace).2 || g_var == -f32::MAX);
    }
    let step = paced(1.0f32, 0.25, 1.0, f32::NAN, pace);
    assert!(step.repaired && step.var > 0.0, "{step:?}");
}

/// A device takes the steps that the formula says, of weights, biases, scales and shifts, with the prior of deep networks.
#[test]
fn a_batch_of_nothing_pulls_weights_alone() {
    for device in devices() {
        let net = Network::builder(Shape::flat(3))
            .layer(Layer::linear(5))
            .layer(Layer::batch_norm())
            .layer(Layer::linear(1))
            .noise_std([0.1])
            .update_rule(UpdateRule::Paced { rows: 400, pace: 7 })
            .device(&device);
        let mut net = net.build().unwrap();
        assert_eq!(net.prior(), Prior::deep());
        let mut draw = Draw::new(4);
        net.learn(&draw.matrix(9, 3), &draw.matrix(9, 1)).unwrap();
        let latest = |net: &Network, layer: &str, part: &str| Model::of(net).get(&format!("{layer}.{part}"));
        let before = Model::of(&net);
        let (x, y) = (draw.matrix(4, 3), draw.matrix(4, 1));
        net.learn(&x, tractable::network::Observation::from(&y).seen(&[false; 4])).unwrap();
        for (layer, part, var, decay) in [
            ("linear1", "weight", 1.0 / 28_800.0, 20.0),
            ("linear1", "bias", 1.0 / 28_800.0, 0.0),
            ("batch_norm1", "weight", 1e-4, 0.0),
            ("batch_norm1", "bias", 1e-4, 0.0),
        ] {
            let pace = Pace { length: 7.0, share: 0.01, precision: 1.0 / var, pull: 0.01 * decay };
            let [m, v] = ["latest", "var"].map(|what| before.get(&format!("{layer}.{part}.{what}")));
            let expected = m.iter().zip(&v).map(|(&m, &v)| in_precisions(m, v, 0.0, 0.0, pace));
            let (mean, new): (Vec<_>, Vec<_>) = expected.map(|(mean, var, _)| (mean, var)).unzip();
            let off = worst(&latest(&net, layer, &format!("{part}.latest")), &mean, 0.01);
            let wide = worst(&latest(&net, layer, &format!("{part}.var")), &new, 0.0);
            assert!(off.max(wide) < 1e-5, "{layer} {part} on {device:?}: {off} {wide}");
        }
    }
}

/// A linear model whose inputs do not correlate: its precisions settle where every row counts once, at those of the exact posterior,
/// whatever the length of the steps; its means get there too.
#[test]
fn precisions_of_a_linear_model_are_exact() {
    let (rows, noise) = (512, 2.0);
    // Columns of a Hadamard matrix, and that of the bias.
    let sign = |r: usize, c: usize| if (r & c).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
    let scales = [1.0, 0.5, 2.0];
    let x: Vec<f64> = (0..rows).flat_map(|r| [0, 1, 2].map(|c| scales[c] * sign(r, 1 << c))).collect();
    let mut draw = Draw::new(3);
    let y: Vec<f64> = x.chunks(3).map(|x| x[0] - x[1] + 0.3 * x[2] + noise * draw.normal()).collect();
    let (x, y) = (Matrix::new(x, 3).unwrap(), Matrix::column(y).unwrap());
    let data = Dataset::new(x.clone(), y.clone()).unwrap();
    for device in devices() {
        let mut vars = Vec::new();
        for pace in [1, 40] {
            let net = Network::mlp([3, 1], Activation::Identity).noise_std([noise]).prior(Prior::he());
            let net = net.update_rule(UpdateRule::Paced { rows, pace }).device(&device);
            let mut net = net.build().unwrap();
            net.fit(&data, &Fit::new().epochs(60).batch(16)).unwrap();
            let (w, _) = net.weights("linear1").unwrap().unwrap();
            for (i, scale) in scales.iter().enumerate() {
                // Weights are pulled to 0 as if the prior had a precision of 20, their variance comes from the prior.
                let information = rows as f64 * scale * scale / (noise * noise);
                let by_y: f64 = (0..rows).map(|r| x.row(r)[i] * y.row(r)[0]).sum::<f64>() / (noise * noise);
                let (mean, precision) = (by_y / (information + 20.0), 3.0 + information);
                let off = (w.var()[i] * precision - 1.0).abs();
                // The variance of the output counts as noise: four weights' worth of 512 rows.
                assert!(off < 0.01, "weight {i}, pace {pace}, {device:?}: {off}");
                let off = (w.mean()[i] - mean).abs() * precision.sqrt();
                assert!(
                    pace == 1 || off < 0.15,
                    "weight {i}, pace {pace}, {device:?}: {off} standard deviations"
                );
            }
            vars.push(w.var().to_vec());
        }
        assert_eq!(vars[0], vars[1], "the length of steps is none of the variances' business");
    }
}

/// A share of the full length that depends on nothing but the share of the fit that is done: T80.
#[test]
fn the_course_of_a_fit() {
    let fit = Fit::new().epochs(6);
    let expected = |t: f64| (2.0 * t).min(1.0) * (std::f64::consts::PI * t / 12.0).cos().powi(2);
    for t in (0..=60).map(|i| f64::from(i) / 10.0) {
        assert!((fit.pace_at(t) - expected(t)).abs() < 1e-15, "after {t} epochs");
    }
    assert_eq!(fit.pace_at(7.0), 0.0);
    // The first step of a fit of one batch: half way through half an epoch's rise, and half way down.
    let (x, y) = (Matrix::column(vec![1.0, -1.0]).unwrap(), Matrix::column(vec![0.3, -0.3]).unwrap());
    let data = Dataset::new(x.clone(), y.clone()).unwrap();
    let net = |pace: usize| {
        let net = Network::mlp([1, 1], Activation::Identity).noise_std([1.0]).device(Device::reference());
        net.update_rule(UpdateRule::Paced { rows: 2, pace }).build().unwrap()
    };
    let (mut fitted, mut learned) = (net(30), net(15));
    fitted.fit(&data, &Fit::new().epochs(1).batch(2)).unwrap();
    learned.learn(&x, &y).unwrap();
    let of = |net: &Network| net.weights("linear1").unwrap().unwrap().0.mean().to_vec();
    assert!(worst(&of(&fitted), &of(&learned), 0.0) < 1e-15 && of(&fitted) != of(&net(30)));
}

/// A convolution, batch normalisation, a residual block.
fn small(device: &Device, rows: usize) -> Network {
    let net = Network::builder(Shape::image(1, 28, 28))
        .layer(Layer::conv2d(4, 4).stride(4))
        .layer(Layer::batch_norm())
        .layer(Layer::from(Activation::Relu).named("in"))
        .layer(Layer::conv2d(4, 3).padding(1))
        .layer(Layer::batch_norm())
        .layer(Activation::Relu)
        .layer(Layer::Add.of(["in", "relu2"]))
        .layer(Layer::avg_pool2d(7))
        .layer(Layer::linear(10))
        .classes(10);
    net.update_rule(UpdateRule::paced(rows)).seed(2).device(device).build().unwrap()
}

#[test]
fn a_resumed_fit_and_its_file_are_the_same_to_the_bit() {
    let images = data::digits(130, 0).unwrap();
    let mut files = Vec::new();
    for device in [Device::cpu(1), Device::cpu(3), Device::reference()] {
        let fit = Fit::new().epochs(4).batch(16);
        let (mut whole, mut first) = (small(&device, 130), small(&device, 130));
        whole.fit(&images, &fit).unwrap();
        first
            .fit_with(&images, &fit, |p| match p {
                Progress::Epoch(_, e) if e.epoch == 2 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            })
            .unwrap();
        let file = first.to_bytes().unwrap();
        let mut loaded = Network::from_bytes(&file, &device).unwrap();
        assert_eq!(bytes(&loaded), bytes(&first), "a file is the network");
        let mut clone = first.try_clone().unwrap();
        for net in [&mut loaded, &mut clone] {
            net.fit(&images, &fit.clone().first_epoch(2)).unwrap();
            assert_eq!(bytes(net), bytes(&whole), "on {device:?}");
        }
        let x = images.matrix(0..5).unwrap();
        assert_eq!(loaded.predict(&x).unwrap(), whole.predict(&x).unwrap());
        files.push(bytes(&whole));
    }
    assert_eq!(files[0], files[1], "whatever the number of threads");
}

/// A share of the average of the means: T81.
fn share(batch: i32) -> f64 {
    (10.0 / (9.0 + f64::from(batch))).max(0.005)
}

#[test]
fn predictions_use_the_average_of_the_means() {
    let mut net = Network::mlp([2, 6, 1], Activation::Tanh)
        .noise_std([0.3])
        .update_rule(UpdateRule::Paced { rows: 50, pace: 3 })
        .prior(Prior::he())
        .device(Device::reference())
        .build()
        .unwrap();
    let (mut draw, mut average) = (Draw::new(5), Vec::new());
    for batch in 1..=30 {
        let (x, y) = (draw.matrix(5, 2), draw.matrix(5, 1));
        match batch % 3 {
            0 => {
                let mut sums = net.sums();
                net.accumulate(&x, &y, &mut sums).unwrap();
                net.apply(&sums).unwrap();
            }
            _ => {
                net = Model::of(&net).load(Device::reference()).unwrap();
                net.learn(&x, &y).unwrap();
            }
        }
        let file = Model::of(&net);
        let latest = file.get("linear1.weight.latest");
        average.resize(latest.len(), 0.0);
        for (a, l) in average.iter_mut().zip(&latest) {
            *a += share(batch) * (l - *a);
        }
        let (w, b) = net.weights("linear1").unwrap().unwrap();
        assert!(worst(w.mean(), &average, 1e-3) < 1e-12, "after {batch} batches");
        assert!(batch == 1 || worst(w.mean(), &latest, 1e-3) > 1e-6, "an average is not the latest");
        assert_eq!(w.mean(), file.get("linear1.weight.mean"));
        // Another network with these weights predicts the same.
        let mut other = Network::mlp([2, 6, 1], Activation::Tanh)
            .noise_std([0.3])
            .device(Device::reference())
            .build()
            .unwrap();
        let (w2, b2) = net.weights("linear2").unwrap().unwrap();
        other.set_weights("linear1", &w, &b).unwrap();
        other.set_weights("linear2", &w2, &b2).unwrap();
        assert_eq!(net.predict(&x).unwrap(), other.predict(&x).unwrap());
    }
    // Weights that are set are learned from; another rule learns from the average.
    let (w, b) = net.weights("linear1").unwrap().unwrap();
    net.set_weights("linear1", &w, &b).unwrap();
    assert_eq!(Model::of(&net).get("linear1.weight.latest"), w.mean());
    net.set_update_rule(UpdateRule::Capped).unwrap();
    assert!(!Model::of(&net).tensors.contains_key("linear1.weight.latest"));
    assert_eq!(net.weights("linear1").unwrap().unwrap(), (w, b));
}

/// After every epoch the statistics are those that units have with the averaged means.
#[test]
fn statistics_are_recomputed_after_every_epoch() {
    let mut draw = Draw::new(6);
    let x = draw.matrix(64, 3);
    let y = Matrix::column(x.data().chunks(3).map(|x| x[0] * x[1]).collect()).unwrap();
    let data = Dataset::new(x.clone(), y.clone()).unwrap();
    for device in devices() {
        let net = Network::builder(Shape::flat(3))
            .layer(Layer::linear(5))
            .layer(Layer::batch_norm())
            .layer(Activation::Relu)
            .layer(Layer::linear(1))
            .noise_std([0.3]);
        let mut net = net.update_rule(UpdateRule::paced(64)).device(&device).build().unwrap();
        let off = |net: &Network| {
            let (w, b) = net.weights("linear1").unwrap().unwrap();
            let inputs = [0, 1, 2].map(|i| (0..64).map(|r| x.row(r)[i]).sum::<f64>() / 64.0);
            let of = |row: &[f64]| row.iter().zip(&inputs).map(|(w, x)| w * x).sum::<f64>();
            let expected: Vec<f64> = w.mean().chunks(3).zip(b.mean()).map(|(row, b)| of(row) + b).collect();
            worst(&Model::of(net).get("batch_norm1.running.mean"), &expected, 0.1)
        };
        let mut epochs = 0;
        net.fit_with(&data, &Fit::new().epochs(3).batch(16), |p| {
            if let Progress::Epoch(net, _) = p {
                assert!(off(net) < 1e-5, "{device:?}: {}", off(net));
                epochs += 1;
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(epochs, 3);
        // Alone, learning keeps running ones.
        net.learn(&x.select(&[0, 1, 2]), &y.select(&[0, 1, 2])).unwrap();
        assert!(off(&net) > 1e-3, "{device:?}: {}", off(&net));
    }
}

#[test]
fn workers_share_batches_and_nothing_else() {
    let images = data::digits(70, 0).unwrap();
    let fit = Fit::new().epochs(2).batch(16);
    let mut alone = small(&Device::cpu(1), 70);
    let mut nets: Vec<Network> = (0..3).map(|_| alone.try_clone().unwrap()).collect();
    alone.fit(&images, &fit).unwrap();
    let fit_together = |nets: &mut [Network], sync: Sync| -> Vec<String> {
        std::thread::scope(|scope| {
            let run = |(net, worker): (&'_ mut Network, Threads)| {
                let go_on = |_: Progress<'_>| ControlFlow::Continue(());
                net.fit_together(&images, &fit, &worker, sync, go_on)
                    .err()
                    .map_or(String::new(), |e| e.to_string())
            };
            let threads: Vec<_> =
                nets.iter_mut().zip(Threads::team(3)).map(|pair| scope.spawn(move || run(pair))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        })
    };
    assert_eq!(fit_together(&mut nets, Sync::Batch), ["", "", ""]);
    nets[1..].iter().for_each(|net| assert_eq!(bytes(net), bytes(&nets[0])));
    let (one, three) = (Model::of(&alone), Model::of(&nets[0]));
    for tensor in
        ["conv1.weight.mean", "linear1.weight.latest", "batch_norm1.running.mean", "batch_norm2.running.var"]
    {
        let off = worst(&three.get(tensor), &one.get(tensor), 0.1);
        assert!(off < 0.02, "{tensor}: {off}");
    }
    let said = fit_together(&mut nets, Sync::Every(2));
    assert!(said.iter().any(|s| s.contains("must learn every batch together")), "{said:?}");
    let mark = alone.mark().unwrap();
    assert!(alone.since(&mark).unwrap_err().to_string().contains("paced"));
}

#[test]
fn a_file_that_does_not_fit_is_refused() {
    let mut net =
        Network::mlp([2, 3, 1], Activation::Tanh).update_rule(UpdateRule::paced(9)).build().unwrap();
    assert!(!Model::of(&net).tensors.contains_key("linear1.weight.latest"), "nothing was averaged yet");
    let mut draw = Draw::new(7);
    net.learn(&draw.matrix(4, 2), &draw.matrix(4, 1)).unwrap();
    let refused = |change: &dyn Fn(&mut Model)| {
        let mut file = Model::of(&net);
        change(&mut file);
        file.load(Device::cpu(1)).unwrap_err().to_string()
    };
    let capped = refused(&|file| {
        let mut spec = file.spec();
        spec["update"] = "capped".into();
        file.set_spec(&spec);
    });
    assert!(capped.contains("only a paced network has averages"), "{capped}");
    let missing = refused(&|file| drop(file.tensors.remove("linear2.bias.latest")));
    assert!(missing.contains("linear2.bias.latest: is missing"), "{missing}");
    let nan = refused(&|file| file.set("linear1.weight.latest", &[f64::NAN; 6]));
    assert!(nan.contains("linear1.weight.latest"), "{nan}");
    for rule in [UpdateRule::paced(0), UpdateRule::Paced { rows: 1, pace: 0 }] {
        assert!(Network::mlp([2, 3, 1], Activation::Tanh).update_rule(rule).build().is_err());
    }
}

/// A residual network of eight convolutions, with default settings.
#[test]
fn a_deep_network_learns_digits() {
    let (train, test) = (data::digits(800, 0).unwrap(), data::digits(400, 1).unwrap());
    let mut net = Network::builder(train.shape())
        .layer(Layer::conv2d(8, 4).stride(2).padding(1))
        .layer(Layer::batch_norm())
        .layer(Layer::from(Activation::Relu).named("out0"))
        .layer(Layer::conv2d(8, 2).stride(2))
        .layer(Layer::batch_norm())
        .layer(Layer::from(Activation::Relu).named("out1"));
    for block in 1..=3 {
        net = net
            .layer(Layer::conv2d(8, 3).padding(1))
            .layer(Layer::batch_norm())
            .layer(Activation::Relu)
            .layer(Layer::conv2d(8, 3).padding(1))
            .layer(Layer::batch_norm().named(format!("branch{block}")))
            .layer(Layer::Add.of([format!("out{block}"), format!("branch{block}")]))
            .layer(Layer::from(Activation::Relu).named(format!("out{}", block + 1)));
    }
    let net = net.layer(Layer::avg_pool2d(7)).layer(Layer::linear(10)).classes(10);
    let mut net = net.update_rule(UpdateRule::paced(800)).seed(1).device(Device::cpu(2)).build().unwrap();
    let mut errors = Vec::new();
    net.fit_with(&train, &Fit::new().epochs(8), |p| {
        if let Progress::Epoch(net, _) = p {
            let p: Vec<f64> =
                test.batches(100).flat_map(|x| net.predict_classes(&x).unwrap().data().to_vec()).collect();
            errors.push(tractable::metrics::error_rate(&p, &test.labels()).unwrap());
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    println!("errors {errors:?}");
    assert!(errors[7] < 0.35, "{errors:?}");
}
