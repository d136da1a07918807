//! Labelled images as bytes, turned into numbers one batch at a time.

use super::augment::Augment;
use super::scaler::Scaler;
use std::ops::Range;
use tractable_core::error::{Error, Result};
use tractable_core::gaussian::Matrix;
use tractable_core::rng::{self, ChaCha8Rng};
use tractable_core::shape::Shape;

/// Scaling of pixels, computed from the training images.
///
/// ```
/// use tractable::data::{PixelScaling, digits};
/// assert_eq!(digits(2, 0)?.scaling(PixelScaling::Center).wanted_scaling(), PixelScaling::Center);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "files", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum PixelScaling {
    /// None: 0 to 1.
    None,
    /// Subtract the mean of the channel: the paper's choice for MNIST.
    #[default]
    Center,
    /// And divide by the channel's standard deviation.
    Standardize,
}

/// Images of one shape, each with a class. Pixels are bytes in the order of [`Shape`] (channel, row, column)
/// and become numbers from 0 to 1 when used.
///
/// A network is fitted to images as to a [`Dataset`](super::Dataset):
///
/// ```
/// use tractable::{Activation, Fit, Network, data};
/// let (train, test) = (data::digits(200, 0)?, data::digits(50, 1)?);
/// let mut net = Network::mlp([28 * 28, 32, 11], Activation::Relu).classes(10).build()?;
/// net.fit(&train, &Fit::new().epochs(2))?;
/// assert!(net.nll(&test)? < 2.3);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Images {
    shape: Shape,
    pixels: Vec<u8>,
    labels: Vec<u16>,
    names: Vec<String>,
    scaling: PixelScaling,
    augment: Option<Augment>,
}

impl Images {
    /// `pixels` holds one image after the other, `labels` a position in `names` for each.
    ///
    /// ```
    /// use tractable::{Shape, data::Images};
    /// let names = || vec!["dark".to_string(), "light".to_string()];
    /// let images = Images::new(Shape::image(1, 1, 2), vec![0, 0, 255, 255], vec![0, 1], names())?;
    /// assert_eq!((images.len(), images.label(1)), (2, 1));
    /// assert!(Images::new(Shape::image(1, 1, 2), vec![0, 0], vec![2], names()).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn new(shape: Shape, pixels: Vec<u8>, labels: Vec<u16>, names: Vec<String>) -> Result<Self> {
        if labels.is_empty() || shape.is_empty() {
            return Err(Error::invalid("images", "at least one image of at least one pixel is needed"));
        }
        if !(2..=usize::from(u16::MAX)).contains(&names.len()) {
            let why = format!("{} classes are not between 2 and {}", names.len(), u16::MAX);
            return Err(Error::invalid("images", why));
        }
        if labels.len().checked_mul(shape.len()) != Some(pixels.len()) {
            let expected = format!("{} images of {shape}, one per label", labels.len());
            return Err(Error::shape("images", expected, format!("{} bytes", pixels.len())));
        }
        if let Some(row) = labels.iter().position(|&l| usize::from(l) >= names.len()) {
            return Err(Error::OutOfRange {
                what: "labels".into(),
                row,
                column: 0,
                value: f64::from(labels[row]),
                why: format!("there are {} classes, counted from 0", names.len()),
            });
        }
        Ok(Images { shape, pixels, labels, names, scaling: PixelScaling::default(), augment: None })
    }

    /// Number of images.
    ///
    /// ```
    /// assert_eq!(tractable::data::digits(3, 0)?.len(), 3);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Never: there is at least one image.
    ///
    /// ```
    /// assert!(!tractable::data::digits(3, 0)?.is_empty());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Channels, rows and columns of every image.
    ///
    /// ```
    /// use tractable::{Shape, data};
    /// assert_eq!(data::digits(3, 0)?.shape(), Shape::image(1, 28, 28));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// One image's bytes; panics if there is no such image, like a slice.
    ///
    /// ```
    /// assert_eq!(tractable::data::digits(3, 0)?.pixels(2).len(), 28 * 28);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn pixels(&self, image: usize) -> &[u8] {
        &self.pixels[image * self.shape.len()..][..self.shape.len()]
    }

    /// One image's class; panics when there is no such image.
    ///
    /// ```
    /// assert!(tractable::data::digits(3, 0)?.label(2) < 10);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn label(&self, image: usize) -> usize {
        usize::from(self.labels[image])
    }

    /// Every image's class.
    ///
    /// ```
    /// assert_eq!(tractable::data::digits(3, 0)?.labels().len(), 3);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn labels(&self) -> Vec<usize> {
        self.labels.iter().map(|&l| usize::from(l)).collect()
    }

    /// Names of the classes.
    ///
    /// ```
    /// assert_eq!(tractable::data::digits(3, 0)?.class_names()[7], "7");
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn class_names(&self) -> &[String] {
        &self.names
    }

    /// Sets the scaling of pixels for a fit to these images; [`PixelScaling::Center`] unless
    /// set.
    ///
    /// ```
    /// use tractable::data::{PixelScaling, digits};
    /// let images = digits(3, 0)?.scaling(PixelScaling::Standardize);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn scaling(mut self, scaling: PixelScaling) -> Self {
        self.scaling = scaling;
        self
    }

    /// The [`scaling`](Self::scaling) set.
    ///
    /// ```
    /// use tractable::data::{PixelScaling, digits};
    /// assert_eq!(digits(3, 0)?.wanted_scaling(), PixelScaling::Center);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn wanted_scaling(&self) -> PixelScaling {
        self.scaling
    }

    /// Augment every image at random in every epoch of a fit.
    ///
    /// ```
    /// use tractable::data::{Augment, digits};
    /// let images = digits(3, 0)?.augment(Augment { crop: 2, ..Augment::default() });
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn augment(mut self, augment: Augment) -> Self {
        self.augment = Some(augment);
        self
    }

    /// The first `n` images, or all if there are fewer.
    ///
    /// ```
    /// assert_eq!(tractable::data::digits(3, 0)?.take(2)?.len(), 2);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn take(mut self, n: usize) -> Result<Self> {
        if n == 0 {
            return Err(Error::invalid("take", "at least one image is needed"));
        }
        self.labels.truncate(n);
        self.pixels.truncate(self.labels.len() * self.shape.len());
        self.labels.shrink_to_fit();
        self.pixels.shrink_to_fit();
        Ok(self)
    }

    /// The images at `index`, in that order, without augmentation.
    ///
    /// # Errors
    /// When there is no such image, or none is asked for.
    ///
    /// ```
    /// let digits = tractable::data::digits(3, 0)?;
    /// assert_eq!(digits.select(&[2])?.pixels(0), digits.pixels(2));
    /// assert!(digits.select(&[3]).is_err());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn select(&self, index: &[usize]) -> Result<Self> {
        if let Some(i) = index.iter().find(|&&i| i >= self.len()) {
            return Err(self.no_image(*i));
        }
        let pixels = index.iter().flat_map(|&i| self.pixels(i)).copied().collect();
        let labels = index.iter().map(|&i| self.labels[i]).collect();
        let part = Images::new(self.shape, pixels, labels, self.names.clone())?;
        Ok(part.scaling(self.scaling))
    }

    /// The images `from..to` as numbers from 0 to 1, one per row; panics when there are no such images.
    ///
    /// ```
    /// let digits = tractable::data::digits(3, 0)?;
    /// let x = digits.matrix(1..3)?;
    /// assert_eq!((x.rows(), x.row(0)[40]), (2, f64::from(digits.pixels(1)[40]) / 255.0));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn matrix(&self, range: std::ops::Range<usize>) -> Result<Matrix> {
        let width = self.shape.len();
        let pixels = &self.pixels[range.start * width..range.end * width];
        Matrix::new(pixels.iter().map(|&p| unit(p)).collect(), width)
    }

    /// All images in order as numbers from 0 to 1, at most `rows` at a time, so that they are never all in
    /// memory as numbers.
    ///
    /// ```
    /// let digits = tractable::data::digits(5, 0)?;
    /// let sizes: Vec<usize> = digits.batches(2).map(|x| x.rows()).collect();
    /// assert_eq!(sizes, [2, 2, 1]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn batches(&self, rows: usize) -> impl Iterator<Item = Matrix> {
        let rows = rows.max(1);
        let starts = (0..self.len()).step_by(rows);
        starts.map(move |from| {
            self.matrix(from..self.len().min(from + rows)).expect("bytes are finite numbers")
        })
    }

    /// The scaler that [`scaling`](Self::scaling) asked for, from the images at `index`: one mean and one
    /// standard deviation per channel. Computed in integers, so that it is bit-identical everywhere.
    pub fn scaler(&self, index: &[usize]) -> Result<Option<Scaler>> {
        if self.scaling == PixelScaling::None {
            return Ok(None);
        }
        let plane = self.shape.height * self.shape.width;
        // Four interleaved histograms: neighbouring bytes are often equal, and their increments would wait for each other.
        let mut counts = vec![[[0u64; 4]; 256]; self.shape.channels];
        for &i in index {
            for (count, pixels) in counts.iter_mut().zip(self.pixels(i).chunks_exact(plane)) {
                for four in pixels.chunks(4) {
                    four.iter().enumerate().for_each(|(j, &p)| count[usize::from(p)][j] += 1);
                }
            }
        }
        let counts = counts.iter().map(|count| count.map(|c| c.iter().sum::<u64>()));
        let (mut means, mut stds) = (Vec::new(), Vec::new());
        for count in counts {
            let n = count.iter().sum::<u64>() as f64;
            let weighted = |f: &dyn Fn(f64) -> f64| {
                count.iter().enumerate().map(|(p, &c)| c as f64 * f(p as f64 / 255.0)).sum::<f64>() / n
            };
            let mean = weighted(&|p| p);
            let std = weighted(&|p| (p - mean) * (p - mean)).sqrt();
            // A channel that is the same everywhere has nothing to divide by.
            let std = if self.scaling == PixelScaling::Center || std < 1e-9 { 1.0 } else { std };
            means.extend(std::iter::repeat_n(mean, plane));
            stds.extend(std::iter::repeat_n(std, plane));
        }
        Scaler::new(means, stds).map(Some)
    }

    /// The images at `index` as numbers from 0 to 1, changed at random as in the given epoch (from 0) of a fit
    /// that begins with them.
    ///
    /// # Errors
    /// When there is no such image.
    ///
    /// ```
    /// use tractable::data::{Augment, digits};
    /// let images = digits(3, 0)?.augment(Augment { crop: 2, ..Augment::default() });
    /// assert_ne!(images.changed(&[0, 1], 7, 0)?, images.changed(&[0, 1], 7, 1)?);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn changed(&self, index: &[usize], seed: u64, epoch: usize) -> Result<Matrix> {
        if let Some(i) = index.iter().find(|&&i| i >= self.len()) {
            return Err(self.no_image(*i));
        }
        let mut x = Vec::with_capacity(index.len() * self.shape.len());
        self.gather(index, 0..index.len(), self.changes(seed, epoch).as_mut(), &mut x);
        Matrix::new(x, self.shape.len())
    }

    fn no_image(&self, i: usize) -> Error {
        let why = format!("there is no image {i}; there are {}, counted from 0", self.len());
        Error::invalid("select", why)
    }

    /// The random stream that changes the images of an epoch; `None` where they stay as they are.
    pub fn changes(&self, seed: u64, epoch: usize) -> Option<ChaCha8Rng> {
        self.augment.map(|_| rng::stream(seed, "augment", epoch as u64))
    }

    /// All bytes, one image after the other.
    pub fn bytes(&self) -> &[u8] {
        &self.pixels
    }

    /// How images are changed, if they are.
    pub fn augmented(&self) -> Option<Augment> {
        self.augment
    }

    /// Adds a part of these images to `x` as numbers from 0 to 1, changed at random where there is a stream.
    pub fn gather(
        &self,
        index: &[usize],
        part: Range<usize>,
        changes: Option<&mut ChaCha8Rng>,
        x: &mut Vec<f64>,
    ) {
        match (self.augment, changes) {
            (Some(augment), Some(rng)) => {
                for (at, &i) in index.iter().enumerate() {
                    let drawn = augment.draw(self.shape, rng);
                    if part.contains(&at) {
                        augment.apply(drawn, self.pixels(i), self.shape, x);
                    }
                }
            }
            _ => index[part].iter().for_each(|&i| x.extend(self.pixels(i).iter().map(|&p| unit(p)))),
        }
    }
}

/// A byte as a number from 0 to 1.
pub fn unit(pixel: u8) -> f64 {
    f64::from(pixel) / 255.0
}
