//! A network's layers on one device, and the passes over a batch: forward, back, learn, condition.
//! Numbers only: names, units and errors are [`crate::network`]'s.

use crate::backend::{Backend, Part, Policy, Seen, Tally};
use crate::error::Result;
use crate::layer::{Block, Contents, Layer};
use crate::shape::Shape;
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
}

/// What a state is made of before anything is observed.
const PRIOR: [Part; 2] = [Part::Mean, Part::Var];
/// What an observation says about it.
const INNOVATION: [Part; 2] = [Part::DMean, Part::DVar];

/// Mean and variance of a layer, row after row.
pub(crate) type MeanVar = (Vec<f64>, Vec<f64>);

impl<B: Backend> Stack<B> {
    /// `shapes` are those of the input and of every layer's output; one of `contents` a layer.
    pub(crate) fn new(backend: B, layers: &[Layer], shapes: &[Shape], contents: &[Contents]) -> Result<Self> {
        let made = layers.iter().zip(shapes).zip(contents);
        let blocks = made.map(|((l, &s), c)| Block::new(&backend, l, s, c)).collect::<Result<Vec<_>>>()?;
        let states = shapes.iter().map(|&s| backend.state(s)).collect();
        let scratch = blocks.iter().map(|_| B::Scratch::default()).collect();
        Ok(Stack { backend, blocks, pass: Mutex::new(Pass { states, scratch }) })
    }

    /// Numbers that the states of one sample take.
    pub(crate) fn numbers(&self, shapes: &[Shape]) -> usize {
        shapes.iter().map(|&s| self.backend.numbers(s)).sum()
    }

    /// Puts other parameters into the same layers.
    pub(crate) fn refill(&mut self, layers: &[Layer], shapes: &[Shape], contents: &[Contents]) -> Result<()> {
        let made = layers.iter().zip(shapes).zip(contents);
        self.blocks = made.map(|((l, &s), c)| Block::new(&self.backend, l, s, c)).collect::<Result<_>>()?;
        Ok(())
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
        Ok((self.backend.read(output, Part::Mean), self.backend.read(output, Part::Var)))
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
        Ok((self.backend.read(state, Part::Mean), self.backend.read(state, Part::Var)))
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
