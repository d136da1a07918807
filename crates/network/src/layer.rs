//! Layers as in the API and in files: a closed list, with their output shapes.

mod block;
mod node;
mod prior;

pub(crate) use block::{Block, Contents};
pub use node::Node;
pub(crate) use prior::SCALE_VAR;
pub use prior::{Prior, Scheme};

use tractable_core::error::{Error, Result};
use tractable_core::moments::Activation;
use tractable_core::shape::{Padding, Shape, Window};
use tractable_devices::Map;

/// One layer of a network.
///
/// ```
/// use tractable::{Activation, Layer, Shape};
/// let conv = Layer::conv2d(32, 4).padding(1);
/// assert_eq!(conv.output(Shape::image(1, 28, 28))?, Shape::image(32, 27, 27));
/// assert_eq!(Layer::from(Activation::Relu).output(Shape::flat(5))?, Shape::flat(5));
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(
    feature = "files",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)
)]
#[non_exhaustive]
pub enum Layer {
    /// Every output is a weighted sum of all inputs plus a bias.
    Linear {
        /// Number of outputs.
        outputs: usize,
    },
    /// The same weighted sum at every position of a window, plus a bias per channel.
    Conv2d {
        /// Number of output channels.
        channels: usize,
        /// How the window slides.
        window: Window,
        /// Whether it has biases; before a normalisation they do nothing.
        #[cfg_attr(feature = "files", serde(default = "yes", skip_serializing_if = "is_yes"))]
        bias: bool,
    },
    /// Average over a window; padded cells count as zeros.
    AvgPool2d {
        /// How the window slides.
        window: Window,
    },
    /// The unit with the largest mean in a window; padded cells are never picked.
    MaxPool2d {
        /// How the window slides.
        window: Window,
    },
    /// Standardises every channel by the statistics of the batch (running statistics outside learning), then
    /// scales and shifts it. Learning goes back through these statistics.
    BatchNorm {
        /// Weight of the past in the running statistics.
        momentum: f64,
        /// Added to the variance before dividing.
        epsilon: f64,
    },
    /// An elementwise nonlinearity.
    Activation {
        /// Which one.
        function: Activation,
    },
    /// The sum of two or more layers of one shape, unit by unit: where branches meet. See [`Layer::of`].
    Add,
}

#[cfg(feature = "files")]
fn yes() -> bool {
    true
}

#[cfg(feature = "files")]
fn is_yes(v: &bool) -> bool {
    *v
}

impl From<Activation> for Layer {
    fn from(function: Activation) -> Self {
        Layer::Activation { function }
    }
}

impl Layer {
    /// A dense layer.
    ///
    /// ```
    /// # use tractable::{Layer, Shape};
    /// assert_eq!(Layer::linear(50).output(Shape::flat(13))?, Shape::flat(50));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn linear(outputs: usize) -> Self {
        Layer::Linear { outputs }
    }

    /// A convolution with a square window, stride 1 and no padding.
    ///
    /// ```
    /// # use tractable::{Layer, Shape};
    /// assert_eq!(Layer::conv2d(8, 3).output(Shape::image(1, 9, 7))?, Shape::image(8, 7, 5));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn conv2d(channels: usize, kernel: usize) -> Self {
        Layer::Conv2d {
            channels,
            window: Window { kernel, stride: 1, padding: Padding::Around(0) },
            bias: true,
        }
    }

    /// Without biases: they stay at 0 and are not learned. No effect on layers other than convolutions.
    ///
    /// ```
    /// # use tractable::{Layer, Network, Shape};
    /// let net = Network::builder(Shape::image(1, 9, 7)).layer(Layer::conv2d(8, 3).without_bias()).build()?;
    /// assert_eq!(net.parameters(), 8 * 9);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn without_bias(mut self) -> Self {
        if let Layer::Conv2d { bias, .. } = &mut self {
            *bias = false;
        }
        self
    }

    /// Average pooling with a square window; the stride is the window's size unless set.
    ///
    /// ```
    /// # use tractable::{Layer, Shape};
    /// assert_eq!(Layer::avg_pool2d(2).output(Shape::image(8, 9, 7))?, Shape::image(8, 4, 3));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn avg_pool2d(kernel: usize) -> Self {
        Layer::AvgPool2d { window: Window { kernel, stride: kernel, padding: Padding::Around(0) } }
    }

    /// Max pooling with a square window; the stride is the window's size unless set.
    ///
    /// ```
    /// # use tractable::{Layer, Shape};
    /// let pool = Layer::max_pool2d(3).stride(2).end_padding(1);
    /// assert_eq!(pool.output(Shape::image(32, 32, 32))?, Shape::image(32, 16, 16));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn max_pool2d(kernel: usize) -> Self {
        Layer::MaxPool2d { window: Window { kernel, stride: kernel, padding: Padding::Around(0) } }
    }

    /// Batch normalisation with momentum 0.9 and epsilon 1e-5.
    ///
    /// ```
    /// # use tractable::{Layer, Shape};
    /// assert_eq!(Layer::batch_norm().output(Shape::flat(5))?, Shape::flat(5));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn batch_norm() -> Self {
        Layer::BatchNorm { momentum: 0.9, epsilon: 1e-5 }
    }

    fn window_mut(&mut self) -> Option<&mut Window> {
        match self {
            Layer::Conv2d { window, .. } | Layer::AvgPool2d { window } | Layer::MaxPool2d { window } => {
                Some(window)
            }
            _ => None,
        }
    }

    /// The window of a layer that has one.
    pub(crate) fn window(&self) -> Option<Window> {
        match *self {
            Layer::Conv2d { window, .. } | Layer::AvgPool2d { window } | Layer::MaxPool2d { window } => {
                Some(window)
            }
            _ => None,
        }
    }

    /// Pixels from one window to the next; no effect on layers without a window.
    ///
    /// ```
    /// # use tractable::{Layer, Shape};
    /// assert_eq!(Layer::conv2d(4, 3).stride(2).output(Shape::image(1, 9, 9))?, Shape::image(4, 4, 4));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn stride(mut self, stride: usize) -> Self {
        if let Some(window) = self.window_mut() {
            window.stride = stride;
        }
        self
    }

    /// Zeros on all four sides; no effect on layers without a window.
    ///
    /// ```
    /// # use tractable::{Layer, Shape};
    /// assert_eq!(Layer::conv2d(4, 3).padding(1).output(Shape::image(1, 9, 9))?, Shape::image(4, 9, 9));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn padding(mut self, zeros: usize) -> Self {
        if let Some(window) = self.window_mut() {
            window.padding = Padding::Around(zeros);
        }
        self
    }

    /// Zeros at the bottom and on the right only; no effect on layers without a window.
    ///
    /// ```
    /// # use tractable::{Layer, Shape};
    /// assert_eq!(Layer::conv2d(4, 3).end_padding(2).output(Shape::image(1, 9, 9))?, Shape::image(4, 9, 9));
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn end_padding(mut self, zeros: usize) -> Self {
        if let Some(window) = self.window_mut() {
            window.padding = Padding::End(zeros);
        }
        self
    }

    /// The kind of layer, as in layer names: `linear`, `conv`, `avg_pool`, `max_pool`, `batch_norm`, `add`, or the
    /// activation's name.
    ///
    /// ```
    /// assert_eq!(tractable::Layer::linear(3).kind(), "linear");
    /// ```
    pub fn kind(&self) -> &'static str {
        match self {
            Layer::Linear { .. } => "linear",
            Layer::Conv2d { .. } => "conv",
            Layer::AvgPool2d { .. } => "avg_pool",
            Layer::MaxPool2d { .. } => "max_pool",
            Layer::BatchNorm { .. } => "batch_norm",
            Layer::Activation { function } => function.name(),
            Layer::Add => "add",
        }
    }

    /// The output shape for inputs of shape `input`, or an error.
    ///
    /// ```
    /// # use tractable::{Layer, Shape};
    /// assert!(Layer::conv2d(4, 5).output(Shape::image(1, 4, 4)).is_err());
    /// ```
    pub fn output(&self, input: Shape) -> Result<Shape> {
        let positive = |n: usize, what: &str| match n {
            0 => Err(Error::invalid(what, "must be at least 1")),
            _ => Ok(()),
        };
        match *self {
            Layer::Linear { outputs } => {
                positive(outputs, "outputs of a linear layer")?;
                Ok(Shape::flat(outputs))
            }
            Layer::Conv2d { channels, window, .. } => {
                positive(channels, "channels of a convolution")?;
                let (height, width) = window.slide(input)?;
                Ok(Shape { channels, height, width })
            }
            Layer::AvgPool2d { window } | Layer::MaxPool2d { window } => {
                let (height, width) = window.slide(input)?;
                Ok(Shape { height, width, ..input })
            }
            Layer::BatchNorm { momentum, epsilon } => {
                if !(0.0..1.0).contains(&momentum) {
                    return Err(Error::invalid("momentum", format!("{momentum} is not in [0, 1)")));
                }
                if !(epsilon > 0.0 && epsilon.is_finite()) {
                    return Err(Error::invalid("epsilon", format!("{epsilon} is not a positive number")));
                }
                Ok(input)
            }
            Layer::Activation { function } => match function {
                Activation::LeakyRelu { slope } if !slope.is_finite() => {
                    Err(Error::invalid("leaky ReLU", format!("slope {slope} is not a number")))
                }
                _ => Ok(input),
            },
            Layer::Add => Ok(input),
        }
    }

    /// The linear map of a dense or convolutional layer.
    pub(crate) fn map(&self, input: Shape) -> Result<Option<Map>> {
        let output = self.output(input)?;
        Ok(match *self {
            Layer::Linear { .. } => Some(Map { input, output, window: None }),
            Layer::Conv2d { window, .. } => Some(Map { input, output, window: Some(window) }),
            _ => None,
        })
    }

    /// Shape of this layer's weights in files, and its number of biases; `None` without parameters. On a device, a convolution without biases
    /// has biases of mean and variance 0.
    pub(crate) fn parameter_shape(&self, input: Shape) -> Result<Option<(Vec<usize>, usize)>> {
        Ok(match *self {
            Layer::Linear { outputs } => Some((vec![outputs, input.len()], outputs)),
            Layer::Conv2d { channels, window, bias } => {
                let biases = if bias { channels } else { 0 };
                Some((vec![channels, input.channels, window.kernel, window.kernel], biases))
            }
            Layer::BatchNorm { .. } => Some((vec![input.channels], input.channels)),
            _ => None,
        })
    }
}
