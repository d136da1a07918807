//! Rows that are not independent, and targets that nothing explains.

use std::ops::ControlFlow;
use tractable::data::{Dataset, Target};
use tractable::ensemble::Settings;
use tractable::{Ensemble, Error, Matrix, rng};

/// `sin(2 a) + b` with noise.
fn wave(rows: usize, noise: f64, seed: u64) -> (Matrix, Vec<f64>) {
    let mut random = rng::stream(seed, "wave", 0);
    let x: Vec<f64> = (0..2 * rows).map(|_| rng::uniform(-2.0, 2.0, &mut random)).collect();
    let y = x.chunks_exact(2).map(|x| (2.0 * x[0]).sin() + x[1] + noise * rng::standard_normal(&mut random));
    let y = y.collect();
    (Matrix::new(x, 2).unwrap(), y)
}

fn dataset((x, y): (Matrix, Vec<f64>)) -> Dataset {
    Dataset::new(x, Matrix::column(y).unwrap()).unwrap()
}

fn try_fit(data: &Dataset, single: bool) -> Result<Ensemble, Error> {
    let settings = Settings::default().visits(5000).single(single);
    Ensemble::fit_with(data, &settings, |_| ControlFlow::Continue(())).map(Option::unwrap)
}

fn fit(data: &Dataset) -> Ensemble {
    try_fit(data, false).unwrap()
}

/// The share of targets inside the interval that should have 90 % of them.
fn covered(model: &Ensemble, (x, y): &(Matrix, Vec<f64>)) -> f64 {
    let (low, high) = model.predict(x).unwrap().interval(0.9).unwrap();
    (0..y.len()).filter(|&i| low[i] <= y[i] && y[i] <= high[i]).count() as f64 / y.len() as f64
}

#[test]
fn rows_that_stand_ten_times_claim_what_they_know() {
    let data = dataset(wave(60, 0.5, 1)).select(&(0..600).map(|row| row % 60).collect::<Vec<_>>()).unwrap();
    // As if every row were a group of its own.
    let apart = fit(&data.clone().with_groups((0..600).collect()).unwrap());
    let together = fit(&data);
    assert!(together.notes()[0].contains("600 rows are copies of 60"), "{:?}", together.notes());
    let [before, after] = [&apart, &together].map(|model| {
        let (new, claimed) = (covered(model, &wave(2000, 0.5, 2)), model.scores()[0].coverage_90.unwrap());
        println!("{:.1} % of new targets inside, {:.1} % of left-out ones", 100.0 * new, 100.0 * claimed);
        (new, claimed)
    });
    assert!((before.0 - before.1).abs() > 0.05 && (after.0 - after.1).abs() < 0.05, "{before:?} {after:?}");
    // A file knows which rows were left out.
    let read = Ensemble::from_bytes(&together.to_bytes().unwrap()).unwrap();
    assert_eq!(read.left_out(&data).unwrap(), together.left_out(&data).unwrap());
    assert_eq!(read.notes(), together.notes());
}

#[test]
fn outliers_are_set_aside_and_the_fit_is_that_without_them() {
    let (x, mut y) = wave(300, 0.2, 3);
    let clean = fit(&dataset((x.clone(), y.clone())));
    assert!(clean.notes().is_empty(), "{:?}", clean.notes());
    for row in [7, 77, 177] {
        y[row] = 100.0 * (3.0 + y[row]);
    }
    let data = dataset((x, y));
    let model = fit(&data);
    let [note] = model.notes() else { panic!("{:?}", model.notes()) };
    assert!(note.contains("3 values") && note.contains("`y0`"), "{note}");
    let new = wave(1000, 0.2, 4);
    let error = |model: &Ensemble| {
        let out = model.predict(&new.0).unwrap();
        (out.mean().iter().zip(&new.1).map(|(m, y)| (m - y).powi(2)).sum::<f64>() / 1000.0).sqrt()
    };
    assert!(error(&model) < 1.1 * error(&clean), "{} {}", error(&model), error(&clean));
    assert!((0.84..0.96).contains(&covered(&model, &new)));
    assert_eq!((model.scores()[0].rows, model.left_out(&data).unwrap().rows()), (297, 300));
}

#[test]
fn groups_are_left_out_together() {
    // Every group has an offset that nothing tells; an input tells the group.
    let mut random = rng::stream(5, "groups", 0);
    let offsets: Vec<f64> = (0..20).map(|_| 2.0 * rng::standard_normal(&mut random)).collect();
    let groups: Vec<usize> = (0..400).map(|row| row % 20).collect();
    let x = groups.iter().flat_map(|&g| [(g as f64 * 2.4).sin(), (g as f64 * 7.7).cos()]).collect::<Vec<_>>();
    let x = x.iter().map(|x| x + 0.01 * rng::standard_normal(&mut random)).collect();
    let y: Vec<f64> = groups.iter().map(|&g| offsets[g] + 0.2 * rng::standard_normal(&mut random)).collect();
    let plain = dataset((Matrix::new(x, 2).unwrap(), y));
    let named = plain.clone().with_groups(groups).unwrap();
    let rmse = |data: &Dataset| fit(data).scores()[0].rmse.unwrap();
    let (with, without) = (rmse(&named), rmse(&plain));
    println!("error of left-out rows: {without:.2}, of left-out groups {with:.2}");
    assert!(with > 2.0 * without, "{without} {with}");
    let few = plain.with_groups((0..400).map(|row| row % 3).collect()).unwrap();
    let error = try_fit(&few, false).unwrap_err().to_string();
    assert!(error.contains("groups") && error.contains("there are 3"), "{error}");
}

#[test]
fn with_time_later_rows_are_left_out_and_all_are_learned() {
    // A drift: the newest rows say most about the next ones.
    let mut random = rng::stream(6, "time", 0);
    let time: Vec<f64> = (0..300).map(f64::from).collect();
    let x = time.iter().flat_map(|t| [t / 100.0, rng::standard_normal(&mut random)]).collect::<Vec<_>>();
    let y = x.chunks_exact(2).map(|x| x[0] + x[1] + 0.1 * rng::standard_normal(&mut random)).collect();
    let data = dataset((Matrix::new(x, 2).unwrap(), y)).with_time(time).unwrap();
    for single in [false, true] {
        let model = try_fit(&data, single).unwrap();
        let rows = model.rows_left_out(&data).unwrap();
        assert_eq!(rows, (if single { 250 } else { 50 }..300).collect::<Vec<_>>());
        let out = model.left_out(&data).unwrap();
        assert_eq!((out.rows(), model.scores()[0].rows), (rows.len(), rows.len()));
        // What left a row out has learned nothing later; what predicts has learned all rows.
        let other = {
            let Target::Values { y, .. } = data.target() else { panic!() };
            let y = y.data().iter().enumerate().map(|(i, y)| if i < 250 { *y } else { y + 2.0 }).collect();
            let target = Target::Values { y: Matrix::column(y).unwrap(), observed: None };
            try_fit(&data.clone().with_target(target).unwrap(), single).unwrap()
        };
        let next = Matrix::new(vec![3.0, 0.0], 2).unwrap();
        let [before, after] = [&model, &other].map(|m| m.predict(&next).unwrap().mean()[0]);
        assert!((before - 3.0).abs() < 0.3 && after > before + 0.5, "{before} {after}");
        let read = Ensemble::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert_eq!(read.predict(&next).unwrap(), model.predict(&next).unwrap());
        assert_eq!(read.left_out(&data).unwrap(), out);
    }
}

#[test]
fn parts_are_of_other_groups_or_later() {
    let data = dataset(wave(100, 0.1, 7));
    let groups: Vec<usize> = (0..100).map(|row| row % 7).collect();
    let (train, test) = data.clone().with_groups(groups).unwrap().split(0.8, 3).unwrap();
    let rows = |part: &Dataset| -> Vec<usize> {
        let place = |row: usize| (0..100).find(|&r| data.x().row(r) == part.x().row(row)).unwrap() % 7;
        (0..part.rows()).map(place).collect()
    };
    let (train, test) = (rows(&train), rows(&test));
    assert!(test.iter().all(|group| !train.contains(group)) && (5..25).contains(&test.len()));
    let time = (0..100).map(|row| f64::from(100 - row)).collect();
    let (_, test) = data.clone().with_time(time).unwrap().split(0.9, 3).unwrap();
    assert_eq!(test.rows(), 10);
    assert!((0..10).all(|row| data.x().data()[..20].chunks(2).any(|x| x == test.x().row(row))));
}
