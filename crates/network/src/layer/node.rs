//! A layer in a network: its name, and the layers it reads.

use super::Layer;

/// A layer of a network, with an optional name and inputs. A [`Layer`] or an
/// [`Activation`](tractable_core::moments::Activation) converts into one: it gets a name like `linear1` and reads the layer before it.
///
/// ```
/// use tractable::{Activation, Layer, Network, Shape};
/// let net = Network::builder(Shape::flat(3))
///     .layer(Layer::linear(8).named("skip"))
///     .layer(Activation::Tanh)
///     .layer(Layer::linear(8))
///     .layer(Layer::Add.of(["skip", "linear2"]))
///     .layer(Layer::linear(1))
///     .build()?;
/// assert_eq!(net.layer_names(), ["skip", "tanh1", "linear2", "add1", "linear3"]);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub(crate) layer: Layer,
    pub(crate) name: Option<String>,
    pub(crate) inputs: Option<Vec<String>>,
}

impl<L: Into<Layer>> From<L> for Node {
    fn from(layer: L) -> Self {
        Node { layer: layer.into(), name: None, inputs: None }
    }
}

impl Node {
    /// Names the layer.
    ///
    /// ```
    /// # use tractable::{Layer, Network, Shape};
    /// let sum = Layer::Add.of(["input", "linear1"]).named("sum");
    /// let net = Network::builder(Shape::flat(2)).layer(Layer::linear(2)).layer(sum).build()?;
    /// assert_eq!(net.layer_names(), ["linear1", "sum"]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

impl Layer {
    /// Gives the layer a name instead of `linear1`, `relu1` and so on.
    ///
    /// ```
    /// # use tractable::{Layer, Network, Shape};
    /// let net = Network::builder(Shape::flat(2)).layer(Layer::linear(1).named("head")).build()?;
    /// assert_eq!(net.layer_names(), ["head"]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn named(self, name: impl Into<String>) -> Node {
        Node::from(self).named(name)
    }

    /// Takes these layers as its input, by name (`input` is the network's), instead of the layer before it.
    ///
    /// ```
    /// # use tractable::{Activation, Layer, Network, Shape};
    /// let net = Network::builder(Shape::flat(2))
    ///     .layer(Layer::linear(2))
    ///     .layer(Activation::Tanh)
    ///     .layer(Layer::Add.of(["input", "tanh1"]))
    ///     .build()?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn of<S: Into<String>>(self, inputs: impl IntoIterator<Item = S>) -> Node {
        Node { inputs: Some(inputs.into_iter().map(Into::into).collect()), ..Node::from(self) }
    }
}
