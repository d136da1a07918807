//! How good the search is, and how honest about it.

use super::{best, searched};
use std::f64::consts::PI;
use tractable::optimize::Optimizer;

fn branin(x: &[f64]) -> f64 {
    let bent = x[1] - 5.1 / (4.0 * PI * PI) * x[0] * x[0] + 5.0 / PI * x[0] - 6.0;
    bent * bent + 10.0 * (1.0 - 1.0 / (8.0 * PI)) * x[0].cos() + 10.0
}

#[test]
fn branin_in_fifty_evaluations() {
    let mut regrets: Vec<f64> = (0..3)
        .map(|seed| {
            let search = Optimizer::minimize([(-5.0, 10.0), (0.0, 15.0)]).unwrap().seed(seed);
            best(&searched(search, 50, branin)).y.unwrap() - 0.39788735772973816
        })
        .collect();
    regrets.sort_by(f64::total_cmp);
    assert!(regrets[0] > -1e-12 && regrets[1] < 0.067, "{regrets:?}");
}

#[test]
fn the_truth_is_where_the_posterior_says() {
    let (mut place, mut value) = (0, 0);
    for seed in 0..20 {
        let truth = -0.6 + 0.06 * seed as f64;
        let mut search = Optimizer::maximize([(-1.0, 1.0)]).unwrap().seed(seed);
        let found = search.run(12, |x| (x[0] - truth).cos()).unwrap();
        let off = |m: f64, std: f64, truth: f64| (m - truth).abs() / std;
        place += usize::from(off(found.x.mean()[0], found.x.std()[0], truth) < 2.0);
        value += usize::from(off(found.value.mean()[0], found.value.std()[0], 1.0) < 2.0);
    }
    // Measured: 20 and 20; the standard deviations are rather too large than too small.
    assert!(
        place >= 16 && value >= 16,
        "within two standard deviations: {place} places, {value} values of 20"
    );
}

#[test]
fn a_search_that_began_anew_still_knows_its_best() {
    // Long enough that the region was given up and another one begun.
    for evaluations in [100, 120] {
        let mut search = Optimizer::minimize([(-1.0, 3.0)]).unwrap().seed(1);
        let found = search.run(evaluations, |x| (x[0] - 0.7).powi(2)).unwrap();
        let (x, std) = (found.x.mean()[0], found.x.std()[0]);
        assert!((x - 0.7).abs() < 1e-4 && std < 1e-3, "{evaluations}: {x} +- {std}");
    }
}
