//! The fused first layers, while learning: a convolution of known images, ReLU and average pooling.

use super::driver::{Buffer, arguments};
use super::map::{Geometry, Weights};
use super::state::{PRIOR, State};
use super::status::Status;
use super::{Cuda, Precision, Scratch};
use crate::{Joins, Steps};
use tractable_core::shape::Window;

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct FirstArgs {
    g: Geometry,
    pool: i32,
    pool_step: i32,
    pool_before: i32,
    pool_down: i32,
    pool_across: i32,
    segments: i32,
    x: u64,
    w: [u64; 2],
    z: [u64; 2],
    mask: u64,
    z_d: [u64; 2],
    partial: u64,
    broken: u64,
}

// SAFETY: these are the kernels' structures; addresses come from buffers that the code below has made large enough and borrows until the launch.
arguments! {
    unsafe {
        FirstArgs: "first_forward_1", "first_forward_2", "first_forward_5", "first_sums_1", "first_sums_2", "first_sums_3";
    }
}

/// Rows per warp.
const ROWS: usize = 16;
/// Minimum number of rows for which one kernel is faster than three.
const LEAST_ROWS: usize = 512;
/// Maximum size of a window that a kernel can hold.
const MOST_WINDOW: usize = 80;
/// Threads per block.
const THREADS: usize = 128;

impl Cuda {
    /// Segments of a row, and parts of the sums: all warps have the same number of segments, and all are on the device at once.
    fn sums_parts(&self, g: &Geometry) -> (usize, usize) {
        let segments = (g.across as usize / 8).clamp(1, 3);
        let items = g.rows as usize / ROWS * g.down as usize * segments;
        let warps = 2 * self.gpu.multiprocessors * THREADS / 32;
        (segments, items.div_ceil(items.div_ceil(warps)).div_ceil(THREADS / 32))
    }

    fn first_args(&self, w: &Weights, s: &Scratch, pool: Window, x: &State, pooled: &State) -> FirstArgs {
        let [pool_down, pool_across] = [pooled.shape.height, pooled.shape.width].map(|n| n as i32);
        let [size, pool_step, pool_before] = [pool.kernel, pool.stride, pool.before()].map(|n| n as i32);
        FirstArgs {
            g: Geometry::new(&w.map, x.rows),
            pool: size,
            pool_step,
            pool_before,
            pool_down,
            pool_across,
            segments: 1,
            x: x.mean.at(),
            w: [w.mean.at(), w.var.at()],
            z: [pooled.mean.at(), pooled.var.at()],
            mask: s.bits.as_ref().map_or(0, Buffer::at),
            z_d: [pooled.d_mean.at(), pooled.d_var.at()],
            partial: s.floats_at(),
            broken: pooled.flag(false),
        }
    }
}

impl Joins<Cuda> for Cuda {
    fn joins(&self, w: &Weights, pool: Window, x: &State) -> bool {
        let g = Geometry::new(&w.map, x.rows);
        let enough = x.rows >= LEAST_ROWS || self.worth == 0;
        let overlaps = (pool.stride..=2 * pool.stride).contains(&pool.kernel);
        let [_, input, output] = g.sizes();
        x.planes
            && x.exact
            && !x.relu
            && enough
            && x.rows.is_multiple_of(ROWS)
            && overlaps
            && g.is_dense()
            && g.window() <= MOST_WINDOW
            && input.max(output) < 1 << 31
    }

    fn join(&self, w: &Weights, s: &mut Scratch, pool: Window, x: &State, pooled: &mut State) {
        pooled.made_from(x, false);
        pooled.room(PRIOR);
        let g = Geometry::new(&w.map, x.rows);
        let tiles = (g.out_stride as usize).div_ceil(32);
        pooled.failed = pooled.failed.take().or_else(|| s.bits(&self.gpu, tiles * g.positions()));
        if pooled.failed.is_some() {
            return;
        }
        // As many warps as the device can hold; those with large windows need more registers.
        let at_once = if g.window() <= 16 { 12 } else { 6 };
        let warps = x.rows / ROWS * pooled.shape.height;
        let segments =
            (at_once * self.gpu.multiprocessors).div_ceil(warps).clamp(1, (pooled.shape.width / 4).max(1));
        let args = FirstArgs { segments: segments as i32, ..self.first_args(w, s, pool, x, pooled) };
        let kernel = match (g.window().div_ceil(16), self.precision) {
            (1, Precision::Fast) => "first_forward_1_fast",
            (1, Precision::Precise) => "first_forward_1_precise",
            (2, Precision::Fast) => "first_forward_2_fast",
            (2, Precision::Precise) => "first_forward_2_precise",
            (_, Precision::Fast) => "first_forward_5_fast",
            (_, Precision::Precise) => "first_forward_5_precise",
        };
        let blocks = (warps * segments).div_ceil(THREADS / 32);
        self.gpu.launch(kernel, [blocks, tiles, 1], THREADS, 0, &args);
    }

    fn join_reserve(&self, w: &Weights, s: &mut Scratch, [x, pooled]: [&State; 2], status: &mut Status) {
        let g = Geometry::new(&w.map, x.rows);
        let (_, parts) = self.sums_parts(&g);
        self.reserve(s, 2 * parts * g.plane(), [x, pooled], status);
    }

    fn join_learn(
        &self,
        w: &mut Weights,
        s: &mut Scratch,
        pool: Window,
        [x, pooled]: [&State; 2],
        steps: Steps,
        status: &mut Status,
    ) {
        self.join_reserve(w, s, [x, pooled], status);
        if status.failed.is_some() {
            return;
        }
        let g = Geometry::new(&w.map, x.rows);
        let deep = g.window().div_ceil(16);
        // Groups of sixteen numbers of the window per block, and blocks for all of them.
        let (kernel, sixteens) = match (deep, self.precision) {
            (1, Precision::Fast) => ("first_sums_1_fast", 1),
            (1, Precision::Precise) => ("first_sums_1_precise", 1),
            (2, Precision::Fast) => ("first_sums_2_fast", 2),
            (2, Precision::Precise) => ("first_sums_2_precise", 2),
            (_, Precision::Fast) => ("first_sums_3_fast", 3),
            (_, Precision::Precise) => ("first_sums_3_precise", 3),
        };
        let (tiles, windows) = ((g.outputs as usize).div_ceil(32), deep.div_ceil(sixteens));
        let (segments, parts) = self.sums_parts(&g);
        // No thread handles columns of padding.
        s.clear_floats(2 * parts * g.plane());
        let shared = THREADS / 32 * 2 * 32 * (16 * sixteens + 1) * 4;
        let args = FirstArgs { segments: segments as i32, ..self.first_args(w, s, pool, x, pooled) };
        self.gpu.launch(kernel, [parts, tiles, windows], THREADS, shared, &args);
        self.step_from(w, parts, s.floats_at(), steps, status);
    }
}
