//! Putting a network together: shape, layers, output, prior, seed, device.

use crate::backend::{Device, Policy};
use crate::error::{Error, Result};
use crate::layer::{Contents, Layer, Prior};
use crate::moments::Activation;
use crate::network::{Network, Spec};
use crate::output::{Noise, Output, Tree};
use crate::shape::Shape;

/// A network in the making; [`Network::builder`] and [`Network::mlp`] start one.
///
/// ```
/// use tractable::{Activation, Layer, Network, Shape};
/// let net = Network::builder(Shape::image(1, 28, 28))
///     .layer(Layer::conv2d(32, 4).padding(1))
///     .layer(Activation::Relu)
///     .layer(Layer::avg_pool2d(3).stride(2))
///     .layer(Layer::linear(11))
///     .classes(10)
///     .seed(0)
///     .build()?;
/// assert_eq!(net.layer_names(), ["conv1", "relu1", "avg_pool1", "linear1"]);
/// # Ok::<(), tractable::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NetworkBuilder {
    input: Shape,
    layers: Vec<(Layer, Option<String>)>,
    classes: Option<usize>,
    prior: Prior,
    policy: Policy,
    seed: u64,
    noise_std: Vec<f64>,
    device: Device,
}

impl Network {
    /// Starts a network for samples of this shape.
    ///
    /// ```
    /// # use tractable::{Layer, Network, Shape};
    /// let net = Network::builder(Shape::flat(3)).layer(Layer::linear(1)).build()?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn builder(input: Shape) -> NetworkBuilder {
        NetworkBuilder {
            input,
            layers: Vec::new(),
            classes: None,
            prior: Prior::default(),
            policy: Policy::default(),
            seed: 0,
            noise_std: vec![1.0],
            device: Device::default(),
        }
    }

    /// Starts a network of dense layers with this activation between them: widths of the input, of every
    /// hidden layer and of the output.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([13, 50, 1], Activation::Relu).seed(0).build()?;
    /// assert_eq!(net.layer_names(), ["linear1", "relu1", "linear2"]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn mlp(widths: impl IntoIterator<Item = usize>, activation: Activation) -> NetworkBuilder {
        let mut widths = widths.into_iter();
        let mut builder = Network::builder(Shape::flat(widths.next().unwrap_or(0)));
        for (i, width) in widths.enumerate() {
            if i > 0 {
                builder = builder.layer(activation);
            }
            builder = builder.layer(Layer::linear(width));
        }
        builder
    }
}

impl NetworkBuilder {
    /// Adds a layer on top.
    ///
    /// ```
    /// # use tractable::{Activation, Layer, Network, Shape};
    /// let b = Network::builder(Shape::flat(2)).layer(Layer::linear(4)).layer(Activation::Tanh);
    /// assert!(b.layer(Layer::linear(1)).build().is_ok());
    /// ```
    pub fn layer(mut self, layer: impl Into<Layer>) -> Self {
        self.layers.push((layer.into(), None));
        self
    }

    /// Names the layer added last; without it layers are called `linear1`, `relu1`, `linear2` and so on.
    ///
    /// ```
    /// # use tractable::{Layer, Network, Shape};
    /// let net = Network::builder(Shape::flat(2)).layer(Layer::linear(1)).named("head").build()?;
    /// assert_eq!(net.layer_names(), ["head"]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn named(mut self, name: impl Into<String>) -> Self {
        if let Some((_, own)) = self.layers.last_mut() {
            *own = Some(name.into());
        }
        self
    }

    /// The output is one of so many classes. A linear last layer gets one unit for every node of the
    /// [tree](crate::Tree), whatever width it was given.
    ///
    /// ```
    /// # use tractable::{Activation, Network, Output};
    /// let net = Network::mlp([4, 16, 3], Activation::Relu).classes(3).build()?;
    /// assert_eq!(net.output(), Output::Classes { classes: 3 });
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn classes(mut self, classes: usize) -> Self {
        self.classes = Some(classes);
        self
    }

    /// Prior of the weights; [`Prior::he`] unless set.
    ///
    /// ```
    /// # use tractable::{Activation, Network, Prior};
    /// let b = Network::mlp([4, 16, 1], Activation::Relu).prior(Prior::xavier());
    /// assert_eq!(b.build()?.prior(), Prior::xavier());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn prior(mut self, prior: Prior) -> Self {
        self.prior = prior;
        self
    }

    /// How a batch changes the weights; [`Policy::Capped`] unless set.
    ///
    /// ```
    /// # use tractable::{Activation, Network, Policy};
    /// let b = Network::mlp([4, 16, 1], Activation::Relu).policy(Policy::Plain);
    /// assert_eq!(b.build()?.policy(), Policy::Plain);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// The seed from which the means of the weights are drawn; 0 unless set.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// assert_eq!(Network::mlp([4, 16, 1], Activation::Relu).seed(7).build()?.seed(), 7);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Noise of the observations: a standard deviation for all outputs or one for each, in the units of the
    /// standardised target where targets are standardised; 1 unless set.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([4, 16, 2], Activation::Relu).noise_std([0.1, 0.3]).build()?;
    /// assert_eq!(net.noise_std(), [0.1, 0.3]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn noise_std(mut self, std: impl IntoIterator<Item = f64>) -> Self {
        self.noise_std = std.into_iter().collect();
        self
    }

    /// Where to compute; all cores unless set.
    ///
    /// ```
    /// # use tractable::{Activation, Device, Network};
    /// let net = Network::mlp([4, 16, 1], Activation::Relu).device(Device::cpu(1)).build()?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn device(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// Checks that everything fits and draws the weights.
    ///
    /// ```
    /// # use tractable::{Layer, Network, Shape};
    /// let err = Network::builder(Shape::flat(3)).layer(Layer::conv2d(4, 3)).build().unwrap_err();
    /// assert!(err.to_string().starts_with("layer `conv1`"));
    /// ```
    pub fn build(self) -> Result<Network> {
        let NetworkBuilder { input, layers, classes, prior, policy, seed, noise_std, device } = self;
        prior.check()?;
        let (mut layers, own_names): (Vec<_>, Vec<_>) = layers.into_iter().unzip();
        if let Some(classes) = classes {
            let nodes = Tree::new(classes)?.nodes();
            if let Some(Layer::Linear { outputs }) = layers.last_mut() {
                *outputs = nodes;
            }
        }
        let names = names(&layers, own_names);
        let shapes = shapes(input, &layers, &names)?;
        let units = shapes.last().map_or(0, Shape::len);
        let output = classes.map_or(Output::Values { width: units }, |classes| Output::Classes { classes });
        let noise = Noise::new(noise_std, units)?;
        let spec = Spec { prior, policy, seed, noise, ..Spec::new(input, layers, names, output) };
        let contents = spec
            .layers
            .iter()
            .zip(&shapes)
            .enumerate()
            .map(|(i, (layer, &shape))| {
                let parameters = prior.draw(layer, shape, seed, i)?.unwrap_or_default();
                Ok(Contents { parameters, running: None })
            })
            .collect::<Result<Vec<_>>>()?;
        Network::assemble(spec, &contents, device)
    }
}

/// Names of the layers: a given one, or the kind and its number.
fn names(layers: &[Layer], own: Vec<Option<String>>) -> Vec<String> {
    let number = |i: usize| layers[..=i].iter().filter(|l| l.kind() == layers[i].kind()).count();
    own.into_iter()
        .enumerate()
        .map(|(i, own)| own.unwrap_or_else(|| format!("{}{}", layers[i].kind(), number(i))))
        .collect()
}

/// Layers a network may have, and bytes of their names: files hold no more (`checkpoint/header.rs`).
const MOST_LAYERS: usize = 1000;
const LONGEST_NAME: usize = 200;

/// Parameters a network may have: more would not fit the memory of any machine this is meant for.
const MOST_PARAMETERS: usize = 1 << 31;

/// Devices keep a layer's weights in rows of whole vectors, so many outputs each: a layer of one output takes this many
/// times its size. Beyond [`FREE_PARAMETERS`] a network may take [`MOST_TIMES`] its size, lest a small file fill memory.
const VECTOR: usize = 32;
const FREE_PARAMETERS: usize = 6 << 20;
const MOST_TIMES: usize = 4;

/// Channels of a normalisation, which is read and filled in one piece.
const MOST_CHANNELS: usize = 1 << 18;

/// Numbers the states of one sample may take, layer upon layer: a model file is not to be a bomb.
const MOST_NUMBERS: usize = 1 << 26;

/// Shapes of the input and of every layer's output; an error says which layer does not fit.
pub(crate) fn shapes(input: Shape, layers: &[Layer], names: &[String]) -> Result<Vec<Shape>> {
    let at = |name: &str, e: Error| Error::invalid(format!("layer `{name}`"), e.to_string());
    let size = input.channels.checked_mul(input.height).and_then(|n| n.checked_mul(input.width));
    if size.is_none_or(|n| n == 0 || n > MOST_NUMBERS) {
        return Err(Error::invalid(
            "input shape",
            format!("{input} cannot be used: 1 to 2^26 numbers in all"),
        ));
    }
    if layers.is_empty() || layers.len() > MOST_LAYERS {
        let why = format!("a network has 1 to {MOST_LAYERS}, not {}", layers.len());
        return Err(Error::invalid("layers", why));
    }
    let mut taken = std::collections::HashSet::from(["", "input"]);
    for name in names {
        if !taken.insert(name) {
            let why = "a layer's name must be its own, not empty and not `input`";
            return Err(Error::invalid(format!("layer name `{name}`"), why));
        }
        if name.len() > LONGEST_NAME {
            let why = format!(
                "`{}...` has {} bytes, at most {LONGEST_NAME} can be saved",
                name.chars().take(20).collect::<String>(),
                name.len()
            );
            return Err(Error::invalid("layer name", why));
        }
    }
    let mut shapes = vec![input];
    let (mut parameters, mut kept, mut sample) = (0usize, 0usize, 0usize);
    for (layer, name) in layers.iter().zip(names) {
        let shape = *shapes.last().expect("the input is there");
        let output = layer.output(shape).map_err(|e| at(name, e))?;
        let sides = [output.channels, output.height, output.width];
        let size = sides.iter().try_fold(1usize, |n, &side| n.checked_mul(side));
        if let Some((dims, biases)) = layer.parameter_shape(shape).map_err(|e| at(name, e))? {
            let weights = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
            let all = weights.and_then(|w| w.checked_add(biases)?.checked_add(parameters));
            let Some(all) = all.filter(|&n| n <= MOST_PARAMETERS) else {
                return Err(at(name, Error::invalid("size", "more than 2^31 parameters")));
            };
            if matches!(layer, Layer::BatchNorm { .. }) && biases > MOST_CHANNELS {
                return Err(at(name, Error::invalid("size", format!("more than {MOST_CHANNELS} channels"))));
            }
            parameters = all;
            kept += dims[1..].iter().product::<usize>() * biases.next_multiple_of(VECTOR);
            if kept > FREE_PARAMETERS + MOST_TIMES * parameters {
                let why = "weights lie in rows of 32 outputs, which take more than 48 MiB and four times their size here";
                return Err(at(name, Error::invalid("size", why)));
            }
        }
        // The image with its zeros around it is held in memory too.
        let padded = layer.window().map_or(Some(0), |w| w.padded(shape));
        sample =
            [size, padded].iter().try_fold(sample, |n, more| n.checked_add((*more)?)).unwrap_or(usize::MAX);
        if sample > MOST_NUMBERS {
            return Err(at(name, Error::invalid("size", "one sample takes more than 2^26 numbers")));
        }
        shapes.push(output);
    }
    Ok(shapes)
}
