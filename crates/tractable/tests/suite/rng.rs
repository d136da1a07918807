//! Random streams: golden numbers from an independent implementation, and the distributions.

use tractable::rng::Rng;
use tractable::rng::{shuffle, standard_normal, stream};

/// From a Python ChaCha8 written after the paper, keyed with a Python FNV-1a-128 (which gives the published
/// d228cb69... for "a").
#[test]
fn streams_match_an_independent_implementation() {
    let cases: [(u64, &str, u64, [u64; 3]); 3] = [
        (0, "init", 0, [0x4b96f94f8bf88bb5, 0xc661e72f0d2e2076, 0x1efffc9f7f8b6c4c]),
        (42, "init/3", 0, [0x0185a4bdfaaf60fd, 0x304dfa3059c7ebf6, 0x4fa1e709a52569f7]),
        (u64::MAX, "shuffle/epoch", 7, [0x9bfc55f953323105, 0x1d87d2577cc20ced, 0xc5caa5797198cac0]),
    ];
    for (seed, name, index, expected) in cases {
        let mut rng = stream(seed, name, index);
        assert_eq!(expected.map(|_| rng.next_u64()), expected, "{seed} {name} {index}");
    }
}

#[test]
fn every_part_of_the_name_matters() {
    let first = |seed, name, index| stream(seed, name, index).next_u64();
    let all = [
        first(0, "a", 0),
        first(1, "a", 0),
        first(0, "a", 1),
        first(0, "b", 0),
        first(0, "", 0),
        first(0, "a\0", 0),
        first(1 << 63, "a", 0),
        first(0, "a", 1 << 63),
    ];
    for (i, a) in all.iter().enumerate() {
        assert!(!all[..i].contains(a), "stream {i} repeats another");
    }
}

#[test]
fn shuffle_matches_an_independent_implementation() {
    let mut order: Vec<usize> = (0..10).collect();
    shuffle(&mut order, &mut stream(1, "shuffle", 0));
    assert_eq!(order, [4, 8, 7, 0, 6, 2, 3, 1, 9, 5]);
    shuffle(&mut [], &mut stream(1, "shuffle", 0));
    shuffle(&mut [0], &mut stream(1, "shuffle", 0));
}

/// Chi-squared over the 24 orders of 4 things; the 0.9999 quantile of 23 degrees of freedom is 56.4.
#[test]
fn shuffle_is_uniform() {
    let mut counts = std::collections::BTreeMap::new();
    let mut rng = stream(2, "shuffle", 0);
    let draws = 24_000;
    for _ in 0..draws {
        let mut order = [0, 1, 2, 3];
        shuffle(&mut order, &mut rng);
        *counts.entry(order).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 24);
    let expected = f64::from(draws) / 24.0;
    let chi2: f64 = counts.values().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
    assert!(chi2 < 56.4, "{chi2}");
}

/// The same draws through the same formula with 60 digits; the logarithm may round differently in the last
/// bit.
#[test]
fn normal_draws_match_an_independent_implementation() {
    let mut rng = stream(1, "normal", 0);
    for expected in [-0.24974950048796196, 0.6835554502854626, 0.4707311229901, -0.3053049912586908] {
        let z = standard_normal(&mut rng);
        assert!((z - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(), "{z:?} {expected:?}");
    }
}

/// These exact bits are the promise of portability: they must hold on every platform.
#[test]
fn normal_draws_keep_their_bits() {
    let mut rng = stream(1, "normal", 0);
    let folded = (0..10_000).fold(0u64, |h, _| h.rotate_left(5) ^ standard_normal(&mut rng).to_bits());
    assert_eq!(folded, 0x63490cd2adaee9db, "{folded:#x}");
}

#[test]
fn normal_draws_have_the_moments_of_a_normal() {
    let n = 1_000_000;
    let mut rng = stream(3, "normal", 0);
    let z: Vec<f64> = (0..n).map(|_| standard_normal(&mut rng)).collect();
    let moment = |k: i32| z.iter().map(|z| z.powi(k)).sum::<f64>() / f64::from(n);
    // Five standard errors: sqrt(Var(z^k) / n) with Var(z^k) = (2k-1)!! - ((k-1)!!)^2 for even k.
    for (k, expected, var) in
        [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0), (6, 15.0, 10170.0)]
    {
        let error = (moment(k) - expected).abs();
        assert!(error < 5.0 * f64::sqrt(var / f64::from(n)), "moment {k}: {}", moment(k));
    }
    let beyond_3 = z.iter().filter(|z| z.abs() > 3.0).count();
    assert!((beyond_3 as f64 - 2699.8).abs() < 5.0 * 52.0, "{beyond_3}");
}
