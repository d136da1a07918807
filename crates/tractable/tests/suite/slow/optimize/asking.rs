//! Where the optimiser asks: inside the box, the same for the same seed, any number of points at a time.

use super::{best, bits, bowl, refuses, searched};
use proptest::prelude::*;
use tractable::optimize::{Bounds, Optimizer};

/// A side of a box: ordinary, very thin, very wide, far from 0.
fn sides() -> impl Strategy<Value = (f64, f64)> {
    let wide = |exponents: std::ops::Range<i32>| {
        (exponents, -1.0..1.0f64).prop_map(|(e, c)| {
            let width = 10f64.powi(e);
            (c * width, c * width + width)
        })
    };
    let far = (3..12i32, any::<bool>(), 0.0..1.0f64).prop_map(|(e, negative, share)| {
        // Down to a few thousand numbers wide.
        let at = 10f64.powi(e) * if negative { -1.0 } else { 1.0 };
        (at, at + at.abs() * (2e-12 + share * 1e-9))
    });
    prop_oneof![4 => wide(-2..3), 1 => wide(-95..-20), 1 => wide(20..95), 2 => far]
}

/// A function of numbers in [0, 1], and how its values are scaled.
fn value(kind: usize, scale: f64, u: &[f64]) -> f64 {
    let sum: f64 = u.iter().sum();
    match kind {
        0 => scale * sum,
        1 => -scale * sum,
        2 => scale * u.iter().map(|u| (u - 0.5).powi(2)).sum::<f64>(),
        3 => scale * (20.0 * sum).sin(),
        4 => scale,
        5 => f64::NAN,
        6 if sum > 0.5 => f64::INFINITY,
        6 => f64::NEG_INFINITY,
        _ if u[0] > 0.4 => f64::NAN,
        _ => scale / (u[0] - 0.3),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn never_leaves_the_box(
        pairs in prop::collection::vec(sides(), 1..4),
        seed in any::<u64>(),
        kind in 0..8usize,
        scale in prop_oneof![Just(1.0), Just(1e-300), Just(1e300), Just(1e-12), Just(1e12)],
        together in 1..4usize,
        maximum in any::<bool>(),
    ) {
        let bounds = Bounds::new(pairs.clone()).unwrap();
        let search = if maximum { Optimizer::maximize(pairs.clone()) } else { Optimizer::minimize(pairs.clone()) };
        let mut search = search.unwrap().seed(seed);
        while search.history().len() < 14 {
            let points: Vec<_> = (0..together).map(|_| search.ask().unwrap()).collect();
            for x in points.iter().rev() {
                prop_assert!(bounds.contains(x), "{:?} is not in {:?}", x, pairs);
                let share = |(x, (low, high)): (&f64, &(f64, f64))| (x - low) / (high - low);
                let u: Vec<f64> = x.iter().zip(&pairs).map(share).collect();
                search.tell(x, value(kind, scale, &u)).unwrap();
            }
        }
        match search.best() {
            Some(_) => prop_assert!(bounds.contains(search.optimum().unwrap().x.mean())),
            None => prop_assert!(search.set_aside() == search.history().len()),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    /// The points that are spread over the box, which cost nothing.
    #[test]
    fn first_points_lie_in_the_box(pairs in prop::collection::vec(sides(), 1..6), seed in any::<u64>()) {
        let mut search = Optimizer::minimize(pairs).unwrap().seed(seed);
        let bounds = search.bounds().clone();
        for _ in 0..40 {
            let x = search.ask().unwrap();
            prop_assert!(bounds.contains(&x), "{x:?} is not in {bounds:?}");
        }
    }
}

#[test]
fn boxes_that_cannot_be_searched_are_refused() {
    for (pair, says) in [
        ((2.0, -2.0), "reversed"),
        ((1.0, 1.0), "a single point"),
        ((1e9, 1e9 + 1e-4), "a single point"),
        ((f64::NAN, 1.0), "not a finite range"),
        ((0.0, f64::INFINITY), "not a finite range"),
        ((-1.7e308, 1.7e308), "not a finite range"),
        ((-1e200, 1e200), "another unit"),
        ((0.0, 1e-200), "another unit"),
    ] {
        refuses(Bounds::new([(0.0, 1.0), pair]), &["bounds: coordinate 1: ", says]);
    }
    refuses(Bounds::new([]), &["at least one coordinate"]);
}

#[test]
fn the_same_seed_asks_the_same_points() {
    let run = |seed| bits(&searched(Optimizer::minimize([(-1.0, 1.0); 2]).unwrap().seed(seed), 12, bowl));
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn maximum_is_the_minimum_of_the_negative() {
    let low = searched(Optimizer::minimize([(-1.0, 1.0); 2]).unwrap().seed(3), 16, bowl);
    let high = searched(Optimizer::maximize([(-1.0, 1.0); 2]).unwrap().seed(3), 16, |x| -bowl(x));
    assert_eq!(bits(&low), bits(&high));
    let (low, high) = (low.optimum().unwrap(), high.optimum().unwrap());
    assert_eq!(low.x, high.x);
    assert_eq!((low.value.mean()[0], low.value.var()), (-high.value.mean()[0], high.value.var()));
}

#[test]
fn several_points_at_a_time_in_any_order() {
    let mut search = Optimizer::minimize([(-1.0, 1.0); 2]).unwrap().seed(2);
    for _ in 0..6 {
        let mut points: Vec<_> = (0..5).map(|_| search.ask().unwrap()).collect();
        assert_eq!(search.pending(), points);
        for (i, a) in points.iter().enumerate() {
            assert!(points[..i].iter().all(|b| a != b), "asked twice for {a:?}");
        }
        points.rotate_left(2);
        points.iter().for_each(|x| search.tell(x, bowl(x)).unwrap());
        assert!(search.pending().is_empty());
    }
    assert!(best(&search).y < Some(0.01), "{:?}", best(&search));
}

/// With the best point in a corner, a step away from a known point must not lead back to the corner.
#[test]
fn no_point_is_asked_for_twice() {
    for seed in 0..8 {
        let mut search = Optimizer::minimize([(0.0, 1.0), (0.0, 1.0)]).unwrap().seed(seed);
        let mut open: Vec<Vec<f64>> = vec![search.ask().unwrap()];
        for _ in 0..50 {
            open.push(search.ask().unwrap());
            let x = open.remove(0);
            search.tell(&x, x[0] + 2.0 * x[1]).unwrap();
        }
        let mut asked: Vec<Vec<u64>> =
            search.history().iter().map(|t| t.x.iter().map(|x| x.to_bits()).collect()).collect();
        asked.sort();
        asked.dedup();
        assert_eq!(asked.len(), 50, "seed {seed}");
    }
}

#[test]
fn points_that_were_not_asked_for_are_refused() {
    let mut search = Optimizer::minimize([(0.0, 1.0); 2]).unwrap();
    let x = search.ask().unwrap();
    let before = search.clone();
    refuses(search.tell(&[0.5, 0.5], 1.0), &["not returned by ask()", "add()"]);
    refuses(search.tell(&x[..1], 1.0), &["not returned by ask()"]);
    refuses(search.tell(&[], 1.0), &["not returned by ask()"]);
    refuses(search.add(&[0.5], 1.0), &["not in the box"]);
    refuses(search.add(&[0.5, f64::NAN], 1.0), &["not in the box"]);
    assert_eq!(search, before);
    search.tell(&x, 1.0).unwrap();
    refuses(search.tell(&x, 1.0), &["already has a value"]);
    assert_eq!(search.history().len(), 1);
}

#[test]
fn earlier_experiments_do_not_end_the_search() {
    let mut search = Optimizer::minimize([(-1.0, 1.0); 2]).unwrap().seed(1);
    // Ever worse: as failures of a search they would shrink its region to nothing.
    for i in 0..300 {
        let x = [-0.9 + 0.006 * i as f64, (0.7 * i as f64).sin()];
        search.add(&x, bowl(&x)).unwrap();
    }
    let given = best(&search).y;
    let search = searched(search, 325, bowl);
    assert!(best(&search).y < Some(1e-3) && best(&search).y < given, "{:?}", best(&search));
}

#[test]
fn a_late_answer_belongs_to_the_region_it_was_asked_for() {
    // Nothing improves: the region shrinks to nothing, and the search begins somewhere else.
    let mut search = Optimizer::minimize([(0.0, 1.0)]).unwrap().seed(4);
    let late = search.ask().unwrap();
    let mut search = searched(search, 84, |_| 1.0);
    search.tell(&late, -5.0).unwrap();
    // The best value known, but the new region is not about it.
    assert_eq!(best(&search).x, late);
    let state = serde_json::to_value(&search).unwrap();
    let regions: Vec<_> = state["trials"].as_array().unwrap().iter().map(|t| &t["region"]).collect();
    assert_eq!((regions[83], regions[84], &state["region"]["number"]), (&1.into(), &0.into(), &1.into()));
}
