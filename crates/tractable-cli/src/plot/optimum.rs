//! How inference finds an optimum of a function of one number, in four panels.

use super::{Color, Figure, Panel};

/// What is known at the end of an optimisation in one dimension. `grid`, `truth`, `mean`, `std`, `slope_mean`,
/// `slope_std` and `slope_x_cov` have one length; `path_mean` and `path_std` have one entry an iteration.
pub(crate) struct Optimum<'a> {
    pub(crate) title: &'a str,
    /// Name and unit of the input.
    pub(crate) x_label: &'a str,
    /// Name and unit of the output.
    pub(crate) y_label: &'a str,
    /// Where the prediction is shown.
    pub(crate) grid: &'a [f64],
    /// The function itself on the grid, if it is known.
    pub(crate) truth: Option<&'a [f64]>,
    /// Observations: inputs and outputs; may be empty.
    pub(crate) data_x: &'a [f64],
    pub(crate) data_y: &'a [f64],
    /// The prediction on the grid.
    pub(crate) mean: &'a [f64],
    pub(crate) std: &'a [f64],
    /// Its derivative by the input.
    pub(crate) slope_mean: &'a [f64],
    pub(crate) slope_std: &'a [f64],
    /// Covariance of the derivative and the input.
    pub(crate) slope_x_cov: &'a [f64],
    /// The input over the iterations, from the start on.
    pub(crate) path_mean: &'a [f64],
    pub(crate) path_std: &'a [f64],
    /// Where the optimum is, if it is known.
    pub(crate) known: Option<f64>,
}

/// The prediction, its derivative, the derivative's covariance with the input, and the path of the input.
pub(crate) fn optimum(what: &Optimum) -> Figure {
    let (x, x_label) = (what.grid, what.x_label);
    let mut prediction = Panel::new("Prediction", x_label, what.y_label).gaussian(
        "predicted",
        Color::Blue,
        x,
        what.mean,
        what.std,
    );
    if let Some(truth) = what.truth {
        prediction = prediction.dashed_line("true", Color::Ink, x, truth);
    }
    // Nothing observed is no error; inputs without outputs are.
    if !(what.data_x.is_empty() && what.data_y.is_empty()) {
        prediction = prediction.points("data", Color::Vermillion, what.data_x, what.data_y);
    }
    let slope = Panel::new("Derivative of the prediction", x_label, "derivative")
        .horizontal("zero", Color::Ink, 0.0)
        .gaussian("derivative", Color::Green, x, what.slope_mean, what.slope_std);
    let covariance = Panel::new("Covariance of derivative and input", x_label, "covariance")
        .horizontal("zero", Color::Ink, 0.0)
        .line("covariance", Color::Purple, x, what.slope_x_cov);
    let iterations: Vec<f64> = (0..what.path_mean.len()).map(|i| i as f64).collect();
    let mut path = Panel::new("Input over the iterations", "iteration", x_label).gaussian(
        "input",
        Color::Vermillion,
        &iterations,
        what.path_mean,
        what.path_std,
    );
    if let Some(known) = what.known {
        path = path.horizontal("known optimum", Color::Ink, known);
    }
    let figure = Figure::new(what.title).columns(2).panel_size(470.0, 280.0);
    figure.panel(prediction).panel(slope).panel(covariance).panel(path)
}
