//! Passes that callers borrow from the engine.

use super::{ActivePass, Batch, Layers, Loaded, Observed, Pass, Slope};
use crate::plan::Op;
use tractable_core::error::Result;
use tractable_devices::{Backend, Field};

/// A pass in use; returned to the pool when dropped.
pub(super) struct LentPass<'e, B: Backend> {
    pub(super) engine: &'e Loaded<B>,
    pub(super) pass: Option<Pass<B>>,
}

impl<B: Backend> LentPass<'_, B> {
    pub(super) fn pass_mut(&mut self) -> &mut Pass<B> {
        self.pass.as_mut().expect("it is there until the end")
    }

    fn pass(&self) -> &Pass<B> {
        self.pass.as_ref().expect("it is there until the end")
    }
}

impl<B: Backend> Drop for LentPass<'_, B> {
    fn drop(&mut self) {
        // A pass overwrites whatever an earlier one left; notes from a pass that panicked are discarded.
        if let Some(mut pass) = self.pass.take() {
            pass.status = B::Status::default();
            self.engine.idle.lock().unwrap_or_else(|e| e.into_inner()).push(pass);
        }
    }
}

impl<B: Backend> ActivePass for LentPass<'_, B> {
    fn write(&mut self, state: usize, mean: &[f64], var: Option<&[f64]>) -> Result<()> {
        let backend = &*self.engine.layers.backend;
        backend.write(&mut self.pass_mut().states[state], mean, var)
    }

    fn set(&mut self, batch: Batch<'_>) -> Result<()> {
        let engine = self.engine;
        engine.layers.set(self.pass_mut(), batch)
    }

    fn read(&self, state: usize, field: Field) -> Result<Vec<f64>> {
        self.engine.layers.backend.read(&self.pass().states[state], field)
    }

    fn run(&mut self, ops: &[Op], seen: Option<Observed<'_>>) -> Result<()> {
        let engine = self.engine;
        let pass = self.pass_mut();
        engine.layers.run(pass, ops, seen)?;
        engine.layers.told(&mut pass.status).map(drop)
    }

    fn innovate(&mut self, d_mean: &[f64]) -> Result<()> {
        let backend = &*self.engine.layers.backend;
        backend.innovate(self.pass_mut().states.last_mut().expect("there is an output"), d_mean)
    }

    fn rows(
        &mut self,
        plan: &[Op],
        from: usize,
        k: usize,
        rows: &[f64],
        at: Option<usize>,
    ) -> Result<[Vec<f64>; 2]> {
        let Layers { backend, graph, .. } = &self.engine.layers;
        let (engine, pass) = (self.engine, self.pass_mut());
        if pass.rows.is_empty() {
            pass.rows.extend(graph.shapes.iter().map(|&shape| backend.state(shape)));
        }
        pass.k = k;
        backend.rows(&pass.states[from], k, &mut pass.rows[from]);
        backend.innovate(&mut pass.rows[from], rows)?;
        backend.spread_begin(&pass.states[from], k, &mut pass.spread);
        engine.layers.run(pass, plan, None)?;
        let slopes = at.map_or(Ok(Vec::new()), |at| backend.read(&pass.rows[at], Field::DMean))?;
        Ok([slopes, backend.spread_read(&pass.spread)?])
    }

    fn derivative(&mut self, slope: Slope) -> Result<[Vec<f64>; 3]> {
        let engine = self.engine;
        let pass = self.pass_mut();
        engine.layers.differentiate(pass, slope)?;
        // The sum over the state's activations and its own branches.
        let mut sum: Option<[Vec<f64>; 3]> = None;
        for (_, _, a) in engine.layers.stations(slope.at, slope.at) {
            let more = engine.layers.backend.derivative_read(&pass.derivatives[a])?;
            match &mut sum {
                None => sum = Some(more),
                Some(sum) => {
                    let all = sum.iter_mut().flatten().zip(more.iter().flatten());
                    all.for_each(|(sum, more)| *sum += more);
                }
            }
        }
        Ok(sum.expect("every state leads to the output"))
    }
}
