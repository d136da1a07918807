//! How inference finds an optimum of a function of one number, in four panels.

use super::{Color, Figure, Panel};
use tractable::{Gaussian, Network, Result, condition::Wrt};

/// Places on the axis at which the network is asked.
const GRID: usize = 241;
/// Standard deviation of the input, as a share of the axis, for the covariance with the derivative.
const INPUT_STD: f64 = 0.0025;

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
pub fn four_panels(what: &OptimumFigure) -> Result<Figure> {
    let ((low, high), x_label) = (what.range, what.x_label);
    let x: Vec<f64> = (0..GRID).map(|i| low + (high - low) * i as f64 / (GRID - 1) as f64).collect();
    let var = (INPUT_STD * (high - low)).powi(2);
    let inputs = Gaussian::new(x.clone(), vec![var; GRID], 1)?;
    let seen = what.net.predict(&inputs)?;
    let slope = what.net.derivative(&inputs, Wrt::input().output(what.output))?;
    let of = |all: &[f64]| all.iter().skip(what.output).step_by(seen.width()).copied().collect::<Vec<_>>();
    let mut prediction = Panel::new("Prediction", x_label, what.y_label).gaussian(
        "predicted",
        Color::Blue,
        &x,
        &of(seen.mean()),
        &of(&seen.output().std()),
    );
    // Where the function has no value its line has a gap.
    let truth: Vec<f64> = what.truth.map_or(Vec::new(), |f| x.iter().map(|&x| f(x)).collect());
    for (from, to) in defined(&truth) {
        prediction = prediction.dashed_line("true", Color::Ink, &x[from..to], &truth[from..to]);
    }
    // Nothing observed is no error; inputs without outputs are.
    if !(what.data.0.is_empty() && what.data.1.is_empty()) {
        prediction = prediction.points("data", Color::Vermillion, what.data.0, what.data.1);
    }
    let slope_std: Vec<f64> = slope.var().iter().map(|v| v.sqrt()).collect();
    let derivative = Panel::new("Derivative of the prediction", x_label, "derivative")
        .horizontal("zero", Color::Ink, 0.0)
        .gaussian("derivative", Color::Green, &x, slope.mean(), &slope_std);
    let covariance = Panel::new("Covariance of derivative and input", x_label, "covariance")
        .horizontal("zero", Color::Ink, 0.0)
        .line("covariance", Color::Purple, &x, slope.cov());
    let mut places = what.places.panel(x_label, what.y_label, what.range);
    if let Some(known) = what.known {
        places = places.horizontal("known optimum", Color::Ink, known);
    }
    let figure = Figure::new(what.title).columns(2).panel_size(470.0, 280.0);
    Ok(figure.panel(prediction).panel(derivative).panel(covariance).panel(places))
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
