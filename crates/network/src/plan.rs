//! Plans: lists of operations over numbered states, made from the [`Graph`]. A device
//! runs a list from top to bottom without reading anything back: errors are recorded in its status.

use crate::graph::Graph;
use crate::layer::Layer;
use tractable_core::moments::Activation;
use tractable_devices::Purpose;

/// One operation. States are numbered as in [`Graph`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// Computes a layer's state from those it reads.
    Forward { layer: usize, purpose: Purpose },
    /// Computes the first three layers in one kernel, while learning.
    Join,
    /// Records the first state that is not finite, if the output is not.
    CheckStates,
    /// The innovation of the output, from the observation.
    Observe,
    /// Infers the noise of the observation, and the innovation of the noise head.
    InferNoise,
    /// While learning: what the innovation of a normalisation says about the whole batch, for its way back and its parameters.
    Total { layer: usize },
    /// Propagates a layer's innovation down to a state it reads; `more`: add to that of another layer.
    Back { layer: usize, state: usize, more: bool },
    /// Records an innovation of this state that is not finite.
    CheckInnovation { state: usize },
    /// The state's posterior becomes its prior.
    Posterior { state: usize },
    /// Propagates rows of the output down like an innovation.
    BackRows { layer: usize, state: usize, more: bool },
    /// Adds the contribution of a state's own variance to the rows' covariance; for the input that is its full variance.
    Spread { state: usize },
}

impl Graph {
    /// Computes the states that depend on `from`, and checks the output.
    pub(crate) fn forward(&self, from: usize, purpose: Purpose) -> Vec<Op> {
        let above = self.above(|state| state == from);
        let layers = (0..self.layers.len()).filter(|&i| from == 0 || (i + 1 > from && above[i + 1]));
        layers.map(|layer| Op::Forward { layer, purpose }).chain([Op::CheckStates]).collect()
    }

    /// The output's innovation down to every state that is `wanted`, after a pass forward for the same purpose.
    pub(crate) fn back(&self, purpose: Purpose, wanted: impl Fn(usize) -> bool) -> Vec<Op> {
        let needed = self.above(wanted);
        let mut reached = vec![false; needed.len()];
        let mut ops = Vec::new();
        for layer in (0..self.layers.len()).rev().filter(|&i| self.head != Some(i)) {
            if purpose == Purpose::Learn && matches!(self.layers[layer], Layer::BatchNorm { .. }) {
                ops.push(Op::Total { layer });
            }
            for &state in self.inputs[layer].iter().filter(|&&s| needed[s]) {
                ops.push(Op::Back { layer, state, more: reached[state] });
                reached[state] = true;
            }
        }
        ops
    }

    /// From the input to the innovations of all layers with parameters.
    pub(crate) fn learn(&self) -> Vec<Op> {
        let mut ops = self.forward(0, Purpose::Learn);
        ops.extend([Op::Observe, Op::InferNoise]);
        let has_parameters = |state: usize| state > 0 && self.has_parameters(state - 1);
        ops.extend(self.back(Purpose::Learn, has_parameters));
        // Non-finite values propagate down: checking the lowest states and the output is enough.
        let needed = self.above(has_parameters);
        let lowest = |s: &usize| needed[*s] && (*s == 0 || !self.inputs[*s - 1].iter().any(|&b| needed[b]));
        let states = (0..self.output()).filter(lowest).chain([self.output()]);
        ops.extend(states.map(|state| Op::CheckInnovation { state }));
        ops
    }

    /// The same with the first three layers fused, for a network that begins with a convolution, ReLU and average pooling.
    pub(crate) fn learn_joined(&self) -> Option<Vec<Op>> {
        let first = (self.layers.first()?, self.layers.get(1)?, self.layers.get(2)?);
        let kinds = matches!(
            first,
            (Layer::Conv2d { .. }, Layer::Activation { function: Activation::Relu }, Layer::AvgPool2d { .. })
        );
        let chain = (0..3).all(|i| self.inputs[i] == [i]) && (0..3).all(|s| self.readers(s).count() == 1);
        let joined = |op| match op {
            Op::Forward { layer: 0, .. } => Some(Op::Join),
            Op::Forward { layer: 1 | 2, .. } | Op::Back { state: 1 | 2, .. } => None,
            Op::CheckInnovation { state: 1 } => Some(Op::CheckInnovation { state: 3 }),
            other => Some(other),
        };
        (kinds && chain).then(|| self.learn().into_iter().filter_map(joined).collect())
    }

    /// One round of conditioning a state on an observation: `first` computes the whole network, later rounds what
    /// depends on the state.
    pub(crate) fn condition(&self, state: usize, first: bool) -> Vec<Op> {
        let mut ops = self.forward(if first { 0 } else { state }, Purpose::Predict);
        ops.push(Op::Observe);
        ops.extend(self.back(Purpose::Predict, |s| s == state));
        ops.push(Op::Posterior { state });
        ops
    }

    /// Rows of a state down to another, and the covariance they have given that one; `slopes` and `spread` tell which
    /// of the two is asked for. Without a state to end at, all that lies below is unknown. Of a state inside a residual block, the
    /// covariance with the path around it is ignored.
    pub(crate) fn rows(&self, from: usize, at: Option<usize>, slopes: bool, spread: bool) -> Vec<Op> {
        let own = |state: usize| spread && Some(state) != at && (state == 0 || self.has_own(state - 1));
        let needed = self.above(|s| (slopes && Some(s) == at) || own(s));
        let mut reached = vec![false; needed.len()];
        reached[from] = true;
        let mut ops = Vec::new();
        for layer in (0..self.layers.len()).rev() {
            if !reached[layer + 1] || Some(layer + 1) == at {
                continue;
            }
            if own(layer + 1) {
                ops.push(Op::Spread { state: layer + 1 });
            }
            for &state in self.inputs[layer].iter().filter(|&&s| needed[s]) {
                ops.push(Op::BackRows { layer, state, more: reached[state] });
                reached[state] = true;
            }
        }
        if reached[0] && own(0) {
            ops.push(Op::Spread { state: 0 });
        }
        ops
    }

    /// Whether a layer adds variance of its own to what it reads.
    fn has_own(&self, layer: usize) -> bool {
        let curved =
            matches!(self.layers[layer], Layer::Activation { function } if function != Activation::Identity);
        curved || self.has_parameters(layer)
    }

    /// Whether a layer learns.
    pub(crate) fn has_parameters(&self, layer: usize) -> bool {
        matches!(self.layers[layer].parameter_shape(self.input_shape(layer)), Ok(Some(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tractable_core::moments::Activation;
    use tractable_core::shape::Shape;

    /// linear1 -> tanh1 -> linear2 -> add1(linear1, linear2) -> linear3
    fn branched() -> Graph {
        let linear = Layer::linear(4);
        let layers = [linear, Activation::Tanh.into(), linear, Layer::Add, Layer::linear(1)];
        let names = ["a", "b", "c", "d", "e"].map(String::from);
        let inputs = [vec![0], vec![1], vec![2], vec![1, 3], vec![4]];
        Graph::new(Shape::flat(4), &layers, &names, &inputs, None).unwrap()
    }

    #[test]
    fn a_state_that_two_layers_read_is_added_up() {
        let back: Vec<_> = branched()
            .back(Purpose::Predict, |s| s == 1)
            .into_iter()
            .map(|op| match op {
                Op::Back { layer, state, more } => (layer, state, more),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(back, [(4, 4, false), (3, 1, false), (3, 3, false), (2, 2, false), (1, 1, true)]);
    }

    #[test]
    fn only_what_depends_on_a_state_is_computed_again() {
        let layers = |from| {
            let ops = branched().forward(from, Purpose::Predict).into_iter();
            ops.filter_map(|op| if let Op::Forward { layer, .. } = op { Some(layer) } else { None })
                .collect::<Vec<_>>()
        };
        assert_eq!(layers(0), [0, 1, 2, 3, 4]);
        assert_eq!(layers(3), [3, 4]);
        assert_eq!(layers(1), [1, 2, 3, 4]);
    }

    #[test]
    fn learning_does_not_go_down_to_the_input() {
        let ops = branched().learn();
        assert!(ops.iter().all(|op| !matches!(op, Op::Back { state: 0, .. })));
        assert!(ops.contains(&Op::CheckInnovation { state: 1 }));
    }
}
