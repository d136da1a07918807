//! Batches with exact and uncertain rows: the prediction of a row does not depend on the others.

use crate::cases::Draw;
use std::ops::ControlFlow;
use tractable::data::Dataset;
use tractable::ensemble::Settings;
use tractable::{Activation, Device, Ensemble, Gaussian, Matrix, Network, Prediction};

/// Mean, model variance and noise of a row.
fn of(out: &Prediction, row: usize) -> [Vec<f64>; 3] {
    let part = |all: &[f64]| all[row * out.width()..][..out.width()].to_vec();
    [part(out.mean()), part(out.var()), part(out.noise_var())]
}

/// Three rows, the second uncertain: the same as each by itself.
fn check(
    what: &str,
    width: usize,
    predict: &dyn Fn(&Gaussian) -> Prediction,
    exact: &dyn Fn(&Matrix) -> Prediction,
) {
    let mean = Draw::new(6).normals(3 * width);
    let mut var = vec![0.0; 3 * width];
    var[width] = 0.3;
    let all = predict(&Gaussian::new(mean.clone(), var.clone(), width).unwrap());
    for row in 0..3 {
        let (mean, var) = (mean[row * width..][..width].to_vec(), var[row * width..][..width].to_vec());
        let alone = predict(&Gaussian::new(mean.clone(), var, width).unwrap());
        assert_eq!(of(&all, row), of(&alone, 0), "{what}, row {row}");
        let known = exact(&Matrix::new(mean, width).unwrap());
        assert_eq!(of(&all, row) == of(&known, 0), row != 1, "{what}, row {row}");
    }
}

#[test]
fn a_network_predicts_every_row_by_itself() {
    for device in [Device::cpu(2), Device::reference()] {
        let net =
            Network::mlp([3, 12, 12, 2], Activation::MixtureRelu).seed(1).device(&device).build().unwrap();
        check(&format!("{device:?}"), 3, &|x| net.predict(x).unwrap(), &|x| net.predict(x).unwrap());
    }
}

#[test]
fn an_ensemble_predicts_every_row_by_itself() {
    let mut draw = Draw::new(4);
    let x = draw.matrix(40, 2);
    let y = (0..40).map(|i| (2.0 * x.row(i)[0]).sin() + x.row(i)[1] + 0.02 * draw.normal()).collect();
    let data = Dataset::new(x, Matrix::column(y).unwrap()).unwrap();
    for visits in [3000, 300] {
        let settings = Settings::default().visits(visits);
        let model = Ensemble::fit_with(&data, &settings, |_| ControlFlow::Continue(())).unwrap().unwrap();
        let what = format!("{visits} visits");
        check(&what, 2, &|x| model.predict(x).unwrap(), &|x| model.predict(x).unwrap());
    }
}
