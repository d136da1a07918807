//! Two sets of parameters: those that learn, and the average of their means, which predicts.

use super::{Batch, InferredNoise, Layers, Loaded, blocks, mine};
use crate::layer::Contents;
use std::ops::Range;
use tractable_core::error::Result;
use tractable_core::stop;
use tractable_devices::{Backend, Purpose};

impl<B: Backend> Loaded<B> {
    /// Parameters to learn with.
    pub(super) fn learner(&self) -> &Layers<B> {
        self.latest.as_ref().unwrap_or(&self.layers)
    }

    /// From now on what predicts is an average.
    pub(super) fn split(&mut self) -> Result<()> {
        if self.latest.is_none() {
            let Layers { backend, graph, priors, .. } = &self.layers;
            let (backend, graph, priors) = (backend.clone(), graph.clone(), priors.clone());
            let blocks = blocks(&*backend, &graph)?;
            let mut latest = Layers { backend, graph, blocks, priors, noise: InferredNoise::default() };
            stop::finish(|| latest.follow(&self.layers, 1.0, &mut B::Status::default()));
            self.latest = Some(latest);
        }
        Ok(())
    }

    /// Sets the parameters of some outputs of a layer; without latest means learning starts from those that predict.
    pub(super) fn fill_both(
        &mut self,
        layer: usize,
        outputs: Range<usize>,
        contents: &Contents,
    ) -> Result<()> {
        if contents.latest.is_some() {
            self.split()?;
        }
        let backend = &self.layers.backend;
        self.layers.blocks[layer].fill(backend, outputs.clone(), contents)?;
        let Some(latest) = &mut self.latest else { return Ok(()) };
        let mut learns = contents.clone();
        if let Some([mean, bias_mean]) = learns.latest.take() {
            (learns.parameters.mean, learns.parameters.bias_mean) = (mean, bias_mean);
        }
        latest.blocks[layer].fill(backend, outputs, &learns)
    }

    /// The parameters of a layer, with the latest means.
    pub(super) fn contents_of_both(&self, layer: usize, outputs: Range<usize>) -> Result<Option<Contents>> {
        let backend = &self.layers.backend;
        let mut contents = self.layers.blocks[layer].contents(backend, outputs.clone())?;
        if let (Some(contents), Some(latest)) = (&mut contents, &self.latest) {
            let learns = latest.blocks[layer].contents(backend, outputs)?;
            contents.latest = learns.map(|c| [c.parameters.mean, c.parameters.bias_mean]);
        }
        Ok(contents)
    }

    /// Moves running statistics towards those of a batch (T82).
    pub(super) fn restate_norms(&mut self, batch: Batch<'_>, share: f64) -> Result<()> {
        let Loaded { layers, latest, learning, .. } = self;
        let pass = mine(learning);
        layers.set(pass, batch)?;
        layers.run(pass, &layers.graph.forward(0, Purpose::Learn), None)?;
        let backend = layers.backend.clone();
        for layers in latest.iter_mut().chain([layers]) {
            for (block, scratch) in layers.blocks.iter_mut().zip(&pass.scratch) {
                block.restate(&backend, scratch, share);
            }
        }
        Ok(())
    }
}

impl<B: Backend> Layers<B> {
    /// Moves means by this share towards the latest (T81), and takes everything else over.
    pub(super) fn follow(&mut self, latest: &Self, share: f64, status: &mut B::Status) {
        for (block, latest) in self.blocks.iter_mut().zip(&latest.blocks) {
            block.follow(&self.backend, latest, share, status);
        }
        self.noise.clone_from(&latest.noise);
    }
}
