//! Optima of trained networks, and the paper's algorithm that moves the input while the network learns.

use super::refuses;
use tractable::data::Dataset;
use tractable::optimize::{Bounds, Follow, Goal, SearchSettings, follow, search};
use tractable::{
    Activation, Device, Fit, Gaussian, Layer, Matrix, Network, Shape, Wanted, network::UpdateRule, rng,
};

/// Learns the columns of `y` over a grid of points, in units far from 1.
fn trained(x: Matrix, y: Matrix, standardize: bool) -> Network {
    let shape = [x.width(), 32, 32, y.width()];
    let data = Dataset::new(x, y).unwrap();
    let data = if standardize { data.standardize() } else { data };
    let mut net = Network::mlp(shape, Activation::Tanh).seed(1).device(Device::cpu(1)).build().unwrap();
    net.fit(&data, &Fit::new().epochs(60).batch(1).noise_std(0.05)).unwrap();
    net
}

fn grid(low: f64, high: f64, n: usize) -> Vec<f64> {
    (0..n).map(|i| low + (high - low) * i as f64 / (n - 1) as f64).collect()
}

fn column(v: Vec<f64>) -> Matrix {
    Matrix::column(v).unwrap()
}

#[test]
fn optima_of_one_number() {
    // In plain units, and where x is in thousands and y is a million more.
    for (unit, offset, standardize) in [(1.0, 0.0, false), (1000.0, 1e6, true)] {
        let x = grid(-2.0 * unit, 2.0 * unit, 80);
        let y = x.iter().map(|x| offset + (x / unit).powi(3) - 3.0 * x / unit).collect();
        let net = trained(column(x), column(y), standardize);
        let bounds = Bounds::new([(-1.8 * unit, 1.8 * unit)]).unwrap();
        for (goal, place, value) in [(Goal::Maximum, -1.0, 2.0), (Goal::Minimum, 1.0, -2.0)] {
            let optima = search(&net, &bounds, goal, &SearchSettings::default()).unwrap();
            let (x, y) = (optima[0].x.mean()[0] / unit, optima[0].value.mean()[0] - offset);
            assert!((x - place).abs() < 0.06 && (y - value).abs() < 0.1, "{unit}: {x} {y}");
            let std = optima[0].x.std()[0] / unit;
            assert!(std > 1e-4 && std < 0.3, "{unit}: {std}");
            // The other end of the box is an optimum too, and comes later.
            assert!(optima.windows(2).all(|o| !goal.better(o[1].value.mean()[0], o[0].value.mean()[0])));
            assert!(optima.iter().all(|o| bounds.contains(o.x.mean())));
        }
    }
}

#[test]
fn optima_of_two_numbers_and_a_chosen_output() {
    let side = grid(-1.0, 1.0, 11);
    let points: Vec<f64> = side.iter().flat_map(|&a| side.iter().flat_map(move |&b| [a, 10.0 * b])).collect();
    let bump = |x: &[f64], a: f64, b: f64| -(x[0] - a).powi(2) - (x[1] / 10.0 - b).powi(2);
    let values: Vec<f64> =
        points.chunks(2).flat_map(|x| [bump(x, 0.4, -0.2), 5.0 - bump(x, -0.3, 0.5)]).collect();
    let net = trained(Matrix::new(points, 2).unwrap(), Matrix::new(values, 2).unwrap(), true);
    let bounds = Bounds::new([(-1.0, 1.0), (-10.0, 10.0)]).unwrap();
    for (output, goal, place) in [(0, Goal::Maximum, [0.4, -2.0]), (1, Goal::Minimum, [-0.3, 5.0])] {
        let settings = SearchSettings { output, ..SearchSettings::default() };
        let optima = search(&net, &bounds, goal, &settings).unwrap();
        let x = optima[0].x.mean();
        assert!((x[0] - place[0]).abs() < 0.1 && (x[1] - place[1]).abs() < 1.0, "{output}: {x:?}");
    }
    let settings = SearchSettings { output: 2, ..SearchSettings::default() };
    refuses(search(&net, &bounds, Goal::Minimum, &settings), &["output"]);
}

#[test]
fn searches_that_cannot_be_are_refused() {
    let net = Network::mlp([2, 4, 1], Activation::Tanh).build().unwrap();
    let square = Bounds::new([(0.0, 1.0); 2]).unwrap();
    let line = Bounds::new([(0.0, 1.0)]).unwrap();
    refuses(
        search(&net, &line, Goal::Minimum, &SearchSettings::default()),
        &["bounds: expected 2 coordinates, got 1"],
    );
    for step in [0.0, -0.1, 1.5, f64::NAN] {
        let settings = SearchSettings { step, ..SearchSettings::default() };
        refuses(search(&net, &square, Goal::Minimum, &settings), &["step", "share of the box"]);
    }
    for (starts, rounds) in [(0, 1), (1, 0)] {
        let settings = SearchSettings { starts, rounds, ..SearchSettings::default() };
        refuses(search(&net, &square, Goal::Minimum, &settings), &["at least one start and one round"]);
    }
    // Nothing can move: the message names the cure.
    for activation in [Activation::Relu, Activation::LeakyRelu { slope: 0.1 }] {
        let flat = Network::mlp([2, 4, 1], activation).build().unwrap();
        let says = ["first layer is piecewise linear", "tanh", "mixture_relu"];
        refuses(search(&flat, &square, Goal::Minimum, &SearchSettings::default()), &says);
    }
}

#[test]
fn the_same_seed_finds_the_same_optima() {
    let net = Network::mlp([2, 8, 1], Activation::Tanh).seed(3).device(Device::cpu(1)).build().unwrap();
    let bounds = Bounds::new([(-1.0, 1.0); 2]).unwrap();
    let run = |seed| {
        search(&net, &bounds, Goal::Maximum, &SearchSettings { seed, ..SearchSettings::default() }).unwrap()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// The paper's network and data: y = x^3 - 3x + N(0, 0.1^2) at 100 points.
fn papers(seed: u64) -> (Network, Matrix, Matrix) {
    let net = Network::builder(Shape::flat(1))
        .layer(Layer::linear(64))
        .layer(Activation::Tanh)
        .layer(Layer::linear(64))
        .layer(Activation::Relu)
        .layer(Layer::linear(1))
        .noise_std([0.1])
        .update_rule(UpdateRule::Plain)
        .seed(seed)
        .device(Device::cpu(1))
        .build()
        .unwrap();
    let mut noise = rng::stream(seed, "noise", 0);
    let x = grid(-2.0, 2.0, 100);
    let y = x.iter().map(|x| x.powi(3) - 3.0 * x + 0.1 * rng::standard_normal(&mut noise)).collect();
    (net, column(x), column(y))
}

fn at(x: f64) -> Gaussian {
    Gaussian::new(vec![x], vec![1e-4], 1).unwrap()
}

#[test]
fn follows_the_papers_rows() {
    let (mut net, x, y) = papers(0);
    let (left, right) = (at(-0.25), at(0.25));
    let rows = [
        (&right, Wanted::stationary(), 1.0),
        (&left, Wanted::stationary(), -1.0),
        (&right, Wanted::maximum(), -1.0),
        (&left, Wanted::maximum(), -1.0),
        (&right, Wanted::minimum(), 1.0),
        (&left, Wanted::minimum(), 1.0),
    ];
    let starts = rows.map(|(start, wanted, _)| (start, wanted));
    let paths = follow(&mut net, &x, &y, &starts, &Follow::default()).unwrap();
    for (path, (_, _, optimum)) in paths.iter().zip(rows) {
        let end = path.steps.last().unwrap().mean()[0];
        assert!(!path.lost && path.steps.len() == 101 && (end - optimum).abs() < 0.1, "{optimum}: {end}");
    }
}

#[test]
fn the_guard_keeps_the_start_that_the_paper_lost() {
    let start = at(1.9);
    let starts = [(&start, Wanted::stationary())];
    let run = |guard| {
        let (mut net, x, y) = papers(0);
        let settings = Follow { epochs: 20, guard, seed: 0 };
        follow(&mut net, &x, &y, &starts, &settings).unwrap().remove(0)
    };
    let free = run(None);
    assert!(free.lost || free.steps.last().unwrap().mean()[0].abs() > 2.0, "{:?}", free.steps.last());
    let guarded = run(Some(Bounds::new([(-2.0, 2.0)]).unwrap()));
    assert!(!guarded.lost && guarded.steps.len() == 21);
    assert!(guarded.steps.iter().all(|g| g.mean()[0].abs() <= 2.0));
}

#[test]
fn followers_that_cannot_be_are_refused() {
    let (mut net, x, y) = papers(0);
    let start = at(0.25);
    let starts = [(&start, Wanted::maximum())];
    let short = column(vec![0.0; 99]);
    refuses(follow(&mut net, &x, &short, &starts, &Follow::default()), &["100 rows", "99"]);
    let guard = Some(Bounds::new([(0.0, 1.0); 2]).unwrap());
    let settings = Follow { guard, ..Follow::default() };
    refuses(follow(&mut net, &x, &y, &starts, &settings), &["bounds: expected 1 coordinates, got 2"]);
    let wide = Gaussian::new(vec![0.1, 0.2], vec![1e-4; 2], 2).unwrap();
    assert!(follow(&mut net, &x, &y, &[(&wide, Wanted::maximum())], &Follow::default()).is_err());
    let mut flat = Network::mlp([1, 8, 1], Activation::Relu).build().unwrap();
    refuses(follow(&mut flat, &x, &y, &starts, &Follow::default()), &["piecewise linear"]);
}
