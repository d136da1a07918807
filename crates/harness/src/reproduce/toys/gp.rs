//! A Gaussian process of one input, to compare with: squared-exponential kernel, the hyperparameters of the highest evidence on a grid.

/// Length scales, in standard deviations of the input.
const LENGTHS: [f64; 9] = [0.1, 0.15, 0.25, 0.4, 0.6, 0.9, 1.3, 2.0, 3.0];

pub(super) struct Gp {
    x: Vec<f64>,
    /// `L^-1 y`, y standardised.
    y: Vec<f64>,
    /// Lower factor of the covariance of the observations.
    factor: Vec<f64>,
    length: f64,
    amplitude: f64,
    noise: f64,
    scale: [(f64, f64); 2],
}

impl Gp {
    pub(super) fn fit(x: &[f64], y: &[f64]) -> Gp {
        let scale = [standard(x), standard(y)];
        let apply =
            |v: &[f64], (mean, std): (f64, f64)| v.iter().map(|v| (v - mean) / std).collect::<Vec<_>>();
        let (x, y) = (apply(x, scale[0]), apply(y, scale[1]));
        let n = x.len();
        let mut best: Option<(f64, Gp)> = None;
        for length in LENGTHS {
            let kernel: Vec<f64> = (0..n * n).map(|i| near(x[i / n], x[i % n], length)).collect();
            for amplitude in (-4..=8).map(|k| (0.7 * f64::from(k)).exp()) {
                for noise in (-16..=0).map(|k| (0.5 * f64::from(k)).exp()) {
                    let mut factor: Vec<f64> = kernel.iter().map(|k| amplitude * k).collect();
                    (0..n).for_each(|i| factor[i * n + i] += noise);
                    cholesky(&mut factor, n);
                    let mut solved = y.clone();
                    solve(&factor, &mut solved);
                    let evidence = -0.5 * solved.iter().map(|v| v * v).sum::<f64>()
                        - (0..n).map(|i| factor[i * n + i].ln()).sum::<f64>();
                    if best.as_ref().is_none_or(|b| evidence > b.0) {
                        let x = x.clone();
                        best = Some((evidence, Gp { x, y: solved, factor, length, amplitude, noise, scale }));
                    }
                }
            }
        }
        best.expect("noise makes every covariance definite").1
    }

    /// Mean and standard deviation of an observation.
    pub(super) fn predict(&self, x: f64) -> (f64, f64) {
        let [(x_mean, x_std), (y_mean, y_std)] = self.scale;
        let x = (x - x_mean) / x_std;
        let mut with: Vec<f64> =
            self.x.iter().map(|&row| self.amplitude * near(x, row, self.length)).collect();
        solve(&self.factor, &mut with);
        let mean: f64 = with.iter().zip(&self.y).map(|(k, y)| k * y).sum();
        let var = self.amplitude - with.iter().map(|k| k * k).sum::<f64>() + self.noise;
        (y_mean + y_std * mean, y_std * var.sqrt())
    }
}

fn near(a: f64, b: f64, length: f64) -> f64 {
    (-0.5 * ((a - b) / length).powi(2)).exp()
}

fn standard(v: &[f64]) -> (f64, f64) {
    let n = v.len() as f64;
    let mean = v.iter().sum::<f64>() / n;
    (mean, (v.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt())
}

/// The lower factor, in place.
fn cholesky(a: &mut [f64], n: usize) {
    for i in 0..n {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| a[i * n + k] * a[j * n + k]).sum();
            let rest = a[i * n + j] - known;
            a[i * n + j] = if i == j { rest.sqrt() } else { rest / a[j * n + j] };
        }
    }
}

/// Solves `L x = v` in place.
fn solve(factor: &[f64], v: &mut [f64]) {
    let n = v.len();
    for i in 0..n {
        let known: f64 = factor[i * n..i * n + i].iter().zip(&v[..i]).map(|(a, b)| a * b).sum();
        v[i] = (v[i] - known) / factor[i * n + i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_sure_at_the_data_and_unsure_away() {
        let x: Vec<f64> = (0..40).map(|i| f64::from(i) / 10.0).collect();
        let y: Vec<f64> = x.iter().map(|x| x.sin()).collect();
        let gp = Gp::fit(&x, &y);
        let (mean, std) = gp.predict(1.05);
        assert!((mean - 1.05f64.sin()).abs() < 0.01 && std < 0.1, "{mean} {std}");
        assert!(gp.predict(20.0).1 > 0.3);
    }

    #[test]
    fn two_rows_by_hand() {
        // Standardised: x and y are -1 and 1.
        let gp = Gp::fit(&[0.0, 2.0], &[1.0, 3.0]);
        let (a, b) = (gp.amplitude + gp.noise, gp.amplitude * near(-1.0, 1.0, gp.length));
        let k = [-1.0, 1.0].map(|row| gp.amplitude * near(0.5, row, gp.length));
        // (K + noise)^-1 y of an antisymmetric y is y / (a - b).
        let mean = 2.0 + (k[1] - k[0]) / (a - b);
        let var = a - (a * (k[0] * k[0] + k[1] * k[1]) - 2.0 * b * k[0] * k[1]) / (a * a - b * b);
        let (found, std) = gp.predict(1.5);
        assert!(
            (found - mean).abs() < 1e-12 && (std * std - var).abs() < 1e-12,
            "{found} {mean} {std} {var}"
        );
    }
}
