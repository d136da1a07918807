//! Rows that count once: the step in precisions, what it settles at where the answer is known, and that it does not go deaf.

use crate::cases::{Draw, worst};
use tractable::data::{self, Dataset};
use tractable::moments::posterior::{Count, counted};
use tractable::{
    Activation, Device, Fit, Layer, Matrix, Network, Shape,
    network::{Observation, UpdateRule},
};

/// T39 with precisions instead of variances.
fn in_precisions(mu: f64, var: f64, g_mean: f64, g_var: f64, c: Count<f64>) -> (f64, f64, bool) {
    let old = 1.0 / var;
    let wanted = (1.0 - c.share) * old + c.share * c.precision - c.weight * g_var;
    let new = if c.cap > 1.0 { wanted.min(old * c.cap * c.cap) } else { wanted };
    let step = (c.weight * g_mean + c.share * c.precision * (c.mean - mu)) / new;
    let most = var.sqrt() / c.cap;
    (mu + step.clamp(-most, most), 1.0 / new, new < wanted || step.abs() > most)
}

#[test]
fn a_step_in_precisions() {
    let mut draw = Draw::new(1);
    let mut limited = 0;
    for i in 0..20_000 {
        let count = Count {
            weight: draw.uniform(0.05, 1.0),
            share: [draw.uniform(0.0, 0.01), draw.uniform(0.0, 1.0), 1.0][i % 3],
            mean: draw.normal(),
            precision: draw.uniform(0.01, 100.0),
            cap: [0.1, 2.0, 3.0][i / 3 % 3],
        };
        let (mu, var) = (draw.normal(), 10f64.powf(draw.uniform(-6.0, 1.0)));
        let (g_mean, g_var) = (10.0 * draw.normal(), -10f64.powf(draw.uniform(-4.0, 4.0)));
        let (mean, new, capped) = in_precisions(mu, var, g_mean, g_var, count);
        let step = counted(mu, var, g_mean, g_var, count);
        // Where nearly all is forgotten, precisions fall by many orders of magnitude, and digits with them.
        let digits = 1e-12 * (new / var).max(1.0);
        let near = |a: f64, b: f64| (a - b).abs() <= digits * b.abs().max(1e-3);
        assert!(near(step.mean, mean) && near(step.var / new, 1.0), "{step:?} {mean} {new} {count:?}");
        assert_eq!((step.capped, step.repaired), (capped, false), "{count:?}");
        limited += u32::from(capped);
    }
    assert!((1000..15_000).contains(&limited), "{limited} were limited");
}

#[test]
fn a_step_at_the_edges() {
    let all = Count { weight: 1.0, share: 1.0, mean: 0.5, precision: 4.0, cap: 0.1 };
    let near = |a: f64, b: f64| (a - b).abs() < 1e-14;
    // All is forgotten: the prior, and this row.
    let step = counted(3.0, 0.01, 0.0, 0.0, all);
    assert!(near(step.var, 0.25) && step.capped && !step.repaired, "{step:?}");
    assert_eq!(step.mean, 3.0 - 10.0 * 0.1, "and yet no more than ten standard deviations");
    let step = counted(0.6, 0.01, 2.0, -4.0, all);
    assert!(near(step.mean, 0.6 + (2.0 - 4.0 * 0.1) / 8.0) && near(step.var, 0.125), "{step:?}");
    // What is known exactly stays, whatever is forgotten.
    for share in [0.0, 0.3, 1.0] {
        let step = counted(2.0f32, 0.0, 5.0, -3.0, single(Count { share, ..all }));
        assert_eq!((step.mean, step.var, step.capped, step.repaired), (2.0, 0.0, false, false), "{share}");
    }
    // Nothing that overflows ends as a weight.
    let step = counted(1.0f32, 1e-30, f32::MAX, -f32::MAX, single(Count { cap: 2.0, ..all }));
    assert!(step.mean.is_finite() && step.var >= f32::MIN_POSITIVE, "{step:?}");
}

fn single(c: Count<f64>) -> Count<f32> {
    let [weight, share, mean, precision, cap] =
        [c.weight, c.share, c.mean, c.precision, c.cap].map(|v| v as f32);
    Count { weight, share, mean, precision, cap }
}

/// A weight that a stream of rows says is 2, in single and in double precision: `[mean, variance]` of both.
fn remembered(rows: f64, steps: usize) -> [[f64; 2]; 2] {
    let count = Count { weight: 1.0, share: 1.0 / rows, mean: 0.0, precision: 1.0, cap: 0.1 };
    let (mut short, mut long) = ((1.0f32, 2.0 / rows as f32), (1.0f64, 2.0 / rows));
    let mut draw = Draw::new(1);
    for _ in 0..steps {
        let a = draw.normal();
        let (g, d) = (a * a, (a * a) as f32);
        let step = counted(long.0, long.1, g * (2.0 - long.0), -g, count);
        long = (step.mean, step.var);
        let step = counted(short.0, short.1, d * (2.0 - short.0), -d, single(count));
        short = (step.mean, step.var);
    }
    [[short.0.into(), short.1.into()], [long.0, long.1]]
}

/// In single precision what one of ever more rows changes is rounded, but not away.
#[test]
fn long_memories_survive_rounding() {
    let [short, long] = remembered(1e6, 3_000_000);
    assert!(worst(&short, &long, 0.0) < 0.01, "{short:?} {long:?}");
}

/// A batch of which nothing was seen still takes its place: the pull of so many rows, and nothing else.
#[test]
fn rows_without_an_observation_pull_back_to_the_prior() {
    for device in [Device::cpu(1), Device::reference()] {
        for rows in [1, 3, 40] {
            let net = Network::mlp([2, 5, 1], Activation::Tanh).noise_std([0.1]).device(&device);
            let mut net = net.update_rule(UpdateRule::Counted { rows: 15, margin: 10 }).build().unwrap();
            let mut draw = Draw::new(4);
            net.learn(&draw.matrix(1, 2), &draw.matrix(1, 1)).unwrap();
            let before = net.weights("linear1").unwrap().unwrap();
            let (x, y) = (draw.matrix(rows, 2), draw.matrix(rows, 1));
            net.learn(&x, Observation::from(&y).seen(&vec![false; rows])).unwrap();
            let after = net.weights("linear1").unwrap().unwrap();
            let share = 1.0 - (1.0f64 - 1.0 / 25.0).powi(rows as i32);
            let cap = if rows == 1 { 0.1 } else { 2.0 };
            let count = Count { weight: 1.0, share, mean: 0.0, precision: 2.0, cap };
            for (before, after) in [(&before.0, &after.0), (&before.1, &after.1)] {
                for (i, (&m, &v)) in before.mean().iter().zip(before.var()).enumerate() {
                    let (mean, var, _) = in_precisions(m, v, 0.0, 0.0, count);
                    let off = worst(&[after.mean()[i], after.var()[i]], &[mean, var], 0.01);
                    assert!(off < 1e-5, "{rows} rows on {device:?}: {off}");
                }
            }
        }
    }
}

/// What fitting a linear network ends at: predictive std over the exact posterior's, and over that of independent weights; how far
/// the mean is off, in exact standard deviations. Averages over 200 points and some seeds. 8 inputs that correlate by 0.5, 200
/// rows, a noise of 0.5, the prior N(0, 1/8).
fn against_the_exact(device: &Device, rule: UpdateRule, batch: usize, epochs: usize, seeds: u64) -> [f64; 3] {
    const N: usize = 8;
    let mut sums = [0.0; 3];
    for seed in 0..seeds {
        let mut draw = Draw::new(seed);
        let w: Vec<f64> = draw.normals(N + 1).iter().map(|w| w / (N as f64).sqrt()).collect();
        let mut rows = |n: usize| {
            let (mut x, mut y) = (Vec::new(), Vec::new());
            for _ in 0..n {
                let shared = draw.normal();
                let row: Vec<f64> = (0..N).map(|_| 0.5f64.sqrt() * (shared + draw.normal())).collect();
                y.push(row.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + w[N] + 0.5 * draw.normal());
                x.extend(row);
            }
            (Matrix::new(x, N).unwrap(), Matrix::column(y).unwrap())
        };
        let ((x, y), (test, _)) = (rows(200), rows(200));
        let exact = Exact::new(&x, &y, 1.0 / N as f64, 0.25);
        let independent = Exact::independent(&x, 1.0 / N as f64, 0.25);
        let net = Network::builder(Shape::flat(N)).layer(Layer::linear(1)).noise_std([0.5]).seed(seed);
        let mut net = net.update_rule(rule).device(device).build().unwrap();
        net.fit(&Dataset::new(x, y).unwrap(), &Fit::new().epochs(epochs).batch(batch).anneal(0.5)).unwrap();
        let out = net.predict(&test).unwrap();
        for i in 0..test.rows() {
            let (mean, var) = exact.predict(test.row(i));
            let squares: Vec<f64> = test.row(i).iter().map(|x| x * x).collect();
            sums[0] += (out.var()[i] / var).sqrt();
            sums[1] += (out.var()[i] / dot(&independent, &squares)).sqrt();
            sums[2] += (out.mean()[i] - mean).abs() / var.sqrt();
        }
    }
    sums.map(|sum| sum / (200 * seeds) as f64)
}

/// Bayesian linear regression: one row after another, with all covariances.
struct Exact {
    m: Vec<f64>,
    p: Vec<Vec<f64>>,
}

impl Exact {
    fn new(x: &Matrix, y: &Matrix, prior: f64, noise_var: f64) -> Self {
        let n = x.width() + 1;
        let p = (0..n).map(|i| (0..n).map(|j| if i == j { prior } else { 0.0 }).collect()).collect();
        let mut exact = Exact { m: vec![0.0; n], p };
        for row in 0..x.rows() {
            let ((mean, var), ph) = (exact.predict(x.row(row)), exact.times(x.row(row)));
            for i in 0..n {
                exact.m[i] += ph[i] / (var + noise_var) * (y.data()[row] - mean);
                (0..n).for_each(|j| exact.p[i][j] -= ph[i] * ph[j] / (var + noise_var));
            }
        }
        exact
    }

    /// Covariances with the output.
    fn times(&self, x: &[f64]) -> Vec<f64> {
        self.p.iter().map(|row| dot(row, x)).collect()
    }

    /// The same with independent weights, where the rule is at rest: every row once, with the variance of all others as noise.
    fn independent(x: &Matrix, prior: f64, noise_var: f64) -> Vec<f64> {
        let rows: Vec<Vec<f64>> =
            (0..x.rows()).map(|r| x.row(r).iter().chain([&1.0]).map(|x| x * x).collect()).collect();
        let mut var = vec![prior; x.width() + 1];
        for _ in 0..100 {
            let total: Vec<f64> = rows
                .iter()
                .map(|r| noise_var + r.iter().zip(&var).map(|(x, v)| x * v).sum::<f64>())
                .collect();
            let said = |i: usize| rows.iter().zip(&total).map(|(r, t)| r[i] / t).sum::<f64>();
            var = (0..var.len()).map(|i| 1.0 / (1.0 / prior + said(i))).collect();
        }
        var
    }

    fn predict(&self, x: &[f64]) -> (f64, f64) {
        (dot(&self.m, x), dot(&self.times(x), x))
    }
}

/// The bias comes last.
fn dot(a: &[f64], x: &[f64]) -> f64 {
    a.iter().zip(x.iter().chain([&1.0])).map(|(a, x)| a * x).sum()
}

#[test]
fn a_linear_network_ends_at_the_exact_posterior() {
    for device in [Device::cpu(1), Device::reference()] {
        let [exact, independent, off] = against_the_exact(&device, UpdateRule::counted(200), 1, 40, 10);
        println!(
            "{device:?}: std {exact:.4} of the exact, {independent:.4} of independent weights, mean off by {off:.4}"
        );
        assert!((exact - 1.0).abs() < 0.03 && (independent - 1.0).abs() < 0.005 && off < 0.05);
    }
    // Every epoch counts as new data by the other rule.
    let [exact, ..] = against_the_exact(&Device::cpu(1), UpdateRule::Capped, 1, 40, 2);
    assert!(exact < 0.3, "{exact}");
}

/// Batches are as good as single rows, but for one that holds all of them: its steps are limited, and means arrive late.
#[test]
fn batches_end_where_single_rows_do() {
    let cpu = Device::cpu(1);
    for batch in [8, 32, 100] {
        let [exact, independent, off] = against_the_exact(&cpu, UpdateRule::counted(200), batch, 40, 5);
        println!("batch {batch}: {exact:.4} {independent:.4} {off:.4}");
        assert!(
            (exact - 1.0).abs() < 0.03 && (independent - 1.0).abs() < 0.005 && off < 0.06,
            "{batch}: {off}"
        );
    }
    let [_, independent, late] = against_the_exact(&cpu, UpdateRule::counted(200), 200, 40, 5);
    assert!((independent - 1.0).abs() < 0.005 && late > 0.2, "{independent} {late}");
}

/// Images of digits that a small convolutional network gets wrong, and the geometric mean of its variances over their priors.
fn digits(rule: UpdateRule, epochs: usize) -> (f64, f64) {
    let (train, test) = (data::digits(600, 0).unwrap(), data::digits(500, 1).unwrap());
    let net = Network::builder(train.shape())
        .layer(Layer::conv2d(6, 5).stride(2))
        .layer(Activation::MixtureRelu)
        .layer(Layer::avg_pool2d(3).stride(3))
        .layer(Layer::linear(10))
        .classes(10);
    let mut net = net.update_rule(rule).seed(2).device(Device::cpu(1)).build().unwrap();
    let vars = |net: &Network| {
        let of = |layer: &str| net.weights(layer).unwrap().unwrap().0.var().to_vec();
        ["conv1", "linear1"].map(of).concat()
    };
    let before = vars(&net);
    net.fit(&train, &Fit::new().epochs(epochs).batch(16)).unwrap();
    let after = vars(&net);
    let logs: f64 = before.iter().zip(&after).map(|(b, a)| (a / b).ln()).sum();
    let p: Vec<f64> =
        test.batches(100).flat_map(|x| net.predict_classes(&x).unwrap().data().to_vec()).collect();
    let error = tractable::metrics::error_rate(&p, &test.labels()).unwrap();
    (error, (logs / before.len() as f64).exp())
}

/// Three rows per parameter beside those there are: as good as the other rule, and variances come to rest. Without them a
/// network learns less.
#[test]
fn digits_are_learned_and_variances_come_to_rest() {
    let counted = UpdateRule::Counted { rows: 600, margin: 3 * 1223 };
    let [(capped, _), (error, _), (strict, _)] =
        [UpdateRule::Capped, counted, UpdateRule::counted(600)].map(|rule| digits(rule, 10));
    println!("10 epochs: capped {capped}, counted {error}, without a margin {strict}");
    assert!(error < capped + 0.04 && strict > capped + 0.05, "{error} {capped} {strict}");
}

mod slow {
    use super::*;

    #[test]
    fn a_linear_network_stays_at_the_exact_posterior() {
        for batch in [1, 8, 32, 200] {
            let [exact, independent, off] =
                against_the_exact(&Device::cpu(1), UpdateRule::counted(200), batch, 400, 5);
            println!("batch {batch}: {exact:.4} {independent:.4} {off:.4}");
            assert!((exact - 1.0).abs() < 0.03 && (independent - 1.0).abs() < 0.005 && off < 0.05);
        }
    }

    #[test]
    fn variances_come_to_rest() {
        let counted = UpdateRule::Counted { rows: 600, margin: 3 * 1223 };
        let ratio = |rule| {
            let [(_, early), (error, late)] = [40, 80].map(|epochs| digits(rule, epochs));
            (error, late / early)
        };
        let ((capped, falls), (error, rests)) = (ratio(UpdateRule::Capped), ratio(counted));
        println!("80 epochs: capped {capped}, variances {falls}; counted {error}, variances {rests}");
        assert!(error < capped + 0.02 && falls < 0.6 && rests > 0.85, "{error} {capped} {falls} {rests}");
    }
}
