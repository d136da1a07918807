//! The functions of `moments` against values computed with 60 digits (`tests/data/moments_reference.py`), in both
//! precisions, and the mixture ReLU against Monte Carlo.

use std::collections::BTreeMap;
use tractable::moments::{
    Activation, Moments, Real, identity, leaky_relu, mixture_relu, normal, relu, sigmoid, softplus, tanh,
};
use tractable::rng::{standard_normal, stream, uniform};

/// Largest relative error allowed, in units of EPSILON: function, output, f32, f64. About twice what is measured.
const TOLERANCES: &[(&str, &[(f64, f64)])] = &[
    ("pdf", &[(2.0, 2.0)]),
    ("cdf", &[(6.0, 4.0)]),
    ("tails", &[(4.0, 4.0), (4.0, 4.0), (5.0, 4.0)]),
    ("exp", &[(1.5, 1.5)]),
    ("exp_m1", &[(2.0, 1.5)]),
    ("ln_1p", &[(2.0, 1.5)]),
    ("mixture_relu", &[(5.0, 7.0), (8.0, 8.0), (5.0, 6.0)]),
    ("identity", &[(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]),
    ("relu", &[(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]),
    ("leaky_relu", &[(0.5, 0.5), (1.5, 1.5), (0.0, 0.0)]),
    ("tanh", &[(2.0, 2.0), (7.0, 8.0), (4.0, 4.0)]),
    ("sigmoid", &[(2.0, 2.5), (6.0, 8.0), (3.0, 4.0)]),
    ("softplus", &[(3.0, 2.0), (4.0, 5.0), (2.0, 2.5)]),
];

fn evaluate<R: Real>(name: &str, x: &[f64]) -> Vec<f64> {
    let arg = |i: usize| R::from_f64(x[i]);
    let three = |m: Moments<R>| vec![m.mean.to_f64(), m.var.to_f64(), m.slope.to_f64()];
    match name {
        "pdf" => vec![normal::pdf(arg(0)).to_f64()],
        "cdf" => vec![normal::cdf(arg(0)).to_f64()],
        "tails" => {
            let t = normal::tails(arg(0));
            assert_eq!(normal::mills(arg(0)), t.mills);
            assert_eq!(normal::tail_first(arg(0)), t.first);
            assert_eq!(normal::tail_second(arg(0)), t.second);
            vec![t.mills.to_f64(), t.first.to_f64(), t.second.to_f64()]
        }
        "exp" => vec![Real::exp(arg(0)).to_f64()],
        "exp_m1" => vec![Real::exp_m1(arg(0)).to_f64()],
        "ln_1p" => vec![Real::ln_1p(arg(0)).to_f64()],
        name => {
            let activation: Activation = name.parse().unwrap();
            let given = x.get(2).and_then(|&parameter| activation.with_parameter(parameter));
            three(given.unwrap_or(activation).moments(arg(0), arg(1)))
        }
    }
}

/// Largest relative error by function and output, in units of EPSILON, with the input where it occurs. An output
/// below the smallest normal number of the type may be anything up to it.
fn worst<R: Real>() -> BTreeMap<(String, usize), (f64, Vec<f64>)> {
    let mut worst = BTreeMap::new();
    for line in include_str!("../data/moments.txt").lines() {
        let numbers = |s: &str| s.split_whitespace().map(|n| n.parse().unwrap()).collect::<Vec<f64>>();
        let (name, rest) = line.split_once(' ').unwrap();
        let (inputs, wanted) = rest.split_once('=').unwrap();
        let (inputs, wanted) = (numbers(inputs), numbers(wanted));
        if inputs.iter().any(|&x| R::from_f64(x).to_f64() != x) {
            continue; // a row for f64 only
        }
        for (i, (got, want)) in evaluate::<R>(name, &inputs).into_iter().zip(wanted).enumerate() {
            let error = if want.abs() < R::MIN_POSITIVE.to_f64() {
                if got.abs() <= R::MIN_POSITIVE.to_f64() { 0.0 } else { f64::INFINITY }
            } else {
                ((got - want) / want).abs() / R::EPSILON.to_f64()
            };
            let entry = worst.entry((name.to_string(), i)).or_insert((0.0, inputs.clone()));
            if error.is_nan() || error > entry.0 {
                *entry = (error, inputs.clone());
            }
        }
    }
    worst
}

/// The table of `docs/ulp.md`.
fn table() -> String {
    let (single, double) = (worst::<f32>(), worst::<f64>());
    let mut text = String::new();
    for &(name, outputs) in TOLERANCES {
        for (i, &(allowed_single, allowed_double)) in outputs.iter().enumerate() {
            let what = match (outputs.len(), name) {
                (1, _) => "value",
                (_, "tails") => ["Mills' ratio", "first", "second"][i],
                _ => ["mean", "variance", "slope"][i],
            };
            let points = include_str!("../data/moments.txt").lines();
            let points = points.filter(|l| l.split(' ').next() == Some(name)).count();
            let (single, double) = (single[&(name.to_string(), i)].0, double[&(name.to_string(), i)].0);
            text += &format!(
                "| {name} | {what} | {points} | {single:.1} | {allowed_single} | {double:.1} | {allowed_double} |\n"
            );
        }
    }
    text
}

/// `TRACTABLE_WRITE=1 cargo test --test suite ulp` writes it again.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_ulp_table_is_what_is_measured() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ulp.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once("|---|---|---|---|---|---|---|\n").expect("a table");
    let rows: usize = rest.split_inclusive('\n').take_while(|l| l.starts_with('|')).map(str::len).sum();
    let after = &rest[rows..];
    let measured = format!("{before}|---|---|---|---|---|---|---|\n{}{after}", table());
    if std::env::var_os("TRACTABLE_WRITE").is_some() {
        std::fs::write(path, &measured).unwrap();
    }
    assert!(page == measured, "docs/ulp.md is not what is measured; write it again:\n{}", table());
}

#[test]
fn reference_values() {
    let (single, double) = (worst::<f32>(), worst::<f64>());
    let mut failures = Vec::new();
    for &(name, outputs) in TOLERANCES {
        for (i, &(tol_single, tol_double)) in outputs.iter().enumerate() {
            for (precision, found, tolerance) in [("f32", &single, tol_single), ("f64", &double, tol_double)]
            {
                let (error, at) = &found[&(name.to_string(), i)];
                println!("{name} {i} {precision}: {error:.2} at {at:?}");
                if error.is_nan() || *error > tolerance {
                    failures
                        .push(format!("{name} output {i} {precision}: {error:.2} > {tolerance} at {at:?}"));
                }
            }
        }
    }
    assert_eq!(
        single.len(),
        TOLERANCES.iter().map(|t| t.1.len()).sum::<usize>(),
        "a function was not tested"
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The table is sparse; the double-precision instance, once tested, is an oracle for many more points.
#[test]
fn single_precision_agrees_with_double() {
    type Pair = (fn(f32, f32) -> Moments<f32>, fn(f64, f64) -> Moments<f64>);
    // Mean, variance, slope, in units of f32::EPSILON; six million points gave two thirds of these.
    let activations: [(&str, Pair, [f64; 3]); 4] = [
        ("mixture_relu", (mixture_relu::moments, mixture_relu::moments), [8.0, 11.0, 7.0]),
        ("tanh", (tanh::moments, tanh::moments), [3.0, 9.0, 4.0]),
        ("sigmoid", (sigmoid::moments, sigmoid::moments), [3.0, 9.0, 4.0]),
        ("softplus", (softplus::moments, softplus::moments), [3.0, 6.0, 3.0]),
    ];
    let mut rng = stream(2, "single", 0);
    for (name, (single, double), tolerances) in activations {
        for _ in 0..100_000 {
            let var_z = 10f64.powf(uniform(-6.0, 6.0, &mut rng)) as f32;
            let scale = if name == "mixture_relu" { var_z.sqrt() } else { 1.0 };
            let mu_z = uniform(-10.0, 10.0, &mut rng) as f32 * scale;
            let (a, b) = (single(mu_z, var_z), double(mu_z.into(), var_z.into()));
            let pairs = [(a.mean, b.mean), (a.var, b.var), (a.slope, b.slope)];
            for ((got, want), tolerance) in pairs.into_iter().zip(tolerances) {
                let error = (f64::from(got) - want).abs() / f64::from(f32::EPSILON);
                let floor = f64::from(f32::MIN_POSITIVE);
                assert!(error <= tolerance * want.abs() + floor, "{name} {mu_z} {var_z}: {got} {want}");
            }
        }
    }
}

#[test]
fn mixture_relu_at_minus_six_in_single_precision() {
    // alpha = -6: mean 1.56e-10 of the standard deviation; a formula that cancels has no digit left here.
    let a = mixture_relu::moments(-6.0f32, 1.0);
    for (got, want) in [
        (a.mean, 1.563_569_795_970_966_4e-10),
        (a.var, 4.844_576_743_067_078e-11),
        (a.slope, 9.865_876_450_376_98e-10),
    ] {
        assert!((f64::from(got) / want - 1.0).abs() < 5e-7, "{got} {want}");
    }
}

#[test]
fn the_slope_is_the_derivative_of_the_mean() {
    for activation in Activation::ALL {
        let name = activation.name();
        let moments = |mu_z: f64, var_z: f64| activation.moments(mu_z, var_z);
        // Where tanh and the sigmoid are saturated, the difference quotient has no digits: stay within `reach`.
        let reach = match name {
            "tanh" => 4.0,
            "sigmoid" => 8.0,
            _ => 10.0,
        };
        for var_z in [0.01, 1.0, 100.0] {
            for i in -50..50 {
                let scale = if name == "mixture_relu" { f64::sqrt(var_z) } else { 1.0 };
                let mu_z = (f64::from(i) + 0.37) * reach / 50.0 * scale;
                let h = 1e-5 * scale;
                let quotient = (moments(mu_z + h, var_z).mean - moments(mu_z - h, var_z).mean) / (2.0 * h);
                let slope = moments(mu_z, var_z).slope;
                assert!(
                    (quotient - slope).abs() <= 1e-6 * slope,
                    "{name} {mu_z} {var_z}: {quotient} {slope}"
                );
            }
        }
    }
}

#[test]
fn mixture_relu_by_monte_carlo() {
    const DRAWS: usize = 1_000_000;
    let mut rng = stream(1, "draws", 0);
    let normal: Vec<f64> = (0..DRAWS).map(|_| standard_normal(&mut rng)).collect();
    let n = DRAWS as f64;
    for (mu_z, var_z) in [(-1.5, 1.0), (-0.3, 0.25), (0.0, 4.0), (0.4, 0.5), (2.0, 1.0)] {
        let s = f64::sqrt(var_z);
        let exact = mixture_relu::moments(mu_z, var_z);
        let z = normal.iter().map(|x| mu_z + s * x);
        // Averages of a, (a - mean)^2 and (a - mean)(z - mu_z)/var_z, each with its standard error.
        let mut sums = [(0.0, 0.0); 3];
        for z in z {
            let a = f64::max(z, 0.0);
            let d = a - exact.mean;
            for (sum, x) in sums.iter_mut().zip([a, d * d, d * (z - mu_z) / var_z]) {
                *sum = (sum.0 + x, sum.1 + x * x);
            }
        }
        for ((sum, squares), want) in sums.into_iter().zip([exact.mean, exact.var, exact.slope]) {
            let average: f64 = sum / n;
            let error = ((squares / n - average * average) / n).sqrt();
            assert!(((average - want) / error).abs() < 5.0, "{mu_z} {var_z}: {average} {want} +- {error}");
        }
    }
}

#[test]
fn nothing_uncertain_and_infinitely_far() {
    for (mu_z, var_z) in [(2.0f32, 0.0), (3e38, 1e-30), (1.0, f32::from_bits(1)), (1e-3, 1e-20)] {
        let above = mixture_relu::moments(mu_z, var_z);
        assert_eq!((above.mean, above.var, above.slope), (mu_z, var_z, 1.0));
        let below = mixture_relu::moments(-mu_z, var_z);
        assert_eq!((below.mean, below.var, below.slope), (0.0, 0.0, 0.0));
    }
    let at = mixture_relu::moments(0.0f32, 0.0);
    assert_eq!((at.mean, at.var, at.slope), (0.0, 0.0, 0.0));
    assert_eq!(normal::cdf(f32::MAX), 1.0);
    assert_eq!(normal::cdf(-f32::MAX), 0.0);
    assert_eq!(normal::pdf(f64::MAX), 0.0);
}

#[test]
fn not_a_number_goes_through() {
    let payload = f32::from_bits(0x7FC0_1234);
    for nan in [f32::NAN, -f32::NAN, payload] {
        for mean in [
            identity::moments(nan, 1.0).mean,
            relu::moments(nan, 1.0).mean,
            leaky_relu::moments(nan, 1.0, 0.1).mean,
            tanh::moments(nan, 1.0).mean,
            sigmoid::moments(nan, 1.0).mean,
            softplus::moments(nan, 1.0).mean,
            mixture_relu::moments(nan, 1.0).mean,
            normal::cdf(nan),
            Real::exp(nan),
            Real::exp_m1(nan),
        ] {
            assert!(mean.is_nan());
        }
    }
}

#[test]
fn nearly_denormal_variances_are_no_worse() {
    // Below MIN_POSITIVE/EPSILON the correction for the rounding of sqrt(var_z) is left out.
    for exponent in [-120, -124, -130, -140] {
        let var_z = 2f64.powi(exponent);
        let mu_z = -3.0 * var_z.sqrt();
        let got = mixture_relu::moments(mu_z as f32, var_z as f32);
        let want = mixture_relu::moments(f64::from(mu_z as f32), var_z);
        assert!((f64::from(got.mean) / want.mean - 1.0).abs() < 5e-6, "2^{exponent}: {got:?} {want:?}");
        assert!((f64::from(got.slope) / want.slope - 1.0).abs() < 5e-6, "2^{exponent}: {got:?} {want:?}");
    }
}

/// An activation is its formula, its row in the table, and what is looked for here.
#[test]
fn every_activation_is_everywhere() {
    let text = |path: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        std::fs::read_to_string(path).unwrap()
    };
    let kernels = text("crates/devices/cuda/kernels/moments.cu");
    let (equations, values) = (text("docs/equations.md"), text("crates/tractable/tests/data/moments.txt"));
    let in_order: Vec<_> = Activation::ALL.iter().map(|a| a.name().to_uppercase()).collect();
    let line = format!("enum {{ {} }};", in_order.join(", "));
    assert!(kernels.contains(&line), "the kernels have no line `{line}`");
    let (_, activated) = kernels.split_once("DEV Moments activated(").unwrap();
    let (activated, curve) = activated.split_once("DEV Curve curve(").unwrap();
    for activation in Activation::ALL {
        let name = activation.name();
        let case = format!("case {}:", name.to_uppercase());
        // The identity is what the kernels do otherwise.
        assert!(
            activated.contains(&case) || *activation == Activation::Identity,
            "moments of {name} in CUDA"
        );
        assert!(curve.contains(&case) || !activation.is_curved(), "curve of {name} in CUDA");
        assert!(equations.contains(&format!("`{name}::moments`")), "{name} in docs/equations.md");
        assert!(values.lines().any(|l| l.starts_with(&format!("{name} "))), "{name} in moments.txt");
        assert!(TOLERANCES.iter().any(|(of, _)| *of == name), "{name} in TOLERANCES");
    }
}
