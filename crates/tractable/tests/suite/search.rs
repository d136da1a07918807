//! `Search`, round by round, is what `search` does in one go, and what starting anew from a projected place does.

use crate::cases::{Batch, Draw, bytes, teach, zoo};
use tractable::data::Scaler;
use tractable::{
    Activation, Device, Error, Gaussian, Layer, Matrix, Network, Shape, Wanted, network::Observation,
};

fn devices() -> [Device; 2] {
    [Device::cpu(2), Device::reference()]
}

#[test]
fn rounds_are_what_search_does_bitwise() {
    for device in devices() {
        for (what, builder) in zoo() {
            let mut net = builder.seed(1).device(&device).build().unwrap();
            teach(&mut net, 2, 5, 3);
            let mut draw = Draw::new(4);
            let (x, batch) = (draw.gaussian(3, net.input().len()), Batch::new(&net, 3, &mut draw));
            let first = net.layer_names()[0].clone();
            for layer in ["input", &first] {
                let noise = if what.contains("softmax") { 0.0 } else { 0.3 };
                let wanted = || Wanted::from(batch.seen()).noise_var(noise).layer(layer);
                let whole = net.search(&x, wanted().rounds(3)).unwrap();
                let mut by_rounds = net.searching(&x, wanted()).unwrap();
                (0..3).for_each(|_| assert!(by_rounds.round().is_ok()));
                assert_eq!(by_rounds.posterior().unwrap(), &whole, "{what}, {layer}, {device}");
            }
        }
    }
}

#[test]
fn the_output_is_that_before_the_round() {
    for device in devices() {
        let net = Network::mlp([3, 8, 2], Activation::Tanh).seed(2).device(&device).build().unwrap();
        let (x, y) = (Draw::new(1).gaussian(4, 3), Draw::new(2).matrix(4, 2));
        for layer in ["input", "tanh1", "linear2"] {
            let mut c = net.searching(&x, Wanted::from(&y).noise_var(0.5).layer(layer)).unwrap();
            assert!(c.output().is_err(), "no round has been run yet");
            let output = c.round().unwrap().output().unwrap();
            assert_eq!(output, prior_of(&net, &x, "linear2"), "{layer}");
            assert_eq!(output.mean(), net.predict(&x).unwrap().mean(), "{layer}");
            assert!(c.slope().is_none());
        }
        // A hidden layer before anything was observed is its prior.
        let mut c = net.searching(&x, Wanted::from(&y).layer("linear2")).unwrap();
        assert_eq!(c.posterior().unwrap(), &prior_of(&net, &x, "linear2"));
    }
}

/// A layer where nothing is seen of the output: all units independent.
fn prior_of(net: &Network, x: &Gaussian, layer: &str) -> Gaussian {
    let (y, nothing) = (Draw::new(2).matrix(4, 2), [false; 8]);
    net.search(x, Wanted::from(&y).only(&nothing).layer(layer)).unwrap()
}

/// After a projection the next round starts where the projection left the layer, scalers and all.
#[test]
fn a_projected_place_is_a_new_start() {
    for device in devices() {
        let mut net = Network::mlp([2, 8, 1], Activation::Tanh).seed(2).device(&device).build().unwrap();
        let scaler = |n: usize| Some(Scaler::new(vec![0.5; n], vec![2.0; n]).unwrap());
        net.set_scalers(scaler(2), scaler(1)).unwrap();
        let (x, y) = (Draw::new(3).gaussian(2, 2), Matrix::column(vec![1.0, -1.0]).unwrap());
        let near = |wanted: Wanted<'_>| {
            let mut c = net.searching(&x, wanted).unwrap();
            c.round().unwrap();
            c.project(|row, mean, var| {
                mean[0] = row as f64;
                var[1] = 0.25;
            })
            .unwrap();
            let start = c.posterior().unwrap().clone();
            assert_eq!((start.mean()[0], start.mean()[2], start.var()[1]), (0.0, 1.0, 0.25));
            (start, c.round().unwrap().posterior().unwrap().clone())
        };
        for wanted in [Wanted::from(&y).noise_var(0.1), Wanted::maximum().into()] {
            let (start, after) = near(wanted);
            assert_eq!(net.search(&start, wanted).unwrap(), after, "{device}");
        }
        // A hidden layer too, before the first round.
        let mut c = net.searching(&x, Wanted::from(&y).noise_var(1e12).layer("tanh1")).unwrap();
        c.project(|_, mean, _| mean.fill(0.125)).unwrap();
        let after = c.round().unwrap().posterior().unwrap();
        assert!(after.mean().iter().all(|m| (m - 0.125).abs() < 1e-6), "{device}: {after:?}");
        let mut c = net.searching(&x, &y).unwrap();
        assert!(matches!(c.project(|_, mean, _| mean[0] = f64::INFINITY), Err(Error::NotFinite { .. })));
        assert!(matches!(c.project(|_, _, var| var[0] = -1.0), Err(Error::OutOfRange { .. })));
        assert_eq!(c.posterior().unwrap(), &x, "what was refused changed nothing");
    }
}

/// A pass in which an image in the middle was changed is used again: nothing of it is left, however many rows come next.
#[test]
fn a_changed_image_leaves_nothing_behind() {
    for channels in [3, 40] {
        let build = || {
            let net = Network::builder(Shape::image(2, 6, 5))
                .layer(Layer::conv2d(channels, 3).padding(1))
                .layer(Activation::Relu)
                .layer(Layer::Add.of(["conv1", "relu1"]))
                .layer(Layer::avg_pool2d(2))
                .layer(Layer::linear(2));
            net.seed(3).device(Device::cpu(2)).build().unwrap()
        };
        let (used, fresh) = (build(), build());
        let (x, y) = (Draw::new(5).gaussian(3, 60), Draw::new(6).matrix(3, 2));
        for layer in ["conv1", "add1"] {
            let mut c = used.searching(&x, Wanted::from(&y).noise_var(0.1).layer(layer)).unwrap();
            for _ in 0..2 {
                c.project(|_, mean, _| mean.iter_mut().for_each(|m| *m = m.clamp(-0.1, 0.1))).unwrap();
                c.round().unwrap();
            }
            drop(c);
            for rows in [1, 7, 300] {
                let x = Draw::new(7).gaussian(rows, 60);
                assert_eq!(
                    used.predict(&x).unwrap(),
                    fresh.predict(&x).unwrap(),
                    "{channels}, {layer}, {rows}"
                );
            }
        }
    }
}

#[test]
fn nonsense_is_refused() {
    let net = Network::mlp([2, 8, 2], Activation::Tanh).build().unwrap();
    let x = Gaussian::new(vec![0.1, 0.2], vec![0.1; 2], 2).unwrap();
    let before = bytes(&net);
    let says = |wanted: Wanted<'_>, text: &str| {
        for error in [net.search(&x, wanted).unwrap_err(), net.searching(&x, wanted).unwrap_err()] {
            assert!(error.to_string().contains(text), "{error}");
        }
    };
    says(Wanted::from(Wanted::maximum().output(0)).only(&[true; 7]), "`only` does not apply to a maximum");
    says(Wanted::maximum().output(99).into(), "there is no output 99");
    says(Wanted::maximum().into(), "choose one of the 2");
    says(Wanted::minimum().output(0).noise_var(-1.0).into(), "noise");
    let y = Draw::new(1).matrix(1, 2);
    says(Wanted::from(&y).layer("nowhere"), "`nowhere` is not in this network");
    says(Wanted::from(Observation::from(&y).seen(&[true])), "seen entries");
    assert!(net.search(&x, Wanted::from(&y).rounds(0)).is_err());
    assert_eq!(bytes(&net), before);
}

#[test]
fn limits_hold_and_others_do_the_rest() {
    for device in devices() {
        // y = x1 + x2 + x3, known exactly, as good as.
        let net = Network::builder(Shape::flat(3)).layer(Layer::linear(1)).device(&device).build().unwrap();
        let mut file = crate::cases::Model::of(&net);
        for (name, v, n) in
            [("weight.mean", 1.0, 3), ("weight.var", 1e-20, 3), ("bias.mean", 0.0, 1), ("bias.var", 1e-20, 1)]
        {
            file.set(&format!("linear1.{name}"), &vec![v; n]);
        }
        let net = file.load(device.clone()).unwrap();
        let prior = Gaussian::new(vec![0.0; 3], vec![1.0, 1.0, 0.0], 3).unwrap();
        let y = Matrix::column(vec![1.0]).unwrap();
        let mut free = net.searching(&prior, Wanted::from(&y).known_weights()).unwrap();
        let mean = free.round().unwrap().posterior().unwrap().mean().to_vec();
        assert!((mean[0] - 0.5).abs() < 1e-5 && (mean[1] - 0.5).abs() < 1e-5 && mean[2] == 0.0, "{mean:?}");
        let mut held = net.searching(&prior, Wanted::from(&y).known_weights()).unwrap();
        held.limits(vec![-1.0; 3], vec![0.2, 9.0, 9.0]).unwrap();
        let mean = held.round().unwrap().posterior().unwrap().mean().to_vec();
        assert!((mean[0] - 0.2).abs() < 1e-6 && (mean[1] - 0.8).abs() < 1e-5, "{mean:?}");
        // No farther than a draw of the prior in one round, and there in the end.
        let far = Matrix::column(vec![100.0]).unwrap();
        let mut slow = net.searching(&prior, Wanted::from(&far).known_weights()).unwrap();
        let step = slow.round().unwrap().posterior().unwrap().mean().to_vec();
        assert!((0.5..=1.01).contains(&step[0]), "{step:?}");
        for _ in 0..120 {
            slow.round().unwrap();
        }
        assert!((slow.posterior().unwrap().mean()[0] - 50.0).abs() < 1e-2);
        assert!(held.limits(vec![0.0; 2], vec![1.0; 3]).is_err());
        assert!(held.limits(vec![0.0; 3], vec![1.0, -1.0, 1.0]).is_err());
        assert!(held.limits(vec![f64::NAN; 3], vec![1.0; 3]).is_err());
        assert!(net.search(&prior, Wanted::other_than(&[0])).is_err(), "no labels here");
    }
}
