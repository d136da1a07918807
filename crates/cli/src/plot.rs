//! Pictures: numbers in, one SVG and one PNG out, all in the style of `style.rs`.
//!
//! [`Figure`] is panels in a grid, [`Panel`] one set of axes; on top of them stand the figures that verbs
//! draw. A number without a place (NaN, zero on a log axis) is an error that names it, never a hole.

mod animation;
mod base64;
mod canvas;
mod curves;
mod drawing;
mod figure;
mod image_grid;
mod moments;
mod optimum;
mod panel;
mod reliability;
mod style;

pub(crate) use animation::animated;
pub(crate) use base64::base64;
pub(crate) use curves::Line;
pub(crate) use drawing::picture_files;
pub use figure::Figure;
pub use image_grid::{Image, ImageGrid};
pub(crate) use moments::moments;
pub use optimum::{OptimumFigure, Places, four_panels};
pub use panel::Panel;
pub(crate) use reliability::{reliability, reliability_panel};
pub use style::Color;
pub(crate) use style::ON_DARK;

#[cfg(test)]
mod tests;
