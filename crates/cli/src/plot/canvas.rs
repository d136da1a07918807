//! Strokes on a scene, in pixels from the top left corner: what figures are drawn with.

use super::style::{self, Theme};
use kuva::render::color::Color as Paint;
use kuva::render::render::{PathData, Primitive, Scene, TextAnchor};
use std::fmt::Write;

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Area {
    pub(super) fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

pub(super) struct Canvas {
    pub(super) scene: Scene,
    pub(super) theme: Theme,
    clips: usize,
}

impl Canvas {
    pub(super) fn new(width: f64, height: f64, theme: Theme) -> Self {
        let mut scene = Scene::new(width.ceil(), height.ceil());
        scene.background_color = Some(theme.ground().into());
        scene.text_color = Some(style::Color::Ink.paint(theme).to_svg_string());
        scene.font_family = Some(style::FONT.into());
        Canvas { scene, theme, clips: 0 }
    }

    pub(super) fn text(&mut self, text: &str, size: u32, x: f64, y: f64, anchor: TextAnchor) {
        if text.is_empty() {
            return;
        }
        let content = style::plain(text);
        self.scene.add(Primitive::Text {
            x,
            y,
            content,
            size,
            anchor,
            rotate: None,
            bold: false,
            color: None,
        });
    }

    pub(super) fn stroke(&mut self, points: Vec<(f64, f64)>, stroke: &Paint, stroke_width: f64) {
        self.scene.add(Primitive::PolyLine {
            points,
            stroke: stroke.clone(),
            stroke_width,
            stroke_dasharray: None,
        });
    }

    /// Dashes that go on round corners. The library's own begin again at every point of a curve, so that a
    /// curve of short pieces has no gaps.
    pub(super) fn dashes(&mut self, points: &[(f64, f64)], paint: &Paint, width: f64) {
        let (on, off) = style::DASH;
        let (mut inked, mut left) = (true, on);
        let mut dash: Vec<(f64, f64)> = points.first().copied().into_iter().collect();
        for pair in points.windows(2) {
            let ((mut x, mut y), (to_x, to_y)) = (pair[0], pair[1]);
            loop {
                let rest = (to_x - x).hypot(to_y - y);
                if rest == 0.0 {
                    break;
                }
                let step = rest.min(left);
                (x, y) = (x + (to_x - x) / rest * step, y + (to_y - y) / rest * step);
                dash.push((x, y));
                left -= step;
                if left > 0.0 {
                    break;
                }
                if inked {
                    self.stroke(std::mem::take(&mut dash), paint, width);
                }
                inked = !inked;
                left = if inked { on } else { off };
                dash = vec![(x, y)];
            }
        }
        if inked && dash.len() > 1 {
            self.stroke(dash, paint, width);
        }
    }

    /// A filled polygon without an outline.
    pub(super) fn fill(&mut self, points: &[(f64, f64)], paint: &Paint, opacity: f64) {
        let mut d = String::new();
        for (i, (x, y)) in points.iter().enumerate() {
            // Writing to a string does not fail.
            let _ = write!(d, "{}{x:.2} {y:.2} ", if i == 0 { 'M' } else { 'L' });
        }
        d.push('Z');
        self.scene.add(Primitive::Path(Box::new(PathData {
            d,
            fill: Some(paint.clone()),
            stroke: Paint::None,
            stroke_width: 0.0,
            opacity: Some(opacity),
            stroke_dasharray: None,
        })));
    }

    pub(super) fn rectangle(&mut self, area: Area, fill: Paint, opacity: f64, stroke: Option<Paint>) {
        let Area { left: x, top: y, width, height } = area;
        let stroke_width = stroke.as_ref().map(|_| 1.0);
        let opacity = Some(opacity);
        self.scene.add(Primitive::Rect { x, y, width, height, fill, stroke, stroke_width, opacity });
    }

    pub(super) fn dots(&mut self, points: Vec<(f64, f64)>, paint: &Paint) {
        let (cx, cy) = points.into_iter().unzip();
        self.scene.add(Primitive::CircleBatch {
            cx,
            cy,
            r: style::POINT_RADIUS,
            fill: paint.clone(),
            fill_opacity: Some(0.85),
            stroke: None,
            stroke_width: None,
        });
    }

    /// Draws with everything outside of the area cut off.
    pub(super) fn inside(&mut self, area: Area, draw: impl FnOnce(&mut Self)) {
        let Area { left: x, top: y, width, height } = area;
        // Counted in this picture: the same picture is the same file.
        let id = format!("area-{}", self.clips);
        self.clips += 1;
        // The library writes the reference and leaves the definition to us.
        self.scene.defs.push(format!(
            r#"<clipPath id="{id}"><rect x="{x}" y="{y}" width="{width}" height="{height}"/></clipPath>"#
        ));
        self.scene.add(Primitive::ClipStart { x, y, width, height, id });
        draw(self);
        self.scene.add(Primitive::ClipEnd);
    }
}

/// A curve that looks the same with fewer points: of those in one half pixel across, which follow each other,
/// only the first, the last, the lowest and the highest are left.
pub(super) fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() < 4000 {
        return points;
    }
    let column = |p: &(f64, f64)| (p.0 * 2.0).floor();
    let mut kept = Vec::new();
    for run in points.chunk_by(|a, b| column(a) == column(b)) {
        let by_height = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let ends = [run.first(), run.iter().min_by(by_height), run.iter().max_by(by_height), run.last()];
        kept.extend(ends.into_iter().flatten().copied());
    }
    // In runs of three or fewer there is nothing to gain.
    if kept.len() < points.len() { kept } else { points }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_ends_and_the_spikes() {
        let mut points: Vec<(f64, f64)> =
            (0..100_000).map(|i| (f64::from(i) * 0.005, f64::from(i % 7))).collect();
        (points[54_321].1, points[54_322].1) = (99.0, -99.0);
        let kept = thinned(points.clone());
        assert!(kept.len() <= 4 * 1001, "{}", kept.len());
        assert!(kept.contains(&points[54_321]) && kept.contains(&points[54_322]));
        assert_eq!((kept[0], kept[kept.len() - 1]), (points[0], points[99_999]));
        // Few points stay as they are, and so do many that are far apart.
        assert_eq!(thinned(points[..100].to_vec()), points[..100]);
        let apart: Vec<(f64, f64)> = (0..5000).map(|i| (f64::from(i), 0.0)).collect();
        assert_eq!(thinned(apart.clone()), apart);
    }

    #[test]
    fn dashes_go_on_across_short_pieces() {
        let mut canvas = Canvas::new(100.0, 10.0, Theme::Light);
        let points: Vec<(f64, f64)> = (0..=240).map(|i| (f64::from(i) * 0.25, 5.0)).collect();
        canvas.dashes(&points, &Paint::None, 1.0);
        let ends: Vec<(f64, f64)> = (canvas.scene.elements.iter())
            .map(|e| match e {
                Primitive::PolyLine { points, .. } => (points[0].0, points[points.len() - 1].0),
                _ => panic!("only strokes"),
            })
            .collect();
        assert_eq!(ends, [(0.0, 7.0), (12.0, 19.0), (24.0, 31.0), (36.0, 43.0), (48.0, 55.0)]);
    }
}
