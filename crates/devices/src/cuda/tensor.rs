//! Chooses the kernels of a map: plain ones for small or unusual shapes, tensor cores for the rest, in tiles that fill the device.

use super::driver::{Buffer, arguments};
use super::map::{Geometry, Weights};
use super::state::{Layout, State};
use super::{Cuda, Precision, Scratch};

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct ForwardArgs {
    g: Geometry,
    x: Layout,
    relu: i32,
    parts: i32,
    x_prior: [u64; 2],
    w: [u64; 2],
    z_prior: [u64; 2],
    partial: u64,
    broken: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct BackArgs {
    g: Geometry,
    z_d: [u64; 2],
    w_mean: u64,
    x_d: [u64; 2],
    mask: u64,
    broken: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct SumsArgs {
    g: Geometry,
    x: Layout,
    relu: i32,
    parts: i32,
    per: i32,
    x_mean: u64,
    z_d: [u64; 2],
    ones: u64,
    partial: u64,
}

// SAFETY: these are the kernels' structures; addresses come from buffers that the code below has made large enough and borrows until the launch.
arguments! {
    unsafe {
        ForwardArgs: "tensor_forward_wide", "tensor_forward_narrow", "tensor_forward_small", "tensor_forward_end",
            "tensor_known_wide", "tensor_known_narrow", "tensor_known_small", "tensor_first";
        BackArgs: "tensor_back_wide", "tensor_back_narrow", "tensor_back_small";
        SumsArgs: "tensor_sums_wide", "tensor_sums_narrow", "tensor_sums_few", "tensor_sums_first", "stream_sums_32", "stream_sums_64";
    }
}

/// Minimum multiply-adds for tensor cores; below, f32 is as fast and more precise.
pub(super) const WORTH: usize = 1 << 22;
/// Maximum number of positions in a window that the first kernel keeps in shared memory.
const MOST_DEPTH: usize = 512;

/// Rows that sums on Hopper process at a time; a part has a multiple of these.
const STREAMED: usize = 32;

/// A kernel for sums, its launch, and into how many parts it divides the positions.
pub(super) struct SumsForm {
    kernel: &'static str,
    grid: [usize; 3],
    threads: usize,
    shared: usize,
    pub(super) parts: usize,
    per: usize,
}

/// Names of a kernel in the two precisions.
macro_rules! named {
    ($self:expr, $name:literal) => {
        match $self.precision {
            Precision::Precise => concat!($name, "_precise"),
            Precision::Fast => concat!($name, "_fast"),
        }
    };
}

impl Cuda {
    /// Whether to compute a map with tensor cores: it is large, and indices fit into 32 bits.
    fn is_large(&self, g: &Geometry) -> bool {
        let [work, input, output] = g.sizes();
        work >= self.worth && input.max(output) < 1 << 31
    }

    /// The forward pass; false if the plain kernel must do it.
    pub(super) fn tensor_forward(&self, w: &Weights, s: &mut Scratch, x: &State, z: &State) -> bool {
        let g = Geometry::new(&w.map, x.rows);
        let first = x.planes && x.exact && !x.relu && x.rows.is_multiple_of(4) && g.window() <= MOST_DEPTH;
        if !self.is_large(&g) || (x.planes && !first) {
            return false;
        }
        let [positions, outputs] = [g.positions(), g.outputs as usize];
        let blocks = |bm: usize, bn: usize| positions.div_ceil(bm) * outputs.div_ceil(bn);
        let (bm, bn) = match () {
            _ if first || outputs <= 32 => (128, 32),
            _ if blocks(128, 64) >= self.gpu.multiprocessors => (128, 64),
            _ => (64, 64),
        };
        let kernel = match (first, x.exact, bm, bn) {
            (true, ..) => named!(self, "tensor_first"),
            (_, true, 128, 64) => named!(self, "tensor_known_wide"),
            (_, true, 128, _) => named!(self, "tensor_known_narrow"),
            (_, true, ..) => named!(self, "tensor_known_small"),
            (_, _, 128, 64) => named!(self, "tensor_forward_wide"),
            (_, _, 128, _) => named!(self, "tensor_forward_narrow"),
            _ => named!(self, "tensor_forward_small"),
        };
        // Few tiles with a large depth: split the depth.
        let (blocks, deep) = (blocks(bm, bn), g.stages());
        let most = 2 * self.gpu.multiprocessors / blocks;
        let split = !first && most > 1 && deep >= if most < 4 { 32 } else { 16 };
        let parts = if split { (deep / 6).min(most).max(1) } else { 1 };
        let numbers = positions * g.out_stride as usize;
        if parts > 1 && s.floats(&self.gpu, 2 * parts * numbers).is_none() {
            return false;
        }
        let args = ForwardArgs {
            g,
            x: x.layout(),
            relu: x.relu as i32,
            parts: parts as i32,
            x_prior: [x.mean.at(), x.var_at()],
            w: [w.mean.at(), w.var.at()],
            z_prior: [z.mean.at(), z.var.at()],
            partial: s.floats_at(),
            broken: z.flag(false),
        };
        let (stages, arrays) = if first { (3, 1) } else { (4, if x.exact { 1 } else { 2 }) };
        let shared = stages * 16 * 4 * (arrays * bm + 2 * bn);
        let grid = [positions.div_ceil(bm), (g.out_stride as usize).div_ceil(bn), parts];
        self.gpu.launch(kernel, grid, 128, shared, &args);
        if parts > 1 {
            self.over("tensor_forward_end", numbers, &args);
        }
        true
    }

    /// The backward pass; false if the plain kernel must do it.
    pub(super) fn tensor_back(&self, w: &Weights, z: &State, x: &State) -> bool {
        let g = Geometry::new(&w.map, z.rows);
        if !self.is_large(&g) || x.planes || !g.is_dense() {
            return false;
        }
        let (positions, channels) = (z.rows * x.shape.pixels(), g.stride as usize);
        let (kernel, bm, bn) = match () {
            _ if channels <= 32 => (named!(self, "tensor_back_narrow"), 128, 32),
            _ if positions.div_ceil(128) * channels.div_ceil(64) >= self.gpu.multiprocessors => {
                (named!(self, "tensor_back_wide"), 128, 64)
            }
            _ => (named!(self, "tensor_back_small"), 64, 64),
        };
        let args = BackArgs {
            g,
            z_d: z.pair_of_d(),
            w_mean: w.mean.at(),
            x_d: [x.d_mean.at(), x.d_var.at()],
            mask: if x.relu { x.mean.at() } else { 0 },
            broken: x.flag(true),
        };
        let shared = 4 * 16 * 4 * (2 * bm + bn);
        self.gpu.launch(kernel, [positions.div_ceil(bm), channels.div_ceil(bn), 1], 128, shared, &args);
        true
    }

    /// How sums for learning are computed; `None` if the plain kernel must do it.
    pub(super) fn tensor_sums_form(&self, g: &Geometry, x: &State) -> Option<SumsForm> {
        if !self.is_large(g) || (x.planes && (!x.rows.is_multiple_of(4) || x.relu)) {
            return None;
        }
        let (outputs, positions) = (g.outputs as usize, g.positions());
        let depth = if x.planes { g.window() } else { g.depth as usize };
        let streams = self.streams_sums(g, x);
        let (kernel, threads, bm, bn) = match () {
            _ if streams && outputs <= 32 => ("stream_sums_32", 128, 128, 32),
            _ if streams => ("stream_sums_64", 128, 128, 64),
            _ if x.planes && depth < 32 => (named!(self, "tensor_sums_few"), 128, 32, 32),
            _ if x.planes => (named!(self, "tensor_sums_first"), 96, 96, 32),
            _ if outputs <= 32 => (named!(self, "tensor_sums_narrow"), 128, 128, 32),
            _ => (named!(self, "tensor_sums_wide"), 128, 128, 64),
        };
        let tiles = (depth + 1).div_ceil(bm) * outputs.div_ceil(bn);
        let at_once = match () {
            _ if x.planes => 4,
            _ if streams && bn == 32 => 3,
            _ => 2,
        };
        let per_device = at_once * self.gpu.multiprocessors;
        let wanted = if tiles >= self.gpu.multiprocessors { 1 } else { per_device / tiles };
        let wanted = wanted.min(positions / 128).max(1);
        let per = positions.div_ceil(wanted).next_multiple_of(STREAMED);
        let shared = match streams {
            true => 2 * STREAMED * (bm + 2 * bn) * 4,
            false => (4 * 16 * (bm + 2 * bn)).max(2 * bn * (bm + 4)) * 4,
        };
        let parts = positions.div_ceil(per);
        let grid = [(depth + 1).div_ceil(bm), outputs.div_ceil(bn), parts];
        Some(SumsForm { kernel, grid, threads, shared, parts, per })
    }

    /// Sums for learning, in parts, for which there is room.
    pub(super) fn tensor_sums(&self, g: &Geometry, s: &Scratch, x: &State, z: &State, form: &SumsForm) {
        let &SumsForm { kernel, grid, threads, shared, parts, per } = form;
        if x.planes {
            // No thread handles columns of padding.
            s.clear_floats(2 * parts * g.plane());
        }
        let args = SumsArgs {
            g: *g,
            x: x.layout(),
            relu: x.relu as i32,
            parts: parts as i32,
            per: per as i32,
            x_mean: x.mean.at(),
            z_d: [z.d_mean.at(), z.d_var.at()],
            ones: self.ones.at(),
            partial: s.floats_at(),
        };
        self.gpu.launch(kernel, grid, threads, shared, &args);
    }
}

impl Cuda {
    /// Whether to compute the sums with Hopper's products.
    fn streams_sums(&self, g: &Geometry, x: &State) -> bool {
        let able = self.precision == Precision::Fast && self.gpu.has_wgmma && !x.planes;
        able && x.rows.is_multiple_of(STREAMED) && g.outputs > 16
    }
}

/// What the kernels load as the input of a bias.
pub(super) fn ones(gpu: &std::sync::Arc<super::driver::Gpu>) -> tractable_core::error::Result<Buffer<f32>> {
    let buffer = Buffer::zeros(gpu, 8)?;
    buffer.write(0, &[1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
    Ok(buffer)
}
