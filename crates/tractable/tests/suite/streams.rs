//! Streams: learning row by row, surprise, drift, and a calibration that adapts.

use crate::cases::Draw;
use tractable::data::Dataset;
use tractable::ensemble::Settings;
use tractable::moments::surprise;
use tractable::{
    Activation, Device, Ensemble, Input, Layer, Matrix, Network, Noise, Shape,
    network::{Drift, Observation, Surprise},
};

/// A linear network: its posterior, with independent weights, is exact, and so are its predictions.
fn linear(draw: &mut Draw) -> Network {
    let net = Network::builder(Shape::flat(3)).layer(Layer::linear(1)).noise_std([0.5]);
    let mut net = net.device(Device::reference()).build().unwrap();
    for _ in 0..50 {
        let x: Vec<f64> = (0..3).map(|_| draw.normal()).collect();
        let y = x[0] - 2.0 * x[1] + 0.5 * draw.normal();
        net.learn_one(Input::exact(&x, 3).unwrap(), Observation::values(&[y], 1).unwrap()).unwrap();
    }
    net
}

/// The true weights have a larger variance than the network believes; T60 recovers that factor.
#[test]
fn the_factor_is_how_much_wider_the_world_is() {
    let mut draw = Draw::new(1);
    let net = linear(&mut draw);
    let (weights, bias) = net.weights("linear1").unwrap().unwrap();
    for wider in [1.5f64, 4.0, 50.0] {
        let mut sum = Surprise::default();
        for _ in 0..200_000 {
            let x: Vec<f64> = (0..3).map(|_| draw.normal()).collect();
            let mut drawn = |mean: f64, var: f64| mean + (wider * var).sqrt() * draw.normal();
            let b = drawn(bias.mean()[0], bias.var()[0]);
            let y: f64 = (0..3).map(|i| x[i] * drawn(weights.mean()[i], weights.var()[i])).sum::<f64>() + b;
            let y = [y + 0.5 * draw.normal()];
            let out = net.predict(Input::exact(&x, 3).unwrap()).unwrap();
            sum += Surprise::of_values(&out, &y, None).unwrap();
        }
        let factor = surprise::factor(sum.observed, sum.expected, sum.model);
        assert!((factor / wider - 1.0).abs() < 0.05, "{factor} is not {wider}");
    }
}

/// Against quantiles of chi-square by SciPy, at four standard deviations: 2 % too high for 8 rows, less for more.
#[test]
fn the_limit_is_the_quantile_of_chi_square() {
    let exact = [(8, 34.5959), (32, 74.3845), (128, 202.219), (512, 650.117)];
    for (k, quantile) in exact {
        let limit = surprise::limit(f64::from(k), 2.0 * f64::from(k), 4.0);
        assert!((limit / quantile - 1.0).abs() < 0.02, "{k}: {limit} is not {quantile}");
    }
}

/// `learn_one` learns as `learn` does, and its surprise is that of the prediction before.
#[test]
fn one_row_is_learned_as_ever_and_its_surprise_is_that_of_the_prediction() {
    for noise in [Noise::Known, Noise::Inferred, Noise::PerInput] {
        let net = Network::mlp([2, 16, 2], Activation::Tanh).noise_std([0.3]).noise(noise);
        let mut one = net.device(Device::reference()).build().unwrap();
        let (mut many, mut draw) = (one.try_clone().unwrap(), Draw::new(3));
        for t in 0..50 {
            let x = Matrix::new(vec![draw.normal(), draw.normal()], 2).unwrap();
            let y = Matrix::new(vec![draw.normal(), draw.normal()], 2).unwrap();
            let seen = [t % 3 > 0, t % 4 > 0];
            let said = Surprise::of_values(&one.predict(&x).unwrap(), y.data(), Some(&seen)).unwrap();
            let told = one.learn_one(&x, Observation::from(&y).seen(&seen)).unwrap();
            many.learn(&x, Observation::from(&y).seen(&seen)).unwrap();
            let pairs = [(said.observed, told.observed), (said.model, told.model)];
            // With a head, the network learns with its average noise.
            let close = |(a, b): (f64, f64)| (a - b).abs() < 1e-9 * (1.0 + a.abs());
            assert!(noise == Noise::PerInput || pairs.into_iter().all(close), "{said:?} {told:?}");
            assert_eq!(said.expected, told.expected);
        }
        assert_eq!(one.to_bytes().unwrap(), many.to_bytes().unwrap());
    }
    let mut net = Network::mlp([2, 16, 3], Activation::Tanh).classes(3).build().unwrap();
    let x = Matrix::new(vec![0.3, -0.2], 2).unwrap();
    let p = net.predict_classes(&x).unwrap();
    let told = net.learn_one(&x, &[2]).unwrap();
    let square = |k: usize| (f64::from(u8::from(k == 2)) - p.row(0)[k]).powi(2);
    assert!((told.observed - (0..3).map(square).sum::<f64>()).abs() < 1e-6);
    assert!(net.learn_one(&Matrix::new(vec![0.0; 4], 2).unwrap(), &[0, 1]).is_err());
}

/// A wave that jumps: mean squared error before, in the 300 rows after, and how often it forgot before and after.
fn jump(drifts: bool) -> ([f64; 2], [usize; 2]) {
    let net = Network::mlp([2, 32, 1], Activation::MixtureRelu).noise_std([0.2]).seed(1);
    let mut net = net.device(Device::cpu(1)).build().unwrap();
    let (mut drift, mut draw) = (Drift::default(), Draw::new(5));
    let (mut errors, mut forgot) = ([0.0; 2], [0; 2]);
    for t in 0..10_000 {
        let x = [draw.uniform(-1.0, 1.0), draw.uniform(-1.0, 1.0)];
        let truth = if t < 8000 { (2.0 * x[0]).sin() } else { -(2.0 * x[1]).sin() };
        let row = Input::exact(&x, 2).unwrap();
        let off = (net.predict(row).unwrap().mean()[0] - truth).powi(2);
        errors[0] += if (7000..8000).contains(&t) { off / 1000.0 } else { 0.0 };
        errors[1] += if (8500..10_000).contains(&t) { off / 1500.0 } else { 0.0 };
        let y = [truth + 0.2 * draw.normal()];
        let surprise = net.learn_one(row, Observation::values(&y, 1).unwrap()).unwrap();
        if drifts && drift.follow(&mut net, surprise).unwrap() > 1.0 {
            forgot[usize::from(t >= 8000)] += 1;
        }
    }
    (errors, forgot)
}

#[test]
fn a_network_that_is_surprised_forgets_and_others_do_not() {
    let (deaf, _) = jump(false);
    let (follows, [before, after]) = jump(true);
    assert_eq!(before, 0, "it forgot although nothing changed");
    assert!((1..20).contains(&after), "it forgot {after} times");
    assert_eq!(deaf[0], follows[0]);
    assert!(follows[1] < 0.5 * deaf[1], "{} is not much less than {}", follows[1], deaf[1]);
}

#[test]
fn a_discount_widens_predictions_and_stops_at_the_prior() {
    let fresh = Network::mlp([1, 16, 1], Activation::Tanh).noise_std([0.1]).build().unwrap();
    let mut net = fresh.try_clone().unwrap();
    let x = Matrix::column(vec![0.4]).unwrap();
    for _ in 0..500 {
        net.learn(&x, &x).unwrap();
    }
    let var = |net: &Network| net.predict(&x).unwrap().var()[0];
    let sure = var(&net);
    net.discount(1.0).unwrap();
    assert_eq!(var(&net), sure);
    net.discount(1.1).unwrap();
    // To first order by a tenth; products of variances add to it.
    assert!((1.09..1.17).contains(&(var(&net) / sure)), "{}", var(&net) / sure);
    net.discount(1e300).unwrap();
    let vars = |net: &Network| net.weights("linear1").unwrap().unwrap().0.var().to_vec();
    assert_eq!(vars(&net), vars(&fresh));
    assert!(net.discount(0.9).is_err() && net.discount(f64::NAN).is_err());
}

/// New rows with three times the noise: in the end, a model that adapts has 90 % of them inside its intervals.
#[test]
fn a_calibration_follows_new_rows() {
    let mut draw = Draw::new(2);
    let mut row = |noise: f64| {
        let x = draw.uniform(-1.0, 1.0);
        (x, 3.0 * x + noise * draw.normal())
    };
    let (x, y): (Vec<f64>, Vec<f64>) = (0..200).map(|_| row(0.2)).unzip();
    let data = Dataset::new(Matrix::column(x).unwrap(), Matrix::column(y).unwrap()).unwrap();
    let settings = Settings::default().visits(2000).single(true);
    let mut model =
        Ensemble::fit_with(&data, &settings, |_| std::ops::ControlFlow::Continue(())).unwrap().unwrap();
    let (mut inside, mut sum) = (0, Surprise::default());
    for t in 0..2000 {
        let (x, y) = row(0.6);
        let (x, y) = (Matrix::column(vec![x]).unwrap(), Matrix::column(vec![y]).unwrap());
        let out = model.predict(&x).unwrap();
        if t >= 1000 {
            let (lower, upper) = out.interval(0.9).unwrap();
            inside += usize::from(lower[0] <= y.data()[0] && y.data()[0] <= upper[0]);
            sum += model.surprise(&x, &y).unwrap();
        }
        model.recalibrate(&out, y.data(), None).unwrap();
        model.learn(&x, &y).unwrap();
    }
    assert!((870..930).contains(&inside), "{inside} of 1000");
    assert!((sum.ratio() - 1.0).abs() < 0.1, "{}", sum.ratio());
}
