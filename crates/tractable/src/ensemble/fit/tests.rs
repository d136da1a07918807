//! What left-out rows decide.

use super::*;

/// A wave seen with noise.
fn wave(rows: usize, noise: f64, seed: u64) -> Dataset {
    let mut random = rng::stream(seed, "wave", 0);
    let x: Vec<f64> = (0..2 * rows).map(|_| rng::uniform(-2.0, 2.0, &mut random)).collect();
    let y = x.chunks_exact(2).map(|x| (2.0 * x[0]).sin() + x[1] + noise * rng::standard_normal(&mut random));
    let y = Matrix::column(y.collect()).unwrap();
    Dataset::new(Matrix::new(x, 2).unwrap(), y).unwrap()
}

#[test]
fn left_out_rows_decide_whether_units_are_independent() {
    for (rows, seed, better) in [(40, 0, true), (100, 2, false)] {
        let all = wave(rows, 0.02, seed);
        let settings = Settings::default().single(true).visits(3000).outside(false).seed(seed);
        let model = Ensemble::fit_with(&all, &settings, |_| ControlFlow::Continue(())).unwrap().unwrap();
        let data = Data::new(&all, &settings).unwrap();
        let likelihood = |by_rows| {
            let said = data.left_out(&model.members[0], by_rows).unwrap();
            data.calibrate(&model.members, &[said]).2
        };
        assert_eq!([likelihood(true) > likelihood(false), model.spec.by_rows], [better; 2]);
    }
}

#[test]
fn predictions_follow_the_decision_and_files_keep_it() {
    let all = wave(40, 0.1, 7);
    let settings = Settings::default().single(true).visits(1000).outside(false);
    let mut model = Ensemble::fit_with(&all, &settings, |_| ControlFlow::Continue(())).unwrap().unwrap();
    let vars = [false, true].map(|by_rows| {
        model.spec.by_rows = by_rows;
        let out = model.predict(all.x()).unwrap();
        #[cfg(feature = "files")]
        {
            let bytes = model.to_bytes().unwrap();
            // A file from before does not mention it.
            assert_eq!(bytes.windows(7).any(|w| w == b"by_rows"), by_rows);
            assert_eq!(Ensemble::from_bytes(&bytes).unwrap().predict(all.x()).unwrap(), out);
        }
        out.var().to_vec()
    });
    assert_ne!(vars[0], vars[1]);
}
