//! Metrics against values worked out by hand or with mpmath; NaN comes through; misuse is an error.

use proptest::prelude::*;
use tractable::metrics::*;

/// mpmath, 60 digits, at the exact value of the double.
#[test]
#[allow(clippy::excessive_precision)]
fn normal_quantile_is_that_of_mpmath() {
    let cases = [
        (0.55, 0.12566134685507414641),
        (0.6, 0.25334710313579974132),
        (0.075, -1.4395314709384559349),
        (0.0750001, -1.4395307645017296865),
        (0.925, 1.4395314709384562291),
        (0.95, 1.6448536269514722843),
        (0.975, 1.9599639845400538556),
        (0.995, 2.5758293035489004539),
        (0.9999, 3.7190164854557083867),
        (0.9999999999999999, 8.2095361516013868556),
        (0.25, -0.6744897501960817432),
        (1e-3, -3.0902323061678135354),
        (1e-10, -6.3613409024040561991),
        (1.3887943864964021e-11, -6.6579046435011035837),
        (1e-11, -6.7060231554951362961),
        (1e-50, -14.933337534788488981),
        (1e-300, -37.047096299361199237),
        (5e-324, -38.467405617144346251),
    ];
    for (p, z) in cases {
        let got = normal_quantile(p);
        assert!((got - z).abs() <= 8.0 * f64::EPSILON * f64::abs(z), "p = {p}: {got} instead of {z}");
    }
    assert_eq!(normal_quantile(0.5), 0.0);
    assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
    assert_eq!(normal_quantile(1.0), f64::INFINITY);
    for p in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert!(normal_quantile(p).is_nan());
    }
}

#[test]
fn regression_by_hand() {
    let (y, mean, var) = ([1.0, 2.0, 4.0], [1.5, 2.0, 2.0], [0.25, 1.0, 4.0]);
    assert_eq!(rmse(&y, &mean).unwrap(), (4.25f64 / 3.0).sqrt());
    assert_eq!(mae(&y, &mean).unwrap(), 2.5 / 3.0);
    // mpmath: mean of log(2 pi v)/2 + (y-m)^2/(2v)
    assert!((gaussian_nll(&y, &mean, &var).unwrap() - 1.252271866538006).abs() < 1e-15);
    assert_eq!(innovation_squared(&y, &mean, &var).unwrap(), 2.0 / 3.0);
    // Distances in standard deviations: 1, 0, 1.
    assert_eq!(coverage(&y, &mean, &var, 0.68).unwrap(), 1.0 / 3.0);
    assert_eq!(coverage(&y, &mean, &var, 0.69).unwrap(), 1.0);
    let report = calibration(&y, &mean, &var, Tails::Normal).unwrap();
    assert_eq!(report.levels, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]);
    assert_eq!(report.observed[5], 1.0 / 3.0);
    assert_eq!(report.observed[6], 1.0);
    let gaps = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6].map(|l| f64::abs(1.0 / 3.0 - l)).iter().sum::<f64>();
    assert!((report.error - (gaps + 0.3 + 0.2 + 0.1 + 0.05) / 10.0).abs() < 1e-15);
}

#[test]
fn coverage_of_the_quantiles_themselves_is_the_level() {
    let n = 1000;
    let y: Vec<f64> = (0..n).map(|i| normal_quantile((f64::from(i) + 0.5) / f64::from(n))).collect();
    let report = calibration(&y, &vec![0.0; 1000], &vec![1.0; 1000], Tails::Normal).unwrap();
    assert!(report.error < 1e-3, "{report:?}");
    let heavy = Tails::student(3.0);
    let y: Vec<f64> = (0..n).map(|i| heavy.quantile((f64::from(i) + 0.5) / f64::from(n))).collect();
    let report = calibration(&y, &vec![0.0; 1000], &vec![1.0; 1000], heavy).unwrap();
    assert!(report.error < 1e-3, "{report:?}");
}

#[test]
fn classification_by_hand() {
    let probs = [0.7, 0.2, 0.1, 0.1, 0.3, 0.6, 0.4, 0.4, 0.2];
    let labels = [0, 1, 1];
    // Predicted 0, 2, 0 (the first of equals).
    assert_eq!(error_rate(&probs, &labels).unwrap(), 2.0 / 3.0);
    let nll = -(0.7f64.ln() + 0.3f64.ln() + 0.4f64.ln()) / 3.0;
    assert!((class_nll(&probs, &labels).unwrap() - nll).abs() < 1e-15);
    let squares = [0.09 + 0.04 + 0.01, 0.01 + 0.49 + 0.36, 0.16 + 0.36 + 0.04];
    assert!((brier(&probs, &labels).unwrap() - squares.iter().sum::<f64>() / 3.0).abs() < 1e-15);
    assert_eq!(class_nll(&[0.0, 1.0], &[0]).unwrap(), f64::INFINITY);

    let report = ece(&probs, &labels, 2).unwrap();
    assert_eq!((report.bins[0].count, report.bins[1].count), (1, 2));
    assert_eq!(report.bins[0].accuracy, Some(0.0));
    assert_eq!(report.bins[1].accuracy, Some(0.5));
    // 1/3 |0 - 0.4| + 2/3 |0.5 - 0.65|
    assert!((report.ece - (0.4 + 0.3) / 3.0).abs() < 1e-15);
    let fifteen = ece(&probs, &labels, 15).unwrap();
    assert_eq!(fifteen.bins.len(), 15);
    assert_eq!(fifteen.bins.iter().map(|b| b.count).sum::<usize>(), 3);
    assert_eq!(fifteen.bins[0].confidence, None);
}

/// A confidence on the edge belongs to the bin below: (low, high].
#[test]
fn ece_bins_are_closed_above() {
    let counts = |p: f64| {
        let report = ece(&[p, 1.0 - p], &[0], 4).unwrap();
        report.bins.iter().position(|b| b.count == 1).unwrap()
    };
    assert_eq!([0.5, 0.51, 0.75, 0.76, 1.0].map(counts), [1, 2, 2, 3, 3]);
}

#[test]
fn argmax_is_the_first_of_the_largest_and_nan_is_larger() {
    let nan = f64::NAN;
    assert_eq!(
        [argmax(&[]), argmax(&[nan]), argmax(&[1.0, 3.0, 3.0, 2.0]), argmax(&[-0.0, 0.0])],
        [0, 0, 1, 0]
    );
    assert_eq!([argmax(&[-2.0, f64::NEG_INFINITY]), argmax(&[1.0, f64::INFINITY])], [0, 1]);
    assert_eq!(
        [argmax(&[nan, 9.0]), argmax(&[f64::INFINITY, nan, nan]), argmax(&[1.0, nan, 2.0])],
        [0, 1, 1]
    );
}

#[test]
fn nan_comes_through() {
    let good = [1.0, 2.0];
    let bad = [1.0, f64::NAN];
    assert!(rmse(&good, &bad).unwrap().is_nan() && rmse(&bad, &good).unwrap().is_nan());
    assert!(mae(&good, &bad).unwrap().is_nan() && mae(&bad, &good).unwrap().is_nan());
    for (y, m, v) in [(&bad, &good, &good), (&good, &bad, &good), (&good, &good, &bad)] {
        assert!(gaussian_nll(y, m, v).unwrap().is_nan());
        assert!(coverage(y, m, v, 0.9).unwrap().is_nan());
        for tails in [Tails::Normal, Tails::student(4.0)] {
            assert!(nll(y, m, v, tails).unwrap().is_nan());
            assert!(crps(y, m, v, tails).unwrap().is_nan());
        }
        assert!(innovation_squared(y, m, v).unwrap().is_nan());
        let report = calibration(y, m, v, Tails::student(4.0)).unwrap();
        assert!(report.error.is_nan() && report.observed.iter().all(|o| o.is_nan()));
    }
    // Also where the NaN is not the label's probability.
    let probs = [0.9, 0.1, f64::NAN, 0.8];
    let labels = [0, 1];
    for metric in [error_rate, class_nll, brier] {
        assert!(metric(&probs, &labels).unwrap().is_nan());
    }
    assert!(ece(&probs, &labels, 15).unwrap().ece.is_nan());
}

#[test]
fn misuse_is_an_error() {
    assert!(rmse(&[], &[]).is_err());
    assert!(rmse(&[1.0], &[1.0, 2.0]).is_err());
    assert!(mae(&[1.0], &[]).is_err());
    assert!(gaussian_nll(&[1.0], &[1.0], &[]).is_err());
    assert!(gaussian_nll(&[1.0], &[1.0], &[0.0]).is_err());
    assert!(crps(&[1.0], &[1.0], &[0.0], Tails::Normal).is_err());
    assert!(innovation_squared(&[1.0], &[1.0, 2.0], &[1.0]).is_err());
    assert!(coverage(&[1.0], &[1.0], &[-1.0], 0.5).is_err());
    for level in [0.0, 1.0, -1.0, f64::NAN] {
        assert!(coverage(&[1.0], &[1.0], &[1.0], level).is_err());
    }
    assert!(error_rate(&[], &[]).is_err());
    assert!(error_rate(&[], &[0]).is_err());
    assert!(error_rate(&[0.5, 0.5, 1.0], &[0, 0]).is_err());
    assert!(error_rate(&[0.5, 0.5], &[2]).is_err());
    assert!(brier(&[1.5, -0.5], &[0]).is_err());
    assert!(ece(&[0.5, 0.5], &[0], 0).is_err());
}

#[test]
fn reports_are_json() {
    let report = serde_json::to_value(ece(&[1.0, 0.0], &[0], 2).unwrap()).unwrap();
    assert_eq!(report["bins"][1]["count"], 1);
    assert!(report["bins"][0]["accuracy"].is_null());
    let report = serde_json::to_value(calibration(&[0.0], &[0.0], &[1.0], Tails::Normal).unwrap()).unwrap();
    assert_eq!(report["observed"][0], 1.0);
}

proptest! {
    /// Scaling y by c scales errors by c, adds ln c to the likelihood and leaves the coverage alone.
    #[test]
    fn units_do_not_matter(
        rows in prop::collection::vec((-10.0..10.0f64, -10.0..10.0f64, 0.01..5.0f64), 1..50),
        power in -8..8i32,
    ) {
        let c = f64::from(power).exp2();
        let column = |f: &dyn Fn(&(f64, f64, f64)) -> f64| rows.iter().map(f).collect::<Vec<f64>>();
        let (y, m, v) = (column(&|r| r.0), column(&|r| r.1), column(&|r| r.2));
        let (cy, cm, cv) = (column(&|r| c * r.0), column(&|r| c * r.1), column(&|r| c * c * r.2));
        prop_assert_eq!(rmse(&cy, &cm)?, c * rmse(&y, &m)?);
        prop_assert!((gaussian_nll(&cy, &cm, &cv)? - gaussian_nll(&y, &m, &v)? - c.ln()).abs() < 1e-9);
        let heavy = Tails::student(5.0);
        prop_assert!((crps(&cy, &cm, &cv, heavy)? - c * crps(&y, &m, &v, heavy)?).abs() < 1e-9 * c);
        prop_assert_eq!(calibration(&cy, &cm, &cv, Tails::Normal)?, calibration(&y, &m, &v, Tails::Normal)?);
    }

    #[test]
    fn quantile_is_monotone_and_odd(p in 1e-12..0.5f64, q in 1e-12..0.5f64) {
        prop_assert_eq!(p < q, normal_quantile(p) < normal_quantile(q));
        // 1 - p is exact here, so nothing is lost on the way to the other side.
        let p = (p * 1024.0).floor() / 1024.0;
        prop_assert_eq!(normal_quantile(1.0 - p), -normal_quantile(p));
    }

    #[test]
    fn ece_is_a_weighted_gap(p in prop::collection::vec(0.0..1.0f64, 1..60), bins in 1..20usize) {
        let probs: Vec<f64> = p.iter().flat_map(|&p| [p, 1.0 - p]).collect();
        let labels: Vec<usize> = (0..p.len()).map(|i| i % 2).collect();
        let report = ece(&probs, &labels, bins)?;
        prop_assert_eq!(report.bins.iter().map(|b| b.count).sum::<usize>(), p.len());
        let gap: f64 = report.bins.iter().filter(|b| b.count > 0)
            .map(|b| b.count as f64 * (b.accuracy.unwrap() - b.confidence.unwrap()).abs()).sum();
        prop_assert!((report.ece - gap / p.len() as f64).abs() < 1e-12);
        for bin in report.bins.iter().filter(|b| b.count > 0) {
            let c = bin.confidence.unwrap();
            prop_assert!(c > bin.low - 1e-12 && c <= bin.high + 1e-12);
        }
    }
}

#[test]
fn auroc_counts_pairs() {
    let (low, high) = ([0.5, -1.0, 0.0, -0.0, 3.0], [0.5, 0.5, 2.0, 7.0, -5.0, 0.0]);
    let pairs = low.iter().flat_map(|l| high.iter().map(move |h| (l, h)));
    let won: f64 = pairs.map(|(l, h)| if h > l { 1.0 } else { 0.5 * f64::from(u8::from(h == l)) }).sum();
    assert_eq!(auroc(&low, &high).unwrap(), won / 30.0);
    assert_eq!(auroc(&high, &low).unwrap(), 1.0 - won / 30.0);
    assert!(auroc(&low, &[f64::NAN]).unwrap().is_nan());
    assert!(auroc(&[], &high).is_err() && auroc(&low, &[]).is_err());
}

/// Few values, so that many are equal.
fn scores() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec((-3i8..4).prop_map(|v| f64::from(v) / 3.0), 1..12)
}

proptest! {
    /// By definition: for every member of the high group, how many reach its score.
    #[test]
    fn average_precision_and_thresholds_by_counting(low in scores(), high in scores()) {
        let reach = |of: &[f64], least: f64| of.iter().filter(|s| **s >= least).count() as f64;
        let precision = |least: f64| reach(&high, least) / (reach(&high, least) + reach(&low, least));
        let mean = high.iter().map(|h| precision(*h)).sum::<f64>() / high.len() as f64;
        prop_assert!((average_precision(&low, &high).unwrap() - mean).abs() < 1e-12);
        let f1 = |least: f64| {
            let recall = reach(&high, least) / high.len() as f64;
            2.0 / (1.0 / precision(least) + 1.0 / recall)
        };
        let best = Detected::best(&low, &high).unwrap();
        let most = low.iter().chain(&high).map(|t| f1(*t)).filter(|f| f.is_finite()).fold(0.0, f64::max);
        prop_assert!((best.f1 - most).abs() < 1e-12, "{best:?} {most}");
        prop_assert!((f1(best.threshold) - most).abs() < 1e-12);
        prop_assert_eq!(Detected::at(best.threshold, &low, &high).unwrap(), best);
    }
}

/// The example of scikit-learn's documentation, and what cannot be scored.
#[test]
fn average_precision_of_others_and_of_nothing() {
    assert!((average_precision(&[0.1, 0.4], &[0.35, 0.8]).unwrap() - 0.8333333333333333).abs() < 1e-15);
    assert!(average_precision(&[0.1], &[f64::NAN]).unwrap().is_nan());
    assert!(Detected::best(&[f64::NAN], &[0.1]).unwrap().f1.is_nan());
    assert!(average_precision(&[], &[0.1]).is_err() && Detected::best(&[0.1], &[]).is_err());
    let none = Detected::at(2.0, &[0.1], &[0.5]).unwrap();
    assert_eq!((none.precision, none.recall, none.f1), (0.0, 0.0, 0.0));
}
