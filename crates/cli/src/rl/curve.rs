//! Several seeds together: average returns and learning curves.

use super::Seed;
use crate::plot::{Figure, Line, Panel};
use crate::report::Outcome;
use serde::Serialize;
use std::path::Path;

/// Average returns over seeds; not a number where one of them is not.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Returns {
    /// Of the averages.
    pub mean: Option<f64>,
    /// Of the averages.
    pub std: Option<f64>,
    /// Of the averages.
    pub lowest: Option<f64>,
    /// Of the averages.
    pub(crate) highest: Option<f64>,
}

impl Returns {
    pub fn over(seeds: &[Seed]) -> Self {
        let all: Vec<f64> = seeds.iter().filter_map(|s| s.average).collect();
        let n = all.len() as f64;
        let mean = (!all.is_empty()).then(|| all.iter().sum::<f64>() / n);
        let std = mean.map(|m| (all.iter().map(|a| (a - m).powi(2)).sum::<f64>() / n).sqrt());
        // The minimum of f64 would skip what is not a number; the mean does not.
        let known = |v: f64| if mean.is_some_and(f64::is_nan) { f64::NAN } else { v };
        let lowest = all.iter().copied().reduce(f64::min).map(known);
        Returns { mean, std, lowest, highest: all.iter().copied().reduce(f64::max).map(known) }
    }
}

/// Curves of seeds put together where all of them have begun and none has ended: their mean, and their lowest and
/// highest.
pub(crate) fn over_seeds(name: &str, curves: &[&[(f64, f64)]]) -> Option<Line> {
    const PLACES: usize = 200;
    let curves: Vec<_> = curves.iter().filter(|c| !c.is_empty()).collect();
    let first = curves.iter().map(|c| c[0].0).fold(0.0, f64::max);
    let last = curves.iter().map(|c| c[c.len() - 1].0).fold(f64::INFINITY, f64::min);
    if curves.is_empty() || last <= first {
        return None;
    }
    let rounding = 1e-9 * (last - first);
    // No more places than there are numbers, or the curves become stairs.
    let places = curves.iter().map(|c| c.len() - 1).max().unwrap_or(1).clamp(1, PLACES);
    let [mut x, mut mean, mut low, mut high] = [const { Vec::new() }; 4];
    for i in 0..=places {
        let at = first + (last - first) * i as f64 / places as f64;
        let values =
            curves.iter().map(|c| c[c.partition_point(|p| p.0 <= at + rounding).saturating_sub(1)].1);
        let values: Vec<f64> = values.collect();
        x.push(at);
        mean.push(values.iter().sum::<f64>() / values.len() as f64);
        low.push(values.iter().copied().fold(f64::INFINITY, f64::min));
        high.push(values.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    }
    Some(Line { name: name.into(), x, y: mean, band: (curves.len() > 1).then_some((low, high)) })
}

/// Mean over seeds with their lowest and highest.
pub fn draw_curves(task: &str, groups: &[(&str, &[Seed])], path: &Path) -> Outcome {
    let line = |(name, seeds): &(&str, &[Seed])| {
        let curves: Vec<&[(f64, f64)]> = seeds.iter().map(|s| &s.curve[..]).collect();
        over_seeds(name, &curves)
    };
    let lines: Vec<Line> = groups.iter().filter_map(line).collect();
    if lines.is_empty() {
        return Ok(());
    }
    let label = "average return of the last 100 episodes: mean, lowest and highest seed";
    Figure::new(task).panel(Panel::new("", "steps", label).curves(&lines)).save(path)
}
