//! Networks ready to build: the paper's, and residual networks.

mod residual;

pub use residual::{RESIDUAL_RULE, resnet18, resnet18_of, resnet20, resnet20_of, wrn_16_4, wrn_of};

use crate::builder::NetworkBuilder;
use crate::layer::Layer;
use crate::network::Network;
use tractable_core::moments::Activation;
use tractable_core::shape::Shape;

/// The paper's network for MNIST: two convolutions, two average pools, a dense layer of 150, ten classes.
///
/// ```
/// let net = tractable::recipes::mnist().build()?;
/// assert_eq!(net.input().len(), 28 * 28);
/// assert_eq!(net.parameters(), 207_219);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn mnist() -> NetworkBuilder {
    Network::builder(Shape::image(1, 28, 28))
        .layer(Layer::conv2d(32, 4).padding(1))
        .layer(Activation::Relu)
        .layer(Layer::avg_pool2d(3).stride(2))
        .layer(Layer::conv2d(64, 5))
        .layer(Activation::Relu)
        .layer(Layer::avg_pool2d(3).stride(2))
        .layer(Layer::linear(150))
        .layer(Activation::Relu)
        .layer(Layer::linear(11))
        .classes(10)
}

/// [`mnist`] with batch normalisation after each convolution's activation.
///
/// ```
/// assert!(tractable::recipes::mnist_norm().build()?.layer_names().contains(&"batch_norm2".to_string()));
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn mnist_norm() -> NetworkBuilder {
    Network::builder(Shape::image(1, 28, 28))
        .layer(Layer::conv2d(32, 4).padding(1))
        .layer(Activation::Relu)
        .layer(Layer::batch_norm())
        .layer(Layer::avg_pool2d(3).stride(2))
        .layer(Layer::conv2d(64, 5))
        .layer(Activation::Relu)
        .layer(Layer::batch_norm())
        .layer(Layer::avg_pool2d(3).stride(2))
        .layer(Layer::linear(150))
        .layer(Activation::Relu)
        .layer(Layer::linear(11))
        .classes(10)
}

/// The paper's network for CIFAR-10 as in its table: three convolutions, three average pools padded at
/// the end only, a dense layer of 64, ten classes; no normalisation.
///
/// ```
/// let net = tractable::recipes::cifar10().build()?;
/// assert_eq!(net.input().len(), 3 * 32 * 32);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn cifar10() -> NetworkBuilder {
    let mut net = Network::builder(Shape::image(3, 32, 32));
    for channels in [32, 32, 64] {
        net = net
            .layer(Layer::conv2d(channels, 5).padding(2))
            .layer(Activation::Relu)
            .layer(Layer::avg_pool2d(3).stride(2).end_padding(1));
    }
    net.layer(Layer::linear(64)).layer(Activation::Relu).layer(Layer::linear(11)).classes(10)
}

/// The paper's value network for a state and an action. Three layers of 128; the first is tanh, so that the
/// derivative with respect to the action depends on the action.
///
/// ```
/// let net = tractable::recipes::value(17 + 6).build()?;
/// assert_eq!(net.layer_names()[1], "tanh1");
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn value(inputs: usize) -> NetworkBuilder {
    Network::builder(Shape::flat(inputs))
        .layer(Layer::linear(128))
        .layer(Activation::Tanh)
        .layer(Layer::linear(128))
        .layer(Activation::Relu)
        .layer(Layer::linear(128))
        .layer(Activation::Relu)
        .layer(Layer::linear(1))
}

/// [`cifar10`] as in the authors' code: with batch normalisation after each convolution's activation, and a last
/// pool with stride 1, so that the dense layer sees 8 by 8 pixels instead of 4 by 4.
///
/// ```
/// let net = tractable::recipes::cifar10_norm().build()?;
/// assert!(net.layer_names().contains(&"batch_norm3".to_string()));
/// assert_eq!(net.parameters(), 342_507);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn cifar10_norm() -> NetworkBuilder {
    let mut net = Network::builder(Shape::image(3, 32, 32));
    for (channels, stride) in [(32, 2), (32, 2), (64, 1)] {
        net = net
            .layer(Layer::conv2d(channels, 5).padding(2))
            .layer(Activation::Relu)
            .layer(Layer::batch_norm())
            .layer(Layer::avg_pool2d(3).stride(stride).end_padding(3 - stride));
    }
    net.layer(Layer::linear(64)).layer(Activation::Relu).layer(Layer::linear(11)).classes(10)
}
