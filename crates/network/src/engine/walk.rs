//! Searches on the device, with the pass that moves them.

use super::lent::LentPass;
use super::{Layers, Loaded, MeanVar};
use crate::plan::Op;
use tractable_core::error::Result;
use tractable_devices::{Backend, Field, Purpose, Slots, Walk, WalkForm};

/// An engine whose device may keep searches.
pub(crate) trait Walking {
    /// Room for searches; `None` if the device keeps none.
    fn walk(&self, form: WalkForm) -> Result<Option<Box<dyn ActiveWalk + '_>>>;
}

/// Searches that stay on the device between rounds; see [`Walk`].
pub(crate) trait ActiveWalk: Send {
    /// The searches themselves.
    fn slots(&mut self) -> &mut dyn Slots;
    /// The outputs at the positions of these slots; also computes where each search moves next.
    fn round(&mut self, slots: &[usize]) -> Result<MeanVar>;
}

struct LentWalk<'e, B: Backend> {
    pass: LentPass<'e, B>,
    walk: Box<dyn Walk<B::State>>,
    k: usize,
    /// Up, and down to the input.
    forward: Vec<Op>,
    rows: Vec<Op>,
}

impl<B: Backend> Walking for Loaded<B> {
    fn walk(&self, form: WalkForm) -> Result<Option<Box<dyn ActiveWalk + '_>>> {
        let Layers { backend, graph, .. } = &self.layers;
        let (k, forward) = (form.k, graph.forward(0, Purpose::Predict));
        let rows = graph.rows(graph.output(), Some(0), true, false);
        let walk = backend.walks().map_or(Ok(None), |walks| walks.walk(form))?;
        Ok(walk.map(|walk| Box::new(LentWalk { pass: self.lend(), walk, k, forward, rows }) as Box<_>))
    }
}

impl<B: Backend> ActiveWalk for LentWalk<'_, B> {
    fn slots(&mut self) -> &mut dyn Slots {
        &mut *self.walk
    }

    fn round(&mut self, slots: &[usize]) -> Result<MeanVar> {
        let layers = &self.pass.engine.layers;
        let Layers { backend, graph, .. } = layers;
        let (pass, walk, output) = (self.pass.pass_mut(), &mut self.walk, graph.output());
        if pass.rows.is_empty() {
            pass.rows.extend(graph.shapes.iter().map(|&shape| backend.state(shape)));
        }
        walk.place(slots, &mut pass.states[0]);
        layers.run(pass, &self.forward, None)?;
        pass.k = self.k;
        backend.rows(&pass.states[output], self.k, &mut pass.rows[output]);
        walk.rows(&mut pass.rows[output]);
        layers.run(pass, &self.rows, None)?;
        let stepped = walk.step(&pass.states[0], &pass.states[output], &pass.rows[0]);
        layers.told(&mut pass.status)?;
        stepped?;
        let output = &pass.states[output];
        Ok([backend.read(output, Field::Mean)?, backend.read(output, Field::Var)?])
    }
}
