//! What the three verbs do, from a user's side.

use crate::cases::{Batch, Draw, Model, bytes, teach, with_noise, worst, zoo};
use tractable::data::Scaler;
use tractable::{
    Activation, Device, Gaussian, Layer, Matrix, Network, Prediction, Prior, Shape, Wanted,
    network::{Observation, UpdateRule},
};

fn devices() -> [Device; 2] {
    [Device::cpu(2), Device::reference()]
}

/// y = x0 + 2 x1, learned well.
fn sum(device: Device) -> Network {
    let net = Network::mlp([2, 30, 1], Activation::Tanh).noise_std([0.1]).device(&device);
    let mut net = net.build().unwrap();
    let mut draw = Draw::new(1);
    for _ in 0..600 {
        let x = draw.matrix(1, 2);
        let y = Matrix::column(vec![x.row(0)[0] + 2.0 * x.row(0)[1]]).unwrap();
        net.learn(&x, &y).unwrap();
    }
    net
}

#[test]
fn conditioning_moves_the_output_towards_what_is_wanted() {
    for device in devices() {
        let net = sum(device.clone());
        let before = bytes(&net);
        let prior = Gaussian::new(vec![0.2, -0.1], vec![0.05, 0.05], 2).unwrap();
        let wanted = Matrix::column(vec![1.0]).unwrap();
        let far = |x: &Gaussian| {
            let exact = Matrix::new(x.mean().to_vec(), 2).unwrap();
            (net.predict(&exact).unwrap().mean()[0] - 1.0).abs()
        };
        // Wanted loosely: hidden units are taken as independent, so a sharp wish overshoots.
        let (mut distance, mut var) = (far(&prior), prior.var().to_vec());
        let start = distance;
        for rounds in 1..12 {
            let x = net.search(&prior, Wanted::from(&wanted).noise_var(1.0).rounds(rounds)).unwrap();
            assert!(x.var().iter().zip(&var).all(|(now, then)| now < then), "{device:?}, round {rounds}");
            assert!(x.var().iter().all(|v| *v > 0.0));
            assert!(far(&x) < distance + 1e-3, "{device:?}, round {rounds}: {} from {distance}", far(&x));
            (distance, var) = (far(&x), x.var().to_vec());
            // The rounds of one call are calls one after the other.
            let mut step = prior.clone();
            for _ in 0..rounds {
                step = net.search(&step, Wanted::from(&wanted).noise_var(1.0)).unwrap();
            }
            assert_eq!(x, step, "{device:?}, {rounds} rounds");
        }
        assert!(distance < 0.3 * start, "{device:?}: {distance} from {start}");
        // More of x1 than of x0, as it weighs twice as much.
        let x = net.search(&prior, Wanted::from(&wanted).noise_var(1.0)).unwrap();
        assert!(x.mean()[1] + 0.1 > 1.3 * (x.mean()[0] - 0.2) && x.mean()[0] > 0.2);
        assert!(bytes(&net) == before, "the weights were left alone");
    }
}

#[test]
fn conditioning_leaves_every_kind_of_network_alone() {
    for device in devices() {
        for (what, builder) in zoo() {
            let mut net = builder.device(&device).build().unwrap();
            teach(&mut net, 2, 4, 1);
            let before = bytes(&net);
            let mut draw = Draw::new(2);
            let (batch, prior) = (Batch::new(&net, 3, &mut draw), draw.gaussian(3, net.input().len()));
            let names = net.layer_names().to_vec();
            for (i, name) in std::iter::once(&"input".to_string()).chain(&names).enumerate() {
                let hidden = net.search(&prior, Wanted::from(batch.seen()).layer(name)).unwrap();
                // The same without an observation: the layer's prior, as a forward pass has it.
                let nothing = vec![false; 3 * net.output().units()];
                let unseen = Wanted::from(batch.seen()).only(&nothing).layer(name);
                let own = net.search(&prior, unseen).unwrap();
                assert_eq!((hidden.rows(), hidden.width()), (own.rows(), own.width()));
                let narrower = hidden.var().iter().zip(own.var()).all(|(post, prior)| post <= prior);
                assert!(narrower, "{what} on {device:?}, {name}: variances grew");
                assert_ne!(hidden, own, "{what} on {device:?}, {name}: nothing happened");
                if i == 0 {
                    assert_eq!(own.mean().len(), prior.mean().len());
                }
                if i == names.len() {
                    let mean = net.predict(&prior).unwrap();
                    let near = own
                        .mean()
                        .iter()
                        .zip(mean.mean())
                        .all(|(a, b)| (a - b).abs() < 1e-5 * (1.0 + b.abs()));
                    assert!(near, "{what} on {device:?}: output");
                }
                let more = net.search(&prior, Wanted::from(batch.seen()).layer(name).rounds(3)).unwrap();
                let narrower = more.var().iter().zip(hidden.var()).all(|(more, one)| more <= one);
                assert!(narrower, "{what} on {device:?}, {name}: variances grew over rounds");
            }
            assert!(bytes(&net) == before, "{what} on {device:?}");
        }
    }
}

#[test]
fn nothing_observed_is_nothing_learned() {
    for device in devices() {
        for (what, builder) in zoo() {
            let net = builder.device(&device).build().unwrap();
            if what.contains("normalisation") {
                continue; // running statistics follow the inputs even so
            }
            let mut same = Model::of(&net).load(device.clone()).unwrap();
            let batch = Batch::new(&net, 5, &mut Draw::new(1));
            let nothing = vec![false; 5 * net.output().units()];
            let info = same.learn(&batch.x, batch.seen().seen(&nothing)).unwrap();
            assert_eq!((info.rows, info.capped, info.repaired), (5, 0, 0));
            assert!(bytes(&net) == bytes(&same), "{what} on {device:?}");
        }
    }
}

#[test]
fn only_what_is_wanted_matters() {
    for device in devices() {
        let mut net = Network::mlp([3, 12, 4], Activation::Relu).device(&device).build().unwrap();
        teach(&mut net, 3, 4, 1);
        let mut draw = Draw::new(2);
        let (prior, y) = (draw.gaussian(2, 3), draw.matrix(2, 4));
        let only = [true, false, true, false, false, false, true, true];
        let other: Vec<f64> = y.data().iter().zip(only).map(|(y, o)| if o { *y } else { 1e6 }).collect();
        let other = Matrix::new(other, 4).unwrap();
        let condition = |y: &Matrix| net.search(&prior, Wanted::from(y).only(&only)).unwrap();
        assert_eq!(condition(&y), condition(&other));
        assert_ne!(condition(&y), net.search(&prior, &y).unwrap());
        // A row without any wish stays as it is, bit for bit where the device has the bits.
        let second = [false, false, false, false, true, true, true, true];
        let x = net.search(&prior, Wanted::from(&y).only(&second)).unwrap();
        assert!(worst(&x.mean()[..3], &prior.mean()[..3], 1e-3) < 1e-7);
        assert!(worst(&x.mean()[3..], &prior.mean()[3..], 1e-3) > 1e-3);
        // Learning with a mask does not look at what it hides.
        let (mut a, mut b) =
            (Model::of(&net).load(device.clone()).unwrap(), Model::of(&net).load(device.clone()).unwrap());
        let x = draw.matrix(2, 3);
        a.learn(&x, Observation::from(&y).seen(&only)).unwrap();
        b.learn(&x, Observation::from(&other).seen(&only)).unwrap();
        assert!(bytes(&a) == bytes(&b));
    }
}

/// A row of which nothing was seen is no row: the same as learning from the others alone.
/// A cell that is empty in a table is not seen, also where the table's own target is what is learned from.
#[test]
fn an_empty_cell_is_not_seen() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, "x,y\n0.5,1\n-0.5,\n1.5,2\n").unwrap();
    let data = tractable::data::csv(&path).unwrap().target("y").unwrap();
    let net = Network::mlp([1, 4, 1], Activation::Tanh).device(Device::reference()).build().unwrap();
    let [mut by_table, mut by_mask] = [(); 2].map(|()| Model::of(&net).load(Device::reference()).unwrap());
    by_table.learn(data.x(), data.target()).unwrap();
    let y = Matrix::column(vec![1.0, 0.0, 2.0]).unwrap();
    by_mask.learn(data.x(), Observation::from(&y).seen(&[true, false, true])).unwrap();
    assert_eq!(bytes(&by_table), bytes(&by_mask));
}

/// The largest number that may be observed, and one beyond it, which is named by its place.
#[test]
fn numbers_are_observed_up_to_their_limit() {
    for (device, most) in [(Device::cpu(1), 1e18), (Device::reference(), 1e150)] {
        let x = Matrix::new(vec![0.5; 3], 1).unwrap();
        let y = |at: usize, v: f64| {
            let all = (0..6).map(|i| if i == at { v } else { 0.0 }).collect();
            Matrix::new(all, 2).unwrap()
        };
        let mut net = Network::mlp([1, 2], Activation::Relu).device(&device).build().unwrap();
        net.learn(&x, &y(3, -most)).unwrap();
        let beyond = net.learn(&x, &y(4, most * 1.001)).unwrap_err();
        let place = match beyond {
            tractable::Error::OutOfRange { row, column, value, .. } => (row, column, value),
            other => panic!("{other}"),
        };
        assert_eq!(place, (2, 0, most * 1.001));
    }
}

#[test]
fn learning_with_a_mask_is_learning_from_the_rest() {
    for device in devices() {
        for (what, builder) in zoo() {
            let net = builder.update_rule(UpdateRule::Plain).device(&device).build().unwrap();
            if what.contains("normalisation") {
                continue; // statistics are of all rows, seen or not
            }
            let units = net.output().units();
            let batch = Batch::new(&net, 5, &mut Draw::new(4));
            let rows = [0, 2, 3];
            let seen: Vec<bool> = (0..5 * units).map(|i| rows.contains(&(i / units))).collect();
            let [mut masked, mut rest] = [(); 2].map(|()| Model::of(&net).load(device.clone()).unwrap());
            masked.learn(&batch.x, batch.seen().seen(&seen)).unwrap();
            let labels: Vec<usize> = rows.iter().map(|&r| batch.labels[r]).collect();
            let y = batch.y.select(&rows);
            match net.output() {
                tractable::network::Output::Classes { .. } => {
                    rest.learn(&batch.x.select(&rows), &labels).unwrap()
                }
                _ => rest.learn(&batch.x.select(&rows), &y).unwrap(),
            };
            // Sums over the batch differ in order only.
            let (a, b) = (Model::of(&masked), Model::of(&rest));
            for name in a.tensors.keys() {
                let off = worst(&a.get(name), &b.get(name), 1e-2);
                assert!(off < 1e-5, "{what} on {device:?}, {name}: {off:e}");
            }
            assert_ne!(a.tensors, Model::of(&net).tensors);
        }
    }
}

#[test]
fn what_is_known_exactly_stays_bitwise() {
    for device in devices() {
        for (what, builder) in zoo() {
            let net = builder.device(&device).build().unwrap();
            let mut draw = Draw::new(3);
            let n = net.input().len();
            let batch = Batch::new(&net, 2, &mut draw);
            // Numbers f32 has exactly, every second known.
            let mean: Vec<f64> = draw.normals(2 * n).iter().map(|v| f64::from(*v as f32)).collect();
            let var: Vec<f64> = (0..2 * n).map(|i| if i % 2 == 0 { 0.0 } else { 0.25 }).collect();
            let prior = Gaussian::new(mean.clone(), var, n).unwrap();
            let x = net.search(&prior, Wanted::from(batch.seen()).rounds(4)).unwrap();
            for (i, known) in mean.iter().enumerate() {
                let same = x.mean()[i] == *known && x.var()[i] == 0.0;
                assert_eq!(same, i % 2 == 0, "{what} on {device:?}: entry {i}");
            }
        }
    }
}

#[test]
fn larger_noise_means_smaller_steps() {
    for device in devices() {
        let step = |noise: f64| {
            let net = Network::mlp([2, 10, 1], Activation::Tanh).noise_std([noise]).device(&device);
            let mut net = net.build().unwrap();
            let before = Model::of(&net);
            let x = Matrix::new(vec![0.3, -0.8], 2).unwrap();
            net.learn(&x, &Matrix::column(vec![3.0]).unwrap()).unwrap();
            let after = Model::of(&net);
            let change = |part: &str| {
                let name = format!("linear2.weight.{part}");
                let pairs = before.get(&name).into_iter().zip(after.get(&name)).collect::<Vec<_>>();
                pairs.iter().map(|(b, a)| (b - a).abs()).sum::<f64>()
            };
            (change("mean"), change("var"))
        };
        let steps: Vec<_> = [0.01, 0.1, 1.0, 10.0, 100.0].map(step).to_vec();
        for pair in steps.windows(2) {
            assert!(pair[1].0 < pair[0].0 && pair[1].1 < pair[0].1, "{device:?}: {steps:?}");
        }
        assert!(steps[4].0 < 1e-3 * steps[0].0);
    }
}

#[test]
fn the_three_ways_to_give_noise_agree_bitwise() {
    for device in devices() {
        let (std, var) = (0.5, 0.25);
        let build =
            |std: Vec<f64>| Network::mlp([2, 9, 3], Activation::Relu).noise_std(std).device(&device).build();
        let batch = Batch::new(&build(vec![1.0]).unwrap(), 6, &mut Draw::new(1));
        let learned = |noise: Vec<f64>, own: Option<&[f64]>| {
            let mut net = build(noise).unwrap();
            let seen = own.map_or(batch.seen(), |var| batch.seen().noise_var(var));
            net.learn(&batch.x, seen).unwrap();
            Model::of(&net).tensors
        };
        let one = learned(vec![std], None);
        assert!(one == learned(vec![std; 3], None), "{device:?}: one for each output");
        assert!(one == learned(vec![7.0], Some(&[var; 18])), "{device:?}: one for each observation");
        assert!(one != learned(vec![7.0], None));
        let mut uneven = vec![var; 18];
        uneven[4] = 9.0; // the second row's second output
        assert!(one != learned(vec![std], Some(&uneven)));
    }
}

/// Raw units in and out are the same as standardised data in a network without scalers.
#[test]
fn scalers_are_a_change_of_units() {
    for device in devices() {
        let build =
            || Network::mlp([2, 15, 2], Activation::Tanh).noise_std([0.3, 0.4]).device(&device).build();
        let (mut raw, mut standard) = (build().unwrap(), build().unwrap());
        // Powers of two and small whole numbers, so that no rounding comes in.
        let input = Scaler::new(vec![3.0, -5.0], vec![4.0, 0.5]).unwrap();
        let output = Scaler::new(vec![100.0, 0.0], vec![32.0, 0.25]).unwrap();
        raw.set_scalers(Some(input.clone()), Some(output.clone())).unwrap();
        let mut draw = Draw::new(1);
        let mut eighths =
            |n: usize| -> Vec<f64> { (0..n).map(|_| draw.below(64) as f64 / 8.0 - 4.0).collect() };
        for step in 0..20 {
            let (x, y) = (eighths(12), eighths(12));
            let var = vec![0.25; 12];
            let make = |v: Vec<f64>| Matrix::new(v, 2).unwrap();
            let (raw_x, raw_y) = (make(input.undo_mean(&x)), make(output.undo_mean(&y)));
            let raw_noise = output.undo_var(&var);
            let (a, b) = if step % 2 == 0 {
                (raw.learn(&raw_x, &raw_y), standard.learn(&make(x), &make(y)))
            } else {
                let unsure = Gaussian::new(raw_x.data().to_vec(), input.undo_var(&var), 2).unwrap();
                let own = Gaussian::new(x, var.clone(), 2).unwrap();
                (
                    raw.learn(&unsure, Observation::from(&raw_y).noise_var(&raw_noise)),
                    standard.learn(&own, Observation::from(&make(y)).noise_var(&var)),
                )
            };
            assert_eq!(a.unwrap(), b.unwrap());
        }
        assert!(Model::of(&raw).tensors == Model::of(&standard).tensors, "{device:?}");
        let x = eighths(6);
        let unsure = Gaussian::new(x.clone(), vec![0.5; 6], 2).unwrap();
        let raw_x = Gaussian::new(input.undo_mean(&x), input.undo_var(&[0.5; 6]), 2).unwrap();
        let (a, b) = (raw.predict(&raw_x).unwrap(), standard.predict(&unsure).unwrap());
        assert_eq!(a.mean(), output.undo_mean(b.mean()));
        assert_eq!(a.var(), output.undo_var(b.var()));
        assert_eq!(raw.noise_var(), output.undo_var(&standard.noise_var()));
        let y = eighths(6);
        let (raw_y, y) = (Matrix::new(output.undo_mean(&y), 2).unwrap(), Matrix::new(y, 2).unwrap());
        let only = [true, false].repeat(3);
        // One wish for the first output, so that one noise can be told in both units.
        let (a, b) = (
            raw.search(&raw_x, Wanted::from(&raw_y).only(&only).noise_var(0.25 * 1024.0)).unwrap(),
            standard.search(&unsure, Wanted::from(&y).only(&only).noise_var(0.25)).unwrap(),
        );
        assert_eq!(a.mean(), input.undo_mean(b.mean()));
        assert_eq!(a.var(), input.undo_var(b.var()));
    }
}

/// One weight, one bias, n rows of the same input 1: how much is capped and repaired can be counted by hand.
#[test]
fn capped_and_repaired_are_counted() {
    for device in devices() {
        let learn = |policy: UpdateRule, rows: usize, noise: f64, y: f64| {
            let net = Network::builder(Shape::flat(1)).layer(Layer::linear(1)).update_rule(policy);
            let mut net = net.noise_std([noise]).device(&device).build().unwrap();
            let [x, y] = [1.0, y].map(|v| Matrix::column(vec![v; rows]).unwrap());
            let info = net.learn(&x, &y).unwrap();
            (info.rows, info.capped, info.repaired)
        };
        // Variances 1 and 1, noise 1: each row takes 1/3 of both; four rows take more than all.
        assert_eq!(learn(UpdateRule::Plain, 1, 1.0, 0.0), (1, 0, 0));
        assert_eq!(learn(UpdateRule::Plain, 2, 1.0, 0.0), (2, 0, 0));
        assert_eq!(learn(UpdateRule::Plain, 4, 1.0, 0.0), (4, 0, 2));
        assert_eq!(learn(UpdateRule::Capped, 4, 1.0, 0.0), (4, 2, 0));
        // Two rows leave a third, more than the quarter of the cap; the mean is far off and is what is capped.
        assert_eq!(learn(UpdateRule::Capped, 2, 1.0, 100.0), (2, 2, 0));
        // One row is exact but for means that move by more than ten standard deviations.
        assert_eq!(learn(UpdateRule::Capped, 1, 1.0, 20.0), (1, 0, 0));
        assert_eq!(learn(UpdateRule::Capped, 1, 1.0, 1000.0), (1, 2, 0));
        // By how much: half a standard deviation, a quarter of the variance.
        let mut net =
            Network::builder(Shape::flat(1)).layer(Layer::linear(1)).device(&device).build().unwrap();
        let before = Model::of(&net);
        let [x, y] = [1.0, 1e4].map(|v| Matrix::column(vec![v; 16]).unwrap());
        net.learn(&x, &y).unwrap();
        let after = Model::of(&net);
        for name in ["linear1.weight", "linear1.bias"] {
            let [mean, var] = ["mean", "var"].map(|part| format!("{name}.{part}"));
            assert!((after.get(&mean)[0] - before.get(&mean)[0] - 0.5).abs() < 1e-6, "{device:?} {name}");
            assert_eq!((before.get(&var), after.get(&var)), (vec![1.0], vec![0.25]), "{device:?} {name}");
        }
        // The paper's toy: batches of 16 with little noise overshoot; the cap does not let them.
        for (policy, repairs) in [(UpdateRule::Plain, true), (UpdateRule::Capped, false)] {
            let net = Network::mlp([1, 50, 1], Activation::Relu).noise_std([0.1]).update_rule(policy);
            let mut net = net.prior(Prior::he()).device(&device).build().unwrap();
            let x = Draw::new(1).matrix(16, 1);
            let y = Matrix::column(x.data().iter().map(|x| x.powi(3)).collect()).unwrap();
            let mut info = net.learn(&x, &y).unwrap();
            for _ in 0..10 {
                info += net.learn(&x, &y).unwrap();
            }
            assert_eq!(info.repaired > 0, repairs, "{device:?} {policy:?}: {info:?}");
            assert_eq!(info.capped > 0, !repairs, "{device:?} {policy:?}: {info:?}");
            bytes(&net); // and every variance is positive
        }
    }
}

/// Learning a number again and again brings the prediction there and takes the doubt away.
#[test]
fn learning_converges_where_conditioning_did_not_touch() {
    for device in devices() {
        for (what, builder) in zoo() {
            let mut net = with_noise(what, builder, 0.5).device(&device).build().unwrap();
            let batch = Batch::new(&net, 4, &mut Draw::new(1));
            let (before, units) = (net.predict(&batch.x).unwrap(), net.output().units());
            for _ in 0..30 {
                net.learn(&batch.x, batch.seen()).unwrap();
            }
            let after = net.predict(&batch.x).unwrap();
            let off = |g: &Prediction| -> f64 {
                let (m, y) = (g.mean(), batch.y.data());
                m.iter().zip(y).map(|(m, y)| (m - y).abs()).sum()
            };
            if net.predict_classes(&batch.x).is_ok() {
                let p = net.predict_classes(&batch.x).unwrap();
                let right = (0..4).map(|r| p.row(r)[batch.labels[r]]).sum::<f64>() / 4.0;
                assert!(right > 0.5, "{what} on {device:?}: {right}");
            } else {
                assert!(off(&after) < 0.6 * off(&before), "{what} on {device:?}: {}", off(&after));
                let total = |g: &Prediction| g.var().iter().sum::<f64>() / (4 * units) as f64;
                assert!(total(&after) < total(&before), "{what} on {device:?}");
            }
        }
    }
}

/// The variance goes a share of the way back to its prior, on both devices and in every kind of layer; the mean stays.
#[test]
fn forgetting_goes_back_to_the_prior() {
    for device in devices() {
        let build = || {
            let layers =
                [Layer::conv2d(3, 3), Layer::batch_norm(), Activation::Relu.into(), Layer::linear(2)];
            let net = layers.into_iter().fold(Network::builder(Shape::image(1, 6, 6)), |net, l| net.layer(l));
            net.noise_std([0.1]).seed(2).device(&device).build().unwrap()
        };
        let (fresh, mut net) = (build(), build());
        let x = Matrix::new((0..144).map(|i| (i % 7) as f64 / 7.0).collect(), 36).unwrap();
        net.learn(&x, &Matrix::new(vec![1.0; 8], 2).unwrap()).unwrap();
        let sure = net.try_clone().unwrap();
        net.forget(0.25).unwrap();
        for layer in ["conv1", "batch_norm1", "linear1"] {
            let of = |net: &Network| net.weights(layer).unwrap().unwrap();
            let (prior, before, after) = (of(&fresh), of(&sure), of(&net));
            for (prior, before, after) in [(prior.0, before.0, after.0), (prior.1, before.1, after.1)] {
                assert_eq!(before.mean(), after.mean());
                assert!(before.var().iter().zip(prior.var()).any(|(b, p)| b < p), "{layer} learned nothing");
                for ((p, b), a) in prior.var().iter().zip(before.var()).zip(after.var()) {
                    let expected = b + 0.25 * (p - b);
                    assert!((a - expected).abs() <= 1e-7 * expected, "{layer}: {a} is not {expected}");
                }
            }
        }
        net.forget(0.0).unwrap();
        for bad in [-0.1, 1.1, f64::NAN] {
            let said = net.forget(bad).unwrap_err().to_string();
            assert!(said.starts_with("share to forget:"), "{said}");
        }
    }
}
