//! Shapes of layers, and windows that slide over images.

use crate::error::{Error, Result};

/// The shape of one sample of a layer: channels, rows and columns of an image; a plain vector of `n`
/// numbers is `n` channels of one pixel.
///
/// Samples are given and returned channel after channel, row after row, column fastest.
///
/// ```
/// use tractable::Shape;
/// assert_eq!(Shape::image(3, 32, 32).len(), 3072);
/// assert_eq!(Shape::flat(13).len(), 13);
/// assert_eq!(Shape::image(1, 28, 20).to_string(), "1x28x20");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Shape {
    /// Channels of an image, or the length of a vector.
    pub channels: usize,
    /// Image rows.
    pub height: usize,
    /// Image columns.
    pub width: usize,
}

/// Zeros around an image.
///
/// ```
/// use tractable::{Shape, network::{Padding, Window}};
/// let pool = Window { kernel: 3, stride: 2, padding: Padding::End(1) };
/// assert_eq!(pool.slide(Shape::image(1, 32, 32))?, (16, 16));
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Padding {
    /// This many on all four sides.
    Around(usize),
    /// This many at the bottom and on the right only.
    End(usize),
}

/// A square window sliding over an image.
///
/// ```
/// use tractable::{Shape, network::{Padding, Window}};
/// let w = Window { kernel: 4, stride: 1, padding: Padding::Around(1) };
/// assert_eq!(w.slide(Shape::image(1, 28, 28))?, (27, 27));
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Window {
    /// Side of the square, in pixels.
    pub kernel: usize,
    /// Pixels from one position to the next.
    pub stride: usize,
    /// Zeros around the image.
    pub padding: Padding,
}

impl Shape {
    /// A vector of `n` numbers.
    ///
    /// ```
    /// assert!(tractable::Shape::flat(5).is_flat());
    /// ```
    pub fn flat(n: usize) -> Self {
        Self { channels: n, height: 1, width: 1 }
    }

    /// An image.
    ///
    /// ```
    /// assert!(!tractable::Shape::image(1, 28, 28).is_flat());
    /// ```
    pub fn image(channels: usize, height: usize, width: usize) -> Self {
        Self { channels, height, width }
    }

    /// Numbers in one sample.
    ///
    /// ```
    /// assert_eq!(tractable::Shape::image(2, 3, 4).len(), 24);
    /// ```
    pub fn len(&self) -> usize {
        self.channels * self.pixels()
    }

    /// Whether a sample has no numbers; no network accepts such a shape.
    ///
    /// ```
    /// assert!(tractable::Shape::flat(0).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether this is a plain vector.
    ///
    /// ```
    /// assert!(tractable::Shape::image(7, 1, 1).is_flat());
    /// ```
    pub fn is_flat(&self) -> bool {
        self.height == 1 && self.width == 1
    }

    /// Pixels in an image; 1 for a vector.
    pub fn pixels(&self) -> usize {
        self.height * self.width
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.is_flat() {
            true => write!(f, "{}", self.channels),
            false => write!(f, "{}x{}x{}", self.channels, self.height, self.width),
        }
    }
}

/// Largest side of a window, and of the zeros around an image.
const MOST_PIXELS: usize = 1 << 20;

impl Window {
    /// Zeros before the first row and column.
    pub fn before(&self) -> usize {
        match self.padding {
            Padding::Around(n) => n,
            Padding::End(_) => 0,
        }
    }

    /// Zeros after the last row and column.
    pub fn after(&self) -> usize {
        match self.padding {
            Padding::Around(n) | Padding::End(n) => n,
        }
    }

    /// Number of positions down and across `image`, rounded down: the rest that does not fill a window is ignored.
    ///
    /// ```
    /// use tractable::{Shape, network::{Padding, Window}};
    /// let w = Window { kernel: 5, stride: 1, padding: Padding::Around(0) };
    /// assert!(w.slide(Shape::image(1, 4, 9)).is_err());
    /// ```
    pub fn slide(&self, image: Shape) -> Result<(usize, usize)> {
        if self.kernel == 0 || self.stride == 0 {
            return Err(Error::invalid("window", "kernel and stride must be at least 1"));
        }
        // So that the size of a window does not overflow.
        if self.kernel.max(self.after()) > MOST_PIXELS {
            return Err(Error::invalid(
                "window",
                format!("kernel and padding must be at most {MOST_PIXELS}"),
            ));
        }
        let along = |side: usize| {
            let padded = side.checked_add(self.before())?.checked_add(self.after())?;
            Some(padded.checked_sub(self.kernel)? / self.stride + 1)
        };
        match (along(image.height), along(image.width)) {
            (Some(down), Some(across)) => Ok((down, across)),
            _ => Err(Error::shape(
                "window",
                format!("an image of at least {0}x{0} with its padding", self.kernel),
                format!("{}x{}", image.height, image.width),
            )),
        }
    }

    /// Numbers in a padded image; `None` if the count overflows.
    pub fn padded(&self, image: Shape) -> Option<usize> {
        let side = |n: usize| n.checked_add(self.before())?.checked_add(self.after());
        side(image.height)?.checked_mul(side(image.width)?)?.checked_mul(image.channels)
    }

    /// The part of the image that the window at (`down`, `across`) covers, as row and column ranges.
    pub fn covers(
        &self,
        image: Shape,
        down: usize,
        across: usize,
    ) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        let clip = |at: usize, side: usize| {
            let from = at * self.stride;
            from.saturating_sub(self.before()).min(side)
                ..(from + self.kernel).saturating_sub(self.before()).min(side)
        };
        (clip(down, image.height), clip(across, image.width))
    }
}

/// A random change of an image: a mirror image or not, a shift, and a hole filled with grey.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Change {
    /// Whether it is a mirror image.
    pub flip: bool,
    /// Row and column of the original at the first pixel; pixels outside the original are 0.
    pub from: [i32; 2],
    /// Rows, then columns, of the hole: first, and one past the last.
    pub hole: [[i32; 2]; 2],
}
