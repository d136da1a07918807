//! Image augmentation: flip, shift, cutout.

use super::images::unit;
use tractable_core::rng::{self, Rng};
use tractable_core::shape::Change;
use tractable_core::shape::Shape;

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

/// The average of a channel.
pub fn grey(plane: &[u8]) -> f64 {
    plane.iter().map(|&p| u64::from(p)).sum::<u64>() as f64 / (255 * plane.len()) as f64
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

    /// Adds the changed image to `x`.
    pub(super) fn apply(self, change: Change, pixels: &[u8], shape: Shape, x: &mut Vec<f64>) {
        let (height, width) = (shape.height, shape.width);
        let Change { flip, from: [down, right], hole: [rows, columns] } = change;
        let inside = |at: usize, [first, end]: [i32; 2]| (first..end).contains(&(at as i32));
        let shown = |at: usize, from: i32, size: usize| {
            usize::try_from(at as i32 + from).ok().filter(|&at| at < size)
        };
        for plane in pixels.chunks_exact(height * width) {
            let grey = if self.cutout == 0 { 0.0 } else { grey(plane) };
            for row in 0..height {
                for column in 0..width {
                    x.push(match (shown(row, down, height), shown(column, right, width)) {
                        _ if inside(row, rows) && inside(column, columns) => grey,
                        (Some(r), Some(c)) => unit(plane[r * width + if flip { width - 1 - c } else { c }]),
                        _ => 0.0,
                    });
                }
            }
        }
    }

    /// The random change of one image. Always makes the same number of draws, so that one setting does not change the others' draws.
    pub fn draw(self, shape: Shape, rng: &mut impl Rng) -> Change {
        let (height, width) = (shape.height, shape.width);
        let mut pick = |n: usize| rng::below(n as u64, rng) as i32;
        let flip = pick(2) == 1 && self.flip;
        let crop = self.crop.min(height.max(width));
        let from = [pick(2 * crop + 1), pick(2 * crop + 1)].map(|at| at - crop as i32);
        let (size, half) = (self.cutout as i32, (self.cutout / 2) as i32);
        let hole = [pick(height), pick(width)].map(|at| [at - half, at - half + size]);
        Change { flip, from, hole }
    }
}
