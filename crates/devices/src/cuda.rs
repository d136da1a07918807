//! An NVIDIA GPU through the CUDA driver alone. Kernels are CUDA C in the crate's folder `cuda/`, compiled ahead of time and embedded.
//!
//! `driver` opens the library, launches kernels and owns memory; `state` defines the memory layout of a layer; each of the other files
//! launches the kernels of one `.cu` file. Work is asynchronous: a call returns when its kernels are queued. If memory
//! runs out, a state fails, everything computed from it fails too, and the next call that reads or reports returns the error; no parameters
//! change.

// `crates/devices/cuda/kernels` is CUDA C. `compile.py` compiles it to PTX (compute capability 8.0
// and later) and to code for Hopper, using NVRTC from PyPI; it needs no GPU. Both are stored compressed
// next to the hash of their source, and a test fails if they are out of date. `driver.rs` opens the
// driver's library at run time; all `unsafe` code of the device is in it and in `driver/`. Every kernel
// takes one structure, which has a Rust counterpart where the kernel is launched.
//
// - **States** are laid out as `[pixel][row][channel]`, with channels padded to a multiple of four, so
//   that a tile of a product is a contiguous block of rows. Input images with one or three channels are
//   laid out as `[pixel][channel][row]`. Padding holds finite numbers and has zero weights.
// - **Products** run on three paths: `map.cu` (f32, any shape, small work), `tensor.cu` (tensor cores
//   with `mma`, two precisions), `hopper.cu` and `hopper_sums.cu` (TF32 with `wgmma`, weights packed
//   into tiles after every change). `tensor.rs` and `hopper.rs` choose. Sums over a batch are computed
//   in parts and added in a fixed order: there are no floating-point atomics, and the same batch gives
//   the same bits.
// - **ReLU is a view** while learning: the activation shares its pre-activation's memory. A kernel that
//   reads it applies ReLU while loading, and a kernel that sends innovations back sends none where ReLU
//   is flat.
// - **First layers are fused.** A network that learns from known images and begins with a convolution,
//   ReLU and average pooling has a second plan (`Graph::learn_joined`): `first.cu` computes the pooled
//   state in one kernel and keeps one bit per unit for the backward pass. The engine uses that plan if
//   the device reports that it is faster (`Backend::joins`).
// - **Nothing waits.** A call queues kernels (`driver/queue.rs`); they are submitted to the driver when
//   a result, memory or a copy is needed. A queue that repeats exactly, arguments included, is captured
//   and from then on launched as one CUDA graph: a batch of the same size is one graph. Graphs are
//   recorded on streams of their own, so that several threads can use one GPU. The sums for learning
//   run on side streams as soon as a layer has its innovation; weights are updated only after the whole
//   backward pass. Kernels that write a state set a flag if a number is not finite; only then does
//   `check` look for the first one. The status is read every 32 batches; the order of the next epoch is
//   drawn while the device still works. Data sets stay on the device: images as bytes, augmented
//   according to decisions drawn on the host (so a fit is the same on every device), targets as a
//   table.
// - **Searches stay on the device.** `walk.cu` keeps the position of every search in f64, with its
//   limits, in its own slot; a round takes a list of slots and computes the step (T51) from the rows at
//   the input, one block per search. Freed memory stays in the driver's pool.
// - **Failures are local.** A state that could not be allocated is marked as failed, and so is
//   everything computed from it. No parameters change, and the next call that reads a result reports
//   how much memory was needed. After an error of the driver itself the device counts as lost.
// - **Tests need no GPU.** `cuda/emulator` replaces the driver's library: it compiles the same kernels
//   as C++ and runs them on the CPU, one fiber per thread, tensor cores included. It can also simulate
//   running out of memory and a lost device, or skip all kernels, so that a profile shows only the
//   host's time. `TRACTABLE_LIBCUDA` names the library to open.

#[allow(unsafe_code, reason = "calls of foreign libraries")]
mod driver;
mod first;
mod given;
mod hopper;
mod image;
mod map;
mod norm;
mod pool;
mod rows;
mod state;
mod sums;
mod team;
mod tensor;
mod unitwise;
mod walk;

use super::{
    Backend, Broken, Change, Field, Map, NoiseSums, NoiseVar, Noted, Parameters, Pool, Purpose, Seen,
    Statistics, Steps, Tally, Units,
};
use crate::walk::{Walk, WalkForm};
use driver::{Buffer, Gpu, Team};
use map::Weights;
use norm::Norm;
use rows::{Derivative, Spread};
use state::{Layout, RowStore, State};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use sums::Sums;
use tractable_core::error::Result;
use tractable_core::moments::Activation;
use tractable_core::moments::derivative::Gate;
use tractable_core::shape::{Shape, Window};
use tractable_core::workers::{Numbers, Transport};
use walk::Searches;

pub use driver::names;

pub struct Cuda {
    gpu: Arc<Gpu>,
    ordinal: usize,
    precision: Precision,
    /// Minimum multiply-adds of a map for tensor cores.
    worth: usize,
    /// Inputs of a bias.
    ones: Buffer<f32>,
    /// The GPUs of other workers, once it is known whether they form a team.
    team: OnceLock<Option<Team>>,
}

/// How tensor cores multiply f32 numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Split into two bf16 parts each.
    Precise,
    /// Rounded to TF32.
    Fast,
}

impl std::fmt::Debug for Cuda {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cuda {{ ordinal: {}, name: {} }}", self.ordinal, self.gpu.name)
    }
}

/// A `Step` in f32; the kernels' `Step`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq)]
struct StepArgs {
    kind: i32,
    cap: f32,
    weight: f32,
    share: f32,
    mean: f32,
    precision: f32,
}

/// Where the kernels record what happens.
#[derive(Default)]
pub struct Status {
    on_device: Option<Buffer<u32>>,
    failed: Option<String>,
}

/// Words of the kernels' `Status`: whether a number is not finite, its state, row and value; two counts of two words each.
const STATUS_WORDS: usize = 8;

/// Work memory of a layer's kernels.
#[derive(Default)]
pub struct Scratch {
    floats: Option<Buffer<f32>>,
    doubles: [Option<Buffer<f64>>; 3],
    bits: Option<Buffer<u32>>,
    failed: Option<String>,
}

impl Scratch {
    /// Makes room for this many numbers.
    fn floats(&mut self, gpu: &Arc<Gpu>, n: usize) -> Option<()> {
        let grown = self.floats.get_or_insert_with(|| Buffer::none(gpu)).grow(n);
        self.failed = grown.err().map(driver::why);
        self.failed.is_none().then_some(())
    }

    /// Makes room for this many words of bits; returns the reason if it cannot.
    fn bits(&mut self, gpu: &Arc<Gpu>, n: usize) -> Option<String> {
        self.bits.get_or_insert_with(|| Buffer::none(gpu)).grow(n).err().map(driver::why)
    }

    fn clear_floats(&self, n: usize) {
        if let Some(floats) = &self.floats {
            floats.clear(n);
        }
    }

    fn floats_at(&self) -> u64 {
        self.floats.as_ref().map_or(0, Buffer::at)
    }

    /// Makes room in three arrays; if that fails, so does the state `z`.
    fn doubles(&mut self, gpu: &Arc<Gpu>, sizes: [usize; 3], z: &mut State) {
        for (buffer, n) in self.doubles.iter_mut().zip(sizes) {
            if let Err(e) = buffer.get_or_insert_with(|| Buffer::none(gpu)).grow(n) {
                z.failed = Some(driver::why(e));
            }
        }
    }

    fn at(&self, which: usize) -> u64 {
        self.doubles[which].as_ref().map_or(0, Buffer::at)
    }
}

impl Cuda {
    /// Opens a GPU.
    pub(super) fn open(ordinal: usize, precision: Precision) -> Result<Self> {
        let gpu = Arc::new(Gpu::open(ordinal, image::code, image::ptx)?);
        let (ones, team) = (tensor::ones(&gpu)?, OnceLock::new());
        Ok(Cuda { ones, gpu, ordinal, precision, worth: tensor::WORTH, team })
    }

    /// The same with tensor cores for every map, however small.
    #[cfg(test)]
    pub(super) fn eager(self) -> Self {
        Cuda { worth: 0, ..self }
    }

    pub(super) fn precision(&self) -> Precision {
        self.precision
    }

    pub(super) fn ordinal(&self) -> usize {
        self.ordinal
    }

    pub(super) fn name(&self) -> &str {
        &self.gpu.name
    }

    /// Launches a kernel with one thread for each of `n` numbers.
    fn over<A: Copy + PartialEq + Send + 'static>(&self, kernel: &'static str, n: usize, args: &A) {
        self.gpu.launch(kernel, [n.div_ceil(256), 1, 1], 256, 0, args);
    }

    /// One thread for four channels of a row, a row of blocks for every pixel.
    fn over_pixels<A: Copy + PartialEq + Send + 'static>(&self, kernel: &'static str, of: Layout, args: &A) {
        let pixels = of.pixels as usize;
        self.gpu.launch(kernel, [(of.numbers() / pixels / 4).div_ceil(256), pixels, 1], 256, 0, args);
    }

    /// Makes room for the numbers of a layer's sums; records in the status what is missing.
    fn reserve(&self, s: &mut Scratch, numbers: usize, states: [&State; 2], status: &mut Status) {
        self.status_at(status);
        let failed = states.into_iter().find_map(|state| state.failed.clone());
        status.failed = status.failed.take().or(failed);
        if status.failed.is_none() && s.floats(&self.gpu, numbers).is_none() {
            status.failed = s.failed.clone();
        }
    }

    /// Address of a status on the device; `None` if it cannot be allocated.
    fn status_at(&self, status: &mut Status) -> Option<u64> {
        if status.on_device.is_none() {
            match Buffer::zeros(&self.gpu, STATUS_WORDS) {
                Ok(buffer) => status.on_device = Some(buffer),
                Err(e) => status.failed = Some(driver::why(e)),
            }
        }
        status.on_device.as_ref().map(Buffer::at)
    }
}

impl Backend for Cuda {
    type State = State;
    type Scratch = Scratch;
    type Weights = Weights;
    type Norm = Norm;
    type Sums = Sums;
    type RowStore = RowStore;
    type Status = Status;
    type Derivative = Derivative;
    type Spread = Spread;

    fn is_double(&self) -> bool {
        false
    }

    fn bytes(&self, map: &Map) -> u64 {
        map::bytes(map)
    }

    fn numbers(&self, shape: Shape) -> usize {
        5 * Layout::new(shape, 1, false).numbers()
    }

    fn state(&self, shape: Shape) -> State {
        State::new(&self.gpu, shape)
    }

    fn like(&self, state: &State, spare: &mut State) {
        spare.made_from(state, state.planes);
    }

    fn write(&self, state: &mut State, mean: &[f64], var: Option<&[f64]>) -> Result<()> {
        self.write_state(state, mean, var)
    }

    fn read(&self, state: &State, field: Field) -> Result<Vec<f64>> {
        self.read_state(state, field)
    }

    fn table(&self, shape: Shape, rows: usize) -> Result<RowStore> {
        let mut values = Buffer::none(&self.gpu);
        values.grow(rows * shape.len())?;
        Ok(RowStore { len: shape.len(), values, bytes: None })
    }

    fn keeps_data(&self) -> bool {
        true
    }

    fn images(&self, shape: Shape, pixels: &[u8], scaled: &[f32], greys: &[f32]) -> Result<RowStore> {
        self.new_images(shape, pixels, scaled, greys)
    }

    fn gather_images(&self, images: &RowStore, rows: &[usize], changes: &[Change], state: &mut State) {
        self.gather_changed(images, rows, changes, state);
    }

    fn observe_rows(
        &self,
        input: &State,
        output: &mut State,
        targets: &RowStore,
        rows: &[usize],
        noise: NoiseVar<'_>,
    ) {
        self.observe_table(input, output, targets, rows, noise);
    }

    fn walk(&self, form: WalkForm) -> Result<Option<Box<dyn Walk<State>>>> {
        if form.k > walk::MOST_ROWS {
            return Ok(None);
        }
        Ok(Some(Box::new(Searches::new(&self.gpu, form)?)))
    }

    fn table_write(&self, table: &mut RowStore, first: usize, values: &[f64]) -> Result<()> {
        self.write_table(table, first, values)
    }

    fn gather(&self, table: &RowStore, rows: &[usize], state: &mut State) {
        self.gather_rows(table, rows, state);
    }

    fn lacks(&self, status: &mut Status) -> Result<()> {
        self.gpu.alive()?;
        status.failed.take().map_or(Ok(()), |why| Err(driver::failed(why)))
    }

    fn status(&self, status: &mut Status) -> Result<Noted> {
        self.lacks(status)?;
        let Some(on_device) = &mut status.on_device else { return Ok(Noted::default()) };
        let w = on_device.read(STATUS_WORDS)?;
        on_device.clear(STATUS_WORDS);
        let broken =
            Broken { state: w[1] as usize, row: w[2] as usize, value: f64::from(f32::from_bits(w[3])) };
        let long = |i: usize| u64::from(w[i]) | u64::from(w[i + 1]) << 32;
        let tally = Tally { capped: long(4), repaired: long(6) };
        Ok(Noted { broken: (w[0] != 0).then_some(broken), tally })
    }

    fn check_states(&self, states: &[State], status: &mut Status) {
        self.check_all(states, status);
    }

    fn check_innovation(&self, state: &State, number: usize, status: &mut Status) {
        self.check_d(state, number, status);
    }

    fn weights(&self, map: Map) -> Result<Weights> {
        Weights::zeros(&self.gpu, map)
    }

    fn set_weights(
        &self,
        weights: &mut Weights,
        outputs: Range<usize>,
        parameters: &Parameters,
    ) -> Result<()> {
        weights.set(outputs, parameters);
        self.gpu.alive()
    }

    fn weights_parameters(&self, weights: &Weights, outputs: Range<usize>) -> Result<Parameters> {
        weights.parameters(outputs)
    }

    fn norm(&self, parameters: &Parameters, statistics: &Statistics) -> Result<Norm> {
        self.new_norm(parameters, statistics)
    }

    fn norm_parameters(&self, norm: &Norm) -> Result<(Parameters, Statistics)> {
        self.read_norm(norm)
    }

    fn map(&self, w: &Weights, scratch: &mut Scratch, x: &State, z: &mut State, purpose: Purpose) {
        self.map_state(w, scratch, x, z, purpose == Purpose::Rows);
    }

    fn map_back(&self, w: &Weights, _: &mut Scratch, z: &State, x: &mut State) {
        self.map_state_back(w, z, x);
    }

    fn map_sums(&self, w: &Weights) -> Sums {
        self.new_map_sums(w)
    }

    fn map_accumulate(&self, w: &Weights, scratch: &mut Scratch, x: &State, z: &State, sums: &mut Sums) {
        self.accumulate_map(w, scratch, x, z, sums);
    }

    fn map_apply(&self, w: &mut Weights, sums: &Sums, steps: Steps, status: &mut Status) {
        self.apply_map(w, sums, steps, status);
    }

    fn map_reserve(&self, w: &Weights, scratch: &mut Scratch, x: &State, z: &State, status: &mut Status) {
        self.reserve_map(w, scratch, x, z, status);
    }

    fn map_learn(
        &self,
        w: &mut Weights,
        scratch: &mut Scratch,
        x: &State,
        z: &State,
        steps: Steps,
        status: &mut Status,
    ) {
        self.learn_map(w, scratch, x, z, steps, status);
    }

    fn joins(&self, w: &Weights, pool: Window, x: &State) -> bool {
        self.can_join(w, pool, x)
    }

    fn join(&self, w: &Weights, scratch: &mut Scratch, pool: Window, x: &State, pooled: &mut State) {
        self.joined(w, scratch, pool, x, pooled);
    }

    fn join_reserve(
        &self,
        w: &Weights,
        scratch: &mut Scratch,
        x: &State,
        pooled: &State,
        status: &mut Status,
    ) {
        self.reserve_joined(w, scratch, x, pooled, status);
    }

    fn join_learn(
        &self,
        w: &mut Weights,
        scratch: &mut Scratch,
        pool: Window,
        x: &State,
        pooled: &State,
        steps: Steps,
        status: &mut Status,
    ) {
        self.learn_joined(w, scratch, pool, x, pooled, steps, status);
    }

    fn pool(&self, pool: Pool, window: Window, x: &State, z: &mut State) {
        self.pool_state(pool, window, x, z);
    }

    fn pool_back(&self, pool: Pool, window: Window, forward: &State, z: &State, x: &mut State) {
        self.pool_state_back(pool, window, forward, z, x);
    }

    fn normalize(&self, norm: &Norm, scratch: &mut Scratch, x: &State, z: &mut State, purpose: Purpose) {
        self.normalize_state(norm, scratch, x, z, purpose);
    }

    fn normalize_back(&self, n: &Norm, scratch: &Scratch, z: &State, x: &mut State) {
        self.normalize_state_back(n, scratch, z, x);
    }

    fn normalize_sums(&self, norm: &Norm) -> Sums {
        match self.new_norm_sums(norm) {
            Ok(buffer) => Sums::Norm(buffer, Self::norm_sums_len(norm)),
            Err(e) => Sums::Failed(driver::why(e)),
        }
    }

    fn normalize_accumulate(
        &self,
        norm: &Norm,
        scratch: &mut Scratch,
        x: &State,
        z: &State,
        sums: &mut Sums,
    ) {
        if let Sums::Norm(total, _) = sums {
            self.add_norm_sums(norm, scratch, x, z, total);
        }
    }

    fn normalize_apply(&self, norm: &mut Norm, sums: &Sums, steps: Steps, status: &mut Status) {
        match sums {
            Sums::Norm(total, _) => self.apply_norm(norm, total, steps, status),
            Sums::Failed(why) => status.failed = Some(why.clone()),
            Sums::Map(..) => unreachable!("sums of a normalisation"),
        }
    }

    fn clear(&self, sums: &mut Sums) {
        match sums {
            Sums::Map(buffer, n) => buffer.clear(*n),
            Sums::Norm(buffer, n) => buffer.clear(*n),
            Sums::Failed(_) => {}
        }
    }

    fn check_sums(&self, sums: &Sums) -> Result<()> {
        match sums {
            Sums::Failed(why) => Err(driver::failed(why.clone())),
            _ => Ok(()),
        }
    }

    fn sums_add(&self, sums: &[&Sums], workers: &dyn Transport) -> Result<bool> {
        self.add_directly(sums, workers)
    }

    fn sums_read(&self, sums: &Sums, many: &mut Numbers, few: &mut Vec<f64>) -> Result<()> {
        sums.read(many, few)
    }

    fn sums_write(
        &self,
        sums: &mut Sums,
        many: &Numbers,
        at: usize,
        few: &mut dyn Iterator<Item = f64>,
    ) -> Result<usize> {
        sums.write(many, at, few)
    }

    fn activate(&self, activation: Activation, z: &State, a: &mut State, purpose: Purpose) {
        match purpose {
            Purpose::Learn => self.activate_to_learn(activation, z, a),
            Purpose::Predict | Purpose::Rows => {
                self.activate_state(activation, z, a, purpose == Purpose::Rows)
            }
        }
    }

    fn activate_back(&self, forward: &State, a: &State, z: &mut State) {
        self.activate_state_back(forward, a, z);
    }

    fn add(&self, states: &[State], numbers: &[usize], z: &mut State) {
        self.sum_of_states(states, numbers, z);
    }

    fn add_back(&self, z: &State, x: &mut State) {
        self.send_innovation(z, x, false);
    }

    fn add_innovation(&self, more: &State, x: &mut State) {
        self.send_innovation(more, x, true);
    }

    fn observe(&self, output: &mut State, seen: Seen<'_>) {
        self.observe_state(output, seen);
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
        self.innovate_state(output, d_mean)
    }

    fn forget_innovation(&self, state: &mut State) {
        self.forget(state);
    }

    fn posterior(&self, state: &mut State) {
        self.posterior_of(state);
    }

    fn rows(&self, of: &State, k: usize, rows: &mut State) {
        rows.made_from(of, of.planes);
        rows.rows = of.rows * k;
        (rows.means_only, rows.several) = (true, k > 1);
    }

    fn spread_begin(&self, of: &State, k: usize, spread: &mut Spread) {
        self.begin_spread(of, k, spread);
    }

    fn spread_add(&self, of: &State, field: Field, rows: &State, spread: &mut Spread) {
        self.add_spread(of, field, rows, spread);
    }

    fn spread_read(&self, spread: &Spread) -> Result<Vec<f64>> {
        self.read_spread(spread)
    }

    fn derivative_output(&self, units: Units<'_, State>, output: usize, d: &mut Derivative) {
        self.derive_output(units, output, d);
    }

    fn derivative_map(
        &self,
        w: &Weights,
        _: &mut Scratch,
        below: Units<'_, State>,
        above: Units<'_, State>,
        d_above: &Derivative,
        gate: Gate,
        more: bool,
        d: &mut Derivative,
    ) {
        self.derive_below(Some(w), below, above, d_above, gate, more, d);
    }

    fn derivative_add(
        &self,
        below: Units<'_, State>,
        above: Units<'_, State>,
        d_above: &Derivative,
        gate: Gate,
        more: bool,
        d: &mut Derivative,
    ) {
        self.derive_below(None, below, above, d_above, gate, more, d);
    }

    fn derivative_read(&self, d: &Derivative) -> Result<[Vec<f64>; 3]> {
        self.read_derivative(d)
    }
}
