//! The candidates of an ensemble: a fit whose largest weight is a line, and every verb on it; mixtures; logarithms.

use std::ops::ControlFlow;
use tractable::data::Dataset;
use tractable::ensemble::Settings;
use tractable::network::Observation;
use tractable::optimize::{Bounds, Goal, SearchSettings, search_ensemble};
use tractable::{Ensemble, Gaussian, Matrix, Wanted, rng};

/// `y = 2 + a - b / 2` with noise of 0.5, and rows that were not seen.
fn plane(rows: usize, seed: u64) -> (Matrix, Matrix) {
    let mut random = rng::stream(seed, "plane", 0);
    let x: Vec<f64> = (0..2 * rows).map(|_| rng::standard_normal(&mut random)).collect();
    let noise = |x: &[f64]| 2.0 + x[0] - 0.5 * x[1];
    let y = x.chunks_exact(2).map(noise).collect::<Vec<_>>();
    let y = y.iter().map(|y| y + 0.5 * rng::standard_normal(&mut random)).collect();
    (Matrix::new(x, 2).unwrap(), Matrix::column(y).unwrap())
}

fn fit(data: &Dataset, settings: &Settings) -> Ensemble {
    Ensemble::fit_with(data, settings, |_| ControlFlow::Continue(())).unwrap().unwrap()
}

fn lines() -> Ensemble {
    let (x, y) = plane(150, 1);
    let model = fit(&Dataset::new(x, y).unwrap(), &Settings::default().visits(2000));
    let (name, weight) = model.candidates().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert!(name == "line" && weight > 0.5, "{:?}", model.candidates().collect::<Vec<_>>());
    model
}

#[test]
fn a_line_predicts_and_its_parts_are_those_of_the_noise() {
    let (model, (x, y)) = (lines(), plane(2000, 2));
    let out = model.predict(&x).unwrap();
    let inside = |&i: &usize| {
        let [below, above] = out.below_and_above(i, y.data()[i]);
        below.min(above) >= 0.05
    };
    let share = (0..2000).filter(inside).count() as f64 / 2000.0;
    assert!((0.85..0.95).contains(&share), "{share}");
    // Most of the variance is noise, and near the middle of the data hardly anything is left to learn.
    let at = model.predict(&Matrix::new(vec![0.0, 0.0, 9.0, -9.0], 2).unwrap()).unwrap();
    assert!((at.noise_var()[0].sqrt() - 0.5).abs() < 0.12 && at.var()[0].sqrt() < 0.2, "{at:?}");
    assert!(at.var()[1] > 5.0 * at.var()[0], "{at:?}");
}

#[test]
fn quantiles_densities_scores_and_samples_are_of_one_mixture() {
    let model = lines();
    let out = model.predict(&Matrix::new(vec![0.3, -1.0], 2).unwrap()).unwrap();
    assert!(out.components().len() > 1);
    for p in [0.001, 0.05, 0.5, 0.8, 0.999] {
        let q = out.quantile(p).unwrap()[0];
        let [below, above] = out.below_and_above(0, q);
        assert!((below - p).abs() < 1e-9 && (below + above - 1.0).abs() < 1e-9, "{p}: {below} {above}");
    }
    let (low, high) = (out.quantile(1e-6).unwrap()[0], out.quantile(1.0 - 1e-6).unwrap()[0]);
    let step = (high - low) / 4000.0;
    let sum =
        |f: &dyn Fn(f64) -> f64| (0..4000).map(|i| step * f(low + (f64::from(i) + 0.5) * step)).sum::<f64>();
    let density = |y: f64| out.ln_density(0, y).exp();
    assert!((sum(&density) - 1.0).abs() < 1e-4);
    let mean = sum(&|y| y * density(y));
    assert!((mean - out.mean()[0]).abs() < 1e-3, "{mean}");
    let var = sum(&|y| (y - mean).powi(2) * density(y));
    assert!((var / out.total_var()[0] - 1.0).abs() < 0.01, "{var}");
    let y = 1.7;
    let crps = sum(&|x| (out.below_and_above(0, x)[0] - f64::from(u8::from(x > y))).powi(2));
    assert!((crps - out.crps(0, y)).abs() < 0.01 * crps, "{crps} {}", out.crps(0, y));
    let drawn = out.samples(20_000, 0).unwrap();
    let average = drawn.data().iter().sum::<f64>() / 20_000.0;
    assert!((average - mean).abs() < 0.03, "{average} {mean}");
}

#[test]
fn what_it_learns_is_the_same_in_memory_in_a_copy_and_in_its_file() {
    for outside in [true, false] {
        let (x, y) = plane(60, 1);
        let settings = Settings::default().visits(2000);
        let mut model = fit(&Dataset::new(x, y).unwrap(), &settings);
        let far = Matrix::new(vec![5.0, 5.0, 0.1, 0.2], 2).unwrap();
        let before = model.predict(&far).unwrap();
        let mut copy = Ensemble::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert_eq!(copy.predict(&far).unwrap(), before);
        let (x, y) = plane(300, 3);
        // More rows far out, all at once and in two parts.
        let more = Matrix::new(x.data().iter().map(|v| 5.0 + v).collect(), 2).unwrap();
        let y = Matrix::column(y.data().iter().map(|y| y + 2.5).collect()).unwrap();
        model.learn(&more, &y).unwrap();
        let part = |rows: std::ops::Range<usize>| {
            let rows: Vec<usize> = rows.collect();
            (more.select(&rows), y.select(&rows))
        };
        for rows in [0..100, 100..300] {
            let (x, y) = part(rows);
            copy.learn(&x, &y).unwrap();
        }
        let after = model.predict(&far).unwrap();
        assert_eq!(after, copy.predict(&far).unwrap());
        assert_eq!(after, model.try_clone().unwrap().predict(&far).unwrap());
        let file = Ensemble::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert_eq!(after, file.predict(&far).unwrap());
        // It is surer where rows came.
        assert!(after.var()[0] < 0.5 * before.var()[0], "{outside}: {before:?} {after:?}");
        assert!(model.rows() == 360);
        // Also between two times that the uncertainty away from the data is worked out, and from there on.
        let (x, y) = part(0..3);
        model.learn(&x, &y).unwrap();
        let mut others =
            [model.try_clone().unwrap(), Ensemble::from_bytes(&model.to_bytes().unwrap()).unwrap()];
        for at in [0..0, 3..4, 4..60] {
            let after = model.predict(&far).unwrap();
            others.iter_mut().for_each(|other| {
                assert_eq!(after, other.predict(&far).unwrap());
                assert!(other.to_bytes().unwrap() == model.to_bytes().unwrap());
            });
            let (x, y) = part(at);
            if x.rows() > 0 {
                [&mut model].into_iter().chain(&mut others).for_each(|m| m.learn(&x, &y).unwrap());
            }
        }
    }
}

/// Learned row by row, forgotten and calibrated again, by all candidates, of numbers and of classes.
#[test]
fn every_candidate_is_the_same_in_memory_in_a_copy_and_in_its_file() {
    let (x, y) = plane(80, 1);
    let labels: Vec<usize> = y.data().iter().map(|y| usize::from(*y > 2.0)).collect();
    let positive = Matrix::column(y.data().iter().map(|y| (0.5 * y).exp()).collect()).unwrap();
    let classes = Dataset::with_labels(x.clone(), labels, vec!["low".into(), "high".into()]).unwrap();
    let (new, _) = plane(30, 5);
    for (data, classes) in [(Dataset::new(x, positive).unwrap(), false), (classes, true)] {
        let mut model = fit(&data, &Settings::default().visits(1000));
        let said = |model: &Ensemble| match classes {
            true => model.predict_classes(&new).unwrap().data().to_vec(),
            false => {
                let out = model.predict(&new).unwrap();
                [out.mean(), out.var(), out.noise_var(), &out.quantile(0.05).unwrap()].concat()
            }
        };
        for round in 0..3 {
            let file = Ensemble::from_bytes(&model.to_bytes().unwrap()).unwrap();
            let mut others = [model.try_clone().unwrap(), file];
            let expected = said(&model);
            assert!(others.iter().all(|other| said(other) == expected), "{classes} {round}");
            for row in 10 * round..10 * round + 10 {
                let x = new.select(&[row]);
                for model in [&mut model].into_iter().chain(&mut others) {
                    match classes {
                        true => drop(model.learn_one(&x, &[row % 2]).unwrap()),
                        false => drop(model.learn_one(&x, &Matrix::column(vec![4.0]).unwrap()).unwrap()),
                    }
                    if row % 5 == 0 {
                        model.discount(1.3).unwrap();
                    }
                }
            }
            let (bytes, expected) = (model.to_bytes().unwrap(), said(&model));
            for other in others {
                assert!(said(&other) == expected && other.to_bytes().unwrap() == bytes, "{classes} {round}");
            }
        }
    }
}

#[test]
fn all_rows_are_learned_or_none() {
    let mut model = lines();
    let before = model.to_bytes().unwrap();
    let x = Matrix::new(vec![0.1, 0.2, 0.3, 0.4], 2).unwrap();
    // The line learns 1e300, and the networks after it do not.
    let y = [1.0, 1e300];
    assert!(model.learn(&x, Observation::values(&y, 1).unwrap()).is_err());
    assert!(model.to_bytes().unwrap() == before);
    assert!(model.learn_one(&x.select(&[1]), Observation::values(&y[1..], 1).unwrap()).is_err());
    assert!(model.to_bytes().unwrap() == before);
    assert!(Observation::values(&[1.0, f64::NAN], 1).is_err());
    for noise in [[0.2, f64::NAN], [0.2, -1.0]] {
        let y = Observation::values(&[1.0, 2.0], 1).unwrap().noise_var(&noise);
        assert!(model.learn(&x, y).is_err() && model.to_bytes().unwrap() == before, "{noise:?}");
    }
    let wide = Matrix::new(vec![0.1, 0.2, 0.3], 3).unwrap();
    let columns = |y: &[f64]| Matrix::column(y.to_vec()).unwrap();
    assert!(model.learn(&wide, &columns(&[1.0])).is_err());
    assert!(model.learn(&x, &columns(&[1.0])).is_err());
    assert!(model.learn(&x, &Matrix::new(vec![1.0; 4], 2).unwrap()).is_err());
    assert!(model.learn(&x, &[0, 1]).is_err());
    assert!(model.to_bytes().unwrap() == before);
    model.learn(&x, &columns(&[1.0, 2.0])).unwrap();
    assert_eq!(model.rows(), 152);
}

#[test]
fn a_line_is_surprised_forgets_and_is_calibrated_again() {
    let mut model = lines();
    let x = Matrix::new(vec![0.3, 0.3], 2).unwrap();
    let far_off = model.learn_one(&x, &Matrix::column(vec![30.0]).unwrap()).unwrap();
    assert!(far_off.ratio() > 10.0 && model.rows() == 151);
    let mut model = lines();
    let before = model.predict(&x).unwrap();
    model.discount(4.0).unwrap();
    let after = model.predict(&x).unwrap();
    let doubt = |out: &tractable::Prediction| out.components()[0].doubt[0];
    assert!(doubt(&after) > 2.0 * doubt(&before) && after.var()[0] > before.var()[0], "{before:?} {after:?}");
    for _ in 0..50 {
        let out = model.predict(&x).unwrap();
        model.recalibrate(&out, &[out.mean()[0] + 4.0 * out.total_std()[0]], None).unwrap();
    }
    assert!(model.predict(&x).unwrap().noise_var()[0] > 1.5 * after.noise_var()[0]);
    let data = Dataset::new(plane(150, 1).0, plane(150, 1).1).unwrap();
    assert_eq!(lines().left_out(&data).unwrap().rows(), 150);
    let quick = lines().quick();
    let far = Matrix::new(vec![20.0, -20.0], 2).unwrap();
    assert_eq!(quick.predict(&far).unwrap().mean(), lines().predict(&far).unwrap().mean());
}

#[test]
fn a_line_is_conditioned_and_searched() {
    let model = lines();
    let prior = Gaussian::new(vec![0.0; 2], vec![1.0, 1e-6], 2).unwrap();
    let wish = Matrix::column(vec![3.0]).unwrap();
    let x = model.condition(&prior, Wanted::from(&wish).noise_var(1e-4)).unwrap();
    // Few are left of the prior where a is 1.
    assert!((x.mean()[0] - 1.0).abs() < 0.35, "{:?}", x.mean());
    let up = model.condition(&prior, Wanted::maximum()).unwrap();
    assert!(up.mean().iter().all(|v| v.is_finite()));
    let bounds = Bounds::new([(-1.0, 1.0), (-1.0, 1.0)]).unwrap();
    let found = search_ensemble(&model, &bounds, Goal::Maximum, &SearchSettings::default()).unwrap();
    assert!(found[0].x.mean()[0] > 0.8 && found[0].x.mean()[1] < -0.8, "{:?}", found[0]);
    // Twenty unknowns: every network by its slopes.
    let d = 20;
    let mut random = rng::stream(4, "many", 0);
    let x: Vec<f64> = (0..80 * d).map(|_| rng::standard_normal(&mut random)).collect();
    let y =
        x.chunks_exact(d).map(|x| x.iter().sum::<f64>() + 0.3 * rng::standard_normal(&mut random)).collect();
    let data = Dataset::new(Matrix::new(x, d).unwrap(), Matrix::column(y).unwrap()).unwrap();
    let model = fit(&data, &Settings::default().visits(1000));
    let prior = Gaussian::new(vec![0.0; d], vec![1.0; d], d).unwrap();
    let x =
        model.condition(&prior, Wanted::from(&Matrix::column(vec![10.0]).unwrap()).noise_var(0.1)).unwrap();
    let sum: f64 = x.mean().iter().sum();
    assert!((7.0..12.0).contains(&sum), "{sum}");
}

#[test]
fn several_targets_have_weights_of_their_own() {
    let (x, plane) = plane(80, 1);
    let bent = |(r, y): (usize, &f64)| [*y, (3.0 * x.row(r)[0]).sin()];
    let y: Vec<f64> = plane.data().iter().enumerate().flat_map(bent).collect();
    let data = Dataset::new(x.clone(), Matrix::new(y, 2).unwrap()).unwrap();
    let model = fit(&data, &Settings::default().visits(4000));
    let out = model.predict(&x).unwrap();
    let line = out.components().iter().map(|c| c.weight[0] - c.weight[1]).fold(f64::NEG_INFINITY, f64::max);
    assert!(line > 0.3, "{:?}", out.components().iter().map(|c| &c.weight).collect::<Vec<_>>());
    let file = Ensemble::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(file.predict(&x).unwrap(), out);
}

/// A target that is positive, and grows by factors.
#[test]
fn logarithms_are_learned_where_targets_are_positive() {
    let (x, y) = plane(100, 1);
    let y = Matrix::column(y.data().iter().map(|y| y.exp()).collect()).unwrap();
    let data = Dataset::new(x.clone(), y.clone()).unwrap();
    let mut model = fit(&data, &Settings::default().visits(4000));
    let weight = model.candidates().find(|c| c.0.contains("logarithm")).map_or(0.0, |c| c.1);
    assert!(weight > 0.3, "{:?}", model.candidates().collect::<Vec<_>>());
    let out = model.predict(&x).unwrap();
    assert!(out.mean().iter().zip(y.data()).all(|(m, _)| *m > -1.0));
    let most = y.data().iter().fold(0.0_f64, |a, b| a.max(*b));
    let far = model.predict(&Matrix::new(vec![50.0, -50.0], 2).unwrap()).unwrap();
    assert!(far.mean()[0] < 1.2 * most, "{} {most}", far.mean()[0]);
    let prior = Gaussian::new(vec![0.0; 2], vec![1.0, 1e-6], 2).unwrap();
    let wish = Matrix::column(vec![3.0_f64.exp()]).unwrap();
    let found = model.condition(&prior, Wanted::from(&wish).noise_var(0.01)).unwrap();
    assert!((found.mean()[0] - 1.0).abs() < 0.5, "{:?}", found.mean());
    // What is not positive says nothing to logarithms, and does not stop the others.
    model.learn(&Matrix::new(vec![0.0, 0.0], 2).unwrap(), &Matrix::column(vec![-1.0]).unwrap()).unwrap();
    assert!(model.predict(&x).unwrap().mean().iter().all(|m| m.is_finite()));
}

#[test]
fn noise_is_called_noise() {
    let mut random = rng::stream(0, "noise", 0);
    let x: Vec<f64> = (0..300).map(|_| rng::standard_normal(&mut random)).collect();
    let y: Vec<f64> = (0..60).map(|_| rng::standard_normal(&mut random)).collect();
    let data = Dataset::new(Matrix::new(x, 5).unwrap(), Matrix::column(y).unwrap()).unwrap();
    let model = fit(&data, &Settings::default());
    let new: Vec<f64> = (0..500).map(|_| rng::standard_normal(&mut random)).collect();
    let out = model.predict(&Matrix::new(new, 5).unwrap()).unwrap();
    let spread = out.mean().iter().map(|m| m * m).sum::<f64>() / 100.0;
    assert!(spread < 0.25, "{spread}");
    assert!(out.noise_var().iter().all(|v| (0.5..2.0).contains(v)), "{:?}", &out.noise_var()[..5]);
}
