//! Dense layers and convolutions: weights `[output][window row, window column, padded channel; bias]`.

use super::driver::{self, Buffer, Mark, arguments};
use super::hopper::Packed;
use super::state::{Layout, PRIOR, Part, State, padded};
use super::status::Status;
use super::sums::Sums;
use super::{Cuda, Scratch, StepArgs};
use crate::{Learning, Map, Maps, Parameters, Purpose, Step, Steps, Weighted};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use tractable_core::error::Result;
use tractable_core::moments::posterior::PACED_CAP;

pub struct Weights {
    pub(super) map: Map,
    pub(super) mean: Buffer<f32>,
    pub(super) var: Buffer<f32>,
    /// The weights in the tiles of `hopper.cu`, if those are used.
    pub(super) packed: Mutex<Option<Packed>>,
    /// Whether the layer has its innovation in this pass.
    innovated: Arc<Mark>,
}

/// The kernels' `Geometry`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Geometry {
    pub(super) rows: i32,
    pub(super) height: i32,
    pub(super) width: i32,
    pub(super) channels: i32,
    pub(super) stride: i32,
    pub(super) down: i32,
    pub(super) across: i32,
    pub(super) outputs: i32,
    pub(super) out_stride: i32,
    pub(super) kernel_h: i32,
    pub(super) kernel_w: i32,
    step: i32,
    pub(super) before: i32,
    pub(super) depth: i32,
    pub(super) weight_stride: i32,
}

impl Geometry {
    pub(super) fn new(map: &Map, rows: usize) -> Self {
        let (input, output) = (map.input, map.output);
        // A dense map is a window of the image's own size.
        let (kernel_h, kernel_w, step, before) = match map.window {
            None => (input.height, input.width, 1, 0),
            Some(w) => (w.kernel, w.kernel, w.stride, w.before()),
        };
        let stride = padded(input.channels);
        let depth = kernel_h * kernel_w * stride;
        let all = [
            rows,
            input.height,
            input.width,
            input.channels,
            stride,
            output.height,
            output.width,
            output.channels,
            padded(output.channels),
            kernel_h,
            kernel_w,
            step,
            before,
            depth,
            depth + 4,
        ];
        let [rows, height, width, channels, stride, down, across, outputs, out_stride, ..] =
            all.map(|n| n as i32);
        let [.., kernel_h, kernel_w, step, before, depth, weight_stride] = all.map(|n| n as i32);
        Geometry {
            rows,
            height,
            width,
            channels,
            stride,
            down,
            across,
            outputs,
            out_stride,
            kernel_h,
            kernel_w,
            step,
            before,
            depth,
            weight_stride,
        }
    }

    /// Parameters, padding included.
    pub(super) fn plane(&self) -> usize {
        self.outputs as usize * self.weight_stride as usize
    }

    /// Positions of the output in a batch.
    pub(super) fn positions(&self) -> usize {
        self.rows as usize * self.down as usize * self.across as usize
    }

    /// Multiply-adds of one product, and sizes of the input and the output.
    pub(super) fn sizes(&self) -> [usize; 3] {
        let input = self.rows as usize * self.height as usize * self.width as usize * self.stride as usize;
        let output = self.positions() * self.out_stride as usize;
        [self.positions() * self.outputs as usize * self.depth as usize, input, output]
    }

    /// Positions of a window.
    pub(super) fn taps(&self) -> usize {
        self.kernel_h as usize * self.kernel_w as usize
    }

    /// Inputs in a window, without padding.
    pub(super) fn window(&self) -> usize {
        self.kernel_h as usize * self.kernel_w as usize * self.channels as usize
    }

    /// Steps of sixteen through the depth.
    pub(super) fn stages(&self) -> usize {
        self.kernel_h as usize * self.kernel_w as usize * (self.stride as usize).div_ceil(16)
    }

    /// Whether a window moves by one pixel at a time.
    pub(super) fn is_dense(&self) -> bool {
        self.step == 1
    }
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct ForwardArgs {
    g: Geometry,
    x: Layout,
    relu: i32,
    x_prior: [u64; 2],
    w: [u64; 2],
    z_prior: [u64; 2],
    own: u64,
    broken: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct BackArgs {
    g: Geometry,
    x: Layout,
    z_d: [u64; 2],
    w_mean: u64,
    x_d: [u64; 2],
    broken: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct SumsArgs {
    g: Geometry,
    x: Layout,
    relu: i32,
    parts: i32,
    x_mean: u64,
    z_d: [u64; 2],
    partial: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct LearnArgs {
    outputs: i32,
    weight_stride: i32,
    depth: i32,
    parts: i32,
    weights: StepArgs,
    biases: StepArgs,
    partial: u64,
    sums: u64,
    w: [u64; 2],
    status: u64,
}

// SAFETY: these are the kernels' structures; addresses come from buffers that the code below has made large enough and borrows until the launch.
arguments! {
    unsafe {
        ForwardArgs: "map_forward", "map_forward_thin";
        BackArgs: "map_back";
        SumsArgs: "map_sums";
        LearnArgs: "map_learn", "map_learn_four", "map_learn_many";
    }
}

/// Maximum number of outputs of a dense layer for which each has its own warp.
const FEW: i32 = 16;
/// Up to this many parts, one thread adds the parts of four parameters; from the second limit on, several threads add those of one.
const FEW_PARTS: i32 = 4;
const MANY: i32 = 64;
/// The sides of a tile of `map.cu`.
const TILE: usize = 32;

/// The steps of a layer in the kernels' format.
pub(super) fn step_args(steps: Steps) -> [StepArgs; 2] {
    steps.map(|step| match step {
        Step::Plain => StepArgs::default(),
        Step::Capped(cap) => StepArgs { kind: 1, cap: cap as f32, ..StepArgs::default() },
        Step::Counted(c) => {
            let [cap, weight, share, mean, precision] =
                [c.cap, c.weight, c.share, c.mean, c.precision].map(|v| v as f32);
            StepArgs { kind: 2, cap, weight, share, mean, precision, pull: 0.0 }
        }
        Step::Paced(p) => {
            let [cap, weight, share, precision, pull] =
                [PACED_CAP, p.length, p.share, p.precision, p.pull].map(|v| v as f32);
            StepArgs { kind: 3, cap, weight, share, mean: 0.0, precision, pull }
        }
    })
}

impl Weights {
    /// Calls `f(index in files, index here)` for every weight of some outputs, counted from the first of them.
    fn places(&self, outputs: usize, mut f: impl FnMut(usize, usize)) {
        let g = Geometry::new(&self.map, 0);
        let [h, w, channels, stride, per] =
            [g.kernel_h, g.kernel_w, g.channels, g.stride, g.weight_stride].map(|n| n as usize);
        for o in 0..outputs {
            for c in 0..channels {
                for y in 0..h {
                    for x in 0..w {
                        f(((o * channels + c) * h + y) * w + x, o * per + (y * w + x) * stride + c);
                    }
                }
            }
        }
    }

    /// The weights are about to change.
    pub(super) fn change(&mut self) {
        if let Some(packed) = self.packed.get_mut().unwrap_or_else(|e| e.into_inner()) {
            packed.outdate();
        }
    }

    fn at(&self) -> [u64; 2] {
        [self.mean.at(), self.var.at()]
    }

    /// Parameters, padding included.
    pub(super) fn plane(&self) -> usize {
        Geometry::new(&self.map, 0).plane()
    }

    pub(super) fn weight_stride(&self) -> i32 {
        Geometry::new(&self.map, 0).weight_stride
    }
}

impl Cuda {
    fn plain_back(&self, w: &Weights, z: &State, x: &mut State) {
        let g = Geometry::new(&w.map, z.rows);
        let args = BackArgs {
            g,
            x: x.layout(),
            z_d: [z.d_mean.at(), z.d_var_at()],
            w_mean: w.mean.at(),
            x_d: [x.d_mean.at(), x.d_var_at()],
            broken: x.flag(true),
        };
        if x.planes {
            // No thread handles the padding of rows.
            let n = x.layout().numbers();
            x.d_mean.clear(n);
            if !x.means_only {
                x.d_var.clear(n);
            }
        }
        let positions = z.rows * x.shape.pixels();
        let grid = [positions.div_ceil(TILE), (g.stride as usize).div_ceil(TILE), 1];
        self.gpu.launch("map_back", grid, 256, 0, &args);
        self.mask(x);
    }

    /// Numbers of the sums of a batch with this many parts.
    fn sum_numbers(&self, w: &Weights, x: &State) -> usize {
        let g = Geometry::new(&w.map, x.rows);
        2 * g.plane() * self.tensor_sums_form(&g, x).map_or_else(|| self.plain_parts(&g), |form| form.parts)
    }

    /// Parts of the sums without tensor cores: enough blocks to fill the device, but each with enough positions.
    fn plain_parts(&self, g: &Geometry) -> usize {
        let tiles = (g.weight_stride as usize).div_ceil(TILE) * (g.outputs as usize).div_ceil(TILE);
        (4 * self.gpu.multiprocessors).div_ceil(tiles).min(g.positions().div_ceil(32)).max(1)
    }

    /// Sums over the batch, in parts; returns the number of parts, or `None` if a state or its memory is missing.
    fn sum_up(&self, w: &Weights, s: &mut Scratch, x: &State, z: &State) -> Option<usize> {
        if x.failed.is_some() || z.failed.is_some() {
            return None;
        }
        s.floats(&self.gpu, self.sum_numbers(w, x))?;
        let g = Geometry::new(&w.map, x.rows);
        if let Some(form) = self.tensor_sums_form(&g, x) {
            self.tensor_sums(&g, s, x, z, &form);
            return Some(form.parts);
        }
        let parts = self.plain_parts(&g);
        let args = SumsArgs {
            g,
            x: x.layout(),
            relu: x.relu as i32,
            parts: parts as i32,
            x_mean: x.mean.at(),
            z_d: [z.d_mean.at(), z.d_var.at()],
            partial: s.floats_at(),
        };
        let grid = [(g.weight_stride as usize).div_ceil(TILE), (g.outputs as usize).div_ceil(TILE), parts];
        self.gpu.launch("map_sums", grid, 256, 0, &args);
        Some(parts)
    }

    pub(super) fn step_from(
        &self,
        w: &mut Weights,
        parts: usize,
        partial: u64,
        steps: Steps,
        status: &mut Status,
    ) {
        let (Some(status), false) = (self.status_at(status), status.failed.is_some()) else { return };
        w.change();
        let [weights, biases] = step_args(steps);
        self.learn_from(&LearnArgs { weights, biases, status, ..learn_args(w, parts, partial) });
    }

    fn learn_from(&self, args: &LearnArgs) {
        let n = args.outputs as usize * args.weight_stride as usize;
        match args.parts {
            parts if parts <= FEW_PARTS => self.over("map_learn_four", n / 4, args),
            parts if parts <= MANY => self.over("map_learn", n, args),
            _ => self.gpu.launch("map_learn_many", [n.div_ceil(8), 1, 1], 256, 0, args),
        }
    }
}

impl Weighted for Cuda {
    type Weights = Weights;

    fn bytes(&self, map: &Map) -> u64 {
        8 * Geometry::new(map, 0).plane() as u64
    }

    fn weights(&self, map: Map) -> Result<Weights> {
        let gpu = &self.gpu;
        let n = Geometry::new(&map, 0).plane();
        let (mean, var) = (Buffer::zeros(gpu, n)?, Buffer::zeros(gpu, n)?);
        Ok(Weights { map, mean, var, packed: Mutex::default(), innovated: Arc::new(Mark::new(gpu)) })
    }

    fn set_weights(&self, w: &mut Weights, outputs: Range<usize>, p: &Parameters) -> Result<()> {
        w.change();
        let g = Geometry::new(&w.map, 0);
        let (per, depth) = (g.weight_stride as usize, g.depth as usize);
        let mut part = |values: &[f64], biases: &[f64], to: fn(&mut Weights) -> &mut Buffer<f32>| {
            let mut here = vec![0.0f32; outputs.len() * per];
            w.places(outputs.len(), |from, at| here[at] = values[from] as f32);
            for (o, &b) in biases.iter().enumerate() {
                here[o * per + depth] = b as f32;
            }
            to(w).write(outputs.start * per, &here);
        };
        part(&p.mean, &p.bias_mean, |w| &mut w.mean);
        part(&p.var, &p.bias_var, |w| &mut w.var);
        self.gpu.alive()
    }

    fn weights_parameters(&self, w: &Weights, outputs: Range<usize>) -> Result<Parameters> {
        let g = Geometry::new(&w.map, 0);
        let (per, depth) = (g.weight_stride as usize, g.depth as usize);
        let outputs = outputs.start..outputs.end.min(g.outputs as usize);
        let part = |from: &Buffer<f32>| -> Result<[Vec<f64>; 2]> {
            let here = from.read_from(outputs.start * per, outputs.len() * per)?;
            let mut values = vec![0.0; outputs.len() * w.map.fan_in()];
            w.places(outputs.len(), |to, at| values[to] = f64::from(here[at]));
            Ok([values, (0..outputs.len()).map(|o| f64::from(here[o * per + depth])).collect()])
        };
        let ([mean, bias_mean], [var, bias_var]) = (part(&w.mean)?, part(&w.var)?);
        Ok(Parameters { mean, var, bias_mean, bias_var })
    }
}

impl Maps for Cuda {
    fn map(&self, w: &Weights, s: &mut Scratch, x: &State, z: &mut State, purpose: Purpose) {
        let with_own = purpose == Purpose::Rows;
        w.innovated.unset();
        z.made_from(x, false);
        z.room(PRIOR);
        if with_own {
            z.room([Part::Own]);
        }
        if z.failed.is_some() {
            return;
        }
        if !with_own && (self.stream_forward(w, x, z) || self.tensor_forward(w, s, x, z)) {
            return;
        }
        let g = Geometry::new(&w.map, x.rows);
        let args = ForwardArgs {
            g,
            x: x.layout(),
            relu: x.relu as i32,
            x_prior: [x.mean.at(), x.var_at()],
            w: w.at(),
            z_prior: [z.mean.at(), z.var.at()],
            own: if with_own { z.own.at() } else { 0 },
            broken: z.flag(false),
        };
        if w.map.window.is_none() && !x.planes && g.out_stride <= FEW {
            let units = x.rows * g.out_stride as usize;
            return self.gpu.launch("map_forward_thin", [units.div_ceil(8), 1, 1], 256, 0, &args);
        }
        let grid = [g.positions().div_ceil(TILE), (g.out_stride as usize).div_ceil(TILE), 1];
        self.gpu.launch("map_forward", grid, 256, 0, &args);
    }

    fn map_back(&self, w: &Weights, _: &mut Scratch, z: &State, x: &mut State) {
        // Tensor cores do not take the layout of input images.
        x.rows_in_planes(false);
        x.receive(z);
        if x.failed.is_some() {
            return;
        }
        w.innovated.set();
        if !self.stream_back(w, z, x) && !self.tensor_back(w, z, x) {
            self.plain_back(w, z, x);
        }
    }
}

impl Learning for Cuda {
    fn map_sums(&self, w: &Weights) -> Sums {
        let n = 2 * Geometry::new(&w.map, 0).plane();
        match Buffer::zeros(&self.gpu, n) {
            Ok(buffer) => Sums::Map(buffer, n),
            Err(e) => Sums::Failed(driver::why(e)),
        }
    }

    fn map_accumulate(&self, w: &Weights, s: &mut Scratch, x: &State, z: &State, sums: &mut Sums) {
        let Sums::Map(total, _) = sums else { return };
        let Some(parts) = self.sum_up(w, s, x, z) else {
            let why = x.failed.clone().or(z.failed.clone()).or(s.failed.clone());
            return *sums = Sums::Failed(why.unwrap_or_default());
        };
        let args = LearnArgs { sums: total.at(), ..learn_args(w, parts, s.floats_at()) };
        self.learn_from(&args);
    }

    fn map_apply(&self, w: &mut Weights, sums: &Sums, steps: Steps, status: &mut Status) {
        if let Sums::Map(total, _) = sums {
            self.step_from(w, 1, total.at(), steps, status);
        } else if let Sums::Failed(why) = sums {
            status.failed = Some(why.clone());
        }
    }

    fn map_reserve(&self, w: &Weights, s: &mut Scratch, [x, z]: [&State; 2], status: &mut Status) {
        self.reserve(s, self.sum_numbers(w, x), [x, z], status);
    }

    fn map_learn(
        &self,
        w: &mut Weights,
        s: &mut Scratch,
        x: &State,
        z: &State,
        steps: Steps,
        status: &mut Status,
    ) {
        if status.failed.is_some() || self.status_at(status).is_none() {
            return;
        }
        let innovated = w.innovated.clone();
        // The sums need nothing from the layers below; the step waits until the backward pass has used the weights and all numbers are
        // known to be finite.
        self.gpu.beside(&innovated, || {
            let Some(parts) = self.sum_up(w, s, x, z) else {
                status.failed = x.failed.clone().or(z.failed.clone()).or(s.failed.clone());
                return;
            };
            self.gpu.catch_up();
            self.step_from(w, parts, s.floats_at(), steps, status);
            self.pack_again(w);
        });
    }
}

fn learn_args(w: &Weights, parts: usize, partial: u64) -> LearnArgs {
    let g = Geometry::new(&w.map, 0);
    LearnArgs {
        outputs: g.outputs,
        weight_stride: g.weight_stride,
        depth: g.depth,
        parts: parts as i32,
        weights: StepArgs::default(),
        biases: StepArgs::default(),
        partial,
        sums: 0,
        w: w.at(),
        status: 0,
    }
}
