//! Linear maps with Gaussian weights, dense and convolutional, over the tiles of [`super::tile`].
//!
//! The batch is first copied into pairs (see there), images with their zeros around them; there the inputs of a
//! window are a few runs of neighbours ([`tile::Segment`]), the same for every position. A dense map is a window that
//! covers everything.

use super::lines::Lines;
use super::state::State;
use super::tile::{self, LINE, PAIR, PANEL};
use super::weights::{Weights, step};
use super::window::{Scratch, padded};
use super::{Cpu, Shared, turn};
use crate::backend::{Status, Tally};
use crate::moments::product;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// Inputs whose sums one task keeps at hand, and rows it takes at a time: together they fit the first cache.
const INPUTS: usize = 80;
const BLOCK: usize = 32;
/// Rows in one task of a forward pass, at most, and inputs they may have together.
const CHUNK: usize = 96;
const CHUNK_INPUTS: usize = 1 << 15;
/// Samples in a part of an update, at least, and parts, at most.
const PART: usize = 8;
const MOST_PARTS: usize = 4;
/// Products below which one thread is faster than waking another.
const ALONE: usize = 1 << 19;

impl Cpu {
    /// Runs `tasks`, on one thread when there are few products to share.
    pub(super) fn share(&self, products: usize, tasks: usize, job: &(dyn Fn(usize, usize) + Sync)) {
        if products < ALONE { (0..tasks).for_each(|t| job(t, 0)) } else { self.team().run(tasks, job) }
    }

    /// Copies the batch into pairs, images with their zeros around them.
    fn stage(&self, w: &Weights, s: &mut Scratch, x: &State) {
        s.lay_out(&w.map, x.stride);
        s.lay_out_rows(x.rows);
        let (sample, x_sample) = (s.sample, x.sample());
        if s.far() < x.rows * sample * PAIR {
            // Afresh, so that the zeros around the images are zeros in both halves.
            s.pairs = Lines::zeros(2 * (x.rows * sample * PAIR).next_multiple_of(PANEL));
        }
        let far = s.far();
        let pairs = Shared(s.pairs.as_mut_ptr());
        let input = w.map.input;
        // Runs of neighbours: (how many, how long, from, how far apart there and here).
        let (runs, len, at, from, to) = match w.map.window {
            None => (1, x_sample, 0, 0, 0),
            Some(window) => {
                let (_, width) = padded(&w.map);
                let at = (window.before() * width + window.before()) * input.channels;
                (input.height, input.width, at, input.width * x.stride, width * input.channels)
            }
        };
        let dense = w.map.window.is_none();
        self.share(x.rows * sample * 4, x.rows, &|row, _| {
            self.arch.dispatch(
                #[inline(always)]
                || {
                    for run in 0..runs {
                        let (from, to) = (row * x_sample + run * from, row * sample + at + run * to);
                        // A dense map, or one whose pixels touch, copies a whole run at once.
                        let (pixels, channels, apart) = match dense || x.stride == input.channels {
                            true => (1, if dense { len } else { len * input.channels }, 0),
                            false => (len, input.channels, x.stride),
                        };
                        for p in 0..pixels {
                            let from = from + p * apart;
                            let (mean, var) = (&x.mean[from..][..channels], &x.var[from..][..channels]);
                            // SAFETY: pixels of this row's own sample, inside the buffer by `lay_out`.
                            let [near, behind] = [0, far].map(|half| unsafe {
                                let to = pairs.at(half + (to + p * input.channels) * PAIR);
                                std::slice::from_raw_parts_mut(to as *mut [f32; PAIR], channels)
                            });
                            for i in 0..channels {
                                near[i] = [mean[i], mean[i] * mean[i]];
                            }
                            if !x.exact {
                                for i in 0..channels {
                                    behind[i] = [product::second_moment(mean[i], var[i]), var[i]];
                                }
                            }
                        }
                    }
                },
            );
        });
    }

    pub(super) fn map_forward(&self, w: &Weights, s: &mut Scratch, x: &State, z: &mut State) {
        z.resize(x.rows);
        z.exact = false;
        self.stage(w, s, x);
        let s = &*s;
        let rows = s.rows.len();
        let (z_mean, z_var) = (Shared(z.mean.as_mut_ptr()), Shared(z.var.as_mut_ptr()));
        let products = rows * w.depth() * w.n_panels() * PANEL;
        // A chunk of rows stays in the second cache while panel after panel is multiplied with it.
        let chunk = (CHUNK_INPUTS / s.sample.min(w.depth())).clamp(2 * tile::MAX_ROWS, CHUNK);
        let (chunks, n_panels) = (rows.div_ceil(chunk), w.n_panels());
        let (z_stride, far) = (z.stride, (!x.exact).then_some(s.far()));
        self.share(products, chunks * n_panels, &|task, _| {
            let (panel, chunk_at) = (task % n_panels, task / n_panels * chunk);
            self.arch.dispatch(Forward {
                s,
                lines: &w.panels[panel * w.depth() * LINE..],
                bias: &w.bias[panel * LINE..][..LINE],
                lanes: w.lanes(panel),
                far,
                rows: chunk_at..rows.min(chunk_at + chunk),
                z_stride,
                // This task alone has these rows and this panel.
                z: [Shared(z_mean.at(panel * PANEL)), Shared(z_var.at(panel * PANEL))],
            });
        });
    }

    pub(super) fn map_backward(&self, w: &Weights, s: &mut Scratch, z: &State, x: &mut State) {
        s.lay_out(&w.map, x.stride);
        let outputs = w.map.output.channels;
        s.turned.grow(s.chunks.len() * outputs * PANEL);
        let dense = w.map.window.is_none();
        if !dense {
            s.images.resize_with(self.team().size(), Default::default);
            for image in s.images.iter_mut().flatten() {
                image.grow(s.sample + PANEL);
            }
        }
        let turned = Shared(s.turned.as_mut_ptr());
        let images = Shared(s.images.as_mut_ptr());
        let (x_mean, x_var) = (Shared(x.d_mean.as_mut_ptr()), Shared(x.d_var.as_mut_ptr()));
        let s = &*s;
        let d = [Shared(z.d_mean.as_ptr()), Shared(z.d_var.as_ptr())];
        let products = z.rows * s.starts.len() * w.depth() * outputs;
        let (x_stride, x_sample, rows) = (x.stride, x.sample(), x.rows);
        // Turn the weights round, 32 inputs a task; a dense map goes on at once with what it has turned.
        self.share(products.max(w.depth() * outputs), s.chunks.len(), &|task, _| {
            let (first, at, len) = s.chunks[task];
            // SAFETY: this task's own part of the buffer.
            let lines =
                unsafe { std::slice::from_raw_parts_mut(turned.at(task * outputs * PANEL), outputs * PANEL) };
            turn::turn(self.arch, &w.panels[first * LINE..], w.depth() * LINE, len, outputs, lines);
            if dense {
                self.arch.dispatch(Backward {
                    outputs,
                    turned: lines,
                    lanes: len,
                    d,
                    rows: 0..rows,
                    z_at: &|row| row * z.stride,
                    x_at: &|row| row * x_sample + at,
                    x: [Shared(x_mean.at(0)), Shared(x_var.at(0))],
                    add: false,
                });
            }
        });
        if dense {
            return;
        }
        let window = w.map.window.expect("a convolution");
        let (input, (_, width), pad) = (w.map.input, padded(&w.map), window.before());
        let (c, per_image) = (input.channels, s.starts.len());
        self.share(products, rows, &|row, worker| {
            // SAFETY: no other worker uses this worker's pair of images while the team runs.
            let [mean, var] = unsafe { &mut *images.get().add(worker) };
            let (mean, var) = (&mut mean[..s.sample + PANEL], &mut var[..s.sample + PANEL]);
            mean.fill(0.0);
            var.fill(0.0);
            for (task, &(_, at, len)) in s.chunks.iter().enumerate() {
                self.arch.dispatch(Backward {
                    outputs,
                    turned: &s.turned[task * outputs * PANEL..][..outputs * PANEL],
                    lanes: len,
                    d,
                    rows: 0..per_image,
                    z_at: &|p| (row * per_image + p) * z.stride,
                    x_at: &|p| s.starts[p] + at,
                    x: [Shared(mean.as_mut_ptr()), Shared(var.as_mut_ptr())],
                    add: true,
                });
            }
            for y in 0..input.height {
                for xx in 0..input.width {
                    let from = ((y + pad) * width + xx + pad) * c;
                    let to = row * x_sample + (y * input.width + xx) * x_stride;
                    // SAFETY: a pixel of this row's own image.
                    unsafe {
                        std::ptr::copy_nonoverlapping(mean[from..].as_ptr(), x_mean.at(to), c);
                        std::ptr::copy_nonoverlapping(var[from..].as_ptr(), x_var.at(to), c);
                    }
                }
            }
        });
    }

    /// What a batch says about the weights, into the scratch. Images are summed up in parts, so that a core only reads
    /// those that are in its cache; a part holds panel after panel, the inputs and then the bias.
    pub(super) fn sum_up(&self, w: &Weights, s: &mut Scratch, z: &State) {
        let per_sample = s.starts.len();
        s.parts = if per_sample == 1 { 1 } else { (z.rows / PART).clamp(1, MOST_PARTS) };
        let (cut, parts) = (Cut::new(w, s.rows.len()), s.parts);
        let mut all_sums = std::mem::take(&mut s.sums);
        all_sums.grow(parts * w.lines() * LINE);
        let sums = Shared(all_sums.as_mut_ptr());
        let shared = &*s;
        self.share(cut.products, parts * cut.tasks(), &|task, _| {
            let (part, (panel, inputs)) = (task / cut.tasks(), cut.task(task % cut.tasks()));
            let samples = part * z.rows / parts..(part + 1) * z.rows / parts;
            // SAFETY: this task's own sums, and those of the bias with the first inputs.
            let (sums, bias) = unsafe {
                let sums = sums.at((part * w.lines() + panel * (w.depth() + 1)) * LINE) as *mut [f32; LINE];
                (Shared(sums.add(inputs.start)), (inputs.start == 0).then(|| &mut *sums.add(w.depth())))
            };
            let rows = samples.start * per_sample..samples.end * per_sample;
            self.arch.dispatch(Sums::new(w, shared, z, panel, &inputs, rows, sums, bias));
        });
        s.sums = all_sums;
    }

    /// The posterior of the weights from sums in so many parts, unless something is broken.
    pub(super) fn step_by(
        &self,
        w: &mut Weights,
        sums: &Lines,
        parts: usize,
        cap: Option<f64>,
        status: &mut Status,
    ) {
        let (sums, depth, all) = (sums.as_chunks::<LINE>().0, w.depth(), w.lines());
        let cap = cap.map(|c| c as f32);
        self.step_all(w, 0, status, |_, panel, inputs, lines, bias| {
            self.arch.dispatch(
                #[inline(always)]
                || {
                    let (mut tally, first) = (Tally::default(), panel * (depth + 1));
                    for (line, input) in lines.iter_mut().zip(inputs.start..) {
                        tally += step(line, &total(sums, first + input, all, parts), cap);
                    }
                    if let Some(bias) = bias {
                        tally += step(bias, &total(sums, first + depth, all, parts), cap);
                    }
                    tally
                },
            )
        });
    }

    /// The posterior of the weights from one batch: the sums of a few inputs are used while they are in the cache.
    pub(super) fn map_update(
        &self,
        w: &mut Weights,
        s: &mut Scratch,
        z: &State,
        cap: Option<f64>,
        status: &mut Status,
    ) {
        if s.starts.len() > 1 && z.rows >= 2 * PART {
            self.sum_up(w, s, z);
            return self.step_by(w, &s.sums, s.parts, cap, status);
        }
        let (s, cap) = (&*s, cap.map(|c| c as f32));
        if let [row] = s.rows[..] {
            return self.update_by_one(w, &s.pairs[row * PAIR..], &s.inputs, z, cap, status);
        }
        self.step_all(w, s.rows.len(), status, |w, panel, inputs, lines, bias| {
            let mut sums = [const { std::mem::MaybeUninit::<[f32; LINE]>::uninit() }; INPUTS];
            let sums = sums[..inputs.len()].as_mut_ptr() as *mut [f32; LINE];
            let mut bias_sums = [0.0; LINE];
            let of_bias = bias.is_some().then_some(&mut bias_sums);
            self.arch.dispatch(Sums::new(w, s, z, panel, &inputs, 0..s.rows.len(), Shared(sums), of_bias));
            // SAFETY: there is at least one row, so there is a line for every input.
            let sums = unsafe { std::slice::from_raw_parts(sums, inputs.len()) };
            self.arch.dispatch(
                #[inline(always)]
                || {
                    let mut tally = Tally::default();
                    for (line, sums) in lines.iter_mut().zip(sums) {
                        tally += step(line, sums, cap);
                    }
                    if let Some(bias) = bias {
                        tally += step(bias, &bias_sums, cap);
                    }
                    tally
                },
            )
        });
    }

    /// The posterior of the weights from one sample of a dense map: nothing is summed up, so no sums are kept.
    fn update_by_one(
        &self,
        w: &mut Weights,
        pairs: &[f32],
        places: &[usize],
        z: &State,
        cap: Option<f32>,
        status: &mut Status,
    ) {
        self.step_all(w, 1, status, |w, panel, inputs, lines, bias| {
            self.arch.dispatch(
                #[inline(always)]
                || {
                    let mut d = Innovations([[0.0; PANEL]; 2]);
                    for (to, from) in d.0.iter_mut().zip([&z.d_mean, &z.d_var]) {
                        to.copy_from_slice(&from[panel * PANEL..][..PANEL]);
                        to[w.lanes(panel)..].fill(0.0);
                    }
                    let mut tally = Tally::default();
                    for (line, &place) in lines.iter_mut().zip(&places[inputs]) {
                        tally += step_by_one(line, pairs[place * PAIR], pairs[place * PAIR + 1], &d, cap);
                    }
                    if let Some(bias) = bias {
                        tally += step_by_one(bias, 1.0, 1.0, &d, cap);
                    }
                    tally
                },
            )
        });
    }

    /// Calls `f(weights, panel, inputs, their lines, the bias)` for every part of the weights, unless something is broken;
    /// the bias comes with the first inputs of a panel.
    fn step_all(
        &self,
        w: &mut Weights,
        rows: usize,
        status: &mut Status,
        f: impl Fn(&Weights, usize, Range<usize>, &mut [[f32; LINE]], Option<&mut [f32; LINE]>) -> Tally + Sync,
    ) {
        if status.broken.is_some() {
            return;
        }
        let cut = Cut::new(w, rows);
        let (panels, bias) = (Shared(w.panels.as_mut_ptr()), Shared(w.bias.as_mut_ptr()));
        let (w, tally) = (&*w, std::sync::Mutex::new(Tally::default()));
        self.share(cut.products, cut.tasks(), &|task, _| {
            let (panel, inputs) = cut.task(task);
            // SAFETY: one task alone has a group of a panel; the first group has the panel's bias too.
            let (lines, bias) = unsafe {
                let lines = panels.at((panel * w.depth() + inputs.start) * LINE) as *mut [f32; LINE];
                let bias = bias.at(panel * LINE) as *mut [f32; LINE];
                let lines = std::slice::from_raw_parts_mut(lines, inputs.len());
                (lines, (inputs.start == 0).then(|| &mut *bias))
            };
            let t = f(w, panel, inputs, lines, bias);
            if t != Tally::default() {
                *tally.lock().unwrap_or_else(|e| e.into_inner()) += t;
            }
        });
        status.tally += tally.into_inner().unwrap_or_else(|e| e.into_inner());
    }
}

struct Forward<'a> {
    s: &'a Scratch,
    lines: &'a [f32],
    bias: &'a [f32],
    lanes: usize,
    far: Option<usize>,
    rows: Range<usize>,
    z_stride: usize,
    z: [Shared<*mut f32>; 2],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        tiles(
            self.rows.clone(),
            tile::rows_of::<S>(),
            #[inline(always)]
            |from, n| {
                let mut z_at = [0; tile::MAX_ROWS];
                (0..n).for_each(|i| z_at[i] = (from + i) * self.z_stride);
                // SAFETY: `stage` and `resize` made the buffers as large as rows and segments say.
                unsafe {
                    tile::forward(
                        simd,
                        &self.s.segments,
                        self.lines.as_ptr(),
                        self.bias.as_ptr(),
                        self.lanes,
                        self.s.pairs.as_ptr(),
                        self.far,
                        &self.s.rows[from..from + n],
                        &z_at[..n],
                        self.z.map(|p| p.0),
                    )
                }
            },
        );
    }
}

struct Backward<'a, Z, X> {
    outputs: usize,
    turned: &'a [f32],
    lanes: usize,
    d: [Shared<*const f32>; 2],
    rows: Range<usize>,
    z_at: &'a Z,
    x_at: &'a X,
    x: [Shared<*mut f32>; 2],
    add: bool,
}

impl<Z: Fn(usize) -> usize, X: Fn(usize) -> usize> WithSimd for Backward<'_, Z, X> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        tiles(
            self.rows.clone(),
            tile::rows_of::<S>(),
            #[inline(always)]
            |from, n| {
                let (mut z_at, mut x_at) = ([0; tile::MAX_ROWS], [0; tile::MAX_ROWS]);
                for i in 0..n {
                    z_at[i] = (self.z_at)(from + i);
                    x_at[i] = (self.x_at)(from + i);
                }
                let (d, x) = (self.d.map(|p| p.0), self.x.map(|p| p.0));
                // SAFETY: the callers' buffers hold a panel at every place named.
                unsafe {
                    tile::backward(
                        simd,
                        self.outputs,
                        self.turned.as_ptr(),
                        self.lanes,
                        d,
                        &z_at[..n],
                        &x_at[..n],
                        x,
                        self.add,
                    )
                }
            },
        );
    }
}

/// The weights of a map in tasks: some inputs of a panel each.
struct Cut {
    depth: usize,
    n_panels: usize,
    groups: usize,
    products: usize,
}

impl Cut {
    /// For sums over so many rows; 0 where there are none to sum over.
    fn new(w: &Weights, rows: usize) -> Self {
        let (depth, n_panels) = (w.depth(), w.n_panels());
        let products = rows.max(1) * depth * n_panels * PANEL;
        // At least two groups of inputs where there is work to share.
        let groups = depth.div_ceil(INPUTS).max(if products < ALONE { 1 } else { 2.min(depth) });
        Cut { depth, n_panels, groups, products }
    }

    fn tasks(&self) -> usize {
        self.n_panels * self.groups
    }

    /// The panel and the inputs of a task.
    fn task(&self, task: usize) -> (usize, Range<usize>) {
        let (group, size) = (task / self.n_panels, self.depth.div_ceil(self.groups));
        (task % self.n_panels, self.depth.min(group * size)..self.depth.min((group + 1) * size))
    }
}

/// What a batch says about the weights of some inputs of a panel, summed up over rows.
struct Sums<'a> {
    pairs: &'a [f32],
    inputs: &'a [usize],
    rows: &'a [usize],
    /// From the first row on.
    d: [&'a [f32]; 2],
    z_stride: usize,
    lanes: usize,
    /// A line for every input.
    sums: Shared<*mut [f32; LINE]>,
    /// Of the biases, unless another task has them.
    bias: Option<&'a mut [f32; LINE]>,
}

impl<'a> Sums<'a> {
    #[allow(clippy::too_many_arguments)]
    fn new(
        w: &Weights,
        s: &'a Scratch,
        z: &'a State,
        panel: usize,
        inputs: &Range<usize>,
        rows: Range<usize>,
        sums: Shared<*mut [f32; LINE]>,
        bias: Option<&'a mut [f32; LINE]>,
    ) -> Self {
        Sums {
            pairs: &s.pairs,
            inputs: &s.inputs[inputs.clone()],
            d: [&z.d_mean, &z.d_var].map(|d| &d[rows.start * z.stride + panel * PANEL..]),
            rows: &s.rows[rows],
            z_stride: z.stride,
            lanes: w.lanes(panel),
            sums,
            bias,
        }
    }
}

impl WithSimd for Sums<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if self.lanes < PANEL {
            // Outputs that are not there have no sums of their own.
            // SAFETY: the caller's room for a line of every input.
            (0..self.inputs.len()).for_each(|i| unsafe { self.sums.0.add(i).write([0.0; LINE]) });
        }
        let mut bias_sums = [0.0; LINE];
        for (block, rows) in self.rows.chunks(BLOCK).enumerate() {
            let d = self.d.map(|d| &d[block * BLOCK * self.z_stride..]);
            tiles(
                0..self.inputs.len(),
                tile::rows_of::<S>(),
                #[inline(always)]
                |from, n| {
                    let sums = self.sums.0.wrapping_add(from) as *mut f32;
                    let (pairs, d) = (self.pairs.as_ptr(), d.map(<[f32]>::as_ptr));
                    let inputs = &self.inputs[from..from + n];
                    // SAFETY: rows and inputs lie in the staged batch, `d` holds a panel for every row.
                    unsafe {
                        tile::sums(simd, pairs, inputs, rows, self.lanes, self.z_stride, d, sums, block == 0)
                    }
                },
            );
            if self.bias.is_some() {
                for row in 0..rows.len() {
                    let [d_mean, d_var] = d.map(|d| &d[row * self.z_stride..][..PANEL]);
                    for i in 0..PANEL {
                        bias_sums[i] += d_mean[i];
                        bias_sums[PANEL + i] += d_var[i];
                    }
                }
            }
        }
        if let Some(bias) = self.bias {
            *bias = bias_sums;
        }
    }
}

/// Means and variances of a panel, from a cache line on.
#[repr(align(64))]
struct Innovations([[f32; PANEL]; 2]);

/// Posterior of one line of weights from one sample: its input and that squared, its innovations.
#[inline(always)]
fn step_by_one(
    line: &mut [f32; LINE],
    mu_a: f32,
    sq_a: f32,
    Innovations([d_mean, d_var]): &Innovations,
    cap: Option<f32>,
) -> Tally {
    let mut sums = [0.0; LINE];
    for i in 0..PANEL {
        sums[i] = mu_a * d_mean[i];
        sums[PANEL + i] = sq_a * d_var[i];
    }
    step(line, &sums, cap)
}

/// What the parts of a batch say of one line of weights, in their order.
#[inline(always)]
pub(super) fn total(sums: &[[f32; LINE]], at: usize, part_size: usize, parts: usize) -> [f32; LINE] {
    let mut sum = sums[at];
    for part in 1..parts {
        let more = &sums[part * part_size + at];
        for i in 0..LINE {
            sum[i] += more[i];
        }
    }
    sum
}

/// Cuts `rows` into tiles of nearly equal size, at most `most` rows each. Closures given here must be inlined
/// always: a closure of its own would not be compiled for the vectors at hand.
#[inline(always)]
fn tiles(rows: Range<usize>, most: usize, mut f: impl FnMut(usize, usize)) {
    let n = rows.len();
    let tiles = n.div_ceil(most);
    let mut from = rows.start;
    for t in 0..tiles {
        let size = n / tiles + usize::from(t < n % tiles);
        f(from, size);
        from += size;
    }
}
