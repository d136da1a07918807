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
//   the device reports that it is faster (`Joins::joins`).
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

mod average;
#[allow(unsafe_code, reason = "calls of foreign libraries")]
mod driver;
mod first;
mod hopper;
mod image;
mod map;
mod norm;
mod pool;
mod rows;
mod state;
mod status;
mod sums;
mod team;
mod tensor;
mod unitwise;
mod uploads;
mod walk;

use super::{Backend, DataSets, Joins, Walks};
use driver::{Arguments, Buffer, Gpu, Team};
use state::{Layout, State};
use status::Status;
use std::sync::{Arc, OnceLock};
use tractable_core::error::Result;

pub(crate) use driver::names;

/// A GPU.
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
pub(crate) enum Precision {
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
    pull: f32,
}

/// Work memory of a layer's kernels.
#[derive(Default)]
pub struct Scratch {
    floats: Option<Buffer<f32>>,
    doubles: [Option<Buffer<f64>>; 4],
    bits: Option<Buffer<u32>>,
    standard: norm::Standard,
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

    /// Makes room in four arrays; if that fails, so does the state `z`.
    fn doubles(&mut self, gpu: &Arc<Gpu>, sizes: [usize; 4], z: &mut State) {
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
    fn over<A: Arguments>(&self, kernel: &'static str, n: usize, args: &A) {
        self.gpu.launch(kernel, [n.div_ceil(256), 1, 1], 256, 0, args);
    }

    /// One thread for four channels of a row, a row of blocks for every pixel.
    fn over_pixels<A: Arguments>(&self, kernel: &'static str, of: Layout, args: &A) {
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
}

impl Backend for Cuda {
    fn data_sets(&self) -> Option<&dyn DataSets<Self>> {
        Some(self)
    }

    fn fused(&self) -> Option<&dyn Joins<Self>> {
        Some(self)
    }

    fn walks(&self) -> Option<&dyn Walks<Self>> {
        Some(self)
    }
}
