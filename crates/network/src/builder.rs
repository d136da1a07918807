//! Building a network: shape, layers, output, prior, seed, device.

use crate::graph::Graph;
use crate::layer::{Contents, Layer, Node, Prior};
use crate::network::{Network, Spec};
use crate::output::{ClassUnits, Head, Noise, NoiseStd, Output};
use tractable_core::error::{Error, Result};
use tractable_core::memory;
use tractable_core::moments::Activation;
use tractable_core::shape::Shape;
use tractable_devices::{Device, UpdateRule};

/// Builds a network; start with [`Network::builder`] or [`Network::mlp`].
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
    nodes: Vec<Node>,
    classes: Option<usize>,
    head: Head,
    prior: Option<Prior>,
    update: UpdateRule,
    seed: u64,
    noise: Noise,
    noise_std: Option<Vec<f64>>,
    device: Option<Device>,
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
            nodes: Vec::new(),
            classes: None,
            head: Head::default(),
            prior: None,
            update: UpdateRule::default(),
            seed: 0,
            noise: Noise::Inferred,
            noise_std: None,
            device: None,
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
    /// Adds a layer on top; [`Layer::named`] and [`Layer::of`] give it a name and its own inputs.
    ///
    /// ```
    /// # use tractable::{Activation, Layer, Network, Shape};
    /// let b = Network::builder(Shape::flat(2)).layer(Layer::linear(4)).layer(Activation::Tanh);
    /// assert!(b.layer(Layer::linear(1)).build().is_ok());
    /// ```
    pub fn layer(mut self, layer: impl Into<Node>) -> Self {
        self.nodes.push(layer.into());
        self
    }

    /// Classification with this many classes. If a linear last layer has one output per class, it
    /// gets one unit per node of the [tree](crate::Tree) instead.
    ///
    /// ```
    /// # use tractable::{Activation, Network, network::{Head, Output}};
    /// let net = Network::mlp([4, 16, 3], Activation::Relu).classes(3).build()?;
    /// assert_eq!(net.output(), Output::Classes { classes: 3, head: Head::Tree });
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn classes(mut self, classes: usize) -> Self {
        self.classes = Some(classes);
        self
    }

    /// How classes are read from the output; [`Head::Tree`] unless set.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network, network::Head};
    /// let mut net = Network::mlp([4, 16, 3], Activation::Relu).classes(3).head(Head::Softmax).build()?;
    /// let x = Matrix::new(vec![0.1, 0.2, 0.3, 0.4], 4)?;
    /// let before = net.predict_classes(&x)?.row(0)[2];
    /// net.learn(&x, &[2])?;
    /// assert!(net.predict_classes(&x)?.row(0)[2] > before);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn head(mut self, head: Head) -> Self {
        self.head = head;
        self
    }

    /// Prior of the weights; unless set, [`Prior::he`], or with [`UpdateRule::Paced`] [`Prior::deep`].
    ///
    /// ```
    /// # use tractable::{Activation, Network, Prior};
    /// let b = Network::mlp([4, 16, 1], Activation::Relu).prior(Prior::xavier());
    /// assert_eq!(b.build()?.prior(), Prior::xavier());
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn prior(mut self, prior: Prior) -> Self {
        self.prior = Some(prior);
        self
    }

    /// How a batch changes the weights; [`UpdateRule::Capped`] unless set.
    ///
    /// ```
    /// # use tractable::{Activation, Network, network::UpdateRule};
    /// let b = Network::mlp([4, 16, 1], Activation::Relu).update_rule(UpdateRule::Plain);
    /// assert_eq!(b.build()?.update_rule(), UpdateRule::Plain);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn update_rule(mut self, rule: UpdateRule) -> Self {
        self.update = rule;
        self
    }

    /// Seed for the means of the weights; 0 unless set.
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

    /// Known noise of the observations: one standard deviation for all outputs or one for each; in standardised
    /// units if targets are standardised. Unless set, it is inferred; for classes it is 1.
    ///
    /// ```
    /// # use tractable::{Activation, Network};
    /// let net = Network::mlp([4, 16, 2], Activation::Relu).noise_std([0.1, 0.3]).build()?;
    /// assert_eq!(net.noise_std(), [0.1, 0.3]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn noise_std(mut self, std: impl IntoIterator<Item = f64>) -> Self {
        self.noise = Noise::Known;
        self.noise_std = Some(std.into_iter().collect());
        self
    }

    /// How noise is inferred: one number per output, or as a function of the input.
    ///
    /// ```
    /// # use tractable::{Activation, Matrix, Network, Noise};
    /// let mut net = Network::mlp([1, 16, 1], Activation::MixtureRelu).noise(Noise::PerInput).build()?;
    /// let x = Matrix::column(vec![-1.0, 1.0])?;
    /// net.learn(&x, &Matrix::column(vec![0.1, 3.0])?)?;
    /// let noise = net.predict(&x)?.noise_var().to_vec();
    /// assert_ne!(noise[0], noise[1]);
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn noise(mut self, noise: Noise) -> Self {
        self.noise = noise;
        self
    }

    /// Where to compute; all cores unless set.
    ///
    /// ```
    /// # use tractable::{Activation, Device, Network};
    /// let net = Network::mlp([4, 16, 1], Activation::Relu).device(Device::cpu(1)).build()?;
    /// # Ok::<(), tractable::Error>(())
    /// ```
    pub fn device(mut self, device: impl Into<Device>) -> Self {
        self.device = Some(device.into());
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
        let NetworkBuilder {
            input,
            mut nodes,
            classes,
            head,
            prior,
            update,
            seed,
            mut noise,
            noise_std,
            device,
        } = self;
        let prior = prior.unwrap_or(match update {
            UpdateRule::Paced { .. } => Prior::deep(),
            _ => Prior::default(),
        });
        prior.check()?;
        if head == Head::Softmax && (classes.is_none() || noise_std.is_some()) {
            let why = if classes.is_none() { "a softmax needs classes" } else { "a softmax has no noise" };
            return Err(Error::invalid("head", why));
        }
        if let Some(classes) = classes {
            let units = ClassUnits::new(classes, head)?.units();
            if let Some(Layer::Linear { outputs }) = nodes.last_mut().map(|n| &mut n.layer) {
                if ![classes, units].contains(outputs) {
                    let expected = format!("{classes} outputs, one per class");
                    return Err(Error::shape("last layer", expected, *outputs));
                }
                *outputs = units;
            }
        }
        if classes.is_some() {
            noise = Noise::Known;
        }
        let start = if noise == Noise::Known { 1.0 } else { START_NOISE_VAR.sqrt() };
        let noise_std = noise_std.unwrap_or_else(|| vec![start]);
        if noise == Noise::PerInput {
            add_head(&mut nodes)?;
        }
        let layers: Vec<Layer> = nodes.iter().map(|n| n.layer).collect();
        let names = names(&nodes);
        let inputs = inputs(&nodes, &names)?;
        // The head of the noise, which no layer reads, is known once the output is.
        let of_noise = (noise == Noise::PerInput).then(|| layers.len() - 2);
        let graph = Graph::new(input, &layers, &names, &inputs, of_noise)?;
        let average = update.average(0).map_or(0, |_| BYTES_OF_AVERAGE);
        memory::check(graph.parameters as u64 * (BYTES_PER_PARAMETER + average))?;
        let width = graph.shapes[graph.output()].len();
        let output =
            classes.map_or(Output::Values { width, noise }, |classes| Output::Classes { classes, head });
        let noise = NoiseStd::new(noise_std, width)?;
        let spec = Spec { inputs, prior, update, seed, noise, ..Spec::new(input, layers, names, output) };
        let draw = |(i, layer): (usize, &Layer)| {
            let Some(priors) = spec.prior_of(&graph, i)? else { return Ok(Contents::default()) };
            let parameters =
                spec.prior.draw(priors, layer, graph.input_shape(i), of_noise == Some(i), seed, i)?;
            Ok(Contents { parameters, ..Contents::default() })
        };
        let contents = spec.layers.iter().enumerate().map(draw).collect::<Result<Vec<_>>>()?;
        Network::assemble(spec, &contents, device.unwrap_or_default())
    }
}

/// Mean and variance as they are drawn, and on the device, where a copy of the means and sums of updates lie beside them.
const BYTES_PER_PARAMETER: u64 = 32;
/// A second set of them on the device.
const BYTES_OF_AVERAGE: u64 = 8;

/// Initial noise variance for inference, for standardised targets.
const START_NOISE_VAR: f64 = 0.367_879_441_171_442_33; // 1/e

/// Inserts the noise head before the last layer: same width, same inputs.
fn add_head(nodes: &mut Vec<Node>) -> Result<()> {
    let names = names(nodes);
    let Some((last, below)) = nodes.split_last() else { return Ok(()) };
    let Layer::Linear { .. } = last.layer else {
        return Err(Error::invalid("noise", "input-dependent noise needs a linear last layer"));
    };
    let reads = last
        .inputs
        .clone()
        .unwrap_or_else(|| vec![below.len().checked_sub(1).map_or("input".into(), |i| names[i].clone())]);
    let head = Node { layer: last.layer, name: Some("noise".into()), inputs: Some(reads.clone()) };
    let at = nodes.len() - 1;
    nodes[at].inputs = Some(reads);
    nodes[at].name = Some(names[at].clone());
    nodes.insert(at, head);
    Ok(())
}

/// Names of the layers: as given, or the kind and its number.
fn names(nodes: &[Node]) -> Vec<String> {
    let kind = |i: usize| nodes[i].layer.kind();
    let number = |i: usize| (0..=i).filter(|&j| kind(j) == kind(i)).count();
    let own = |(i, n): (usize, &Node)| n.name.clone().unwrap_or_else(|| format!("{}{}", kind(i), number(i)));
    nodes.iter().enumerate().map(own).collect()
}

/// The states that layers read: the named ones, or the previous one.
fn inputs(nodes: &[Node], names: &[String]) -> Result<Vec<Vec<usize>>> {
    let state = |i: usize, name: &String| {
        let known =
            || format!("`{name}` is not an earlier layer; there are input, {}", names[..i].join(", "));
        let found = names[..i].iter().position(|n| n == name).map(|at| at + 1);
        let found = if name == "input" { Some(0) } else { found };
        found.ok_or_else(|| Error::invalid(format!("layer `{}`", names[i]), known()))
    };
    let own = |(i, n): (usize, &Node)| match &n.inputs {
        None => Ok(vec![i]),
        Some(inputs) => inputs.iter().map(|name| state(i, name)).collect(),
    };
    nodes.iter().enumerate().map(own).collect()
}
