//! One set of axes and what is drawn on it: a description, whose numbers are checked when the picture is made.

use super::style::Color;
use kuva::render::render_utils::compute_tick_step;

/// How the numbers of a series are drawn.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mark {
    Line,
    Dashed,
    /// From `y` to `z`.
    Band,
    Points,
    /// Bar `i` stands on `x[i]..x[i + 1]`, from zero to `y[i]`.
    Bars,
    /// Shades `z` from 0 to 1 of the cells between the edges `x` and `y`, row after row from below.
    Shades,
    /// Where a function with the values `z` on the grid of `x` and `y`, row after row from below, has this value.
    Level(f64),
    Vertical,
    Horizontal,
}

pub(super) struct Series {
    /// In the legend; empty: not in the legend.
    pub(super) name: String,
    pub(super) color: Color,
    pub(super) mark: Mark,
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) z: Vec<f64>,
}

/// One set of axes with its series. Later series are drawn over earlier ones; a series with an empty name is
/// not in the legend, and series of one name share an entry.
pub struct Panel {
    pub(super) title: String,
    pub(super) x_label: String,
    pub(super) y_label: String,
    pub(super) series: Vec<Series>,
    log: [bool; 2],
    limits: [Option<(f64, f64)>; 2],
}

/// From `low` to `high`, `low < high`; on a log scale of the logarithms to base ten.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) log: bool,
}

impl Axis {
    /// An axis that shows all of `low..=high` with `margin` (a share of its length) on either side.
    ///
    /// # Errors
    /// If the difference is too large for a number.
    fn around(low: f64, high: f64, log: bool, margin: f64) -> Result<Self, String> {
        let (mut a, mut b) = if log { (low.log10(), high.log10()) } else { (low, high) };
        // A constant, up to rounding: some room on either side of it.
        let size = a.abs().max(b.abs());
        if b - a <= 1e-9 * size || b == a {
            let room = match log {
                false if size > 0.0 => 0.1 * size,
                false => 1.0,
                true => 0.5,
            };
            (a, b) = (a - room, b + room);
        }
        let room = (b - a) * margin;
        let axis = Axis { low: a - room, high: b + room, log };
        match (axis.high - axis.low).is_finite() {
            true => Ok(axis),
            false => Err(format!("the values from {low:e} to {high:e} do not fit on an axis")),
        }
    }

    /// Where a number lies. Far outside, where all is cut off, it is moved nearer.
    pub(super) fn at(&self, value: f64) -> f64 {
        let span = self.high - self.low;
        let at = if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        at.clamp(self.low - 9.0 * span, self.high + 9.0 * span)
    }

    /// About how far it is from one written number to the next.
    pub(super) fn step(&self, wanted: f64) -> f64 {
        let step = (self.high - self.low) / wanted;
        // Powers of ten, where there are some.
        if self.log && step > 0.3 {
            step.ceil()
        } else {
            compute_tick_step(self.low, self.high, wanted as usize)
        }
    }

    /// The number that lies there, in as many digits as tell it from its neighbours.
    pub(super) fn text(&self, at: f64, step: f64) -> String {
        let (value, step, size) = match self.log {
            true => (10f64.powf(at), step * 10f64.powf(at), 10f64.powf(at)),
            false => (at, step, self.low.abs().max(self.high.abs())),
        };
        if value.abs() < 1e-6 * step {
            return "0".into();
        }
        let power = if (1e-4..1e6).contains(&size) { 0 } else { size.log10().floor() as i32 };
        let digits = (1.0 - (step.log10() - f64::from(power)).floor()).clamp(0.0, 17.0) as usize;
        let text = format!("{:.digits$}", value / 10f64.powi(power)).replace('-', "−");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        if power == 0 { text.into() } else { format!("{text}e{power}") }
    }
}

impl Panel {
    /// Axes without series. Labels carry the units, as in `time [s]`; an empty title takes no room.
    pub fn new(title: &str, x_label: &str, y_label: &str) -> Self {
        let [title, x_label, y_label] = [title, x_label, y_label].map(String::from);
        Panel { title, x_label, y_label, series: Vec::new(), log: [false; 2], limits: [None; 2] }
    }

    fn with(mut self, name: &str, color: Color, mark: Mark, x: &[f64], y: &[f64], z: &[f64]) -> Self {
        let [x, y, z] = [x, y, z].map(<[f64]>::to_vec);
        self.series.push(Series { name: name.into(), color, mark, x, y, z });
        self
    }

    pub fn line(self, name: &str, color: Color, x: &[f64], y: &[f64]) -> Self {
        self.with(name, color, Mark::Line, x, y, &[])
    }

    pub fn dashed_line(self, name: &str, color: Color, x: &[f64], y: &[f64]) -> Self {
        self.with(name, color, Mark::Dashed, x, y, &[])
    }

    /// The shaded region between two curves. On a log axis, what is far below all
    /// the rest or not above zero is cut off.
    pub fn band(self, name: &str, color: Color, x: &[f64], lower: &[f64], upper: &[f64]) -> Self {
        self.with(name, color, Mark::Band, x, lower, upper)
    }

    /// A mean as a line, and plus and minus two standard deviations shaded around it.
    pub fn gaussian(self, name: &str, color: Color, x: &[f64], mean: &[f64], std: &[f64]) -> Self {
        // Lengths that differ are left different, for the check to find.
        let at = |factor: f64| mean.iter().zip(std).map(|(m, s)| m + factor * s).collect::<Vec<f64>>();
        let name = if name.is_empty() { String::new() } else { format!("{name} ± 2 std") };
        self.band(&name, color, x, &at(-2.0), &at(2.0)).line(&name, color, x, mean)
    }

    pub fn points(self, name: &str, color: Color, x: &[f64], y: &[f64]) -> Self {
        self.with(name, color, Mark::Points, x, y, &[])
    }

    /// Bars from zero; `edges` has one number more than `heights`, growing.
    pub(crate) fn bars(self, name: &str, color: Color, edges: &[f64], heights: &[f64]) -> Self {
        self.with(name, color, Mark::Bars, edges, heights, &[])
    }

    /// A map: cells between the even edges `x` and `y`, shaded from 0 to 1, row after row from below.
    pub(crate) fn shades(self, name: &str, color: Color, x: &[f64], y: &[f64], shades: &[f64]) -> Self {
        self.with(name, color, Mark::Shades, x, y, shades)
    }

    /// Where a function on a grid, row after row from below, has a value; nothing where it has not.
    pub(crate) fn level(
        self,
        name: &str,
        color: Color,
        [x, y]: [&[f64]; 2],
        values: &[f64],
        level: f64,
    ) -> Self {
        let above = |v: &f64| *v > level;
        match values.iter().any(above) && !values.iter().all(above) {
            true => self.with(name, color, Mark::Level(level), x, y, values),
            false => self,
        }
    }

    /// A dashed line across the panel at `x`.
    pub(crate) fn vertical(self, name: &str, color: Color, x: f64) -> Self {
        self.with(name, color, Mark::Vertical, &[x], &[], &[])
    }

    /// A dashed line across the panel at `y`.
    pub(crate) fn horizontal(self, name: &str, color: Color, y: f64) -> Self {
        self.with(name, color, Mark::Horizontal, &[], &[y], &[])
    }

    pub fn log_x(mut self) -> Self {
        self.log[0] = true;
        self
    }

    pub fn log_y(mut self) -> Self {
        self.log[1] = true;
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
            series.check(self.log).map_err(|why| match (&series.name[..], &self.title[..]) {
                ("", title) => format!("panel `{title}`: {why}"),
                (name, "") => format!("series `{name}`: {why}"),
                (name, title) => format!("series `{name}` of panel `{title}`: {why}"),
            })?;
        }
        let axis = |which: usize| self.axis(which).map_err(|why| format!("panel `{}`: {why}", self.title));
        Ok([axis(0)?, axis(1)?])
    }

    fn axis(&self, which: usize) -> Result<Axis, String> {
        let (log, name) = (self.log[which], ["x", "y"][which]);
        if let Some((low, high)) = self.limits[which] {
            let whole = low < high && (high - low).is_finite() && (!log || low > 0.0);
            return match whole {
                true => Axis::around(low, high, log, 0.0),
                false => Err(format!("the limits of {name} cannot be {low} to {high}")),
            };
        }
        let positive = |v: &f64| !log || *v > 0.0;
        // The lower side of a band may reach zero or come close to it: a log axis then ends a decade below
        // all the rest.
        let sure = self.series.iter().flat_map(|s| s.shown(which, false)).filter(positive);
        let floor = if log { sure.fold(f64::INFINITY, f64::min) / 10.0 } else { f64::NEG_INFINITY };
        let all =
            self.series.iter().flat_map(|s| s.shown(which, true)).filter(|v| positive(v) && *v >= floor);
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            return Err(format!("nothing there has a place on the {name} axis"));
        }
        let any = |mark: Mark| self.series.iter().any(|s| s.mark == mark);
        let margin = match which {
            0 if any(Mark::Points) && !any(Mark::Bars) => 0.03,
            0 => 0.0,
            _ => 0.06,
        };
        let axis = Axis::around(low, high, log, margin)?;
        // Bars stand on the axis.
        let on_zero = which == 1 && any(Mark::Bars) && low == 0.0;
        Ok(if on_zero { Axis { low: 0.0, ..axis } } else { axis })
    }
}

impl Series {
    /// Coordinates that the axis has to show, 0 for x and 1 for y; with or without the lower sides of bands.
    fn shown(&self, which: usize, lower: bool) -> Vec<f64> {
        match (self.mark, which) {
            (_, 0) => self.x.clone(),
            (Mark::Band, _) if lower => [&self.y[..], &self.z].concat(),
            (Mark::Band, _) => self.z.clone(),
            (Mark::Bars, _) => [&self.y[..], &[0.0]].concat(),
            _ => self.y.clone(),
        }
    }

    fn check(&self, log: [bool; 2]) -> Result<(), String> {
        let [x, y, z] = [&self.x, &self.y, &self.z].map(Vec::len);
        let names = match self.mark {
            Mark::Band => ["x", "the lower side", "the upper side"],
            Mark::Bars => ["an edge", "a height", ""],
            Mark::Shades => ["an edge of x", "an edge of y", "a shade"],
            _ => ["x", "y", "a value"],
        };
        let alike = |(name, n): (&str, usize)| match n == x {
            true => Ok(()),
            false => Err(format!("x has {x} values but {name} has {n}")),
        };
        let fits = match self.mark {
            Mark::Line | Mark::Dashed | Mark::Points => alike((names[1], y)),
            Mark::Band => alike((names[1], y)).and_then(|()| alike((names[2], z))),
            Mark::Bars if x != y + 1 => Err(format!("{y} bars need {} edges", y + 1)),
            Mark::Bars if log[1] => Err("bars stand on zero, which is not on a log axis".into()),
            Mark::Shades if z != (x - 1) * (y - 1) => Err(format!("{z} shades between {x} and {y} edges")),
            Mark::Level(_) if z != x * y => Err(format!("{z} values on a grid of {x} by {y}")),
            _ => Ok(()),
        };
        fits?;
        if x + y == 0 {
            return Err("there are no values".into());
        }
        // Where a band goes below zero it is cut off.
        let logs = [log[0], log[1] && self.mark != Mark::Band, false];
        for ((name, values), log) in names.iter().zip([&self.x, &self.y, &self.z]).zip(logs) {
            if let Some(i) = values.iter().position(|v| !v.is_finite() || (log && *v <= 0.0)) {
                let of = format!("{name} is {} at number {} of {}", values[i], i + 1, values.len());
                return Err(if values[i].is_finite() {
                    of + ", which has no place on a log axis"
                } else {
                    of
                });
            }
        }
        match self.y.iter().zip(&self.z).position(|(lower, upper)| lower > upper) {
            Some(i) if self.mark == Mark::Band => Err(format!(
                "the lower side {} is above the upper side {} at number {}",
                self.y[i],
                self.z[i],
                i + 1
            )),
            _ if self.mark == Mark::Bars && self.x.windows(2).any(|e| e[0] >= e[1]) => {
                Err("the edges of the bars must grow".into())
            }
            _ => Ok(()),
        }
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
        let ends =
            |band: Panel| band.log_y().axes().map(|[_, y]| (10f64.powf(y.low), 10f64.powf(y.high))).unwrap();
        let (low, high) = ends(empty().band("b", Color::Blue, &[1.0, 2.0], &[-1.0, 0.5], &[1.0, 2.0]));
        assert!(low > 0.4 && low < 0.5 && high > 2.0, "{low} {high}");
        let (low, _) = ends(empty().band("b", Color::Blue, &[1.0, 2.0], &[1e-30, 0.5], &[1.0, 2.0]));
        assert!(low > 0.09 && low < 0.5, "{low}");
        let bars = empty().bars("b", Color::Blue, &[0.0, 1.0, 2.0], &[3.0, 1.0]);
        let [x, y] = bars.axes().unwrap();
        assert_eq!((x.low, x.high, y.low), (0.0, 2.0, 0.0));
    }

    #[test]
    fn written_numbers_are_short() {
        let said = |low: f64, high: f64, log: bool, at: &[f64]| -> Vec<String> {
            let axis = Axis { low, high, log };
            at.iter().map(|v| axis.text(*v, axis.step(5.0))).collect()
        };
        assert_eq!(said(-2.0, 2.0, false, &[-2.0, 0.0, 1.0]), ["−2", "0", "1"]);
        assert_eq!(said(0.0, 1.0, false, &[0.25, 0.1 + 0.2]), ["0.25", "0.3"]);
        assert_eq!(said(0.0, 2e6, false, &[5e5, 2e6]), ["0.5e6", "2e6"]);
        assert_eq!(said(-3e-7, 0.0, false, &[-3e-7, 0.0]), ["−3e-7", "0"]);
        assert_eq!(said(-3.0, 1.0, true, &[-3.0, -1.0, 1.0]), ["0.001", "0.1", "10"]);
        assert_eq!(said(-7.0, 8.0, true, &[-7.0, 8.0]), ["1e-7", "1e8"]);
    }

    #[test]
    fn every_range_gets_an_axis_with_numbers_on_it() {
        let numbers = [-1e300, -7.3, -1e-12, 0.0, 1e-250, 3.0, 3.0 + 1e-15, 1e9, 1e9 + 1.0, 1e250];
        let ranges = numbers.iter().flat_map(|low| numbers.iter().map(move |high| (*low, *high)));
        for ((low, high), log) in ranges.filter(|(a, b)| a <= b).flat_map(|r| [(r, false), (r, true)]) {
            if log && low <= 0.0 {
                continue;
            }
            let axis = Axis::around(low, high, log, 0.05).unwrap();
            let step = axis.step(5.0);
            let at = kuva::render::render_utils::generate_ticks_with_step(axis.low, axis.high, step);
            assert!((1..=25).contains(&at.len()), "{low:e}..{high:e} {log}: {at:?}");
            let texts: std::collections::BTreeSet<String> = at.iter().map(|v| axis.text(*v, step)).collect();
            assert_eq!(texts.len(), at.len(), "{low:e}..{high:e} {log}: {texts:?}");
            for v in [low, high] {
                assert!((axis.low..=axis.high).contains(&axis.at(v)), "{low:e}..{high:e}");
            }
        }
        assert!(Axis::around(-1.7e308, 1.7e308, false, 0.05).is_err());
    }
}
