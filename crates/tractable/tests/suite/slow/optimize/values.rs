//! Values of every kind: not a number, all alike, tiny, huge, far from 0, noisy.

use super::{best, bits, bowl, searched};
use tractable::optimize::Optimizer;
use tractable::rng;

fn square() -> Optimizer {
    Optimizer::minimize([(-1.0, 1.0); 2]).unwrap().seed(7)
}

#[test]
fn values_that_are_not_numbers_are_set_aside() {
    // Undefined on half of the box; the minimum of the rest lies on its edge.
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let f = |x: &[f64]| if x[0] > 0.0 { bad } else { bowl(x) };
        let search = searched(square(), 40, f);
        let aside = search.history().iter().filter(|t| t.x[0] > 0.0).count();
        assert!(aside > 0 && search.set_aside() == aside);
        assert!(search.history().iter().all(|t| t.y.is_none() == (t.x[0] > 0.0)));
        assert!(best(&search).y.unwrap() < 0.09 + 0.02, "{bad}: {:?}", best(&search));
        assert!(search.optimum().unwrap().value.mean()[0].is_finite());
    }
}

#[test]
fn without_any_number_there_is_no_optimum() {
    let search = searched(square(), 12, |_| f64::NAN);
    assert_eq!((search.set_aside(), search.best()), (12, None));
    super::refuses(search.optimum(), &["no finite value"]);
    // And numbers that come later are as good as ever.
    let search = searched(search, 40, bowl);
    assert!(best(&search).y < Some(0.01), "{:?}", best(&search));
}

#[test]
fn functions_that_never_improve_are_searched_to_the_end() {
    let flat = searched(Optimizer::minimize([(0.0, 1.0)]).unwrap(), 90, |_| 3.25);
    assert_eq!((flat.history().len(), best(&flat).y), (90, Some(3.25)));
    let found = flat.optimum().unwrap();
    assert!((found.value.mean()[0] - 3.25).abs() < 0.1, "{found:?}");
    // It was not sought in one place only.
    let later: Vec<f64> = flat.history()[80..].iter().map(|t| t.x[0]).collect();
    let (low, high) = later.iter().fold((1.0f64, 0.0f64), |(l, h), &x| (l.min(x), h.max(x)));
    assert!(high - low > 0.3, "{later:?}");

    let calls = std::cell::Cell::new(0.0);
    let ever_worse = |_: &[f64]| {
        calls.set(calls.get() + 1.0);
        calls.get()
    };
    let search = searched(Optimizer::minimize([(0.0, 1.0); 2]).unwrap(), 40, ever_worse);
    assert_eq!(best(&search).y, Some(1.0));
    assert!(search.optimum().is_ok());
}

#[test]
fn scale_and_offset_of_values_do_not_matter() {
    for (scale, offset) in [(1e-12, 0.0), (1e12, 0.0), (1e200, 0.0), (1e-200, 0.0), (1.0, 1e9), (1e-3, -1e9)]
    {
        let search = searched(square(), 40, |x| scale * bowl(x) + offset);
        let regret = bowl(&best(&search).x);
        assert!(regret < 0.01, "{scale} {offset}: {regret}");
    }
}

#[test]
fn powers_of_two_in_value_change_no_bit() {
    let scaled = |by: f64| bits(&searched(square(), 14, |x| by * bowl(x)));
    let plain = scaled(1.0);
    assert_eq!(plain, scaled(2f64.powi(40)));
    assert_eq!(plain, scaled(2f64.powi(-40)));
}

#[test]
fn values_at_the_end_of_the_numbers() {
    let f = |x: &[f64]| if x[0] < 0.0 { f64::MAX } else { -f64::MAX * (1.0 - bowl(x) / 10.0) };
    let search = searched(square(), 20, f);
    assert!(best(&search).x[0] >= 0.0 && search.set_aside() == 0);
    assert!(search.optimum().is_ok());
    // Much noise beside values that hardly differ.
    let noisy = square().noise_std(1e300).unwrap();
    assert!(searched(noisy, 10, |x| 1e-300 * bowl(x)).optimum().is_ok());
}

#[test]
fn noisy_values_end_near_the_optimum() {
    let std = 0.1;
    let mut regrets = Vec::new();
    for seed in 0..3 {
        let mut noise = rng::stream(seed, "noise", 0);
        let mut search = square().seed(seed).noise_std(std).unwrap();
        let found = search.run(50, |x| bowl(x) + std * rng::standard_normal(&mut noise)).unwrap();
        regrets.push(bowl(found.x.mean()));
        // The luckiest value promises too much.
        let lucky = best(&search).y.unwrap();
        assert!(found.value.mean()[0] > lucky, "{} {lucky}", found.value.mean()[0]);
    }
    regrets.sort_by(f64::total_cmp);
    assert!(regrets[1] < std / 2.0 && regrets[2] < 2.0 * std, "{regrets:?}");
}

#[test]
fn noise_must_be_a_number() {
    for std in [-1.0, f64::NAN, f64::INFINITY] {
        super::refuses(square().noise_std(std), &["noise", "at least 0"]);
    }
}
