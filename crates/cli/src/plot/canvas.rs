//! Texts, strokes and rectangles on a scene, in pixels from the top left corner.

use super::style::{self, Color, TITLE};
use kuva::render::color::Color as Paint;
use kuva::render::render::{Primitive, Scene, TextAnchor};

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

pub(super) struct Canvas {
    pub(super) scene: Scene,
}

impl Canvas {
    pub(super) fn new(width: f64, height: f64) -> Self {
        let mut scene = Scene::new(width.ceil(), height.ceil());
        scene.background_color = Some(style::GROUND.into());
        scene.text_color = Some(Color::Ink.css().into());
        scene.font_family = Some(style::FONT.into());
        Canvas { scene }
    }

    pub(super) fn text(&mut self, text: &str, size: u32, x: f64, y: f64, anchor: TextAnchor) {
        let content = style::plain(text);
        let (rotate, bold, color) = (None, false, None);
        self.scene.add(Primitive::Text { x, y, content, size, anchor, rotate, bold, color });
    }

    /// The title in the middle above all, and where it ends.
    pub(super) fn title(&mut self, title: &str, edge: f64) -> f64 {
        let (width, line) = (self.scene.width, style::line_height(TITLE));
        let lines = style::wrapped(title, TITLE, width - 2.0 * edge);
        for (i, text) in lines.iter().enumerate() {
            let y = edge + f64::from(TITLE) + i as f64 * line;
            self.text(text, TITLE, width / 2.0, y, TextAnchor::Middle);
        }
        edge + lines.len() as f64 * line
    }

    pub(super) fn stroke(&mut self, points: Vec<(f64, f64)>, color: Color, stroke_width: f64) {
        let stroke = Paint::from(color.css());
        self.scene.add(Primitive::PolyLine { points, stroke, stroke_width, stroke_dasharray: None });
    }

    /// A grey outline, half a pixel outside.
    pub(super) fn frame(&mut self, area: Area) {
        let (x, y, width, height) = (area.left - 0.5, area.top - 0.5, area.width + 1.0, area.height + 1.0);
        let (fill, stroke, stroke_width) = (Paint::None, Some(Color::Grey.css().into()), Some(1.0));
        self.scene.add(Primitive::Rect { x, y, width, height, fill, stroke, stroke_width, opacity: None });
    }
}
