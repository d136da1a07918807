//! Curves side by side, with their spread.

use super::{Color, Panel};

/// A curve with its name and, where it has one, its spread.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    /// Lower and upper side of what is shaded around it.
    pub(crate) band: Option<(Vec<f64>, Vec<f64>)>,
}

impl Panel {
    /// All the curves in colours of their own; after the last colour they are dashed.
    pub(crate) fn curves(mut self, lines: &[Line]) -> Self {
        // Bands below all lines.
        for (i, line) in lines.iter().enumerate() {
            if let Some((lower, upper)) = &line.band {
                self = self.band(&line.name, Color::nth(i), &line.x, lower, upper);
            }
        }
        for (i, line) in lines.iter().enumerate() {
            let dashed = (i / Color::CYCLE) % 2 == 1;
            let draw = if dashed { Panel::dashed_line } else { Panel::line };
            self = draw(self, &line.name, Color::nth(i), &line.x, &line.y);
        }
        self
    }
}
