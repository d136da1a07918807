//! Curves of a run: the numbers, and the figure they make.

use crate::plot::{Color, Line, Panel};
use serde_json::Value;

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

/// Curves over one axis; short ones with their points.
pub(super) fn panel(x_label: &str, y_label: &str, lines: &[Line]) -> Panel {
    let panel = Panel::new("", x_label, y_label).curves(lines);
    let short = lines.iter().enumerate().filter(|(_, l)| l.x.len() <= 30);
    short.fold(panel, |panel, (i, line)| panel.points(&line.name, Color::nth(i), &line.x, &line.y))
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
