//! The comparison itself: what is not a number, or not as long as it should be, is never close.

use super::Worst;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// Errors of the relative and of the absolute comparison.
fn errors(ours: &[f64], reference: &[f64]) -> [f64; 2] {
    let (mut relative, mut absolute) = (Worst::default(), Worst::default());
    relative.compare("here", ours, reference);
    absolute.compare_absolute("here", ours, reference);
    assert_eq!([&relative.at, &absolute.at], ["here"; 2]);
    [relative.error, absolute.error]
}

#[test]
fn differences_are_measured() {
    assert_eq!(errors(&[1.0, 2.5, -4.0], &[1.0, 2.0, -4.0]), [0.125, 0.5]);
    assert_eq!(errors(&[1.0, 2.0, -3.0], &[1.0, 2.5, -4.0]), [0.25, 1.0]);
    assert_eq!(errors(&[0.0, 0.5], &[0.0, 0.0]), [0.5, 0.5]);
    assert_eq!([errors(&[3.0], &[3.0]), errors(&[], &[])], [[0.0; 2]; 2]);
    assert_eq!([errors(&[1.0], &[]), errors(&[], &[0.0]), errors(&[1.0], &[1.0; 2])], [[INF; 2]; 3]);
}

#[test]
fn nan_and_infinity_are_never_close() {
    for at in 0..3 {
        let with = |ours, reference| {
            let (mut a, mut b) = ([1.0, 2.0, 3.0], [1.0, 2.5, 3.0]);
            (a[at], b[at]) = (ours, reference);
            errors(&a, &b)
        };
        for (ours, reference) in [(NAN, 1.0), (1.0, NAN), (NAN, NAN), (INF, INF), (-INF, -INF), (NAN, INF)] {
            assert!(with(ours, reference).iter().all(|e| e.is_nan()), "{ours} at {at}, not {reference}");
        }
        assert_eq!([with(INF, 1.0), with(-INF, 0.0)], [[INF; 2]; 2]);
        // Relative to an infinite reference, an infinite difference is not a number.
        for [relative, absolute] in [with(1.0, INF), with(0.0, -INF), with(INF, -INF)] {
            assert!(relative.is_nan() && absolute == INF);
        }
    }
}

#[test]
fn the_worst_is_kept_and_nan_beats_everything() {
    let named = |error: f64, at: usize| Worst { error, at: at.to_string() };
    let kept = |errors: &[f64]| {
        let mut worst = Worst::default();
        errors.iter().enumerate().for_each(|(i, &error)| worst.include(named(error, i)));
        worst.at
    };
    assert_eq!([kept(&[1.0, 3.0, 2.0]), kept(&[1.0, 1.0]), kept(&[0.0])], ["1", "0", "0"]);
    assert_eq!([kept(&[1.0, NAN, INF, NAN]), kept(&[NAN, 0.0]), kept(&[INF, NAN])], ["1", "0", "1"]);
    let better = |a: f64, b: f64| Worst::better([named(a, 0), named(b, 1)]).at;
    assert_eq!([better(1.0, 2.0), better(2.0, 1.0), better(1.0, 1.0)], ["0", "1", "0"]);
    assert_eq!([better(NAN, 1.0), better(1.0, NAN), better(INF, NAN)], ["1", "0", "0"]);
}
