//! What a model shows of itself: the rarer class, which columns count, and how the prediction moves with them.

use std::ops::ControlFlow;
use tractable::data::{Dataset, Table, Target};
use tractable::ensemble::{Cells, EffectSettings, ImportanceSettings, Loss, Rarer, Settings, Stage};
use tractable::{Ensemble, Matrix, rng};

fn fit(data: &Dataset, settings: &Settings) -> Ensemble {
    Ensemble::fit_with(data, settings, |_| ControlFlow::Continue(())).unwrap().unwrap()
}

/// Of a few in a hundred rows "yes", more where `x0` is large but nowhere most.
fn rare(rows: usize, seed: u64) -> (Matrix, Vec<usize>) {
    let mut random = rng::stream(seed, "rare", 0);
    let x: Vec<f64> = (0..2 * rows).map(|_| rng::standard_normal(&mut random)).collect();
    let yes = |x: &[f64]| 0.35 / (1.0 + (4.0 - 3.0 * x[0]).exp());
    let labels = x.chunks_exact(2).map(yes).collect::<Vec<_>>();
    let labels = labels.iter().map(|p| usize::from(rng::uniform(0.0, 1.0, &mut random) < *p)).collect();
    (Matrix::new(x, 2).unwrap(), labels)
}

/// It is never the most probable class, and its probabilities are right: the threshold finds it all the same.
#[test]
fn a_rare_class_is_found_and_probabilities_stay_honest() {
    let ((x, labels), (new, truth)) = (rare(500, 1), rare(2000, 2));
    let names = vec!["no".to_string(), "yes".to_string()];
    let data = Dataset::with_labels(x, labels, names.clone()).unwrap();
    let model = fit(&data, &Settings::default().visits(5000));
    let left_out = model.scores()[0].rarer.clone().unwrap();
    let p = model.predict_classes(&new).unwrap();
    let (class, least) = model.threshold().unwrap();
    let reach = |least: f64| p.data().chunks_exact(2).filter(|p| p[1] >= least).count();
    assert!(
        20 * reach(0.5) < reach(least),
        "hardly ever the most probable one: {} {}",
        reach(0.5),
        reach(least)
    );
    assert_eq!((class, least, &left_out.class[..]), (1, left_out.found.threshold, "yes"));
    let found = Rarer::of(p.data(), &truth, &names, Some((class, least))).unwrap().unwrap();
    let share = found.rows as f64 / 2000.0;
    assert!((0.03..0.1).contains(&share), "{share}");
    assert!(found.auc > 0.75 && found.average_precision > 2.0 * share, "{found:?}");
    assert!(found.found.recall > 0.4 && found.found.precision > 2.0 * share, "{found:?}");
    let mean = p.data().iter().skip(1).step_by(2).sum::<f64>() / 2000.0;
    assert!((mean - share).abs() < 0.02, "{mean} {share}");
    // It is kept with the model.
    let again = Ensemble::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(again.threshold(), model.threshold());
}

#[test]
fn the_rarer_class_is_that_with_fewer_rows_and_of_equals_the_second() {
    let names = ["a".to_string(), "b".to_string()];
    let of = |labels: &[usize]| {
        let p: Vec<f64> = labels.iter().flat_map(|l| if *l == 0 { [0.7, 0.3] } else { [0.4, 0.6] }).collect();
        Rarer::of(&p, labels, &names, None).unwrap().map(|r| (r.class, r.rows, r.found.f1))
    };
    assert_eq!(of(&[0, 1, 1]), Some(("a".into(), 1, 1.0)));
    assert_eq!(of(&[0, 0, 1]), Some(("b".into(), 1, 1.0)));
    assert_eq!(of(&[0, 1]), Some(("b".into(), 1, 1.0)));
    assert_eq!(of(&[1, 1]), None);
    let three = ["a".to_string(), "b".to_string(), "c".to_string()];
    assert_eq!(Rarer::of(&[0.2, 0.3, 0.5], &[2], &three, None).unwrap(), None);
}

/// Half of the rows are five times as noisy as the others and weigh a 25th. It fails where weights are ignored by networks or by what
/// calibrates them.
#[test]
fn rows_count_by_their_weights() {
    let mut random = rng::stream(8, "weights", 0);
    let (mut x, mut y, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..400 {
        let at = rng::uniform(-2.0, 2.0, &mut random);
        let weight = if i % 2 == 0 { 1.0 } else { 0.04 };
        x.push(at);
        // A fifth of the deviation is a 25th of the variance.
        y.push((1.5 * at).sin() + 0.1 / f64::sqrt(weight) * rng::standard_normal(&mut random));
        weights.push(weight);
    }
    let data = Dataset::new(Matrix::column(x).unwrap(), Matrix::column(y.clone()).unwrap()).unwrap();
    let settings = Settings::default().visits(20_000);
    let new = Matrix::column((0..41).map(|i| -2.0 + 0.1 * f64::from(i)).collect()).unwrap();
    let error = |model: &Ensemble| -> f64 {
        let out = model.predict(&new).unwrap();
        let miss = out.mean().iter().zip(new.data()).map(|(m, x)| (m - (1.5 * x).sin()).powi(2));
        (miss.sum::<f64>() / 41.0).sqrt()
    };
    let weighted = data.clone().with_weights(&weights).unwrap();
    let (plain, model) = (fit(&data, &settings), fit(&weighted, &settings));
    assert!(error(&model) < 0.6 * error(&plain), "{} {}", error(&model), error(&plain));
    // Rows of mean weight, .52, have a noise of .1 / sqrt(.52).
    let noise = model.predict(&new).unwrap().noise_var().iter().sum::<f64>() / 41.0;
    assert!((noise.sqrt() / 0.139 - 1.0).abs() < 0.25, "{}", noise.sqrt());
    // Left-out rows of both kinds are inside their intervals, which are as wide as their weights say.
    let (lower, upper) = model.left_out(&weighted).unwrap().interval(0.9).unwrap();
    for kind in 0..2 {
        let of = || (kind..400).step_by(2);
        let inside = of().filter(|&i| lower[i] <= y[i] && y[i] <= upper[i]).count();
        assert!((160..=196).contains(&inside), "{kind}: {inside} of 200");
    }
    // Also those of a single model, which are a part of the rows.
    let single = fit(&weighted, &settings.clone().single(true));
    let rows = single.rows_left_out(&weighted).unwrap();
    let (lower, upper) = single.left_out(&weighted).unwrap().interval(0.9).unwrap();
    let width = |kind: usize| {
        let of: Vec<f64> =
            (0..rows.len()).filter(|&i| rows[i] % 2 == kind).map(|i| upper[i] - lower[i]).collect();
        of.iter().sum::<f64>() / of.len() as f64
    };
    assert!(rows.len() < 400 && width(1) > 3.0 * width(0), "{} {}", width(0), width(1));
    // A target that is known only in rows of weight 0 is not known.
    let both: Vec<f64> = y.iter().flat_map(|y| [*y, *y]).collect();
    let known: Vec<bool> = (0..400).flat_map(|i| [true, i < 10]).collect();
    let target = Target::Values { y: Matrix::new(both, 2).unwrap(), observed: Some(known) };
    let zero: Vec<f64> = (0..400).map(|i| f64::from(u8::from(i >= 10))).collect();
    let unknown = data.clone().with_target(target).unwrap().with_weights(&zero).unwrap();
    assert!(Ensemble::fit(&unknown).unwrap_err().to_string().contains("known in 0 rows"));
    // Only ratios count, and a row of weight 0 is as if it were not there.
    assert!(data.clone().with_weights(&[3.0; 400]).unwrap().weights().is_none());
    let doubled: Vec<f64> = weights.iter().map(|w| 2.0 * w).collect();
    assert_eq!(data.clone().with_weights(&doubled).unwrap().weights(), weighted.weights());
    assert!(data.clone().with_weights(&[1.0]).is_err() && data.clone().with_weights(&[-1.0; 400]).is_err());
    assert!(data.clone().with_weights(&[0.0; 400]).unwrap_err().to_string().contains("all are 0"));
    let few: Vec<f64> = (0..400).map(|i| f64::from(u8::from(i < 4))).collect();
    let few = Ensemble::fit(&data.with_weights(&few).unwrap()).unwrap_err().to_string();
    assert!(few.contains("at least 5 are needed"), "{few}");
}

/// Labels that are wrong weigh next to nothing; so do those of rows that weigh nothing.
#[test]
fn classes_count_by_the_weights_of_their_rows() {
    let mut random = rng::stream(9, "weights", 0);
    let x: Vec<f64> = (0..300).map(|_| rng::uniform(-1.0, 1.0, &mut random)).collect();
    // Every second row has the opposite of the truth.
    let labels: Vec<usize> =
        x.iter().enumerate().map(|(i, x)| usize::from((*x > 0.0) == (i % 2 == 0))).collect();
    let names = || vec!["low".to_string(), "high".to_string()];
    let data = Dataset::with_labels(Matrix::column(x).unwrap(), labels, names()).unwrap();
    let at = Matrix::column(vec![-0.7, 0.7]).unwrap();
    let p = |weight: f64| {
        let weights: Vec<f64> = (0..300).map(|i| if i % 2 == 0 { 1.0 } else { weight }).collect();
        let data = data.clone().with_weights(&weights).unwrap();
        fit(&data, &Settings::default().visits(5000)).predict_classes(&at).unwrap()
    };
    let (alike, next_to_nothing) = (p(1.0), p(0.02));
    assert!((alike.row(1)[1] - 0.5).abs() < 0.2, "{alike:?}");
    assert!(next_to_nothing.row(1)[1] > 0.9 && next_to_nothing.row(0)[1] < 0.1, "{next_to_nothing:?}");
}

/// Weights of classes shift the probabilities by Bayes' rule, everywhere, and are kept with the model.
#[test]
fn weights_of_classes_are_a_prior() {
    let ((x, labels), (new, _)) = (rare(200, 1), rare(50, 2));
    let data = Dataset::with_labels(x, labels, vec!["no".into(), "yes".into()]).unwrap();
    let settings = Settings::default().visits(2000);
    let (plain, model) = (fit(&data, &settings), fit(&data, &settings.clone().class_weights(vec![0.5, 8.0])));
    let (before, after) = (plain.predict_classes(&new).unwrap(), model.predict_classes(&new).unwrap());
    for row in 0..50 {
        let [no, yes] = [before.row(row)[0], before.row(row)[1]];
        let expected = 8.0 * yes / (0.5 * no + 8.0 * yes);
        assert!((after.row(row)[1] - expected).abs() < 1e-12, "{row}");
    }
    let again = Ensemble::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(again.predict_classes(&new).unwrap(), after);
    let [a, b] = [&plain, &model].map(|m| m.scores()[0].rarer.clone().unwrap());
    assert!((a.auc - b.auc).abs() < 1e-9 && b.found.threshold > a.found.threshold, "{a:?} {b:?}");
    for (bad, why) in
        [(vec![1.0], "class weights"), (vec![1.0, 0.0], "positive"), (vec![1.0, f64::NAN], "positive")]
    {
        let refused =
            Ensemble::fit_with(&data, &settings.clone().class_weights(bad), |_| ControlFlow::Continue(()));
        assert!(refused.unwrap_err().to_string().contains(why));
    }
}

/// Asked of a model whose targets are `3 x0 + x1`, where `x2` says nothing.
fn known(classes: bool) -> (Ensemble, Dataset) {
    let mut random = rng::stream(4, "known", 0);
    let x: Vec<f64> = (0..600).map(|_| rng::standard_normal(&mut random)).collect();
    let y: Vec<f64> =
        x.chunks_exact(3).map(|x| 3.0 * x[0] + x[1] + 0.5 * rng::standard_normal(&mut random)).collect();
    let x = Matrix::new(x, 3).unwrap();
    let data = match classes {
        true => {
            let labels = y.iter().map(|y| usize::from(*y > 0.0)).collect();
            Dataset::with_labels(x, labels, vec!["low".into(), "high".into()]).unwrap()
        }
        false => Dataset::new(x, Matrix::column(y).unwrap()).unwrap(),
    };
    (fit(&data, &Settings::default().visits(2000)), data)
}

fn on(_: Stage) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Dealing out a column of a linear function adds twice its part of the variance to the squared error.
#[test]
fn importance_of_a_linear_function_is_twice_the_variance_it_explains() {
    let (model, data) = known(false);
    for left_out in [true, false] {
        let settings = ImportanceSettings::default().loss(Loss::Squared).repeats(20).left_out(left_out);
        let found = model.importance(&data, &settings, on).unwrap().unwrap();
        assert_eq!((found.rows, found.columns.len()), (200, 3));
        assert!((0.2..0.35).contains(&found.loss[0]), "{found:?}");
        for (column, expected) in found.columns.iter().zip([18.0, 2.0, 0.0]) {
            let (increase, std) = (column.increase[0], column.std[0]);
            assert!(
                (increase - expected).abs() < 3.0 * std + 0.15 * expected + 0.02,
                "{expected}: {column:?}"
            );
            assert!(std > 0.0 && std < 0.15 * expected + 0.02, "{column:?}");
        }
        assert_eq!(model.importance(&data, &settings, on).unwrap().unwrap(), found);
        assert_ne!(model.importance(&data, &settings.clone().seed(1), on).unwrap().unwrap(), found);
    }
    // Densities and classes say the same in their own units.
    for classes in [false, true] {
        let (model, data) = known(classes);
        let found = model.importance(&data, &ImportanceSettings::default(), on).unwrap().unwrap();
        let [a, b, c] = [0, 1, 2].map(|i| found.columns[i].increase[0]);
        assert!(a > 2.0 * b && b > 5.0 * c.abs().max(0.01), "{found:?}");
    }
}

#[test]
fn importance_stops_and_refuses() {
    let (model, data) = known(false);
    let settings = ImportanceSettings::default();
    let mut calls = 0;
    let stopped = model.importance(&data, &settings, |stage| {
        assert!(stage.done <= stage.of);
        calls += 1;
        if calls == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((stopped.unwrap(), calls), (None, 4));
    let few = data.select(&[0, 1, 2]).unwrap();
    assert!(model.importance(&few, &settings, on).unwrap_err().to_string().contains("it was fitted to"));
    assert!(model.importance(&few, &settings.clone().left_out(false), on).unwrap().is_some());
    assert!(model.importance(&data, &settings.clone().repeats(0), on).is_err());
    let (classes, _) = known(true);
    assert!(classes.importance(&data, &settings, on).unwrap_err().to_string().contains("has classes"));
    let all = model.importance(&data, &settings.most_rows(50), on).unwrap().unwrap();
    assert_eq!(all.rows, 50);
}

/// A category of three levels is three inputs, and they move together.
#[test]
fn importance_and_effects_are_of_the_columns_of_a_table() {
    let mut random = rng::stream(6, "table", 0);
    let (mut x, mut kind, mut y) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..240 {
        let size = rng::uniform(0.0, 10.0, &mut random);
        let of = ["blue", "green", "red"][i % 3];
        x.push(if i % 40 == 7 { String::new() } else { size.to_string() });
        kind.push(of.to_string());
        let level = [0.0, 5.0, 20.0][i % 3];
        y.push((level + size + 0.3 * rng::standard_normal(&mut random)).to_string());
    }
    let columns = [("size".to_string(), x), ("kind".to_string(), kind), ("y".to_string(), y)];
    let data = Table::of_columns(columns.to_vec()).unwrap().target("y").unwrap();
    assert_eq!(data.width(), 4);
    let model = fit(&data, &Settings::default().visits(3000));
    let found = model.importance(&data, &ImportanceSettings::default(), on).unwrap().unwrap();
    let names: Vec<&str> = found.columns.iter().map(|c| &c.name[..]).collect();
    assert_eq!(names, ["size", "kind"]);
    assert!(found.columns[1].increase[0] > found.columns[0].increase[0], "{found:?}");

    let settings = EffectSettings::default().points(7);
    let kinds = model.effect(&data, "kind", &settings, on).unwrap().unwrap();
    assert_eq!(kinds.at, Cells::Levels(["blue", "green", "red"].map(String::from).to_vec()));
    let mean = kinds.mean.data();
    assert!((mean[1] - mean[0] - 5.0).abs() < 0.7 && (mean[2] - mean[0] - 20.0).abs() < 0.7, "{kinds:?}");
    let sizes = model.effect(&data, "size", &settings, on).unwrap().unwrap();
    let Cells::Numbers(at) = &sizes.at else { panic!("sizes are numbers") };
    assert!(at.len() == 7 && at.is_sorted() && at[0] < 0.5 && at[6] > 9.5, "{at:?}");
    for (i, at) in at.iter().enumerate() {
        let truth = at + 25.0 / 3.0;
        let (mean, std) = (sizes.mean.data()[i], sizes.std.data()[i]);
        assert!((mean - truth).abs() < 4.0 * std && std < 0.6, "{at}: {mean} +- {std}, {truth}");
    }
    assert!(model.effect(&data, "colour", &settings, on).unwrap_err().to_string().contains("no such column"));
    assert!(model.effect(&data, "kind", &settings, |_| ControlFlow::Break(())).unwrap().is_none());
}

/// Of every cell the probabilities add up to 1, and the networks are somewhat apart.
#[test]
fn effects_of_classes_are_probabilities() {
    let (model, data) = known(true);
    let effect = model.effect(&data, "x0", &EffectSettings::default().points(5), on).unwrap().unwrap();
    let high: Vec<f64> = effect.mean.data().iter().skip(1).step_by(2).copied().collect();
    assert!(high.is_sorted() && high[0] < 0.1 && high[4] > 0.9, "{high:?}");
    assert!(effect.mean.data().chunks_exact(2).all(|p| (p[0] + p[1] - 1.0).abs() < 1e-9));
    assert!(
        effect.std.data().iter().all(|s| (0.0..0.2).contains(s)) && effect.std.data()[4] > 0.0,
        "{effect:?}"
    );
}
