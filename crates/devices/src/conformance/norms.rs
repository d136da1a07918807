//! The way back through the statistics of a batch.

use super::*;

const STATISTICS: (f64, f64) = (0.9, 1e-5);

fn shapes() -> [Shape; 5] {
    [
        Shape::flat(33),
        Shape::image(3, 5, 4),
        Shape::image(32, 3, 3),
        Shape::image(65, 2, 1),
        Shape::image(6, 7, 7),
    ]
}

/// Scale and shift of a normalisation, and running statistics that are nothing like a batch's.
fn norm<B: Backend>(b: &B, channels: usize) -> B::Norm {
    let mut n = Numbers::new(9);
    let p = Parameters {
        mean: n.draw(channels, 0.5, 1.5),
        var: n.draw(channels, 0.1, 1.0),
        bias_mean: n.draw(channels, -1.0, 1.0),
        bias_var: n.draw(channels, 0.01, 0.1),
    };
    let (mean, var, (momentum, epsilon)) = (vec![3.0; channels], vec![7.0; channels], STATISTICS);
    b.norm(&p, &Statistics { mean, var, momentum, epsilon }).unwrap()
}

/// A batch up, innovations down.
fn up_and_down<B: Backend>(b: &B, case: &Case) -> (B::State, B::State) {
    let (norm, (mut x, mut z), mut scratch) =
        (norm(b, case.input.channels), case.start(b), Default::default());
    b.normalize(&norm, &mut scratch, &x, &mut z, Purpose::Learn);
    case.innovate(b, &mut z);
    b.normalize_total(&norm, &mut scratch, &x, &z, None).unwrap();
    b.normalize_back(&norm, &scratch, None, &z, &mut x);
    (x, z)
}

/// T73: what goes down is the gradient of `sum d_mean mean` in the means of the input, by central differences of what is computed.
#[test]
fn innovations_are_the_gradient_of_what_is_computed() {
    for shape in [Shape::flat(3), Shape::image(2, 3, 2)] {
        let b = &Reference;
        let case = Case::new(shape, shape, 5, false, 6);
        let (x, z) = up_and_down(b, &case);
        let (found, of_output) = (read(b, &x, Field::DMean), read(b, &z, Field::DMean));
        let size = found.iter().fold(0.0, |m: f64, d| m.max(d.abs()));
        let value = |unit: usize, off: f64| -> f64 {
            let (mut x, mut z) = case.start(b);
            let mut mean = case.mean.clone();
            mean[unit] += off;
            b.write(&mut x, &mean, case.var.as_deref()).unwrap();
            let norm = norm(b, shape.channels);
            b.normalize(&norm, &mut Default::default(), &x, &mut z, Purpose::Learn);
            read(b, &z, Field::Mean).iter().zip(&of_output).map(|(m, d)| m * d).sum()
        };
        for (unit, found) in found.iter().enumerate() {
            let step = |h: f64| (value(unit, h) - value(unit, -h)) / (2.0 * h);
            // Two steps cancel the error of the second order.
            let slope = (4.0 * step(1e-3) - step(2e-3)) / 3.0;
            assert!((found - slope).abs() < 1e-9 * size, "{shape}, unit {unit}: {found}, {slope}");
        }
    }
}

/// A channel that moves as a whole, or grows as a whole, comes out as it was: nothing is learned in these directions. The second is exact where
/// inputs are known.
#[test]
fn what_normalisation_removes_is_not_learned() {
    for shape in shapes() {
        let case = Case::new(shape, shape, 7, true, 4);
        let values = 7 * shape.pixels();
        agree(&format!("what {shape} has in common"), 16 * values, |b| {
            on!(b, b => {
                let (x, _) = up_and_down(b, &case);
                let (mean, d) = (read(b, &x, Field::Mean), read(b, &x, Field::DMean));
                let channel = |i: usize| i / shape.pixels() % shape.channels;
                // The first two are zero but for rounding and epsilon; the third is their size.
                let mut sums = vec![[0.0; 3]; shape.channels];
                for (i, (m, d)) in mean.iter().zip(&d).enumerate() {
                    let sums = &mut sums[channel(i)];
                    (sums[0], sums[1], sums[2]) = (sums[0] + d, sums[1] + m * d, sums[2] + d.abs());
                }
                for [first, second, size] in sums {
                    assert!(size > 0.1 && first.abs().max(second.abs()) < 1e-4 * size, "{shape}: {first} {second} {size}");
                }
                vec![("d_mean", d)]
            })
        });
    }
}

/// Two workers that share a batch, each with a part of it, send down what one with all of it does; so does a state that only receives.
#[test]
fn parts_of_a_batch_go_back_together() {
    for shape in shapes() {
        let (rows, len, split) = (7, shape.len(), 3 * shape.len());
        let whole = Case::new(shape, shape, rows, false, 5);
        let part = |range: std::ops::Range<usize>| Case {
            input: shape,
            output: shape,
            mean: whole.mean[range.clone()].to_vec(),
            var: whole.var.as_ref().map(|v| v[range.clone()].to_vec()),
            d_mean: whole.d_mean[range.clone()].to_vec(),
            d_var: whole.d_var[range].to_vec(),
        };
        let parts = [part(0..split), part(split..rows * len)];
        // T25, on which workers agree while they go forward.
        let values = (rows * shape.pixels()) as f64;
        let mut statistics = Statistics {
            mean: vec![0.0; shape.channels],
            var: vec![0.0; shape.channels],
            momentum: STATISTICS.0,
            epsilon: STATISTICS.1,
        };
        let channel = |i: usize| i / shape.pixels() % shape.channels;
        whole.mean.iter().enumerate().for_each(|(i, m)| statistics.mean[channel(i)] += m / values);
        for (i, (m, v)) in whole.mean.iter().zip(whole.var.iter().flatten()).enumerate() {
            let c = channel(i);
            statistics.var[c] += ((m - statistics.mean[c]).powi(2) + v) / values;
        }
        agree(&format!("parts of {shape}"), 16 * rows * shape.pixels(), |b| {
            on!(b, b => {
                let (x, _) = up_and_down(b, &whole);
                let norm = b.norm(&b.norm_parameters(&norm(b, shape.channels)).unwrap().0, &statistics).unwrap();
                let run = |case: &Case, together: &mut dyn FnMut(&mut [f64])| {
                    let ((mut x, mut z), mut scratch) = (case.start(b), Default::default());
                    b.normalize(&norm, &mut scratch, &x, &mut z, Purpose::Predict);
                    case.innovate(b, &mut z);
                    let mut together = |sums: &mut [f64]| { together(sums); Ok(()) };
                    b.normalize_total(&norm, &mut scratch, &x, &z, Some(&mut together)).unwrap();
                    let mut spare = b.state(shape);
                    b.like(&x, &mut spare);
                    b.normalize_back(&norm, &scratch, Some(&x), &z, &mut spare);
                    b.normalize_back(&norm, &scratch, None, &z, &mut x);
                    assert_eq!(read(b, &spare, Field::DMean), read(b, &x, Field::DMean), "{shape}");
                    (read(b, &x, Field::DMean), read(b, &x, Field::DVar))
                };
                let mut said = Vec::new();
                for case in &parts {
                    run(case, &mut |sums| said.push(sums.to_vec()));
                }
                let mut found = (Vec::new(), Vec::new());
                for case in &parts {
                    let (d_mean, d_var) = run(case, &mut |sums| {
                        sums.iter_mut().enumerate().for_each(|(i, s)| *s = said[0][i] + said[1][i]);
                    });
                    found.0.extend(d_mean);
                    found.1.extend(d_var);
                }
                let one = [("d_mean", read(b, &x, Field::DMean)), ("d_var", read(b, &x, Field::DVar))];
                let two = [("d_mean", found.0), ("d_var", found.1)];
                close(&format!("{shape}, two parts"), 1.0, 64 * rows * shape.pixels(), &two, &one);
                two.to_vec()
            })
        });
    }
}
