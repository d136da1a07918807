//! The graph of a network: which states each layer reads, and the shape of every state.
//!
//! States are numbered: 0 is the input, `i + 1` is the output of layer `i`. A layer reads only earlier states, so layers
//! are computed in their order. The last layer is the output.

use crate::layer::Layer;
use tractable_core::error::{Error, Result};
use tractable_core::shape::Shape;

/// Maximum number of layers, and bytes of their names: the limits of files (`checkpoint/header.rs`).
const MOST_LAYERS: usize = 1000;
const LONGEST_NAME: usize = 200;
/// Maximum number of layers that one layer reads.
const MOST_INPUTS: usize = 64;

/// Maximum number of parameters.
const MOST_PARAMETERS: usize = 1 << 31;

/// Channels of a normalisation, which is read and filled in one piece.
const MOST_CHANNELS: usize = 1 << 18;

/// Maximum size of all states of one sample, against malicious model files.
const MOST_NUMBERS: usize = 1 << 26;

/// The layers, what they read, and all shapes; checked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Graph {
    pub(crate) layers: Vec<Layer>,
    pub(crate) names: Vec<String>,
    /// The states that every layer reads.
    pub(crate) inputs: Vec<Vec<usize>>,
    /// The shape of every state.
    pub(crate) shapes: Vec<Shape>,
    /// Total number of weights and biases.
    pub(crate) parameters: usize,
    /// The noise head. No layer reads it, and it sends no innovations down.
    pub(crate) head: Option<usize>,
}

impl Graph {
    /// Checks that everything fits; an error names the layer that does not.
    pub(crate) fn new(
        input: Shape,
        layers: &[Layer],
        names: &[String],
        inputs: &[Vec<usize>],
        head: Option<usize>,
    ) -> Result<Self> {
        let size = input.channels.checked_mul(input.height).and_then(|n| n.checked_mul(input.width));
        if size.is_none_or(|n| n == 0 || n > MOST_NUMBERS) {
            let why = format!("{input} cannot be used: it must have 1 to 2^26 numbers");
            return Err(Error::invalid("input shape", why));
        }
        if layers.is_empty() || layers.len() > MOST_LAYERS {
            let why = format!("a network must have 1 to {MOST_LAYERS} layers, not {}", layers.len());
            return Err(Error::invalid("layers", why));
        }
        if [names.len(), inputs.len()] != [layers.len(); 2] {
            let found = format!("{} names and {} inputs", names.len(), inputs.len());
            return Err(Error::shape("layers", format!("{} names and inputs", layers.len()), found));
        }
        check_names(names)?;
        let mut graph = Graph {
            layers: layers.to_vec(),
            names: names.to_vec(),
            inputs: inputs.to_vec(),
            shapes: vec![input],
            parameters: 0,
            head,
        };
        let mut sample = 0usize;
        for (i, name) in names.iter().enumerate() {
            let at = |e: Error| Error::invalid(format!("layer `{name}`"), e.to_string());
            let shape = graph.input_of(i).map_err(at)?;
            let output = layers[i].output(shape).map_err(at)?;
            graph.count_parameters(i, shape).map_err(at)?;
            let size = [output.channels, output.height, output.width];
            let size = size.iter().try_fold(1usize, |n, &side| n.checked_mul(side));
            // The padded image is held in memory too.
            let padded = layers[i].window().map_or(Some(0), |w| w.padded(shape));
            sample =
                [size, padded].iter().try_fold(sample, |n, m| n.checked_add((*m)?)).unwrap_or(usize::MAX);
            if sample > MOST_NUMBERS {
                return Err(at(Error::invalid("size", "one sample takes more than 2^26 numbers")));
            }
            graph.shapes.push(output);
        }
        let unused =
            (0..layers.len() - 1).find(|&i| graph.readers(i + 1).next().is_none() && head != Some(i));
        match unused {
            None => Ok(graph),
            Some(i) => {
                let why = "no layer reads it, and it is not the last";
                Err(Error::invalid(format!("layer `{}`", names[i]), why))
            }
        }
    }

    /// The shape of what a layer reads.
    fn input_of(&self, layer: usize) -> Result<Shape> {
        let inputs = &self.inputs[layer];
        let fits = match self.layers[layer] {
            Layer::Add => (2..=MOST_INPUTS).contains(&inputs.len()),
            _ => inputs.len() == 1,
        };
        if !fits {
            let expected = if self.layers[layer] == Layer::Add { "2 to 64 layers" } else { "one layer" };
            return Err(Error::shape("inputs", expected, inputs.len()));
        }
        if inputs.iter().any(|&s| s > layer) {
            return Err(Error::invalid("inputs", "a layer can only read earlier layers"));
        }
        if (1..inputs.len()).any(|i| inputs[..i].contains(&inputs[i])) {
            return Err(Error::invalid("inputs", "the same layer is added twice"));
        }
        let shape = self.shapes[inputs[0]];
        match inputs.iter().find(|&&s| self.shapes[s] != shape) {
            None => Ok(shape),
            Some(&other) => Err(Error::shape("inputs", format!("all of {shape}"), self.shapes[other])),
        }
    }

    fn count_parameters(&mut self, layer: usize, input: Shape) -> Result<()> {
        let Some((dims, biases)) = self.layers[layer].parameter_shape(input)? else { return Ok(()) };
        let weights = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        let all = weights.and_then(|w| w.checked_add(biases)?.checked_add(self.parameters));
        self.parameters = all
            .filter(|&n| n <= MOST_PARAMETERS)
            .ok_or_else(|| Error::invalid("size", "more than 2^31 parameters"))?;
        if matches!(self.layers[layer], Layer::BatchNorm { .. }) && biases > MOST_CHANNELS {
            return Err(Error::invalid("size", format!("more than {MOST_CHANNELS} channels")));
        }
        Ok(())
    }

    /// The number of the output's state.
    pub(crate) fn output(&self) -> usize {
        self.layers.len()
    }

    /// The shape of a layer's input.
    pub(crate) fn input_shape(&self, layer: usize) -> Shape {
        self.shapes[self.inputs[layer][0]]
    }

    /// The layers that read a state and lead to the output, in order.
    pub(crate) fn readers(&self, state: usize) -> impl Iterator<Item = usize> + '_ {
        (state..self.layers.len()).filter(move |&i| self.inputs[i].contains(&state) && self.head != Some(i))
    }

    /// Which states depend on one of the given states, including themselves.
    pub(crate) fn above(&self, given: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut above = vec![false; self.shapes.len()];
        for state in 0..above.len() {
            let below = state.checked_sub(1).map_or(&[][..], |i| &self.inputs[i]);
            above[state] = given(state) || below.iter().any(|&s| above[s]);
        }
        above
    }
}

fn check_names(names: &[String]) -> Result<()> {
    let mut taken = std::collections::HashSet::from(["", "input"]);
    for name in names {
        if !taken.insert(name) {
            let why = "a layer's name must be unique, not empty and not `input`";
            return Err(Error::invalid(format!("layer name `{name}`"), why));
        }
        if name.len() > LONGEST_NAME {
            let start: String = name.chars().take(20).collect();
            let why = format!("`{start}...` has {} bytes, at most {LONGEST_NAME} can be saved", name.len());
            return Err(Error::invalid("layer name", why));
        }
    }
    Ok(())
}
