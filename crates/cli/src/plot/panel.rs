//! One set of axes and what is drawn on it. Numbers are checked when the picture is made.

use super::axis::{Axis, Scale};
use super::contour::contour;
use super::style::Color;

/// What one series is made of.
pub(super) enum Mark {
    Line {
        x: Vec<f64>,
        y: Vec<f64>,
        dashed: bool,
    },
    Band {
        x: Vec<f64>,
        lower: Vec<f64>,
        upper: Vec<f64>,
    },
    Points {
        x: Vec<f64>,
        y: Vec<f64>,
    },
    /// Bar `i` stands on `edges[i]..edges[i + 1]`, from zero to its height.
    Bars {
        edges: Vec<f64>,
        heights: Vec<f64>,
    },
    /// Shades from 0 to 1 of the cells between edges, row after row from below.
    Shades {
        x: Vec<f64>,
        y: Vec<f64>,
        shades: Vec<f64>,
    },
    /// Pieces of a curve, each from one place to another.
    Pieces(Vec<[(f64, f64); 2]>),
    Vertical(f64),
    Horizontal(f64),
}

pub(super) struct Series {
    /// In the legend; empty: not in the legend.
    pub(super) name: String,
    pub(super) color: Color,
    pub(super) shape: Mark,
}

/// One set of axes with its series. Later series are drawn over earlier ones; a series with an empty name is
/// not in the legend, and series of one name share an entry.
pub struct Panel {
    pub(super) title: String,
    pub(super) x_label: String,
    pub(super) y_label: String,
    pub(super) series: Vec<Series>,
    scales: [Scale; 2],
    limits: [Option<(f64, f64)>; 2],
}

impl Panel {
    /// Axes without series. Labels carry the units, as in `time [s]`; an empty title takes no room.
    pub fn new(title: &str, x_label: &str, y_label: &str) -> Self {
        let [title, x_label, y_label] = [title, x_label, y_label].map(String::from);
        Panel { title, x_label, y_label, series: Vec::new(), scales: [Scale::Linear; 2], limits: [None; 2] }
    }

    fn with(mut self, name: &str, color: Color, shape: Mark) -> Self {
        self.series.push(Series { name: name.into(), color, shape });
        self
    }

    pub fn line(self, name: &str, color: Color, x: &[f64], y: &[f64]) -> Self {
        self.with(name, color, Mark::Line { x: x.into(), y: y.into(), dashed: false })
    }

    pub fn dashed_line(self, name: &str, color: Color, x: &[f64], y: &[f64]) -> Self {
        self.with(name, color, Mark::Line { x: x.into(), y: y.into(), dashed: true })
    }

    /// The shaded region between two curves. On a log axis, what is far below all
    /// the rest or not above zero is cut off.
    pub fn band(self, name: &str, color: Color, x: &[f64], lower: &[f64], upper: &[f64]) -> Self {
        self.with(name, color, Mark::Band { x: x.into(), lower: lower.into(), upper: upper.into() })
    }

    /// A mean as a line, and plus and minus two standard deviations shaded around it.
    pub fn gaussian(self, name: &str, color: Color, x: &[f64], mean: &[f64], std: &[f64]) -> Self {
        // Lengths that differ are left different, for the check to find.
        let at = |factor: f64| mean.iter().zip(std).map(|(m, s)| m + factor * s).collect::<Vec<f64>>();
        let name = if name.is_empty() { String::new() } else { format!("{name} ± 2 std") };
        self.band(&name, color, x, &at(-2.0), &at(2.0)).line(&name, color, x, mean)
    }

    pub fn points(self, name: &str, color: Color, x: &[f64], y: &[f64]) -> Self {
        self.with(name, color, Mark::Points { x: x.into(), y: y.into() })
    }

    /// Bars from zero; `edges` has one number more than `heights`, growing.
    pub(crate) fn bars(self, name: &str, color: Color, edges: &[f64], heights: &[f64]) -> Self {
        self.with(name, color, Mark::Bars { edges: edges.into(), heights: heights.into() })
    }

    /// A map: cells between the edges `x` and `y`, shaded from 0 to 1, row after row from below.
    pub(crate) fn shades(self, name: &str, color: Color, x: &[f64], y: &[f64], shades: &[f64]) -> Self {
        self.with(name, color, Mark::Shades { x: x.into(), y: y.into(), shades: shades.into() })
    }

    /// Where a function on a grid, row after row from below, has a value; nothing where it has not.
    pub(crate) fn level(
        self,
        name: &str,
        color: Color,
        grid: [&[f64]; 2],
        values: &[f64],
        level: f64,
    ) -> Self {
        match contour(grid, values, level) {
            pieces if pieces.is_empty() => self,
            pieces => self.with(name, color, Mark::Pieces(pieces)),
        }
    }

    /// A dashed line across the panel at `x`.
    pub(crate) fn vertical(self, name: &str, color: Color, x: f64) -> Self {
        self.with(name, color, Mark::Vertical(x))
    }

    /// A dashed line across the panel at `y`.
    pub(crate) fn horizontal(self, name: &str, color: Color, y: f64) -> Self {
        self.with(name, color, Mark::Horizontal(y))
    }

    pub fn log_x(mut self) -> Self {
        self.scales[0] = Scale::Log;
        self
    }

    pub fn log_y(mut self) -> Self {
        self.scales[1] = Scale::Log;
        self
    }

    /// Shows these x only; without it, all there are.
    pub(crate) fn x_limits(mut self, low: f64, high: f64) -> Self {
        self.limits[0] = Some((low, high));
        self
    }

    /// Shows these y only; without it, all there are.
    pub(crate) fn y_limits(mut self, low: f64, high: f64) -> Self {
        self.limits[1] = Some((low, high));
        self
    }

    /// The two axes, after a check of every number.
    pub(super) fn axes(&self) -> Result<[Axis; 2], String> {
        if self.series.is_empty() {
            return Err(format!("there is nothing to draw in panel `{}`", self.title));
        }
        for series in &self.series {
            series.check(self.scales).map_err(|why| self.named(series, &why))?;
        }
        let axis = |which: usize| self.axis(which).map_err(|why| format!("panel `{}`: {why}", self.title));
        Ok([axis(0)?, axis(1)?])
    }

    fn named(&self, series: &Series, why: &str) -> String {
        match (series.name.as_str(), self.title.as_str()) {
            ("", title) => format!("panel `{title}`: {why}"),
            (name, "") => format!("series `{name}`: {why}"),
            (name, title) => format!("series `{name}` of panel `{title}`: {why}"),
        }
    }

    fn axis(&self, which: usize) -> Result<Axis, String> {
        let (scale, name) = (self.scales[which], ["x", "y"][which]);
        if let Some((low, high)) = self.limits[which] {
            let whole = low < high && (high - low).is_finite() && (scale == Scale::Linear || low > 0.0);
            return match whole {
                true => Axis::around(low, high, scale, 0.0),
                false => Err(format!("the limits of {name} cannot be {low} to {high}")),
            };
        }
        let values = self.series.iter().flat_map(|s| s.spanned(which));
        // The lower side of a band may reach zero or come close to it: a log axis then ends a decade below
        // all the rest.
        let floor = match scale {
            Scale::Linear => f64::NEG_INFINITY,
            Scale::Log => {
                self.series.iter().flat_map(|s| s.above(which)).fold(f64::INFINITY, f64::min) / 10.0
            }
        };
        let values = values.filter(|v| *v >= floor && (scale == Scale::Linear || *v > 0.0));
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            return Err(format!("nothing there has a place on the {name} axis"));
        }
        let bars = self.series.iter().any(|s| matches!(s.shape, Mark::Bars { .. }));
        let points = self.series.iter().any(|s| matches!(s.shape, Mark::Points { .. }));
        let margin = match which {
            0 if points && !bars => 0.03,
            0 => 0.0,
            _ => 0.06,
        };
        let axis = Axis::around(low, high, scale, margin)?;
        // Bars stand on the axis.
        let on_zero = which == 1 && bars && low == 0.0;
        Ok(if on_zero { Axis { low: 0.0, ..axis } } else { axis })
    }
}

impl Series {
    /// Coordinates that the axis has to show: 0 for x, 1 for y.
    fn spanned(&self, which: usize) -> Vec<f64> {
        match (&self.shape, which) {
            (Mark::Line { x, .. } | Mark::Points { x, .. } | Mark::Band { x, .. }, 0) => x.clone(),
            (Mark::Line { y, .. } | Mark::Points { y, .. }, _) => y.clone(),
            (Mark::Band { lower, upper, .. }, _) => [lower.as_slice(), upper].concat(),
            (Mark::Bars { edges, .. }, 0) => edges.clone(),
            (Mark::Bars { heights, .. }, _) => [heights.as_slice(), &[0.0]].concat(),
            (Mark::Shades { x, .. }, 0) => x.clone(),
            (Mark::Shades { y, .. }, _) => y.clone(),
            (Mark::Pieces(pieces), 0) => pieces.iter().flatten().map(|p| p.0).collect(),
            (Mark::Pieces(pieces), _) => pieces.iter().flatten().map(|p| p.1).collect(),
            (Mark::Vertical(v), 0) | (Mark::Horizontal(v), 1) => vec![*v],
            (Mark::Vertical(_) | Mark::Horizontal(_), _) => Vec::new(),
        }
    }

    /// The same without the lower sides of bands, and without what has no place on a log axis.
    fn above(&self, which: usize) -> Vec<f64> {
        let mut values = match (&self.shape, which) {
            (Mark::Band { upper, .. }, 1) => upper.clone(),
            _ => self.spanned(which),
        };
        values.retain(|v| *v > 0.0);
        values
    }

    fn check(&self, scales: [Scale; 2]) -> Result<(), String> {
        match &self.shape {
            Mark::Line { x, y, .. } | Mark::Points { x, y } => {
                same_length("x", x, "y", y)?;
                drawable("x", x, scales[0])?;
                drawable("y", y, scales[1])
            }
            Mark::Band { x, lower, upper } => {
                same_length("x", x, "the lower side", lower)?;
                same_length("x", x, "the upper side", upper)?;
                drawable("x", x, scales[0])?;
                drawable("the lower side", lower, Scale::Linear)?;
                drawable("the upper side", upper, Scale::Linear)?;
                match lower.iter().zip(upper).position(|(l, u)| l > u) {
                    Some(i) => Err(format!(
                        "the lower side {} is above the upper side {} at number {}",
                        lower[i],
                        upper[i],
                        i + 1
                    )),
                    None => Ok(()),
                }
            }
            Mark::Bars { edges, heights } => {
                if edges.len() != heights.len() + 1 {
                    return Err(format!("{} bars need {} edges", heights.len(), heights.len() + 1));
                }
                drawable("an edge", edges, scales[0])?;
                if edges.windows(2).any(|e| e[0] >= e[1]) {
                    return Err("the edges of the bars must grow".into());
                }
                if scales[1] == Scale::Log {
                    return Err("bars stand on zero, which is not on a log axis".into());
                }
                drawable("a height", heights, Scale::Linear)
            }
            Mark::Shades { x, y, shades } => {
                if shades.len() != (x.len() - 1) * (y.len() - 1) {
                    return Err(format!("{} shades between {} and {} edges", shades.len(), x.len(), y.len()));
                }
                drawable("an edge of x", x, scales[0])?;
                drawable("an edge of y", y, scales[1])?;
                drawable("a shade", shades, Scale::Linear)
            }
            Mark::Pieces(_) => {
                drawable("x", &self.spanned(0), scales[0])?;
                drawable("y", &self.spanned(1), scales[1])
            }
            Mark::Vertical(x) => drawable("x", &[*x], scales[0]),
            Mark::Horizontal(y) => drawable("y", &[*y], scales[1]),
        }
    }
}

fn same_length(one: &str, a: &[f64], other: &str, b: &[f64]) -> Result<(), String> {
    match a.len() == b.len() {
        true => Ok(()),
        false => Err(format!("{one} has {} values but {other} has {}", a.len(), b.len())),
    }
}

/// Numbers that have a place on the axis; which of them has none is said.
fn drawable(what: &str, values: &[f64], scale: Scale) -> Result<(), String> {
    if values.is_empty() {
        return Err("there are no values".into());
    }
    if let Some(i) = values.iter().position(|v| !v.is_finite()) {
        return Err(format!("{what} is {} at number {} of {}", values[i], i + 1, values.len()));
    }
    let low = values.iter().position(|v| *v <= 0.0);
    match low {
        Some(i) if scale == Scale::Log => Err(format!(
            "{what} is {} at number {} of {}, which has no place on a log axis",
            values[i],
            i + 1,
            values.len()
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(panel: Panel) -> String {
        panel.axes().expect_err("should be refused")
    }

    fn empty() -> Panel {
        Panel::new("loss", "epoch", "nll")
    }

    #[test]
    fn what_cannot_be_drawn_is_named() {
        let x = [1.0, 2.0, 3.0];
        let line = |y: &[f64]| empty().line("train", Color::Blue, &x, y);
        assert_eq!(
            refused(line(&[1.0, f64::NAN, 2.0])),
            "series `train` of panel `loss`: y is NaN at number 2 of 3"
        );
        assert!(refused(line(&[1.0, 2.0, f64::INFINITY])).contains("y is inf at number 3"));
        assert!(refused(line(&[1.0])).contains("x has 3 values but y has 1"));
        assert!(refused(empty().line("", Color::Blue, &[], &[])).contains("there are no values"));
        assert!(
            refused(line(&[1.0, -0.5, 2.0]).log_y()).contains("y is -0.5 at number 2 of 3, which has no")
        );
        assert!(refused(empty()).contains("nothing to draw in panel `loss`"));
        let band = |lower: &[f64]| empty().band("b", Color::Blue, &x, lower, &[1.0; 3]);
        assert!(refused(band(&[0.0, f64::NAN, 0.0])).contains("the lower side is NaN at number 2"));
        assert!(refused(band(&[0.0, 0.0, 2.0])).contains("2 is above the upper side 1 at number 3"));
        assert!(refused(band(&[0.0])).contains("x has 3 values but the lower side has 1"));
        // A negative standard deviation turns a band over; one that is missing shortens it.
        assert!(refused(empty().gaussian("m", Color::Blue, &x, &x, &[1.0, -1.0, 1.0])).contains("above the"));
        assert!(refused(empty().gaussian("m", Color::Blue, &x, &x, &[1.0])).contains("has 3 values but"));
        assert!(refused(empty().bars("b", Color::Blue, &x, &[1.0])).contains("1 bars need 2 edges"));
        assert!(refused(empty().bars("b", Color::Blue, &[1.0, 1.0], &[1.0])).contains("must grow"));
        assert!(refused(empty().horizontal("h", Color::Ink, f64::NAN)).contains("y is NaN"));
        assert!(refused(line(&x).y_limits(2.0, 1.0)).contains("limits of y cannot be 2 to 1"));
        assert!(refused(line(&x).x_limits(f64::NAN, 1.0)).contains("limits of x"));
        assert!(refused(line(&x).y_limits(0.0, 1.0).log_y()).contains("limits of y"));
        assert!(refused(empty().horizontal("", Color::Ink, 1.0)).contains("place on the x axis"));
    }

    #[test]
    fn axes_show_all_there_is() {
        let panel =
            empty().line("a", Color::Blue, &[1.0, 5.0], &[0.1, 0.2]).horizontal("h", Color::Ink, -3.0);
        let [x, y] = panel.axes().unwrap();
        assert_eq!((x.low, x.high), (1.0, 5.0));
        assert!(y.low < -3.0 && y.high > 0.2);
        // A band that reaches below zero does not decide where a log axis begins.
        let band = empty().band("b", Color::Blue, &[1.0, 2.0], &[-1.0, 0.5], &[1.0, 2.0]).log_y();
        let [_, y] = band.axes().unwrap();
        assert!(y.low > 0.4 && y.low < 0.5 && y.high > 2.0, "{y:?}");
        let band = empty().band("b", Color::Blue, &[1.0, 2.0], &[1e-30, 0.5], &[1.0, 2.0]).log_y();
        let [_, y] = band.axes().unwrap();
        assert!(y.low > 0.09 && y.low < 0.5, "{y:?}");
        let bars = empty().bars("b", Color::Blue, &[0.0, 1.0, 2.0], &[3.0, 1.0]);
        let [x, y] = bars.axes().unwrap();
        assert_eq!((x.low, x.high, y.low), (0.0, 2.0, 0.0));
    }
}
