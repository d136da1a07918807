//! Image augmentation: flip, shift, cutout.

use super::images::unit;
use crate::rng::{self, Rng};
use crate::shape::Shape;

/// Random augmentation of images in every epoch of a fit. Pixels from outside an image are 0.
///
/// ```
/// use tractable::data::Augment;
/// assert_eq!(Augment::cifar10(), Augment { flip: true, crop: 4, cutout: 8 });
/// assert_eq!(Augment::default(), Augment { flip: false, crop: 0, cutout: 0 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Augment {
    /// Left and right are swapped in half of the images.
    pub flip: bool,
    /// Shift by up to this many pixels each way: zero padding, then a random crop.
    pub crop: usize,
    /// Cutout: a square with this side, around a random pixel, gets the image's mean; 0 turns it off.
    pub cutout: usize,
}

/// The random changes of one image.
pub(super) struct Drawn {
    flip: bool,
    crop: usize,
    shift: [usize; 2],
    hole: [usize; 2],
}

impl Augment {
    /// The usual augmentation for CIFAR-10: flip, shift by up to 4, cutout of 8 by 8.
    ///
    /// ```
    /// assert!(tractable::data::Augment::cifar10().flip);
    /// ```
    pub fn cifar10() -> Self {
        Augment { flip: true, crop: 4, cutout: 8 }
    }

    /// What one image gets. The same number of draws whatever comes out, so that one setting does not move another's.
    pub(super) fn draw(self, shape: Shape, rng: &mut impl Rng) -> Drawn {
        let mut pick = |n: usize| rng::below(n as u64, rng) as usize;
        let flip = pick(2) == 1 && self.flip;
        let crop = self.crop.min(shape.height.max(shape.width));
        let shift = [pick(2 * crop + 1), pick(2 * crop + 1)];
        Drawn { flip, crop, shift, hole: [pick(shape.height), pick(shape.width)] }
    }

    /// Adds the changed image to `x`.
    pub(super) fn apply(self, drawn: Drawn, pixels: &[u8], shape: Shape, x: &mut Vec<f64>) {
        let (height, width) = (shape.height, shape.width);
        let Drawn { flip, crop, shift: [down, right], hole: [hole_row, hole_column] } = drawn;
        let half = self.cutout / 2;
        let inside = |at: usize, hole: usize| at + half >= hole && at + half < hole + self.cutout;
        for plane in pixels.chunks_exact(height * width) {
            let grey = match self.cutout {
                0 => 0.0,
                _ => plane.iter().map(|&p| u64::from(p)).sum::<u64>() as f64 / (255 * plane.len()) as f64,
            };
            for row in 0..height {
                for column in 0..width {
                    let from = (row + down).checked_sub(crop).filter(|r| *r < height);
                    let across = (column + right).checked_sub(crop).filter(|c| *c < width);
                    x.push(match (from, across) {
                        _ if inside(row, hole_row) && inside(column, hole_column) => grey,
                        (Some(r), Some(c)) => unit(plane[r * width + if flip { width - 1 - c } else { c }]),
                        _ => 0.0,
                    });
                }
            }
        }
    }
}
