//! A view as text, for those without a browser.

use super::View;
use super::chart::sparkline;
use super::neat;
use crate::escape;
use crate::report::table;

/// Blocks of a curve.
const WIDTH: usize = 40;

impl View {
    /// Key numbers and a line of blocks a curve.
    pub(crate) fn terminal(&self) -> String {
        let plain = |s: &str| escape::name(s).into_owned();
        let mut text = format!("{}\n\n", plain(&self.title));
        let facts: Vec<Vec<String>> =
            self.facts.iter().map(|(name, value)| vec![plain(name), plain(value)]).collect();
        text += &table(&facts, &[0]);
        let curves: Vec<Vec<String>> = (self.charts.iter().filter(|c| !c.diagonal))
            .flat_map(|chart| chart.lines.iter().map(move |line| (chart, line)))
            .filter_map(|(chart, line)| {
                let last = line.y.last()?;
                let title = format!("{}, {}", chart.title, chart.x_label);
                Some(vec![plain(&title), sparkline(&line.y, WIDTH), neat(*last)])
            })
            .collect();
        if !curves.is_empty() {
            text.push('\n');
            text += &table(&curves, &[0, 1]);
        }
        for note in &self.notes {
            text += &format!("\nnote: {}\n", plain(note));
        }
        text
    }
}
