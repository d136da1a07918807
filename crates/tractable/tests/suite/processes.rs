//! An ensemble whose largest weight is a Gaussian process, and every verb on it.

use std::ops::ControlFlow;
use tractable::data::Dataset;
use tractable::ensemble::Settings;
use tractable::network::Drift;
use tractable::optimize::{Bounds, Goal, SearchSettings, search_ensemble};
use tractable::{Ensemble, Gaussian, Matrix, Wanted, rng};

/// `y = sin(2 a) + b^2 / 2` with noise of 0.1.
fn waves(rows: usize, seed: u64) -> (Matrix, Matrix) {
    let mut random = rng::stream(seed, "waves", 0);
    let x: Vec<f64> = (0..2 * rows).map(|_| rng::uniform(-2.0, 2.0, &mut random)).collect();
    let y = x.chunks_exact(2).map(|x| truth(x) + 0.1 * rng::standard_normal(&mut random)).collect();
    (Matrix::new(x, 2).unwrap(), Matrix::column(y).unwrap())
}

fn truth(x: &[f64]) -> f64 {
    (2.0 * x[0]).sin() + 0.5 * x[1] * x[1]
}

fn fit(x: Matrix, y: Matrix) -> Ensemble {
    let data = Dataset::new(x, y).unwrap();
    let settings = Settings::default().visits(1000);
    Ensemble::fit_with(&data, &settings, |_| ControlFlow::Continue(())).unwrap().unwrap()
}

fn process(rows: usize) -> Ensemble {
    let (x, y) = waves(rows, 1);
    let model = fit(x, y);
    let (name, weight) = model.candidates().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert!(name == "Gaussian process" && weight > 0.5, "{:?}", model.candidates().collect::<Vec<_>>());
    model
}

#[test]
fn it_predicts_and_keeps_noise_and_doubt_apart() {
    let (model, (x, y)) = (process(150), waves(1000, 2));
    let out = model.predict(&x).unwrap();
    let off = x.data().chunks_exact(2).zip(out.mean()).map(|(x, m)| (truth(x) - m).powi(2));
    assert!((off.sum::<f64>() / 1000.0).sqrt() < 0.1);
    let inside = |&i: &usize| {
        let [below, above] = out.below_and_above(i, y.data()[i]);
        below.min(above) >= 0.05
    };
    let share = (0..1000).filter(inside).count() as f64 / 1000.0;
    assert!((0.85..0.97).contains(&share), "{share}");
    let at = model.predict(&Matrix::new(vec![0.0, 0.0, 9.0, -9.0], 2).unwrap()).unwrap();
    assert!((0.06..0.17).contains(&at.noise_var()[0].sqrt()), "{at:?}");
    assert!(at.var()[1] > 30.0 * at.var()[0], "{at:?}");
}

/// Up to as many rows as are kept, over that border, and beyond it.
#[test]
fn what_it_learns_is_the_same_in_memory_in_a_copy_and_in_its_file() {
    for rows in [100, 1190] {
        let mut model = process(rows);
        let at = Matrix::new(vec![3.0, 3.0, 0.1, 0.2], 2).unwrap();
        let before = model.predict(&at).unwrap();
        let mut others =
            [model.try_clone().unwrap(), Ensemble::from_bytes(&model.to_bytes().unwrap()).unwrap()];
        let (x, y) = waves(30, 3);
        let x = Matrix::new(x.data().iter().map(|v| 3.0 + 0.2 * v).collect(), 2).unwrap();
        model.learn(&x, &y).unwrap();
        for part in [0..7, 7..30] {
            let part: Vec<usize> = part.collect();
            for other in &mut others {
                other.learn(&x.select(&part), &y.select(&part)).unwrap();
                *other = Ensemble::from_bytes(&other.to_bytes().unwrap()).unwrap();
            }
        }
        let after = model.predict(&at).unwrap();
        // It is surer where rows came.
        assert!(after.var()[0] < 0.5 * before.var()[0], "{rows}: {before:?} {after:?}");
        for other in &others {
            assert_eq!(other.predict(&at).unwrap(), after, "{rows}");
            assert!(other.to_bytes().unwrap() == model.to_bytes().unwrap());
        }
    }
}

#[test]
fn it_is_surprised_forgets_and_is_calibrated_again() {
    let (mut model, x) = (process(150), Matrix::new(vec![0.3, 0.3], 2).unwrap());
    let before = model.predict(&x).unwrap();
    let surprise = model.learn_one(&x, &Matrix::column(vec![5.0]).unwrap()).unwrap();
    assert!(surprise.ratio() > 10.0 && model.rows() == 151);
    let mut drift = Drift::default();
    assert!(drift.count(surprise) >= 1.0);
    let mut model = process(150);
    model.discount(4.0).unwrap();
    let after = model.predict(&x).unwrap();
    assert!(after.var()[0] > 1.3 * before.var()[0], "{before:?} {after:?}");
    for _ in 0..50 {
        let out = model.predict(&x).unwrap();
        model.recalibrate(&out, &[out.mean()[0] + 4.0 * out.total_std()[0]], None).unwrap();
    }
    assert!(model.predict(&x).unwrap().noise_var()[0] > 1.5 * after.noise_var()[0]);
}

#[test]
fn it_leaves_its_rows_out_and_has_a_quick_form() {
    let ((x, y), model) = (waves(150, 1), process(150));
    let data = Dataset::new(x.clone(), y.clone()).unwrap();
    let (left_out, own) = (model.left_out(&data).unwrap(), model.predict(&x).unwrap());
    let off = |out: &tractable::Prediction| {
        out.mean().iter().zip(y.data()).map(|(m, y)| (m - y).powi(2)).sum::<f64>().sqrt()
    };
    assert!(off(&left_out) > 1.1 * off(&own), "{} {}", off(&left_out), off(&own));
    let rmse = model.scores()[0].rmse.unwrap();
    assert!((off(&left_out) / 150f64.sqrt() - rmse).abs() < 1e-9, "the same as when it was fitted");
    assert_eq!(model.rows_left_out(&data).unwrap().len(), 150);
    let far = Matrix::new(vec![20.0, -20.0], 2).unwrap();
    let (quick, slow) = (process(150).quick().predict(&far).unwrap(), model.predict(&far).unwrap());
    assert!(quick.mean() == slow.mean() && quick.var()[0] < slow.var()[0]);
}

#[test]
fn it_is_conditioned_and_searched() {
    let model = process(200);
    let prior = Gaussian::new(vec![0.2, 0.0], vec![0.1, 1e-6], 2).unwrap();
    let wish = Matrix::column(vec![0.8]).unwrap();
    let x = model.condition(&prior, Wanted::from(&wish).noise_var(1e-4)).unwrap();
    assert!((x.mean()[0] - 0.8f64.asin() / 2.0).abs() < 0.1, "{:?}", x.mean());
    let prior = Gaussian::new(vec![0.5, 0.0], vec![0.2, 1e-6], 2).unwrap();
    let top = model.condition(&prior, Wanted::maximum()).unwrap();
    assert!((top.mean()[0] - 0.785).abs() < 0.25, "{:?}", top.mean());
    let bounds = Bounds::new([(-1.5, 1.5), (-1.5, 1.5)]).unwrap();
    let found = search_ensemble(&model, &bounds, Goal::Minimum, &SearchSettings::default()).unwrap();
    let at = found[0].x.mean();
    assert!((at[0] + 0.785).abs() < 0.2 && at[1].abs() < 0.3, "{:?}", found[0]);
}

#[test]
fn many_unknowns_are_answered_along_its_slopes() {
    let d = 20;
    let mut random = rng::stream(4, "many", 0);
    let x: Vec<f64> = (0..120 * d).map(|_| rng::standard_normal(&mut random)).collect();
    let bent = |x: &[f64]| (x.iter().sum::<f64>() / 4.0).tanh();
    let y = x.chunks_exact(d).map(|x| bent(x) + 0.05 * rng::standard_normal(&mut random)).collect();
    let model = fit(Matrix::new(x, d).unwrap(), Matrix::column(y).unwrap());
    assert!(
        model.candidates().any(|c| c.0 == "Gaussian process"),
        "{:?}",
        model.candidates().collect::<Vec<_>>()
    );
    let prior = Gaussian::new(vec![0.0; d], vec![1.0; d], d).unwrap();
    let wish = Matrix::column(vec![0.6]).unwrap();
    let x = model.condition(&prior, Wanted::from(&wish).noise_var(0.01)).unwrap();
    let said = model.predict(&Matrix::new(x.mean().to_vec(), d).unwrap()).unwrap();
    assert!((said.mean()[0] - 0.6).abs() < 0.15, "{:?}", said.mean());
}

#[test]
fn several_targets_have_processes_of_their_own() {
    let (x, y) = waves(100, 1);
    let both: Vec<f64> =
        x.data().chunks_exact(2).zip(y.data()).flat_map(|(x, y)| [*y, x[0] * x[1]]).collect();
    let model = fit(x.clone(), Matrix::new(both, 2).unwrap());
    let out = model.predict(&Matrix::new(vec![1.0, -1.0], 2).unwrap()).unwrap();
    assert!(
        (out.mean()[0] - truth(&[1.0, -1.0])).abs() < 0.3 && (out.mean()[1] + 1.0).abs() < 0.3,
        "{out:?}"
    );
    let file = Ensemble::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(file.predict(&x).unwrap(), model.predict(&x).unwrap());
}
