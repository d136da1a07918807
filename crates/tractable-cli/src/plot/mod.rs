//! Pictures: numbers in, one SVG and one PNG out, all in the style of `style.rs`.
//!
//! [`Figure`] is panels in a grid, [`Panel`] one set of axes; on top of them stand the figures that verbs
//! draw. A number without a place (NaN, zero on a log axis) is an error that names it, never a hole.

mod animation;
mod axis;
mod canvas;
mod drawing;
mod figure;
mod image_grid;
mod learning_curves;
mod optimum;
mod panel;
mod reliability;
mod style;

pub(crate) use animation::animated;
pub(crate) use figure::Figure;
pub(crate) use image_grid::{Image, ImageGrid};
pub(crate) use learning_curves::{Curve, LearningCurves, learning_curves};
pub(crate) use optimum::{Optimum, Places, optimum};
pub(crate) use panel::Panel;
pub(crate) use reliability::{reliability, reliability_panel};
pub(crate) use style::{Color, Theme};

#[cfg(test)]
mod gallery;
