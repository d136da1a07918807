//! How inference finds an optimum of a function of one number, in four panels.

use super::{Color, Figure, Panel};
use tractable::{Gaussian, Network, Result, Wrt};

/// Places on the axis at which the network is asked.
const GRID: usize = 241;
/// Standard deviation of the input, as a share of the axis, for the covariance with the derivative.
const INPUT_STD: f64 = 0.0025;

/// What is known at the end of an optimisation in one dimension. `grid`, `truth`, `mean`, `std`, `slope_mean`,
/// `slope_std` and `slope_x_cov` have one length.
pub(crate) struct OptimumData<'a> {
    pub(crate) title: &'a str,
    /// Name and unit of the input.
    pub(crate) x_label: &'a str,
    /// Name and unit of the output.
    pub(crate) y_label: &'a str,
    /// Where the prediction is shown.
    pub(crate) grid: &'a [f64],
    /// The function itself on the grid, if it is known; it may have places without a value.
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
    /// What the last panel shows.
    pub(crate) places: Places<'a>,
    /// Where the optimum is, if it is known.
    pub(crate) known: Option<f64>,
}

/// How the optimum was come to.
#[derive(Clone, Copy)]
pub enum Places<'a> {
    /// The input over the iterations, from the start on.
    Path { mean: &'a [f64], std: &'a [f64] },
    /// Inputs that the function was evaluated at, one after the other.
    Evaluated(&'a [f64]),
    /// Optima: their places and values.
    Optima { mean: &'a [f64], std: &'a [f64], value: &'a [f64] },
}

impl Places<'_> {
    fn panel(self, x_label: &str, y_label: &str, (low, high): (f64, f64)) -> Panel {
        let color = Color::Vermillion;
        let counted = |from: usize, n: usize| (from..from + n).map(|i| i as f64).collect::<Vec<_>>();
        match self {
            Places::Path { mean, std } => {
                let iterations = counted(0, mean.len());
                let panel = Panel::new("Input over the iterations", "iteration", x_label);
                panel.gaussian("input", color, &iterations, mean, std)
            }
            Places::Evaluated(x) => {
                let panel = Panel::new("Where the function was evaluated", "evaluation", x_label);
                panel.points("evaluated", color, &counted(1, x.len()), x)
            }
            Places::Optima { mean, std, value } => {
                let mut panel = Panel::new("Optima found", x_label, y_label).x_limits(low, high);
                for ((x, s), v) in mean.iter().zip(std).zip(value) {
                    let ends = [(x - 2.0 * s).max(low), (x + 2.0 * s).min(high)];
                    panel = panel.line("± 2 std", color, &ends, &[*v; 2]);
                }
                panel.points("optimum", color, mean, value)
            }
        }
    }
}

/// The prediction, its derivative, the derivative's covariance with the input, and how the optimum was come to.
pub(crate) fn optimum(what: &OptimumData) -> Figure {
    let (x, x_label) = (what.grid, what.x_label);
    let mut prediction = Panel::new("Prediction", x_label, what.y_label).gaussian(
        "predicted",
        Color::Blue,
        x,
        what.mean,
        what.std,
    );
    // Where the function has no value its line has a gap.
    for (from, to) in what.truth.map_or(Vec::new(), defined) {
        let truth = what.truth.map_or(&[][..], |t| &t[from..to]);
        prediction = prediction.dashed_line("true", Color::Ink, &x[from..to], truth);
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
    let range = (x.first().copied().unwrap_or(0.0), x.last().copied().unwrap_or(1.0));
    let mut places = what.places.panel(x_label, what.y_label, range);
    if let Some(known) = what.known {
        places = places.horizontal("known optimum", Color::Ink, known);
    }
    let figure = Figure::new(what.title).columns(2).panel_size(470.0, 280.0);
    figure.panel(prediction).panel(slope).panel(covariance).panel(places)
}

/// Runs of finite numbers: first, and one past the last.
fn defined(values: &[f64]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (i, _) in values.iter().enumerate().filter(|(_, v)| v.is_finite()) {
        match runs.last_mut() {
            Some(run) if run.1 == i => run.1 = i + 1,
            _ => runs.push((i, i + 1)),
        }
    }
    runs
}

/// What the four panels show of a network of one input.
pub struct OptimumFigure<'a> {
    pub title: &'a str,
    pub x_label: &'a str,
    pub y_label: &'a str,
    pub net: &'a Network,
    /// Which output, where there are several.
    pub output: usize,
    pub range: (f64, f64),
    pub truth: Option<&'a dyn Fn(f64) -> f64>,
    /// Inputs and outputs that were observed; may be empty.
    pub data: (&'a [f64], &'a [f64]),
    pub places: Places<'a>,
    /// Where the optimum is, if it is known.
    pub known: Option<f64>,
}

pub fn four_panels(what: &OptimumFigure) -> Result<Figure> {
    let (low, high) = what.range;
    let grid: Vec<f64> = (0..GRID).map(|i| low + (high - low) * i as f64 / (GRID - 1) as f64).collect();
    let var = (INPUT_STD * (high - low)).powi(2);
    let places = Gaussian::new(grid.clone(), vec![var; GRID], 1)?;
    let seen = what.net.predict(&places)?;
    let slope = what.net.derivative(&places, Wrt::input().output(what.output))?;
    let of = |all: &[f64]| all.iter().skip(what.output).step_by(seen.width()).copied().collect::<Vec<_>>();
    let truth: Option<Vec<f64>> = what.truth.map(|f| grid.iter().map(|&x| f(x)).collect());
    Ok(optimum(&OptimumData {
        title: what.title,
        x_label: what.x_label,
        y_label: what.y_label,
        grid: &grid,
        truth: truth.as_deref(),
        data_x: what.data.0,
        data_y: what.data.1,
        mean: &of(seen.mean()),
        std: &of(&seen.std()),
        slope_mean: slope.mean(),
        slope_std: &slope.var().iter().map(|v| v.sqrt()).collect::<Vec<_>>(),
        slope_x_cov: slope.cov(),
        places: what.places,
        known: what.known,
    }))
}
