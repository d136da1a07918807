//! Attacks: inference against its own definition, gradients against finite differences, limits, targets, mistakes.

use crate::cases::{Draw, Model, worst};
use tractable::attack::{self, Attacked, Budget, Settings, Stop, Targets};
use tractable::data::{self, Scaler};
use tractable::{
    Activation, Device, Gaussian, Layer, Matrix, Network, Shape, Wanted,
    network::{NetworkBuilder, Tree},
};

const SIDE: usize = 8;
const CLASSES: usize = 5;

/// Images of a bright blob, in one of the corners or in the middle, on a noisy ground.
fn blobs(rows: usize, seed: u64) -> (Matrix, Vec<usize>) {
    let mut draw = Draw::new(seed);
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let label = draw.below(CLASSES);
        let (row, column) = [(2.0, 2.0), (2.0, 5.0), (5.0, 2.0), (5.0, 5.0), (3.5, 3.5)][label];
        for i in 0..SIDE * SIDE {
            let (y, x) = ((i / SIDE) as f64 - row, (i % SIDE) as f64 - column);
            let p = 0.7 * (-(x * x + y * y) / 2.0).exp() + draw.uniform(0.0, 0.25);
            pixels.push(p.clamp(0.0, 1.0));
        }
        labels.push(label);
    }
    (Matrix::new(pixels, SIDE * SIDE).unwrap(), labels)
}

fn small() -> NetworkBuilder {
    Network::builder(Shape::image(1, SIDE, SIDE))
        .layer(Layer::conv2d(6, 3).padding(1))
        .layer(Activation::Relu)
        .layer(Layer::avg_pool2d(2))
        .layer(Layer::linear(24))
        .layer(Activation::Relu)
        .layer(Layer::linear(5))
        .classes(CLASSES)
        .seed(5)
}

/// A network that knows the blobs.
fn trained(device: Device, scaled: bool) -> Network {
    let mut net = small().noise_std([0.3]).device(&device).build().unwrap();
    if scaled {
        let scaler = Scaler::new(vec![0.2; SIDE * SIDE], vec![0.25; SIDE * SIDE]).unwrap();
        net.set_scalers(Some(scaler), None).unwrap();
    }
    let (x, labels) = blobs(480, 1);
    for _ in 0..3 {
        for from in (0..480).step_by(8) {
            let rows: Vec<usize> = (from..from + 8).collect();
            net.learn(&x.select(&rows), &labels[from..from + 8]).unwrap();
        }
    }
    net
}

fn share(found: &[Attacked]) -> f64 {
    found.iter().filter(|a| a.success).count() as f64 / found.len() as f64
}

/// Bit by bit without a scaler; with one, each round is done by the verb itself.
#[test]
fn inference_is_conditioning_repeated() {
    let (images, labels) = blobs(6, 9);
    let targets: Vec<usize> = labels.iter().map(|l| (l + 2) % CLASSES).collect();
    for scaled in [false, true] {
        let net = trained(Device::cpu(2), scaled);
        let settings =
            Settings::new().iterations(7).prior_std(0.05).unclipped().stop(Stop::Never).unsure_weights();
        let found = attack::infer(&net, &images, &Targets::given(&labels, &targets), &settings).unwrap();
        let mut x = Gaussian::around(&images, 0.05 * 0.05).unwrap();
        match scaled {
            false => x = net.search(&x, Wanted::from(&targets).rounds(7)).unwrap(),
            true => (0..7).for_each(|_| x = net.search(&x, &targets).unwrap()),
        }
        for (a, row) in found.iter().zip(0..) {
            let at = row * images.width()..(row + 1) * images.width();
            let expected: Vec<f64> =
                x.mean()[at.clone()].iter().zip(images.row(row)).map(|(x, from)| x - from).collect();
            assert_eq!(a.change.mean(), expected);
            assert_eq!(a.change.var(), &x.var()[at]);
            assert_eq!(a.iterations, 7);
            assert!(a.l2 > 0.0);
        }
    }
}

#[test]
fn the_network_is_fooled() {
    let net = trained(Device::cpu(1), true);
    let (images, labels) = blobs(40, 2);
    let found = attack::infer(&net, &images, &Targets::all_wrong(&labels), &Settings::new()).unwrap();
    let right = found.iter().filter(|a| a.class_before() == a.label).count();
    assert!(right as f64 > 0.9 * found.len() as f64, "{right}");
    assert!(share(&found) > 0.95, "{}", share(&found));
    for a in &found {
        let x = Matrix::new(a.result(images.row(a.image)), images.width()).unwrap();
        assert!(x.data().iter().all(|p| (0.0..=1.0).contains(p)));
        // Adding the change back rounds in the last digit of a double.
        assert!(worst(&a.after, net.predict_classes(&x).unwrap().data(), 1e-3) < 1e-4);
        assert_eq!(a.success, a.class_after() == a.target.unwrap());
        assert!(a.change.var().iter().all(|&v| v > 0.0 && v <= 0.0009 * (1.0 + 1e-6)));
        let largest = a.change.mean().iter().fold(0.0, |m: f64, c| m.max(c.abs()));
        let squares: f64 = a.change.mean().iter().map(|c| c * c).sum();
        assert!((a.l_inf - largest).abs() < 1e-12 && (a.l2 - squares.sqrt()).abs() < 1e-12);
        assert!(a.success || a.iterations == 100);
    }
}

#[test]
fn results_do_not_depend_on_threads_or_company() {
    let (images, labels) = blobs(23, 3);
    let settings = Settings::new().iterations(12).budget(Budget::L2(1.0)).random_start(3);
    type Attack = fn(&Network, &Matrix, &Targets<'_>, &Settings) -> tractable::Result<Vec<Attacked>>;
    for method in [attack::infer as Attack, attack::pgd, attack::fgsm] {
        let run = |threads| {
            let net = trained(Device::cpu(threads), true);
            let all = method(&net, &images, &Targets::all_wrong(&labels), &settings).unwrap();
            (net, all)
        };
        let (net, all) = run(1);
        assert_eq!(all, run(3).1);
        // The first image begins at the same random place when it is alone.
        let alone = method(&net, &images.select(&[0]), &Targets::all_wrong(&labels[..1]), &settings).unwrap();
        assert_eq!(alone[..], all[..CLASSES - 1]);
    }
}

/// `ln P(label)` with the variances of the output held where they were.
#[test]
fn the_gradient_is_that_of_the_mean_network() {
    let image = || Network::builder(Shape::image(2, 5, 5));
    let nets = [
        image()
            .layer(Layer::conv2d(4, 3).padding(1))
            .layer(Activation::Relu)
            .layer(Layer::avg_pool2d(3).stride(2).end_padding(1))
            .layer(Layer::linear(8))
            .layer(Activation::Tanh)
            .layer(Layer::linear(6)),
        image()
            .layer(Layer::conv2d(4, 2).stride(2).end_padding(1))
            .layer(Layer::batch_norm())
            .layer(Activation::Softplus)
            .layer(Layer::max_pool2d(2))
            .layer(Layer::linear(8))
            .layer(Layer::batch_norm())
            .layer(Activation::Sigmoid)
            .layer(Layer::linear(6)),
    ];
    for (k, net) in nets.into_iter().enumerate() {
        let mut net = net.classes(5).seed(k as u64).device(Device::reference()).build().unwrap();
        let mut draw = Draw::new(4);
        let (x, labels) = (draw.matrix(6, 50), [0, 3, 4, 1, 2, 4]);
        net.learn(&x, &labels).unwrap();
        net.set_scalers(Some(Scaler::new(vec![0.3; 50], vec![0.5; 50]).unwrap()), None).unwrap();
        let tree = Tree::new(5).unwrap();
        let gradient = attack::gradient(&net, &x, &labels).unwrap();
        let var = net.predict(&x).unwrap().var().to_vec();
        let ln_p = |x: &Matrix, row: usize| {
            let (out, at) = (net.predict(x).unwrap(), row * 6..(row + 1) * 6);
            tree.probabilities(&out.mean()[at.clone()], &var[at])[labels[row]].ln()
        };
        for pixel in [0, 7, 12, 24, 25, 38, 49] {
            // One pixel of every image at a time.
            let h = 1e-6;
            let moved = |h: f64| {
                let mut data = x.data().to_vec();
                data.iter_mut().skip(pixel).step_by(50).for_each(|p| *p += h);
                Matrix::new(data, 50).unwrap()
            };
            let (up, down) = (moved(h), moved(-h));
            for row in 0..6 {
                let expected = (ln_p(&up, row) - ln_p(&down, row)) / (2.0 * h);
                let got = gradient.row(row)[pixel];
                assert!(
                    (got - expected).abs() < 1e-7 * (1.0 + expected.abs()),
                    "{k} {row} {pixel}: {got} {expected}"
                );
            }
        }
    }
}

#[test]
fn the_gradient_of_a_sure_network_keeps_its_digits() {
    let net = Network::builder(Shape::flat(1)).layer(Layer::linear(1)).classes(2).build().unwrap();
    let mut model = Model::of(&net);
    for (tensor, value) in
        [("weight.mean", 3.0), ("weight.var", 1e-12), ("bias.mean", 0.0), ("bias.var", 1e-12)]
    {
        model.set(&format!("linear1.{tensor}"), &[value]);
    }
    for device in [Device::cpu(1), Device::reference()] {
        let net = model.load(device.clone()).unwrap();
        // ln Phi(9 x) at x = 1 and ln Phi(-9 x): the densities over the probabilities, from the error function.
        for (label, expected) in [(0, 9.0 * 1.027_977_357_166_891_7e-18), (1, -9.0 * 9.108_523_105_002_858)] {
            let got =
                attack::gradient(&net, &Matrix::column(vec![1.0]).unwrap(), &[label]).unwrap().data()[0];
            assert!((got / expected - 1.0).abs() < 1e-6, "{got} {expected}");
        }
    }
}

#[test]
fn limits_hold() {
    let net = trained(Device::cpu(2), true);
    let (images, labels) = blobs(10, 4);
    let frozen: Vec<bool> = (0..images.data().len()).map(|i| i % 64 < 32 + i / 64).collect();
    type Attack = fn(&Network, &Matrix, &Targets<'_>, &Settings) -> tractable::Result<Vec<Attacked>>;
    let methods = [attack::infer as Attack, attack::pgd, attack::fgsm];
    for (k, method) in methods.into_iter().enumerate() {
        for budget in [Budget::Linf(0.04), Budget::L2(0.2)] {
            let settings = Settings::new()
                .iterations(15)
                .prior_std(0.2)
                .budget(budget)
                .frozen(frozen.clone())
                .stop(Stop::Never);
            let settings = if k == 1 { settings.random_start(1) } else { settings };
            let found = method(&net, &images, &Targets::untargeted(&labels), &settings).unwrap();
            for a in &found {
                let size = if let Budget::L2(_) = budget { a.l2 } else { a.l_inf };
                assert!(size <= budget.size() * (1.0 + 1e-12), "{size} {budget}");
                // Something tries to go further.
                assert!(k > 0 || size > 0.5 * budget.size(), "{size} {budget}");
                for (i, moved) in a.change.mean().iter().enumerate() {
                    let x = images.row(a.image)[i] + moved;
                    assert!((-1e-15..=1.0 + 1e-15).contains(&x));
                    if frozen[a.image * 64 + i] {
                        assert_eq!((*moved, a.change.var()[i]), (0.0, 0.0));
                    }
                }
                assert!(k != 0 || a.change.var().iter().any(|&v| v > 0.0));
                assert!(k == 0 || a.change.var().iter().all(|&v| v == 0.0));
            }
        }
    }
}

/// On a GPU, images stay on the device until their attacks end: the same attacks, within the same limits, as on the CPU.
#[test]
fn a_gpu_finds_what_the_cpu_finds() {
    let gpu = match Device::cuda(0) {
        Ok(gpu) => gpu,
        Err(e) => return eprintln!("skipped: {e}"),
    };
    let there = trained(Device::cpu(1), true);
    let here = Network::from_bytes(&there.to_bytes().unwrap(), gpu).unwrap();
    let (images, labels) = blobs(12, 4);
    let frozen: Vec<bool> = (0..images.data().len()).map(|i| i % 64 < 20 + i / 64).collect();
    let all = [
        Settings::new().iterations(20),
        Settings::new().iterations(6).budget(Budget::Linf(0.1)).frozen(frozen),
        Settings::new().iterations(6).budget(Budget::L2(0.6)).stop(Stop::Never),
        Settings::new().iterations(4).unclipped().prior_std(0.3).stop(Stop::Probability(0.9)),
    ];
    for (i, settings) in all.iter().enumerate() {
        for targets in [Targets::all_wrong(&labels), Targets::untargeted(&labels)] {
            let of = |net: &Network| attack::infer(net, &images, &targets, settings).unwrap();
            let (mine, theirs) = (of(&here), of(&there));
            let mut same = 0;
            for (a, b) in mine.iter().zip(&theirs) {
                assert_eq!((a.image, a.target, a.towards), (b.image, b.target, b.towards));
                assert_eq!(a.change.var(), b.change.var());
                let far = worst(a.change.mean(), b.change.mean(), 0.1);
                same += usize::from(a.iterations == b.iterations && a.success == b.success && far < 1e-4);
                if let (1, true) = (i, a.l_inf > 0.1 + 1e-12) {
                    panic!("{} leaves its budget", a.l_inf);
                }
                if let (2, true) = (i, a.l2 > 0.6 + 1e-12) {
                    panic!("{} leaves its budget", a.l2);
                }
            }
            // A step that ends close to a limit or a decision boundary may end on the other side of it.
            assert!(10 * same >= 9 * mine.len(), "settings {i}: {same} of {} are the same", mine.len());
        }
    }
}

#[test]
fn more_steps_and_larger_budgets_fool_more() {
    let net = trained(Device::cpu(2), true);
    let (images, labels) = blobs(40, 6);
    let targets = Targets::untargeted(&labels);
    let at = |size| Settings::new().iterations(20).budget(Budget::Linf(size));
    let pgd = |size| share(&attack::pgd(&net, &images, &targets, &at(size)).unwrap());
    let (small, middle, large) = (pgd(0.05), pgd(0.15), pgd(0.4));
    assert!(small <= middle && middle <= large && small < 0.1 && large > 0.95, "{small} {middle} {large}");
    let hard = Targets::all_wrong(&labels);
    let [once, often] =
        [attack::fgsm, attack::pgd].map(|f| share(&f(&net, &images, &hard, &at(0.3)).unwrap()));
    assert!(once < often, "{once} {often}");
}

#[test]
fn targets_are_what_was_asked_for() {
    let net = trained(Device::cpu(1), true);
    let (images, labels) = blobs(30, 7);
    let short = Settings::new().iterations(1);
    let run = |targets: Targets<'_>| attack::infer(&net, &images, &targets, &short).unwrap();
    let all = run(Targets::all_wrong(&labels));
    assert_eq!(all.len(), 30 * (CLASSES - 1));
    for (i, a) in all.iter().enumerate() {
        let wrong: Vec<usize> = (0..CLASSES).filter(|k| *k != labels[i / 4]).collect();
        assert_eq!((a.image, a.label, a.target), (i / 4, labels[i / 4], Some(wrong[i % 4])));
        assert_eq!(a.towards, wrong[i % 4]);
    }
    let least = run(Targets::least_likely(&labels));
    let untargeted = run(Targets::untargeted(&labels));
    let p = net.predict_classes(&images).unwrap();
    for (i, (least, any)) in least.iter().zip(&untargeted).enumerate() {
        let others = || (0..CLASSES).filter(|&k| k != labels[i]).map(|k| p.row(i)[k]);
        assert_eq!(p.row(i)[least.target.unwrap()], others().fold(1.0, f64::min));
        assert_eq!((any.target, p.row(i)[any.towards]), (None, others().fold(0.0, f64::max)));
        assert_eq!(any.success, any.class_after() != labels[i]);
        assert_eq!(any.before, p.row(i));
    }
    let random =
        |seed| run(Targets::random(&labels, seed)).iter().map(|a| a.target.unwrap()).collect::<Vec<_>>();
    assert_eq!(random(1), random(1));
    assert_ne!(random(1), random(2));
    assert!(random(1).iter().zip(&labels).all(|(t, l)| t != l));
    // Every wrong class comes up for every label.
    let many = Targets::random(&[2; 30], 0);
    let seen: std::collections::BTreeSet<_> =
        attack::infer(&net, &images, &many, &short).unwrap().iter().map(|a| a.target.unwrap()).collect();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1, 3, 4]);
}

#[test]
fn attacks_stop_when_they_have_done_enough() {
    let net = trained(Device::cpu(1), true);
    let (images, labels) = blobs(12, 8);
    let targets = Targets::all_wrong(&labels);
    let run = |stop| attack::infer(&net, &images, &targets, &Settings::new().stop(stop)).unwrap();
    let (flipped, sure, never) = (run(Stop::Flipped), run(Stop::Probability(0.8)), run(Stop::Never));
    for ((flipped, sure), never) in flipped.iter().zip(&sure).zip(&never) {
        assert!(flipped.iterations <= sure.iterations && sure.iterations <= never.iterations);
        assert_eq!(never.iterations, 100);
        let p = sure.after[sure.target.unwrap()];
        assert!(p >= 0.8 || sure.iterations == 100, "{p}");
    }
    assert!(share(&sure) > 0.9 && flipped.iter().any(|a| a.iterations < 30));
    // An image that is taken for something else as it is needs no attack.
    let wrong: Vec<usize> =
        flipped.iter().step_by(CLASSES - 1).map(|a| (a.class_before() + 1) % CLASSES).collect();
    let found = attack::infer(&net, &images, &Targets::untargeted(&wrong), &Settings::new()).unwrap();
    assert!(found.iter().all(|a| a.success && a.iterations == 0 && a.l_inf == 0.0 && a.after == a.before));
}

#[track_caller]
/// However an attack ends, its probabilities are those of `predict_classes`, and `Stop::Probability` means these.
#[test]
fn all_confidences_are_calibrated() {
    let mut net = trained(Device::cpu(1), false);
    let (images, labels) = blobs(12, 8);
    let pixels = images.data().iter().map(|p| (p * 255.0) as u8).collect();
    let shown = labels.iter().map(|&l| ((l + usize::from(l % 2 == 0)) % CLASSES) as u16).collect();
    let names = (0..CLASSES).map(|i| i.to_string()).collect();
    let held_out = data::Images::new(Shape::image(1, SIDE, SIDE), pixels, shown, names).unwrap();
    let sure = net.predict_classes(&images).unwrap();
    net.calibrate(&held_out).unwrap();
    assert!(worst(sure.data(), net.predict_classes(&images).unwrap().data(), 1.0) > 0.1, "now less sure");
    for stop in [Stop::Flipped, Stop::Probability(0.4), Stop::Never] {
        let settings = Settings::new().stop(stop).iterations(40).budget(Budget::Linf(0.3));
        for known in [true, false] {
            let settings = if known { settings.clone() } else { settings.clone().unsure_weights() };
            let targets = Targets::untargeted(&labels);
            let found = [
                attack::infer(&net, &images, &targets, &settings).unwrap(),
                attack::pgd(&net, &images, &targets, &settings).unwrap(),
            ];
            for a in found.iter().flatten() {
                let at = Matrix::new(a.result(images.row(a.image)), SIDE * SIDE).unwrap();
                let p = net.predict_classes(&at).unwrap();
                assert!(worst(&a.after, p.data(), 1.0) < 1e-6, "{stop:?}: {:?} and {p:?}", a.after);
                if let (Stop::Probability(enough), true) = (stop, a.iterations < 40) {
                    assert!(1.0 - p.row(0)[a.label] >= enough - 1e-6, "{p:?}");
                }
            }
        }
    }
}

fn refused(result: tractable::Result<Vec<Attacked>>, says: &str) {
    let said = result.unwrap_err().to_string();
    assert!(said.contains(says), "{said}");
}

#[test]
fn mistakes_are_named() {
    let net = small().build().unwrap();
    let (images, labels) = blobs(2, 1);
    let wrong: Vec<usize> = labels.iter().map(|l| (l + 1) % CLASSES).collect();
    let (any, all) = (Targets::untargeted(&labels), Targets::all_wrong(&labels));
    let with = |settings: Settings| attack::infer(&net, &images, &any, &settings);
    refused(with(Settings::new().iterations(0)), "iterations: at least one is needed");
    for std in [0.0, -0.03, f64::NAN, f64::INFINITY, 1e-200] {
        refused(with(Settings::new().prior_std(std)), "prior standard deviation: ");
    }
    refused(with(Settings::new().budget(Budget::Linf(-0.1))), "budget: -0.1 is not a positive number");
    refused(with(Settings::new().range(1.0, 0.0)), "pixel range: 1 to 0 is not a range");
    refused(with(Settings::new().stop(Stop::Probability(1.0))), "a probability of 1 is not between 0 and 1");
    refused(with(Settings::new().frozen(vec![false; 10])), "64 entries, one per pixel, or 128");
    refused(with(Settings::new().frozen(vec![true; 64])), "all pixels are frozen");
    let half = [vec![false; 64], vec![true; 64]].concat();
    refused(with(Settings::new().frozen(half)), "all pixels of image 1 are frozen");
    refused(attack::pgd(&net, &images, &any, &Settings::new().budget(Budget::L2(1.0)).step(0.0)), "step: 0");
    for method in [attack::pgd, attack::fgsm] {
        refused(method(&net, &images, &any, &Settings::new()), "budget: gradient attacks need a budget");
    }

    let run = |images: &Matrix, targets: &Targets<'_>| attack::infer(&net, images, targets, &Settings::new());
    let larger = Matrix::new(vec![0.5; 2 * 81], 81).unwrap();
    refused(run(&larger, &any), "images: expected images of 1x8x8, 64 numbers each, got 81");
    refused(run(&Matrix::new(Vec::new(), 64).unwrap(), &Targets::untargeted(&[])), "at least one");
    let bytes = Matrix::new(images.data().iter().map(|p| p * 255.0).collect(), 64).unwrap();
    refused(run(&bytes, &any), "pixels must be between 0 and 1; divide bytes by 255, or set another range");
    refused(
        run(&images, &Targets::untargeted(&[0, 5])),
        "label: row 1, column 0 is 5; the network has 5 classes",
    );
    refused(run(&images, &Targets::untargeted(&[0])), "labels: expected 2, one per image, got 1");
    refused(run(&images, &Targets::given(&labels, &[9, 9])), "target: row 0, column 0 is 9");
    refused(run(&images, &Targets::given(&labels, &wrong[..1])), "targets: expected 2");
    refused(run(&images, &Targets::given(&labels, &[wrong[0], labels[1]])), "target: row 1");
    refused(run(&images, &Targets::given(&labels, &[wrong[0], labels[1]])), "this is the image's own class");

    let mut of_bytes = small().build().unwrap();
    of_bytes.set_scalers(Some(Scaler::new(vec![33.0; 64], vec![70.0; 64]).unwrap()), None).unwrap();
    refused(attack::infer(&of_bytes, &images, &all, &Settings::new()), "fitted to pixels of another scale");
    let numbers = Network::mlp([64, 4, 2], Activation::Relu).build().unwrap();
    refused(attack::infer(&numbers, &images, &all, &Settings::new()), "only classifiers can be attacked");
    let said = attack::gradient(&numbers, &images, &labels).unwrap_err().to_string();
    assert!(said.contains("no class gradient"), "{said}");
    for text in ["linf", "l3:1", "linf:x", "l2:0", "l2:-1", "linf:1/0"] {
        assert!(text.parse::<Budget>().is_err(), "{text}");
    }
    assert_eq!("linf:8/255".parse(), Ok(Budget::Linf(8.0 / 255.0)));
}

/// Where no pixel can move any more, the image stays and is reported.
#[test]
fn an_image_that_cannot_move_is_reported() {
    let net =
        Network::mlp([4, 8, 3], Activation::Relu).classes(3).seed(2).device(Device::cpu(1)).build().unwrap();
    let image = Matrix::new(vec![0.2, 0.4, 0.6, 0.8], 4).unwrap();
    // Its square is 0 in single precision: after the first iteration no variance is left.
    let settings = Settings::new().prior_std(1e-23).iterations(5);
    let found = attack::infer(&net, &image, &Targets::all_wrong(&[1]), &settings).unwrap();
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|a| a.l_inf < 1e-7), "{found:?}");
}

/// The doubt of weights that have learned little does not swallow the wish.
#[test]
fn success_does_not_hang_on_epochs() {
    let (images, labels) = blobs(12, 9);
    let targets = Targets::all_wrong(&labels);
    let (x, learned) = blobs(480, 1);
    let mut net = small().noise_std([0.3]).device(Device::cpu(2)).build().unwrap();
    for batches in [30, 60, 120] {
        for from in (0..8 * batches).step_by(8) {
            let rows: Vec<usize> = (from..from + 8).map(|i| i % 480).collect();
            let labels: Vec<usize> = rows.iter().map(|&r| learned[r]).collect();
            net.learn(&x.select(&rows), &labels[..]).unwrap();
        }
        let found = attack::infer(&net, &images, &targets, &Settings::new()).unwrap();
        assert!(share(&found) > 0.95, "{batches} batches more: {}", share(&found));
        let any = attack::infer(&net, &images, &Targets::untargeted(&labels), &Settings::new()).unwrap();
        assert_eq!(share(&any), 1.0, "{batches} batches more");
        // Within a budget, at least what gradients reach.
        let small = Settings::new().budget(Budget::Linf(0.1));
        let ours = attack::infer(&net, &images, &targets, &small).unwrap();
        let theirs = attack::pgd(&net, &images, &targets, &small.clone().iterations(100)).unwrap();
        assert!(share(&ours) + 0.06 >= share(&theirs), "{} {}", share(&ours), share(&theirs));
        assert!(ours.iter().all(|a| a.l_inf <= 0.1 + 1e-9));
    }
}
