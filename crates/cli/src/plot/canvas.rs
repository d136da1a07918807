//! Texts, strokes and rectangles on a scene, in pixels from the top left corner.

use super::style::{self, Color, Theme};
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
    pub(super) fn new(width: f64, height: f64, theme: Theme) -> Self {
        let mut scene = Scene::new(width.ceil(), height.ceil());
        scene.background_color = Some(theme.ground().into());
        scene.text_color = Some(Color::Ink.css(theme));
        scene.font_family = Some(style::FONT.into());
        Canvas { scene }
    }

    pub(super) fn text(&mut self, text: &str, size: u32, x: f64, y: f64, anchor: TextAnchor) {
        let content = style::plain(text);
        let (rotate, bold, color) = (None, false, None);
        self.scene.add(Primitive::Text { x, y, content, size, anchor, rotate, bold, color });
    }

    pub(super) fn stroke(&mut self, points: Vec<(f64, f64)>, stroke: Paint, stroke_width: f64) {
        self.scene.add(Primitive::PolyLine { points, stroke, stroke_width, stroke_dasharray: None });
    }

    /// An outline one pixel wide.
    pub(super) fn frame(&mut self, area: Area, paint: Paint) {
        let Area { left: x, top: y, width, height } = area;
        let (fill, stroke, stroke_width) = (Paint::None, Some(paint), Some(1.0));
        self.scene.add(Primitive::Rect { x, y, width, height, fill, stroke, stroke_width, opacity: None });
    }
}
