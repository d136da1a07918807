//! `Ensemble::condition`: the answers of one network are left as they are, those of several are pooled.

use crate::cases::Draw;
use std::ops::ControlFlow;
use tractable::data::Dataset;
use tractable::ensemble::Settings;
use tractable::{Activation, Ensemble, Fit, Gaussian, Matrix, Network, Wanted, condition::Found};

/// One network with the minima -1 and 1: y = (x^2 - 1)^2.
fn two_wells() -> Ensemble {
    let x: Vec<f64> = (0..120).map(|i| f64::from(i) / 40.0 - 1.5).collect();
    let y = x.iter().map(|x| (x * x - 1.0).powi(2)).collect();
    let data = Dataset::new(Matrix::column(x).unwrap(), Matrix::column(y).unwrap()).unwrap().standardize();
    let mut net = Network::mlp([1, 32, 1], Activation::Tanh).seed(0).build().unwrap();
    net.fit(&data, &Fit::new().epochs(200).batch(1).noise_std(0.05)).unwrap();
    Ensemble::calibrated(net, &data, &data).unwrap()
}

#[test]
fn one_network_keeps_its_minima() {
    let model = two_wells();
    let prior = Gaussian::new(vec![0.0], vec![0.64], 1).unwrap();
    let x = model.condition(&prior, Wanted::minimum()).unwrap();
    assert_eq!(x, model.networks().next().unwrap().condition(&prior, Wanted::minimum()).unwrap());
    assert!(matches!(x.found(0), Found::Points { .. }), "{:?}", x.found(0));
    assert_eq!(x.modes(0).len(), 2, "{:?}", x.modes(0));
    for mode in x.modes(0) {
        assert!((mode.mean[0].abs() - 1.0).abs() < 0.15 && mode.var[0].sqrt() < 0.2, "{mode:?}");
    }
}

#[test]
fn a_prior_covariance_is_weighed_by_points_too() {
    // y = (a - b)^2 / 2 with a and b alike: two lines of answers, and the prior keeps them near a = -b.
    let mut draw = Draw::new(1);
    let x: Vec<f64> = (0..600).map(|_| draw.uniform(-2.0, 2.0)).collect();
    let y = x.chunks_exact(2).map(|x| 0.5 * (x[0] - x[1]).powi(2)).collect();
    let data = Dataset::new(Matrix::new(x, 2).unwrap(), Matrix::column(y).unwrap()).unwrap();
    let settings = Settings::default().single(true).visits(6000);
    let model = Ensemble::fit_with(&data, &settings, |_| ControlFlow::Continue(())).unwrap().unwrap();
    let prior = Gaussian::new(vec![0.0; 2], vec![0.5; 2], 2).unwrap();
    let covariance = Matrix::new(vec![0.5, -0.3, -0.3, 0.5], 2).unwrap();
    let wish = Matrix::column(vec![2.0]).unwrap();
    let wanted = Wanted::from(&wish).noise_var(0.01).covariance(&covariance);
    let x = model.condition(&prior, wanted).unwrap();
    assert!(matches!(x.found(0), Found::Points { .. }), "{:?}", x.found(0));
    assert_eq!(x.modes(0).len(), 2, "{:?}", x.modes(0));
    for mode in x.modes(0) {
        assert!((mode.mean[0] - mode.mean[1]).abs() > 1.6, "{mode:?}");
    }
    // A given covariance of independent entries is the same as their variances.
    let diagonal = Matrix::new(vec![0.5, 0.0, 0.0, 0.5], 2).unwrap();
    let given = model.condition(&prior, Wanted::from(&wish).covariance(&diagonal)).unwrap();
    let plain = model.condition(&prior, Wanted::from(&wish)).unwrap();
    assert_eq!((given.modes(0), given.found(0)), (plain.modes(0), plain.found(0)));
    let bad = Matrix::new(vec![1.0, 2.0, 2.0, 1.0], 2).unwrap();
    let error = model.condition(&prior, Wanted::from(&wish).covariance(&bad)).unwrap_err().to_string();
    assert!(error.contains("positive definite"), "{error}");
}

#[test]
fn many_unknowns_are_pooled() {
    let d = 18;
    let mut draw = Draw::new(2);
    let x = draw.matrix(80, d);
    let y = (0..80).map(|i| x.row(i).iter().sum::<f64>() / 4.0).collect();
    let data = Dataset::new(x, Matrix::column(y).unwrap()).unwrap();
    let fit = |single: bool| {
        let settings = Settings::default().single(single).visits(1000);
        Ensemble::fit_with(&data, &settings, |_| ControlFlow::Continue(())).unwrap().unwrap()
    };
    let (prior, wish) = (draw.gaussian(1, d), Matrix::column(vec![1.0]).unwrap());
    let wanted = || Wanted::from(&wish).noise_var(0.1);
    let single = fit(true);
    let own = single.networks().next().unwrap().condition(&prior, wanted()).unwrap();
    assert_eq!(single.condition(&prior, wanted()).unwrap(), own);
    let pooled = fit(false).condition(&prior, wanted()).unwrap();
    assert!(matches!(pooled.found(0), Found::Linearised { .. }), "{:?}", pooled.found(0));
    // Networks that nearly agree have one answer.
    assert_eq!(pooled.modes(0).len(), 1);
    for i in 0..d {
        assert!((pooled.modes(0)[0].mean[i] - pooled.mean()[i]).abs() < 1e-9);
        assert!((pooled.modes(0)[0].var[i] / pooled.var()[i] - 1.0).abs() < 1e-9);
    }
}

/// Points would have conditioned on the label that is to be avoided.
#[test]
fn a_label_to_avoid_is_refused() {
    let x = Matrix::new(Draw::new(2).normals(120), 2).unwrap();
    let labels = (0..60).map(|i| usize::from(x.row(i)[0] > 0.0)).collect();
    let data = Dataset::with_labels(x, labels, vec!["low".into(), "high".into()]).unwrap();
    let mut net = Network::mlp([2, 8, 1], Activation::Relu).classes(2).build().unwrap();
    net.fit(&data, &Fit::new().epochs(2)).unwrap();
    let model = Ensemble::calibrated(net.try_clone().unwrap(), &data, &data).unwrap();
    let prior = Gaussian::new(vec![0.0; 2], vec![0.5; 2], 2).unwrap();
    let says =
        |result: tractable::Result<_>| result.map(|_: tractable::Posterior| ()).unwrap_err().to_string();
    let error = says(model.condition(&prior, Wanted::other_than(&[0])));
    assert!(error.contains("works only in a search"), "{error}");
    assert_eq!(error, says(net.condition(&prior, Wanted::other_than(&[0]))));
}
