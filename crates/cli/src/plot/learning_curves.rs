//! Learning curves: how scores develop, several of them side by side, with their spread.

use super::{Color, Figure, Panel};

/// One curve of a figure of learning curves.
pub(crate) struct Curve<'a> {
    pub(crate) name: &'a str,
    pub(crate) x: &'a [f64],
    pub(crate) y: &'a [f64],
    /// Lower and upper side of what is shaded around it: a spread over seeds, two standard deviations.
    pub(crate) band: Option<(&'a [f64], &'a [f64])>,
}

/// What a figure of learning curves shows. Labels carry the units.
pub(crate) struct LearningCurves<'a> {
    pub(crate) title: &'a str,
    pub(crate) x_label: &'a str,
    pub(crate) y_label: &'a str,
    /// For errors that fall over several powers of ten; all `y` must then be above zero.
    pub(crate) log_y: bool,
    pub(crate) curves: &'a [Curve<'a>],
}

/// One panel with all the curves. The first have colours of their own; those after are dashed.
pub(crate) fn learning_curves(what: &LearningCurves) -> Figure {
    let mut panel = Panel::new("", what.x_label, what.y_label);
    // Bands below all lines.
    for (i, curve) in what.curves.iter().enumerate() {
        if let Some((lower, upper)) = curve.band {
            panel = panel.band(curve.name, Color::nth(i), curve.x, lower, upper);
        }
    }
    for (i, curve) in what.curves.iter().enumerate() {
        let dashed = (i / Color::CYCLE) % 2 == 1;
        let draw = if dashed { Panel::dashed_line } else { Panel::line };
        panel = draw(panel, curve.name, Color::nth(i), curve.x, curve.y);
    }
    Figure::new(what.title).panel(if what.log_y { panel.log_y() } else { panel })
}
