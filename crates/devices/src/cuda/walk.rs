//! Searches that stay on the device: their records, and the launches of a round.

use super::Cuda;
use super::driver::{self, Buffer, Gpu, MOST_DOWN, arguments};
use super::state::{INNOVATION, Layout, Part, State};
use crate::{Slots, Walk, WalkForm, Walks};
use std::sync::Arc;
use tractable_core::error::Result;

/// Maximum number of outputs that a search uses: the kernels' `MOST_ROWS`.
const MOST_ROWS: usize = 16;
/// Records sent to the device at a time.
const AT_ONCE: usize = 64;

struct Searches {
    gpu: Arc<Gpu>,
    form: WalkForm,
    records: Buffer<f64>,
    scale: Buffer<f64>,
    /// Which entries are at their limits, and where the searches move next.
    held: Buffer<f64>,
    moved: Buffer<f64>,
    /// Slopes of the outputs, side by side.
    near: Buffer<f32>,
    /// The slots of the round, the slots of a copy, and the copied numbers.
    placed: Buffer<u32>,
    slots: Buffer<u32>,
    packed: Buffer<f64>,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct PlaceArgs {
    to: Layout,
    record: i32,
    slots: u64,
    records: u64,
    scale: u64,
    mean: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct RowsArgs {
    of: Layout,
    k: i32,
    width: i32,
    record: i32,
    slots: u64,
    records: u64,
    d_mean: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct StepArgs {
    of: Layout,
    rows: Layout,
    output: Layout,
    k: i32,
    width: i32,
    record: i32,
    slots: u64,
    records: u64,
    scale: u64,
    held: u64,
    moved: u64,
    near: u64,
    slopes: u64,
    out: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct CopyArgs {
    width: i32,
    from_stride: i32,
    to_stride: i32,
    from_slots: i32,
    to_slots: i32,
    slots: u64,
    from: u64,
    to: u64,
}

// SAFETY: these are the kernels' structures; addresses come from buffers that the code below has made large enough and borrows until the launch.
arguments! {
    unsafe {
        PlaceArgs: "walk_place";
        RowsArgs: "walk_rows";
        StepArgs: "walk_step";
        CopyArgs: "walk_copy";
    }
}

impl Searches {
    /// Copies `width` numbers of every slot; each side has an address, a stride, and whether its rows are slots.
    fn copy(&mut self, slots: &[usize], width: usize, from: Side, to: Side) -> Result<()> {
        number(&mut self.slots, slots)?;
        // Rows without gaps begin later for a later part of the slots.
        let begin = |(at, stride, by_slot): Side, first: usize| match by_slot {
            true => at,
            false => at + (8 * stride * first) as u64,
        };
        for first in (0..slots.len()).step_by(MOST_DOWN) {
            let args = CopyArgs {
                width: width as i32,
                from_stride: from.1 as i32,
                to_stride: to.1 as i32,
                from_slots: from.2 as i32,
                to_slots: to.2 as i32,
                slots: self.slots.at() + 4 * first as u64,
                from: begin(from, first),
                to: begin(to, first),
            };
            let some = MOST_DOWN.min(slots.len() - first);
            self.gpu.launch("walk_copy", [width.div_ceil(128), some, 1], 128, 0, &args);
        }
        self.gpu.alive()
    }
}

type Side = (u64, usize, bool);

fn number(to: &mut Buffer<u32>, slots: &[usize]) -> Result<()> {
    to.grow(slots.len())?;
    to.write(0, &slots.iter().map(|&s| s as u32).collect::<Vec<_>>());
    Ok(())
}

impl Walk<State> for Searches {
    fn place(&mut self, slots: &[usize], input: &mut State) {
        input.begin(slots.len());
        input.room([Part::Mean]);
        input.make_exact();
        if let Err(e) = number(&mut self.placed, slots) {
            input.failed = Some(driver::why(e));
        }
        if input.failed.is_some() {
            return;
        }
        let args = PlaceArgs {
            to: input.layout(),
            record: self.form.record() as i32,
            slots: self.placed.at(),
            records: self.records.at(),
            scale: self.scale.at(),
            mean: input.mean.at(),
        };
        self.gpu.launch("walk_place", [args.to.numbers().div_ceil(256), 1, 1], 256, 0, &args);
    }

    fn rows(&self, rows: &mut State) {
        rows.room(INNOVATION);
        if rows.failed.is_some() {
            return;
        }
        let args = RowsArgs {
            of: rows.layout(),
            k: self.form.k as i32,
            width: self.form.width as i32,
            record: self.form.record() as i32,
            slots: self.placed.at(),
            records: self.records.at(),
            d_mean: rows.d_mean.at(),
        };
        self.gpu.launch("walk_rows", [args.of.numbers().div_ceil(256), 1, 1], 256, 0, &args);
    }

    fn step(&self, input: &State, output: &State, rows: &State) -> Result<()> {
        output.check()?;
        rows.check()?;
        let args = StepArgs {
            of: input.layout(),
            rows: rows.layout(),
            output: output.layout(),
            k: self.form.k as i32,
            width: self.form.width as i32,
            record: self.form.record() as i32,
            slots: self.placed.at(),
            records: self.records.at(),
            scale: self.scale.at(),
            held: self.held.at(),
            moved: self.moved.at(),
            near: self.near.at(),
            slopes: rows.d_mean.at(),
            out: output.mean.at(),
        };
        self.gpu.launch("walk_step", [input.rows, 1, 1], 128, 0, &args);
        Ok(())
    }
}

impl Slots for Searches {
    fn enter(&mut self, slots: &[usize], records: &[f64]) -> Result<()> {
        let record = self.form.record();
        for (slots, some) in slots.chunks(AT_ONCE).zip(records.chunks(AT_ONCE * record)) {
            self.packed.grow(some.len())?;
            self.packed.write(0, some);
            let to = (self.records.at(), record, true);
            self.copy(slots, record, (self.packed.at(), record, false), to)?;
        }
        Ok(())
    }

    fn go(&mut self, slots: &[usize]) -> Result<()> {
        let (width, record) = (self.form.width, self.form.record());
        self.copy(slots, width, (self.moved.at(), width, true), (self.records.at(), record, true))
    }

    fn places(&mut self, slots: &[usize]) -> Result<Vec<f64>> {
        let (width, record) = (self.form.width, self.form.record());
        self.packed.grow(slots.len() * width)?;
        self.copy(slots, width, (self.records.at(), record, true), (self.packed.at(), width, false))?;
        self.packed.read(slots.len() * width)
    }
}

impl Walks<Cuda> for Cuda {
    fn walk(&self, form: WalkForm) -> Result<Option<Box<dyn Walk<State>>>> {
        if form.k > MOST_ROWS {
            return Ok(None);
        }
        let gpu = &self.gpu;
        let numbers = form.slots * form.width;
        let (mut near, scale) = (Buffer::none(gpu), Buffer::zeros(gpu, 2 * form.width)?);
        near.grow(form.k * numbers)?;
        scale.write(0, &form.scale);
        Ok(Some(Box::new(Searches {
            gpu: gpu.clone(),
            records: Buffer::zeros(gpu, form.slots * form.record())?,
            scale,
            held: Buffer::zeros(gpu, numbers)?,
            moved: Buffer::zeros(gpu, numbers)?,
            near,
            placed: Buffer::none(gpu),
            slots: Buffer::none(gpu),
            packed: Buffer::none(gpu),
            form,
        })))
    }
}
