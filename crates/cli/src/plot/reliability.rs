//! Reliability diagram: whether a classifier is as often right as it says.

use super::{Color, Figure, Panel};
use tractable::metrics::Reliability;

/// Accuracy over confidence with the diagonal of a perfect match, and beside it how the rows spread over
/// the bins. Bins without rows have no bar.
pub(crate) fn reliability(title: &str, report: &Reliability) -> Figure {
    let heading = format!("Expected calibration error {:.4}", report.ece);
    let rows: usize = report.bins.iter().map(|b| b.count).sum();
    let edges: Vec<f64> =
        report.bins.iter().map(|b| b.low).chain(report.bins.last().map(|b| b.high)).collect();
    let shares: Vec<f64> = report.bins.iter().map(|b| b.count as f64 / rows.max(1) as f64).collect();
    let spread = Panel::new(&format!("{rows} predictions"), "confidence", "share of predictions")
        .bars("", Color::Green, &edges, &shares)
        .x_limits(0.0, 1.0);
    let accuracy = accuracy(&heading, report);
    Figure::new(title).columns(2).panel_size(380.0, 380.0).panel(accuracy).panel(spread)
}

/// The first of the two by itself, for a page.
pub(crate) fn reliability_panel(report: &Reliability) -> Figure {
    Figure::new("").panel_size(330.0, 235.0).panel(accuracy("", report))
}

fn accuracy(heading: &str, report: &Reliability) -> Panel {
    let mut accuracy = Panel::new(heading, "confidence", "accuracy").x_limits(0.0, 1.0).y_limits(0.0, 1.0);
    let filled = report.bins.iter().filter_map(|b| Some((b, b.confidence?, b.accuracy?)));
    for (bin, _, right) in filled.clone() {
        accuracy = accuracy.bars("accuracy", Color::Blue, &[bin.low, bin.high], &[right]);
    }
    accuracy = accuracy.dashed_line("perfect", Color::Ink, &[0.0, 1.0], &[0.0, 1.0]);
    let (x, y): (Vec<f64>, Vec<f64>) = filled.map(|(_, confidence, right)| (confidence, right)).unzip();
    if !x.is_empty() {
        accuracy = accuracy.points("at the mean confidence", Color::Vermillion, &x, &y);
    }
    accuracy
}
