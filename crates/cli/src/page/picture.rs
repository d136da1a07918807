//! Pictures in a page: inside it as data, in light and in dark, moving or still.

use super::escaped;
use crate::plot::base64;
use crate::plot::{Figure, Theme};
use crate::report::Outcome;

/// An SVG as an address. Shown as an image, it runs no script and loads nothing, whatever it contains.
fn uri(svg: &str) -> String {
    format!("data:image/svg+xml;base64,{}", base64(svg.as_bytes()))
}

/// A picture with what is said below it.
pub(crate) struct Picture {
    caption: String,
    svg: String,
    dark: Option<String>,
    /// For those who want nothing to move.
    still: Option<String>,
    wide: bool,
    tall: bool,
}

impl Picture {
    pub(crate) fn new(caption: &str, svg: String) -> Self {
        Picture { caption: caption.into(), svg, dark: None, still: None, wide: false, tall: false }
    }

    /// A figure in both themes.
    pub(crate) fn of(caption: &str, figure: Figure) -> Outcome<Self> {
        let light = figure.svg()?;
        let dark = figure.theme(Theme::Dark).svg()?;
        Ok(Picture::new(caption, light).dark(dark))
    }

    /// What is shown on a dark page.
    pub(crate) fn dark(self, svg: String) -> Self {
        Picture { dark: Some(svg), ..self }
    }

    /// What is shown to those who have asked for little motion.
    pub(crate) fn still(self, svg: String) -> Self {
        Picture { still: Some(svg), ..self }
    }

    /// Stands beside two others.
    pub(crate) fn tall(self) -> Self {
        Picture { tall: true, ..self }
    }

    /// Of many parts: takes the whole width, and scrolls by itself rather than become unreadable.
    pub(crate) fn wide(self) -> Self {
        Picture { wide: true, ..self }
    }

    pub(super) fn html(&self) -> String {
        let when = |media: &str, svg: &Option<String>| match svg {
            Some(svg) => format!("<source media=\"({media})\" srcset=\"{}\">", uri(svg)),
            None => String::new(),
        };
        let still = when("prefers-reduced-motion: reduce", &self.still);
        let dark = when("prefers-color-scheme: dark", &self.dark);
        let class = match (self.wide, &self.dark) {
            (true, Some(_)) => " class=\"wide\"",
            // As a run wrote it: on white.
            (true, None) => " class=\"wide paper\"",
            (false, _) if self.tall => " class=\"tall\"",
            (false, _) => "",
        };
        let caption = escaped(&self.caption);
        format!(
            "<figure{class}><div class=\"scroll\"><picture>{still}{dark}<img alt=\"{caption}\" src=\"{}\"></picture></div>\
             <figcaption>{caption}</figcaption></figure>\n",
            uri(&self.svg)
        )
    }
}
