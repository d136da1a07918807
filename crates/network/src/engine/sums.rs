//! Sums of updates: accumulated from batches, and as numbers that add up over workers.

use super::{Batch, Layers, Loaded, Observed, OnDevice, Pass, other_device};
use crate::layer::Block;
use crate::plan::Op;
use tractable_core::error::Result;
use tractable_core::stop;
use tractable_core::workers::{self, Doing, Numbers, Transport};
use tractable_devices::{Backend, NoiseSums, Together};

/// Summed updates.
pub(super) struct LayerSums<B: Backend> {
    pub(super) layers: Vec<Option<B::Sums>>,
    pub(super) noise: NoiseSums,
}

impl<B: Backend> Layers<B> {
    /// Makes room for what layers need to learn from a batch, with fused first layers if `joined`; records an error in the status.
    fn reserve_maps(&self, pass: &mut Pass<B>, joined: bool) {
        let Pass { states, scratch, status, .. } = pass;
        for (i, block) in self.blocks.iter().enumerate() {
            let (x, z) = (&states[self.graph.inputs[i][0]], &states[i + 1]);
            match (block, self.backend.fused()) {
                (Block::Map(w, _), Some(fused)) if joined && i == 0 => {
                    fused.join_reserve(w, &mut scratch[0], [x, &states[3]], status);
                }
                _ => block.reserve(&self.backend, &mut scratch[i], x, z, status),
            }
        }
    }

    /// The same, with the sums of normalisations; returns the error.
    pub(super) fn reserve(&self, pass: &mut Pass<B>, joined: bool) -> Result<()> {
        if pass.sums.is_empty() {
            let of_norm =
                |b: &Block<B>| if matches!(b, Block::Norm(_)) { b.sums(&self.backend) } else { None };
            let sums: Vec<_> = self.blocks.iter().map(of_norm).collect();
            sums.iter().flatten().try_for_each(|s| self.backend.check_sums(s))?;
            pass.sums = sums;
        }
        self.reserve_maps(pass, joined);
        self.backend.lacks(&mut pass.status)
    }

    /// If an operation of a normalisation needs the whole batch, runs it with that of all workers; returns whether it did.
    fn normalize_together(&self, pass: &mut Pass<B>, op: &Op, together: &mut Together<'_>) -> Result<bool> {
        let (Op::Forward { layer, .. } | Op::Total { layer }) = *op else { return Ok(false) };
        if !matches!(self.blocks[layer], Block::Norm(_)) {
            return Ok(false);
        }
        let (below, above) = pass.states.split_at_mut(layer + 1);
        let (x, z) = (&below[self.graph.inputs[layer][0]], &mut above[0]);
        let (block, scratch) = (&self.blocks[layer], &mut pass.scratch[layer]);
        if matches!(op, Op::Total { .. }) {
            block.total(&self.backend, scratch, x, z, Some(*together))?;
        } else {
            let pixels = self.graph.input_shape(layer).pixels();
            block.normalize_together(&self.backend, scratch, x, z, pixels, *together)?;
        }
        Ok(true)
    }
}

impl<B: Backend> Loaded<B> {
    /// Adds the updates of a batch.
    pub(super) fn accumulate_batch(
        &self,
        batch: Batch<'_>,
        seen: Observed<'_>,
        sums: &mut OnDevice,
        together: Option<Together<'_>>,
    ) -> Result<()> {
        let sums = sums.downcast_mut::<LayerSums<B>>().ok_or_else(other_device)?;
        let layers = self.learner();
        sums.layers.iter().flatten().try_for_each(|s| layers.backend.check_sums(s))?;
        let mut lent = self.lend();
        layers.set(lent.pass_mut(), batch)?;
        lent.pass_mut().noise = sums.noise.clone();
        match together {
            None => layers.run(lent.pass_mut(), &self.learn, Some(seen))?,
            Some(mut together) => {
                for op in &self.learn {
                    if !layers.normalize_together(lent.pass_mut(), op, &mut together)? {
                        layers.run(lent.pass_mut(), std::slice::from_ref(op), Some(seen))?;
                    }
                }
            }
        }
        let pass = lent.pass_mut();
        layers.reserve_maps(pass, false);
        layers.told(&mut pass.status)?;
        sums.noise = std::mem::take(&mut pass.noise);
        stop::finish(|| {
            for (i, (block, sums)) in layers.blocks.iter().zip(&mut sums.layers).enumerate() {
                let (x, z) = (&pass.states[layers.graph.inputs[i][0]], &pass.states[i + 1]);
                if let Some(sums) = sums {
                    block.accumulate(&layers.backend, &mut pass.scratch[i], x, z, sums);
                }
            }
        });
        Ok(())
    }

    /// Adds the sums and rows of all workers; afterwards all workers have the same.
    pub(super) fn add_together(
        &self,
        sums: &mut OnDevice,
        rows: &mut usize,
        workers: &dyn Transport,
    ) -> Result<()> {
        let mine = sums.downcast_ref::<LayerSums<B>>().ok_or_else(other_device)?;
        let maps: Vec<_> = self.maps(&mine.layers).collect();
        let is_done = self.layers.backend.sums_add(&maps, workers)?;
        let (mut many, mut few) = self.numbers_of(sums, !is_done)?;
        few.push(*rows as f64);
        workers::add_few(workers, Doing::Learning, &mut few)?;
        *rows = few.pop().unwrap_or(0.0) as usize;
        if !is_done {
            workers::add_many(workers, &mut many)?;
        }
        self.set_numbers_of(sums, &many, &few, !is_done)
    }

    /// The sums of dense layers and convolutions.
    fn maps<'a>(&'a self, sums: &'a [Option<B::Sums>]) -> impl Iterator<Item = &'a B::Sums> {
        let of_map = |(block, sums): (&Block<B>, &'a Option<B::Sums>)| match block {
            Block::Map(..) => sums.as_ref(),
            _ => None,
        };
        self.layers.blocks.iter().zip(sums).filter_map(of_map)
    }

    /// The sums as numbers, with or without those of maps.
    pub(super) fn numbers_of(&self, sums: &OnDevice, with_maps: bool) -> Result<(Numbers, Vec<f64>)> {
        let sums = sums.downcast_ref::<LayerSums<B>>().ok_or_else(other_device)?;
        let (mut many, mut few) = (Numbers::empty(self.layers.backend.is_double()), Vec::new());
        few.extend(sums.noise.squares.iter().chain(&sums.noise.count));
        for (block, sums) in self.layers.blocks.iter().zip(&sums.layers) {
            if let Some(sums) = sums
                && (with_maps || !matches!(block, Block::Map(..)))
            {
                self.layers.backend.sums_read(sums, &mut many, &mut few)?;
            }
        }
        Ok((many, few))
    }

    /// The reverse.
    pub(super) fn set_numbers_of(
        &self,
        sums: &mut OnDevice,
        many: &Numbers,
        few: &[f64],
        with_maps: bool,
    ) -> Result<()> {
        let sums = sums.downcast_mut::<LayerSums<B>>().ok_or_else(other_device)?;
        let (mut few, mut at) = (few.iter().copied(), 0);
        let noise = &mut sums.noise;
        noise.squares.iter_mut().chain(&mut noise.count).zip(&mut few).for_each(|(to, from)| *to = from);
        for (block, sums) in self.layers.blocks.iter().zip(&mut sums.layers) {
            if let Some(sums) = sums
                && (with_maps || !matches!(block, Block::Map(..)))
            {
                at = self.layers.backend.sums_write(sums, many, at, &mut few)?;
            }
        }
        Ok(())
    }
}
