//! Data that the host sends with a batch or has stored on the device: rows of a table, images as bytes, observations.

use super::Cuda;
use super::driver::{self, Buffer, Gpu, MOST_DOWN, arguments};
use super::state::{Bytes, INNOVATION, Layout, Part, RowStore, State, single};
use crate::{Change, DataSets, NoiseSums, NoiseVar, Observing, Seen, Tables};
use std::sync::Arc;
use tractable_core::error::Result;
use tractable_core::shape::Shape;

/// A kind of noise: none, and another kernel.
const SOFTMAX: i32 = 3;
/// Bytes sent to the device at a time.
const UPLOAD: usize = 4 << 20;

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct GatherArgs {
    to: Layout,
    table: u64,
    rows: u64,
    mean: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct GatherFlatArgs {
    fours: i32,
    pixels: u64,
    scaled: u64,
    rows: u64,
    mean: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct GatherImagesArgs {
    to: Layout,
    channels: i32,
    height: i32,
    width: i32,
    pixels: u64,
    scaled: u64,
    greys: u64,
    rows: u64,
    changes: u64,
    mean: u64,
}

/// An observation on the device; the kernels' `Seen`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
pub(super) struct SeenArgs {
    y: u64,
    noise: u64,
    seen: u64,
    rows: u64,
    noise_kind: i32,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct ObserveArgs {
    of: Layout,
    seen: SeenArgs,
    mean: u64,
    var: u64,
    d_mean: u64,
    d_var: u64,
    broken: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct InferNoiseArgs {
    of: Layout,
    head: Layout,
    seen: SeenArgs,
    mean: u64,
    var: u64,
    head_mean: u64,
    head_var: u64,
    head_d_mean: u64,
    head_d_var: u64,
    sums: u64,
}

// SAFETY: these are the kernels' structures; addresses come from buffers that the code below has made large enough and borrows until the launch.
arguments! {
    unsafe {
        GatherArgs: "gather";
        GatherFlatArgs: "gather_flat";
        GatherImagesArgs: "gather_images";
        ObserveArgs: "observe", "observe_class";
        InferNoiseArgs: "infer_noise";
    }
}

/// What the host sent for a batch: row numbers, an observation. Its memory is kept from batch to batch.
pub(super) struct Uploads {
    numbers: Buffer<u32>,
    /// The row numbers that are on the device.
    rows: Vec<usize>,
    changes: Buffer<i32>,
    y: Buffer<f32>,
    noise: Buffer<f32>,
    /// The noise that is on the device.
    known: Vec<f32>,
    seen: Buffer<u8>,
}

impl Uploads {
    pub(super) fn new(gpu: &Arc<Gpu>) -> Self {
        Uploads {
            numbers: Buffer::none(gpu),
            rows: Vec::new(),
            changes: Buffer::none(gpu),
            y: Buffer::none(gpu),
            noise: Buffer::none(gpu),
            known: Vec::new(),
            seen: Buffer::none(gpu),
        }
    }

    /// Sends row numbers; returns their address.
    fn number(&mut self, rows: &[usize]) -> Result<u64> {
        self.rows.clear();
        self.numbers.grow(rows.len())?;
        self.numbers.write(0, &rows.iter().map(|&r| r as u32).collect::<Vec<_>>());
        self.rows.extend_from_slice(rows);
        Ok(self.numbers.at())
    }

    /// Sends the changes of images.
    fn change(&mut self, changes: &[Change]) -> Result<()> {
        let words = changes.iter().flat_map(|c| {
            let [[top, bottom], [left, right]] = c.hole;
            [c.flip as i32, c.from[0], c.from[1], top, bottom, left, right]
        });
        self.changes.grow(7 * changes.len())?;
        self.changes.write(0, &words.collect::<Vec<_>>());
        Ok(())
    }

    /// Sends the noise if it is not on the device yet; returns its kind.
    fn set_noise(&mut self, noise: NoiseVar<'_>, width: usize) -> Result<i32> {
        let (values, kind) = match noise {
            NoiseVar::One(v) => (vec![v as f32], 0),
            NoiseVar::PerOutput(v) => (single(&v[..width]), 1),
            NoiseVar::PerEntry(v) => (single(v), 2),
            NoiseVar::Softmax => (Vec::new(), SOFTMAX),
        };
        if values != self.known {
            self.known.clear();
            self.noise.grow(values.len())?;
            self.noise.write(0, &values);
            self.known = values;
        }
        Ok(kind)
    }

    /// Sends an observation.
    fn see(&mut self, seen: Seen<'_>, width: usize) -> Result<SeenArgs> {
        let noise_kind = self.set_noise(seen.noise, width)?;
        self.y.grow(seen.y.len())?;
        self.y.write(0, &single(seen.y));
        if let Some(mask) = seen.seen {
            self.seen.grow(mask.len().next_multiple_of(4))?;
            self.seen.write(0, &mask.iter().map(|&s| s as u8).collect::<Vec<_>>());
        }
        let at = if seen.seen.is_some() { self.seen.at() } else { 0 };
        Ok(SeenArgs { y: self.y.at(), noise: self.noise.at(), seen: at, rows: 0, noise_kind })
    }
}

impl Cuda {
    /// Prepares a state for a batch of known inputs, with their row numbers on the device; returns whether this worked.
    fn begin_gather(&self, rows: &[usize], state: &mut State) -> bool {
        state.begin(rows.len());
        state.room([Part::Mean]);
        state.make_exact();
        if let Err(e) = state.uploads.number(rows) {
            state.failed = Some(driver::why(e));
        }
        state.failed.is_none()
    }

    fn infer_noise_of(
        &self,
        output: &State,
        head: Option<&mut State>,
        seen: Seen<'_>,
        sums: &mut NoiseSums,
    ) -> Result<()> {
        let width = output.shape.len();
        let mut uploads = Uploads::new(&self.gpu);
        let seen = uploads.see(seen, width)?;
        let mut totals = Buffer::<f64>::none(&self.gpu);
        totals.grow(2 * width)?;
        let (head_at, head_layout) = match head {
            None => ([0; 4], output.layout()),
            Some(head) => {
                head.room(INNOVATION);
                head.check()?;
                let n = head.layout().numbers();
                head.d_mean.clear(n);
                head.d_var.clear(n);
                let at = [head.mean.at(), head.var.at(), head.d_mean.at(), head.d_var.at()];
                (at, head.layout())
            }
        };
        output.check()?;
        let [head_mean, head_var, head_d_mean, head_d_var] = head_at;
        let args = InferNoiseArgs {
            of: output.layout(),
            head: head_layout,
            seen,
            mean: output.mean.at(),
            var: output.var.at(),
            head_mean,
            head_var,
            head_d_mean,
            head_d_var,
            sums: totals.at(),
        };
        self.gpu.launch("infer_noise", [width, 1, 1], 256, 0, &args);
        for (output, pair) in totals.read(2 * width)?.chunks_exact(2).enumerate() {
            sums.squares[output] += pair[0];
            sums.count[output] += pair[1];
        }
        Ok(())
    }

    fn observe_with(&self, output: &mut State, seen: SeenArgs) {
        output.room(INNOVATION);
        if output.failed.is_some() {
            return;
        }
        let of = output.layout();
        let args = ObserveArgs {
            of,
            seen,
            mean: output.mean.at(),
            var: output.var.at(),
            d_mean: output.d_mean.at(),
            d_var: output.d_var.at(),
            broken: output.flag(true),
        };
        match seen.noise_kind {
            SOFTMAX => {
                let columns = if of.per_channel == 1 { of.stride } else { of.channels };
                let blocks = of.numbers() / columns as usize;
                self.gpu.launch("observe_class", [blocks, 1, 1], 256, 0, &args);
            }
            _ => self.over("observe", of.numbers(), &args),
        }
    }
}

impl Tables for Cuda {
    type RowStore = RowStore;

    fn table(&self, shape: Shape, rows: usize) -> Result<RowStore> {
        let mut values = Buffer::none(&self.gpu);
        values.grow(rows * shape.len())?;
        Ok(RowStore { len: shape.len(), values, bytes: None })
    }

    fn table_write(&self, table: &mut RowStore, first: usize, values: &[f64]) -> Result<()> {
        table.values.write(first * table.len, &single(values));
        self.gpu.alive()
    }

    fn gather(&self, table: &RowStore, rows: &[usize], state: &mut State) {
        if !self.begin_gather(rows, state) {
            return;
        }
        let (to, numbers) = (state.layout(), &state.uploads.numbers);
        let args = GatherArgs { to, table: table.values.at(), rows: numbers.at(), mean: state.mean.at() };
        self.over("gather", to.numbers(), &args);
    }
}

impl DataSets<Cuda> for Cuda {
    fn images(&self, shape: Shape, pixels: &[u8], scaled: &[f32], greys: &[f32]) -> Result<RowStore> {
        let mut bytes = Bytes {
            shape,
            pixels: Buffer::none(&self.gpu),
            scaled: Buffer::none(&self.gpu),
            greys: Buffer::none(&self.gpu),
        };
        bytes.pixels.grow(pixels.len())?;
        for (i, some) in pixels.chunks(UPLOAD).enumerate() {
            bytes.pixels.write(i * UPLOAD, some);
        }
        bytes.scaled.grow(scaled.len())?;
        bytes.scaled.write(0, scaled);
        bytes.greys.grow(greys.len())?;
        bytes.greys.write(0, greys);
        self.gpu.alive()?;
        Ok(RowStore { len: shape.len(), values: Buffer::none(&self.gpu), bytes: Some(bytes) })
    }

    fn gather_images(&self, images: &RowStore, rows: &[usize], changes: &[Change], state: &mut State) {
        if !self.begin_gather(rows, state) {
            return;
        }
        let numbers = &state.uploads.numbers;
        let bytes = images.bytes.as_ref().expect("a table of images");
        let len = bytes.shape.len();
        if state.shape.is_flat() && bytes.shape.channels == 1 && changes.is_empty() && len.is_multiple_of(4) {
            for first in (0..rows.len()).step_by(MOST_DOWN) {
                let some = MOST_DOWN.min(rows.len() - first);
                let args = GatherFlatArgs {
                    fours: len as i32 / 4,
                    pixels: bytes.pixels.at(),
                    scaled: bytes.scaled.at(),
                    rows: numbers.at() + 4 * first as u64,
                    mean: state.mean.at() + 4 * (first * len) as u64,
                };
                self.gpu.launch("gather_flat", [(len / 4).div_ceil(128), some, 1], 128, 0, &args);
            }
            return;
        }
        if let Err(e) = state.uploads.change(changes) {
            return state.failed = Some(driver::why(e));
        }
        let uploads = &state.uploads;
        let to = state.layout();
        let [channels, height, width] =
            [bytes.shape.channels, bytes.shape.height, bytes.shape.width].map(|n| n as i32);
        let args = GatherImagesArgs {
            to,
            channels,
            height,
            width,
            pixels: bytes.pixels.at(),
            scaled: bytes.scaled.at(),
            greys: bytes.greys.at(),
            rows: uploads.numbers.at(),
            changes: if changes.is_empty() { 0 } else { uploads.changes.at() },
            mean: state.mean.at(),
        };
        self.over("gather_images", to.numbers(), &args);
    }

    fn observe_rows(
        &self,
        input: &State,
        output: &mut State,
        targets: &RowStore,
        rows: &[usize],
        noise: NoiseVar<'_>,
    ) {
        let (width, uploads) = (output.shape.len(), &mut output.uploads);
        // The rows that were gathered: their row numbers are on the device already.
        let there = (input.uploads.rows == rows).then(|| input.uploads.numbers.at());
        let mut number = || there.map_or_else(|| uploads.number(rows), Ok);
        match number().and_then(|rows| Ok((rows, uploads.set_noise(noise, width)?))) {
            Ok((rows, noise_kind)) => {
                let [y, noise] = [targets.values.at(), uploads.noise.at()];
                self.observe_with(output, SeenArgs { y, noise, seen: 0, rows, noise_kind });
            }
            Err(e) => output.failed = Some(driver::why(e)),
        }
    }
}

impl Observing for Cuda {
    fn observe(&self, output: &mut State, seen: Seen<'_>) {
        match output.uploads.see(seen, output.shape.len()) {
            Ok(seen) => self.observe_with(output, seen),
            Err(e) => output.failed = Some(driver::why(e)),
        }
    }

    fn infer_noise(
        &self,
        output: &mut State,
        head: Option<&mut State>,
        seen: Seen<'_>,
        sums: &mut NoiseSums,
    ) {
        if output.failed.is_none()
            && let Err(e) = self.infer_noise_of(output, head, seen, sums)
        {
            output.failed = Some(driver::why(e));
        }
    }

    fn innovate(&self, output: &mut State, d_mean: &[f64]) -> Result<()> {
        output.room(INNOVATION);
        output.check()?;
        self.lay_out(output.layout(), d_mean, output.d_mean.at())?;
        let n = output.layout().numbers();
        output.d_var.clear(n);
        Ok(())
    }
}
