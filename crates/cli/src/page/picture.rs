//! Pictures in a page: inside it as data, light on a light page and dark on a dark one, moving or still.

use super::escaped;
use crate::plot::{Figure, ON_DARK, base64};
use crate::report::Outcome;

/// An SVG as an address. Shown as an image, it runs no script and loads nothing, whatever it contains.
fn uri(svg: &str) -> String {
    let svg = svg.replacen('>', &format!(">{ON_DARK}"), 1);
    format!("data:image/svg+xml;base64,{}", base64(svg.as_bytes()))
}

/// A picture with what is said below it.
pub(crate) struct Picture {
    caption: String,
    svg: String,
    /// For those who want nothing to move.
    still: Option<String>,
    class: &'static str,
}

impl Picture {
    pub(crate) fn new(caption: &str, svg: String) -> Self {
        Picture { caption: caption.into(), svg, still: None, class: "" }
    }

    pub(crate) fn of(caption: &str, figure: &Figure) -> Outcome<Self> {
        Ok(Picture::new(caption, figure.svg()?))
    }

    /// What is shown to those who have asked for little motion.
    pub(crate) fn still(self, svg: String) -> Self {
        Picture { still: Some(svg), ..self }
    }

    /// Stands beside two others.
    pub(crate) fn tall(self) -> Self {
        Picture { class: " class=\"tall\"", ..self }
    }

    /// Of many parts: takes the whole width, and scrolls by itself rather than become unreadable.
    pub(crate) fn wide(self) -> Self {
        Picture { class: " class=\"wide\"", ..self }
    }

    pub(super) fn html(&self) -> String {
        let still = self.still.as_ref().map_or(String::new(), |svg| {
            format!("<source media=\"(prefers-reduced-motion: reduce)\" srcset=\"{}\">", uri(svg))
        });
        let (class, caption, svg) = (self.class, escaped(&self.caption), uri(&self.svg));
        format!(
            "<figure{class}><div class=\"scroll\"><picture>{still}<img alt=\"{caption}\" src=\"{svg}\"></picture></div>\
             <figcaption>{caption}</figcaption></figure>\n"
        )
    }
}
