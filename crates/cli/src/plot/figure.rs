//! A figure: panels in a grid under a title, drawn to SVG and PNG.

use super::axis::{Axis, Ticks};
use super::canvas::{Area, Canvas, thinned};
use super::drawing::{self, Drawing};
use super::panel::{Mark, Panel, Series};
use super::style::{self, Color, LABEL, PANEL_TITLE, SMALL, TITLE, Theme};
use crate::report::{Exit, Outcome};
use kuva::render::render::TextAnchor::{End, Middle, Start};
use std::mem::discriminant;
use std::path::Path;

/// Pixels between a text and what is next to it.
const GAP: f64 = 8.0;
/// Around the whole, and between panels.
const EDGE: f64 = 14.0;
const TICK: f64 = 5.0;
/// From an area up to what is above it: the number at the top of its axis reaches there.
const LIFT: f64 = 11.0;
/// Steps from no shade to full shade of a map.
const SHADES: f64 = 32.0;

/// Panels in a grid, row by row.
pub struct Figure {
    title: String,
    columns: usize,
    theme: Theme,
    /// Width and height of the area inside the axes of every panel.
    size: (f64, f64),
    panels: Vec<Panel>,
}

/// A panel with its axes, what is written at them, and the lines of its title and legend.
struct Prepared<'a> {
    panel: &'a Panel,
    axes: [Axis; 2],
    ticks: [Ticks; 2],
    title: Vec<String>,
    legend: Vec<Vec<Entry<'a>>>,
}

impl Figure {
    /// A figure without panels; an empty title takes no room.
    pub fn new(title: &str) -> Self {
        Figure {
            title: title.into(),
            columns: 1,
            theme: Theme::Light,
            size: (560.0, 340.0),
            panels: Vec::new(),
        }
    }

    /// How many panels stand side by side; 1 without it.
    pub(crate) fn columns(mut self, columns: usize) -> Self {
        self.columns = columns.max(1);
        self
    }

    pub(crate) fn theme(mut self, theme: Theme) -> Self {
        self.theme = theme;
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
        let panels = self.panels.iter().map(|p| self.prepare(p)).collect::<Result<Vec<_>, String>>()?;
        let (wide, high) = self.size;
        let columns = self.columns.min(panels.len());
        // Areas of a column begin at one place, as do those of a row.
        let largest = |rooms: &mut dyn Iterator<Item = f64>| rooms.fold(0.0, f64::max);
        let in_column = |c: usize| panels.iter().skip(c).step_by(columns);
        let left: Vec<f64> = (0..columns).map(|c| largest(&mut in_column(c).map(Prepared::left))).collect();
        let in_rows = || panels.chunks(columns).map(<[_]>::iter);
        let top: Vec<f64> = in_rows().map(|row| largest(&mut row.map(Prepared::top))).collect();
        let bottom: Vec<f64> = in_rows().map(|row| largest(&mut row.map(Prepared::bottom))).collect();

        // The last number at an axis stands out by half its width.
        let right = panels.iter().map(|p| widest(&p.ticks[0]) / 2.0 + GAP).fold(2.0 * EDGE, f64::max);
        let width = EDGE + left.iter().map(|l| l + wide + right).sum::<f64>();
        let title = style::wrapped(&self.title, TITLE, width - 2.0 * EDGE);
        let title_height =
            if title.is_empty() { EDGE } else { EDGE + title.len() as f64 * style::line_height(TITLE) + GAP };
        let row_height = |r: usize| top[r] + high + bottom[r] + EDGE;
        let height = title_height + (0..top.len()).map(row_height).sum::<f64>();

        let mut canvas = Canvas::new(width, height, self.theme);
        for (i, line) in title.iter().enumerate() {
            let y = EDGE + f64::from(TITLE) + i as f64 * style::line_height(TITLE);
            canvas.text(line, TITLE, width / 2.0, y, Middle);
        }
        for (i, panel) in panels.iter().enumerate() {
            let (row, column) = (i / columns, i % columns);
            let before: f64 = left[..column].iter().map(|l| l + wide + right).sum();
            let above: f64 = (0..row).map(row_height).sum();
            let area = Area {
                left: EDGE + before + left[column],
                top: title_height + above + top[row],
                width: wide,
                height: high,
            };
            panel.draw(&mut canvas, area);
        }
        Ok(canvas)
    }

    fn prepare<'a>(&self, panel: &'a Panel) -> Result<Prepared<'a>, String> {
        let axes = panel.axes()?;
        let (wide, high) = self.size;
        // As many as have room side by side.
        let crowded = |t: &Ticks| t.at.len() as f64 * (widest(t) + 12.0) > wide;
        let mut wanted = (wide / 80.0) as usize;
        let mut below = axes[0].ticks(wanted.max(1));
        while wanted > 1 && crowded(&below) {
            wanted -= 1;
            below = axes[0].ticks(wanted);
        }
        let ticks = [below, axes[1].ticks(((high / 56.0) as usize).max(1))];
        let title = style::wrapped(&panel.title, PANEL_TITLE, self.size.0);
        Ok(Prepared { panel, axes, ticks, title, legend: legend(panel, self.size.0) })
    }
}

fn widest(ticks: &Ticks) -> f64 {
    ticks.at.iter().map(|(_, text)| style::text_width(text, SMALL)).fold(0.0, f64::max)
}

/// Width of the sample before a name in the legend.
const SAMPLE: f64 = 22.0;

/// The series of one name, drawn over each other: a mean in its band is one entry.
struct Entry<'a> {
    name: String,
    series: Vec<&'a Series>,
}

impl Entry<'_> {
    fn width(&self) -> f64 {
        SAMPLE + 6.0 + style::text_width(&self.name, SMALL) + 2.0 * GAP
    }
}

/// The rows of a legend, as many entries in each as there is room for.
fn legend(panel: &Panel, room: f64) -> Vec<Vec<Entry<'_>>> {
    let mut names: Vec<&str> = Vec::new();
    for series in panel.series.iter().filter(|s| !s.name.is_empty()) {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    let (mut rows, mut used) = (Vec::<Vec<Entry>>::new(), 0.0);
    for name in names {
        let mut series: Vec<&Series> = Vec::new();
        for one in panel.series.iter().filter(|s| s.name == name) {
            let alike =
                |s: &&Series| s.color == one.color && discriminant(&s.shape) == discriminant(&one.shape);
            if !series.iter().any(alike) {
                series.push(one);
            }
        }
        let entry = Entry { name: style::fitted(name, SMALL, room - SAMPLE - 6.0 - 2.0 * GAP), series };
        used += entry.width();
        match rows.last_mut() {
            Some(row) if used <= room => row.push(entry),
            _ => {
                used = entry.width();
                rows.push(vec![entry]);
            }
        }
    }
    rows
}

impl Prepared<'_> {
    /// Room left of the area: ticks.
    fn left(&self) -> f64 {
        widest(&self.ticks[1]) + TICK + 3.0
    }

    /// The label, and what the numbers at the axis are multiplied with.
    fn y_label(&self) -> String {
        format!("{}   {}", self.panel.y_label, self.ticks[1].factor).trim().into()
    }

    /// Room above it: title, legend, and the label of y. That is not beside the axis because it is easier
    /// to read level, and because turned letters come out fat in the PNG.
    fn top(&self) -> f64 {
        let title = self.title.len() as f64 * style::line_height(PANEL_TITLE);
        let legend = self.legend.len() as f64 * style::line_height(LABEL);
        let label = if self.y_label().is_empty() { 0.0 } else { style::line_height(LABEL) };
        title + legend + label + LIFT
    }

    /// Room below it: ticks and the label of x.
    fn bottom(&self) -> f64 {
        let empty = self.panel.x_label.is_empty() && self.ticks[0].factor.is_empty();
        let label = if empty { 0.0 } else { style::line_height(LABEL) };
        TICK + style::line_height(SMALL) + label
    }

    fn draw(&self, canvas: &mut Canvas, area: Area) {
        self.draw_heading(canvas, area);
        self.draw_axes(canvas, area);
        let [x_axis, y_axis] = self.axes;
        // Far outside is cut off anyway, and numbers stay numbers.
        let at = |place: f64| place.clamp(-200.0, 200.0);
        let x_at = |x: f64| area.left + at(x_axis.place(x)) * area.width;
        let y_at = |y: f64| area.bottom() - at(y_axis.place(y)) * area.height;
        canvas.inside(area, |canvas| {
            for series in &self.panel.series {
                draw_series(canvas, area, series, &x_at, &y_at);
            }
        });
        let frame = Color::Ink.paint(canvas.theme);
        let corners = vec![(area.left, area.top), (area.left, area.bottom()), (area.right(), area.bottom())];
        canvas.stroke(corners, &frame, 1.0);
    }

    fn draw_heading(&self, canvas: &mut Canvas, area: Area) {
        let mut y = area.top - self.top();
        for line in &self.title {
            canvas.text(line, PANEL_TITLE, area.left + area.width / 2.0, y + f64::from(PANEL_TITLE), Middle);
            y += style::line_height(PANEL_TITLE);
        }
        for row in &self.legend {
            let width: f64 = row.iter().map(Entry::width).sum::<f64>() - 2.0 * GAP;
            let mut x = area.left + ((area.width - width) / 2.0).max(0.0);
            for entry in row {
                let sample = Area { left: x, top: y + 3.0, width: SAMPLE, height: 11.0 };
                entry.series.iter().for_each(|series| draw_sample(canvas, sample, series));
                canvas.text(&entry.name, SMALL, x + SAMPLE + 6.0, y + 13.0, Start);
                x += entry.width();
            }
            y += style::line_height(LABEL);
        }
    }

    fn draw_axes(&self, canvas: &mut Canvas, area: Area) {
        let (ink, grid) = (Color::Ink.paint(canvas.theme), canvas.theme.grid());
        for (value, text) in &self.ticks[0].at {
            let x = area.left + self.axes[0].place(*value) * area.width;
            canvas.stroke(vec![(x, area.top), (x, area.bottom())], &grid, 1.0);
            canvas.stroke(vec![(x, area.bottom()), (x, area.bottom() + TICK)], &ink, 1.0);
            canvas.text(text, SMALL, x, area.bottom() + TICK + f64::from(SMALL) + 1.0, Middle);
        }
        for (value, text) in &self.ticks[1].at {
            let y = area.bottom() - self.axes[1].place(*value) * area.height;
            canvas.stroke(vec![(area.left, y), (area.right(), y)], &grid, 1.0);
            canvas.stroke(vec![(area.left - TICK, y), (area.left, y)], &ink, 1.0);
            canvas.text(text, SMALL, area.left - TICK - 3.0, y + 0.36 * f64::from(SMALL), End);
        }
        let factor = &self.ticks[0].factor;
        let room = area.width - 2.0 * (style::text_width(factor, SMALL) + GAP);
        let label = style::fitted(&self.panel.x_label, LABEL, room);
        let (x, y) = (area.left + area.width / 2.0, area.bottom() + self.bottom() - 4.0);
        canvas.text(&label, LABEL, x, y, Middle);
        canvas.text(factor, SMALL, area.right(), y, End);
        let label = style::fitted(&self.y_label(), LABEL, area.width + self.left());
        canvas.text(&label, LABEL, area.left - self.left(), area.top - LIFT, Start);
    }
}

fn draw_series(
    canvas: &mut Canvas,
    area: Area,
    series: &Series,
    x_at: &dyn Fn(f64) -> f64,
    y_at: &dyn Fn(f64) -> f64,
) {
    let paint = series.color.paint(canvas.theme);
    let curve = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x_at(*x), y_at(*y))).collect::<Vec<_>>();
    match &series.shape {
        // One point makes no line.
        Mark::Line { x, y, .. } if x.len() == 1 => canvas.dots(curve(x, y), &paint),
        Mark::Line { x, y, dashed: false } => canvas.stroke(thinned(curve(x, y)), &paint, style::LINE_WIDTH),
        Mark::Line { x, y, dashed: true } => canvas.dashes(&thinned(curve(x, y)), &paint, style::LINE_WIDTH),
        Mark::Band { x, lower, upper } => {
            let mut outline = thinned(curve(x, upper));
            // NaN on a log axis is what lies below it.
            let below = |(x, y): (f64, f64)| (x, if y.is_nan() { area.bottom() + 10.0 } else { y });
            outline.extend(thinned(curve(x, lower)).into_iter().rev());
            let outline: Vec<_> = outline.into_iter().map(below).collect();
            canvas.fill(&outline, &paint, style::BAND_OPACITY);
        }
        Mark::Points { x, y } => canvas.dots(curve(x, y), &paint),
        Mark::Bars { edges, heights } => {
            for (edge, height) in edges.windows(2).zip(heights) {
                let (left, right) = (x_at(edge[0]), x_at(edge[1]));
                let (top, bottom) = (y_at(height.max(0.0)), y_at(height.min(0.0)));
                let bar = Area { left, top, width: right - left, height: bottom - top };
                canvas.rectangle(bar, paint.clone(), 0.55, Some(paint.clone()));
            }
        }
        Mark::Shades { x, y, shades } => {
            for (row, shades) in shades.chunks_exact(x.len() - 1).enumerate() {
                // Whole pixels, lest seams show; neighbours of one shade are one rectangle.
                let (bottom, top) = (y_at(y[row]).round(), y_at(y[row + 1]).round());
                let step = |shade: &f64| (shade.clamp(0.0, 1.0) * SHADES).round();
                let mut from = 0;
                for run in shades.chunk_by(|a, b| step(a) == step(b)) {
                    let (left, right) = (x_at(x[from]).round(), x_at(x[from + run.len()]).round());
                    from += run.len();
                    if step(&run[0]) > 0.0 {
                        let cell = Area { left, top, width: right - left, height: bottom - top };
                        canvas.rectangle(cell, paint.clone(), step(&run[0]) / SHADES, None);
                    }
                }
            }
        }
        Mark::Pieces(pieces) => {
            for [(x, y), (to_x, to_y)] in pieces {
                let ends = vec![(x_at(*x), y_at(*y)), (x_at(*to_x), y_at(*to_y))];
                canvas.stroke(ends, &paint, style::LINE_WIDTH);
            }
        }
        Mark::Vertical(x) => {
            let ends = [(x_at(*x), area.top), (x_at(*x), area.bottom())];
            canvas.dashes(&ends, &paint, style::MARKER_WIDTH);
        }
        Mark::Horizontal(y) => {
            let ends = [(area.left, y_at(*y)), (area.right(), y_at(*y))];
            canvas.dashes(&ends, &paint, style::MARKER_WIDTH);
        }
    }
}

/// The series as it looks, in the legend.
fn draw_sample(canvas: &mut Canvas, area: Area, series: &Series) {
    let paint = series.color.paint(canvas.theme);
    let middle = area.top + area.height / 2.0;
    let ends = [(area.left, middle), (area.right(), middle)];
    match series.shape {
        Mark::Line { dashed: false, .. } | Mark::Pieces(_) => {
            canvas.stroke(ends.into(), &paint, style::LINE_WIDTH);
        }
        Mark::Shades { .. } => canvas.rectangle(area, paint, 0.8, None),
        Mark::Line { dashed: true, .. } => canvas.dashes(&ends, &paint, style::LINE_WIDTH),
        Mark::Vertical(_) | Mark::Horizontal(_) => canvas.dashes(&ends, &paint, style::MARKER_WIDTH),
        Mark::Band { .. } => canvas.rectangle(area, paint, style::BAND_OPACITY, None),
        Mark::Bars { .. } => canvas.rectangle(area, paint.clone(), 0.55, Some(paint)),
        Mark::Points { .. } => canvas.dots(vec![(area.left + area.width / 2.0, middle)], &paint),
    }
}
