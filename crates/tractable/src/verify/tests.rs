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
    assert_eq!(errors(&[3.0], &[3.0]), [0.0, 0.0]);
    assert_eq!(errors(&[], &[]), [0.0, 0.0]);
    for (ours, reference) in [(&[1.0][..], &[][..]), (&[], &[0.0]), (&[1.0], &[1.0, 1.0])] {
        assert_eq!(errors(ours, reference), [INF, INF]);
    }
}

#[test]
fn nan_and_infinity_are_never_close() {
    for at in 0..3 {
        for (ours, reference) in [(NAN, 1.0), (1.0, NAN), (NAN, NAN), (INF, INF), (-INF, -INF), (NAN, INF)] {
            let (mut a, mut b) = ([1.0, 2.0, 3.0], [1.0, 2.5, 3.0]);
            (a[at], b[at]) = (ours, reference);
            assert!(errors(&a, &b).iter().all(|e| e.is_nan()), "{ours} at {at}, not {reference}");
        }
        for (ours, reference) in [(INF, 1.0), (-INF, 0.0), (1.0, INF), (0.0, -INF), (INF, -INF)] {
            let (mut a, mut b) = ([1.0, 2.0, 3.0], [1.0, 2.5, 3.0]);
            (a[at], b[at]) = (ours, reference);
            // Relative to an infinite reference, an infinite difference is not a number.
            let relative = errors(&a, &b)[0];
            assert!(if reference.is_infinite() { relative.is_nan() } else { relative == INF });
            assert_eq!(errors(&a, &b)[1], INF);
        }
    }
}

#[test]
fn the_worst_is_kept_and_nan_beats_everything() {
    let worst = |errors: &[f64]| {
        let mut worst = Worst::default();
        for (i, &error) in errors.iter().enumerate() {
            worst.include(Worst { error, at: i.to_string() });
        }
        (worst.error.is_nan(), worst.at)
    };
    assert_eq!(worst(&[1.0, 3.0, 2.0]), (false, "1".into()));
    assert_eq!(worst(&[1.0, 1.0]), (false, "0".into()));
    assert_eq!(worst(&[0.0]), (false, "0".into()), "even a perfect array has a name");
    assert_eq!(worst(&[1.0, NAN, INF, NAN]), (true, "1".into()));
    assert_eq!(worst(&[NAN, 0.0]), (true, "0".into()));
    assert_eq!(worst(&[INF, NAN]), (true, "1".into()));

    let better = |a: f64, b: f64| {
        let [a, b] = [(a, "a"), (b, "b")].map(|(error, at)| Worst { error, at: at.into() });
        Worst::better([a, b]).at
    };
    assert_eq!([better(1.0, 2.0), better(2.0, 1.0), better(1.0, 1.0)], ["a", "b", "a"]);
    assert_eq!([better(NAN, 1.0), better(1.0, NAN), better(INF, NAN)], ["b", "a", "a"]);
}
