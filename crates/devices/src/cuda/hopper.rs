//! Products for Hopper in fast precision: weights are packed into tiles after every change.

use super::driver::{Buffer, MOST_DOWN, arguments};
use super::map::{Geometry, Weights};
use super::state::State;
use super::{Cuda, Precision};

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct PackArgs {
    outputs: i32,
    taps: i32,
    stride: i32,
    weight_stride: i32,
    tile: i32,
    tile_back: i32,
    w: [u64; 2],
    forward: u64,
    back: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct StreamArgs {
    rows: i32,
    height: i32,
    width: i32,
    stride: i32,
    down: i32,
    across: i32,
    outputs: i32,
    out_stride: i32,
    kernel_h: i32,
    kernel_w: i32,
    before: i32,
    relu: i32,
    weight_stride: i32,
    depth: i32,
    x: [u64; 2],
    packed: u64,
    w: [u64; 2],
    mask: u64,
    z: [u64; 2],
    broken: u64,
}

// SAFETY: these are the kernels' structures; addresses come from buffers that the code below has made large enough and borrows until the launch.
arguments! {
    unsafe {
        PackArgs: "pack";
        StreamArgs: "stream_forward_128", "stream_forward_64", "stream_forward_32", "stream_back_128", "stream_back_64", "stream_back_32";
    }
}

/// Weights in tiles, rounded to TF32.
pub(super) struct Packed {
    forward: Buffer<f32>,
    back: Buffer<f32>,
    /// Whether they match the current weights.
    is_current: bool,
}

/// Minimum number of inputs per unit, and of rows, for which packing is worthwhile.
const LEAST_DEPTH: i32 = 256;
const LEAST_ROWS: i32 = 128;

/// Columns per tile.
fn tile(n: usize) -> usize {
    match n {
        _ if n.is_multiple_of(128) => 128,
        _ if n.is_multiple_of(64) => 64,
        _ => 32,
    }
}

impl Packed {
    /// They must be packed again.
    pub(super) fn outdate(&mut self) {
        self.is_current = false;
    }
}

impl Cuda {
    /// Whether to compute a map with Hopper's products, in this many blocks.
    fn streams(&self, g: &Geometry, blocks: usize) -> bool {
        let pays = g.depth >= LEAST_DEPTH && g.rows >= LEAST_ROWS && 2 * blocks >= self.gpu.multiprocessors;
        let able = self.precision == Precision::Fast && self.gpu.has_wgmma && g.is_dense();
        let able = able && g.taps() <= MOST_DOWN;
        able && (pays && g.sizes()[0] >= self.worth || self.worth == 0)
    }

    /// The packed weights: the forward tiles, the backward ones.
    fn pack(&self, w: &Weights, g: &Geometry) -> Option<[u64; 2]> {
        let mut packed = w.packed.lock().unwrap_or_else(|e| e.into_inner());
        let [outputs, stride, taps] = [g.outputs as usize, g.stride as usize, g.taps()];
        let (tile_f, tile_b) = (tile(outputs), tile(stride));
        if packed.is_none() {
            // Only complete tiles: padding is zero.
            let [n, c] = [outputs.next_multiple_of(tile_f.max(32)), stride.next_multiple_of(tile_b.max(32))];
            let size = taps * n.next_multiple_of(32) * c.next_multiple_of(32);
            let (forward, back) =
                (Buffer::zeros(&self.gpu, 3 * size).ok()?, Buffer::zeros(&self.gpu, 2 * size).ok()?);
            *packed = Some(Packed { forward, back, is_current: false });
        }
        let packed = packed.as_mut().expect("just made");
        if !packed.is_current {
            let args = PackArgs {
                outputs: g.outputs,
                taps: taps as i32,
                stride: g.stride,
                weight_stride: g.weight_stride,
                tile: tile_f as i32,
                tile_back: tile_b as i32,
                w: [w.mean.at(), w.var.at()],
                forward: packed.forward.at(),
                back: packed.back.at(),
            };
            self.gpu.launch("pack", [stride.div_ceil(32), outputs.div_ceil(32), taps], 256, 0, &args);
            packed.is_current = true;
        }
        Some([packed.forward.at(), packed.back.at()])
    }

    /// Packs weights that have changed, if they were packed before.
    pub(super) fn pack_again(&self, w: &Weights) {
        if w.packed.lock().unwrap_or_else(|e| e.into_inner()).is_some() {
            self.pack(w, &Geometry::new(&w.map, 0));
        }
    }

    /// The forward pass; false if other kernels must do it.
    pub(super) fn stream_forward(&self, w: &Weights, x: &State, z: &State) -> bool {
        let g = Geometry::new(&w.map, x.rows);
        let tile = tile(g.outputs as usize);
        let blocks = g.positions().div_ceil(128) * (g.out_stride as usize).div_ceil(tile);
        if !self.streams(&g, blocks) || x.planes || x.exact {
            return false;
        }
        let Some([packed, _]) = self.pack(w, &g) else { return false };
        let args = StreamArgs {
            rows: g.rows,
            height: g.height,
            width: g.width,
            stride: g.stride,
            down: g.down,
            across: g.across,
            outputs: g.outputs,
            out_stride: g.out_stride,
            kernel_h: g.kernel_h,
            kernel_w: g.kernel_w,
            before: g.before,
            relu: x.relu as i32,
            weight_stride: g.weight_stride,
            depth: g.depth,
            x: [x.mean.at(), x.var.at()],
            packed,
            w: [w.mean.at(), w.var.at()],
            mask: 0,
            z: [z.mean.at(), z.var.at()],
            broken: z.flag(false),
        };
        let kernel = match tile {
            128 => "stream_forward_128",
            64 => "stream_forward_64",
            _ => "stream_forward_32",
        };
        self.launch_stream(kernel, &args, tile, 3);
        true
    }

    /// The backward pass; false if other kernels must do it.
    pub(super) fn stream_back(&self, w: &Weights, z: &State, x: &State) -> bool {
        let g = Geometry::new(&w.map, z.rows);
        let tile = tile(g.stride as usize);
        let blocks = (z.rows * x.shape.pixels()).div_ceil(128) * (g.stride as usize).div_ceil(tile);
        if !self.streams(&g, blocks) || x.planes {
            return false;
        }
        let Some([_, packed]) = self.pack(w, &g) else { return false };
        // The same product with the window mirrored: only its leading padding differs.
        let [before_y, before_x] = [g.kernel_h, g.kernel_w].map(|kernel| kernel - 1 - g.before);
        if before_y != before_x {
            return false;
        }
        let args = StreamArgs {
            rows: g.rows,
            height: g.down,
            width: g.across,
            stride: g.out_stride,
            down: g.height,
            across: g.width,
            outputs: g.channels,
            out_stride: g.stride,
            kernel_h: g.kernel_h,
            kernel_w: g.kernel_w,
            before: before_y,
            relu: 0,
            weight_stride: g.weight_stride,
            depth: g.depth,
            x: z.pair_of_d(),
            packed,
            w: [0; 2],
            mask: if x.relu { x.mean.at() } else { 0 },
            z: [x.d_mean.at(), x.d_var.at()],
            broken: x.flag(true),
        };
        let kernel = match tile {
            128 => "stream_back_128",
            64 => "stream_back_64",
            _ => "stream_back_32",
        };
        self.launch_stream(kernel, &args, tile, 2);
        true
    }

    fn launch_stream(&self, kernel: &'static str, args: &StreamArgs, tile: usize, arrays: usize) {
        let shared = 2 * 4 * (arrays * tile * 32 + 2 * 128 * 32);
        let blocks = args.down as usize * args.across as usize * (args.rows as usize).div_ceil(128);
        self.gpu.launch(kernel, [blocks, (args.out_stride as usize).div_ceil(tile), 1], 256, shared, args);
    }
}
