//! A network's layers on one device, and the passes over a batch: forward, back, learn, condition.
//! Numbers only: names, units and errors are [`crate::network`]'s.

use crate::backend::{Backend, Part, Policy, Seen, Tally, Units};
use crate::error::Result;
use crate::layer::{Block, Contents, Layer};
use crate::moments::Activation;
use crate::moments::derivative::Gate;
use crate::shape::Shape;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

/// A state that is not finite: layer (0 is the input), row, value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Broken {
    pub(crate) layer: usize,
    pub(crate) row: usize,
    pub(crate) value: f64,
}

pub(crate) struct Stack<B: Backend> {
    backend: B,
    blocks: Vec<Block<B>>,
    /// Memory of a pass over a batch, kept from one to the next.
    pass: Mutex<Pass<B>>,
}

/// States of all layers, the input first, and what blocks remember between the ways forward and back.
struct Pass<B: Backend> {
    states: Vec<B::State>,
    scratch: Vec<B::Scratch>,
    /// The derivative by the layer at hand, and room for the next.
    derivatives: Box<[B::Derivative; 2]>,
}

/// A derivative that is asked for: of this output, by the state `at` (0 is the input).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slope {
    pub(crate) output: usize,
    pub(crate) at: usize,
    pub(crate) gate: Gate,
}

/// Units of a layer by the numbers of their states: pre-activation, activation, what it makes of them.
type Station = (usize, Activation, usize);

/// What a state is made of before anything is observed.
const PRIOR: [Part; 2] = [Part::Mean, Part::Var];
/// What an observation says about it.
const INNOVATION: [Part; 2] = [Part::DMean, Part::DVar];

/// Mean and variance of a layer, row after row.
pub(crate) type MeanVar = [Vec<f64>; 2];

impl<B: Backend> Stack<B> {
    /// Layers without any numbers yet; `shapes` are those of the input and of every layer's output.
    pub(crate) fn new(backend: B, layers: &[Layer], shapes: &[Shape]) -> Result<Self> {
        let blocks = layers.iter().zip(shapes).map(|(l, &s)| Block::new(&backend, l, s));
        let blocks = blocks.collect::<Result<Vec<_>>>()?;
        let states = shapes.iter().map(|&s| backend.state(s)).collect();
        let scratch = blocks.iter().map(|_| B::Scratch::default()).collect();
        let derivatives = Default::default();
        Ok(Stack { backend, blocks, pass: Mutex::new(Pass { states, scratch, derivatives }) })
    }

    /// Numbers that the states of one sample take.
    pub(crate) fn numbers(&self, shapes: &[Shape]) -> usize {
        shapes.iter().map(|&s| self.backend.numbers(s)).sum()
    }

    /// Puts the numbers of some outputs into a layer.
    pub(crate) fn fill(&mut self, layer: usize, outputs: Range<usize>, contents: &Contents) {
        self.blocks[layer].fill(&self.backend, outputs, contents);
    }

    /// The parameters of every layer that has any.
    pub(crate) fn contents(&self) -> Vec<Option<Contents>> {
        self.blocks.iter().map(|b| b.contents(&self.backend)).collect()
    }

    fn pass(&self) -> MutexGuard<'_, Pass<B>> {
        // A pass overwrites whatever an earlier one left, even one that panicked.
        self.pass.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub(crate) fn predict(&self, mean: &[f64], var: Option<&[f64]>) -> std::result::Result<MeanVar, Broken> {
        let pass = &mut *self.pass();
        self.backend.write(&mut pass.states[0], mean, var);
        self.forward(pass, 0, false)?;
        let output = &pass.states[self.blocks.len()];
        Ok(PRIOR.map(|part| self.backend.read(output, part)))
    }

    pub(crate) fn learn(
        &mut self,
        mean: &[f64],
        var: Option<&[f64]>,
        seen: Seen<'_>,
        policy: Policy,
        rows: usize,
    ) -> std::result::Result<Tally, Broken> {
        let mut guard = self.pass();
        let pass = &mut *guard;
        self.backend.write(&mut pass.states[0], mean, var);
        self.forward(pass, 0, true)?;
        self.back(pass, seen, 1);
        // Before any weight is touched. What is not finite in one layer is not finite in those below it, so
        // the lowest layer that was reached tells.
        for layer in [1, self.blocks.len()] {
            if let Some((row, value)) = self.backend.not_finite(&pass.states[layer], INNOVATION) {
                return Err(Broken { layer, row, value });
            }
        }
        drop(guard);
        let pass = self.pass.get_mut().unwrap_or_else(|e| e.into_inner());
        let mut tally = Tally::default();
        for (i, block) in self.blocks.iter_mut().enumerate() {
            let (x, z) = (&pass.states[i], &pass.states[i + 1]);
            tally += block.learn(&self.backend, &mut pass.scratch[i], x, z, policy, rows);
        }
        Ok(tally)
    }

    /// Posterior of layer `at` (0 is the input) after `rounds` observations of the same output.
    pub(crate) fn condition(
        &self,
        mean: &[f64],
        var: Option<&[f64]>,
        seen: Seen<'_>,
        at: usize,
        rounds: usize,
    ) -> std::result::Result<MeanVar, Broken> {
        let pass = &mut *self.pass();
        self.backend.write(&mut pass.states[0], mean, var);
        for round in 0..rounds {
            self.forward(pass, if round == 0 { 0 } else { at }, false)?;
            self.back(pass, seen, at);
            self.backend.posterior(&mut pass.states[at]);
        }
        if let Some((row, value)) = self.backend.not_finite(&pass.states[at], PRIOR) {
            return Err(Broken { layer: at, row, value });
        }
        let state = &pass.states[at];
        Ok(PRIOR.map(|part| self.backend.read(state, part)))
    }

    /// One round of [`condition`](Self::condition) on the input: the output as it was before, and the input's
    /// posterior.
    pub(crate) fn round(
        &self,
        mean: &[f64],
        var: &[f64],
        seen: Seen<'_>,
    ) -> std::result::Result<[MeanVar; 2], Broken> {
        let pass = &mut *self.pass();
        self.backend.write(&mut pass.states[0], mean, Some(var));
        self.forward(pass, 0, false)?;
        let output = PRIOR.map(|part| self.backend.read(&pass.states[self.blocks.len()], part));
        self.back(pass, seen, 0);
        self.backend.posterior(&mut pass.states[0]);
        if let Some((row, value)) = self.backend.not_finite(&pass.states[0], PRIOR) {
            return Err(Broken { layer: 0, row, value });
        }
        Ok([output, PRIOR.map(|part| self.backend.read(&pass.states[0], part))])
    }

    /// The output, and the gradient by the input of a function of the output's means; `by_output` gives the
    /// gradient by those means, `[rows, width]`. Variances count as constant.
    pub(crate) fn gradient(
        &self,
        mean: &[f64],
        by_output: impl FnOnce(&MeanVar) -> Vec<f64>,
    ) -> std::result::Result<(MeanVar, Vec<f64>), Broken> {
        let pass = &mut *self.pass();
        self.backend.write(&mut pass.states[0], mean, None);
        self.forward(pass, 0, false)?;
        let last = self.blocks.len();
        let output = PRIOR.map(|part| self.backend.read(&pass.states[last], part));
        self.backend.innovate(&mut pass.states[last], &by_output(&output));
        self.down(pass, 0);
        if let Some((row, value)) = self.backend.not_finite(&pass.states[0], INNOVATION) {
            return Err(Broken { layer: 0, row, value });
        }
        Ok((output, self.backend.read(&pass.states[0], Part::DMean)))
    }

    /// Mean and variance of the input and of every layer.
    pub(crate) fn states(
        &self,
        mean: &[f64],
        var: Option<&[f64]>,
    ) -> std::result::Result<Vec<MeanVar>, Broken> {
        let pass = &mut *self.pass();
        self.backend.write(&mut pass.states[0], mean, var);
        self.forward(pass, 0, false)?;
        Ok(pass.states.iter().map(|state| PRIOR.map(|part| self.backend.read(state, part))).collect())
    }

    /// Mean and variance of a derivative, and its covariance with the layer. Layers must be dense.
    pub(crate) fn derivative(
        &self,
        mean: &[f64],
        var: Option<&[f64]>,
        slope: Slope,
    ) -> std::result::Result<[Vec<f64>; 3], Broken> {
        let pass = &mut *self.pass();
        self.backend.write(&mut pass.states[0], mean, var);
        self.forward(pass, 0, false)?;
        self.differentiate(pass, slope);
        Ok(self.backend.derivative_read(&pass.derivatives[0]))
    }

    /// Posterior of the state `slope.at` given that the derivative by it is zero, up to a noise variance per unit,
    /// after so many `rounds`; `towards` is 1 for a maximum, -1 for a minimum, 0 for either.
    pub(crate) fn stationary(
        &self,
        mean: &[f64],
        var: Option<&[f64]>,
        slope: Slope,
        noise: &[f64],
        towards: f64,
        rounds: usize,
    ) -> std::result::Result<MeanVar, Broken> {
        let (pass, at) = (&mut *self.pass(), slope.at);
        self.backend.write(&mut pass.states[0], mean, var);
        for round in 0..rounds {
            self.forward(pass, if round == 0 { 0 } else { at }, false)?;
            self.differentiate(pass, slope);
            self.backend.stationary(&pass.derivatives[0], noise, towards, &mut pass.states[at]);
        }
        if let Some((row, value)) = self.backend.not_finite(&pass.states[at], PRIOR) {
            return Err(Broken { layer: at, row, value });
        }
        let state = &pass.states[at];
        Ok(PRIOR.map(|part| self.backend.read(state, part)))
    }

    /// The units whose activation, or pre-activation where there is none, is this state.
    fn station(&self, a: usize) -> Station {
        match a.checked_sub(1).map(|i| &self.blocks[i]) {
            Some(Block::Activation(f)) => (a - 1, *f, a),
            _ => (a, Activation::Identity, a),
        }
    }

    /// The derivative by one layer, from the output down, after a forward pass.
    fn differentiate(&self, pass: &mut Pass<B>, Slope { output, at, gate }: Slope) {
        let Pass { states, scratch, derivatives } = pass;
        let [d, below] = &mut **derivatives;
        let units = |(z, activation, a): Station| Units { z: &states[z], activation, a: &states[a] };
        // A layer that is asked for after its activation stands for itself.
        let station = |a| if a == at { (a, Activation::Identity, a) } else { self.station(a) };
        let mut above = station(self.blocks.len());
        // The authors' code knows no covariance with the slope of an output that has none.
        let mut gate_here = if above.1 == Activation::Identity { Gate::Both } else { gate };
        self.backend.derivative_output(units(above), output, d);
        while above.0 != at {
            let Block::Map(w, _) = &self.blocks[above.0 - 1] else { unreachable!("layers are dense") };
            let next = station(above.0 - 1);
            let scratch = &mut scratch[above.0 - 1];
            self.backend.derivative_map(w, scratch, units(next), units(above), d, gate_here, below);
            std::mem::swap(d, below);
            (above, gate_here) = (next, gate);
        }
    }

    /// Fills the states above `from`, and checks what came out.
    fn forward(&self, pass: &mut Pass<B>, from: usize, learning: bool) -> std::result::Result<(), Broken> {
        for (i, block) in self.blocks.iter().enumerate().skip(from) {
            let (below, above) = pass.states.split_at_mut(i + 1);
            block.forward(&self.backend, &mut pass.scratch[i], &below[i], &mut above[0], learning);
        }
        match self.backend.not_finite(&pass.states[self.blocks.len()], PRIOR) {
            None => Ok(()),
            Some(_) => Err(self.first_broken(pass)),
        }
    }

    fn first_broken(&self, pass: &Pass<B>) -> Broken {
        let broken = pass.states.iter().enumerate().find_map(|(layer, state)| {
            self.backend.not_finite(state, PRIOR).map(|(row, value)| Broken { layer, row, value })
        });
        broken.expect("the output is not finite")
    }

    /// Innovations of every layer from the output down to `to`.
    fn back(&self, pass: &mut Pass<B>, seen: Seen<'_>, to: usize) {
        self.backend.observe(&mut pass.states[self.blocks.len()], seen);
        self.down(pass, to);
    }

    /// The output's innovation, layer by layer, down to `to`.
    fn down(&self, pass: &mut Pass<B>, to: usize) {
        for i in (to..self.blocks.len()).rev() {
            let (below, above) = pass.states.split_at_mut(i + 1);
            self.blocks[i].back(&self.backend, &mut pass.scratch[i], &above[0], &mut below[i]);
        }
    }

    /// Everything about one batch, for checks against reference vectors: the parts of every layer's state
    /// after a forward and a full backward pass, parameters untouched.
    pub(crate) fn trace(
        &self,
        mean: &[f64],
        var: Option<&[f64]>,
        seen: Seen<'_>,
    ) -> std::result::Result<Vec<Trace>, Broken> {
        let pass = &mut *self.pass();
        self.backend.write(&mut pass.states[0], mean, var);
        self.forward(pass, 0, false)?;
        self.back(pass, seen, 0);
        let read = |state: &B::State, part| self.backend.read(state, part);
        Ok(pass
            .states
            .iter()
            .enumerate()
            .map(|(i, s)| Trace {
                mean: read(s, Part::Mean),
                var: read(s, Part::Var),
                slope: match i.checked_sub(1).map(|i| &self.blocks[i]) {
                    Some(Block::Activation(_)) => Some(read(s, Part::Slope)),
                    _ => None,
                },
                d_mean: read(s, Part::DMean),
                d_var: read(s, Part::DVar),
            })
            .collect())
    }
}

/// State and normalised innovations of one layer for a batch.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    pub(crate) mean: Vec<f64>,
    pub(crate) var: Vec<f64>,
    /// Of an activation.
    pub(crate) slope: Option<Vec<f64>>,
    pub(crate) d_mean: Vec<f64>,
    pub(crate) d_var: Vec<f64>,
}
