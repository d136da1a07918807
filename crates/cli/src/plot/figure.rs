//! A figure: panels in a grid under a title, drawn to SVG and PNG.

use super::canvas::Canvas;
use super::drawing::{self, Drawing};
use super::panel::{Axis, Mark, Panel, Series};
use super::style::{self, Color, LABEL, PANEL_TITLE, SMALL};
use crate::report::{Exit, Outcome};
use kuva::Theme;
use kuva::plot::legend::{LegendEntry, LegendPosition, LegendShape};
use kuva::plot::{BandPlot, ColorMap, ContourPlot, Heatmap, LinePlot, LineStyle, ScatterPlot};
use kuva::render::annotations::ReferenceLine;
use kuva::render::layout::{ComputedLayout, Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::render::{Primitive, TextAnchor, render_multiple};
use std::path::Path;
use std::sync::Arc;

/// Around the whole, and between panels.
const EDGE: f64 = 14.0;

/// Panels in a grid, row by row.
pub struct Figure {
    title: String,
    columns: usize,
    /// Width and height of the area inside the axes of every panel.
    size: (f64, f64),
    panels: Vec<Panel>,
}

impl Figure {
    /// A figure without panels; an empty title takes no room.
    pub fn new(title: &str) -> Self {
        let size = (560.0, 340.0);
        Figure { title: title.into(), columns: 1, size, panels: Vec::new() }
    }

    /// How many panels stand side by side; 1 without it.
    pub(crate) fn columns(mut self, columns: usize) -> Self {
        self.columns = columns.max(1);
        self
    }

    /// Width and height of the area inside the axes of every panel, in pixels of the SVG.
    pub(crate) fn panel_size(mut self, width: f64, height: f64) -> Self {
        self.size = (width, height);
        self
    }

    pub fn panel(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// Writes `path` with `.svg` and with `.png` (an ending of these two in `path` is left out). Either both
    /// files are new and whole, or an error says why not.
    pub fn save(&self, path: &Path) -> Outcome {
        let drawing = self.draw().map_err(|why| Exit::Error(format!("cannot draw the figure: {why}")))?;
        drawing.save(path)
    }

    /// The picture by itself, for a page.
    pub(crate) fn svg(&self) -> Outcome<String> {
        let canvas = self.render().map_err(|why| Exit::Error(format!("cannot draw the figure: {why}")))?;
        Ok(drawing::svg(&canvas))
    }

    pub(super) fn draw(&self) -> Result<Drawing, String> {
        Drawing::of(&self.render()?)
    }

    /// # Errors
    /// If a number has no place on its axis; the message says which.
    fn render(&self) -> Result<Canvas, String> {
        if self.panels.is_empty() {
            return Err(format!("figure `{}` has no panels", self.title));
        }
        let axes = self.panels.iter().map(Panel::axes).collect::<Result<Vec<_>, _>>()?;
        let mut layouts: Vec<Layout> =
            self.panels.iter().zip(&axes).map(|(p, a)| self.layout(p, a)).collect();
        // The areas of all panels are alike, and stand below each other.
        let margins: Vec<ComputedLayout> = layouts.iter().map(ComputedLayout::from_layout).collect();
        let most = |of: fn(&ComputedLayout) -> f64| margins.iter().map(of).fold(0.0, f64::max);
        let label = style::line_height(LABEL);
        // Without the room for a turned label.
        let (left, right) = (most(|m| m.margin_left) - label, most(|m| m.margin_right));
        let labelled = self.panels.iter().any(|p| !p.y_label.is_empty());
        let top = most(|m| m.margin_top) + if labelled { label } else { 0.0 };
        for layout in &mut layouts {
            (layout.force_margin_left, layout.force_margin_right) = (Some(left), Some(right));
            layout.force_margin_top = Some(top);
            layout.width = Some(left + self.size.0 + right);
            layout.height = Some(top + self.size.1 + ComputedLayout::from_layout(layout).margin_bottom);
        }

        let width = left + self.size.0 + right + EDGE;
        let columns = self.columns.min(layouts.len());
        let mut canvas = Canvas::new(columns as f64 * width + EDGE, 0.0);
        let mut y = canvas.title(&self.title, EDGE);
        let mut all = self.panels.iter().zip(axes).zip(layouts).peekable();
        while all.peek().is_some() {
            let mut high = 0.0f64;
            for (column, ((panel, axes), layout)) in all.by_ref().take(columns).enumerate() {
                let x = EDGE + column as f64 * width;
                // Level, above its axis: turned letters come out fat in the PNG.
                let label = style::fitted(&panel.y_label, LABEL, width - EDGE);
                canvas.text(&label, LABEL, x, y + top - 11.0, TextAnchor::Start);
                let plots = panel.series.iter().flat_map(|s| s.plots(&axes, self)).collect();
                // The library leaves more room below a legend than it needs.
                let blank = if layout.legend_entries.is_some() { 18.0 } else { 0.0 };
                let scene = render_multiple(plots, layout);
                high = high.max(scene.height - blank);
                let transform = Some(format!("translate({x},{y})"));
                canvas.scene.add(Primitive::GroupStart { transform, title: None, extra_attrs: None });
                canvas.scene.defs.extend(scene.defs);
                canvas.scene.elements.extend(scene.elements);
                canvas.scene.add(Primitive::GroupEnd);
            }
            y += high + EDGE;
        }
        canvas.scene.height = y.ceil();
        Ok(canvas)
    }

    /// Axes, texts and legend of a panel.
    fn layout(&self, panel: &Panel, [x, y]: &[Axis; 2]) -> Layout {
        let (wide, high) = self.size;
        let (x_step, y_step) = (x.step((wide / 80.0).max(2.0)), y.step((high / 56.0).max(2.0)));
        let format = |axis: Axis, step: f64| TickFormat::Custom(Arc::new(move |at| axis.text(at, step)));
        let mut layout = Layout::new((x.low, x.high), (y.low, y.high))
            .with_x_axis_min(x.low)
            .with_x_axis_max(x.high)
            .with_y_axis_min(y.low)
            .with_y_axis_max(y.high)
            .with_x_tick_step(x_step)
            .with_y_tick_step(y_step)
            .with_x_tick_format(format(*x, x_step))
            .with_y_tick_format(format(*y, y_step))
            .with_theme(colors())
            .with_font_family(style::FONT)
            .with_title_size(PANEL_TITLE)
            .with_label_size(LABEL)
            .with_tick_size(SMALL)
            .with_body_size(SMALL)
            .with_width(wide + 80.0);
        let said = |text: &str, size: u32| {
            Some(style::plain(&style::fitted(text, size, wide))).filter(|t| !t.is_empty())
        };
        layout.title = said(&panel.title, PANEL_TITLE);
        layout.x_label = said(&panel.x_label, LABEL);
        let entries = legend(panel, wide);
        if !entries.is_empty() {
            layout = layout.with_legend_entries(entries);
            layout = layout.with_legend_position(LegendPosition::OutsideBottomColumns).with_legend_box(false);
        }
        for series in &panel.series {
            let line = match series.mark {
                Mark::Vertical => ReferenceLine::vertical(x.at(series.x[0])),
                Mark::Horizontal => ReferenceLine::horizontal(y.at(series.y[0])),
                _ => continue,
            };
            let line = line.with_color(series.color.css()).with_stroke_width(style::MARKER_WIDTH);
            layout = layout.with_reference_line(line.with_dasharray(style::DASHES));
        }
        layout
    }
}

fn colors() -> Theme {
    let [background, grid_color, axis_color, tick_color, text_color] =
        [style::GROUND, style::GRID, Color::Ink.css(), Color::Ink.css(), Color::Ink.css()].map(String::from);
    Theme { background, grid_color, axis_color, tick_color, text_color, ..Theme::default() }
}

/// One entry a name: the series of one name are drawn over each other, a mean in its band.
fn legend(panel: &Panel, room: f64) -> Vec<LegendEntry> {
    let mut entries: Vec<(&str, LegendEntry)> = Vec::new();
    for series in panel.series.iter().filter(|s| !s.name.is_empty()) {
        let (shape, dashed) = match series.mark {
            Mark::Line | Mark::Level(_) => (LegendShape::Line, false),
            Mark::Dashed | Mark::Vertical | Mark::Horizontal => (LegendShape::Line, true),
            Mark::Points => (LegendShape::Circle, false),
            Mark::Band | Mark::Bars | Mark::Shades => (LegendShape::Rect, false),
        };
        let label = style::plain(&style::fitted(&series.name, SMALL, room - 40.0));
        let color = series.color.css().into();
        let dasharray = dashed.then(|| "3 5".into());
        let entry = LegendEntry { label, color, shape, dasharray };
        match entries.iter_mut().find(|(name, _)| *name == series.name) {
            None => entries.push((&series.name, entry)),
            // The line says more than its band.
            Some((_, known)) if matches!(known.shape, LegendShape::Rect) => *known = entry,
            Some(_) => {}
        }
    }
    entries.into_iter().map(|(_, entry)| entry).collect()
}

impl Series {
    /// What draws it; lines across the panel belong to the axes.
    fn plots(&self, [x, y]: &[Axis; 2], figure: &Figure) -> Vec<Plot> {
        let (wide, high) = figure.size;
        let color = self.color.css();
        let scale = (wide / (x.high - x.low), high / (y.high - y.low));
        let kept = kept(&self.x, &self.y, |v| x.at(v) * scale.0);
        let near = |values: &[f64], axis: &Axis| kept.iter().map(|&i| axis.at(values[i])).collect::<Vec<_>>();
        let points = || near(&self.x, x).into_iter().zip(near(&self.y, y)).collect::<Vec<_>>();
        let rows = |width: usize| self.z.chunks_exact(width).map(<[f64]>::to_vec).collect::<Vec<_>>();
        let line = |points: Vec<(f64, f64)>| {
            LinePlot::new().with_data(points).with_color(color).with_stroke_width(style::LINE_WIDTH)
        };
        vec![match self.mark {
            // One point makes no line.
            Mark::Line if self.x.len() > 1 => line(points()).into(),
            Mark::Dashed if self.x.len() > 1 => {
                let dashes = LineStyle::Custom(style::DASHES.into());
                line(even_steps(&points(), scale, style::DASH)).with_line_style(dashes).into()
            }
            Mark::Line | Mark::Dashed | Mark::Points => {
                let dots = ScatterPlot::new().with_data(points()).with_color(color);
                dots.with_size(style::POINT_RADIUS).with_marker_opacity(0.85).into()
            }
            Mark::Band => BandPlot::new(near(&self.x, x), near(&self.y, y), near(&self.z, y))
                .with_color(color)
                .with_opacity(style::BAND_OPACITY)
                .into(),
            Mark::Bars => {
                let bar = |(edge, top): (&[f64], &f64)| {
                    let outline = [(edge[0], 0.0), (edge[0], *top), (edge[1], *top), (edge[1], 0.0)];
                    let bar = line(outline.to_vec()).with_stroke_width(1.0).with_fill();
                    bar.with_fill_opacity(0.55).into()
                };
                return self.x.windows(2).zip(&self.y).map(bar).collect();
            }
            Mark::Shades => {
                let (own, most) = (self.color, self.z.iter().copied().fold(0.0, f64::max));
                let shade = ColorMap::Custom(Arc::new(move |share| own.mixed(share * most)));
                let ends = |v: &[f64]| (v[0], v[v.len() - 1]);
                let ((left, right), (bottom, top)) = (ends(&self.x), ends(&self.y));
                let map = Heatmap::new().with_data(rows(self.x.len() - 1)).with_color_map(shade);
                map.with_x_range(left, right).with_y_range(bottom, top).into()
            }
            Mark::Level(level) => {
                let grid = ContourPlot::new().with_grid(rows(self.x.len()), self.x.clone(), self.y.clone());
                let line = grid.with_levels(&[level]).with_line_color(color);
                line.with_line_width(style::LINE_WIDTH).into()
            }
            Mark::Vertical | Mark::Horizontal => return Vec::new(),
        }]
    }
}

/// Points on a curve so many pixels apart: in the PNG a dash and its gap begin again at every point.
fn even_steps(points: &[(f64, f64)], scale: (f64, f64), step: f64) -> Vec<(f64, f64)> {
    let (mut even, mut left) = (vec![points[0]], step);
    for pair in points.windows(2) {
        let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
        let length = ((to_x - x) * scale.0).hypot((to_y - y) * scale.1);
        let mut gone = left;
        while gone <= length {
            let share = gone / length;
            even.push((x + share * (to_x - x), y + share * (to_y - y)));
            gone += step;
        }
        left = gone - length;
    }
    even.extend(points.last());
    even
}

/// Which points of a curve are enough for it to look the same: of those in one half pixel across, which follow each
/// other, the first, the last, the lowest and the highest.
fn kept(x: &[f64], y: &[f64], at: impl Fn(f64) -> f64) -> Vec<usize> {
    let all: Vec<usize> = (0..x.len()).collect();
    if x.len() < 4000 || x.len() != y.len() {
        return all;
    }
    let column = |i: &usize| (at(x[*i]) * 2.0).floor();
    let mut kept = Vec::new();
    for run in all.chunk_by(|a, b| column(a) == column(b)) {
        let by_height = |a: &&usize, b: &&usize| y[**a].total_cmp(&y[**b]);
        let ends = [run.first(), run.iter().min_by(by_height), run.iter().max_by(by_height), run.last()];
        let mut ends: Vec<usize> = ends.into_iter().flatten().copied().collect();
        ends.sort_unstable();
        ends.dedup();
        kept.append(&mut ends);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_ends_and_the_spikes() {
        let x: Vec<f64> = (0..100_000).map(|i| f64::from(i) * 0.005).collect();
        let mut y: Vec<f64> = (0..100_000).map(|i| f64::from(i % 7)).collect();
        (y[54_321], y[54_322]) = (99.0, -99.0);
        let thin = kept(&x, &y, |x| x);
        assert!(thin.len() <= 4 * 1001 && thin.is_sorted(), "{}", thin.len());
        assert!(thin.contains(&54_321) && thin.contains(&54_322));
        assert_eq!((thin[0], thin[thin.len() - 1]), (0, 99_999));
        // Few points stay as they are, and so do many that are far apart.
        assert_eq!(kept(&x[..100], &y[..100], |x| x).len(), 100);
        assert_eq!(kept(&x[..5000], &y[..5000], |x| x * 1e6).len(), 5000);
    }

    #[test]
    fn dashes_are_alike_across_short_pieces() {
        let points: Vec<(f64, f64)> = (0..=24).map(|i| (f64::from(i) * 0.25, 5.0)).collect();
        let x: Vec<f64> = even_steps(&points, (10.0, 1.0), 12.0).iter().map(|p| p.0).collect();
        assert_eq!(x.len(), 7);
        assert!(x.windows(2).all(|p| (p[1] - p[0] - 1.2).abs() < 1e-9 || p[1] == 6.0), "{x:?}");
    }
}
