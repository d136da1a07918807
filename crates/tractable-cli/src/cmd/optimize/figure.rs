//! The picture of an optimisation of one number: prediction, derivative, covariance and path.

use crate::plot::{self, Figure, Optimum};
use tractable::{Gaussian, Network, Result, Wrt};

/// Places on the axis at which the network is asked.
const GRID: usize = 241;
/// Standard deviation of the input, as a share of the axis, for the covariance with the derivative.
const INPUT_STD: f64 = 0.0025;

/// Four panels of a network of one input: `data` are the points it learned from, `path` where the input went.
pub(crate) fn four_panels(
    title: &str,
    net: &Network,
    (low, high): (f64, f64),
    truth: Option<&dyn Fn(f64) -> f64>,
    (data_x, data_y): (&[f64], &[f64]),
    path: &[Gaussian],
    known: Option<f64>,
) -> Result<Figure> {
    let grid: Vec<f64> = (0..GRID).map(|i| low + (high - low) * i as f64 / (GRID - 1) as f64).collect();
    let var = (INPUT_STD * (high - low)).powi(2);
    let places = Gaussian::new(grid.clone(), vec![var; GRID], 1)?;
    let seen = net.predict(&places)?;
    let slope = net.derivative(&places, Wrt::input())?;
    let std = |var: &[f64]| var.iter().map(|v| v.sqrt()).collect::<Vec<_>>();
    let truth: Option<Vec<f64>> = truth.map(|f| grid.iter().map(|&x| f(x)).collect());
    let path_mean: Vec<f64> = path.iter().map(|g| g.mean()[0]).collect();
    let path_std: Vec<f64> = path.iter().map(|g| g.std()[0]).collect();
    Ok(plot::optimum(&Optimum {
        title,
        x_label: "x",
        y_label: "y",
        grid: &grid,
        truth: truth.as_deref(),
        data_x,
        data_y,
        mean: seen.mean(),
        std: &std(seen.var()),
        slope_mean: slope.mean(),
        slope_std: &std(slope.var()),
        slope_x_cov: slope.cov(),
        path_mean: &path_mean,
        path_std: &path_std,
        known,
    }))
}
