//! Curves of a run: the numbers, and the figure they make.

use crate::plot::{Color, Figure, Panel};
use serde_json::Value;

/// A curve with its name and, where it has one, its spread.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) band: Option<(Vec<f64>, Vec<f64>)>,
}

impl Line {
    /// Through the points of which both numbers are known.
    pub(super) fn new(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let finite = points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite());
        let (x, y) = finite.unzip();
        Line { name: name.into(), x, y, band: None }
    }

    /// One number of every line of a log over another.
    pub(super) fn of(name: &str, log: &[Value], x: &str, y: &str) -> Self {
        Line::new(name, log.iter().filter_map(|l| Some((l.get(x)?.as_f64()?, l.get(y)?.as_f64()?))))
    }

    pub(super) fn scaled(mut self, factor: f64) -> Self {
        self.y.iter_mut().for_each(|y| *y *= factor);
        self
    }
}

/// A set of curves over one axis.
#[derive(Default)]
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) x_label: String,
    pub(super) y_label: String,
    pub(super) lines: Vec<Line>,
    /// What would be perfect: a dashed diagonal from 0 to 1.
    pub(super) diagonal: bool,
}

/// Width and height of the axes: a page on a phone shows the picture at three quarters of its size.
const SIZE: (f64, f64) = (330.0, 210.0);

impl Chart {
    pub(super) fn new(title: &str, x_label: &str, y_label: &str, lines: Vec<Line>) -> Self {
        let [title, x_label, y_label] = [title, x_label, y_label].map(String::from);
        Chart { title, x_label, y_label, lines, diagonal: false }
    }

    /// Whether there is nothing to see: no points, or a single line that stays where it is.
    pub(super) fn is_empty(&self) -> bool {
        let still = |l: &Line| l.y.len() > 1 && l.y.iter().all(|y| *y == l.y[0]);
        self.lines.iter().all(|l| l.x.is_empty() || (still(l) && l.band.is_none() && !self.diagonal))
    }

    pub(super) fn figure(&self) -> Figure {
        let mut panel = Panel::new("", &self.x_label, &self.y_label);
        let lines = self.lines.iter().filter(|l| !l.x.is_empty());
        // One curve needs no name.
        let many = lines.clone().count() > 1 || self.diagonal;
        let name = |line: &Line| if many { line.name.clone() } else { String::new() };
        for (i, line) in lines.clone().enumerate() {
            if let Some((low, high)) = &line.band {
                panel = panel.band(&name(line), Color::nth(i), &line.x, low, high);
            }
        }
        for (i, line) in lines.enumerate() {
            panel = panel.line(&name(line), Color::nth(i), &line.x, &line.y);
            if line.x.len() <= 30 {
                panel = panel.points(&name(line), Color::nth(i), &line.x, &line.y);
            }
        }
        if self.diagonal {
            panel = panel.dashed_line("perfect", Color::Ink, &[0.0, 1.0], &[0.0, 1.0]);
            panel = panel.x_limits(0.0, 1.0).y_limits(0.0, 1.0);
        }
        Figure::new("").panel_size(SIZE.0, SIZE.1).panel(panel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_without_a_place_are_left_out() {
        let log: Vec<Value> = ["{\"e\":1,\"v\":2.5}", "{\"e\":2,\"v\":null}", "{\"e\":3}", "7"]
            .map(|l| serde_json::from_str(l).unwrap())
            .to_vec();
        let line = Line::of("v", &log, "e", "v");
        assert_eq!((line.x, line.y), (vec![1.0], vec![2.5]));
    }
}
