//! Residual networks for images, in the usual order: convolutions without biases, batch normalisation, ReLU.

use crate::builder::NetworkBuilder;
use crate::layer::Layer;
use crate::network::Network;
use crate::output::Head;
use tractable_core::moments::Activation;
use tractable_core::shape::Shape;
use tractable_devices::UpdateRule;

/// How residual networks learn; a fit counts its own rows.
///
/// ```
/// use tractable::{Shape, recipes};
/// let net = recipes::resnet20(Shape::image(1, 8, 8), 10).build()?;
/// assert_eq!(net.update_rule(), recipes::RESIDUAL_RULE);
/// # Ok::<(), tractable::Error>(())
/// ```
pub const RESIDUAL_RULE: UpdateRule = UpdateRule::paced(50_000);

/// What all residual networks have in common beside their layers: the head, and how they learn.
fn settings(net: NetworkBuilder, classes: usize) -> NetworkBuilder {
    net.classes(classes).head(Head::Softmax).update_rule(RESIDUAL_RULE)
}

/// ResNet-18 for images of any shape: a 3x3 stem, four stages of two blocks with 64, 128, 256 and 512 channels, the mean over all
/// pixels, and a softmax. Where the shape changes, a shortcut is a normalised 1x1 convolution.
///
/// ```
/// # use tractable::Shape;
/// let net = tractable::recipes::resnet18(Shape::image(3, 32, 32), 10).build()?;
/// assert_eq!(net.parameters(), 11_173_962);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn resnet18(input: Shape, classes: usize) -> NetworkBuilder {
    resnet18_of(64, input, classes)
}

/// [`resnet18`] with `width` channels in the first stage, instead of 64.
///
/// ```
/// # use tractable::Shape;
/// let net = tractable::recipes::resnet18_of(8, Shape::image(1, 8, 8), 10).build()?;
/// assert_eq!(net.layer_names().last().unwrap(), "linear1");
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn resnet18_of(width: usize, input: Shape, classes: usize) -> NetworkBuilder {
    usual(&[width, 2 * width, 4 * width, 8 * width], 2, input, classes)
}

/// ResNet-20 for images of any shape: a 3x3 stem, three stages of three blocks with 16, 32 and 64 channels, the mean over all pixels,
/// and a softmax. Shortcuts as in [`resnet18`] (option B of the paper; 2,752 parameters more than option A).
///
/// ```
/// # use tractable::Shape;
/// let net = tractable::recipes::resnet20(Shape::image(3, 32, 32), 10).build()?;
/// assert_eq!(net.parameters(), 272_474);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn resnet20(input: Shape, classes: usize) -> NetworkBuilder {
    resnet20_of(16, input, classes)
}

/// [`resnet20`] with `width` channels in the first stage, instead of 16.
///
/// ```
/// # use tractable::Shape;
/// assert!(tractable::recipes::resnet20_of(4, Shape::image(1, 8, 8), 10).build().is_ok());
/// ```
pub fn resnet20_of(width: usize, input: Shape, classes: usize) -> NetworkBuilder {
    usual(&[width, 2 * width, 4 * width], 3, input, classes)
}

/// The wide residual network WRN-16-4 for images of any shape: a 3x3 stem of 16 channels, three stages of two blocks with 64, 128 and
/// 256 channels that normalise before they convolve, the mean over all pixels, and a softmax. Where the shape changes, a shortcut is a 1x1
/// convolution of what the block has normalised.
///
/// ```
/// # use tractable::Shape;
/// let net = tractable::recipes::wrn_16_4(Shape::image(3, 32, 32), 10).build()?;
/// assert_eq!(net.parameters(), 2_748_890);
/// # Ok::<(), tractable::Error>(())
/// ```
pub fn wrn_16_4(input: Shape, classes: usize) -> NetworkBuilder {
    wrn_of(16, 4, input, classes)
}

/// [`wrn_16_4`] with a stem of `width` channels instead of 16, and `times` as many in the first stage.
///
/// ```
/// # use tractable::Shape;
/// assert!(tractable::recipes::wrn_of(4, 2, Shape::image(1, 8, 8), 10).build().is_ok());
/// ```
pub fn wrn_of(width: usize, times: usize, input: Shape, classes: usize) -> NetworkBuilder {
    let net = Network::builder(input).layer(conv(width, 3, 1).named("stem"));
    let mut tower = Tower { net, from: "stem".into(), channels: width, blocks: 0 };
    let stages = [1, 2, 4].map(|n| n * width * times);
    for (channels, stride) in blocks(&stages, 2) {
        tower = tower.normalised_first(channels, stride);
    }
    let net = tower.net.layer(Layer::batch_norm()).layer(Activation::Relu);
    mean_and_classes(net, input, stages.len(), classes)
}

/// Stages of blocks that convolve before they normalise.
fn usual(stages: &[usize], each: usize, input: Shape, classes: usize) -> NetworkBuilder {
    let net = Network::builder(input).layer(conv(stages[0], 3, 1)).layer(Layer::batch_norm());
    let net = net.layer(Layer::from(Activation::Relu).named("stem"));
    let mut tower = Tower { net, from: "stem".into(), channels: stages[0], blocks: 0 };
    for (channels, stride) in blocks(stages, each) {
        tower = tower.convolved_first(channels, stride);
    }
    mean_and_classes(tower.net, input, stages.len(), classes)
}

/// Channels and stride of every block: the first of every stage but the first halves the image.
fn blocks(stages: &[usize], each: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    let stride = move |i: usize| if i > 0 && i.is_multiple_of(each) { 2 } else { 1 };
    (0..stages.len() * each).map(move |i| (stages[i / each], stride(i)))
}

/// A convolution without biases that keeps the image's size, but for its stride.
fn conv(channels: usize, kernel: usize, stride: usize) -> Layer {
    Layer::conv2d(channels, kernel).padding(kernel / 2).stride(stride).without_bias()
}

/// Blocks on top of each other.
struct Tower {
    net: NetworkBuilder,
    /// What the next block reads, and its channels.
    from: String,
    channels: usize,
    blocks: usize,
}

impl Tower {
    /// Names of layers of the next block.
    fn names<const N: usize>(&self, of: [&str; N]) -> [String; N] {
        of.map(|name| format!("{name}{}", self.blocks + 1))
    }

    /// conv - norm - ReLU - conv - norm, plus the shortcut, then ReLU.
    fn convolved_first(self, channels: usize, stride: usize) -> Self {
        let ([main, shortcut, block], from) = (self.names(["main", "shortcut", "block"]), self.from);
        let mut net = self.net.layer(conv(channels, 3, stride).of([&from])).layer(Layer::batch_norm());
        net = net.layer(Activation::Relu).layer(conv(channels, 3, 1)).layer(Layer::batch_norm().named(&main));
        let mut other = from;
        if (channels, stride) != (self.channels, 1) {
            net =
                net.layer(conv(channels, 1, stride).of([&other])).layer(Layer::batch_norm().named(&shortcut));
            other = shortcut;
        }
        net = net.layer(Layer::Add.of([main, other])).layer(Layer::from(Activation::Relu).named(&block));
        Tower { net, from: block, channels, blocks: self.blocks + 1 }
    }

    /// norm - ReLU - conv - norm - ReLU - conv, plus the shortcut.
    fn normalised_first(self, channels: usize, stride: usize) -> Self {
        let names = self.names(["start", "main", "shortcut", "block"]);
        let ([start, main, shortcut, block], mut other) = (names, self.from);
        let mut net = self.net.layer(Layer::batch_norm().of([&other]));
        net = net.layer(Layer::from(Activation::Relu).named(&start));
        if (channels, stride) != (self.channels, 1) {
            net = net.layer(conv(channels, 1, stride).named(&shortcut));
            other = shortcut;
        }
        net = net.layer(conv(channels, 3, stride).of([start])).layer(Layer::batch_norm());
        net = net.layer(Activation::Relu).layer(conv(channels, 3, 1).named(&main));
        net = net.layer(Layer::Add.of([main, other]).named(&block));
        Tower { net, from: block, channels, blocks: self.blocks + 1 }
    }
}

/// The mean over all pixels and a linear layer. An image that is not square is averaged over the largest squares that tile it, and the linear
/// layer reads all of them.
fn mean_and_classes(net: NetworkBuilder, input: Shape, stages: usize, classes: usize) -> NetworkBuilder {
    let small = |side: usize| (1..stages).fold(side, |side, _| side.div_ceil(2));
    let (mut side, mut rest) = (small(input.height), small(input.width));
    while rest > 0 {
        (side, rest) = (rest, side % rest);
    }
    let net = if side > 1 { net.layer(Layer::avg_pool2d(side)) } else { net };
    settings(net.layer(Layer::linear(classes)), classes)
}
